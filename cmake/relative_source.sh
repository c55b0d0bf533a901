#!/bin/sh
# relative_source.sh FROM TO COMPILER ARGUMENT...: runs a compiler; a source's path that begins with
# FROM begins with TO instead.
set -e
from=$1
to=$2
shift 2
for argument; do
  shift
  case $argument in
    "$from"*.cc) argument=$to${argument#"$from"} ;;
  esac
  set -- "$@" "$argument"
done
exec "$@"

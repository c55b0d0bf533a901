#!/bin/sh
# relative_source.sh FROM TO COMPILER ARGUMENT...: runs a compiler. The path of a source, or of a
# directory with headers (-I), that is FROM or lies below it begins with TO instead.
set -e
from=$1
to=$2
shift 2
for argument; do
  shift
  case $argument in
    "$from"/*.cc) argument=$to${argument#"$from"} ;;
    -I"$from" | -I"$from"/*) argument=-I$to${argument#-I"$from"} ;;
  esac
  set -- "$@" "$argument"
done
exec "$@"

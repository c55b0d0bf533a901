"""./cairn sysbench: the distribution's benchmark program, connected to our server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cairn import packages, prefix, server
from cairn.prefix import Server
from cairn.report import Reporter

DATABASE = "sbtest"


def run(arguments: tuple[str, ...]) -> None:
    """Replaces this process by sysbench."""
    found = server.require()
    mariadb = prefix.require()
    ensure(mariadb)
    with server.connect(found) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    command, environment = invocation(mariadb, found.socket, arguments)
    os.execve(command[0], command, environment)


def ensure(mariadb: Server) -> None:
    """Obtains the program and the libraries that it needs, where they are missing."""
    if packages.missing((packages.SYSBENCH,)) or not mariadb.sysbench.is_dir():
        reporter = Reporter()
        with reporter.phase("Packages") as phase:
            packages.ensure((packages.SYSBENCH,), phase)
        with reporter.phase("sysbench") as phase:
            prefix.ensure_sysbench(phase, mariadb)


def invocation(
    mariadb: Server, socket: Path, arguments: tuple[str, ...]
) -> tuple[list[str], dict[str, str]]:
    """The command that runs a script, or anything else of sysbench, and its environment."""
    program = mariadb.sysbench / "usr" / "bin" / "sysbench"
    scripts = mariadb.sysbench / "usr" / "share" / "sysbench"
    preset = [
        "--db-driver=mysql",
        f"--mysql-socket={socket}",
        "--mysql-user=root",
        f"--mysql-db={DATABASE}",
    ]
    script, rest = (arguments[0], arguments[1:]) if arguments else ("--help", ())
    if (scripts / f"{script}.lua").exists():
        # The program looks for its own scripts only where the package installs them.
        engine = [] if script == "bulk_insert" else ["--mysql_storage_engine=rocksdb"]
        command = [str(scripts / f"{script}.lua"), *preset, *engine, *rest]
    else:
        command = [script, *preset, *rest] if arguments else [script]
    environment = mariadb.environment() | {"LUA_PATH": f"{scripts}/?.lua;;"}
    return [str(program), *command], dict(os.environ, **environment)


def problems_of_tables(cursor: Any, *, rows: int | None = None) -> Iterator[str]:
    """What is wrong with the tables of the engine: by CHECK TABLE, and between their indexes.

    The tables of sysbench's database have so many rows, if that is given.
    """
    cursor.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE engine = 'ROCKSDB' "
        "AND table_schema <> 'mysql'"
    )
    for schema, name in cursor.fetchall():
        cursor.execute(f"CHECK TABLE {schema}.{name}")
        answers = [f"{kind}: {text}" for _, _, kind, text in cursor.fetchall()]
        if answers != ["status: OK"]:
            yield f"CHECK TABLE {schema}.{name}: {'; '.join(answers)}"
        if schema != DATABASE:
            continue
        key = f"k_{name.removeprefix('sbtest')}"
        sums = {}
        for index, condition in (("PRIMARY", "id > 0"), (key, "k >= 0")):
            cursor.execute(
                f"SELECT COUNT(*), SUM(k) FROM {schema}.{name} FORCE INDEX ({index}) "
                f"WHERE {condition}"
            )
            sums[index] = cursor.fetchone()
        if len(set(sums.values())) != 1:
            yield f"{schema}.{name}: (rows, sum of k) by index: {sums}"
        elif rows is not None and sums["PRIMARY"][0] != rows:
            yield f"{schema}.{name}: {sums['PRIMARY'][0]} rows instead of {rows}"

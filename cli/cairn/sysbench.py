"""./cairn sysbench: the distribution's benchmark program, connected to our server."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn import packages, prefix, process, server
from cairn.errors import CairnError
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


@dataclass(frozen=True)
class Report:
    """What the program says of one run."""

    events: int  # Transactions; rows of bulk_insert.
    per_second: float
    average_ms: float
    p95_ms: float
    conflicts: int
    # (seconds since the begin, transactions per second), with --report-interval only.
    points: tuple[tuple[float, float], ...]
    errors: tuple[str, ...]


def execute(
    mariadb: Server, socket: Path, arguments: tuple[str, ...], *, limit_s: float, log: Path
) -> tuple[int, str]:
    """Runs the program and waits for it; its exit status and output, which go to `log` as well.

    One that does not end in time is killed, and its output then ends with a line that says so.
    """
    command, environment = invocation(mariadb, socket, arguments)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            timeout=limit_s,
            check=False,
            preexec_fn=process.end_with_parent,
        )
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        text = error.stdout or b""
        output = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        status, output = 124, f"{output}\nFATAL: it has not ended after {limit_s:.0f} s"
    with log.open("a", encoding="utf-8") as out:
        out.write(f"$ sysbench {' '.join(arguments)}\n{output}\n")
    return status, output


def launch(
    mariadb: Server, socket: Path, arguments: tuple[str, ...], *, log: Path
) -> subprocess.Popen[bytes]:
    """Starts the program, whose output goes to `log`, and returns."""
    command, environment = invocation(mariadb, socket, arguments)
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            preexec_fn=process.end_with_parent,
        )


def read_report(script: str, status: int, output: str) -> Report:
    """Reads the report of a run; anything that is not a complete one without errors is an error."""
    errors = [line.strip() for line in output.splitlines() if re.match(r"\s*(FATAL|ALERT)", line)]

    def number(pattern: str) -> float:
        found = re.search(pattern, output)
        if found is None:
            errors.append(f"the report lacks {pattern.partition(':')[0]}")
            return 0.0
        return float(found[1])

    events = int(number(r"total number of events: +(\d+)"))
    if script == "bulk_insert":  # It has no transactions of its own: an event is one row.
        per_second = events / (number(r"total time: +([\d.]+)s") or 1)
    else:
        per_second = number(r"transactions: +\d+ +\(([\d.]+) per sec")
    return Report(
        events,
        per_second,
        average_ms=number(r"avg: +([\d.]+)"),
        p95_ms=number(r"95th percentile: +([\d.]+)"),
        conflicts=int(number(r"ignored errors: +(\d+)")),
        points=tuple(
            (float(second), float(value))
            for second, value in re.findall(r"^\[ (\d+)s \] .*?tps: ([\d.]+)", output, re.MULTILINE)
        ),
        errors=tuple(dict.fromkeys([*errors, *([f"exit status {status}"] if status != 0 else [])])),
    )


def thread_counts(text: str) -> list[int]:
    """Reads a list such as 1,4,16."""
    if not re.fullmatch(r"\d+(,\d+)*", text) or "0" in text.split(","):
        raise CairnError(f"--threads={text}: write numbers of threads with commas, such as 1,4,16.")
    return [int(part) for part in text.split(",")]


def problems_of_tables(
    cursor: Any, *, rows: int | None = None, engine: str = "ROCKSDB"
) -> Iterator[str]:
    """What is wrong with the tables of the engine: by CHECK TABLE, and between their indexes.

    The tables of sysbench's database have so many rows, if that is given.
    """
    cursor.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE engine = %s "
        "AND table_schema NOT IN ('mysql', 'sys')",
        (engine,),
    )
    for schema, name in cursor.fetchall():
        cursor.execute(f"CHECK TABLE {schema}.{name}")
        answers = [f"{kind}: {text}" for _, _, kind, text in cursor.fetchall()]
        if answers != ["status: OK"]:
            yield f"CHECK TABLE {schema}.{name}: {'; '.join(answers)}"
        if schema != DATABASE or not name.startswith("sbtest"):
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

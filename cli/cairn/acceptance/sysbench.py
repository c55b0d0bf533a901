"""./cairn acceptance sysbench: every bundled script at several thread counts, without an error."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cairn import packages, plugin, prefix, process, sysbench
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove

# Those that only read come first, those that take the tables apart last.
SCRIPTS = (
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_insert",
    "oltp_delete",
    "bulk_insert",
)
TABLES = 4
PREPARE_S = 900
# What a run may take beyond its time: connecting, and the transactions under way.
GRACE_S = 90
OPTIONS = (
    "--default-storage-engine=ROCKSDB",
    "--rocksdb-flush-log-at-trx-commit=1",
    "--rocksdb-block-cache-size=256M",
    "--max-connections=200",
)


@dataclass(frozen=True)
class Result:
    """What sysbench says of one run."""

    script: str
    threads: int
    per_second: float
    average_ms: float
    p95_ms: float
    conflicts: int
    errors: tuple[str, ...]


def parse(script: str, threads: int, status: int, output: str) -> Result:
    """Reads the report of a run; anything that is not a complete one without errors is an error."""
    errors = [line.strip() for line in output.splitlines() if re.match(r"\s*(FATAL|ALERT)", line)]

    def number(pattern: str) -> float:
        found = re.search(pattern, output)
        if found is None:
            errors.append(f"the report lacks {pattern.partition(':')[0]}")
            return 0.0
        return float(found[1])

    result = Result(
        script,
        threads,
        # bulk_insert has no transactions of its own: an event is one row.
        per_second=number(
            r"total number of events: +(\d+)"
            if script == "bulk_insert"
            else r"transactions: +\d+ +\(([\d.]+) per sec"
        ),
        average_ms=number(r"avg: +([\d.]+)"),
        p95_ms=number(r"95th percentile: +([\d.]+)"),
        conflicts=int(number(r"ignored errors: +(\d+)")),
        errors=tuple(dict.fromkeys([*errors, *([f"exit status {status}"] if status != 0 else [])])),
    )
    return result


def run(seconds: int, threads: str, rows: int, only: str | None) -> int:
    """Runs the scripts; returns the exit status."""
    counts = _thread_counts(threads)
    if only is not None and only not in SCRIPTS:
        raise CairnError(f"There is no script {only}: choose one of {', '.join(SCRIPTS)}.")
    scripts = [script for script in SCRIPTS if only in (None, script)]
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.SERVER, packages.SYSBENCH), phase)
    mariadb = prefix.require()
    sysbench.ensure(mariadb)
    say(f"  {shown(plugin.library())}, {TABLES} tables of {rows:,} rows, {seconds} s for each run")
    directory = VAR / "acceptance" / "sysbench"
    with own_directory(directory):
        with ScratchServer(mariadb, directory, OPTIONS) as server:
            bench = _Bench(server, rows, directory / "sysbench.log")
            passed, failed = _measure(
                reporter, bench, [(s, c) for s in scripts for c in counts], seconds
            )
            server.stop()
        for text in failed:
            say(f"    {text}")
        if failed:
            say(f"  Kept for a look: {shown(directory)}")
        else:
            remove(directory)
    say("")
    say(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


def _measure(
    reporter: Reporter, bench: _Bench, runs: list[tuple[str, int]], seconds: int
) -> tuple[int, list[str]]:
    """Runs the scripts, prints a line for each, checks the tables; what passed and what failed."""
    server = bench.server
    passed, failed = 0, []
    server.start()
    with reporter.phase("Prepare") as phase:
        phase.summary = f"{bench.prepare():,} rows"
    say(
        f"    {'script':<24}{'threads':>8}{'per second':>12}{'avg ms':>9}{'95% ms':>9}"
        f"{'conflicts':>11}  errors"
    )
    for script, threads in runs:
        result = bench.run(script, threads, seconds)
        say(
            f"    {script:<24}{threads:>8}{result.per_second:>12,.0f}"
            f"{result.average_ms:>9.2f}{result.p95_ms:>9.2f}{result.conflicts:>11}"
            f"  {result.errors[0][:100] if result.errors else 'none'}"
        )
        if result.errors:
            failed.append(f"{script} with {threads} threads: {'; '.join(result.errors[:5])}")
        else:
            passed += 1
        if not server.is_alive():
            failed.append(f"the server crashed in {script}:\n{server.excerpt()}")
            server.start()
    with reporter.phase("CHECK TABLE") as phase:
        wrong = bench.check()
        phase.summary = f"{len(wrong)} problems"
    return passed + (not wrong), failed + wrong


def _thread_counts(text: str) -> list[int]:
    if not re.fullmatch(r"\d+(,\d+)*", text) or "0" in text.split(","):
        raise CairnError(f"--threads={text}: write numbers of threads with commas, such as 1,4,16.")
    return [int(part) for part in text.split(",")]


class _Bench:
    """sysbench against one server."""

    def __init__(self, server: ScratchServer, rows: int, log: Path) -> None:
        self.server = server
        self._rows = TABLES * rows
        self._size = (f"--tables={TABLES}", f"--table-size={rows}")
        self._log = log

    def prepare(self) -> int:
        """Makes the tables; returns how many rows they have."""
        self.server.query(f"CREATE DATABASE {sysbench.DATABASE}")
        status, output = self._sysbench(
            ("oltp_read_write", *self._size, f"--threads={TABLES}", "prepare"), PREPARE_S
        )
        if status != 0:
            raise CairnError(f"sysbench cannot prepare its tables:\n{output[-2000:]}")
        return self._rows

    def run(self, script: str, threads: int, seconds: int) -> Result:
        arguments = (f"--threads={threads}", f"--time={seconds}")
        if script != "bulk_insert":
            arguments = (*self._size, *arguments)
            status, output = self._sysbench((script, *arguments, "run"), seconds + GRACE_S)
            return parse(script, threads, status, output)
        # It makes tables of its own, by the names of the others', and cannot use them twice.
        other = f"--mysql-db={sysbench.DATABASE}_bulk"
        self.server.query(f"CREATE OR REPLACE DATABASE {sysbench.DATABASE}_bulk")
        status, output = self._sysbench((script, other, *arguments, "prepare"), GRACE_S)
        if status == 0:
            status, output = self._sysbench((script, other, *arguments, "run"), seconds + GRACE_S)
        result = parse(script, threads, status, output)
        return Result(**(vars(result) | {"per_second": result.per_second / seconds}))

    def check(self) -> list[str]:
        with self.server.connect(read_timeout=600) as connection, connection.cursor() as cursor:
            return list(sysbench.problems_of_tables(cursor))

    def _sysbench(self, arguments: tuple[str, ...], limit_s: int) -> tuple[int, str]:
        command, environment = sysbench.invocation(
            self.server.mariadb, self.server.socket, arguments
        )
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
            status, output = 124, f"{output}\nFATAL: it has not ended after {limit_s} s"
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"$ sysbench {' '.join(arguments)}\n{output}\n")
        return status, output

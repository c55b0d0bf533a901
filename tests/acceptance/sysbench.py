"""./cairn acceptance sysbench: every bundled script at several thread counts, without an error."""

from __future__ import annotations

from pathlib import Path

from cairn import packages, plugin, sysbench
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs

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


def run(seconds: int, threads: str, rows: int, only: str | None) -> int:
    """Runs the scripts; returns the exit status."""
    counts = sysbench.thread_counts(threads)
    if only is not None and only not in SCRIPTS:
        raise CairnError(f"There is no script {only}: choose one of {', '.join(SCRIPTS)}.")
    scripts = [script for script in SCRIPTS if only in (None, script)]
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.SYSBENCH)
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
        runs.leave(directory, failed)
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

    def run(self, script: str, threads: int, seconds: int) -> sysbench.Report:
        arguments = (f"--threads={threads}", f"--time={seconds}")
        if script != "bulk_insert":
            arguments = (*self._size, *arguments)
            status, output = self._sysbench((script, *arguments, "run"), seconds + GRACE_S)
            return sysbench.read_report(script, status, output)
        # It makes tables of its own, by the names of the others', and cannot use them twice.
        other = f"--mysql-db={sysbench.DATABASE}_bulk"
        self.server.query(f"CREATE OR REPLACE DATABASE {sysbench.DATABASE}_bulk")
        status, output = self._sysbench((script, other, *arguments, "prepare"), GRACE_S)
        if status == 0:
            status, output = self._sysbench((script, other, *arguments, "run"), seconds + GRACE_S)
        return sysbench.read_report(script, status, output)

    def check(self) -> list[str]:
        with self.server.connect(read_timeout=600) as connection, connection.cursor() as cursor:
            return list(sysbench.problems_of_tables(cursor))

    def _sysbench(self, arguments: tuple[str, ...], limit_s: int) -> tuple[int, str]:
        server = self.server
        return sysbench.execute(
            server.mariadb, server.socket, arguments, limit_s=limit_s, log=self._log
        )

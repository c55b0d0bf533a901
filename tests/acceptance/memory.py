"""./cairn acceptance memory: CAIRN_MEMORY names what a server needs for its load.

Compared are a server under sysbench's load on tables of the engine and one under the same load,
with as many connections and the same statements, on small tables of InnoDB: what that one needs is
the server's own. InnoDB's buffer pool, whose pages come from the system one by one, is taken off
both.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cairn import packages, plugin, sysbench
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs

TABLES = 8
THREADS = 16
CACHE_MIB = 256
SAMPLES = 10
# The sum of the parts may miss so much of the growth, or claim so much too much.
ALLOWED = 0.10
PREPARE_S = 1800
OPTIONS = (
    "--default-storage-engine=ROCKSDB",
    "--rocksdb-flush-log-at-trx-commit=2",
    f"--rocksdb-block-cache-size={CACHE_MIB}M",
    "--max-connections=200",
)
MIB = 1024 * 1024
LOAD = (
    f"--threads={THREADS}",
    "--range-size=2000",  # The cache fills, also on a slow machine.
)
CONTROL = f"{sysbench.DATABASE}_control"
CONTROL_TABLES = (
    f"--mysql-db={CONTROL}",
    "--mysql_storage_engine=innodb",
    f"--tables={TABLES}",
    "--table-size=10000",  # So that ranges have as many rows to sort.
)
CONTROL_S = 30


@dataclass(frozen=True)
class Reading:
    """What CAIRN_MEMORY says at one time, in bytes."""

    parts: dict[str, int]
    used: int
    free: int
    resident: int

    @property
    def sum(self) -> int:
        return sum(self.parts.values())


@dataclass(frozen=True)
class Growth:
    """A loaded server less one that does the same without the engine."""

    parts: int
    used: int
    resident: int

    @property
    def error(self) -> float:
        """How far the parts are from the growth of the process, as a share of it."""
        return (self.parts - self.resident) / self.resident


def parse(rows: list[tuple[Any, ...]]) -> Reading:
    """Reads the rows (KIND, ROLE, BYTES)."""
    parts = {role: int(count) for kind, role, count in rows if kind == "part"}
    totals = {role: int(count) for kind, role, count in rows if kind == "total"}
    try:
        reading = Reading(
            parts,
            totals["allocator: in use"],
            totals["allocator: free"],
            totals["process: resident"],
        )
    except KeyError as missing:
        raise CairnError(f"CAIRN_MEMORY has no row {missing}.") from None
    if totals.get("sum of the parts") != reading.sum:
        raise CairnError("CAIRN_MEMORY's sum is not that of its parts.")
    return reading


def growth(loaded: Reading, idle: Reading) -> Growth:
    return Growth(loaded.sum - idle.sum, loaded.used - idle.used, loaded.resident - idle.resident)


def run(rows: int, seconds: int) -> int:
    """Loads a server and compares; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.SYSBENCH)
    say(
        f"  {shown(plugin.library())}, {TABLES} tables of {rows:,} rows, {THREADS} threads, "
        f"block cache {CACHE_MIB} MiB"
    )
    directory = VAR / "acceptance" / "memory"
    with own_directory(directory), ScratchServer(mariadb, directory, OPTIONS) as server:
        load = _Load(server, rows, directory / "sysbench.log")
        with reporter.phase("Prepare") as phase:
            server.start()
            load.prepare()
            server.stop()
            phase.summary = f"{TABLES * rows:,} rows"
        server.start()
        with reporter.phase("The server without the engine") as phase:
            idle = load.control()
            phase.summary = f"{idle.resident / MIB:,.0f} MiB resident"
        server.stop()
        server.start()
        with reporter.phase("Load") as phase:
            readings = load.measure(seconds)
            phase.summary = f"{readings[-1].resident / MIB:,.0f} MiB resident"
        server.stop()
    status = _report(idle, readings)
    runs.leave(directory, status)
    return status


def _report(idle: Reading, readings: list[Reading]) -> int:
    title = "MiB more than the control"
    say(f"    {title:<28}{'parts':>10}{'allocator':>11}{'resident':>10}{'error':>9}")
    grown = [growth(reading, idle) for reading in readings]
    for number, each in enumerate(grown, 1):
        say(
            f"    {f'sample {number}':<28}{each.parts / MIB:>10.1f}{each.used / MIB:>11.1f}"
            f"{each.resident / MIB:>10.1f}{each.error:>9.1%}"
        )
    say("    The last sample by role, MiB")
    for role, count in readings[-1].parts.items():
        more = count - idle.parts.get(role, 0)
        if abs(more) >= MIB // 10:
            say(f"      {role:<36}{more / MIB:>10.1f}")
    worst = max((each.error for each in grown), key=abs)
    say("")
    say(f"The parts are at most {worst:+.1%} off the growth; {ALLOWED:.0%} are allowed")
    return 0 if abs(worst) <= ALLOWED else 1


def _read(server: ScratchServer) -> Reading:
    reading = parse(server.query("SELECT kind, role, bytes FROM information_schema.CAIRN_MEMORY"))
    pool = int(server.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_bytes_data'")[0][1])
    return replace(reading, resident=reading.resident - pool)


class _Load:
    """Reads and writes of sysbench, and a transaction with many locked and changed rows beside."""

    def __init__(self, server: ScratchServer, rows: int, log: Path) -> None:
        self._server = server
        self._rows = rows
        self._size = (f"--tables={TABLES}", f"--table-size={rows}")
        self._log = log

    def prepare(self) -> None:
        self._server.query(f"CREATE DATABASE {sysbench.DATABASE}")
        self._server.query(f"CREATE DATABASE {CONTROL}")
        self._finish(("oltp_read_write", *self._size, f"--threads={TABLES}", "prepare"))
        self._finish(("oltp_read_write", *CONTROL_TABLES, "prepare"))

    def control(self) -> Reading:
        """As many connections with the same prepared statements, on small tables of InnoDB.

        This is what the server itself takes for them: threads, statements, open tables.
        """
        arguments = ("oltp_read_write", *CONTROL_TABLES, *LOAD, "--time=90", "run")
        with self._started(arguments) as child:
            time.sleep(CONTROL_S)
            _read(self._server)  # Whatever a first statement of this kind needs.
            reading = _read(self._server)
            if child.poll() is not None:
                raise CairnError(f"sysbench ended early; see {shown(self._log)}.")
        return reading

    def _finish(self, arguments: tuple[str, ...]) -> None:
        with self._started(arguments) as child:
            try:
                status = child.wait(PREPARE_S)
            except subprocess.TimeoutExpired:
                status = -1
        if status != 0:
            raise CairnError(f"sysbench cannot prepare its tables; see {shown(self._log)}.")

    def measure(self, seconds: int) -> list[Reading]:
        """Warms up for half of the time, then reads as often as it takes, the load going on."""
        arguments = ("oltp_read_write", *self._size, *LOAD, f"--time={seconds + 60}", "run")
        readings = []
        with self._started(arguments) as child, self._large_transaction():
            time.sleep(seconds / 2)
            for _ in range(SAMPLES):
                time.sleep(seconds / 2 / SAMPLES)
                readings.append(_read(self._server))
                if child.poll() is not None:
                    raise CairnError(f"sysbench ended early; see {shown(self._log)}.")
        return readings

    @contextmanager
    def _large_transaction(self) -> Iterator[None]:
        """Rows that nobody else uses: its locks and changes stay for as long as the load."""
        self._server.query(
            f"CREATE TABLE {sysbench.DATABASE}.large (id INT PRIMARY KEY, text VARCHAR(200))"
        )
        digits = "(SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4)"
        source = " JOIN ".join(f"{digits} d{i}" for i in range(7))  # 78,125 rows.
        number = "+".join(f"d{i}.n*{5**i}" for i in range(7))
        with self._server.connect(read_timeout=300) as connection, connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(
                f"INSERT INTO {sysbench.DATABASE}.large "
                f"SELECT {number}, REPEAT('x', 100) FROM {source}"
            )
            yield
            cursor.execute("ROLLBACK")

    @contextmanager
    def _started(self, arguments: tuple[str, ...]) -> Iterator[subprocess.Popen[bytes]]:
        server = self._server
        child = sysbench.launch(server.mariadb, server.socket, arguments, log=self._log)
        try:
            yield child
        finally:
            child.kill()
            child.wait()

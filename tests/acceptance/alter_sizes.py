"""./cairn acceptance alter-sizes: ALTER TABLE of large tables, and beside clients at full speed.

Instant changes take moments and write next to nothing, whatever the table has; indexes are added in
bounded memory, and clients that write meanwhile wait for moments only, lose little speed, and get
no error.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cairn import packages, plugin, sysbench
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs
from tests.acceptance.process_memory import ProcessMemory

SCHEMA = sysbench.DATABASE
SORT_MIB = 64  # rocksdb_merge_buf_size
OPTIONS = (
    "--rocksdb-block-cache-size=64M",
    "--rocksdb-default-cf-options=write_buffer_size=32m",
    "--rocksdb-flush-log-at-trx-commit=2",
    f"--rocksdb-merge-buf-size={SORT_MIB << 20}",
)
STATEMENT_S = 7200
# What a build may take beside its sorters.
BUILD_BYTES = 64 << 20
INSTANT_S = 0.05
INSTANT_BYTES = 64 << 10
# A client's statement beside a build, but for those that wait for its first and last moment.
LONGEST_MS = 300.0
LEAST_SPEED = 0.75
# How long clients write before the build, and with the index after it.
SETTLE_S = 10


@dataclass(frozen=True)
class _Interval:
    """A second of sysbench: when it ended, transactions in it, the longest in milliseconds."""

    end: float
    transactions: float
    longest_ms: float
    errors: float


class _Sizes:
    """The server, a session, and what was found wrong."""

    def __init__(self, server: ScratchServer, connection: Any) -> None:
        self.server = server
        self.cursor = connection.cursor()
        self.wrong: list[str] = []

    def execute(self, text: str) -> float:
        """Runs a statement; the seconds that it took."""
        begun = time.monotonic()
        self.cursor.execute(text)
        return time.monotonic() - begun

    def value(self, text: str) -> Any:
        self.cursor.execute(text)
        return self.cursor.fetchone()[0]

    def require(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def written(self) -> int:
        """The bytes that the server has given to write calls so far."""
        text = Path(f"/proc/{self.server.pid}/io").read_text(encoding="ascii")
        return int(text.split("wchar: ")[1].split()[0])

    def kept(self) -> int:
        """Memory that does not go with a statement: filters and indexes of files, caches."""
        return int(
            self.value(
                "SELECT SUM(BYTES) FROM information_schema.CAIRN_MEMORY "
                "WHERE ROLE = 'table readers' OR ROLE LIKE 'block cache%'"
            )
        )

    def load(self, table: str, select: str) -> None:
        self.execute("SET rocksdb_bulk_load = 1")
        self.execute(f"INSERT INTO {table} {select}")
        self.execute("SET rocksdb_bulk_load = 0")

    def settle(self) -> None:
        """Waits until the server writes nothing by itself, at most a minute."""
        for _ in range(60):
            before = self.written()
            time.sleep(1)
            if self.written() - before < INSTANT_BYTES // 10:
                return


def _instant(sizes: _Sizes, rows: int, reporter: Reporter) -> None:
    with reporter.phase("A table") as phase:
        sizes.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL) ENGINE=ROCKSDB"
        )
        sizes.load("t", f"SELECT seq, seq * 7 % 1000003, -seq FROM seq_1_to_{rows}")
        sizes.settle()
        phase.summary = f"{rows:,} rows"
    for name, changes in (
        ("ADD COLUMN", ("ADD COLUMN c INT DEFAULT 7", "ADD COLUMN d INT", "ADD COLUMN e INT")),
        ("DROP COLUMN", ("DROP COLUMN c", "DROP COLUMN d", "DROP COLUMN e")),
        ("MODIFY", ("MODIFY b BIGINT NOT NULL", "MODIFY b BIGINT", "ALTER b SET DEFAULT 5")),
    ):
        with reporter.phase(name) as phase:
            taken = [_change_instantly(sizes, change) for change in changes]
            seconds = min(seconds for seconds, _ in taken)
            written = max(written for _, written in taken)
            phase.summary = f"{seconds * 1000:.0f} ms at best, {written >> 10} KiB written at most"
            sizes.require(seconds < INSTANT_S, f"{name} took {seconds:.3f} s")
            sizes.require(written < INSTANT_BYTES, f"{name} wrote {written:,} bytes")
    with reporter.phase("Rows") as phase:
        found = sizes.value("SELECT CONCAT(COUNT(*), ' ', SUM(b)) FROM t")
        sizes.require(found == f"{rows} {-rows * (rows + 1) // 2}", f"the rows are {found}")
        phase.summary = "as they were"


def _change_instantly(sizes: _Sizes, change: str) -> tuple[float, int]:
    """The seconds that a change takes, and the bytes that the server writes."""
    before = sizes.written()
    seconds = sizes.execute(f"ALTER TABLE t {change}, ALGORITHM=INSTANT")
    return seconds, sizes.written() - before


def _memory(sizes: _Sizes, reporter: Reporter) -> None:
    memory = ProcessMemory(sizes.server.pid or 0)
    for name, change, indexes in (
        ("ADD INDEX", "ADD INDEX (a), ADD INDEX (b, a)", 2),
        ("FORCE", "FORCE, ALGORITHM=INPLACE", 2),  # The rows come in order.
        ("PRIMARY KEY", "DROP PRIMARY KEY, ADD PRIMARY KEY (b), ALGORITHM=INPLACE", 3),
    ):
        with reporter.phase(name) as phase:
            kept = sizes.kept()
            before = memory.begin()
            seconds = sizes.execute(f"ALTER TABLE t {change}")
            peak = memory.peak() - before
            # The filters and indexes of new files are the table's, not the statement's.
            kept = max(0, sizes.kept() - kept)
            allowed = (indexes * SORT_MIB << 20) + BUILD_BYTES + kept
            phase.summary = (
                f"{seconds:.0f} s, peak {peak >> 20} MiB beyond what there was, of "
                f"{allowed >> 20} allowed ({kept >> 20} for filters and caches)"
            )
            sizes.require(peak <= allowed, f"{name}: peak {peak >> 20} MiB")


def _writers(sizes: _Sizes, mariadb: Server, rows: int, threads: int, reporter: Reporter) -> None:
    with reporter.phase("Another table") as phase:
        sizes.execute(
            "CREATE TABLE sbtest1 (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, "
            "c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k_1 (k)) ENGINE=ROCKSDB"
        )
        sizes.load(
            "sbtest1",
            # As compressible as sysbench's own: digits, of which two take a byte.
            "SELECT seq, seq * 7 % 1000003, CONCAT(SHA2(seq, 256), LEFT(SHA2(-seq, 256), 56)), "
            f"LEFT(SHA2(seq + 0.5, 256), 60) FROM seq_1_to_{rows}",
        )
        phase.summary = f"{rows:,} rows"
    log = sizes.server.directory / "sysbench.log"
    log.unlink(missing_ok=True)
    arguments = (
        "oltp_update_index",
        f"--threads={threads}",
        "--tables=1",
        f"--table-size={rows}",
        f"--time={STATEMENT_S}",
        "--report-interval=1",
        "--percentile=100",
        "--mysql-ignore-errors=none",
        "run",
    )
    with reporter.phase(f"{threads} clients write") as phase:
        started = time.monotonic()
        clients = sysbench.launch(mariadb, sizes.server.socket, arguments, log=log)
        try:
            time.sleep(SETTLE_S)
            begun = time.monotonic() - started
            with _Stages(sizes.server, started) as stages:
                sizes.execute(
                    "ALTER TABLE sbtest1 ADD INDEX kc (k, c), ALGORITHM=NOCOPY, LOCK=NONE"
                )
            ended = time.monotonic() - started
            time.sleep(max(SETTLE_S, min(60.0, ended - begun)) + 2)
            ending = clients.poll()
        finally:
            clients.terminate()
            clients.wait()
        sizes.require(ending is None, f"the clients ended with {ending}")
        intervals = _intervals(log.read_text(encoding="utf-8", errors="replace"))
        during = [each for each in intervals if begun + 1 < each.end - 1 and each.end < ended - 1]
        after = [each for each in intervals if each.end > ended + 2]
        sizes.require(during and after, "the build was over before the clients were counted")
        if not during or not after:
            return
        speed = _mean(during) / _mean(after)
        longest = max(each.longest_ms for each in during)
        at_ends = max(each.longest_ms for each in intervals)
        phase.summary = (
            f"ADD INDEX {ended - begun:.0f} s; {_mean(during):,.0f} statements/s meanwhile, "
            f"{_mean(after):,.0f} with the index ({speed:.0%}); longest {longest:.0f} ms, "
            f"{at_ends:.0f} ms at its ends"
        )
        for stage, first, last in stages.found:
            within = [each for each in during if first + 1 <= each.end <= last]
            if within:
                share = _mean(within) / _mean(after)
                phase.note(
                    f"{stage}: {last - first:.0f} s, clients have {share:.0%} of their speed"
                )
        sizes.require(speed >= LEAST_SPEED, f"clients have {speed:.0%} of their speed")
        sizes.require(longest <= LONGEST_MS, f"a statement took {longest:.0f} ms")
        sizes.require(not any(each.errors for each in intervals), "clients got errors")
    with reporter.phase("CHECK TABLE") as phase:
        sizes.cursor.execute("CHECK TABLE t, sbtest1 EXTENDED")
        for table, _, _, text in sizes.cursor.fetchall():
            sizes.require(text == "OK", f"CHECK TABLE {table}: {text}")
        phase.summary = "done"


class _Stages:
    """Watches the stages of the one build of indexes that runs."""

    def __init__(self, server: ScratchServer, started: float) -> None:
        self.found: list[tuple[str, float, float]] = []  # Its name, first and last seen.
        self._server = server
        self._started = started
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        with closing(self._server.connect(autocommit=True)) as connection:
            cursor = connection.cursor()
            while not self._ended.wait(0.2):
                cursor.execute("SELECT STAGE FROM information_schema.CAIRN_INDEX_BUILDS LIMIT 1")
                for (stage,) in cursor.fetchall():
                    now = time.monotonic() - self._started
                    if self.found and self.found[-1][0] == stage:
                        self.found[-1] = (stage, self.found[-1][1], now)
                    else:
                        self.found.append((stage, now, now))


def _mean(intervals: list[_Interval]) -> float:
    return sum(each.transactions for each in intervals) / len(intervals)


def _intervals(output: str) -> list[_Interval]:
    found = []
    for line in output.splitlines():
        if not line.startswith("[ ") or " tps: " not in line:
            continue
        found.append(
            _Interval(
                float(line.split()[1].removesuffix("s")),
                float(line.split(" tps: ")[1].split()[0]),
                float(line.split("(ms,")[1].split(": ")[1].split()[0]),
                float(line.split(" err/s: ")[1].split()[0]),
            )
        )
    return found


def run(rows: int, writer_rows: int, threads: int) -> int:
    """Runs all; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.SYSBENCH)
    sysbench.ensure(mariadb)
    say(f"  {shown(plugin.library())}")
    directory = VAR / "acceptance" / "alter-sizes"
    with own_directory(directory), ScratchServer(mariadb, directory, OPTIONS) as server:
        server.start()
        server.execute(f"CREATE DATABASE {SCHEMA}")
        with closing(
            server.connect(database=SCHEMA, autocommit=True, read_timeout=STATEMENT_S)
        ) as connection:
            sizes = _Sizes(server, connection)
            _instant(sizes, rows, reporter)
            _memory(sizes, reporter)
            _writers(sizes, mariadb, writer_rows, threads, reporter)
        sizes.require(not server.errors(), "\n".join(server.errors()))
        server.stop()
        for text in sizes.wrong:
            say(f"    {text}")
        runs.leave(directory, sizes.wrong)
    say("")
    say("failed" if sizes.wrong else "passed")
    return 1 if sizes.wrong else 0

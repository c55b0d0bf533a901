"""./cairn acceptance large: statements that change millions of rows at once.

They complete, in memory that grows with the rows and no faster, or end with an error that names the
limit; then the statement is undone, its memory is free and the transaction goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cairn import plugin
from cairn.paths import VAR, shown
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs
from tests.acceptance.process_memory import ProcessMemory

SCHEMA = "large"
CACHE_MIB = 64
OPTIONS = (
    f"--rocksdb-block-cache-size={CACHE_MIB}M",
    "--rocksdb-default-cf-options=write_buffer_size=32m",
    "--rocksdb-flush-log-at-trx-commit=2",
)
BINARY_LOG = ("--log-bin", "--binlog-format=row")
BYPASS = ("--cairn-bypass-memtable-bytes=16M",)
# What a changed row may need: its lock, its old and new entries in the write batch with the batch's
# index, and at the commit the same in a memtable.
ROW_BYTES = 2048
# What a statement may need whatever it does: memtables, the block cache, buffers of the server.
BASE_BYTES = (256 + CACHE_MIB) << 20
STATEMENT_S = 3600
_GET_ERRMSG = 1296


@dataclass(frozen=True)
class Cost:
    """What a statement took."""

    seconds: float
    bytes: int  # At the peak, beyond what the server had before.
    error: str


class _Session:
    """One connection and what its statements take."""

    def __init__(self, server: ScratchServer, connection: Any) -> None:
        self.cursor = connection.cursor()
        self.memory = ProcessMemory(server.pid or 0)

    def run(self, text: str) -> Cost:
        import pymysql

        before = self.memory.begin()
        begun = time.monotonic()
        error = ""
        try:
            self.cursor.execute(text)
        except pymysql.MySQLError as refusal:
            error = f"{refusal.args[0]}: {refusal.args[1]}"
        return Cost(time.monotonic() - begun, self.memory.peak() - before, error)

    def value(self, text: str) -> Any:
        self.cursor.execute(text)
        return self.cursor.fetchone()[0]


class _Bench:
    """The server, and what was found wrong."""

    def __init__(self, server: ScratchServer) -> None:
        self.server = server
        self.wrong: list[str] = []

    @contextmanager
    def session(self) -> Iterator[_Session]:
        """A session of a server that starts for it, so that no memory is left of others."""
        self.server.start()
        with self.server.connect(autocommit=True, read_timeout=STATEMENT_S) as connection:
            session = _Session(self.server, connection)
            session.cursor.execute(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
            session.cursor.execute(f"USE {SCHEMA}")
            yield session
        self.require(not self.server.errors(), "\n".join(self.server.errors()))
        self.server.stop()

    def require(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)


def _insert(rows: int) -> str:
    return (
        "INSERT INTO t (a, b) SELECT seq * 7 % 1000003, REPEAT(CHAR(97 + seq % 26), 60) "
        f"FROM seq_1_to_{rows}"
    )


def _complete(bench: _Bench, rows: int, reporter: Reporter) -> None:
    """Each statement changes all rows in one transaction, in a server that has just started."""
    facts = "SELECT CONCAT(COUNT(*), ' ', SUM(a), ' ', SUM(LENGTH(b))) FROM t"
    by_index = "SELECT CONCAT(COUNT(*), ' ', SUM(a)) FROM t FORCE INDEX (a) WHERE a >= 0"
    total = sum(number * 7 % 1000003 for number in range(1, rows + 1))
    changes = (
        ("INSERT … SELECT", _insert(rows), rows, total),
        ("UPDATE", "UPDATE t SET a = a + 1", rows, total + rows),
        ("ALTER, copying", "ALTER TABLE t ADD c INT, ALGORITHM=COPY", 0, total + rows),
        ("DELETE", "DELETE FROM t", rows, None),
    )
    for name, text, changed, wanted in changes:
        with reporter.phase(name) as phase, bench.session() as session:
            session.cursor.execute(f"SET rocksdb_max_row_locks = {4 * rows}")
            cost = session.run(text)
            allowed = BASE_BYTES + changed * ROW_BYTES
            phase.summary = (
                f"{rows:,} rows in {cost.seconds:.0f} s, peak {cost.bytes >> 20} MiB "
                f"of {allowed >> 20} allowed"
            )
            bench.require(not cost.error, f"{name}: {cost.error}")
            bench.require(cost.bytes <= allowed, f"{name} needs more memory than it may")
            whole = None if wanted is None else f"{rows} {wanted} {60 * rows}"
            bench.require(
                session.value(facts) == whole, f"{name}: the rows are {session.value(facts)}"
            )
            keys = None if wanted is None else f"{rows} {wanted}"
            bench.require(session.value(by_index) == keys, f"{name}: the index differs")


def _refuse(bench: _Bench, rows: int, reporter: Reporter) -> None:
    """Each limit ends statements with an error; the transaction goes on and commits what it has."""
    limits = (
        ("rocksdb_max_row_locks", rows // 4, rows // 4 * ROW_BYTES),
        # A deleted row takes some 35 bytes of the batch.
        ("rocksdb_write_batch_max_bytes", rows * 16, rows * ROW_BYTES),
    )
    count = "SELECT CONCAT(COUNT(*), ' ', SUM(a)) FROM t"
    with bench.session() as session:
        session.cursor.execute(f"SET rocksdb_max_row_locks = {4 * rows}")
        session.cursor.execute(_insert(rows))
    for variable, limit, memory in limits:
        with reporter.phase(variable) as phase, bench.session() as session:
            session.cursor.execute(f"SET rocksdb_max_row_locks = {4 * rows}")
            session.cursor.execute(f"SET {variable} = {limit}")
            before = session.value(count)
            peak = 0
            for text in (_insert(rows), "UPDATE t SET a = a + 1", "DELETE FROM t"):
                session.cursor.execute("BEGIN")
                session.cursor.execute("INSERT INTO kept VALUES (1)")
                cost = session.run(text)
                peak = max(peak, cost.bytes)
                what = f"{variable} = {limit}: {text[:22]}…"
                bench.require(
                    cost.error.startswith(str(_GET_ERRMSG)) and variable in cost.error,
                    f"{what}: {cost.error or 'no error'}",
                )
                bench.require(session.value(count) == before, f"{what} is not undone")
                session.cursor.execute("COMMIT")
                bench.require(
                    session.value("SELECT COUNT(*) FROM kept") == 1,
                    f"{what}: the transaction has not committed what it had",
                )
                session.cursor.execute("DELETE FROM kept")
            bench.require(session.value(count) == before, f"{variable}: the rows have changed")
            phase.summary = f"{limit:,}: an error that names it, peak {peak >> 20} MiB"
            bench.require(peak <= BASE_BYTES + memory, f"{variable}: peak {peak >> 20} MiB")


def run(rows: int, *, binary_log: bool, bypass_memtable: bool) -> int:
    """Runs all statements; returns the exit status."""
    options = OPTIONS
    if binary_log or bypass_memtable:
        options += BINARY_LOG
    if bypass_memtable:
        options += BYPASS
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    say(f"  {shown(plugin.library())}, {rows:,} rows")
    directory = VAR / "acceptance" / "large"
    with own_directory(directory), ScratchServer(mariadb, directory, options) as server:
        bench = _Bench(server)
        with bench.session() as session:
            session.cursor.execute(
                "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, "
                "b VARCHAR(100), KEY a (a)) ENGINE=ROCKSDB"
            )
            session.cursor.execute("CREATE TABLE kept (id INT PRIMARY KEY) ENGINE=ROCKSDB")
        _complete(bench, rows, reporter)
        with bench.session() as session:
            session.cursor.execute("ALTER TABLE t DROP c, ALGORITHM=COPY")
        _refuse(bench, rows, reporter)
        with bench.session() as session:
            session.cursor.execute("CHECK TABLE t")
            bench.require(session.cursor.fetchone()[3] == "OK", "CHECK TABLE is not OK")
    for text in bench.wrong:
        say(f"    {text}")
    runs.leave(directory, bench.wrong)
    say("")
    say("failed" if bench.wrong else "passed")
    return 1 if bench.wrong else 0

"""Loading a flat file: how long it takes and how much disk it needs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cairn import files
from cairn.bench import flights, idle
from cairn.bench.engines import MIB, BenchServer, Setup
from cairn.bench.machine import Needs
from cairn.bench.settings import Settings
from cairn.bench.workload import Case, Facts, Measurement, Outcome, Workload
from cairn.errors import CairnError
from cairn.scratch_server import ENGINE_DIRECTORY

DATABASE = "flights"
TABLE = "ontime"
ROWS = 1_000_000
QUICK_ROWS = 100_000
SEED = 29
# One statement, and transaction, loads one file.
ROWS_A_FILE = 250_000
ROW_BYTES = 110  # In the file.
# For the estimate only.
ROWS_WRITTEN_PER_S = 20_000
ROWS_LOADED_PER_S = 30_000
START_S = 5.0
TIDY_S = 4.0  # Dropping, compacting and looking.
DROP_S = 120.0

_INDEXES = "KEY by_carrier (UniqueCarrier, Year, Month), KEY by_route (Origin, Dest)"
# How each engine wants to be told that a sorted load comes.
_BULK = {
    "InnoDB": ("SET SESSION unique_checks = OFF", "SET SESSION foreign_key_checks = OFF"),
    "ROCKSDB": ("SET SESSION rocksdb_bulk_load = ON",),
}
_BULK_END = {"InnoDB": (), "ROCKSDB": ("SET SESSION rocksdb_bulk_load = OFF",)}


class Load(Workload):
    """The same files into an empty table: with the primary key alone, with two indexes, in bulk."""

    name = "load"

    def __init__(self, rows: int, setup: Setup) -> None:
        self.rows = rows
        self.setup = setup
        self.title = f"LOAD DATA of {rows:,} flights of 29 columns, synced at every commit"
        self._files: list[Path] = []

    @property
    def cases(self) -> Sequence[Case]:
        seconds = self.rows / ROWS_LOADED_PER_S
        return (
            Case("plain", seconds + TIDY_S, partial(self._run, "plain", "", bulk=False)),
            Case(
                "indexed", 2 * seconds + TIDY_S, partial(self._run, "indexed", _INDEXES, bulk=False)
            ),
            Case("bulk", seconds / 2 + TIDY_S, partial(self._run, "bulk", "", bulk=True)),
        )

    @property
    def prepare_s(self) -> float:
        return START_S + self.rows / ROWS_WRITTEN_PER_S / 3

    def needs(self) -> Needs:
        file = self.rows * ROW_BYTES
        return Needs(disk_bytes=file + 3 * 6 * file, memory_bytes=3 * 1024 * MIB)

    def prepare(self, server: BenchServer) -> None:
        """Makes the files, which all engines read, for the first of them."""
        if not self._files:
            directory = files.fresh_directory(server.directory.parent / "flights")
            self._files = flights.write(directory, self.rows, ROWS_A_FILE, SEED)
        server.query(f"CREATE DATABASE {DATABASE}")

    def _run(
        self, name: str, indexes: str, server: BenchServer, number: int, *, bulk: bool
    ) -> Outcome:
        with server.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            engine = server.engine.sql_name
            self._make_table(cursor, server, indexes)
            before = _disk_bytes(server)
            begun = time.monotonic()
            for statement in _BULK[engine] if bulk else ():
                cursor.execute(statement)
            for file in self._files:
                cursor.execute(f"LOAD DATA INFILE '{file}' INTO TABLE {TABLE} ({_names()})")
            for statement in _BULK_END[engine] if bulk else ():
                cursor.execute(statement)
            seconds = time.monotonic() - begun
            idle.wait([server.pid or 0])
            settled_s = time.monotonic() - begun
            loaded = self._flushed_bytes(cursor, server) - before
            _compact(cursor, server)
            compacted = _disk_bytes(server) - before
            facts = self._look(cursor)
            cursor.execute(f"DROP TABLE {TABLE}")
        return Outcome(
            [
                Measurement(
                    f"{name}/seconds",
                    "s",
                    seconds,
                    higher_is_better=False,
                    details={"until_idle_s": settled_s},
                ),
                Measurement(f"{name}/bytes", "bytes", loaded, higher_is_better=False),
                Measurement(
                    f"{name}/bytes after compaction", "bytes", compacted, higher_is_better=False
                ),
            ],
            facts,
        )

    def _make_table(self, cursor: Any, server: BenchServer, indexes: str) -> None:
        keys = ", ".join(("PRIMARY KEY (id)", *([indexes] if indexes else [])))
        cursor.execute(
            f"CREATE TABLE {TABLE} ({flights.COLUMNS}, id BIGINT NOT NULL AUTO_INCREMENT, {keys}) "
            f"ENGINE={server.engine.sql_name}"
        )
        if server.loads_plugin:
            # What earlier tables have left behind goes now, not while this one is weighed.
            _wait_for_drops(cursor)
            _compact(cursor, server)

    @staticmethod
    def _flushed_bytes(cursor: Any, server: BenchServer) -> int:
        if server.loads_plugin:
            cursor.execute("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        return _disk_bytes(server)

    def _look(self, cursor: Any) -> Facts:
        cursor.execute(
            f"SELECT COUNT(*), SUM(ArrDelay), SUM(Distance), COUNT(TailNum), "
            f"COUNT(DISTINCT Origin, Dest) FROM {TABLE}"
        )
        facts: dict[str, Any] = {"rows and sums": str(cursor.fetchone())}
        # Without the key: InnoDB leaves values of AUTO_INCREMENT out between two statements.
        cursor.execute(
            f"SELECT BIT_XOR(number), SUM(number) FROM ({_row_checksums()}) AS checksums"
        )
        facts["checksum"] = str(cursor.fetchone())
        return facts


def _columns() -> list[str]:
    """The columns that are in the file."""
    return [line.split()[0] for line in flights.COLUMNS.strip().splitlines()]


def _names() -> str:
    return ", ".join(_columns())


def _row_checksums() -> str:
    """A query that gives a number for the values of each row, NULL among them."""
    values = ", ".join(f"IFNULL({column}, 'NULL')" for column in _columns())
    return f"SELECT CRC32(CONCAT_WS('|', {values})) AS number FROM {TABLE}"


def _disk_bytes(server: BenchServer) -> int:
    """Bytes of the files that hold rows; logs are not among them."""
    if server.loads_plugin:
        return sum(map(files.size_of, (server.data / ENGINE_DIRECTORY).glob("*.sst")))
    return files.size_of(server.data / DATABASE)


def _compact(cursor: Any, server: BenchServer) -> None:
    """Makes the table as small as the engine can; afterwards nothing of it is under way."""
    if server.loads_plugin:
        cursor.execute("SET GLOBAL rocksdb_compact_cf = 'default'")
    else:
        cursor.execute(f"OPTIMIZE TABLE {TABLE}")
        cursor.fetchall()
    idle.wait([server.pid or 0])


def _wait_for_drops(cursor: Any) -> None:
    """Returns when the engine has forgotten all dropped indexes."""
    begun = time.monotonic()
    while time.monotonic() - begun < DROP_S:
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.ROCKSDB_GLOBAL_INFO "
            "WHERE TYPE = 'DDL_DROP_INDEX_ONGOING'"
        )
        if cursor.fetchone()[0] == 0:
            return
        time.sleep(0.2)
    raise CairnError(f"Dropped indexes are still there after {DROP_S:g} s.")


def workloads(settings: Settings) -> list[Load]:
    """The one workload; quick runs leave it out unless it is asked for."""
    if settings.quick and not settings.names:
        return []
    rows = settings.rows or (QUICK_ROWS if settings.quick else ROWS)
    return [Load(rows, Setup(settings.memory_bytes or 512 * MIB))]

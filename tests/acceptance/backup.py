"""./cairn acceptance backup: a server is backed up under load, and restored with all that it had.

Each round takes one backup, and restores it to four servers: as the source was, with the logs
elsewhere (rocksdb_wal_dir), with an absolute rocksdb_datadir, and with both. A server that refuses
to start must say what to do, and start once that is done.
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from cairn import process
from cairn.paths import LOG, VAR
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, own_directory, remove
from tests import runs
from tests.acceptance import rounds
from tests.acceptance.rounds import Wrong

OPTIONS = ("--rocksdb-block-cache-size=16M", "--binlog-format=ROW", "--server-id=1")
CHECKPOINT = "mariabackup-checkpoint"
WRITERS = 3
SETTLE_S = 1.0
# Prepared before the backup, each in another set of engines: name and tables.
PREPARED = {"cairn": ("c",), "innodb": ("i",), "both": ("c", "i")}
_FIRST_PREPARED_ID = 1_000_000
_DDL_IN_THE_WAY = (1050, 1051, 1146)


@dataclass
class Load:
    """Clients that write the same rows to both engines, and one that makes and drops tables."""

    server: ScratchServer
    longest_s: float = 0.0  # What the slowest commit took.
    errors: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        jobs = [(self._write, number) for number in range(WRITERS)]
        jobs.append((self._define, WRITERS))
        for job, number in jobs:
            thread = threading.Thread(target=self._guarded, args=(job, number), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise Wrong(f"a client failed during the backup: {self.errors[0]}")

    def _guarded(self, job: Any, number: int) -> None:
        try:
            with self.server.connect() as connection, connection.cursor() as cursor:
                job(cursor, number)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")

    def _write(self, cursor: Any, number: int) -> None:
        done = 0
        while not self._stop.is_set():
            first = number * 100_000 + done
            cursor.execute("BEGIN")
            for table in ("c", "i"):
                cursor.execute(
                    f"INSERT INTO kept.{table} SELECT {first} + seq, {number}, REPEAT('x', 90) "
                    "FROM kept.seq_0_to_4"
                )
                cursor.execute(f"UPDATE kept.{table} SET n = n + 10 WHERE id = {first}")
            begun = time.monotonic()
            cursor.execute("COMMIT")
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            done += 5
            time.sleep(0.002)

    def _define(self, cursor: Any, number: int) -> None:
        import pymysql

        count = 0
        while not self._stop.is_set():
            count += 1
            for statement in (
                f"CREATE TABLE kept.d{count} (id INT PRIMARY KEY, k INT, KEY (k)) ENGINE=ROCKSDB",
                f"INSERT INTO kept.d{count} SELECT seq, seq FROM kept.seq_1_to_20",
                f"ALTER TABLE kept.d{count} ADD COLUMN z INT, DROP KEY k, ADD KEY (id, k)",
                f"RENAME TABLE kept.d{count} TO kept.e{count}",
                f"DROP TABLE IF EXISTS kept.e{max(count - 3, 0)}",
            ):
                try:
                    cursor.execute(statement)
                except pymysql.MySQLError as error:
                    if error.args[0] not in _DDL_IN_THE_WAY:
                        raise
            time.sleep(0.01)


@dataclass(frozen=True)
class Place:
    """Where a restored server has its files."""

    name: str
    logs_elsewhere: bool
    data_elsewhere: bool


PLACES = tuple(
    Place(name, "logs" in name, "data" in name)
    for name in ("as-it-was", "logs-elsewhere", "data-elsewhere", "data-and-logs-elsewhere")
)


class Round:
    """One backup and what is restored from it."""

    def __init__(self, mariadb: Server, home: Path, seed: str, memtable_mb: int) -> None:
        self.mariadb = mariadb
        self.home = home
        self.random = Random(seed)
        self.memtable_mb = memtable_mb
        self.what = ""
        self.refused = 0  # Starts, with words.
        self.details: list[str] = []
        self.target = home / "backup"
        options = list(OPTIONS)
        if self.random.random() < 0.5:
            (home / "source-logs").mkdir(parents=True, exist_ok=True)
            options.append(f"--rocksdb-wal-dir={home / 'source-logs'}")
        if self.random.random() < 0.5:
            options.append("--log-bin=binlog")
        if memtable_mb:
            options.append(
                "--rocksdb-default-cf-options=write_buffer_size=1g;compression=kNoCompression"
            )
        self.details.append(" ".join(options))
        self.server = ScratchServer(mariadb, home / "source", tuple(options))

    def run(self) -> None:
        self.server.start()
        self._fill()
        ((_, unwritten),) = self.server.query(
            "SHOW GLOBAL STATUS LIKE 'rocksdb_memtable_unflushed'"
        )
        load = Load(self.server)
        load.start()
        time.sleep(SETTLE_S)
        self._back_up()
        load.stop()
        self.what = (
            f"longest commit {load.longest_s:.2f} s with {int(unwritten) >> 20} MiB in memory"
        )
        self._require_nothing_left()
        self.server.kill()
        for place in PLACES:
            self._restore(place)
        self.what += f", {self.refused} starts refused until the logs were moved"

    def _fill(self) -> None:
        query = self.server.query
        query("CREATE DATABASE kept")
        for table, engine in (("c", "ROCKSDB"), ("i", "InnoDB")):
            query(
                f"CREATE TABLE kept.{table} (id INT PRIMARY KEY, n INT, text VARCHAR(100), "
                f"KEY (n)) ENGINE={engine}"
            )
        if self.memtable_mb:
            query("CREATE TABLE kept.large (id INT PRIMARY KEY, t VARCHAR(1000)) ENGINE=ROCKSDB")
            for part in range(self.memtable_mb // 10):
                query(
                    f"INSERT INTO kept.large SELECT seq + {part * 10_000}, REPEAT('x', 950) "
                    "FROM kept.seq_1_to_10000"
                )
        for number, (name, tables) in enumerate(PREPARED.items()):
            statements = [f"XA START '{name}'"]
            for table in tables:
                row = _FIRST_PREPARED_ID + number
                statements.append(f"INSERT INTO kept.{table} VALUES ({row}, {number}, '{name}')")
            statements += [f"XA END '{name}'", f"XA PREPARE '{name}'"]
            self.server.execute(*statements)

    def _back_up(self) -> None:
        self._tool("--backup", f"--socket={self.server.socket}", "--user=root")
        if not (self.target / ENGINE_DIRECTORY / "CAIRN_FORMAT").is_file():
            raise Wrong("the backup lacks CAIRN_FORMAT")
        self._tool("--prepare")

    def _require_nothing_left(self) -> None:
        left = self.server.data / ENGINE_DIRECTORY / CHECKPOINT
        if left.exists():
            raise Wrong(f"the backup has left {left}")
        ((_, held),) = self.server.query("SHOW GLOBAL STATUS LIKE 'cairn_checkpoint_bytes_held'")
        if int(held):
            raise Wrong(f"cairn_checkpoint_bytes_held is {held} behind the backup")

    def _tool(self, *arguments: str) -> None:
        process.run(
            [
                self.mariadb.tool("mariadb-backup"),
                "--no-defaults",
                *arguments,
                f"--target-dir={self.target}",
            ],
            env=self.mariadb.environment(),
            log=LOG / "mariadb-backup.log",
            what=f"mariadb-backup {arguments[0]}",
        )

    def _restore(self, place: Place) -> None:
        home = self.home / place.name
        data, engine, logs = home / "data", home / "engine", home / "logs"
        for directory in (data, logs):
            directory.mkdir(parents=True)
        options = [*OPTIONS]
        copied_to = [f"--datadir={data}"]
        if place.data_elsewhere:
            options.append(f"--rocksdb-datadir={engine}")
            copied_to.append(f"--rocksdb-datadir={engine}")
        if place.logs_elsewhere:
            options.append(f"--rocksdb-wal-dir={logs}")
        self._tool("--copy-back", *copied_to)
        directory = engine if place.data_elsewhere else data / ENGINE_DIRECTORY
        with ScratchServer(self.mariadb, home, tuple(options), data) as server:
            server.start(needs_engine=False)
            if not server.has_engine():
                self._require_words(place, server, directory)
                self.refused += 1
                server.stop()
                for log in directory.glob("*.log"):
                    shutil.move(log, logs / log.name)
                server.start()
            elif place.logs_elsewhere and list(directory.glob("*.log")):
                self._require_empty(place, directory)
            self._require_whole(place, server)
            server.stop()
        remove(home)

    def _require_words(self, place: Place, server: ScratchServer, directory: Path) -> None:
        said = "\n".join(server.errors())
        wanted = r"\.log lies in the data directory, but rocksdb_wal_dir is .*move it there"
        if not place.logs_elsewhere or not re.search(wanted, said):
            raise Wrong(f"{place.name}: the engine does not start:\n{server.excerpt()}")
        if not list(directory.glob("*.log")):
            raise Wrong(f"{place.name}: the refused start has removed the logs")

    def _require_empty(self, place: Place, directory: Path) -> None:
        if large := [log.name for log in directory.glob("*.log") if log.stat().st_size]:
            raise Wrong(f"{place.name}: the engine has started and passed over {large}")

    def _require_whole(self, place: Place, server: ScratchServer) -> None:
        found = {bytes(row[3]).decode() for row in server.query("XA RECOVER")}
        if found != set(PREPARED):
            raise Wrong(f"{place.name}: of {sorted(PREPARED)} prepared there are {sorted(found)}")
        for name in PREPARED:
            server.query(f"XA COMMIT '{name}'")
        rows = {table: set(server.query(f"SELECT * FROM kept.{table}")) for table in ("c", "i")}
        for table, names in (("c", ("cairn", "both")), ("i", ("innodb", "both"))):
            if not set(names) <= {row[2] for row in rows[table]}:
                raise Wrong(f"{place.name}: rows of prepared transactions are missing in {table}")
        own = {table: {row for row in rows[table] if row[0] < _FIRST_PREPARED_ID} for table in rows}
        if differing := own["c"] ^ own["i"]:
            raise Wrong(f"{place.name}: {len(differing)} rows differ: {sorted(differing)[:3]}")
        if not own["c"]:
            raise Wrong(f"{place.name}: no row was written before the backup")
        tables = server.query(
            "SELECT CONCAT('`kept`.`', TABLE_NAME, '`') FROM information_schema.TABLES "
            "WHERE TABLE_SCHEMA = 'kept' AND TABLE_TYPE = 'BASE TABLE'"
        )
        for answer in server.query("CHECK TABLE " + ", ".join(name for (name,) in tables)):
            if answer[3] != "OK":
                raise Wrong(f"{place.name}: CHECK TABLE {answer[0]} says {answer[3]}")


def run(count: int, seed: str | None, memtable_mb: int) -> int:
    """Runs the rounds; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    base = rounds.announced_seed(seed)
    return rounds.concluded(count, run_rounds(reporter, mariadb, count, base, memtable_mb))


def run_rounds(
    reporter: Reporter, mariadb: Server, count: int, seed: str, memtable_mb: int = 0
) -> int:
    """Runs rounds that follow from a seed; returns how many failed."""
    directory = VAR / "acceptance" / "backup"

    def make(home: Path, own: str) -> Round:
        return Round(mariadb, home, own, memtable_mb)

    with own_directory(directory):
        return rounds.run(reporter, directory, count, seed, make)

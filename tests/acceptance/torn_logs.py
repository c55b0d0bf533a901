"""./cairn acceptance torn-logs: RocksDB's write-ahead logs lose their end, or bytes in the middle.

Each round writes transactions, kills the server, and starts it several times from what the kill has
left, each time with other harm done to the logs.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from pathlib import Path
from random import Random

from cairn import files
from cairn.paths import VAR
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, own_directory
from tests import runs
from tests.acceptance import log_file, rounds
from tests.acceptance.case import prints
from tests.acceptance.rounds import Wrong
from tests.crash.writer import LOST

OPTIONS = (
    "--rocksdb-flush-log-at-trx-commit=1",
    "--rocksdb-block-cache-size=16M",
    # Several logs at a time: the large family is flushed often, the small one keeps their contents.
    "--rocksdb-default-cf-options=write_buffer_size=1m;target_file_size_base=1m",
)
CLIENTS = 3
CUTS = 3  # Starts from logs that were cut off, and as many from logs with zeros at the end.
HEAD_BYTES = 7  # Of a record of a log.
SECTOR_BYTES = 512
CREATE = (
    "CREATE DATABASE torn",
    "CREATE TABLE torn.counter (id INT, n INT NOT NULL, PRIMARY KEY (id) COMMENT 'cfname=small') "
    "ENGINE=ROCKSDB",
    "CREATE TABLE torn.entry (batch INT, id INT, text VARBINARY(4000) NOT NULL, "
    "PRIMARY KEY (batch, id) COMMENT 'cfname=large', KEY k (id, batch) COMMENT 'cfname=keys') "
    "ENGINE=ROCKSDB",
    "INSERT INTO torn.counter VALUES (1, 0)",
)


def _rows(batch: int) -> int:
    return 1 + batch % 7


def _text(batch: int, number: int) -> str:
    digest = hashlib.blake2b(f"{batch}.{number}".encode(), digest_size=16).hexdigest()
    return digest * (1 + (batch * 31 + number) % 60)


class _Client(threading.Thread):
    """Numbers its transactions by a row that all share: the numbers are the order of commits."""

    def __init__(self, server: ScratchServer) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.acknowledged = 0
        self.error = ""

    def run(self) -> None:
        import pymysql

        try:
            with self.server.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SET rocksdb_lock_wait_timeout = 60")
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
                while True:
                    cursor.execute("BEGIN")
                    cursor.execute("UPDATE torn.counter SET n = LAST_INSERT_ID(n + 1) WHERE id = 1")
                    batch = cursor.lastrowid
                    values = ",".join(
                        f"({batch},{number},'{_text(batch, number)}')"
                        for number in range(_rows(batch))
                    )
                    cursor.execute(f"INSERT INTO torn.entry VALUES {values}")
                    cursor.execute("COMMIT")
                    self.acknowledged = batch
        except pymysql.MySQLError as error:
            if not (error.args and error.args[0] in LOST):
                self.error = str(error)


class Round:
    """One load, and what becomes of its logs."""

    def __init__(self, server: ScratchServer, seed: str) -> None:
        self.server = server
        self.chance = Random(seed)
        self.what = ""
        self.details: list[str] = []
        self.kept = server.directory / "killed"
        self.last = 0

    @property
    def engine(self) -> Path:
        return self.server.data / ENGINE_DIRECTORY

    def run(self) -> None:
        self._load()
        count, size = self._logs()
        self.what = f"{self.last} transactions, {count} logs, the newest of {size // 1024} KiB"
        for _ in range(CUTS):
            self._cut_tail(zeros=False)
            self._cut_tail(zeros=True)
        self._harm_middle()
        self._restore()
        self._start("with whole logs", 0)
        self._require_prefix("with whole logs", self.last, self.last + CLIENTS)
        self.server.stop()

    def _load(self) -> None:
        self.server.empty()
        self.server.start()
        for statement in CREATE:
            self.server.query(statement)
        clients = [_Client(self.server) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        clients[0].join(self.chance.uniform(0.5, 2.5))
        self.server.kill()
        for client in clients:
            client.join()
            if client.error:
                raise Wrong(f"a client was refused: {client.error}")
        self.last = max(client.acknowledged for client in clients)
        files.remove(self.kept)
        shutil.copytree(self.engine, self.kept)

    def _restore(self) -> None:
        self.server.kill()
        files.remove(self.engine)
        shutil.copytree(self.kept, self.engine)

    def _logs(self) -> tuple[int, int]:
        newest = log_file.newest_log(self.kept)
        return len(list(self.kept.glob("*.log"))), newest.stat().st_size

    def _start(self, what: str, mode: int) -> None:
        self.server.start(f"--rocksdb-wal-recovery-mode={mode}", needs_engine=False)
        if not self.server.has_engine():
            raise Wrong(f"{what}, mode {mode}: the engine does not start:\n{self.server.excerpt()}")

    def _cut_tail(self, *, zeros: bool) -> None:
        """Whole transactions are left, and just those before the cut."""
        self._restore()
        log = log_file.newest_log(self.engine)
        data = log.read_bytes()
        cut = self.chance.randrange(len(data) + 1)
        if zeros:
            cut -= cut % SECTOR_BYTES  # File systems fill up no less.
        log.write_bytes(data[:cut] + (b"\0" * (len(data) - cut) if zeros else b""))
        what = (
            f"{log.name} {'with zeros from' if zeros else 'cut off at'} byte {cut} of {len(data)}"
        )
        self.details = [what]
        self._start(what, self.chance.choice((0, 2)))
        left = self._require_prefix(what, 0, self.last + CLIENTS)
        # A start from what this one left, and new transactions.
        self.server.query("UPDATE torn.counter SET n = n")
        self.server.kill()
        self._start(f"{what}, again", 0)
        again = self._require_prefix(f"{what}, again", left, left)
        if again != left:
            raise Wrong(f"{what}: {left} transactions are {again} after another crash")

    def _harm_middle(self) -> None:
        """Nothing is left out without a word, and nothing changed by a start that is refused."""
        log = log_file.newest_log(self.kept)
        data = log.read_bytes()
        if len(data) < 4 * HEAD_BYTES:
            return
        for harm in ("a flipped bit", "zeros"):
            self._restore()
            place = self.chance.randrange(len(data) * 9 // 10)
            if harm == "zeros":
                # A record may end in zeros: with more before them its end was cut off.
                last = len(data.rstrip(b"\0")) - 1
                place = min(place, last)
                end = min(place + self.chance.choice((16, 512, 4096)), last)
                harmed = data[:place] + b"\0" * (end - place) + data[end:]
            else:
                flipped = data[place] ^ (1 << self.chance.randrange(8))
                harmed = data[:place] + bytes([flipped]) + data[place + 1 :]
            (self.engine / log.name).write_bytes(harmed)
            what = f"{log.name} with {harm} at byte {place} of {len(data)}"
            self.details = [what]
            if harmed != data:
                self._try_modes(what, log.name)

    def _try_modes(self, what: str, name: str) -> None:
        for mode in (0, 1):
            before = prints(self.engine)
            self.server.start(f"--rocksdb-wal-recovery-mode={mode}", needs_engine=False)
            if self.server.has_engine():
                # The bytes that fill up a block mean nothing.
                self._require_prefix(f"{what}, mode {mode}", self.last, self.last + CLIENTS)
                return
            said = "\n".join(self.server.errors())
            if name not in said or "rocksdb_wal_recovery_mode" not in said:
                raise Wrong(f"{what}, mode {mode}: the log does not say what is wrong:\n{said}")
            self.server.stop()
            if prints(self.engine) != before:
                raise Wrong(f"{what}, mode {mode}: the refused start changed files")
        harmed = (self.engine / name).read_bytes()
        for mode in (2, 3):
            self._restore()
            (self.engine / name).write_bytes(harmed)
            self.server.start(f"--rocksdb-wal-recovery-mode={mode}", needs_engine=False)
            said = "\n".join(self.server.log())
            if name not in said:
                raise Wrong(f"{what}, mode {mode}: nothing is said of it:\n{said[-1500:]}")
            if self.server.has_engine() and mode == 2:
                left = self._require_prefix(f"{what}, mode {mode}", 0, self.last)
                self.server.kill()
                self._start(f"{what}, mode {mode}, again", 0)
                self._require_prefix(f"{what}, mode {mode}, again", left, left)
            if not self.server.has_engine() and (mode == 3 or "mode=3" not in said):
                raise Wrong(f"{what}, mode {mode}: no way is left:\n{self.server.excerpt()}")

    def _require_prefix(self, what: str, least: int, most: int) -> int:
        """The transactions up to some number are there, each as a whole, and no other."""
        ((last,),) = self.server.query("SELECT n FROM torn.counter") or ((0,),)
        if not least <= last <= most:
            raise Wrong(f"{what}: {last} transactions are there, expected {least} to {most}")
        wanted = {
            (batch, number, _text(batch, number).encode())
            for batch in range(1, last + 1)
            for number in range(_rows(batch))
        }
        for index in ("PRIMARY", "k"):
            found = set(
                self.server.query(
                    f"SELECT batch, id, text FROM torn.entry FORCE INDEX ({index}) "
                    "WHERE id >= 0 AND batch > 0"
                )
            )
            if found != wanted:
                lost = sorted({row[0] for row in wanted - found})[:5]
                extra = sorted({row[0] for row in found - wanted})[:5]
                raise Wrong(f"{what}: by {index}: of {last}: lost in {lost}, too many in {extra}")
        (check,) = self.server.query("CHECK TABLE torn.entry")
        if check[3] != "OK":
            raise Wrong(f"{what}: CHECK TABLE says {check[3]}")
        return int(last)


def run(count: int, seed: str | None) -> int:
    """Runs the rounds; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    base = rounds.announced_seed(seed)
    return rounds.concluded(count, run_rounds(reporter, mariadb, count, base))


def run_rounds(reporter: Reporter, mariadb: Server, count: int, seed: str) -> int:
    """Runs rounds that follow from a seed; returns how many failed."""
    directory = VAR / "acceptance" / "torn-logs"

    def make(home: Path, own: str) -> Round:
        return Round(ScratchServer(mariadb, home, OPTIONS), own)

    with own_directory(directory):
        return rounds.run(reporter, directory, count, seed, make)

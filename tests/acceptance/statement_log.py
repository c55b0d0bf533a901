"""./cairn acceptance statement-log: a binary log of statements says again what happened.

Clients run statements whose effect depends on what a range holds, several at a time, with
cairn_range_locks=ON. A second server applies the binary log: its tables must be the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from cairn.paths import VAR
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.scratch_server import ScratchServer, own_directory
from tests import replication, runs
from tests.acceptance import rounds
from tests.acceptance.rounds import Wrong
from tests.crash.writer import CONFLICTS

HOME = VAR / "acceptance" / "statement-log"
KEYS = 400
TABLES = ("logged.rows_", "logged.keyless", "logged.sums", "logged.numbered")
CREATE = (
    "CREATE DATABASE logged",
    "CREATE TABLE logged.rows_ (id INT PRIMARY KEY, a INT NOT NULL, b BIGINT NOT NULL, "
    "u INT, KEY (a), UNIQUE KEY (u)) ENGINE=ROCKSDB",
    "CREATE TABLE logged.keyless (a INT NOT NULL, b BIGINT NOT NULL, KEY (a)) ENGINE=ROCKSDB",
    "CREATE TABLE logged.sums (client INT, number INT, rows_ INT, total BIGINT, "
    "PRIMARY KEY (client, number)) ENGINE=ROCKSDB",
    "CREATE TABLE logged.numbered (id INT AUTO_INCREMENT PRIMARY KEY, client INT, b BIGINT, "
    "KEY (b)) ENGINE=ROCKSDB",
    "CREATE TRIGGER logged.sums_of_rows BEFORE INSERT ON logged.numbered FOR EACH ROW "
    "SET NEW.b = NEW.b + (SELECT COUNT(*) FROM logged.rows_ WHERE a BETWEEN NEW.b AND NEW.b + 9)",
    "INSERT INTO logged.rows_ SELECT seq, seq, seq, seq "
    f"FROM logged.seq_1_to_{KEYS} WHERE seq % 3 = 0",
    f"INSERT INTO logged.keyless SELECT seq, seq FROM logged.seq_1_to_{KEYS} WHERE seq % 20 = 0",
)
LEVELS = ("REPEATABLE-READ", "SERIALIZABLE")
OPTIONS = (
    "--log-bin=binlog",
    "--rocksdb-flush-log-at-trx-commit=0",
    "--rocksdb-lock-wait-timeout=2",
)
RANGE_LOCKS = ("--cairn-range-locks=ON",)
# What a server without range locks may log all the same, when it is told that this is safe.
UNSAFE = ("--rocksdb-unsafe-for-binlog=ON",)


class Client(threading.Thread):
    """Random transactions until it is told to end."""

    def __init__(self, number: int, connect: Callable[..., Any], settings: str, chance: Random):
        super().__init__(name=f"client {number}", daemon=True)
        self.number = number
        self.committed = 0
        self.refused = 0
        self.error = ""
        self.ended = False
        self._connect = connect
        self._settings = settings
        self._chance = chance
        self._sums = 0

    def run(self) -> None:
        import pymysql

        try:
            with self._connect(database="logged") as connection, connection.cursor() as cursor:
                cursor.execute(f"SET {self._settings}")
                while not self.ended:
                    try:
                        self._transaction(cursor)
                        self.committed += 1
                    except pymysql.MySQLError as error:
                        if error.args[0] not in CONFLICTS:
                            raise
                        self.refused += 1
                        cursor.execute("ROLLBACK")
        except pymysql.MySQLError as error:
            self.error = f"{self.name}: {error}"

    def _transaction(self, cursor: Any) -> None:
        chance = self._chance
        if chance.random() < 0.5:
            self._statement(cursor)
            return
        cursor.execute("BEGIN")
        if chance.random() < 0.3:
            cursor.execute("SELECT COUNT(*) FROM rows_")
        for _ in range(chance.randint(1, 4)):
            if chance.random() < 0.1:
                cursor.execute("SAVEPOINT s")
                self._statement(cursor)
                cursor.execute("ROLLBACK TO s")
            self._statement(cursor)
        cursor.execute("COMMIT" if chance.random() < 0.9 else "ROLLBACK")

    def _statement(self, cursor: Any) -> None:
        import pymysql

        with suppress(pymysql.err.IntegrityError):  # A duplicate key: the statement did nothing.
            cursor.execute(self._text())

    def _text(self) -> str:
        chance = self._chance
        low = chance.randint(1, KEYS)
        high = low + chance.choice((0, 5, 40))
        key, value = chance.randint(1, KEYS), chance.randint(1, KEYS)
        kinds: list[Callable[[], str]] = [
            lambda: f"INSERT INTO rows_ VALUES ({key}, {value}, {high}, {chance.randint(1, KEYS)})",
            lambda: f"INSERT INTO rows_ VALUES ({key}, {value}, {high}, NULL)",
            lambda: (
                f"UPDATE rows_ SET b = (b * 3 + {value}) % 1000003 WHERE a BETWEEN {low} AND {high}"
            ),
            lambda: f"UPDATE rows_ SET b = (b + id) % 1000003 WHERE id BETWEEN {low} AND {high}",
            lambda: f"UPDATE rows_ SET a = {value} WHERE id BETWEEN {low} AND {high}",
            lambda: f"UPDATE rows_ SET b = b + 1 WHERE u = {value}",
            lambda: f"UPDATE rows_ SET b = b * 2 % 1000003 WHERE id = {key} AND b % 2 = 0",
            lambda: f"DELETE FROM rows_ WHERE u = {value} AND b % 3 = 0",
            lambda: f"DELETE FROM rows_ WHERE a BETWEEN {low} AND {low + 3}",
            lambda: f"DELETE FROM rows_ WHERE id = {key}",
            lambda: (
                f"UPDATE keyless SET b = (b * 3 + {value}) % 1000003 "
                f"WHERE a BETWEEN {low} AND {high}"
            ),
            lambda: f"INSERT INTO keyless VALUES ({key}, {value})",
            lambda: f"DELETE FROM keyless WHERE a = {key}",
            lambda: (
                "INSERT INTO numbered (client, b) VALUES "
                + ",".join(f"({self.number}, {low + i})" for i in range(chance.randint(1, 5)))
            ),
            lambda: f"DELETE FROM numbered WHERE b BETWEEN {low} AND {high}",
            lambda: f"INSERT IGNORE INTO rows_ VALUES ({key}, {value}, 1, {high})",
            lambda: self._sum(f"a BETWEEN {low} AND {high}"),
            lambda: self._sum(f"id BETWEEN {low} AND {high}"),
            lambda: self._sum("b % 2 = 0"),
            lambda: (
                f"UPDATE rows_, (SELECT COUNT(*) AS n FROM keyless WHERE a > {low}) c "
                f"SET rows_.b = rows_.b + c.n WHERE rows_.id = {key}"
            ),
        ]
        return chance.choice(kinds)()

    def _sum(self, where: str) -> str:
        self._sums += 1
        return (
            f"INSERT INTO sums SELECT {self.number}, {self._sums}, COUNT(*), SUM(b) "
            f"FROM rows_ WHERE {where}"
        )


class Trial:
    """One load, and the replay of what it logged."""

    def __init__(self, mariadb: Server, home: Path, seed: str, seconds: float, options: Any):
        chance = Random(f"{seed} statement log")
        self.what = ""
        self.details: list[str] = []
        self.server = ScratchServer(mariadb, home / "primary", (*OPTIONS, *options))
        self._mariadb = mariadb
        self._chance = chance
        self._seconds = seconds
        self._replay = ScratchServer(mariadb, home / "replay", ())
        self._log = home / "mariadb-binlog.log"

    def run(self) -> None:
        try:
            self._run()
        finally:
            self._replay.kill()

    def _run(self) -> None:
        chance = self._chance
        formats = chance.choice(("STATEMENT", "MIXED", "STATEMENT"))
        self.server.start()
        self._replay.start()
        for statement in CREATE:
            self.server.query(statement)
        clients = [
            Client(
                number,
                self.server.connect,
                f"binlog_format = {formats}, tx_isolation = '{chance.choice(LEVELS)}'",
                Random(chance.random()),
            )
            for number in range(chance.randint(2, 8))
        ]
        for client in clients:
            client.start()
        time.sleep(self._seconds)
        for client in clients:
            client.ended = True
        for client in clients:
            client.join(60)
            if client.error or client.is_alive():
                raise Wrong(client.error or f"{client.name} does not end")
        committed = sum(client.committed for client in clients)
        refused = sum(client.refused for client in clients)
        self.what = f"{formats}, {len(clients)} clients, {committed} committed, {refused} refused"
        self.server.query("FLUSH BINARY LOGS")
        files = [str(row[0]) for row in self.server.query("SHOW BINARY LOGS")][:-1]
        replication.replay(self._mariadb, files, self.server, self._replay, self._log)
        self._compare()
        if committed < 10:
            raise Wrong("hardly anything was committed, so that nothing is shown")

    def _compare(self) -> None:
        for table in TABLES:
            query = f"SELECT * FROM {table} ORDER BY 1, 2"
            there, replayed = self.server.query(query), self._replay.query(query)
            if there != replayed:
                other = [row for row in there if row not in replayed][:3]
                raise Wrong(f"{table} differs after the replay, such as {other}")


def run(count: int, seed: str | None, seconds: float, *, without_range_locks: bool) -> int:
    """Runs the rounds; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    base = rounds.announced_seed(seed)
    options = UNSAFE if without_range_locks else RANGE_LOCKS

    def make(home: Path, own: str) -> Trial:
        return Trial(mariadb, home, own, seconds, options)

    with own_directory(HOME):
        return rounds.concluded(count, rounds.run(reporter, HOME, count, base, make))

"""Rows with ascending numbers: each acknowledged one is there after a crash, and no other.

Transactions are single rows, several rows in a statement, several statements, and ones that are
rolled back or hold a statement that fails half-way; the one under way when the server dies may be
there whole or not at all.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any, TextIO

from tests.crash.writer import Connect, Writer, brief

TABLE = "crash.inserted"
CREATE = f"""CREATE TABLE {TABLE} (
  writer INT NOT NULL, id INT NOT NULL, batch INT NOT NULL, payload VARBINARY(500) NOT NULL,
  PRIMARY KEY (writer, id), KEY batch (batch, writer)) ENGINE=ROCKSDB"""


class Promise:
    """What the server owes one writer, over all rounds."""

    def __init__(self, writer: int) -> None:
        self.writer = writer
        self.next_id = 1
        self.rows = 0
        self.id_sum = 0
        # Of the current round: rows by number with their batch, and those under way.
        self.fresh: dict[int, int] = {}
        self.pending: dict[int, int] = {}
        self.first_of_round = 1

    def payload(self, number: int) -> str:
        text = hashlib.blake2b(f"{self.writer}.{number}".encode(), digest_size=16).hexdigest()
        return text * (1 + number % 12)

    def keep(self) -> None:
        """The rows under way are acknowledged."""
        self.fresh |= self.pending
        self.pending = {}


class InsertWriter(Writer):
    """Inserts for one promise during one round."""

    def __init__(
        self, promise: Promise, connect: Connect, journal: TextIO, random_numbers: random.Random
    ) -> None:
        super().__init__(f"insert-{promise.writer}", connect, journal, random_numbers)
        self.promise = promise

    def step(self, cursor: Any) -> None:
        kind = self.random.choices(
            ("row", "rows", "transaction", "rolled back", "half failed"), (4, 2, 3, 1, 1)
        )[0]
        count = 1 if kind == "row" else self.random.randint(2, 20)
        promise = self.promise
        batch = promise.next_id
        numbers = range(promise.next_id, promise.next_id + count)
        promise.next_id += count
        if kind == "rolled back":
            self._begin(cursor, numbers, batch)
            cursor.execute("ROLLBACK")
            return
        if kind == "half failed":
            self._half_failed(cursor, numbers, batch)
            return
        if kind == "transaction":
            self._begin(cursor, numbers, batch)
            promise.pending = dict.fromkeys(numbers, batch)
            cursor.execute("COMMIT")
        else:
            promise.pending = dict.fromkeys(numbers, batch)
            self._insert(cursor, numbers, batch)
        promise.keep()
        self.acknowledge(f"{numbers[0]}-{numbers[-1]}")

    def refused(self) -> None:
        self.promise.pending = {}

    def _begin(self, cursor: Any, numbers: range, batch: int) -> None:
        cursor.execute("BEGIN")
        for number in numbers:
            self._insert(cursor, range(number, number + 1), batch)

    def _half_failed(self, cursor: Any, numbers: range, batch: int) -> None:
        """A transaction whose second statement fails at its last row, and still commits."""
        import pymysql

        promise = self.promise
        kept, lost = numbers[:1], numbers[1:]
        cursor.execute("BEGIN")
        self._insert(cursor, kept, batch)
        try:
            self._insert(cursor, [*lost, kept[0]], batch)
        except pymysql.err.IntegrityError:
            pass
        else:
            raise pymysql.MySQLError(f"the duplicate of row {kept[0]} was accepted")
        promise.pending = dict.fromkeys(kept, batch)
        cursor.execute("COMMIT")
        promise.keep()
        self.acknowledge(f"{kept[0]}")

    def _insert(self, cursor: Any, numbers: range | list[int], batch: int) -> None:
        writer, payload = self.promise.writer, self.promise.payload
        values = ",".join(f"({writer},{n},{batch},'{payload(n)}')" for n in numbers)
        cursor.execute(f"INSERT INTO {TABLE} VALUES {values}")


def check(promise: Promise, cursor: Any) -> list[str]:
    """What differs from the promise after a restart; also decides what was under way."""
    found = _rows(cursor, promise, promise.first_of_round)
    wrong = [
        f"{TABLE}: writer {promise.writer} row {number} has another payload"
        for number, (_, payload) in found.items()
        if payload != promise.payload(number).encode()
    ][:3]
    survivors = promise.pending.keys() & found.keys()
    if survivors and survivors != promise.pending.keys():
        wrong.append(
            f"{TABLE}: writer {promise.writer}: a transaction of rows "
            f"{brief(promise.pending)} is there only in part: {brief(survivors)}"
        )
    if survivors:
        promise.keep()
    promise.pending = {}
    if lost := promise.fresh.keys() - found.keys():
        wrong.append(f"{TABLE}: writer {promise.writer} lost acknowledged rows {brief(lost)}")
    if extra := found.keys() - promise.fresh.keys() - survivors:
        wrong.append(f"{TABLE}: writer {promise.writer} has rows that failed: {brief(extra)}")
    if any(found[n][0] != batch for n, batch in promise.fresh.items() if n in found):
        wrong.append(f"{TABLE}: writer {promise.writer} has rows with another batch number")
    promise.rows += len(promise.fresh)
    promise.id_sum += sum(promise.fresh)
    promise.fresh = {}
    promise.first_of_round = promise.next_id
    for index in ("PRIMARY", "batch"):
        cursor.execute(
            f"SELECT COUNT(*), IFNULL(SUM(id), 0) FROM {TABLE} FORCE INDEX ({index}) "
            f"WHERE writer = {promise.writer} AND batch > 0"
        )
        rows, id_sum = cursor.fetchone()
        if (rows, int(id_sum)) != (promise.rows, promise.id_sum):
            wrong.append(
                f"{TABLE}: writer {promise.writer} by index {index}: {rows} rows with sum {id_sum},"
                f" acknowledged are {promise.rows} with sum {promise.id_sum}"
            )
    return wrong


def check_all_payloads(promise: Promise, cursor: Any) -> list[str]:
    """Compares the content of every row, of all rounds."""
    found = _rows(cursor, promise, 0)
    bad = [n for n, (_, payload) in found.items() if payload != promise.payload(n).encode()]
    return [f"{TABLE}: writer {promise.writer}: other payload in {brief(bad)}"] if bad else []


def _rows(cursor: Any, promise: Promise, first: int) -> dict[int, tuple[int, bytes]]:
    cursor.execute(
        f"SELECT id, batch, payload FROM {TABLE} FORCE INDEX (PRIMARY) "
        f"WHERE writer = {promise.writer} AND id >= {first}"
    )
    return {number: (batch, payload) for number, batch, payload in cursor.fetchall()}

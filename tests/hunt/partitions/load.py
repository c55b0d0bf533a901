"""Clients that write into partitioned tables: each row is there once, in whichever table it is now.

A transaction inserts rows with ascending numbers into a partitioned table, and a line about each
into an InnoDB table; some move a row to another partition. An exchange takes rows into another
table, so that rows are looked for in all of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from tests.crash.writer import Connect, Writer, brief
from tests.hunt.partitions.maintainer import SCHEMA, SHARED

BESIDE = f"{SCHEMA}.beside"
CREATE = (
    f"CREATE TABLE {BESIDE} (writer INT NOT NULL, id BIGINT NOT NULL, PRIMARY KEY (writer, id)) "
    "ENGINE=InnoDB"
)
# The server found the table changed since the transaction began; it is to be repeated.
_CHANGED = 1412


@dataclass
class Promise:
    """The rows of one writer, over all rounds."""

    writer: int
    next_id: int = 1
    done: set[int] = field(default_factory=set)
    pending: frozenset[int] = frozenset()


class PartitionWriter(Writer):
    """Writes for one promise during one round."""

    def __init__(
        self,
        promise: Promise,
        table: str,
        connect: Connect,
        journal: TextIO,
        random_numbers: random.Random,
    ) -> None:
        super().__init__(f"writer-{promise.writer}", connect, journal, random_numbers)
        self.promise = promise
        self.table = table

    def step(self, cursor: Any) -> None:
        import pymysql

        try:
            self._transaction(cursor)
        except pymysql.MySQLError as error:
            if error.args[0] != _CHANGED:
                raise
            cursor.execute("ROLLBACK")
            self.refused()

    def _transaction(self, cursor: Any) -> None:
        promise = self.promise
        numbers = range(promise.next_id, promise.next_id + self.random.randint(1, 6))
        promise.next_id = numbers.stop
        cursor.execute("BEGIN")
        for number in numbers:
            self._insert(cursor, number)
        values = ", ".join(f"({promise.writer}, {number})" for number in numbers)
        cursor.execute(f"INSERT INTO {BESIDE} VALUES {values}")
        if self.random.random() < 0.3:
            self._move(cursor, self.random.choice(numbers))
        if self.random.random() < 0.1:
            cursor.execute("ROLLBACK")
            return
        promise.pending = frozenset(numbers)
        cursor.execute("COMMIT")
        promise.done |= promise.pending
        promise.pending = frozenset()
        self.acknowledge(f"{numbers[0]}-{numbers[-1]}")

    def _insert(self, cursor: Any, number: int) -> None:
        zone = self.random.randrange(SHARED)
        cursor.execute(
            f"INSERT INTO {self.table} VALUES ({zone}, {number}, {self.promise.writer}, "
            f"'{number % 7} {'x' * self.random.randint(0, 50)}')"
        )

    def _move(self, cursor: Any, number: int) -> None:
        """To another partition."""
        zone = self.random.randrange(SHARED)
        cursor.execute(
            f"UPDATE {self.table} SET zone = {zone}, note = 'moved' "
            f"WHERE writer = {self.promise.writer} AND id = {number}"
        )

    def refused(self) -> None:
        self.promise.pending = frozenset()


def check(promises: list[Promise], tables: Sequence[str], cursor: Any) -> list[str]:
    """What differs from the promises after a restart; also decides what was under way.

    `tables`: all that may have rows of the writers.
    """
    wrong = []
    found: dict[int, Counter[int]] = {promise.writer: Counter() for promise in promises}
    for table in tables:
        rows = {}
        for index, condition in (("PRIMARY", "zone >= 0"), ("writer", "writer >= 0")):
            cursor.execute(
                f"SELECT writer, id, zone FROM {table} FORCE INDEX ({index}) WHERE {condition} "
                "AND writer >= 0"
            )
            rows[index] = Counter(cursor.fetchall())
        if rows["PRIMARY"] != rows["writer"]:
            differing = set(rows["PRIMARY"].items()) ^ set(rows["writer"].items())
            wrong.append(f"{table}: index writer differs from the primary key: {brief(differing)}")
        for (writer, number, _), count in rows["PRIMARY"].items():
            found[writer][number] += count
    cursor.execute(f"SELECT writer, id FROM {BESIDE}")
    beside: dict[int, set[int]] = {promise.writer: set() for promise in promises}
    for writer, number in cursor.fetchall():
        beside[writer].add(number)
    for promise in promises:
        wrong += _compare(promise, found[promise.writer], beside[promise.writer])
    return wrong


def _compare(promise: Promise, found: Counter[int], beside: set[int]) -> list[str]:
    who = f"writer {promise.writer}"
    there = found.keys()
    survivors = promise.pending & (there | beside)
    wrong = []
    if survivors and not (survivors == promise.pending and promise.pending <= there & beside):
        wrong.append(
            f"{who}: of the transaction {brief(promise.pending)} there is only a part: "
            f"ROCKSDB {brief(promise.pending & there)}; InnoDB {brief(promise.pending & beside)}"
        )
    promise.done |= survivors
    promise.pending = frozenset()
    if lost := promise.done - there:
        wrong.append(f"{who} lost acknowledged rows {brief(lost)}")
    if lost := promise.done - beside:
        wrong.append(f"{who} lost acknowledged rows of InnoDB {brief(lost)}")
    if extra := there - promise.done:
        wrong.append(f"{who} has rows that failed: {brief(extra)}")
    if double := {number for number, count in found.items() if count > 1}:
        wrong.append(f"{who} has rows twice: {brief(double)}")
    return wrong

"""Transactions over InnoDB and ROCKSDB: each is whole in both engines, and once, or in neither.

A transaction moves an amount between sums and writes a line about it, on the side of each engine
that takes part. After a restart every acknowledged line is there, at most the transaction under way
is besides, in both engines alike, and the lines explain every sum and what foreign keys have done.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, TextIO

from tests.crash import trees
from tests.crash.writer import Connect, Writer, brief

SUMS = 12
ENGINES = {"rocks": "ROCKSDB", "inno": "InnoDB"}
# Which sides a transaction takes part in, by how often it does.
KINDS = ("both", "both", "both", "rocks", "rocks", "inno")
TABLES = (
    *(f"crash.{side}_{what}" for side in ENGINES for what in ("line", "sum", *trees.NAMES)),
    "crash.keyless",
)
CREATE = (
    *(
        f"CREATE TABLE crash.{side}_line (client INT NOT NULL, id INT NOT NULL, "
        "kind VARCHAR(5) NOT NULL, source INT NOT NULL, target INT NOT NULL, amount INT NOT NULL, "
        f"text VARCHAR(300) NOT NULL, PRIMARY KEY (client, id), KEY (text(20))) ENGINE={engine}"
        for side, engine in ENGINES.items()
    ),
    *(
        f"CREATE TABLE crash.{side}_sum (id INT NOT NULL PRIMARY KEY, total INT NOT NULL, "
        f"KEY (total)) ENGINE={engine}"
        for side, engine in ENGINES.items()
    ),
    *(text for side, engine in ENGINES.items() for text in trees.create(side, engine)),
    "CREATE TABLE crash.keyless (client INT NOT NULL, id INT NOT NULL) ENGINE=ROCKSDB",
)
FILL = tuple(
    f"INSERT INTO crash.{side}_sum VALUES " + ",".join(f"({number},0)" for number in range(SUMS))
    for side in ENGINES
)


class Promise:
    """The transactions of one client."""

    def __init__(self, client: int) -> None:
        self.client = client
        self.next_id = 1
        self.done: dict[int, str] = {}  # Kinds by number.
        self.pending: tuple[int, str] | None = None


class MixedWriter(Writer):
    """Makes transactions for one promise during one round."""

    def __init__(
        self, promise: Promise, connect: Connect, journal: TextIO, random_numbers: random.Random
    ) -> None:
        super().__init__(f"client-{promise.client}", connect, journal, random_numbers)
        self.promise = promise

    def step(self, cursor: Any) -> None:
        promise = self.promise
        kind = self.random.choice(KINDS)
        source, target = self.random.sample(range(SUMS), 2)
        amount = self.random.randint(1, 9)
        number = promise.next_id
        promise.next_id += 1
        from_side, to_side = ("inno", "rocks") if kind == "both" else (kind, kind)
        text = "x" * self.random.randint(0, 300)
        cursor.execute("BEGIN")
        for side in sorted({from_side, to_side}):
            cursor.execute(
                f"INSERT INTO crash.{side}_line VALUES "
                f"({promise.client},{number},'{kind}',{source},{target},{amount},'{text}')"
            )
        for side in sorted({from_side, to_side}):
            for statement in trees.statements(side, promise.client, number):
                cursor.execute(statement)
        if to_side == "rocks":
            self._touch_keyless(cursor, number)
        changes = ((to_side, target, amount), (from_side, source, -amount))
        for side, row, change in changes:
            cursor.execute(
                f"UPDATE crash.{side}_sum SET total = total + ({change}) WHERE id = {row}"
            )
        if self.random.random() < 0.1:
            cursor.execute("ROLLBACK")
            return
        promise.pending = (number, kind)
        cursor.execute("COMMIT")
        promise.done[number] = kind
        promise.pending = None
        self.acknowledge(f"{number}: {kind} {amount} from {source} to {target}")

    def _touch_keyless(self, cursor: Any, number: int) -> None:
        client = self.promise.client
        cursor.execute(f"INSERT INTO crash.keyless VALUES ({client},{number})")
        if self.random.random() < 0.3:
            cursor.execute(
                f"DELETE FROM crash.keyless WHERE client = {client} AND id < {number - 10}"
            )

    def refused(self) -> None:
        self.promise.pending = None


def check(promises: list[Promise], cursor: Any) -> list[str]:
    """What does not add up after a restart; also decides what was under way."""
    wrong = []
    sums: Counter[tuple[str, int]] = Counter()
    for side in ENGINES:
        cursor.execute(f"SELECT client, id, kind, source, target, amount FROM crash.{side}_line")
        found: dict[int, dict[int, str]] = {promise.client: {} for promise in promises}
        for client, number, kind, source, target, amount in cursor.fetchall():
            found[client][number] = kind
            if side == "rocks" or kind == "inno":
                sums["rocks" if kind == "both" else kind, target] += amount
                sums["inno" if kind == "both" else kind, source] -= amount
        for promise in promises:
            wrong += _compare(promise, side, found[promise.client])
        wrong += trees.check(side, dict(found), cursor)
    for promise in promises:
        promise.pending = None
    for side in ENGINES:
        cursor.execute(f"SELECT id, total FROM crash.{side}_sum FORCE INDEX (PRIMARY)")
        totals = dict(cursor.fetchall())
        differing = [row for row in range(SUMS) if totals.get(row) != sums[side, row]]
        if differing:
            wrong.append(f"crash.{side}_sum is not what the lines say: rows {brief(differing)}")
    return wrong


def _compare(promise: Promise, side: str, found: dict[int, str]) -> list[str]:
    """One client's lines in one engine; the first decides what was under way for the other."""
    if promise.pending is not None:
        number, kind = promise.pending
        if number in found:
            promise.done[number] = kind
            promise.pending = None
        elif kind in ("both", side):
            promise.pending = None  # It is in neither, or the other engine has too much.
    promised = {number: kind for number, kind in promise.done.items() if kind in ("both", side)}
    wrong = []
    if lost := promised.keys() - found.keys():
        wrong.append(f"client {promise.client}: lost from crash.{side}_line: {brief(lost)}")
    if extra := found.keys() - promised.keys():
        wrong.append(f"client {promise.client}: too much in crash.{side}_line: {brief(extra)}")
    return wrong

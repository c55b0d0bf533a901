"""Transactions that are prepared and then decided: what was told stays, in both engines alike.

A prepared transaction is listed after a restart and can be committed or rolled back; a decided one
is as decided. What was under way may be as before or as after the statement. InnoDB writes no log
for a rollback of what was prepared before it answers, so that it may list that again; ROCKSDB must
not.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TextIO

from tests.crash.writer import Connect, Writer, brief

TABLES = ("crash.xa_rocks", "crash.xa_inno")
CREATE = tuple(
    f"CREATE TABLE {table} (client INT NOT NULL, id INT NOT NULL, note VARCHAR(40) NOT NULL, "
    f"PRIMARY KEY (client, id), KEY (note)) ENGINE={engine}"
    for table, engine in zip(TABLES, ("ROCKSDB", "InnoDB"), strict=True)
)
LONGEST_PREPARED_S = 0.03


class Stage(Enum):
    """How far a transaction is, by what the client was told."""

    PREPARING = "preparing"
    PREPARED = "prepared"
    COMMITTING = "committing"
    ROLLING_BACK = "rolling back"


@dataclass
class Promise:
    """The transactions of one client: the committed ones, and the one that is not decided."""

    client: int
    next_id: int = 1
    done: set[int] = field(default_factory=set)
    rolled_back: set[int] = field(default_factory=set)
    current: int | None = None
    stage: Stage = Stage.PREPARING

    def xid(self, number: int) -> str:
        return f"c{self.client}-{number}"


class XaWriter(Writer):
    """Makes transactions for one promise during one round."""

    def __init__(
        self, promise: Promise, connect: Connect, journal: TextIO, random_numbers: random.Random
    ) -> None:
        super().__init__(f"xa-{promise.client}", connect, journal, random_numbers)
        self.promise = promise

    def step(self, cursor: Any) -> None:
        promise = self.promise
        number = promise.next_id
        promise.next_id += 1
        xid = promise.xid(number)
        cursor.execute(f"XA START '{xid}'")
        for table in TABLES:
            cursor.execute(f"INSERT INTO {table} VALUES ({promise.client},{number},'{xid}')")
        cursor.execute(f"XA END '{xid}'")
        promise.stage = Stage.PREPARING
        promise.current = number
        cursor.execute(f"XA PREPARE '{xid}'")
        promise.stage = Stage.PREPARED
        self.acknowledge(f"{xid} is prepared")
        time.sleep(self.random.uniform(0, LONGEST_PREPARED_S))
        if self.random.random() < 0.3:
            promise.stage = Stage.ROLLING_BACK
            cursor.execute(f"XA ROLLBACK '{xid}'")
            promise.rolled_back.add(number)
        else:
            promise.stage = Stage.COMMITTING
            cursor.execute(f"XA COMMIT '{xid}'")
            promise.done.add(number)
        promise.current = None
        self.acknowledge(f"{xid} is over")

    def refused(self) -> None:
        self.promise.current = None


def in_engine(log: Iterable[str]) -> int:
    """How many transactions ROCKSDB has prepared when the binary log has decided its own."""
    count = 0
    for line in log:
        if "Crash table recovery finished" in line:
            count = 0
        elif found := re.search(r"Found (\d+) prepared transaction\(s\) in ROCKSDB", line):
            count = int(found[1])
    return count


def check(promises: list[Promise], cursor: Any, log: Iterable[str]) -> tuple[list[str], int]:
    """What differs from the promises after a restart; decides what is not decided.

    `log`: the server's, since it started. Returns as well how many transactions InnoDB alone lists
    although they were rolled back.
    """
    cursor.execute("XA RECOVER")
    listed = {_gtrid(*row) for row in cursor.fetchall()}
    wrong = []
    kept = 0
    for promise in promises:
        if promise.current is not None:
            xid = promise.xid(promise.current)
            kept += xid in listed
            wrong += _decide(promise, xid in listed, cursor)
            listed.discard(xid)
    rolled_back = {each.xid(number) for each in promises for number in each.rolled_back}
    again = listed & rolled_back
    if in_engine(log) > kept:
        wrong.append(f"ROCKSDB has transactions prepared that were rolled back: {brief(again)}")
    for xid in sorted(again):
        cursor.execute(f"XA ROLLBACK '{xid}'")
    wrong += [f"{xid} is listed as prepared, which it was not" for xid in sorted(listed - again)]
    for promise in promises:
        for table in TABLES:
            cursor.execute(f"SELECT id FROM {table} WHERE client = {promise.client}")
            found = {number for (number,) in cursor.fetchall()}
            if lost := promise.done - found:
                wrong.append(f"XA client {promise.client}: lost from {table}: {brief(lost)}")
            if extra := found - promise.done:
                wrong.append(f"XA client {promise.client}: too much in {table}: {brief(extra)}")
    return wrong, len(again)


def _decide(promise: Promise, is_listed: bool, cursor: Any) -> list[str]:
    """Ends the transaction that the crash left open, as its client would."""
    number, stage = promise.current, promise.stage
    assert number is not None
    promise.current = None
    xid = promise.xid(number)
    commits = stage is Stage.COMMITTING or (stage is Stage.PREPARED and number % 2 == 0)
    if is_listed:
        cursor.execute(f"XA {'COMMIT' if commits else 'ROLLBACK'} '{xid}'")
        if commits:
            promise.done.add(number)
        else:
            promise.rolled_back.add(number)
    elif stage is Stage.PREPARED:
        return [f"XA client {promise.client}: the prepared {xid} is lost"]
    elif stage is Stage.COMMITTING:
        # It is committed then, in both engines: the check of the rows tells.
        promise.done.add(number)
    return []


def _gtrid(_: int, length: int, __: int, data: str | bytes) -> str:
    """The first part of the identifier in a row of XA RECOVER."""
    return (data.encode() if isinstance(data, str) else data)[:length].decode()

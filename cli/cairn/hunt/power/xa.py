"""Transactions that are prepared and then decided: what was told stays, in both engines alike.

A prepared transaction is listed after a restart and can be committed or rolled back; a decided one
is as decided. What was under way may be as before or as after the statement.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TextIO

from cairn.crash.writer import Connect, Writer, brief

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
        else:
            promise.stage = Stage.COMMITTING
            cursor.execute(f"XA COMMIT '{xid}'")
            promise.done.add(number)
        promise.current = None
        self.acknowledge(f"{xid} is over")

    def refused(self) -> None:
        self.promise.current = None


def check(promises: list[Promise], cursor: Any) -> list[str]:
    """What differs from the promises after a restart; decides what is not decided."""
    cursor.execute("XA RECOVER")
    listed = {_gtrid(*row) for row in cursor.fetchall()}
    wrong = []
    for promise in promises:
        if promise.current is not None:
            xid = promise.xid(promise.current)
            wrong += _decide(promise, xid in listed, cursor)
            listed.discard(xid)
    wrong += [f"{xid} is listed as prepared, which it was not" for xid in sorted(listed)]
    for promise in promises:
        for table in TABLES:
            cursor.execute(f"SELECT id FROM {table} WHERE client = {promise.client}")
            found = {number for (number,) in cursor.fetchall()}
            if lost := promise.done - found:
                wrong.append(f"XA client {promise.client}: lost from {table}: {brief(lost)}")
            if extra := found - promise.done:
                wrong.append(f"XA client {promise.client}: too much in {table}: {brief(extra)}")
    return wrong


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
    elif stage is Stage.PREPARED:
        return [f"XA client {promise.client}: the prepared {xid} is lost"]
    elif stage is Stage.COMMITTING:
        # It is committed then, in both engines: the check of the rows tells.
        promise.done.add(number)
    return []


def _gtrid(_: int, length: int, __: int, data: str | bytes) -> str:
    """The first part of the identifier in a row of XA RECOVER."""
    return (data.encode() if isinstance(data, str) else data)[:length].decode()

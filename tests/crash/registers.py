"""Rows that are inserted, changed, moved and deleted all the time: each has its last value.

Every writer owns the rows of its number and knows what the server has acknowledged for each. The
unique and the plain secondary index must give the same rows as the primary key.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, TextIO

from tests.crash.writer import Connect, Writer, brief

TABLE = "crash.register"
CREATE = f"""CREATE TABLE {TABLE} (
  writer INT NOT NULL, slot INT NOT NULL, value INT NOT NULL, note VARCHAR(60),
  PRIMARY KEY (writer, slot), UNIQUE KEY value (writer, value), KEY note (note, writer)
  ) ENGINE=ROCKSDB"""
SLOTS = 60


@dataclass(frozen=True)
class Row:
    value: int
    note: str | None


class Promise:
    """The rows of one writer: as acknowledged, and as they would be after the change under way."""

    def __init__(self, writer: int) -> None:
        self.writer = writer
        self.rows: dict[int, Row] = {}
        self.pending: dict[int, Row] | None = None
        self.next_value = 1


class RegisterWriter(Writer):
    """Changes the rows of one promise during one round."""

    def __init__(
        self, promise: Promise, connect: Connect, journal: TextIO, random_numbers: random.Random
    ) -> None:
        super().__init__(f"register-{promise.writer}", connect, journal, random_numbers)
        self.promise = promise

    def step(self, cursor: Any) -> None:
        after = dict(self.promise.rows)
        kind = self.random.choices(("statement", "transaction", "rolled back"), (5, 4, 1))[0]
        count = 1 if kind == "statement" else self.random.randint(2, 8)
        statements = [self._change(after) for _ in range(count)]
        if kind == "statement":
            self.promise.pending = after
            cursor.execute(statements[0])
        else:
            cursor.execute("BEGIN")
            for statement in statements:
                cursor.execute(statement)
            if kind == "rolled back":
                cursor.execute("ROLLBACK")
                return
            self.promise.pending = after
            cursor.execute("COMMIT")
        self.promise.rows, self.promise.pending = after, None
        self.acknowledge("; ".join(statements))

    def refused(self) -> None:
        self.promise.pending = None

    def _change(self, rows: dict[int, Row]) -> str:
        """Changes `rows` in one way and returns the statement that does the same."""
        writer, slot = self.promise.writer, self.random.randrange(SLOTS)
        value = self.promise.next_value
        self.promise.next_value += 1
        note = self.random.choice((None, f"note {value}", "x" * self.random.randrange(60)))
        shown = "NULL" if note is None else f"'{note}'"
        where = f"WHERE writer = {writer} AND slot = {slot}"
        if slot not in rows:
            rows[slot] = Row(value, note)
            verb = self.random.choice(("INSERT", "REPLACE"))
            return f"{verb} INTO {TABLE} VALUES ({writer}, {slot}, {value}, {shown})"
        kind = self.random.choice(("delete", "value", "note", "replace", "upsert", "move"))
        old = rows[slot]
        free = [other for other in range(SLOTS) if other not in rows]
        if kind == "delete":
            del rows[slot]
            return f"DELETE FROM {TABLE} {where}"
        if kind == "value":
            rows[slot] = Row(value, old.note)
            return f"UPDATE {TABLE} SET value = {value} {where}"
        if kind == "note":
            rows[slot] = Row(old.value, note)
            return f"UPDATE {TABLE} SET note = {shown} {where}"
        if kind == "replace":
            rows[slot] = Row(value, note)
            return f"REPLACE INTO {TABLE} VALUES ({writer}, {slot}, {value}, {shown})"
        if kind == "move" and free:
            target = self.random.choice(free)
            rows[target] = rows.pop(slot)
            return f"UPDATE {TABLE} SET slot = {target} {where}"
        rows[slot] = Row(value, old.note)
        return (
            f"INSERT INTO {TABLE} VALUES ({writer}, {slot}, {value}, {shown}) "
            f"ON DUPLICATE KEY UPDATE value = {value}"
        )


def check(promise: Promise, cursor: Any) -> list[str]:
    """What differs from the promise after a restart; also decides what was under way."""
    wrong = []
    found = _rows(cursor, promise.writer, "PRIMARY")
    if found != promise.rows and found == promise.pending:
        promise.rows = found
    elif found != promise.rows:
        differing = [
            f"slot {slot}: {found.get(slot)} instead of {promise.rows.get(slot)}"
            + (f" or {promise.pending.get(slot)}" if promise.pending is not None else "")
            for slot in sorted(found.keys() | promise.rows.keys())
            if found.get(slot) != promise.rows.get(slot)
        ]
        wrong.append(f"{TABLE}: writer {promise.writer}: {brief(differing)}")
    promise.pending = None
    for index in ("value", "note"):
        other = _rows(cursor, promise.writer, index)
        if other != found:
            slots = [s for s in other.keys() | found.keys() if other.get(s) != found.get(s)]
            wrong.append(
                f"{TABLE}: writer {promise.writer}: index {index} differs from the primary key "
                f"in slots {brief(slots)}"
            )
    return wrong


def _rows(cursor: Any, writer: int, index: str) -> dict[int, Row]:
    condition = f"writer = {writer}"
    if index == "note":
        condition += " AND (note >= '' OR note IS NULL)"
    cursor.execute(f"SELECT slot, value, note FROM {TABLE} FORCE INDEX ({index}) WHERE {condition}")
    return {slot: Row(value, note) for slot, value, note in cursor.fetchall()}

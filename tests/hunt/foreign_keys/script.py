"""Draws the steps of a script, one by one, for the tables that there are by then.

A step is a statement, which names databases `here` and `elsewhere`; each engine has its own. So a
script is a list of texts, of which any may be left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random

from tests.hunt.foreign_keys.definitions import TABLES, Definitions
from tests.hunt.foreign_keys.rows import Rows
from tests.hunt.foreign_keys.schema import Schema

KILL = "/* kill -9, and a start */"
# Its name becomes that of the engine's database.
XID = "'here'"
LEVEL = "SET SESSION TRANSACTION ISOLATION LEVEL "
LEVELS = ("REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE")
# Ways of writing of ours that tables with foreign keys must not go; the session of InnoDB has them
# as well.
BLIND = "SET rocksdb_blind_delete_primary_key=1"
LAX = "SET sql_mode=''"
SETTINGS = (BLIND, LAX, "SET rocksdb_master_skip_tx_api=1")
Draw = Callable[[Schema], str | None]


class Script:
    """Draws steps."""

    def __init__(self, chance: Random, shown: Callable[[str], str], kills: float) -> None:
        self._chance = chance
        self._kills = kills
        self._rows = Rows(chance)
        self._definitions = Definitions(chance, shown)
        self._queue: deque[Draw] = deque()
        # Whether there are functions.
        self._calls = False
        self._begin()

    def next(self, schema: Schema) -> str:
        """The next step."""
        while True:
            while not self._queue:
                self._block()
            if step := self._queue.popleft()(schema):
                return step

    # ---- blocks ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Tables, foreign keys between them, rows."""
        chance = self._chance
        count = chance.randint(2, len(TABLES))
        if (level := chance.choice(LEVELS)) != LEVELS[0]:
            self._say(LEVEL + level)
        for setting in SETTINGS:
            if chance.random() < 0.1:
                self._say(setting)
                if setting == LAX:
                    # A start would make another session.
                    self._definitions.be_lax()
                    self._kills = 0.0
        unchecked = chance.random() < 0.2
        if unchecked:
            self._say("SET foreign_key_checks=0")
        for _ in range(count):
            self._queue.append(self._definitions.create)
        for _ in range(chance.randint(1, 2 * count)):
            self._queue.append(self._definitions.add_foreign_key)
        if unchecked:
            self._say("SET foreign_key_checks=1")
        if chance.random() < 0.15:
            for _ in range(chance.randint(1, 2)):
                self._queue.append(self._definitions.trigger)
        self._calls = chance.random() < 0.15
        if self._calls:
            self._queue.append(self._definitions.function)
        self._queue.append(self._rows.file)
        for number in range(2 * count):
            self._queue.append(lambda schema, number=number: self._fill(schema, number))

    def _fill(self, schema: Schema, number: int) -> str | None:
        if not schema.tables:
            return None
        return self._rows.first(schema.tables[number % len(schema.tables)])

    def _say(self, *statements: str) -> None:
        for statement in statements:
            self._queue.append(lambda schema, statement=statement: statement)

    def _block(self) -> None:
        chance = self._chance
        pick = chance.random()
        if pick < 0.02 and self._calls:
            self._queue.append(self._rows.call)
        elif pick < 0.63:
            self._queue.append(self._rows.draw)
        elif pick < 0.66:
            self._queue.append(self._deep)
        elif pick < 0.76:
            self._transaction()
        elif pick < 0.8:
            self._unchecked()
        elif pick < 0.97:
            self._queue.append(self._definitions.draw)
        elif pick < 0.982:
            self._locked()
        elif pick < 0.99:
            self._xa()
        elif pick < 0.995:
            self._queue.append(self._rows.file)
        elif pick < 0.997:
            self._say("DROP DATABASE elsewhere", "CREATE DATABASE IF NOT EXISTS elsewhere")
        elif chance.random() < self._kills:
            self._say(KILL)

    def _deep(self, schema: Schema) -> None:
        self._say(*self._rows.deep(schema))

    def _lock_some(self, schema: Schema) -> str | None:
        if not schema.tables:
            return None
        count = self._chance.randint(1, len(schema.tables))
        tables = self._chance.sample(schema.tables, count)
        return _lock_all(Schema(tuple(tables)))

    def _truncate(self, schema: Schema) -> str | None:
        if not schema.tables:
            return None
        return f"TRUNCATE TABLE {self._chance.choice(schema.tables).sql}"

    def _changes(self, count: int) -> None:
        for _ in range(count):
            self._queue.append(self._rows.draw)

    def _transaction(self) -> None:
        chance = self._chance
        self._say("BEGIN")
        self._changes(chance.randint(1, 4))
        if chance.random() < 0.5:
            self._say("SAVEPOINT s")
            self._changes(chance.randint(1, 4))
            self._say("ROLLBACK TO SAVEPOINT s")
            self._changes(chance.randint(0, 3))
        self._say(chance.choice(["COMMIT", "COMMIT", "ROLLBACK"]))

    def _unchecked(self) -> None:
        chance = self._chance
        self._say("SET foreign_key_checks=0")
        for _ in range(chance.randint(1, 3)):
            self._queue.append(chance.choice([self._rows.draw, self._definitions.draw]))
        self._say("SET foreign_key_checks=1")

    def _locked(self) -> None:
        """Changes under LOCK TABLES; statements that name tables otherwise fail."""
        chance = self._chance
        lock = _lock_all if chance.random() < 0.5 else self._lock_some
        self._queue.append(lock)
        for _ in range(chance.randint(1, 5)):
            self._queue.append(
                chance.choice(
                    [
                        self._rows.draw,
                        self._rows.draw,
                        self._definitions.draw,
                        self._truncate,
                    ]
                )
            )
        self._say("UNLOCK TABLES")

    def _xa(self) -> None:
        chance = self._chance
        self._say(f"XA START {XID}")
        self._changes(chance.randint(1, 4))
        self._say(f"XA END {XID}")
        if chance.random() < 0.2:
            self._say(f"XA COMMIT {XID} ONE PHASE")
            return
        self._say(f"XA PREPARE {XID}")
        if chance.random() < 0.2 * self._kills:
            self._say(KILL)
        self._say(chance.choice([f"XA COMMIT {XID}", f"XA ROLLBACK {XID}"]))


def _lock_all(schema: Schema) -> str | None:
    tables = ", ".join(f"{table.sql} WRITE" for table in schema.tables)
    return f"LOCK TABLES {tables}" if tables else None

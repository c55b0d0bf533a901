"""A session that changes definitions, over and over, while the histories run."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.crash.writer import LOST
from tests.histories.client import CONFLICTS
from tests.histories.workload import SCHEMA

# What a transaction with an older snapshot is told of an index that was made meanwhile, or of a
# table that was made anew.
DEFINITION_CHANGED = 1412
WAIT_S = 2
PAUSE_S = 0.05

# Statements that come one after the other. What clients name in FORCE INDEX is made anew by a
# single statement, so that it is always there; a kill may leave anything of a line.
CHANGES = {
    "lists": (
        ("DROP KEY part, ADD KEY part (part, id)", "DROP KEY part, ADD KEY part (part)"),
        (
            "DROP KEY part_tail, ADD KEY part_tail (part, tail, id)",
            "DROP KEY part_tail, ADD KEY part_tail (part, tail)",
        ),
        ("ADD KEY IF NOT EXISTS later (tail, part)", "DROP KEY IF EXISTS later"),
        (
            "ADD COLUMN IF NOT EXISTS extra INT NOT NULL DEFAULT 7 AFTER id",
            "DROP COLUMN IF EXISTS extra",
        ),
        ("FORCE",),
    ),
    "registers": (
        ("DROP KEY value, ADD KEY value (value, id)", "DROP KEY value, ADD KEY value (value)"),
        ("ADD KEY IF NOT EXISTS later (version, value)", "DROP KEY IF EXISTS later"),
        (
            "ADD COLUMN IF NOT EXISTS extra VARCHAR(20) NOT NULL DEFAULT 'more' FIRST",
            "DROP COLUMN IF EXISTS extra",
        ),
        ("FORCE",),
    ),
    "members": (
        ("DROP KEY tag, ADD KEY tag (grp, tag, number)", "DROP KEY tag, ADD KEY tag (grp, tag)"),
        ("ADD UNIQUE KEY IF NOT EXISTS later (number)", "DROP KEY IF EXISTS later"),
        ("ADD COLUMN IF NOT EXISTS extra INT", "DROP COLUMN IF EXISTS extra"),
        ("FORCE",),
    ),
}


class Definer(threading.Thread):
    """Changes definitions until it is told to stop, or the server is gone."""

    def __init__(self, connect: Callable[[], Any], chance: random.Random) -> None:
        super().__init__(name="the session that changes definitions", daemon=True)
        self.ready = threading.Event()
        self.error = ""
        # How many statements ended so: by error number, 0 for success.
        self.outcomes: Counter[int] = Counter()
        self._connect = connect
        self._chance = chance
        self._ended = threading.Event()

    def end(self) -> None:
        """Asks for an end after the current statement."""
        self._ended.set()

    def run(self) -> None:
        import pymysql

        try:
            cursor = self._connect().cursor()
            cursor.execute(f"USE {SCHEMA}")
            cursor.execute(f"SET SESSION lock_wait_timeout = {WAIT_S}")
            self.ready.set()
            while not self._ended.wait(self._chance.uniform(0, PAUSE_S)):
                self._change(cursor)
        except pymysql.MySQLError as error:
            if error.args[0] not in LOST:
                self.error = f"{self.name}: {error}"
        self.ready.set()

    def _change(self, cursor: Any) -> None:
        import pymysql

        table = self._chance.choice(sorted(CHANGES))
        for change in self._chance.choice(CHANGES[table]):
            number = 0
            try:
                cursor.execute(f"ALTER TABLE {table} {change}")
            except pymysql.MySQLError as error:
                number = error.args[0]
                if number not in CONFLICTS:
                    raise
            self.outcomes[number] += 1


def check(connect: Callable[[], Any]) -> str:
    """What CHECK TABLE says against the tables; empty when all is well."""
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"USE {SCHEMA}")
        cursor.execute(f"CHECK TABLE {', '.join(sorted(CHANGES))} EXTENDED")
        wrong = [row for row in cursor.fetchall() if row[2:] != ("status", "OK")]
    return f"CHECK TABLE: {wrong}" if wrong else ""

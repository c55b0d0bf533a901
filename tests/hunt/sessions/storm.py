"""Sessions that repeat a few statements on the same few rows, as fast as they can.

No script orders them: what happens between two steps of one statement cannot be scripted. They are
judged like scripts, by what they were told and what the tables show.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.hunt.actors import Session, Watcher
from tests.hunt.sessions import script
from tests.hunt.sessions.play import Player
from tests.hunt.sessions.script import Effect, Event, Record, Script, Step
from tests.hunt.sessions.statements import Statements
from tests.hunt.sessions.tables import FIRST_MARK, KINDS, Kind, Table

SESSIONS = 5
SECONDS = 1.5
# Statements that several sessions can repeat: they leave the tables with rows.
_MARK = "{mark}"


@dataclass(frozen=True)
class Storm:
    """What each session repeats: the statements of its name, one after the other."""

    level: str
    tables: tuple[str, ...]
    indexes: dict[str, tuple[str, ...]]
    rows: int
    steps: tuple[Step, ...]
    seconds: float = SECONDS

    def text(self) -> str:
        """As people read it."""
        head = (
            f"-- Each session repeats its statements for {self.seconds:g} s; {_MARK} is another "
            "number each time."
        )
        return f"{head}\n{self.once().text()}"

    def once(self) -> Script:
        """The tables, and the statements once."""
        return Script(self.level, self.tables, self.steps, 10, self.indexes, self.rows)


def random_storm(chance: random.Random, kind: Kind | None = None) -> Storm:
    """Inserts, replacements, changes and deletions of three rows."""
    kind = kind or chance.choice(KINDS)
    tables = (Table("t", kind, 3), Table("s", KINDS[0], 2, 1))
    statements = Statements(chance, tables, more=0)
    makers: tuple[Callable[[str, Table], list[Step]], ...] = (
        *(statements.upsert, statements.upsert, statements.replace, statements.replace),
        *(statements.delete, statements.delete, statements.update, statements.insert),
    )
    by_unique = kind.unique and chance.random() < 0.6
    steps = []
    for name in "ABCDE"[:SESSIONS]:
        for _ in range(chance.choice((1, 1, 2))):
            if by_unique:
                steps.append(_by_unique(chance, name, tables[0]))
            else:
                (step,) = chance.choice(makers)(name, tables[0])[-1:]
                steps.append(_repeatable(step))
    return Storm(
        chance.choice(("READ COMMITTED", "REPEATABLE READ")),
        tuple(
            text.replace("VARCHAR(500)", "MEDIUMTEXT")
            for table in tables
            for text in (table.create(), table.fill(chance))
        ),
        {table.name: table.kind.indexes for table in tables},
        sum(table.rows for table in tables),
        tuple(steps),
    )


def _by_unique(chance: random.Random, session: str, table: Table) -> Step:
    """Finds the rows by u, under another id each time."""
    kind, unique = table.kind, table.kind.unique_literal(chance.randint(1, table.rows))
    row = f"({kind.computed.format(_MARK)}, 1, 1, {unique}, '{_MARK}.0')"
    insert = f"INTO {table.name} (id, g, h, u, log) VALUES {row}"
    change = f"log = CONCAT(log, ',{_MARK}')"
    delete = f"DELETE FROM {table.name} WHERE u = {unique} RETURNING log"
    effect, text = chance.choice(
        (
            (Effect(script.UPSERT, 0, 1), f"INSERT {insert} ON DUPLICATE KEY UPDATE {change}"),
            (Effect(script.UPSERT, 0, 1), f"INSERT {insert} ON DUPLICATE KEY UPDATE {change}"),
            (Effect(script.REPLACE, 0, 1), f"REPLACE {insert}"),
            (Effect(script.REPLACE, 0, 1), f"REPLACE {insert}"),
            (
                Effect(script.DELETE, 0),
                delete,
            ),
            (
                Effect(script.DELETE, 0),
                delete,
            ),
            (Effect(script.UPDATE, 0), f"UPDATE {table.name} SET {change} WHERE u = {unique}"),
            (Effect(script.IGNORE, 0, 1), f"INSERT IGNORE {insert}"),
        )
    )
    return Step(session, text, effect)


def _repeatable(step: Step) -> Step:
    """With a place for another mark each time; no values that grow without end."""
    assert step.effect
    text = step.text.replace("u = u + 100, ", "").replace("id = id + 100, ", "")
    text = text.replace("u = CONCAT(u, 'x'), ", "")
    mark = str(step.effect.mark)
    for before, after in ((f"'{mark}.", f"'{_MARK}."), (f",{mark}'", f",{_MARK}'")):
        text = text.replace(before, after)
    return replace(step, text=text)


class StormPlayer(Player):
    """Lets the sessions run freely."""

    def __init__(self, connect: Callable[..., Any], watcher: Watcher, schema: str) -> None:
        super().__init__(connect, watcher, "ROCKSDB", schema)

    def storm(self, storm: Storm) -> Record:
        """Makes the tables, runs the sessions for the time, and reads the tables."""

        def work(record: Record) -> None:
            limit = time.monotonic() + storm.seconds
            threads = [
                threading.Thread(
                    target=_repeat,
                    args=(
                        session,
                        [step for step in storm.steps if step.session == name],
                        limit,
                        record.events,
                    ),
                )
                for name, session in self.sessions.items()
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        record = self.on_tables(Record("ROCKSDB", storm.once(), []), work)
        for position, event in enumerate(record.events):
            event.sent_at = event.ended_at = position
        return record


def _repeat(session: Session, steps: list[Step], limit: float, events: list[Event]) -> None:
    """One session: its statements one after the other, until the time is up."""
    for number, step in enumerate(itertools.cycle(steps)):
        if time.monotonic() > limit or session.is_gone:
            return
        # No two sessions, and no two statements, have the same.
        mark = FIRST_MARK * (number + 1) + ord(session.name) - ord("A")
        assert step.effect
        done = replace(
            step,
            text=step.text.replace(_MARK, str(mark)),
            effect=replace(step.effect, mark=mark),
        )
        # Whether it waited is not known, so that it may have.
        events.append(Event(done, waited=True, in_transaction=False, answer=session.ask(done.text)))

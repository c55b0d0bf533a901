"""What is known of a migration at the server: it outlives the command, and the server's crash.

Each phase is written down before it begins. So whatever is found after a kill, the phase says what
may be there, and the tables say how far it has come.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cairn.errors import CairnError
from cairn.migrate.link import Session, literal
from cairn.migrate.schema import PREFIX, STATE_SCHEMA, Id, text_of
from cairn.migrate.ways import Way

VERSION = 1


class Phase(Enum):
    """How far a set of tables has come."""

    WAITING = "waiting"  # Nothing of ours is there.
    MAKING = "making"  # Shadows and triggers are being made.
    COPYING = "copying"  # Shadows are being filled, then compared.
    SWAPPING = "swapping"  # Shadows are complete; names are being exchanged in one statement.
    CLEANING = "cleaning"  # Names are exchanged; the former tables are being dropped.
    ALTERING = "altering"  # ALTER TABLE … ENGINE runs.
    DONE = "done"


class Step(Enum):
    """What to do next with a set that was interrupted."""

    BEGIN = "begin"  # Remove what is ours, then from the start.
    CONTINUE = "continue"  # Copy on behind the last piece.
    CLEAN = "clean"  # Drop the former tables.
    NOTHING = "nothing"


@dataclass(frozen=True)
class Found:
    """What is there of one table: whether its name has the target engine, and what is ours."""

    table: Id
    converted: bool
    shadow: bool
    former: bool


def after_interruption(phase: Phase, way: Way, found: list[Found], *, kept: bool) -> Step:
    """The step that follows from the phase and the tables.

    `kept`: nothing that was committed can be lost since the pieces were copied. Raises a CairnError
    for what no interruption leaves behind.
    """
    converted = [one for one in found if one.converted]
    if phase is Phase.DONE:
        return Step.NOTHING
    if phase in (Phase.WAITING, Phase.MAKING, Phase.COPYING) and converted:
        raise CairnError(
            f"{text_of(converted[0].table)} has the other engine already, though the migration has "
            "not come to that: somebody else has changed it. Run abandon, then begin anew."
        )
    if phase is Phase.ALTERING:
        return Step.NOTHING if len(converted) == len(found) else Step.BEGIN
    if phase is Phase.COPYING:
        on = way is Way.ONLINE and kept and all(one.shadow for one in found)
        return Step.CONTINUE if on else Step.BEGIN
    if phase in (Phase.SWAPPING, Phase.CLEANING):
        if len(converted) == len(found):
            return Step.CLEAN
        if converted or phase is Phase.CLEANING:
            raise CairnError(
                f"Of {', '.join(text_of(one.table) for one in found)} only "
                f"{', '.join(text_of(one.table) for one in converted) or 'none'} have the other "
                "engine, which a swap in one statement does not leave behind. The others' rows are "
                f"in tables named {PREFIX}…; nothing has been dropped."
            )
    return Step.BEGIN


@dataclass
class Entry:
    """One table in the state."""

    number: int
    set_number: int
    table: Id
    way: Way
    phase: Phase = Phase.WAITING
    rows_expected: int = 0
    bytes_expected: int = 0
    rows_copied: int = 0
    position: tuple[str, ...] | None = None
    server_started: int = 0
    checksum: str = ""
    error: str = ""

    @property
    def shadow(self) -> str:
        return f"{PREFIX}{self.number}"

    @property
    def former(self) -> str:
        return f"{PREFIX}{self.number}_former"


_COLUMNS = (
    "number, set_number, schema_name, table_name, way, phase, rows_expected, bytes_expected, "
    "rows_copied, position, server_started, checksum, error"
)


class State:
    """The tables of schema cairn_migrate, over one session. For one thread at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def exists(self) -> bool:
        return bool(
            self._session.value(
                "SELECT COUNT(*) = 2 FROM information_schema.tables WHERE "
                f"table_schema = '{STATE_SCHEMA}' AND table_name IN ('migration', 'tables')"
            )
        ) and bool(self._session.value(f"SELECT COUNT(*) FROM {STATE_SCHEMA}.migration"))

    def create(self, options: dict[str, Any], entries: Iterable[Entry]) -> None:
        """Writes a new migration down; the last insert makes it one that exists."""
        self.remove()
        session = self._session
        session.execute(f"CREATE DATABASE {STATE_SCHEMA} CHARACTER SET utf8mb4")
        session.execute(
            f"CREATE TABLE {STATE_SCHEMA}.tables (number INT PRIMARY KEY, set_number INT NOT NULL, "
            "schema_name VARCHAR(64) NOT NULL, table_name VARCHAR(64) NOT NULL, "
            "way VARCHAR(10) NOT NULL, phase VARCHAR(10) NOT NULL, rows_expected BIGINT NOT NULL, "
            "bytes_expected BIGINT NOT NULL, rows_copied BIGINT NOT NULL, position LONGTEXT, "
            "server_started BIGINT NOT NULL, checksum VARCHAR(60) NOT NULL, error TEXT NOT NULL) "
            "ENGINE=InnoDB"
        )
        session.execute(
            f"CREATE TABLE {STATE_SCHEMA}.migration (version INT NOT NULL, options TEXT NOT NULL, "
            "paused BOOL NOT NULL, started TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP) "
            "ENGINE=InnoDB"
        )
        for entry in entries:
            session.execute(
                f"INSERT INTO {STATE_SCHEMA}.tables ({_COLUMNS}) VALUES ({entry.number}, "
                f"{entry.set_number}, {literal(entry.table[0])}, {literal(entry.table[1])}, "
                f"{literal(entry.way.value)}, {literal(entry.phase.value)}, {entry.rows_expected}, "
                f"{entry.bytes_expected}, 0, NULL, 0, '', '')"
            )
        session.execute(
            f"INSERT INTO {STATE_SCHEMA}.migration (version, options, paused) VALUES "
            f"({VERSION}, {literal(json.dumps(options))}, 0)"
        )

    def remove(self) -> None:
        """Removes the schema, if all that is in it is ours."""
        names = {
            row[0]
            for row in self._session.rows(
                "SELECT table_name FROM information_schema.tables "
                f"WHERE table_schema = '{STATE_SCHEMA}'"
            )
        }
        if others := names - {"migration", "tables"}:
            raise CairnError(
                f"The schema {STATE_SCHEMA} has tables that are not ours: "
                f"{', '.join(sorted(others))}. Move them elsewhere; the schema is for the state "
                "of a migration."
            )
        # The row first: without it there is no migration, whatever else is left of the schema.
        if "migration" in names:
            self._session.execute(f"DELETE FROM {STATE_SCHEMA}.migration")
        self._session.execute(f"DROP DATABASE IF EXISTS {STATE_SCHEMA}")

    def options(self) -> dict[str, Any]:
        row = self._session.rows(f"SELECT version, options FROM {STATE_SCHEMA}.migration")[0]
        if row[0] != VERSION:
            raise CairnError(
                f"The migration was begun by another version of Cairn (state {row[0]}, not "
                f"{VERSION}): resume or abandon it with that version."
            )
        return dict(json.loads(row[1]))

    def entries(self) -> list[Entry]:
        return [
            Entry(
                row[0],
                row[1],
                (row[2], row[3]),
                Way(row[4]),
                Phase(row[5]),
                *row[6:9],
                tuple(json.loads(row[9])) if row[9] else None,
                *row[10:],
            )
            for row in self._session.rows(
                f"SELECT {_COLUMNS} FROM {STATE_SCHEMA}.tables ORDER BY set_number, number"
            )
        ]

    def paused(self) -> bool:
        return bool(self._session.value(f"SELECT paused FROM {STATE_SCHEMA}.migration"))

    def set_paused(self, paused: bool) -> None:
        self._session.execute(f"UPDATE {STATE_SCHEMA}.migration SET paused = {int(paused)}")

    def enter(self, entries: list[Entry], phase: Phase) -> None:
        """Writes down that a set enters a phase; all of its tables in one statement."""
        self._session.execute(
            f"UPDATE {STATE_SCHEMA}.tables SET phase = '{phase.value}' "
            f"WHERE set_number = {entries[0].set_number}"
        )
        for entry in entries:
            entry.phase = phase

    def save(self, entry: Entry) -> None:
        """Writes how far a table has come."""
        position = json.dumps(entry.position) if entry.position else None
        self._session.execute(
            f"UPDATE {STATE_SCHEMA}.tables SET rows_copied = {entry.rows_copied}, "
            f"position = {literal(position)}, server_started = {entry.server_started}, "
            f"checksum = {literal(entry.checksum)}, error = {literal(entry.error)} "
            f"WHERE number = {entry.number}"
        )

    def forget(self, entry: Entry) -> None:
        """Takes back how far a table has come."""
        entry.rows_copied, entry.position, entry.checksum = 0, None, ""
        self.save(entry)

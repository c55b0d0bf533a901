"""Making, filling and removing shadows: copies under another name that take the table's place."""

from __future__ import annotations

import time
from collections.abc import Callable

from cairn.errors import CairnError
from cairn.migrate import definition, pieces, triggers
from cairn.migrate.link import CONFLICTS, Session, literal, name
from cairn.migrate.pace import SMALLEST, Pace, next_piece
from cairn.migrate.schema import Table, sql_of, text_of
from cairn.migrate.sessions import patiently
from cairn.migrate.state import Entry
from cairn.migrate.ways import Way, readable_in_pieces

PIECE_TRIES = 200


def shadow_of(entry: Entry) -> tuple[str, str]:
    return entry.table[0], entry.shadow


def former_of(entry: Entry) -> tuple[str, str]:
    return entry.table[0], entry.former


def undo(session: Session, entry: Entry, table: Table) -> None:
    """Removes what is ours of a table that is not swapped; triggers first, as they write to it."""
    for statement in triggers.drop(table, entry.number):
        patiently(session, statement)
    session.execute(f"DROP TABLE IF EXISTS {sql_of(shadow_of(entry))}")


def make(session: Session, entry: Entry, table: Table, engine: str) -> None:
    """Makes the shadow and the triggers of the way.

    Foreign keys are there from the start: they bind once parents have their names and the engine,
    and nobody but we, without checks, writes to such a shadow. Later the locks that keep writers
    out would keep us from adding them.
    """
    parsed = definition.parse(table.definition)
    session.execute(f"USE {name(entry.table[0])}")
    session.execute(definition.create(parsed, sql_of(shadow_of(entry)), engine))
    rules = definition.add_foreign_keys(parsed, entry.table[0], entry.shadow)
    if rules:
        patiently(session, rules)
    if entry.way is Way.ONLINE:
        statements = triggers.carrying(table, entry.number, entry.shadow)
    else:
        statements = triggers.guarding(table, entry.number, entry.set_number)
    for statement in statements:
        patiently(session, statement)


def take_counter(session: Session, entry: Entry) -> None:
    """Gives the shadow the next value of AUTO_INCREMENT; writers must be kept out."""
    counter = session.value(
        f"SELECT auto_increment FROM information_schema.tables WHERE table_schema = "
        f"{literal(entry.table[0])} AND table_name = {literal(entry.table[1])}"
    )
    if counter is not None:
        session.execute(f"ALTER TABLE {sql_of(shadow_of(entry))} AUTO_INCREMENT = {counter}")


class Filling:
    """Fills one shadow. `saved` is called after each piece, and may wait (pause) or raise."""

    def __init__(
        self,
        session: Session,
        entry: Entry,
        table: Table,
        pace: Pace,
        saved: Callable[[int], None],
    ) -> None:
        self.session, self.entry, self.table = session, entry, table
        self.pace, self.saved = pace, saved
        self.online = entry.way is Way.ONLINE

    def run(self) -> None:
        if not readable_in_pieces(self.table):
            self._whole()
            return
        largest = self.pace.largest_piece() if self.online else Pace(None).largest_piece()
        rows = min(largest, 20 * SMALLEST)
        while True:
            begun = time.monotonic()
            behind = self.entry.position
            last = self._find(rows)
            copied = self._copy(behind, last)
            self.entry.rows_copied += copied
            if last:
                self.entry.position = last
            seconds = time.monotonic() - begun
            self.saved(copied)
            if last is None:
                return
            if self.online:
                self.pace.copied(max(copied, 1))
            rows = next_piece(rows, seconds, largest)

    def _find(self, rows: int) -> tuple[str, ...] | None:
        found = self.session.rows(pieces.find_bound(self.table, self.entry.position, rows))
        return tuple(map(str, found[0])) if found else None

    def _copy(
        self,
        behind: tuple[str, ...] | None,
        last: tuple[str, ...] | None,
        before: str | None = None,
    ) -> int:
        """Copies a piece; what collides with clients is repeated, for their changes go first."""
        import pymysql

        text = pieces.copy(self.table, self.entry.shadow, behind, last, beside_writers=self.online)
        for attempt in range(PIECE_TRIES):
            try:
                if before:
                    self.session.execute(before)
                return self.session.execute(text)
            except pymysql.MySQLError as error:
                if error.args[0] not in CONFLICTS:
                    raise
                self.session.rest(min(1.0, 0.01 * (attempt + 1)))
        raise CairnError(
            f"{text_of(self.table.id)}: a piece could not be copied in {PIECE_TRIES} tries, "
            "because of clients' locks. Look for long transactions (SHOW PROCESSLIST), then "
            "--resume."
        )

    def _whole(self) -> None:
        """All rows in one statement, which ROCKSDB commits in parts."""
        shadow = sql_of(shadow_of(self.entry))
        middle = self.session.allowed("SET SESSION rocksdb_commit_in_the_middle = 1")
        try:
            # What a try that collided has committed in parts goes first.
            copied = self._copy(None, None, before=f"TRUNCATE TABLE {shadow}")
        finally:
            if middle:
                self.session.execute("SET SESSION rocksdb_commit_in_the_middle = 0")
        self.entry.rows_copied = copied
        self.saved(copied)

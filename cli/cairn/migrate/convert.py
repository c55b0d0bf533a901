"""One set of tables from its phase to the end."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.errors import CairnError
from cairn.migrate import definition, schema, server, shadows, space, verify
from cairn.migrate.link import Session, Stopped, is_lost
from cairn.migrate.pace import Pace
from cairn.migrate.progress import Progress
from cairn.migrate.schema import PREFIX, Selection, Table, sql_of, text_of
from cairn.migrate.sessions import Sessions, patiently
from cairn.migrate.state import Entry, Found, Phase, State, Step, after_interruption
from cairn.migrate.swap import WaitedTooLong, exchange, writers_kept_out
from cairn.migrate.ways import Way

SWAP_TRIES = 5


@dataclass
class Job:
    """What all sets share."""

    sessions: Sessions
    target: str
    verify: str
    pace: Pace
    progress: Progress
    kept: bool  # The server has kept all that it has committed, since when pieces were copied.
    server_started: int


class SetConversion:
    """Converts one connected set. For one thread."""

    def __init__(self, job: Job, entries: list[Entry], session: Session, state: State) -> None:
        self.job, self.entries, self.session, self.state = job, entries, session, state
        self.tables: dict[int, Table] = {}

    # ---- where it goes on --------------------------------------------------------------------

    def run(self) -> None:
        """Takes the set to its end; raises a CairnError when that fails, with nothing left."""
        import pymysql

        first = self.entries[0]
        kept = self.job.kept or server.same_start(first.server_started, self.job.server_started)
        step = after_interruption(first.phase, first.way, self._found(), kept=kept)
        if step is Step.NOTHING:
            self.state.enter(self.entries, Phase.DONE)
        elif step is Step.CLEAN:
            self._clean()
        else:
            try:
                self._convert(step)
            except (CairnError, Stopped):
                self.session.stopping = lambda: False
                self._keep_or_undo()
                raise
            except pymysql.MySQLError as error:
                if is_lost(error):
                    raise
                self._keep_or_undo()
                names = ", ".join(text_of(entry.table) for entry in self.entries)
                raise CairnError(f"{names}: the server refused: {error.args[-1]}.") from error

    def _found(self) -> list[Found]:
        engines = schema.engines(self.session)
        for entry in self.entries:
            if entry.table not in engines:
                raise CairnError(
                    f"{text_of(entry.table)} is gone: somebody has dropped or renamed it. "
                    "Run abandon, then begin anew."
                )
        return [
            Found(
                entry.table,
                engines[entry.table] == self.job.target,
                shadows.shadow_of(entry) in engines,
                shadows.former_of(entry) in engines,
            )
            for entry in self.entries
        ]

    def _keep_or_undo(self) -> None:
        """After an error: an online copy stays for later, all else is taken back."""
        first = self.entries[0]
        if first.phase is Phase.COPYING and first.way is Way.ONLINE and not first.error:
            return
        if first.phase in (Phase.MAKING, Phase.COPYING, Phase.SWAPPING):
            self._undo()

    def _undo(self) -> None:
        """Removes shadows and triggers of a set that is not swapped."""
        self._read()
        for entry in self.entries:
            if self.tables[entry.number].engine.lower() == self.job.target:
                raise CairnError(f"{text_of(entry.table)} is swapped: it is not taken back.")
        for entry in self.entries:
            shadows.undo(self.session, entry, self.tables[entry.number])
            self.state.forget(entry)
        self.state.enter(self.entries, Phase.WAITING)

    def _read(self) -> None:
        selection = Selection((), tuple(entry.table for entry in self.entries))
        found = {table.id: table for table in schema.read(self.session, selection)}
        self.tables = {entry.number: found[entry.table] for entry in self.entries}

    # ---- the ways ----------------------------------------------------------------------------

    def _convert(self, step: Step) -> None:
        self._read()
        self._refuse_server()
        expected = sum(entry.bytes_expected for entry in self.entries)
        space.require(self.session, self.job.target, expected, text_of(self.entries[0].table))
        if self.entries[0].way is Way.ALTER:
            self._alter()
            return
        if step is Step.BEGIN:
            if self.entries[0].phase is not Phase.WAITING:
                self._undo()
            self.state.enter(self.entries, Phase.MAKING)
            for entry in self.entries:
                self._says(entry, "makes the copy's table")
                entry.server_started, entry.error = self.job.server_started, ""
                shadows.make(self.session, entry, self.tables[entry.number], self.job.target)
                self.state.save(entry)
            self.state.enter(self.entries, Phase.COPYING)
        if self.entries[0].way is Way.ONLINE:
            self._online()
        else:
            self._held()
        self._clean()

    def _refuse_server(self) -> None:
        """What a restart or a replica's START may have changed since the plan."""
        if self.entries[0].way is Way.ONLINE and not int(self.session.value("SELECT @@log_bin")):
            raise CairnError(
                "The binary log is off by now, and an online copy needs it: run abandon, then run."
            )
        if server.is_replicating(self.session):
            raise CairnError(
                "The server applies changes as a replica, and those run no triggers: STOP SLAVE "
                "SQL_THREAD, then --resume."
            )

    def _online(self) -> None:
        entry = self.entries[0]
        table = self.tables[entry.number]
        self._fill(entry)
        self._refuse_new_children()
        for attempt in range(SWAP_TRIES):
            try:
                self._says(entry, "is being compared and swapped; writers wait")
                with writers_kept_out(self.job.sessions, self.entries) as holder:
                    self._compare(entry, table)
                    shadows.take_counter(self.session, entry)
                    self.state.enter(self.entries, Phase.SWAPPING)
                    exchange(self.job.sessions, self.session, holder, self.entries)
                return
            except WaitedTooLong:
                if attempt == SWAP_TRIES - 1:
                    raise
                self.state.enter(self.entries, Phase.COPYING)

    def _held(self) -> None:
        self._refuse_new_children()
        self._says(self.entries[0], "waits for transactions to end")
        with writers_kept_out(self.job.sessions, self.entries) as holder:
            for entry in self.entries:
                self._fill(entry)
                self._says(entry, "is being compared; writers wait")
                self._compare(entry, self.tables[entry.number])
            for entry in self.entries:
                shadows.take_counter(self.session, entry)
            self.state.enter(self.entries, Phase.SWAPPING)
            exchange(self.job.sessions, self.session, holder, self.entries)

    def _refuse_new_children(self) -> None:
        """A child that came since the plan would follow the former table, and lose its parent."""
        members = {entry.table for entry in self.entries}
        engines = schema.engines(self.session)
        for key in schema.foreign_keys(self.session):
            if key.parent not in members or key.child in members or key.child[1].startswith(PREFIX):
                continue
            if engines.get(key.child) != self.job.target:
                self.entries[0].error = "changed"
                raise CairnError(
                    f"{text_of(key.child)} got a foreign key to {text_of(key.parent)} since the "
                    "plan was made: run abandon, then run."
                )

    def _fill(self, entry: Entry) -> None:
        def saved(rows: int) -> None:
            self.state.save(entry)
            self.job.progress.copied(rows)
            self.session.rest(0)
            if entry.way is Way.ONLINE:
                self._wait_while_paused(entry)
                self._says(entry, "is being copied")

        held = "" if entry.way is Way.ONLINE else "; writers wait"
        self._says(entry, f"is being copied{held}")
        shadows.Filling(self.session, entry, self.tables[entry.number], self.job.pace, saved).run()

    def _wait_while_paused(self, entry: Entry) -> None:
        while self.state.paused():
            self._says(entry, "is paused")
            self.session.rest(0.2)

    def _compare(self, entry: Entry, table: Table) -> None:
        """While writers are kept out: the definition is that of the shadow, and the rows are."""
        copy = shadows.shadow_of(entry)
        there = definition.shape(schema.show_create(self.session, copy))
        now = definition.shape(schema.show_create(self.session, entry.table))
        if now != there or schema.triggers_of(self.session, entry.table):
            entry.error = "changed"
            raise CairnError(
                f"{text_of(entry.table)} was altered, or got a trigger, while it was copied; the "
                "copy is removed. --resume copies it anew; for another way run abandon, then run."
            )
        try:
            entry.checksum = verify.compare(self.session, table, copy, self.job.verify)
        except CairnError:
            entry.error = "differs"
            raise
        self.state.save(entry)

    def _alter(self) -> None:
        entry = self.entries[0]
        self.state.enter(self.entries, Phase.ALTERING)
        self._says(entry, "is altered; clients wait")
        change = f"ALTER TABLE {sql_of(entry.table)} ENGINE={self.job.target.upper()}"
        if self.job.verify == "none":
            patiently(self.session, change)
            entry.checksum = "not compared"
        else:
            self._alter_compared(entry, change)
        entry.rows_copied = entry.rows_expected
        self.job.progress.copied(entry.rows_expected)
        self.state.save(entry)
        self._done()

    def _alter_compared(self, entry: Entry, change: str) -> None:
        patiently(self.session, f"LOCK TABLES {sql_of(entry.table)} WRITE")
        try:
            table = self.tables[entry.number]
            before = verify.figure(self.session, table, table.id, self.job.verify)
            self.session.execute(change)
            entry.checksum = verify.figure(self.session, table, table.id, self.job.verify)
            if entry.checksum != before:
                former = table.engine
                self.session.execute(f"ALTER TABLE {sql_of(entry.table)} ENGINE={former}")
                raise CairnError(
                    f"{text_of(entry.table)} differs after ALTER TABLE: {before} before, "
                    f"{entry.checksum} afterwards. It is altered back to {former}."
                )
        finally:
            self.session.execute("UNLOCK TABLES")

    # ---- the end -----------------------------------------------------------------------------

    def _clean(self) -> None:
        """Drops the former tables, with their triggers; looks for what foreign keys tell."""
        self.state.enter(self.entries, Phase.CLEANING)
        engines = schema.engines(self.session)
        former = [
            sql_of(shadows.former_of(entry))
            for entry in self.entries
            if shadows.former_of(entry) in engines
        ]
        if former:
            patiently(self.session, f"DROP TABLE {', '.join(former)}")
        self._tell_of_foreign_keys()
        self._done()

    def _tell_of_foreign_keys(self) -> None:
        tables = {entry.table for entry in self.entries}
        for key in schema.foreign_keys(self.session):
            if key.child not in tables or key.parent not in schema.engines(self.session):
                continue
            if count := verify.orphans(self.session, key):
                self.job.progress.note(
                    f"{text_of(key.child)}: {count:,} rows have no parent for {key.constraint}, as "
                    f"before the migration. To see them: {verify.orphans_query(key)}"
                )
        for text in verify.unbound(self.session, tables):
            self.job.progress.note(f"{text}: the foreign key is bound to no parent")

    def _done(self) -> None:
        self.state.enter(self.entries, Phase.DONE)
        for entry in self.entries:
            rows = entry.rows_copied
            self.job.progress.note(
                f"{text_of(entry.table)}: {self.job.target.upper()}, {rows:,} rows copied, "
                f"{entry.checksum or 'not compared'}"
                f"{' before and after' if 'not' not in entry.checksum and entry.checksum else ''}"
            )
        self._says(self.entries[0], "")

    def _says(self, entry: Entry, text: str) -> None:
        self.job.progress.does(entry, text)

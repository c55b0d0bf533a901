"""Plays a script on one engine and records what each session was told."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cairn.errors import CairnError
from tests.hunt.actors import ANSWER_S, Answer, Session, Watcher
from tests.hunt.sessions import script
from tests.hunt.sessions.script import Event, Record, Script
from tests.hunt.sessions.tables import COLUMNS
from tests.hunt.sessions.triggers import SEEN
from tests.hunt.sessions.xa import NO_BRANCH, ROLLED_BACK

POLL_S = 0.004
# How long a connection that was killed or left may take to be gone.
GONE_S = 10.0
# The directory of a schema has files that the server does not know.
NOT_EMPTY = 1010


class Player:
    """One playing of a script, in a schema of its own."""

    # What becomes of prepared XA transactions that nobody ends.
    LEFT_PREPARED = "COMMIT"
    # The names that a schema may have; it needs more than one where the server leaves files behind.
    NAMES = 50

    def __init__(
        self, connect: Callable[..., Any], watcher: Watcher, engine: str, schema: str
    ) -> None:
        """`connect` takes the options of PyMySQL."""
        self._connect = connect
        self._watcher = watcher
        self._engine = engine
        self._schema = schema
        self.sessions: dict[str, Session] = {}
        # Steps that were not sent yet, because the session's statement before has not ended.
        self._queued: dict[str, list[Event]] = {}
        self._running: dict[str, Event] = {}
        self._changed = 0.0
        self._settings: tuple[str, ...] = ()

    def play(self, played: Script) -> Record:
        """Makes the tables anew, and plays."""
        record = Record(self._engine, played, [Event(step) for step in played.steps])
        return self.on_tables(record, self._steps)

    def on_tables(self, record: Record, work: Callable[[Record], None]) -> Record:
        """Makes the tables, does the work, and reads the tables once all sessions have ended."""
        with self._connect() as connection, connection.cursor() as self._cursor:
            self._make_tables(record.script)
            try:
                self._open(record.script)
                work(record)
            finally:
                for session in self.sessions.values():
                    session.end()
            for session in self.sessions.values():
                self._until_gone(session)
            self._end_prepared(record)
            self.read(record)
            return record

    # ---- before ---------------------------------------------------------------------------------

    def _make_tables(self, played: Script) -> None:
        execute = self._cursor.execute
        self._drop()
        execute(f"CREATE DATABASE {self._schema}")
        execute(f"USE {self._schema}")
        execute(f"SET SESSION default_storage_engine = {self._engine}")
        for statement in played.tables:
            execute(self._filled(statement))

    def _drop(self) -> None:
        """Drops the schema of the playing before, or takes a name that is free.

        Now and then the server leaves its copy of a table's list of triggers, t.TRG-, in the
        schema's directory, with either engine, and cannot drop the schema then. Other files that
        are left there are a fault.
        """
        import pymysql

        for name in (self._schema, *(f"{self._schema}_{i}" for i in range(1, self.NAMES))):
            try:
                self._cursor.execute(f"DROP DATABASE IF EXISTS {name}")
            except pymysql.MySQLError as error:
                if error.args[0] != NOT_EMPTY or not self._has_triggers_alone(name):
                    raise
                continue
            self._schema = name
            return
        raise CairnError(f"The server left files in the schema {self._schema}.")

    def _has_triggers_alone(self, schema: str) -> bool:
        """Whether nothing else is left in a schema's directory."""
        self._cursor.execute("SELECT @@datadir")
        directory = Path(self._cursor.fetchone()[0], schema)
        return all(path.name.endswith(".TRG-") for path in directory.iterdir())

    def _filled(self, text: str) -> str:
        return text.replace("{engine}", self._engine).replace("{schema}", self._schema)

    def _nameless(self, answer: Answer) -> Answer:
        """The answer without the schema's name, which differs from one playing to the next."""
        if answer.rows is None:
            return answer
        return replace(
            answer,
            rows=tuple(
                tuple(
                    value.replace(self._schema, "schema") if isinstance(value, str) else value
                    for value in row
                )
                for row in answer.rows
            ),
        )

    def _open(self, played: Script) -> None:
        self._settings = (
            f"USE {self._schema}",
            f"SET SESSION TRANSACTION ISOLATION LEVEL {played.level}",
            f"SET SESSION cairn_snapshot_conflicts = {'LATEST' if played.latest else 'ERROR'}",
            f"SET SESSION innodb_snapshot_isolation = {'OFF' if played.latest else 'ON'}",
            f"SET SESSION innodb_lock_wait_timeout = {played.lock_wait_s}",
            f"SET SESSION rocksdb_lock_wait_timeout = {played.lock_wait_s}",
            f"SET SESSION lock_wait_timeout = {played.table_wait_s}",
            f"SET SESSION default_storage_engine = {self._engine}",
            "SET SESSION system_versioning_alter_history = KEEP",
        )
        for name in played.sessions:
            self._queued[name] = []
            self._set_up(self._new_session(name))

    def _new_session(self, name: str) -> Session:
        session = Session(name, lambda: self._connect(database=self._schema))
        self.sessions[name] = session
        return session

    def _set_up(self, session: Session) -> None:
        for setting in self._settings:
            session.ask(setting)

    # ---- the steps ------------------------------------------------------------------------------

    def _steps(self, record: Record) -> None:
        position = -1
        for position, event in enumerate(record.events):
            self._step(position, event)
            self._settle(position)
        limit = time.monotonic() + ANSWER_S
        while self._running:
            # Whoever has come to its end leaves, as nothing else would free what the others wait
            # for.
            for name in self.sessions.keys() - self._running.keys():
                self._leave(self.sessions[name])
            self._end_prepared(record)
            self._settle(position + 1, forever=True)
            if time.monotonic() > limit:
                raise TimeoutError(f"{self._engine} did not answer: {self._running_texts()}")

    def _step(self, position: int, event: Event) -> None:
        step = event.step
        session = self.sessions[step.session]
        if step.text.startswith("!"):
            event.sent_at = event.ended_at = position
            self._control(event, session, position)
        elif not session.is_gone:
            self._queued[step.session].append(event)
            self._send_next(step.session, position)

    def _control(self, event: Event, session: Session, position: int) -> None:
        name, kind = event.step.session, event.step.text
        if kind == script.AWAIT:
            limit = time.monotonic() + ANSWER_S
            while name in self._running and time.monotonic() < limit:
                self._settle(position, forever=True)
            return
        # A connection is left only between statements: what one under way did would not be known.
        busy_is_wrong = {
            script.KILL_QUERY: False,
            script.DISCONNECT: True,
            script.RESET: True,
        }.get(kind)
        if session.is_gone or session.is_busy is busy_is_wrong:
            return
        event.applied = True
        self._changed = time.monotonic()
        if kind == script.KILL_QUERY:
            self._cursor.execute(f"KILL QUERY {session.id}")
            return
        if kind == script.RESET:
            self._reset(session)
            return
        session.is_gone = True
        self._queued[name].clear()
        if kind == script.DISCONNECT:
            session.disconnect()
        else:
            self._cursor.execute(f"KILL {session.id}")
            self._take(name, position, session.poll(ANSWER_S) if session.is_busy else None)
        self._until_gone(session)

    def _reset(self, session: Session) -> None:
        """What comes next is not of the transaction that the connection had.

        InnoDB (10.11.18) goes on with one that is prepared, answers 1031, or nothing. It is given
        another connection, which comes to the same.
        """
        if self._engine == "ROCKSDB":
            session.reset()
        else:
            session.end()
            self._until_gone(session)
            session = self._new_session(session.name)
        self._set_up(session)

    def _leave(self, session: Session) -> None:
        if not session.is_gone:
            session.is_gone = True
            self._changed = time.monotonic()
            session.end()
            self._until_gone(session)

    def _send_next(self, name: str, position: int) -> None:
        session = self.sessions[name]
        if name in self._running or session.is_gone or not self._queued[name]:
            return
        event = self._running[name] = self._queued[name].pop(0)
        event.sent_at = position
        self._changed = time.monotonic()
        session.send(self._filled(event.step.text))

    def _settle(self, position: int, *, forever: bool = False) -> None:
        """Returns when each session has answered or waits; with `forever`, after one answer."""
        with self._watcher.watching():
            limit = time.monotonic() + ANSWER_S
            while self._running:
                if self._take_answers(position) and forever:
                    return
                if not self._running:
                    return
                waits = self._watcher.waiting(self._changed)
                busy = {self.sessions[name].id for name in self._running}
                if waits is not None and busy <= waits:
                    for event in self._running.values():
                        event.waited = True
                    if not forever:
                        return
                if time.monotonic() > limit:
                    raise TimeoutError(f"{self._engine} did not answer: {self._running_texts()}")

    def _take_answers(self, position: int) -> bool:
        """Takes what has been answered, for which it waits a moment; whether there was anything."""
        found = False
        for number, name in enumerate(list(self._running)):
            answer = self.sessions[name].poll(POLL_S if number == 0 else 0.0)
            if answer is not None:
                found = True
                self._take(name, position, answer)
                self._send_next(name, position)
        return found

    def _take(self, name: str, position: int, answer: Answer | None) -> None:
        event = self._running.pop(name, None)
        if event is None or answer is None:
            return
        self._changed = time.monotonic()
        event.answer, event.ended_at = self._nameless(answer), position
        session = self.sessions[name]
        if answer.error and not session.is_gone:
            asked = session.ask("SELECT @@in_transaction")
            event.in_transaction = bool(asked.rows and asked.rows[0][0])

    def _running_texts(self) -> str:
        return "; ".join(str(event.step) for event in self._running.values())

    def _until_gone(self, session: Session) -> None:
        """Waits until the server has ended the connection, and with it its transaction."""
        limit = time.monotonic() + GONE_S
        while time.monotonic() < limit:
            self._cursor.execute(
                f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {session.id}"
            )
            if not self._cursor.fetchone()[0]:
                return
            time.sleep(0.003)

    def _end_prepared(self, record: Record) -> None:
        """Ends the prepared XA transactions of sessions that have gone."""
        for _, length, _, name in self.rows("XA RECOVER"):
            text = name.decode() if isinstance(name, bytes) else str(name)
            schema, branch = text[: int(str(length))], text[int(str(length)) :]
            if schema != self._schema:
                continue
            statement = f"XA {self.LEFT_PREPARED} '{schema}','{branch}'"
            self._changed = time.monotonic()
            record.ended.add(branch)
            for told in self.rows(statement):
                # What has changed nothing is rolled back, and whoever prepared it may still be
                # there.
                if not any(f"({number}," in str(told[3]) for number in (NO_BRANCH, ROLLED_BACK)):
                    record.damage.append(f"{statement}: {told[3]}")

    # ---- after ----------------------------------------------------------------------------------

    def read(self, record: Record) -> None:
        """Reads the tables at the end into the record."""
        for table, indexes in record.script.indexes.items():
            ignored = f" IGNORE INDEX ({', '.join(indexes)})" if indexes else ""
            rows = self.rows(f"SELECT {', '.join(COLUMNS)} FROM {table}{ignored}")
            record.rows[table] = sorted(rows, key=repr)
            record.logs[table] = sorted(str(row[-1]) for row in rows)
            for index in indexes:
                by_index = self.rows(
                    f"SELECT log FROM {table} FORCE INDEX ({index}) WHERE {index} >= ''"
                )
                logs = sorted(str(row[0]) for row in by_index)
                if logs != record.logs[table]:
                    record.damage.append(
                        f"{table} by index {index}: {logs}, without: {record.logs[table]}"
                    )
            self.check(record, table)
        if record.script.triggers:
            rows = self.rows(f"SELECT what, log FROM {SEEN}")
            record.seen = [(str(row[0]), str(row[1])) for row in rows]
            record.rows[SEEN] = sorted(rows, key=repr)
            self.check(record, SEEN)

    def check(self, record: Record, table: str) -> None:
        """What CHECK TABLE complains about is damage."""
        for row in self.rows(f"CHECK TABLE {table} EXTENDED"):
            if row[2] != "status" or row[3] != "OK":
                record.damage.append(f"CHECK TABLE {table} EXTENDED: {row[3]}")

    def rows(self, statement: str) -> Sequence[tuple[object, ...]]:
        """The rows of a statement; its error as a row."""
        import pymysql

        try:
            self._cursor.execute(statement)
            return list(self._cursor.fetchall())
        except pymysql.MySQLError as error:
            return [(statement, "error", "error", str(error))]

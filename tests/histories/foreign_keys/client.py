"""A client: transactions on parents and children, of which it knows what must come of its rows."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.crash.writer import CONFLICTS, LOST
from tests.histories.client import ConnectionLost, open_session
from tests.histories.foreign_keys.acting_statements import ActingStatements
from tests.histories.foreign_keys.actions import unexplained
from tests.histories.foreign_keys.promise import Promise, Sent, State
from tests.histories.foreign_keys.schema import NOBODY
from tests.histories.foreign_keys.statements import Statements
from tests.histories.foreign_keys.steady import MARK, SteadyStatements
from tests.histories.foreign_keys.tables import own_rows

DUPLICATE = 1062
NO_PARENT = 1452
IS_PARENT = 1451
TIMED_OUT = 1969
IS_NULL = 1048
# An action would give a child a value that is taken.
CHILD_TAKEN = (1761, 1762)
XA_UNKNOWN = 1397
# What any statement may be told; and of what another session changes, renames or drops.
EXPECTED = (*CONFLICTS, DUPLICATE, NO_PARENT, IS_PARENT, TIMED_OUT, IS_NULL, *CHILD_TAKEN)
CHANGED = (1054, 1146, 1412)
GONE_S = 10
# How long at most a client leaves what another connection has prepared.
PREPARED_S = 0.6
PAUSE_S = 0.005


T = TypeVar("T")


class Refused(Exception):
    """A statement failed in an expected way."""


class Wrong(Exception):
    """What no server may do."""


@dataclass
class Line:
    """A statement in a client's record."""

    sent: float
    client: str
    text: str
    got: float | None = None
    outcome: str = "no answer"

    def __str__(self) -> str:
        got = f"{self.got:.6f}" if self.got is not None else "-"
        return f"{self.sent:.6f} {got} {self.client}: {self.text} -> {self.outcome}"


@dataclass(frozen=True)
class Settings:
    """What the clients of a round have in common."""

    connect: Callable[[], Any]
    level: str
    variables: tuple[str, ...]
    savepoints: bool
    pins_snapshots: bool
    definitions: bool  # Another session changes them.
    prepared_s: float  # How long at most a transaction of before a crash stays prepared.

    @property
    def expected(self) -> tuple[int, ...]:
        return (*EXPECTED, *CHANGED) if self.definitions else EXPECTED


class Session:
    """A connection that keeps a record of its statements."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.record: list[Line] = []
        self.outcomes: Counter[int] = Counter()
        self.row_count = 0
        self._settings = settings
        self._cursor: Any = None

    def open(self) -> None:
        import pymysql

        try:
            self._cursor = open_session(
                self._settings.connect, self._settings.level, self._settings.variables
            )
        except pymysql.MySQLError as error:
            if error.args and error.args[0] in LOST:
                raise ConnectionLost from error
            raise

    def execute(
        self, text: str, expected: tuple[int, ...] = (), label: str = ""
    ) -> tuple[Any, ...]:
        """The rows; Refused with the number of an expected error.

        The label stands for a long text in the record.
        """
        import pymysql

        line = Line(time.monotonic(), self.name, label or text)
        self.record.append(line)
        try:
            self.row_count = int(self._cursor.execute(text))
            rows = tuple(self._cursor.fetchall())
        except pymysql.MySQLError as error:
            number = error.args[0] if error.args else 0
            if number in LOST:
                raise ConnectionLost from error
            line.got, line.outcome = time.monotonic(), f"error {number} {error.args[-1]}"
            self.outcomes[number] += 1
            if number in expected:
                raise Refused(number) from error
            raise Wrong(f"{text}: error {number} {error.args[-1]}") from error
        line.got, line.outcome = time.monotonic(), f"{self.row_count} rows"
        self.outcomes[0] += 1
        return rows

    def ask(self, question: Callable[[Any], T]) -> T:
        """What a function finds out by the session's cursor."""
        import pymysql

        try:
            return question(self._cursor)
        except pymysql.MySQLError as error:
            if error.args and error.args[0] in LOST:
                raise ConnectionLost from error
            raise Wrong(f"{error}") from error

    def close(self, unheard: str = "") -> int:
        """Leaves without a word, after a statement whose answer it does not wait for.

        Returns the connection's number.
        """
        connection = self._cursor.connection
        number = int(connection.thread_id())
        if unheard:
            self.record.append(Line(time.monotonic(), self.name, unheard))
            try:
                connection._execute_command(3, unheard)  # COM_QUERY
            except Exception as error:  # The socket; the answer would not have come either.
                raise ConnectionLost from error
        connection._force_close()
        return number

    def wait_until_gone(self, number: int) -> None:
        """Until the server has ended a session that was left."""
        query = f"SELECT COUNT(*) FROM information_schema.processlist WHERE id = {number}"
        until = time.monotonic() + GONE_S
        while self.execute(query)[0][0]:
            if time.monotonic() > until:
                raise Wrong(f"connection {number} was left and is still there after {GONE_S} s")
            time.sleep(PAUSE_S)


class Client(threading.Thread):
    """Runs transactions until it is told to stop, or the server is gone."""

    def __init__(
        self, promise: Promise, settings: Settings, marks: Iterator[int], chance: random.Random
    ) -> None:
        super().__init__(name=f"client {promise.writer}", daemon=True)
        self.promise = promise
        self.session = Session(self.name, settings)
        self.transactions = 0
        self.committed = 0
        self.lost = False
        self.error = ""
        self.ready = threading.Event()
        self._settings = settings
        self._chance = chance
        self._marks = marks
        self._statements = Statements(promise.writer, marks, chance)
        self._acting = ActingStatements(promise.writer, marks, chance)
        self._steady = SteadyStatements(self._statements, self._acting, marks, chance)
        self._ended = threading.Event()
        self._is_xa = False

    def end(self) -> None:
        """Asks for an end after the current transaction."""
        self._ended.set()

    def run(self) -> None:
        try:
            self.session.open()
            self.ready.set()
            if self.promise.is_prepared:
                self._ended.wait(self._chance.uniform(0, self._settings.prepared_s))
                self._decide()
            while not self._ended.is_set():
                self.transactions += 1
                self._transaction()
        except ConnectionLost:
            self.lost = True
        except Wrong as wrong:
            self.error = f"{self.name}: {wrong}"
        except Exception as error:
            self.error = f"{self.name}: {type(error).__name__}: {error}"
        self.ready.set()

    # ---- transactions ---------------------------------------------------------------------------

    def _transaction(self) -> None:
        chance = self._chance
        kind = chance.choices(("statement", "transaction", "xa"), (25, 55, 20))[0]
        if kind == "statement":
            try:
                self._run(self._statement(nobody=True))
            except Refused:
                self._expect_rows()
            return
        xid = f"{self.promise.writer}-{next(self._marks)}" if kind == "xa" else ""
        self._is_xa = bool(xid)
        pinned = self._settings.pins_snapshots and chance.random() < 0.2
        begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT" if pinned else "START TRANSACTION"
        self.session.execute(f"XA START '{xid}'" if xid else begin)
        try:
            self._body()
            after = self._read(self._settings.expected)
        except Refused:
            self._roll_back(xid)
            return
        if xid:
            self._finish_xa(xid, after)
        else:
            self._finish(after)

    def _body(self) -> None:
        for _ in range(self._chance.choice((1, 2, 2, 3, 3, 4, 6))):
            self._step()
            if self._settings.savepoints and self._chance.random() < 0.2:
                self._savepoint(1)

    def _step(self) -> None:
        """Raises Refused when the transaction is over, or is to be rolled back."""
        chance = self._chance
        before = self._read(self._settings.expected) if chance.random() < 0.2 else None
        text = self._statement()
        try:
            self._run(text)
        except Refused as refused:
            if self._is_over(refused.args[0]) or chance.random() < 0.15:
                raise
            if before is not None:
                self._compare(self._read(self._settings.expected), before, "after a failed one")
            return
        if before is not None:
            after = self._read(self._settings.expected)
            if wrong := unexplained(text, before, after):
                raise Wrong(f"after {text}: {wrong}")

    def _is_over(self, number: int) -> bool:
        """Whether an error has rolled back the whole transaction, or may have."""
        if number in CHANGED or (number in CONFLICTS and self._is_xa):
            return True
        return number in CONFLICTS and not self.session.execute("SELECT @@in_transaction")[0][0]

    def _savepoint(self, depth: int) -> None:
        """Statements that are then undone, or not."""
        chance, name = self._chance, f"s{depth}"
        before = self._read(self._settings.expected)
        self.session.execute(f"SAVEPOINT {name}")
        for _ in range(chance.randint(1, 3)):
            self._step()
            if depth < 3 and chance.random() < 0.2:
                self._savepoint(depth + 1)
        if chance.random() < 0.3:
            self.session.execute(f"RELEASE SAVEPOINT {name}")
            return
        self.session.execute(f"ROLLBACK TO SAVEPOINT {name}")
        self._compare(self._read(self._settings.expected), before, "after ROLLBACK TO SAVEPOINT")

    def _finish(self, after: State) -> None:
        how = self._chance.choices(("commit", "roll back", "leave", "unheard"), (80, 12, 4, 4))[0]
        if how == "roll back":
            self._roll_back("")
        elif how == "leave":
            self._reconnect()
            self._expect_rows()
        else:
            self.promise.begin(Sent.COMMIT, after)
            if how == "unheard":
                self._reconnect("COMMIT")
                self._settle()
                return
            self.session.execute("COMMIT")
            self.promise.end(committed=True)
            self.committed += 1

    def _finish_xa(self, xid: str, after: State) -> None:
        chance, session, promise = self._chance, self.session, self.promise
        session.execute(f"XA END '{xid}'")
        how = chance.choices(("roll back", "one phase", "prepare"), (10, 15, 75))[0]
        if how == "roll back":
            session.execute(f"XA ROLLBACK '{xid}'")
            self._expect_rows()
            return
        if how == "one phase":
            promise.begin(Sent.COMMIT, after, xid)
            session.execute(f"XA COMMIT '{xid}' ONE PHASE")
            promise.end(committed=True)
            self.committed += 1
            return
        promise.begin(Sent.PREPARE, after, xid)
        session.execute(f"XA PREPARE '{xid}'")
        promise.sent = Sent.PREPARED
        # A transaction that has changed nothing need not outlive its connection.
        if after != promise.rows and chance.random() < 0.6:
            self._reconnect()
            self._ended.wait(chance.uniform(0, PREPARED_S))
        self._decide()

    def _decide(self) -> None:
        """Commits what is prepared, or not."""
        promise = self.promise
        commits = self._chance.random() < 0.6
        promise.sent = Sent.COMMIT_PREPARED if commits else Sent.ROLLBACK_PREPARED
        verb = "COMMIT" if commits else "ROLLBACK"
        until = time.monotonic() + GONE_S
        while True:
            try:
                # Not known as long as the connection that has left is not gone.
                self.session.execute(f"XA {verb} '{promise.xid}'", (XA_UNKNOWN,))
                break
            except Refused:
                if time.monotonic() > until:
                    raise Wrong(f"XA {verb} '{promise.xid}': not known") from None
                time.sleep(PAUSE_S)
        promise.end(committed=commits)
        self.committed += commits
        self._expect_rows()

    def _roll_back(self, xid: str) -> None:
        if not xid:
            self.session.execute("ROLLBACK")
        else:
            # After a deadlock there is nothing to end: XAER_RMFAIL, XA_RBROLLBACK, XA_RBDEADLOCK.
            for verb in ("END", "ROLLBACK"):
                try:
                    self.session.execute(f"XA {verb} '{xid}'", (1399, 1402, 1614))
                except Refused:
                    continue
        self._expect_rows()

    def _reconnect(self, unheard: str = "") -> None:
        number = self.session.close(unheard)
        self.session.open()
        self.session.wait_until_gone(number)

    # ---- statements -----------------------------------------------------------------------------

    def _run(self, text: str) -> None:
        if self._chance.random() < 0.03:
            text = f"SET STATEMENT max_statement_time = 0.02 FOR {text}"
        expected = self._settings.expected
        if MARK in text:
            expected = tuple(number for number in expected if number != NO_PARENT)
        self.session.execute(text, expected)

    def _statement(self, *, nobody: bool = False) -> str:
        kind = self._chance.choices(("restricting", "acting", "steady"), (45, 45, 10))[0]
        if kind == "steady":
            writer = self._chance.choice((NOBODY, NOBODY if nobody else self.promise.writer))
            return self._steady.any(writer)
        statements = self._acting if kind == "acting" else self._statements
        return statements.any(nobody=nobody)

    def _read(self, expected: tuple[int, ...]) -> State:
        """The client's rows as they are now, which nobody else changes."""
        rows = self.session.execute(own_rows(self.promise.writer), expected, "own rows")
        return tuple(sorted(rows))

    def _expect_rows(self) -> None:
        """Outside a transaction, what is acknowledged is there and nothing else."""
        try:
            found = self._read(CHANGED if self._settings.definitions else ())
        except Refused:
            return
        self._compare(found, self.promise.rows, "outside a transaction")

    def _settle(self) -> None:
        """After a COMMIT whose answer was not waited for."""
        while True:
            try:
                found = self._read(CHANGED if self._settings.definitions else ())
                break
            except Refused:
                time.sleep(PAUSE_S)
        if wrong := self.promise.settle(found, prepared=False):
            raise Wrong(wrong)

    def _compare(self, found: State, expected: State, when: str) -> None:
        if wrong := self.promise.compare(found, expected):
            raise Wrong(f"{when}: {wrong}")

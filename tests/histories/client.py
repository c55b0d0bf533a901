"""A client: runs random transactions on one connection and records what came back."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.crash.writer import LOST
from tests.histories import history
from tests.histories.history import Assign, Delete, Insert, Statement, Transaction
from tests.histories.workload import SCHEMA, Objects, Step

DUPLICATE = 1062
# When transactions meet: the row changed, the wait was too long, deadlock.
CONFLICTS = (1020, 1205, 1213)
LOCKS = ("FOR UPDATE", "LOCK IN SHARE MODE", "FOR UPDATE NOWAIT")
RECENT_MEMBERS = 30


@dataclass
class Shared:
    """What the clients of a round have in common."""

    objects: Objects
    numbers: Iterator[int]  # Of transactions.
    level: str
    settings: tuple[str, ...]
    uses_savepoints: bool
    pins_snapshots: bool
    # Error numbers that a statement may end with at any time.
    conflicts: tuple[int, ...] = CONFLICTS
    # Members that a DELETE may find.
    members: deque[Insert] = field(default_factory=lambda: deque(maxlen=RECENT_MEMBERS))


class ConnectionLost(Exception):
    """The server does not answer any more."""


class Refused(Exception):
    """A statement failed; the transaction may go on or not."""


class Client(threading.Thread):
    """Runs transactions until it is told to stop, or the server is gone."""

    def __init__(
        self, number: int, connect: Callable[[], Any], shared: Shared, chance: random.Random
    ) -> None:
        super().__init__(name=f"client {number}", daemon=True)
        self.number = number
        self.transactions: list[Transaction] = []
        self.conflicts = 0
        self.error = ""
        self.ready = threading.Event()
        self._connect = connect
        self._shared = shared
        self._objects = shared.objects
        self._chance = chance
        self._ended = False
        self._cursor: Any = None

    def end(self) -> None:
        """Asks for an end after the current transaction."""
        self._ended = True

    def run(self) -> None:
        import pymysql

        try:
            self._cursor = open_session(self._connect, self._shared.level, self._shared.settings)
            self.ready.set()
            while not self._ended:
                self._transaction()
        except ConnectionLost:
            pass
        except pymysql.MySQLError as error:
            self.error = f"{self.name}: {error}"
        self.ready.set()

    # ---- transactions ---------------------------------------------------------------------------

    def _transaction(self) -> None:
        chance = self._chance
        transaction = Transaction(next(self._shared.numbers), self.number)
        self.transactions.append(transaction)
        if chance.random() < 0.3:
            self._autocommit(transaction)
            return
        reads_only = chance.random() < 0.2
        transaction.pinned = self._shared.pins_snapshots and chance.random() < 0.15
        words = ["WITH CONSISTENT SNAPSHOT"] if transaction.pinned else []
        words += ["READ ONLY"] if reads_only and chance.random() < 0.5 else []
        transaction.outcome = history.ROLLED_BACK  # Until COMMIT is sent.
        transaction.begin_sent = time.monotonic()
        self._execute(f"START TRANSACTION {', '.join(words)}".strip())
        transaction.begin_got = time.monotonic()
        try:
            self._body(transaction, reads_only)
        except Refused:
            self._finish(transaction, "ROLLBACK")
            return
        self._finish(transaction, "ROLLBACK" if chance.random() < 0.1 else "COMMIT")

    def _autocommit(self, transaction: Transaction) -> None:
        transaction.autocommit = True
        step = self._random_step(writes=0.5, can_undo=False)
        statement = Statement(step.text, time.monotonic(), locking=step.locking)
        transaction.begin_sent = transaction.begin_got = transaction.end_sent = statement.sent
        refused = False
        try:
            self._run(transaction, step, statement)
        except Refused:
            refused = True
        transaction.end_got = statement.got
        transaction.outcome = history.ROLLED_BACK if refused else history.COMMITTED
        self._note_members(transaction)

    def _body(self, transaction: Transaction, reads_only: bool) -> None:
        chance = self._chance
        for _ in range(chance.choice((1, 2, 2, 3, 3, 4, 6))):
            if not reads_only and chance.random() < 0.3:
                self._read_then_write(transaction)
            else:
                self._step(transaction, self._random_step(writes=0 if reads_only else 0.5))
            # A savepoint before the first statement would begin the transaction anew; so would one
            # behind statements that were refused before the engine had heard of them.
            may = not reads_only and self._shared.uses_savepoints and chance.random() < 0.15
            if may and not all(statement.error for statement in transaction.statements):
                self._savepoint(transaction, depth=1)

    def _random_step(self, writes: float, *, can_undo: bool = True) -> Step:
        chance, members = self._chance, list(self._shared.members)
        if chance.random() < writes:
            return self._objects.random_write(chance, members, can_undo=can_undo)
        return self._objects.random_read(
            chance, chance.choice(LOCKS) if writes and chance.random() < 0.3 else ""
        )

    def _read_then_write(self, transaction: Transaction) -> None:
        chance, objects = self._chance, self._objects
        lock = chance.choice(("", "", *LOCKS))
        if chance.random() < 0.5:
            key = chance.choice(objects.lists)
            self._step(transaction, objects.read_list(chance, lock, key))
            self._step(transaction, objects.append(chance, key))
        else:
            key = chance.choice(list(objects.registers))
            self._step(transaction, objects.read_register(chance, lock, key))
            self._step(transaction, objects.assign(chance, key))

    def _savepoint(self, transaction: Transaction, depth: int) -> None:
        """Statements that are then undone, or not."""
        chance = self._chance
        name = f"s{depth}"
        first = len(transaction.statements)
        self._execute(f"SAVEPOINT {name}")
        for _ in range(chance.randint(1, 3)):
            self._step(transaction, self._random_step(writes=0.7))
            if depth < 3 and chance.random() < 0.2:
                self._savepoint(transaction, depth + 1)
        if chance.random() < 0.3:
            self._execute(f"RELEASE SAVEPOINT {name}")
            return
        statement = Statement(f"ROLLBACK TO SAVEPOINT {name}", time.monotonic())
        position = len(transaction.statements)
        transaction.statements.append(statement)
        self._execute(statement.text)
        statement.got = time.monotonic()
        for undone in transaction.statements[first:position]:
            if undone.undone_by is None:
                undone.undone_by = position

    def _finish(self, transaction: Transaction, statement: str) -> None:
        """Ends the transaction. What COMMIT has done is not known until its answer."""
        transaction.end_sent = time.monotonic()
        if statement == "COMMIT":
            transaction.outcome = history.UNKNOWN
        self._execute(statement)
        transaction.end_got = time.monotonic()
        if statement == "COMMIT":
            transaction.outcome = history.COMMITTED
            self._note_members(transaction)

    def _note_members(self, transaction: Transaction) -> None:
        for statement in transaction.lasting():
            for write in statement.writes:
                if isinstance(write, Insert):
                    self._shared.members.append(write)

    # ---- statements -----------------------------------------------------------------------------

    def _step(self, transaction: Transaction, step: Step) -> None:
        """Raises Refused when the transaction is over, or is to be rolled back."""
        statement = Statement(step.text, time.monotonic(), locking=step.locking)
        try:
            self._run(transaction, step, statement)
        except Refused:
            # A deadlock rolls back the whole transaction, other errors the statement.
            self._execute("SELECT @@in_transaction")
            over = self._cursor.fetchone()[0] == 0
            if over or statement.wrong or self._chance.random() < 0.3:
                raise

    def _run(self, transaction: Transaction, step: Step, statement: Statement) -> None:
        import pymysql

        position = len(transaction.statements)
        transaction.statements.append(statement)
        statement.writes = list(step.writes)
        if step.fails:
            statement.undone_by = position
        try:
            changed = self._execute(step.text)
            rows = self._cursor.fetchall()
            statement.got = time.monotonic()
        except pymysql.MySQLError as error:
            statement.got = time.monotonic()
            number = error.args[0]
            conflicts = self._shared.conflicts
            if number not in (conflicts if not step.fails else (*conflicts, DUPLICATE)):
                raise
            statement.error, statement.undone_by = number, position
            self.conflicts += number in conflicts
            raise Refused from error
        if step.parse is not None:
            statement.reads, statement.wrong = step.parse(rows)
        if step.fails:
            statement.wrong = "it must fail with a duplicate key and did not"
        if step.changes is not None and changed != step.changes:
            statement.wrong = f"it changed {changed} rows where there are {step.changes}"
            raise Refused
        if changed == 0 and any(isinstance(write, Delete | Assign) for write in step.writes):
            statement.writes = []

    def _execute(self, text: str) -> int:
        import pymysql

        try:
            return int(self._cursor.execute(text))
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError) as error:
            if error.args and error.args[0] in LOST:
                raise ConnectionLost from error
            raise


def open_session(connect: Callable[[], Any], level: str, settings: tuple[str, ...]) -> Any:
    """A cursor of a new connection at an isolation level."""
    cursor = connect().cursor()
    cursor.execute(f"USE {SCHEMA}")
    cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
    for setting in settings:
        cursor.execute(f"SET SESSION {setting}")
    return cursor


def read_everything(
    connect: Callable[[], Any], objects: Objects, level: str, number: int
) -> Transaction:
    """What is there when nobody writes."""
    transaction = Transaction(number, client=0)
    cursor = open_session(connect, level, ())
    transaction.begin_sent = time.monotonic()
    cursor.execute("START TRANSACTION")
    transaction.begin_got = time.monotonic()
    for step in objects.everything():
        statement = Statement(step.text, time.monotonic())
        transaction.statements.append(statement)
        cursor.execute(step.text)
        assert step.parse is not None
        statement.reads, statement.wrong = step.parse(cursor.fetchall())
        statement.got = time.monotonic()
    transaction.end_sent = time.monotonic()
    cursor.execute("COMMIT")
    transaction.end_got = time.monotonic()
    transaction.outcome = history.COMMITTED
    cursor.connection.close()
    return transaction

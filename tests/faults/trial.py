"""One statement of which one call fails, and what must hold after it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pymysql

from cairn.scratch_server import ScratchServer
from tests.faults.outcomes import FILE_OUTCOMES, KILLED, Outcome, engine_outcomes
from tests.faults.plan import LOCKS, FaultPlan
from tests.faults.session import Content, Rows, Session
from tests.faults.statements import ROWS_OF, TABLES, Kind

# How long a call may take to be reached, and what is begun in the background to be done.
KILL_S = 20.0


@dataclass
class Figures:
    """What a run has done."""

    statements: int = 0
    faults: int = 0
    kills: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass
class Rig:
    """The server that trials share."""

    server: ScratchServer
    plan: FaultPlan
    outcomes: tuple[Outcome, ...]
    figures: Figures
    short: bool
    # The row of the last transaction that began: it tells whether that is committed.
    marker: int = 0

    @property
    def in_files(self) -> bool:
        """Whether it is RocksDB's reads of files that fail."""
        return self.outcomes is FILE_OUTCOMES


@dataclass
class Trial:
    """A statement, the call of it that fails, and how it ended."""

    rig: Rig
    session: Session
    kind: Kind
    outcome: Outcome
    skip: int  # The call behind so many others fails.
    wanted: Content  # What the tables have without the statement.
    call: str | None = None  # What has failed; None when the statement made fewer calls.
    number: int = 0  # Of the error that the client got.
    text: str = ""

    @property
    def is_of_locks(self) -> bool:
        """Whether it is about a lock: there is none in definitions and in ends of transactions."""
        return self.outcome.only == LOCKS

    # ---- running --------------------------------------------------------------------------------

    def begin(self, statement: str = "BEGIN", session: Session | None = None) -> None:
        """Begins a transaction with a row of its own, and does what comes before the statement."""
        session = session or self.session
        if self.kind.settings:
            session.rows(f"SET {self.kind.settings}")
        session.rows(statement)
        self.rig.marker += 1
        session.rows(f"INSERT INTO marker VALUES ({self.rig.marker})")
        for before in self.kind.before:
            session.rows(before)

    def execute(self) -> Rows:
        """Runs the statement, whose call fails; returns its rows."""
        number = engine_outcomes()[self.outcome.name]
        self.rig.plan.arm(self.session.thread, number, self.skip, only=self.outcome.only)
        self.number, self.text, rows = self.session.error_of(self.kind.statement)
        self.call = self.rig.plan.disarm()
        return rows

    def execute_and_kill(self) -> None:
        """KILL QUERY while the call is under way, which then goes on."""
        plan, session = self.rig.plan, self.session
        plan.arm(session.thread, 0, self.skip, pause=True)
        told: list[tuple[int, str, Rows]] = []
        worker = threading.Thread(target=lambda: told.append(session.error_of(self.kind.statement)))
        worker.start()
        limit = time.monotonic() + KILL_S
        while worker.is_alive() and not plan.paused and time.monotonic() < limit:
            time.sleep(0.001)
        if plan.paused:
            self.rig.server.query(f"KILL QUERY {session.id}")
        plan.go_on()
        worker.join()
        self.call = plan.disarm()
        self.number, self.text, _ = told[0]
        if self.call is not None and self.number not in (0, KILLED):
            self.error_is_a_problem()

    def restore(self) -> None:
        """Makes the tables what they were."""
        if self.session.content() == self.wanted:
            return
        for table in TABLES:
            self.session.rows(f"DELETE FROM {table}")
        for statement in ROWS_OF:
            self.session.rows(statement)
        self.session.rows("DELETE FROM marker")
        self.session.rows("COMMIT")

    # ---- what must hold -------------------------------------------------------------------------

    def problem(self, what: str) -> None:
        self.rig.figures.problems.append(
            f"{self.kind.name}: {self.outcome.name} of {self.call or 'nothing'} after {self.skip} "
            f"calls: {what}"
        )

    def error_is_a_problem(self) -> None:
        self.problem(f"error {self.number} ({self.text})")

    def require_number(self, *others: int) -> None:
        """The client got an error of this outcome, or one of the others."""
        if self.number not in self.outcome.numbers | {*others}:
            self.error_is_a_problem()

    def require_success(self, statement: str) -> None:
        """Without a fault it succeeds."""
        number, text, _ = self.session.error_of(statement)
        if number:
            self.problem(f"{statement}: error {number} ({text})")

    def require_told(self) -> None:
        """The statement is undone, and what came before it is there or gone as it was said."""
        found = self.session.content()
        is_there = (self.rig.marker,) in found.pop("marker")
        if self.number != 0:
            self._require_tables(found)
        is_over = self.number != 0 and self.outcome.ends_transaction
        if is_there == is_over:
            self.problem(f"the transaction is {'there' if is_there else 'gone'}")

    def require_undone(self) -> None:
        """Others see nothing of a transaction that was to be committed."""
        other = Session(self.rig.server)
        found = other.content()
        other.close()
        if (self.rig.marker,) in found.pop("marker"):
            self.problem("the transaction is committed")
        if not self._require_tables(found):
            self.restore()

    def require_as_it_was(self) -> None:
        """A definition that failed has changed no table."""
        try:
            found = self.session.content()
        except pymysql.MySQLError as error:
            self.problem(f"then {error}")
            return
        found.pop("marker")
        self._require_tables(found)

    def _require_tables(self, found: Content) -> bool:
        for part, rows in found.items():
            if rows != self.wanted[part]:
                self.problem(f"{part} is not as it was")
                return False
        return True


# Runs a trial and checks it. A trial whose `call` is None was the last of its kind and outcome.
Case = Callable[[Trial], None]

"""./cairn acceptance faults: each call that a statement makes of the engine fails in turn.

The client must get the number of that error, the statement must be undone, the transaction must be
what the client was told of it, and the server must live. The plug-in is that of tests/faults: the
code of users, with the calls between adapter and engine led through functions that fail on demand.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pymysql

from cairn import packages, plugin, prefix, rocksdb
from cairn.acceptance.fault_plan import FaultPlan, outcomes
from cairn.acceptance.fault_statements import (
    CHANGES,
    DEFINITION_CHANGES,
    DEFINITIONS,
    DROPS,
    ENDS,
    READS,
    ROWS_OF,
    TABLES,
    Kind,
)
from cairn.paths import BUILD, VAR
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove

TARGET = "ha_rocksdb_faults"
LIBRARY = BUILD / "release" / "faults" / plugin.LIBRARY
DATABASE = "faults"
# So many calls of a statement fail one by one; of those behind them some do, and the last.
EACH = 12
EACH_IN_SHORT = 3
KILL_S = 20.0
TIMEOUT_S = 60


@dataclass(frozen=True)
class Outcome:
    """What a call may meet, and the numbers of the errors that a client may get for it."""

    name: str
    numbers: frozenset[int]
    locks: bool = False  # Calls that may wait for a lock alone.
    ends_transaction: bool = False


# What a drop that is made again may find: it is done now, or was done before.
GONE = (0, 1008, 1051)
_ENGINE_ERROR = 1296  # "Got error N '...' from ROCKSDB"
OUTCOMES = (
    Outcome("LockTimeout", frozenset({1205}), locks=True),
    Outcome("Deadlock", frozenset({1213}), locks=True, ends_transaction=True),
    Outcome("SnapshotConflict", frozenset({1213}), locks=True),
    Outcome("LockLimit", frozenset({_ENGINE_ERROR}), locks=True),
    Outcome("IoError", frozenset({_ENGINE_ERROR})),
    Outcome("Corruption", frozenset({_ENGINE_ERROR})),
    Outcome("NoSpace", frozenset({1021})),
    Outcome("Aborted", frozenset({_ENGINE_ERROR})),
    Outcome("Internal", frozenset({1815})),
)
IN_SHORT = ("LockTimeout", "Deadlock", "IoError", "Corruption")


@dataclass
class Figures:
    """What a run has done."""

    statements: int = 0
    faults: int = 0
    kills: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Session:
    """One connection, and the kernel's number of its thread."""

    def __init__(self, server: ScratchServer) -> None:
        self._server = server
        self.connection = server.connect(database=DATABASE, read_timeout=TIMEOUT_S)
        self.id = int(self.rows("SELECT CONNECTION_ID()")[0][0])
        self.thread = int(
            self.rows(f"SELECT tid FROM information_schema.processlist WHERE id = {self.id}")[0][0]
        )

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def error_of(self, statement: str) -> tuple[int, str, list[tuple[Any, ...]]]:
        """The number and text of the statement's error, 0 without one, and its rows."""
        try:
            return 0, "", self.rows(statement)
        except pymysql.MySQLError as error:
            number = int(error.args[0]) if error.args else -1
            return number, str(error.args[1] if len(error.args) > 1 else error), []

    def content(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of the tables, by the primary keys, and what their indexes have."""
        found = {}
        for table in TABLES:
            found[table] = sorted(self.rows(f"SELECT * FROM {table}"), key=repr)
            found[f"{table} by k"] = (
                sorted(self.rows(f"SELECT k FROM {table} FORCE INDEX (k) WHERE k >= 0"), key=repr)
                if table in ("t", "h", "p", "g")
                else []
            )
        found["marker"] = self.rows("SELECT * FROM marker")
        return found

    def close(self) -> None:
        self.connection.close()


def run(short: bool) -> int:
    """Fails each call of each statement; the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.BUILD, packages.COMPRESSION, packages.SERVER), phase)
    figures = check(reporter, short)
    say("")
    for call, count in sorted(figures.calls.items()):
        say(f"  {call:<32}{count:>7} times")
    say(f"\n{figures.statements - len(figures.problems)} passed, {len(figures.problems)} failed")
    return 1 if figures.problems else 0


def check(reporter: Reporter, short: bool) -> Figures:
    """Builds the plug-in that fails on demand, and lets it fail."""
    mariadb = prefix.require()
    with reporter.phase("Build (faults)") as phase:
        plugin.build(phase, "release", mariadb, rocksdb.ensure(phase, ""), TARGET)
    directory = VAR / "acceptance" / "faults"
    figures = Figures()
    with own_directory(directory):
        plan_file = directory / "plan"
        server = ScratchServer(mariadb, directory / "server", _options())
        server.library = LIBRARY
        server.environment["CAIRN_FAULTS"] = str(plan_file)
        with FaultPlan(plan_file) as plan, server:
            server.start()
            _fill(server)
            run_of_faults = _Run(server, plan, figures, short)
            for title, work in (
                ("Reads", run_of_faults.reads),
                ("Changes", run_of_faults.changes),
                ("Ends", run_of_faults.ends),
                ("Definitions", run_of_faults.definitions),
                ("Kills", run_of_faults.kills),
            ):
                with reporter.phase(f"Faults: {title.lower()}") as phase:
                    before = figures.faults, figures.kills, len(figures.problems)
                    work(phase)
                    phase.summary = (
                        f"{figures.faults - before[0]} faults, {figures.kills - before[1]} kills"
                    )
                    for problem in figures.problems[before[2] :][:10]:
                        phase.note(problem)
            server.stop()
    if not figures.problems:
        remove(directory)
    return figures


def _options() -> tuple[str, ...]:
    return (
        "--default-storage-engine=ROCKSDB",
        "--rocksdb-lock-wait-timeout=5",
        "--innodb-buffer-pool-size=16M",
    )


def _fill(server: ScratchServer) -> None:
    server.query(f"CREATE DATABASE {DATABASE}")
    for statement in (
        *(f"{definition} " for definition in DEFINITIONS),
        *ROWS_OF,
        "CREATE TABLE marker (n INT PRIMARY KEY)",
        "ALTER TABLE s ADD INDEX n (v)",
    ):
        server.query(statement, database=DATABASE)


@dataclass
class _Run:
    server: ScratchServer
    plan: FaultPlan
    figures: Figures
    short: bool
    _marker: int = 0

    # ---- the parts ------------------------------------------------------------------------------

    def reads(self, phase: Phase) -> None:
        for kind in READS:
            phase.progress(kind.name)
            self._kind(kind, self._in_transaction)

    def changes(self, phase: Phase) -> None:
        for kind in CHANGES:
            phase.progress(kind.name)
            self._kind(kind, self._in_transaction)

    def ends(self, phase: Phase) -> None:
        for kind in ENDS:
            phase.progress(kind.name)
            self._kind(kind, self._end)

    def definitions(self, phase: Phase) -> None:
        for kind, back in DEFINITION_CHANGES:
            phase.progress(kind.name)
            self._kind(kind, lambda *arguments, back=back: self._definition(*arguments, back))
        for kind, back in DROPS:
            phase.progress(kind.name)
            self._kind(kind, lambda *arguments, back=back: self._drop(*arguments, back))

    def kills(self, phase: Phase) -> None:
        for kind in (*READS, *CHANGES):
            phase.progress(kind.name)
            self.figures.statements += 1
            session = Session(self.server)
            try:
                wanted = session.content()
                for skip in range(2 if self.short else 6):
                    if not self._kill(session, kind, skip, wanted):
                        break
            finally:
                session.close()

    # ---- one kind -------------------------------------------------------------------------------

    def _kind(
        self,
        kind: Kind,
        case: Callable[[Session, Kind, Outcome, int, dict[str, list[tuple[Any, ...]]]], str | None],
    ) -> None:
        """Fails call after call of one statement, with each outcome."""
        session = Session(self.server)
        wanted = session.content()
        met = self.figures.faults
        try:
            for outcome in OUTCOMES:
                if self.short and outcome.name not in IN_SHORT:
                    continue
                self.figures.statements += 1
                for skip in self._skips():
                    call = case(session, kind, outcome, skip, wanted)
                    if call is None:
                        break
                    self.figures.faults += 1
                    self.figures.calls[call] += 1
                    if not self.server.answers():
                        self._problem(kind, outcome, skip, call, "the server is gone")
                        self.server.kill()
                        self.server.start()
                        session = Session(self.server)
        finally:
            session.close()
        if self.figures.faults == met:
            self.figures.problems.append(f"{kind.name}: no call of the engine has failed")
        checker = Session(self.server)
        for row in checker.rows(f"CHECK TABLE {', '.join(TABLES)} EXTENDED"):
            if row[2] == "error" or (row[2] == "status" and row[3] != "OK"):
                self.figures.problems.append(f"{kind.name}: CHECK TABLE {row[0]}: {row[3]}")
        checker.close()

    def _skips(self) -> Iterator[int]:
        skip = 0
        each = EACH_IN_SHORT if self.short else EACH
        while True:
            yield skip
            skip = skip + 1 if skip < each else skip * 2

    def _prepare(self, session: Session, kind: Kind) -> None:
        if kind.settings:
            session.rows(f"SET {kind.settings}")
        session.rows("BEGIN")
        self._marker += 1
        session.rows(f"INSERT INTO marker VALUES ({self._marker})")
        for statement in kind.before:
            session.rows(statement)

    def _in_transaction(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> str | None:
        self._prepare(session, kind)
        right = sorted(session.rows(kind.statement), key=repr) if kind in READS else []
        self._arm(session, outcome, skip)
        number, text, rows = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is not None:
            if number == 0 and kind in READS and not kind.statement.startswith("HANDLER"):
                if sorted(rows, key=repr) != right:
                    self._problem(kind, outcome, skip, call, "no error, and other rows")
            elif number == 0:
                if kind not in READS:
                    self._problem(kind, outcome, skip, call, "no error")
            elif number not in outcome.numbers:
                self._problem(kind, outcome, skip, call, f"error {number} ({text})")
            self._require_told(session, kind, outcome, skip, call, number, wanted)
        if kind.statement.startswith("HANDLER"):
            session.rows("HANDLER t CLOSE")
        session.rows("ROLLBACK")
        return call

    def _require_told(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        call: str,
        number: int,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> None:
        """The statement is undone, and what came before it is there or gone as it was said."""
        found = session.content()
        is_there = (self._marker,) in found.pop("marker")
        if number != 0:
            for part, rows in found.items():
                if rows != wanted[part]:
                    self._problem(kind, outcome, skip, call, f"{part} is not as it was")
                    break
        is_over = number != 0 and outcome.ends_transaction
        if is_there == is_over:
            self._problem(
                kind, outcome, skip, call, f"the transaction is {'there' if is_there else 'gone'}"
            )

    def _end(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> str | None:
        """A transaction that cannot be committed is an error, and all of it is undone."""
        if outcome.locks:
            return None
        self._prepare(session, kind)
        self._arm(session, outcome, skip)
        number, text, _ = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is None:
            session.rows("ROLLBACK")
            self._restore(session, wanted)
            return None
        if number == 0:
            self._problem(kind, outcome, skip, call, "no error")
        elif number not in outcome.numbers | {1180, 1030}:
            self._problem(kind, outcome, skip, call, f"error {number} ({text})")
        other = Session(self.server)
        found = other.content()
        other.close()
        if (self._marker,) in found.pop("marker"):
            self._problem(kind, outcome, skip, call, "the transaction is committed")
        for part, rows in found.items():
            if rows != wanted[part]:
                self._problem(kind, outcome, skip, call, f"{part} is not as it was")
                self._restore(session, wanted)
                break
        return call

    def _restore(self, session: Session, wanted: dict[str, list[tuple[Any, ...]]]) -> None:
        if session.content() == wanted:
            return
        for table in TABLES:
            session.rows(f"DELETE FROM {table}")
        for statement in ROWS_OF:
            session.rows(statement)
        session.rows("DELETE FROM marker")
        session.rows("COMMIT")

    def _definition(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
        back: tuple[str, ...],
    ) -> str | None:
        """A definition that fails is as it was, and can be made the next time."""
        if outcome.locks:
            return None
        self._arm(session, outcome, skip)
        number, text, _ = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is None:
            if number != 0:
                self._problem(kind, outcome, skip, "nothing", f"error {number} ({text})")
            else:
                self._take_back(session, kind, outcome, skip, back)
            return None
        if number == 0:
            # Its work was done otherwise, or need not be done now.
            self._take_back(session, kind, outcome, skip, back)
        elif number not in outcome.numbers and number != 1030:
            # The server words some by itself, and has the engine's words behind.
            warnings = {int(row[1]) for row in session.rows("SHOW WARNINGS")}
            if number != 1005 or not warnings & outcome.numbers:
                self._problem(kind, outcome, skip, call, f"error {number} ({text})")
        self._require_as_it_was(session, kind, outcome, skip, call, wanted)
        return call

    def _drop(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
        back: tuple[str, ...],
    ) -> str | None:
        """A drop that fails can be made again, and leaves nothing in the way of the name."""
        if outcome.locks:
            return None
        self._arm(session, outcome, skip)
        number, text, _ = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is None and number != 0:
            self._problem(kind, outcome, skip, "nothing", f"error {number} ({text})")
        elif number not in outcome.numbers | {0, 1030}:
            self._problem(kind, outcome, skip, str(call), f"error {number} ({text})")
        if number != 0:
            number, text, _ = session.error_of(kind.statement)
            if number not in GONE:
                self._problem(kind, outcome, skip, str(call), f"again: error {number} ({text})")
        self._take_back(session, kind, outcome, skip, back)
        self._require_as_it_was(session, kind, outcome, skip, str(call), wanted)
        return call

    def _require_as_it_was(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        call: str,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> None:
        try:
            found = session.content()
        except pymysql.MySQLError as error:
            self._problem(kind, outcome, skip, call, f"then {error}")
            return
        found.pop("marker")
        for part, rows in found.items():
            if rows != wanted[part]:
                self._problem(kind, outcome, skip, call, f"{part} is not as it was")
                break

    def _take_back(
        self, session: Session, kind: Kind, outcome: Outcome, skip: int, back: tuple[str, ...]
    ) -> None:
        for statement in back:
            number, text, _ = session.error_of(statement)
            if number:
                self._problem(kind, outcome, skip, statement, f"error {number} ({text})")

    def _kill(
        self,
        session: Session,
        kind: Kind,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> bool:
        """KILL QUERY while a call is under way: the statement ends with 1317, or as ever."""
        self._prepare(session, kind)
        self.plan.arm(session.thread, 0, skip, pause=True)
        told: list[tuple[int, str, list[tuple[Any, ...]]]] = []
        worker = threading.Thread(target=lambda: told.append(session.error_of(kind.statement)))
        worker.start()
        end = time.monotonic() + KILL_S
        while worker.is_alive() and not self.plan.paused and time.monotonic() < end:
            time.sleep(0.001)
        if self.plan.paused:
            self.server.query(f"KILL QUERY {session.id}")
        self.plan.go_on()
        worker.join()
        call = self.plan.disarm()
        killed = Outcome("a kill", frozenset({1317}))
        if call is not None:
            self.figures.kills += 1
            number, text, _ = told[0]
            if number not in (0, 1317):
                self._problem(kind, killed, skip, call, f"error {number} ({text})")
            if number == 1317:
                self._require_told(session, kind, killed, skip, call, number, wanted)
        if kind.statement.startswith("HANDLER"):
            session.error_of("HANDLER t CLOSE")
        session.rows("ROLLBACK")
        return call is not None

    def _arm(self, session: Session, outcome: Outcome, skip: int) -> None:
        self.plan.arm(session.thread, outcomes()[outcome.name], skip, locks=outcome.locks)

    def _problem(self, kind: Kind, outcome: Outcome, skip: int, call: str, what: str) -> None:
        self.figures.problems.append(
            f"{kind.name}: {outcome.name} of {call} after {skip} calls: {what}"
        )

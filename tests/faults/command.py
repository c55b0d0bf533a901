"""./cairn acceptance faults: each call that a statement makes of the engine fails in turn.

The client must get the number of that error, the statement must be undone, the transaction must be
what the client was told of it, and the server must live. The plug-in is that of tests/faults: the
code of users, with the calls between adapter and engine, and RocksDB's reads of files, led through
functions that fail on demand.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql

from cairn import packages, plugin, prefix, rocksdb
from cairn.paths import BUILD, VAR
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove
from tests.faults import binary_log
from tests.faults.plan import CALLS, FILE_READS, LOCKS, FaultPlan, outcomes
from tests.faults.statements import (
    CHANGES,
    DEFINITION_CHANGES,
    DEFINITIONS,
    DROPS,
    ENDS,
    FILES,
    READS,
    ROWS_OF,
    TABLES,
    XA_BY_NAME,
    XA_ENDS,
    XA_STATEMENTS,
    Kind,
)

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
    only: int = CALLS  # Which calls meet it.
    ends_transaction: bool = False


# What a drop that is made again may find: it is done now, or was done before.
GONE = (0, 1008, 1051)
_ENGINE_ERROR = 1296  # "Got error N '...' from ROCKSDB"
OUTCOMES = (
    Outcome("LockTimeout", frozenset({1205}), only=LOCKS),
    Outcome("Deadlock", frozenset({1213}), only=LOCKS, ends_transaction=True),
    Outcome("SnapshotConflict", frozenset({1213}), only=LOCKS),
    Outcome("LockLimit", frozenset({_ENGINE_ERROR}), only=LOCKS),
    Outcome("IoError", frozenset({_ENGINE_ERROR})),
    Outcome("Corruption", frozenset({_ENGINE_ERROR})),
    Outcome("NoSpace", frozenset({1021})),
    Outcome("Aborted", frozenset({_ENGINE_ERROR})),
    Outcome("Internal", frozenset({1815})),
)
# What the engine meets below, in reads of files, iterators among them.
FILE_OUTCOMES = (
    Outcome("IoError", frozenset({_ENGINE_ERROR}), only=FILE_READS),
    Outcome("Corruption", frozenset({_ENGINE_ERROR}), only=FILE_READS),
)
_XA_ROLLED_BACK = 1402
_XA_FAILED = 1401
_COMMIT_FAILED = 1180
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
    passed = max(0, figures.statements - len(figures.problems))
    say(f"\n{passed} passed, {len(figures.problems)} failed")
    return 1 if figures.problems else 0


def check(reporter: Reporter, short: bool) -> Figures:
    """Builds the plug-in that fails on demand, and lets it fail."""
    mariadb = prefix.require()
    with reporter.phase("Build (faults)") as phase:
        plugin.build(phase, "release", mariadb, rocksdb.ensure(phase, ""), TARGET)
    directory = VAR / "acceptance" / "faults"
    figures = Figures()
    with own_directory(directory):
        _with_server(
            reporter,
            directory / "calls",
            mariadb,
            _Run(OUTCOMES, figures, short),
            ("Reads", "Changes", "Ends", "XA", "Definitions", "Kills"),
        )
        _with_server(
            reporter,
            directory / "files",
            mariadb,
            _Run(FILE_OUTCOMES, figures, short),
            ("Reads", "Changes"),
            "--rocksdb-no-block-cache=ON",
            "--rocksdb-cache-index-and-filter-blocks=OFF",
            "--rocksdb-pin-l0-filter-and-index-blocks-in-cache=OFF",
        )
        with reporter.phase("Faults: binary log") as phase:
            figures.statements += len(binary_log.DECISIONS)
            options = (*_options(), *binary_log.OPTIONS)
            with ScratchServer(mariadb, directory / "binary-log", options) as server:
                server.library = LIBRARY
                server.wrapper = binary_log.WRAPPER
                server.start()
                found = binary_log.problems(server)
                server.stop()
            for problem in found:
                phase.note(problem)
            figures.problems += found
    if not figures.problems:
        remove(directory)
    return figures


def _with_server(
    reporter: Reporter,
    directory: Path,
    mariadb: prefix.Server,
    run_of_faults: _Run,
    titles: tuple[str, ...],
    *options: str,
) -> None:
    """Lets parts of a run go over a server of their own, and shows what they met."""
    figures = run_of_faults.figures
    server = ScratchServer(mariadb, directory, (*_options(), *options))
    server.library = LIBRARY
    server.environment["CAIRN_FAULTS"] = str(directory / "plan")
    with FaultPlan(directory / "plan") as plan, server:
        server.start()
        _fill(server)
        run_of_faults.server, run_of_faults.plan = server, plan
        for title in titles:
            with reporter.phase(f"Faults: {title.lower()}") as phase:
                before = figures.faults, figures.kills, len(figures.problems)
                getattr(run_of_faults, title.lower())(phase)
                faults, kills = figures.faults - before[0], figures.kills - before[1]
                if not faults and not kills:
                    figures.problems.append(f"{title.lower()}: no call has failed")
                below = " in files" if run_of_faults.in_files else ""
                phase.summary = f"{faults} faults{below}, {kills} kills"
                for problem in figures.problems[before[2] :][:10]:
                    phase.note(problem)
        server.stop()


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
        *FILES,
        "SET GLOBAL rocksdb_force_flush_memtable_now = 1",
    ):
        server.query(statement, database=DATABASE)


def _comparable(content: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the tables, but for numbers that are given out once."""
    rows = {table: found for table, found in content.items() if table != "marker"}
    return rows | {"a": [row[1:] for row in rows["a"]]}


@dataclass
class _Run:
    outcomes: tuple[Outcome, ...]
    figures: Figures
    short: bool
    server: ScratchServer = field(init=False)
    plan: FaultPlan = field(init=False)
    _marker: int = 0

    @property
    def in_files(self) -> bool:
        """Whether it is RocksDB's reads of files that fail."""
        return self.outcomes is FILE_OUTCOMES

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

    def xa(self, phase: Phase) -> None:
        for kinds, case in (
            (XA_STATEMENTS, self._in_branch),
            (XA_ENDS, self._end_of_branch),
            (XA_BY_NAME, self._end_by_name),
        ):
            for kind in kinds:
                phase.progress(kind.name)
                self._kind(kind, case)

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
            for outcome in self.outcomes:
                if self.short and outcome.name not in IN_SHORT:
                    continue
                for skip in self._skips():
                    call = case(session, kind, outcome, skip, wanted)
                    if call is None:
                        break
                    self.figures.statements += skip == 0
                    self.figures.faults += 1
                    self.figures.calls[call] += 1
                    if not self.server.answers():
                        self._problem(kind, outcome, skip, call, "the server is gone")
                        self.server.kill()
                        self.server.start()
                        session = Session(self.server)
        finally:
            session.close()
        if self.figures.faults == met and not self.in_files:
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
        if self.in_files and kind not in READS:
            # What the statement makes of the tables, without a fault.
            self._prepare(session, kind)
            session.rows(kind.statement)
            changed = _comparable(session.content())
            session.rows("ROLLBACK")
        self._prepare(session, kind)
        right = sorted(session.rows(kind.statement), key=repr) if kind in READS else []
        self._arm(session, outcome, skip)
        number, text, rows = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is None and number:
            self._problem(kind, outcome, skip, "nothing", f"error {number} ({text})")
        if call is not None:
            if number == 0 and kind in READS and not kind.statement.startswith("HANDLER"):
                if sorted(rows, key=repr) != right:
                    self._problem(kind, outcome, skip, call, "no error, and other rows")
            elif number == 0:
                if self.in_files and kind not in READS:
                    # It has read again, or not for its own sake.
                    if _comparable(session.content()) != changed:
                        self._problem(kind, outcome, skip, call, "no error, and other rows")
                elif kind not in READS:
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
        if outcome.only == LOCKS:
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
        elif number not in outcome.numbers | {_COMMIT_FAILED, 1030}:
            self._problem(kind, outcome, skip, call, f"error {number} ({text})")
        self._require_undone(session, kind, outcome, skip, call, wanted)
        return call

    def _require_undone(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        call: str,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> None:
        """Others see nothing of a transaction that was to be committed."""
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

    # ---- XA -------------------------------------------------------------------------------------

    def _prepare_branch(self, session: Session, kind: Kind) -> None:
        session.rows("XA START 'f'")
        self._marker += 1
        session.rows(f"INSERT INTO marker VALUES ({self._marker})")
        for statement in kind.before:
            session.rows(statement)

    def _in_branch(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> str | None:
        """A statement that fails leaves the branch as it was, or ends it."""
        self._prepare_branch(session, kind)
        self._arm(session, outcome, skip)
        number, text, _ = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is None and number:
            self._problem(kind, outcome, skip, "nothing", f"error {number} ({text})")
        if call is not None:
            if number not in outcome.numbers:
                self._problem(kind, outcome, skip, call, f"error {number} ({text})")
            if not outcome.ends_transaction:
                self._require_told(session, kind, outcome, skip, call, number, wanted)
        session.error_of("XA END 'f'")
        self._require_none(session, kind, outcome, skip, str(call), "XA ROLLBACK 'f'")
        self._require_undone(session, kind, outcome, skip, str(call), wanted)
        return call

    def _end_of_branch(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> str | None:
        """A branch that cannot be prepared or committed is undone, and nobody finds it."""
        if outcome.only == LOCKS:
            return None
        self._prepare_branch(session, kind)
        self._arm(session, outcome, skip)
        number, text, _ = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is None:
            if number:
                self._problem(kind, outcome, skip, "nothing", f"error {number} ({text})")
            if session.rows("XA RECOVER"):
                session.rows("XA ROLLBACK 'f'")
            elif (self._marker,) not in session.rows("SELECT * FROM marker"):
                self._problem(kind, outcome, skip, "nothing", "the branch is not committed")
            self._restore(session, wanted)
            return None
        if number == 0:
            self._problem(kind, outcome, skip, call, "no error")
            session.error_of("XA ROLLBACK 'f'")
        elif number not in outcome.numbers | {_XA_ROLLED_BACK, _COMMIT_FAILED, 1030}:
            self._problem(kind, outcome, skip, call, f"error {number} ({text})")
        if session.rows("XA RECOVER"):
            self._problem(kind, outcome, skip, call, "the branch is prepared")
        self._require_undone(session, kind, outcome, skip, call, wanted)
        return call

    def _end_by_name(
        self,
        session: Session,
        kind: Kind,
        outcome: Outcome,
        skip: int,
        wanted: dict[str, list[tuple[Any, ...]]],
    ) -> str | None:
        """A prepared branch that cannot be ended is there, and can be ended the next time."""
        if outcome.only == LOCKS:
            return None
        owner = Session(self.server)
        self._prepare_branch(owner, kind)
        owner.close()
        left = f"SELECT 1 FROM information_schema.processlist WHERE id = {owner.id}"
        while session.rows(left):
            time.sleep(0.001)
        self._arm(session, outcome, skip)
        number, text, _ = session.error_of(kind.statement)
        call = self.plan.disarm()
        if call is not None:
            warnings = {int(row[1]) for row in session.rows("SHOW WARNINGS")}
            if number != _XA_FAILED or _ENGINE_ERROR not in warnings:
                self._problem(kind, outcome, skip, call, f"error {number} ({text}), {warnings}")
            if [row[3] for row in session.rows("XA RECOVER")] != [b"f"]:
                self._problem(kind, outcome, skip, call, "the branch is gone")
            self._require_none(session, kind, outcome, skip, call, kind.statement)
        elif number:
            self._problem(kind, outcome, skip, "nothing", f"error {number} ({text})")
        found = session.content()
        is_there = (self._marker,) in found.pop("marker")
        commits = kind.statement.startswith("XA COMMIT")
        if is_there != commits or (found["t"] != wanted["t"]) != commits:
            self._problem(kind, outcome, skip, str(call), "the decision is not what was asked")
        for part, rows in found.items():
            if part not in ("t", "t by k") and rows != wanted[part]:
                self._problem(kind, outcome, skip, str(call), f"{part} is not as it was")
        self._restore(session, wanted)
        return call

    def _require_none(
        self, session: Session, kind: Kind, outcome: Outcome, skip: int, call: str, statement: str
    ) -> None:
        """A statement without a fault succeeds."""
        number, text, _ = session.error_of(statement)
        if number:
            self._problem(kind, outcome, skip, call, f"{statement}: error {number} ({text})")

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
        if outcome.only == LOCKS:
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
        if outcome.only == LOCKS:
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
        self.plan.arm(session.thread, outcomes()[outcome.name], skip, only=outcome.only)

    def _problem(self, kind: Kind, outcome: Outcome, skip: int, call: str, what: str) -> None:
        self.figures.problems.append(
            f"{kind.name}: {outcome.name} of {call} after {skip} calls: {what}"
        )

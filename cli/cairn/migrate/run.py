"""The command that converts: one set after the other, or several at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from cairn.errors import CairnError
from cairn.migrate import plan as planning
from cairn.migrate import plan_text, server
from cairn.migrate.convert import Job, SetConversion
from cairn.migrate.link import Session, is_lost
from cairn.migrate.pace import Pace
from cairn.migrate.plan import Plan
from cairn.migrate.progress import Progress
from cairn.migrate.schema import Selection
from cairn.migrate.sessions import Sessions, only_command
from cairn.migrate.state import Entry, State
from cairn.migrate.state import Phase as Stage
from cairn.migrate.ways import Way
from cairn.place import Place
from cairn.report import Phase, Reporter, say


@dataclass(frozen=True)
class Options:
    """What `run` was told; the state keeps it for --resume."""

    target: str = "rocksdb"
    verify: str = "checksum"
    no_binlog: bool = False
    tables_at_a_time: int = 1
    rows_per_second: int | None = None


def begin(place: Place, selection: Selection, options: Options) -> int:
    """Plans and converts; the exit status: 1 when something that was selected is not converted."""
    with only_command(place) as main:
        state = State(main)
        if state.exists():
            raise CairnError(
                "A migration is under way (cairn migrate status). Go on with run --resume, or give "
                "it up with abandon."
            )
        conditions = server.circumstances(
            main, options.target, options.verify, no_binlog=options.no_binlog
        )
        with Reporter().phase("Plan") as phase:
            planner = Session(place)
            try:
                plan = planning.make(planner, selection, conditions, phase.progress)
            finally:
                planner.close()
            phase.summary = f"{sum(len(one.tables) for one in plan.convertible)} tables to convert"
        for one in plan.sets:
            if one.decision.way is Way.NONE:
                say(f"  Not converted: {'; '.join(one.decision.reasons)}")
        blocked = len(plan.sets) - len(plan.convertible)
        if not plan.convertible:
            say("There is nothing to convert.")
            return 1 if blocked else 0
        planning.check_rights(main, plan)
        main.allowed("SET SESSION sql_log_bin = 0")
        state.create(asdict(options), _entries(plan))
        return _convert(place, main, options) or (1 if blocked else 0)


def resume(place: Place, changed: dict[str, Any]) -> int:
    """Goes on with the migration in the state; `changed` are options that replace former ones."""
    with only_command(place) as main:
        state = State(main)
        if not state.exists():
            raise CairnError("There is no migration to resume: begin one with run.")
        options = Options(**(state.options() | changed))
        server.require_engine(main, options.target)
        main.allowed("SET SESSION sql_log_bin = 0")
        state.set_paused(False)
        return _convert(place, main, options)


def _entries(plan: Plan) -> list[Entry]:
    entries = []
    for set_number, one in enumerate(plan.convertible, 1):
        for each in one.tables:
            entries.append(
                Entry(
                    len(entries) + 1,
                    set_number,
                    each.table.id,
                    one.decision.way,
                    rows_expected=each.table.rows,
                    bytes_expected=each.bytes_expected,
                )
            )
    return entries


def _convert(place: Place, main: Session, options: Options) -> int:
    """Converts what is not done; removes the state when all is."""
    state = State(main)
    entries = state.entries()
    runner = _Runner(place, main, options, entries)
    with Reporter().phase("Migration") as phase:
        failures = runner.run(phase)
        done = sum(entry.phase is Stage.DONE for entry in entries)
        phase.summary = f"{done} of {len(entries)} tables are {options.target.upper()}"
    for failure in failures:
        say(f"  Failed: {failure}")
    if failures:
        say(
            "The tables above are as they were, or as said there. When the cause is gone: --resume."
        )
        return 1
    state.remove()
    say(f"All done: {len(entries)} tables are {options.target.upper()}, nothing of ours is left.")
    return 0


class _Runner:
    """Threads that take sets from a list, and the loop that shows how far they are."""

    def __init__(self, place: Place, main: Session, options: Options, entries: list[Entry]) -> None:
        self.options = options
        self.progress = Progress(entries)
        self._stop = threading.Event()
        self.sessions = Sessions(
            place, binary_log=not options.no_binlog, stopping=self._stop.is_set
        )
        self.job = Job(
            self.sessions,
            options.target,
            options.verify,
            Pace(options.rows_per_second),
            self.progress,
            server.keeps_commits(main),
            server.started(main),
        )
        self.sets: dict[int, list[Entry]] = {}
        for entry in entries:
            if entry.phase is not Stage.DONE:
                self.sets.setdefault(entry.set_number, []).append(entry)

    def run(self, phase: Phase) -> list[str]:
        """Until all sets are done or have failed; the sentences of those that failed."""
        failures: list[str] = []
        with ThreadPoolExecutor(self.options.tables_at_a_time) as pool:
            waiting = {pool.submit(self._one, entries) for entries in self.sets.values()}
            try:
                while waiting:
                    done, waiting = wait(waiting, timeout=0.2)
                    self._show(phase)
                    for future in done:
                        self._take(future, failures)
            except BaseException:
                # Interrupted, or the server is gone: what has not begun does not.
                self._stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        self._show(phase)
        return failures

    def _show(self, phase: Phase) -> None:
        for note in self.progress.take_notes():
            phase.note(note)
        phase.progress(self.progress.text())

    @staticmethod
    def _take(future: Future[None], failures: list[str]) -> None:
        import pymysql

        try:
            future.result()
        except CairnError as error:
            failures.append(str(error))
        except pymysql.MySQLError as error:
            if not is_lost(error):
                raise
            raise CairnError(
                "The connection to the server is lost. What has been done is written down there: "
                "once it runs again, go on with run --resume."
            ) from error

    def _one(self, entries: list[Entry]) -> None:
        with ExitStack() as stack:
            session = stack.enter_context(self.sessions.open())
            quiet = stack.enter_context(self.sessions.quiet())
            state = State(quiet)
            while state.paused():
                self.progress.does(entries[0], "waits: paused")
                session.rest(0.2)
            session.rest(0)
            try:
                SetConversion(self.job, entries, session, state).run()
            finally:
                self.progress.does(entries[0], "")


def show_plan(
    place: Place, selection: Selection, options: Options, show: Callable[[str], None] = say
) -> Plan:
    """The dry run: looks, and changes nothing."""
    session = Session(place)
    try:
        conditions = server.circumstances(
            session, options.target, options.verify, no_binlog=options.no_binlog
        )
        plan = planning.make(session, selection, conditions)
    finally:
        session.close()
    for line in plan_text.lines(plan):
        show(line)
    return plan

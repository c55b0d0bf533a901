"""./cairn crash ddl: each statement is cut off before each change of a file that it makes."""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn import packages, plugin, rocksdb
from cairn.errors import CairnError
from cairn.paths import VAR
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, own_directory
from tests import runs
from tests.crash import ddl_keys, ddl_random, ddl_state, restores
from tests.crash.ddl_case import SCHEMAS, Case
from tests.crash.ddl_cases import CASES
from tests.crash.ddl_state import Dictionary
from tests.crash.steps import Steps

OPTIONS = ("--rocksdb-block-cache-size=32M", "--default-storage-engine=ROCKSDB")
WITHOUT_INNODB = ("--innodb=OFF", "--default-tmp-storage-engine=Aria")
# A case that fails so often is known to fail.
SHOWN_FAILURES = 12

ALL_CASES = (*CASES, restores.CASE)

# What ddl_state.snapshot returns.
State = dict[str, str]


class Rig:
    """A server that dies on demand, for the cases with or without InnoDB."""

    def __init__(self, mariadb: Server, directory: Path, *, innodb: bool, binlog: bool) -> None:
        options = OPTIONS if innodb else (*OPTIONS, *WITHOUT_INNODB)
        if binlog:
            options += ("--log-bin=binlog", "--server-id=1")
        self.server = ScratchServer(mariadb, directory, options)
        self.steps = Steps(directory, self.server.data)
        self.server.environment = self.steps.environment
        self.server.start()

    def reset(self, case: Case) -> list[str]:
        """Makes the databases anew; returns what dropping the old ones left behind."""
        with self.server.connect() as connection, connection.cursor() as cursor:
            # A foreign key may go from one to the other.
            cursor.execute("SET foreign_key_checks = 0")
            for schema in SCHEMAS:
                cursor.execute(f"DROP DATABASE IF EXISTS {schema}")
            wrong = [f"after DROP DATABASE: {text}" for text in self.orphans(cursor)]
            wrong += [
                f"DROP DATABASE left the directory {schema}"
                for schema in SCHEMAS
                if (self.server.data / schema).exists()
            ]
        self.server.execute(*(f"CREATE DATABASE {schema}" for schema in SCHEMAS), *case.setup)
        return wrong

    def snapshot(self) -> State:
        with self.server.connect() as connection, connection.cursor() as cursor:
            return ddl_state.snapshot(cursor)

    def orphans(self, cursor: Any) -> list[str]:
        dictionary = Dictionary.settled(cursor, self.server.data / ENGINE_DIRECTORY)
        return ddl_state.orphans(cursor, self.server.data, dictionary)

    def strange_copies(self, cursor: Any) -> list[str]:
        """Copies of definitions as they are before a table is opened."""
        dictionary = Dictionary.settled(cursor, self.server.data / ENGINE_DIRECTORY)
        return ddl_state.strange_copies(self.server.data, dictionary, opened=False)

    def look(self, case: Case, old: State, new: State, undone: State | None) -> list[str]:
        """Everything that is wrong after a restart."""
        wrong = [line for line in self.server.errors() if "RocksDB" in line or "DDL_LOG" in line]
        with self.server.connect() as connection, connection.cursor() as cursor:
            wrong += self.strange_copies(cursor)
            found = ddl_state.snapshot(cursor)
            if found == undone:
                old = undone
            text = ddl_state.difference(found, old, new, piecewise=case.piecewise)
            wrong += [text] if text else []
            wrong += self.orphans(cursor)
            wrong += ddl_keys.probe(cursor)
            if found == old and not wrong:
                cursor.execute(case.statement)
                again = ddl_state.snapshot(cursor)
                if again != new:
                    wrong.append(f"run again, the statement gives {again}, not {new}")
                again_wrong = self.orphans(cursor) + ddl_keys.probe(cursor)
                wrong += [f"run again: {text}" for text in again_wrong]
        return wrong


@dataclass(frozen=True)
class Choice:
    """What to run."""

    names: tuple[str, ...] = ()
    seed: int | None = None
    stride: int = 1
    short: bool = False
    rounds: int = 0
    binlog: bool = False


def list_cases() -> None:
    for case in ALL_CASES:
        say(f"  {case.name:<30} {case.statement}")


def run(choice: Choice) -> int:
    """Runs the cases or the random rounds; returns the exit status."""
    passed, failed = run_choice(Reporter(), choice)
    say("")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run_choice(reporter: Reporter, choice: Choice) -> tuple[int, int]:
    """How many steps or rounds passed and how many failed."""
    known = {case.name: case for case in ALL_CASES}
    if unknown := [name for name in choice.names if name not in known]:
        raise CairnError(f"There is no case {unknown[0]}: ./cairn crash ddl --list names them.")
    cases = [case for case in ALL_CASES if case.short or not choice.short]
    if choice.names:
        cases = [known[name] for name in choice.names]
    seed = runs.chosen_seed(choice.seed)
    mariadb = runs.prepare(reporter, packages.BUILD)
    with reporter.phase("Build (release)") as phase:
        library = rocksdb.ensure(phase, "")
        plugin.build(phase, "release", mariadb, library, "print_dictionary")
    if choice.rounds:
        return _run_rounds(reporter, mariadb, choice, seed)
    passed, failed = _run_cases(reporter, mariadb, cases, choice, seed)
    if choice.stride > 1:
        say(f"  The same steps: --stride {choice.stride} --seed {seed}; all of them: --stride 1")
    return passed, failed


def _run_rounds(reporter: Reporter, mariadb: Server, choice: Choice, seed: int) -> tuple[int, int]:
    directory = VAR / "crash" / f"ddl-seed-{seed}"
    binlog = " --binlog" if choice.binlog else ""
    say(f"  Again with: ./cairn crash ddl --rounds {choice.rounds} --seed {seed}" + binlog)
    with own_directory(directory):
        rig = Rig(mariadb, directory, innodb=False, binlog=choice.binlog)
        try:
            with reporter.phase("Rounds") as phase:
                passed, failed = ddl_random.run(
                    rig.server, choice.rounds, seed, directory / "acknowledged.log", phase
                )
        finally:
            rig.server.kill()
        runs.leave(directory, failed)
    return passed, failed


def _run_cases(
    reporter: Reporter, mariadb: Server, cases: Sequence[Case], choice: Choice, seed: int
) -> tuple[int, int]:
    counts: Counter[str] = Counter()
    for innodb in (False, True):
        chosen = [case for case in cases if case.innodb == innodb]
        directory = VAR / "crash" / ("ddl-innodb" if innodb else "ddl")
        if not chosen:
            continue
        with own_directory(directory):
            rig = Rig(mariadb, directory, innodb=innodb, binlog=choice.binlog)
            try:
                for case in chosen:
                    with reporter.phase(case.name) as phase:
                        chance = random.Random(f"{seed} {case.name}")
                        counts += _run_case(rig, case, phase, choice.stride, chance)
            finally:
                rig.server.kill()
            runs.leave(directory, counts["failed"])
    return counts["passed"], counts["failed"]


def _run_case(
    rig: Rig, case: Case, phase: Phase, stride: int, chance: random.Random
) -> Counter[str]:
    rig.reset(case)
    if case is restores.CASE:
        return _each_step(
            phase,
            stride,
            chance,
            _restores(rig).count(),
            case,
            lambda number: _cut_off_restore(rig, number),
        )
    old = rig.snapshot()
    rig.steps.arm()
    rig.server.query(case.statement)
    steps = rig.steps.disarm()
    new, undone = rig.snapshot(), None
    if case.undone:
        rig.server.query(case.undone)
        undone = rig.snapshot()
    return _each_step(
        phase,
        stride,
        chance,
        len(steps),
        case,
        lambda number: _cut_off(rig, case, number, old, new, undone),
    )


def _each_step(
    phase: Phase,
    stride: int,
    chance: random.Random,
    count: int,
    case: Case,
    cut_off: Callable[[int], tuple[list[str], str]],
) -> Counter[str]:
    """Cuts off each step, or each `stride`th from one by chance on; how many passed and failed.

    `cut_off` says what is wrong after a kill before a step, and where the server died.
    """
    first = chance.randrange(stride) + 1
    counts: Counter[str] = Counter()
    # The one behind the last dies when the statement has returned.
    for number in range(first, count + 2, stride):
        wrong, where = cut_off(number)
        if wrong and where.startswith(case.server_gaps):
            phase.note(f"the server's own recovery fails when it is killed before {where}")
            continue
        counts["failed" if wrong else "passed"] += 1
        if wrong and counts["failed"] <= SHOWN_FAILURES:
            phase.note(f"killed before step {number} of {count}, {where}:")
            for text in wrong:
                phase.note(f"  {text}")
        phase.progress(f"step {number} of {count}, {counts['failed']} failed")
    phase.summary = f"{counts['passed']} passed, {counts['failed']} failed"
    return counts


def _restores(rig: Rig) -> restores.Restores:
    return restores.Restores(rig.server, rig.steps, lambda: _await_death(rig))


def _cut_off_restore(rig: Rig, number: int) -> tuple[list[str], str]:
    """As _cut_off, for the tables of restores.CASE, which are there."""
    try:
        wrong, where = _restores(rig).cut_off(number)
    except Exception as error:
        # Whatever this stumbles over is what it looks for.
        rig.steps.disarm()
        wrong, where = [f"{type(error).__name__}: {error}"], ""
    if wrong:
        _start_anew(rig)
        rig.reset(restores.CASE)
    return wrong, where


def _cut_off(
    rig: Rig, case: Case, number: int, old: State, new: State, undone: State | None
) -> tuple[list[str], str]:
    """Kills the server before one step, restarts it, and tells what is wrong and where it died."""
    import pymysql

    where = ""
    try:
        wrong = rig.reset(case)
        rig.steps.arm(number)
        with contextlib.suppress(pymysql.OperationalError):
            rig.server.query(case.statement)
        _await_death(rig)
        where = (rig.steps.disarm() or [""])[-1]
        rig.server.start()
        wrong += rig.look(case, old, new, undone)
    except Exception as error:
        # Whatever this stumbles over is what it looks for.
        rig.steps.disarm()
        wrong = [f"{type(error).__name__}: {error}"]
    if wrong:
        _start_anew(rig)
    return wrong, where


def _await_death(rig: Rig) -> None:
    """A statement that had fewer steps this time has returned: the crash comes after it."""
    limit = time.monotonic() + 0.2
    while rig.server.is_alive() and time.monotonic() < limit:
        time.sleep(0.01)
    rig.server.kill()


def _start_anew(rig: Rig) -> None:
    """What one step broke must not fail the next: the data directory is made anew."""
    rig.server.kill()
    rig.server.empty()
    rig.server.start()

"""./cairn acceptance faults: each call that a statement makes of the engine fails in turn.

The client must get the number of that error, the statement must be undone, the transaction must be
what the client was told of it, and the server must live. The plug-in is that of tests/faults: the
code of users, with the calls between adapter and engine, and RocksDB's reads of files, led through
functions that fail on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from cairn import packages, plugin, prefix, rocksdb
from cairn.paths import BUILD, VAR
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs
from tests.faults import binary_log, definitions, transactions, xa
from tests.faults.outcomes import FILE_OUTCOMES, IN_SHORT, KILL, OUTCOMES, Outcome
from tests.faults.plan import FaultPlan
from tests.faults.session import DATABASE, Session
from tests.faults.statements import (
    ADDED_INDEXES,
    CHANGES,
    COPIES,
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
from tests.faults.trial import Case, Figures, Rig, Trial

TARGET = "ha_rocksdb_faults"
LIBRARY = BUILD / "release" / "faults" / plugin.LIBRARY
OPTIONS = (
    "--default-storage-engine=ROCKSDB",
    "--rocksdb-lock-wait-timeout=5",
    "--innodb-buffer-pool-size=16M",
)
# Every read of a row is one of a file.
WITHOUT_CACHE = (
    "--rocksdb-no-block-cache=ON",
    "--rocksdb-cache-index-and-filter-blocks=OFF",
    "--rocksdb-pin-l0-filter-and-index-blocks-in-cache=OFF",
)
# So many calls of a statement fail one by one; of those behind them some do, and the last.
EACH = 12
EACH_IN_SHORT = 3
# So many calls of a statement are under way when it is killed.
KILLS = 6
KILLS_IN_SHORT = 2
KILLS_OF_A_BUILD = 20
# More than a copy has calls, so that each is tried, also in the short form.
KILLS_OF_A_COPY = 2000
# What is tried, by the title of its phase.
PARTS: dict[str, tuple[tuple[Kind, Case], ...]] = {
    "reads": tuple((kind, transactions.statement) for kind in READS),
    "changes": tuple((kind, transactions.statement) for kind in CHANGES),
    "ends": tuple((kind, transactions.end) for kind in ENDS),
    "xa": (
        *((kind, xa.statement) for kind in XA_STATEMENTS),
        *((kind, xa.end) for kind in XA_ENDS),
        *((kind, xa.end_by_name) for kind in XA_BY_NAME),
    ),
    "definitions": (
        *((kind, partial(definitions.change, back=back)) for kind, back in DEFINITION_CHANGES),
        *((kind, partial(definitions.drop, back=back)) for kind, back in DROPS),
    ),
    "kills": (
        *((kind, transactions.kill) for kind in (*READS, *CHANGES)),
        *((kind, partial(definitions.kill, back=back)) for kind, back in ADDED_INDEXES),
        *((kind, partial(definitions.kill, back=back)) for kind, back in COPIES),
    ),
}


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
        with _rig(mariadb, directory / "calls", OUTCOMES, figures, short) as rig:
            for title in PARTS:
                _run_part(reporter, rig, title)
        with _rig(
            mariadb, directory / "files", FILE_OUTCOMES, figures, short, *WITHOUT_CACHE
        ) as rig:
            for title in ("reads", "changes"):
                _run_part(reporter, rig, title)
        with reporter.phase("Faults: binary log") as phase:
            figures.statements += len(binary_log.DECISIONS)
            options = (*OPTIONS, *binary_log.OPTIONS)
            with ScratchServer(mariadb, directory / "binary-log", options) as server:
                server.library = LIBRARY
                server.wrapper = binary_log.WRAPPER
                server.start()
                found = binary_log.problems(server)
                server.stop()
            for problem in found:
                phase.note(problem)
            figures.problems += found
    runs.leave(directory, figures.problems)
    return figures


@contextmanager
def _rig(
    mariadb: prefix.Server,
    directory: Path,
    outcomes: tuple[Outcome, ...],
    figures: Figures,
    short: bool,
    *options: str,
) -> Iterator[Rig]:
    """A server with the tables and the plug-in that fails on demand."""
    server = ScratchServer(mariadb, directory, (*OPTIONS, *options))
    server.library = LIBRARY
    server.environment["CAIRN_FAULTS"] = str(directory / "plan")
    with FaultPlan(directory / "plan") as plan, server:
        server.start()
        _fill(server)
        yield Rig(server, plan, outcomes, figures, short)
        server.stop()


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


def _run_part(reporter: Reporter, rig: Rig, title: str) -> None:
    """Tries statements, and shows what they met."""
    figures = rig.figures
    with reporter.phase(f"Faults: {title}") as phase:
        before = figures.faults, figures.kills, len(figures.problems)
        for kind, case in PARTS[title]:
            phase.progress(kind.name)
            if title == "kills":
                _kill(rig, kind, case)
            else:
                _fail(rig, kind, case)
        faults, kills = figures.faults - before[0], figures.kills - before[1]
        if not faults and not kills:
            figures.problems.append(f"{title}: no call has failed")
        below = " in files" if rig.in_files else ""
        phase.summary = f"{faults} faults{below}, {kills} kills"
        for problem in figures.problems[before[2] :][:10]:
            phase.note(problem)


def _fail(rig: Rig, kind: Kind, case: Case) -> None:
    """Fails call after call of one statement, with each outcome."""
    figures = rig.figures
    session = Session(rig.server)
    wanted = session.content()
    met = figures.faults
    try:
        for outcome in rig.outcomes:
            if rig.short and outcome.name not in IN_SHORT:
                continue
            for skip in _skips(rig.short):
                trial = Trial(rig, session, kind, outcome, skip, wanted)
                case(trial)
                if trial.call is None:
                    break
                figures.statements += skip == 0
                figures.faults += 1
                figures.calls[trial.call] += 1
                if not rig.server.answers():
                    trial.problem("the server is gone")
                    rig.server.kill()
                    rig.server.start()
                    session = Session(rig.server)
    finally:
        session.close()
    if figures.faults == met and not rig.in_files:
        figures.problems.append(f"{kind.name}: no call of the engine has failed")
    checker = Session(rig.server)
    for row in checker.rows(f"CHECK TABLE {', '.join(TABLES)} EXTENDED"):
        if row[2] == "error" or (row[2] == "status" and row[3] != "OK"):
            figures.problems.append(f"{kind.name}: CHECK TABLE {row[0]}: {row[3]}")
    checker.close()


def _skips(short: bool) -> Iterator[int]:
    skip = 0
    each = EACH_IN_SHORT if short else EACH
    while True:
        yield skip
        skip = skip + 1 if skip < each else skip * 2


def _kill(rig: Rig, kind: Kind, case: Case) -> None:
    """Kills a statement in one call after the other."""
    rig.figures.statements += 1
    session = Session(rig.server)
    try:
        wanted = session.content()
        count = KILLS_IN_SHORT if rig.short else KILLS
        if kind in (build for build, _ in ADDED_INDEXES):
            count = KILLS_OF_A_BUILD
        elif kind in (copy for copy, _ in COPIES):
            count = KILLS_OF_A_COPY
        for skip in range(count):
            trial = Trial(rig, session, kind, KILL, skip, wanted)
            case(trial)
            if trial.call is None:
                break
            rig.figures.kills += 1
        else:
            if count == KILLS_OF_A_COPY:
                rig.figures.problems.append(f"{kind.name}: more than {count} calls")
    finally:
        session.close()

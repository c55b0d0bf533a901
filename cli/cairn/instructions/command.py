"""Starts a server for each engine under callgrind and counts what statements take.

The table is loaded and brought into data files by a server without callgrind. Then each kind of
statement is run by one connection, first some that are not counted; kinds that write begin with the
table in data files again, so that the order of the kinds does not matter. Only instructions of the
connection's thread count; what background threads do for it is left out, with every engine.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cairn import files, packages, plugin, prefix
from cairn.errors import CairnError
from cairn.instructions import callgrind, cases, function_order
from cairn.paths import LOG, VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory

DIRECTORY = VAR / "instructions"
_LOG = LOG / "instructions.log"
_DATABASE = "counted"
_WARM_UP = 50
# The start of a server under callgrind takes long, and so may single statements.
_START_S = 120
_OPTIONS = (
    "--rocksdb-flush-log-at-trx-commit=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=256M",
    # It reserves addresses for the largest size, more than callgrind has room for.
    "--loose-innodb-buffer-pool-size-max=256M",
    "--innodb-use-native-aio=OFF",
    "--rocksdb-block-cache-size=256M",
)
ENGINES = ("cairn", "innodb", "stock")


@dataclass(frozen=True)
class Count:
    """What one kind of statement took, for each unit of it."""

    case: str
    engine: str
    total: float
    in_plugin: float


def run(names: tuple[str, ...], engines: tuple[str, ...]) -> int:
    """Counts and prints a table; returns the exit status."""
    _require_known(names)
    reporter = Reporter()
    mariadb = _prepare(reporter)
    counts: list[Count] = []
    for engine in engines or ENGINES:
        with reporter.phase(engine) as phase, own_directory(DIRECTORY / engine):
            counts += _count(phase, mariadb, engine, names)
    say("")
    for line in table(counts):
        say(line)
    say(f"  Read a thread's calls with: callgrind_annotate {shown(DIRECTORY)}/ENGINE/counts/…")
    return 0


def write_order() -> int:
    """Has all statements of ours run, and writes what the linker orders functions by."""
    reporter = Reporter()
    mariadb = _prepare(reporter)
    with reporter.phase("cairn") as phase, own_directory(DIRECTORY / "cairn"):
        _count(phase, mariadb, "cairn", (), mangled=True)
    with reporter.phase("Order") as phase:
        names = function_order.order(_calls_of_all())
        files.write_atomic(function_order.SCRIPT, function_order.script(names))
        phase.summary = f"{shown(function_order.SCRIPT)}, {len(names)} functions"
    say("  ./cairn build links the plug-in by it.")
    return 0


def _calls_of_all() -> Iterator[tuple[function_order.Calls, int]]:
    for case in cases.CASES:
        _, path = callgrind.of_busiest_thread(DIRECTORY / "cairn" / "counts" / case.name)
        with path.open(encoding="utf-8", errors="replace") as lines:
            yield function_order.calls(lines), case.statements


def _require_known(names: tuple[str, ...]) -> None:
    if unknown := set(names) - {case.name for case in cases.CASES}:
        known = ", ".join(case.name for case in cases.CASES)
        raise CairnError(f"There is no statement {', '.join(sorted(unknown))}. There are: {known}.")


def _prepare(reporter: Reporter) -> Server:
    mariadb = prefix.require()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.COUNTING,), phase)
    return mariadb


def table(counts: list[Count]) -> list[str]:
    """The counts as a Markdown table, statements by engines."""
    engines = list(dict.fromkeys(count.engine for count in counts))
    by_place = {(count.case, count.engine): count for count in counts}
    lines = [
        " | ".join(["| statement", *engines, *(f"in {name}" for name in _plugins(engines))]) + " |",
        "| --- |" + " ---: |" * (len(engines) + len(_plugins(engines))),
    ]
    for case in dict.fromkeys(count.case for count in counts):
        counted = {engine: by_place.get((case, engine)) for engine in engines}
        cells = [f"{one.total:,.0f}" if one else "" for one in counted.values()]
        cells += [
            f"{one.in_plugin:,.0f}" if (one := counted[engine]) else ""
            for engine in _plugins(engines)
        ]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return lines


def _plugins(engines: list[str]) -> list[str]:
    """Those whose code lies in a library of its own; InnoDB's is part of the server."""
    return [engine for engine in engines if engine != "innodb"]


def _count(
    phase: Phase, mariadb: Server, engine: str, names: tuple[str, ...], *, mangled: bool = False
) -> list[Count]:
    directory = DIRECTORY / engine
    with ScratchServer(mariadb, directory, _OPTIONS) as server:
        if engine == "stock":
            server.library = mariadb.stock_plugin
        phase.progress("loading")
        server.start()
        references = engine != "stock"
        _load(server, _table_engine(engine), references=references)
        server.stop()
        phase.progress("starting under callgrind")
        results = files.fresh_directory(directory / "counts")
        server.wrapper = callgrind.command(results, mangled=mangled)
        server.start_s = _START_S
        server.start()
        with server.connect(
            database=_DATABASE, charset="latin1", read_timeout=_START_S
        ) as connection:
            with connection.cursor() as cursor:
                cases.warm_up(cursor)
            return [
                _measure(phase, server, connection, engine, case)
                for case in cases.chosen(names, references=references)
            ]


def _table_engine(engine: str) -> str:
    return "InnoDB" if engine == "innodb" else "ROCKSDB"


def _load(server: ScratchServer, engine: str, *, references: bool) -> None:
    server.query(f"CREATE DATABASE {_DATABASE}")
    with server.connect(database=_DATABASE) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION autocommit = 1")
        cases.load(cursor, engine)
        if references:
            cases.load_references(cursor, engine)
        cases.bring_into_files(cursor, engine)


def _measure(
    phase: Phase, server: ScratchServer, connection: Any, engine: str, case: cases.Case
) -> Count:
    phase.progress(case.name)
    pid = server.pid
    assert pid is not None
    chance = random.Random(case.name)
    statements = [
        case.statement(chance, position) for position in range(_WARM_UP + case.statements)
    ]
    warm_up = min(_WARM_UP, case.statements)
    with connection.cursor() as cursor:
        if case.writes:
            # What the kinds of statements before it have written is nothing that this kind takes.
            cases.bring_into_files(cursor, _table_engine(engine))
            cases.warm_up(cursor)
        for statement in statements[:warm_up]:
            cursor.execute(statement)
            cursor.fetchall()
        callgrind.switch(pid, True, _LOG)
        for statement in statements[warm_up : warm_up + case.statements]:
            cursor.execute(statement)
            cursor.fetchall()
        callgrind.switch(pid, False, _LOG)
    counts, _ = callgrind.of_busiest_thread(
        callgrind.take(pid, server.directory / "counts", case.name, _LOG)
    )
    return _as_count(case, engine, counts)


def _as_count(case: cases.Case, engine: str, counts: Counter[str]) -> Count:
    units = case.statements * case.per
    return Count(case.name, engine, counts.total() / units, counts[plugin.LIBRARY] / units)

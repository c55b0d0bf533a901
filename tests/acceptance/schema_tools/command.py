"""./cairn acceptance schema-tools: tools that change tables online, while clients write.

For each tool and isolation level a server with a binary log has a table that clients change; the
tool changes it too. In the end every row must be what the clients made of it. InnoDB is the
control.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from cairn import packages, plugin, process
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, free_port, own_directory
from tests import replication, runs
from tests.acceptance.schema_tools.clients import Client
from tests.acceptance.schema_tools.table import (
    ARCHIVE,
    ARCHIVED_BEFORE,
    COLUMNS,
    PURGED_BEFORE,
    SCHEMA,
    TABLE,
    Row,
    client_of,
    definition,
    differences,
    first_rows,
    with_values,
)
from tests.acceptance.schema_tools.tools import TOOLS, Change, Place, Tool, leftovers

CLIENTS = 4
LEVELS = ("READ-COMMITTED", "REPEATABLE-READ")
ENGINES = ("ROCKSDB", "InnoDB")
OPTIONS = (
    "--log-bin=binlog",
    "--binlog-format=row",
    "--sync-binlog=0",
    "--rocksdb-flush-log-at-trx-commit=2",
    "--innodb-flush-log-at-trx-commit=2",
    "--character-set-server=utf8mb4",
)
TOOL_S = 300
JOIN_S = 120
_AMOUNT = COLUMNS.index("amount")
_ORDERED = COLUMNS.index("ordered")


@dataclass
class Outcome:
    """What a run of one tool at one level on one engine gave."""

    seconds: dict[str, float] = field(default_factory=dict)  # Of each change.
    committed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    longest: tuple[float, str] = (0.0, "")  # Transaction.
    wrong: list[str] = field(default_factory=list)

    def line(self) -> str:
        changes = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items())
        refused = ", ".join(f"{count} × {why}" for why, count in sorted(self.refused.items()))
        return (
            f"{changes}; {self.committed} transactions, longest {self.longest[0]:.1f} s "
            f"({self.longest[1]}), "
            f"retried: {refused or 'none'}"
        )


class Case:
    """One tool at one isolation level on one engine."""

    def __init__(
        self, mariadb: Server, directory: Path, tool: Tool, engine: str, level: str, seed: str
    ) -> None:
        self.tool = tool
        self.engine = engine
        self.level = level
        self.port = free_port()
        options = (
            *OPTIONS,
            *replication.network(self.port),
            f"--transaction-isolation={level}",
            *tool.server_options,
        )
        self.server = ScratchServer(mariadb, directory, options)
        self.seed = seed
        self.outcome = Outcome()
        self._shared: dict[int, Row] = {}

    def run(self, rows: int, seconds: float) -> Outcome:
        with self.server:
            self.server.start()
            clients = self._prepare(rows)
            for client in clients:
                client.start()
            try:
                self._use_tool(clients, seconds)
            finally:
                for client in clients:
                    client.ends.set()
            self._collect(clients)
            if not self.outcome.wrong:
                self._check(clients)
            self.outcome.wrong += self.server.errors()
            if not self.outcome.wrong:
                self.server.stop()
        return self.outcome

    def _prepare(self, count: int) -> list[Client]:
        rows = first_rows(count, CLIENTS, Random(self.seed))
        of_client: list[dict[int, Row]] = [{} for _ in range(CLIENTS)]
        for row in rows:
            owner = client_of(row[1])
            (self._shared if owner < 0 else of_client[owner])[row[0]] = row
        self.server.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
        with self.server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            cursor.execute(definition(TABLE, self.engine))
            cursor.execute(definition(ARCHIVE, self.engine))
            cursor.executemany(
                f"INSERT INTO {TABLE} ({', '.join(COLUMNS)}) VALUES "
                f"({', '.join(['%s'] * len(COLUMNS))})",
                rows,
            )

        def connect() -> Any:
            from pymysql.constants import CLIENT

            return self.server.connect(
                database=SCHEMA, client_flag=CLIENT.FOUND_ROWS, read_timeout=TOOL_S
            )

        return [
            Client(number, connect, f"{self.seed}.{number}", own, list(self._shared), self.engine)
            for number, own in enumerate(of_client)
        ]

    # ---- the tool --------------------------------------------------------------------------------

    def _use_tool(self, clients: list[Client], seconds: float) -> None:
        for change in self.tool.changes:
            begun = time.monotonic()
            time.sleep(0.5)  # The clients are at work before the tool is, and after it.
            problem = self._change(change)
            if problem:
                self.outcome.wrong.append(f"{change.name}: {problem}")
                return
            while time.monotonic() - begun < seconds and not _failed(clients):
                time.sleep(0.05)
            if _failed(clients):
                return

    def _change(self, change: Change) -> str:
        """Runs the tool once; returns what is wrong."""
        log = self.server.directory / f"{self.tool.name}.log"
        place = Place(self.server.socket, self.port, self.server.directory)
        command = [self.tool.program() or self.tool.name, *change.arguments(place)]
        begun = time.monotonic()
        with log.open("ab") as out:
            out.write(f"$ {' '.join(command)}\n".encode())
            out.flush()
            start = out.tell()
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.server.directory,
                preexec_fn=process.end_with_parent,
            )
            try:
                status: int | None = child.wait(TOOL_S)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                child.kill()
                child.wait()
        self.outcome.seconds[change.name] = time.monotonic() - begun
        said = log.read_bytes()[start:].decode("utf-8", "replace").strip().splitlines()
        end = "".join(f"\n      {line[:300]}" for line in said[-12:])
        if status is None:
            return f"it has not ended after {TOOL_S} s{end}"
        if status != 0:
            return f"exit status {status}{end}"
        ((came_about,),) = self.server.query(change.came_about)
        return "" if came_about == 1 else f"it has not come about{end}"

    # ---- what must be there ----------------------------------------------------------------------

    def _collect(self, clients: list[Client]) -> None:
        limit = time.monotonic() + JOIN_S
        for client in clients:
            client.join(max(0.0, limit - time.monotonic()))
            if client.is_alive():
                self.outcome.wrong.append(f"{client.name} has not ended after {JOIN_S} s")
            self.outcome.wrong += [client.error] if client.error else []
            self.outcome.committed += client.committed
            self.outcome.refused.update(client.refused)
            self.outcome.longest = max(self.outcome.longest, client.longest)

    def _check(self, clients: list[Client]) -> None:
        wrong = self.outcome.wrong
        kept, archived = wanted(clients, self._shared, archives=self.tool.name == "pt-archiver")
        wrong += differences(kept, self._rows(TABLE))
        wrong += [f"{ARCHIVE}: {text}" for text in differences(archived, self._rows(ARCHIVE))]
        wrong += [f"left behind: {name}" for name in leftovers(self.server)]
        for table in (TABLE, ARCHIVE):
            *_, answer = self.server.query(f"CHECK TABLE {SCHEMA}.{table} EXTENDED")
            if answer[3] != "OK":
                wrong.append(f"CHECK TABLE {table}: {answer[3]}")
        ((engine,),) = self.server.query(
            "SELECT engine FROM information_schema.tables "
            f"WHERE table_schema = '{SCHEMA}' AND table_name = '{TABLE}'"
        )
        if engine.upper() != self.engine.upper():
            wrong.append(f"the table is one of {engine} now")
        ((locks,),) = self.server.query("SELECT COUNT(*) FROM information_schema.rocksdb_locks")
        if locks:
            wrong.append(f"{locks} row locks are left")

    def _rows(self, table: str) -> list[Row]:
        return self.server.query(f"SELECT {', '.join(COLUMNS)} FROM {SCHEMA}.{table} ORDER BY id")


def wanted(
    clients: Iterable[Client], shared: dict[int, Row], *, archives: bool
) -> tuple[dict[int, Row], dict[int, Row]]:
    """The rows that must be in the table and in the archive, by what clients have committed."""
    rows = dict(shared)
    for client in clients:
        rows |= client.rows
    for client in clients:
        for key, cents in client.added.items():
            rows[key] = with_values(rows[key], amount=rows[key][_AMOUNT] + Decimal(cents) / 100)
    if not archives:
        return rows, {}
    kept = {key: row for key, row in rows.items() if row[_ORDERED] >= ARCHIVED_BEFORE}
    archived = {
        key: row for key, row in rows.items() if PURGED_BEFORE <= row[_ORDERED] < ARCHIVED_BEFORE
    }
    return kept, archived


def _failed(clients: Iterable[Client]) -> bool:
    return any(client.error for client in clients)


def chosen(name: str | None) -> list[Tool]:
    """The tools that are meant, by the name of one or all."""
    tools = [tool for tool in TOOLS if name in (None, tool.name)]
    if not tools:
        names = ", ".join(tool.name for tool in TOOLS)
        raise CairnError(f"There is no tool {name}: choose one of {names}.")
    return tools


def run(seconds: float, seed: int | None, tool: str | None, engine: str | None, rows: int) -> int:
    """Runs all combinations; returns the exit status."""
    tools = chosen(tool)
    engines = [one for one in ENGINES if engine is None or one.lower() == engine.lower()]
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.SCHEMA_TOOLS)
    number = runs.chosen_seed(seed)
    say(f"  {shown(plugin.library())}; again with --seed {number}")
    counted: Counter[str] = Counter()
    directory = VAR / "acceptance" / "schema-tools"
    with own_directory(directory):
        for one in tools:
            program = one.program()
            if program is None:
                say(f"  {one.name} is not on this machine: skipped. {one.how_to_get}.")
                counted["skipped"] += len(LEVELS) * len(engines)
                continue
            said = process.output([program, one.version]).strip()
            say(f"  {one.name}: {said.removeprefix(one.name).strip()}")
            for level, name in product(LEVELS, engines):
                home = directory / f"{one.name}-{level}-{name}".lower()
                case = Case(mariadb, home, one, name, level, f"{number}")
                counted[_outcome(reporter, case, rows, seconds)] += 1
        runs.leave(directory, counted["failed"])
    say("")
    say(", ".join(f"{counted[what]} {what}" for what in ("passed", "failed", "skipped")))
    return 1 if counted["failed"] else 0


def _outcome(reporter: Reporter, case: Case, rows: int, seconds: float) -> str:
    """Runs a case, says what it gave, and returns the word for it."""
    with reporter.phase(f"{case.level} {case.engine}") as phase:
        outcome = case.run(rows, seconds)
        phase.summary = "failed" if outcome.wrong else "passed"
    say(f"    {outcome.line()}")
    for text in outcome.wrong:
        say(f"    {text}")
    return phase.summary

"""Several clients change definitions and rows at once; the server is killed whenever it happens."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from cairn.report import Phase
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer
from tests.crash import ddl_state, definer, writer
from tests.crash.ddl_cases import SCHEMAS
from tests.crash.writer import Connect

CLIENTS = 4
LOAD_S = (0.1, 1.2)


@dataclass(frozen=True)
class Table:
    """What one table must look like: `version` is the highest column that was added."""

    rows: frozenset[int] = frozenset()
    version: int = 0
    partitioned: bool = False


class Promise(definer.Promise[Table]):
    """A client's own tables."""

    def __init__(self, client: int) -> None:
        super().__init__()
        self.client = client
        # The server drops several tables one after the other.
        self.piecewise = False
        self.next_row = 1

    @property
    def names(self) -> list[str]:
        return [f"{schema}.c{self.client}_{n}" for schema in SCHEMAS for n in range(3)]


class Definer(definer.Definer[Table]):
    """One client."""

    promise: Promise

    def __init__(
        self, promise: Promise, connect: Connect, journal: TextIO, chance: random.Random
    ) -> None:
        super().__init__(f"client {promise.client}", promise, connect, journal, chance)

    def choose(self, tables: dict[str, Table]) -> str:
        self.promise.piecewise = False
        free = [name for name in self.promise.names if name not in tables]
        if free and (not tables or self.random.random() < 0.25):
            return self._create(tables, self.random.choice(free))
        name = self.random.choice(sorted(tables))
        kinds = ["insert"] * 6 + ["truncate", "drop", "add", "rebuild", "partition"]
        kinds += ["rename", "rename"] if free else []
        kinds += ["swap", "swap"] if free and len(tables) > 1 else []
        kinds += ["drop two"] if len(tables) > 1 else []
        other = self.random.choice([each for each in sorted(tables) if each != name] or [name])
        return self._change(self.random.choice(kinds), tables, name, other, free)

    def _create(self, tables: dict[str, Table], name: str) -> str:
        partitioned = self.random.random() < 0.4
        parts = " PARTITION BY HASH (id) PARTITIONS 3" if partitioned else ""
        columns = "(id INT NOT NULL PRIMARY KEY, k INT, KEY k (k))"
        if tables and self.random.random() < 0.3:
            source = self.random.choice(sorted(tables))
            tables[name] = Table(tables[source].rows, partitioned=partitioned)
            return f"CREATE TABLE {name} {columns} ENGINE=ROCKSDB{parts} SELECT id, k FROM {source}"
        tables[name] = Table(partitioned=partitioned)
        return f"CREATE TABLE {name} {columns} ENGINE=ROCKSDB{parts}"

    def _change(
        self, kind: str, tables: dict[str, Table], name: str, other: str, free: list[str]
    ) -> str:
        table = tables[name]
        if kind == "truncate":
            tables[name] = replace(table, rows=frozenset())
            return f"TRUNCATE TABLE {name}"
        if kind == "drop":
            del tables[name]
            return f"DROP TABLE {name}"
        if kind == "drop two":
            del tables[name], tables[other]
            self.promise.piecewise = True
            return f"DROP TABLE {name}, {other}"
        if kind == "add":
            tables[name] = replace(table, version=table.version + 1)
            return f"ALTER TABLE {name} ADD COLUMN v{table.version + 1} INT NOT NULL DEFAULT 7"
        if kind == "rebuild":
            return f"ALTER TABLE {name} FORCE, ALGORITHM=COPY"
        if kind == "partition":
            tables[name] = replace(table, partitioned=not table.partitioned)
            if table.partitioned:
                return f"ALTER TABLE {name} REMOVE PARTITIONING"
            return f"ALTER TABLE {name} PARTITION BY HASH (id) PARTITIONS 2"
        if kind == "rename":
            target = self.random.choice(free)
            tables[target] = tables.pop(name)
            return f"RENAME TABLE {name} TO {target}"
        if kind == "swap":
            tables[name], tables[other] = tables[other], table
            return f"RENAME TABLE {name} TO {free[0]}, {other} TO {name}, {free[0]} TO {other}"
        first = self.promise.next_row
        added = range(first, first + self.random.randint(1, 30))
        self.promise.next_row = added.stop
        tables[name] = replace(table, rows=table.rows | set(added))
        return f"INSERT INTO {name} (id, k) VALUES {', '.join(f'({n}, {n % 5})' for n in added)}"


class Load:
    """The clients, round after round, on one server."""

    def __init__(self, server: ScratchServer, seed: int) -> None:
        self.server = server
        self.seed = seed
        self.promises = [Promise(client) for client in range(CLIENTS)]
        self.acknowledged = 0
        with server.connect() as connection, connection.cursor() as cursor:
            for schema in SCHEMAS:
                cursor.execute(f"CREATE OR REPLACE DATABASE {schema}")

    def run_round(self, number: int, journal: TextIO) -> list[str]:
        """Load, kill, restart; returns what is wrong."""
        chance = random.Random(f"{self.seed} {number}")
        definers = [
            Definer(promise, self.server.connect, journal, random.Random(f"{chance.random()}"))
            for promise in self.promises
        ]
        wrong = writer.kill_under_load(self.server, definers, chance.uniform(*LOAD_S))
        self.acknowledged += sum(each.acknowledged for each in definers)
        if wrong:
            return wrong
        self.server.start()
        wrong = [line for line in self.server.errors() if "RocksDB" in line or "DDL_LOG" in line]
        with self.server.connect() as connection, connection.cursor() as cursor:
            for promise in self.promises:
                wrong += _settle(promise, cursor)
            directory = self.server.data / ENGINE_DIRECTORY
            dictionary = ddl_state.Dictionary.settled(cursor, directory)
            wrong += ddl_state.orphans(cursor, self.server.data, dictionary)
        return wrong


def _settle(promise: Promise, cursor: Any) -> list[str]:
    """Compares a client's tables with its promise, which then becomes what was found."""
    found = {}
    for schema in SCHEMAS:
        cursor.execute(
            "SELECT table_name, create_options FROM information_schema.tables WHERE "
            f"table_schema = '{schema}' AND table_name LIKE 'c{promise.client}\\_%'"
        )
        for table, options in cursor.fetchall():
            found[f"{schema}.{table}"] = _look(cursor, f"{schema}.{table}", options)
    wrong = promise.settle(found)
    if not wrong or (wrong == [definer.MIXTURE] and promise.piecewise):
        return []
    return [*wrong, f"the last statement: {promise.statement[:150]}"]


def _look(cursor: Any, name: str, options: str) -> Table:
    cursor.execute(f"SELECT id FROM {name} FORCE INDEX (PRIMARY)")
    rows = frozenset(number for (number,) in cursor.fetchall())
    cursor.execute(f"SELECT COUNT(*) FROM {name} FORCE INDEX (k) WHERE k >= 0")
    if (count := cursor.fetchone()[0]) != len(rows):
        raise ValueError(f"{name}: {count} rows by index k, {len(rows)} by primary key")
    cursor.execute(f"SHOW COLUMNS FROM {name}")
    return Table(rows, len(cursor.fetchall()) - 2, "partitioned" in options)


def run(server: ScratchServer, rounds: int, seed: int, log: Path, phase: Phase) -> tuple[int, int]:
    """Runs the rounds up to the first failure: how many passed and how many failed."""
    load = Load(server, seed)
    with log.open("a", encoding="utf-8") as journal:
        for number in range(1, rounds + 1):
            journal.write(f"round {number}\n")
            try:
                wrong = load.run_round(number, journal)
            except Exception as error:
                # Whatever a check stumbles over is what this looks for.
                alive = "" if server.is_alive() else f"\n{server.excerpt()}"
                wrong = [f"{type(error).__name__}: {error}{alive}"]
            if wrong:
                phase.note(f"round {number}:")
                for text in wrong:
                    phase.note(f"  {text}")
                return number - 1, 1
            phase.progress(f"{number} of {rounds}, {load.acknowledged:,} statements acknowledged")
    phase.summary = f"{rounds} rounds, {load.acknowledged:,} statements acknowledged"
    return rounds, 0

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
ID, K, K_NOT_NULL = "id int(11) NOT NULL", "k int(11)", "k int(11) NOT NULL"
MOST_COLUMNS = 8


@dataclass(frozen=True)
class Table:
    """What one table must look like.

    `columns` are in their order, each with its type; all but id and k have 7 in every row.
    """

    rows: frozenset[int] = frozenset()
    columns: tuple[str, ...] = (ID, K)
    primary: tuple[str, ...] = ("id",)
    # The secondary indexes.
    keys: frozenset[str] = frozenset({"k"})
    partitioned: bool = False

    @property
    def added(self) -> list[str]:
        """The names of the columns that have 7 in every row."""
        return [each.split()[0] for each in self.columns if each not in (ID, K, K_NOT_NULL)]

    def changed(self, name: str, column: str) -> Table:
        """The same with another type of a column."""
        columns = (column if each.split()[0] == name else each for each in self.columns)
        return replace(self, columns=tuple(columns))


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
        kinds = ["insert"] * 6 + ["alter"] * 6 + ["truncate", "drop", "copy", "partition"]
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
        if kind == "alter":
            tables[name], change = self._alter(table)
            return f"ALTER TABLE {name} {change}"
        if kind == "copy":
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

    def _alter(self, table: Table) -> tuple[Table, str]:
        """A change in place, and the table after it."""
        match self.random.choice(["column"] * 4 + ["key", "nullable", "primary key", "force"]):
            case "column":
                return self._change_column(table)
            case "key":
                change = "DROP KEY x" if "x" in table.keys else "ADD KEY x (k, id)"
                return replace(table, keys=table.keys ^ {"x"}), f"{change}, ALGORITHM=NOCOPY"
            case "nullable":
                return self._change_nullable(table)
            case "primary key":
                return self._change_primary_key(table)
        return table, "FORCE, ALGORITHM=INPLACE"

    def _change_nullable(self, table: Table) -> tuple[Table, str]:
        if K in table.columns:
            return table.changed("k", K_NOT_NULL), "MODIFY k INT NOT NULL, ALGORITHM=NOCOPY"
        if "k" in table.primary:
            return table, "FORCE, ALGORITHM=INPLACE"
        return table.changed("k", K), "MODIFY k INT, ALGORITHM=NOCOPY"

    def _change_primary_key(self, table: Table) -> tuple[Table, str]:
        primary = ("id",) if "k" in table.primary else ("k", "id")
        after = replace(table, primary=primary)
        algorithm = "COPY" if table.partitioned else "INPLACE"
        if "k" in primary:
            after = after.changed("k", K_NOT_NULL)
        return after, (
            f"DROP PRIMARY KEY, ADD PRIMARY KEY ({', '.join(primary)}), ALGORITHM={algorithm}"
        )

    def _change_column(self, table: Table) -> tuple[Table, str]:
        """An instant change."""
        columns, chance = list(table.columns), self.random
        names = [each.split()[0] for each in columns]
        if not table.added or (len(columns) < MOST_COLUMNS and chance.random() < 0.4):
            new = next(f"v{n}" for n in range(1, MOST_COLUMNS) if f"v{n}" not in names)
            after = chance.randrange(len(columns))
            columns.insert(after + 1, f"{new} int(11) NOT NULL")
            change = f"ADD COLUMN {new} INT NOT NULL DEFAULT 7 AFTER {names[after]}"
        else:
            name = chance.choice(table.added)
            column = columns.pop(names.index(name))
            match chance.choice(("drop", "move", "widen")):
                case "drop":
                    change = f"DROP COLUMN {name}"
                case "move":
                    columns.insert(0, column)
                    change = f"MODIFY {column} DEFAULT 7 FIRST"
                case _:
                    columns.insert(names.index(name), f"{name} bigint(20) NOT NULL")
                    change = f"MODIFY {name} BIGINT NOT NULL DEFAULT 7"
        return replace(table, columns=tuple(columns)), f"{change}, ALGORITHM=INSTANT"


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
    cursor.execute(f"SHOW INDEX FROM {name}")
    parts = [(row[2], row[4]) for row in cursor.fetchall()]
    keys = frozenset(key for key, _ in parts) - {"PRIMARY"}
    for key in sorted(keys):
        cursor.execute(f"SELECT COUNT(*) FROM {name} FORCE INDEX ({key}) WHERE k = id % 5")
        if (count := cursor.fetchone()[0]) != len(rows):
            raise ValueError(f"{name}: {count} rows by index {key}, {len(rows)} by primary key")
    cursor.execute(f"SHOW COLUMNS FROM {name}")
    columns = (
        f"{column} {kind}{'' if null == 'YES' else ' NOT NULL'}"
        for column, kind, null, *_ in cursor.fetchall()
    )
    primary = tuple(column for key, column in parts if key == "PRIMARY")
    table = Table(rows, tuple(columns), primary, keys, "partitioned" in options)
    for column in table.added:
        cursor.execute(f"SELECT COUNT(*) FROM {name} WHERE {column} = 7")
        if (count := cursor.fetchone()[0]) != len(rows):
            raise ValueError(f"{name}: {count} rows of {len(rows)} have 7 in {column}")
    return table


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

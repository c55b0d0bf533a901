"""Several clients change definitions and rows at once; the server is killed whenever it happens."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from cairn.report import Phase
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer
from tests.crash import ddl_keys, ddl_state, ddl_tables, definer, writer
from tests.crash.ddl_case import SCHEMAS
from tests.crash.ddl_keys import ForeignKey
from tests.crash.ddl_tables import K_NOT_NULL, UNCHECKED, K, Reference, Table, Tables
from tests.crash.writer import Connect

CLIENTS = 4
LOAD_S = (0.1, 1.2)
MOST_COLUMNS = 8


class Promise(definer.Promise[Table]):
    """A client's own tables."""

    def __init__(self, client: int) -> None:
        super().__init__()
        self.client = client
        # The server drops several tables one after the other.
        self.piecewise = False
        self.next_row = 1
        self.next_constraint = 1

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

    def choose(self, tables: Tables) -> str:
        self.promise.piecewise = False
        free = [name for name in self.promise.names if name not in tables]
        if free and (not tables or self.random.random() < 0.25):
            return self._create(tables, self.random.choice(free))
        name = self.random.choice(sorted(tables))
        kinds = ["insert"] * 6 + ["alter"] * 6 + ["truncate", "drop"]
        if not ddl_tables.is_concerned(tables, name):
            kinds += ["copy", "partition"]
        if tables[name].reference is not None:
            kinds += ["drop foreign key"] * 2
        elif tables[name].fits:
            kinds += ["add foreign key"] * 6
        # No table waits for these: a rename that is cut off would take its foreign key along.
        free = [each for each in free if not ddl_tables.children(tables, each)]
        kinds += ["rename", "rename"] if free else []
        kinds += ["swap", "swap"] if free and len(tables) > 1 else []
        kinds += ["drop two"] if len(tables) > 1 else []
        other = self.random.choice([each for each in sorted(tables) if each != name] or [name])
        return self._change(self.random.choice(kinds), tables, name, other, free)

    def _create(self, tables: Tables, name: str) -> str:
        waited_for = bool(ddl_tables.children(tables, name))
        partitioned = not waited_for and self.random.random() < 0.4
        parts = " PARTITION BY HASH (id) PARTITIONS 3" if partitioned else ""
        rows, select = frozenset[int](), ""
        if tables and self.random.random() < 0.3:
            source = self.random.choice(sorted(tables))
            rows, select = tables[source].rows, f" SELECT id, k FROM {source}"
        table, prefix, clause = Table(rows, partitioned=partitioned), "", ""
        if not partitioned and self.random.random() < 0.3:
            table, prefix = self._refer(tables, name, table)
            clause = f", {table.reference.clause()}" if table.reference is not None else ""
        tables[name] = table
        columns = f"(id INT NOT NULL PRIMARY KEY, k INT, KEY k (k){clause})"
        return f"{prefix}CREATE TABLE {name} {columns} ENGINE=ROCKSDB{parts}{select}"

    def _refer(self, tables: Tables, name: str, table: Table) -> tuple[Table, str]:
        """A table with a foreign key to any that fits, and what its statement needs in front."""
        parents = [
            each
            for each in self.promise.names
            if each == name or each not in tables or tables[each].fits
        ]
        number, self.promise.next_constraint = (
            self.promise.next_constraint,
            self.promise.next_constraint + 1,
        )
        given = f"f{self.promise.client}_{number}" if self.random.random() < 0.5 else ""
        reference = Reference(self._parent(tables, parents), given)
        orphans = ddl_tables.has_orphans(tables, name, table.rows, reference.parent)
        skips = orphans or self.random.random() < 0.2
        return replace(table, reference=reference), UNCHECKED if skips else ""

    def _parent(self, tables: Tables, parents: list[str]) -> str:
        """Mostly one that there is."""
        present = [each for each in parents if each in tables]
        return self.random.choice(present if present and self.random.random() < 0.85 else parents)

    def _change(self, kind: str, tables: Tables, name: str, other: str, free: list[str]) -> str:
        table = tables[name]
        match kind:
            case "truncate" | "drop" | "drop two":
                return self._take(kind, tables, name, other)
            case "alter":
                concerned = ddl_tables.is_concerned(tables, name)
                tables[name], change = self._alter(table, concerned=concerned)
                return f"ALTER TABLE {name} {change}"
            case "add foreign key":
                tables[name], prefix = self._refer(tables, name, table)
                reference = tables[name].reference
                return f"{prefix}ALTER TABLE {name} ADD {reference.clause() if reference else ''}"
            case "drop foreign key":
                tables[name] = replace(table, reference=None)
                shown = table.reference.shown_name(name) if table.reference else ""
                return f"ALTER TABLE {name} DROP FOREIGN KEY {shown}"
            case "copy":
                return f"ALTER TABLE {name} FORCE, ALGORITHM=COPY"
            case "partition":
                tables[name] = replace(table, partitioned=not table.partitioned)
                if table.partitioned:
                    return f"ALTER TABLE {name} REMOVE PARTITIONING"
                return f"ALTER TABLE {name} PARTITION BY HASH (id) PARTITIONS 2"
            case "rename":
                target = self.random.choice(free)
                ddl_tables.rename(tables, {name: target})
                return f"RENAME TABLE {name} TO {target}"
            case "swap":
                ddl_tables.rename(tables, {name: other, other: name})
                return f"RENAME TABLE {name} TO {free[0]}, {other} TO {name}, {free[0]} TO {other}"
        return self._insert(tables, name)

    def _take(self, kind: str, tables: Tables, name: str, other: str) -> str:
        """Takes rows or tables away, with or without children."""
        if kind == "truncate":
            tables[name] = replace(tables[name], rows=frozenset())
            return f"{ddl_tables.unchecked(tables, name)}TRUNCATE TABLE {name}"
        if kind == "drop":
            prefix = ddl_tables.unchecked(tables, name)
            del tables[name]
            return f"{prefix}DROP TABLE {name}"
        prefix = ddl_tables.unchecked(tables, name, other)
        del tables[name], tables[other]
        self.promise.piecewise = True
        return f"{prefix}DROP TABLE {name}, {other}"

    def _insert(self, tables: Tables, name: str) -> str:
        """Rows that have parents, where there are some left; else new ones, which may lack them."""
        table, count, prefix = tables[name], self.random.randint(1, 30), ""
        parent = table.reference.parent if table.reference is not None else name
        without = tables[parent].rows - table.rows if parent in tables else frozenset[int]()
        if without:
            added = sorted(without)[:count]
        else:
            first = self.promise.next_row
            added = list(range(first, first + count))
            self.promise.next_row += count
            prefix = UNCHECKED if parent != name else ""
        tables[name] = replace(table, rows=table.rows | set(added))
        values = ", ".join(f"({n}, {n % 5})" for n in added)
        return f"{prefix}INSERT INTO {name} (id, k) VALUES {values}"

    def _alter(self, table: Table, *, concerned: bool = False) -> tuple[Table, str]:
        """A change in place, and the table after it; foreign keys rule some out."""
        kinds = ["column"] * 4 + ["key", "nullable"]
        kinds += [] if concerned else ["primary key", "force"]
        match self.random.choice(kinds):
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
        if "k" in table.primary:  # It is no table with foreign keys.
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
    found: Tables = {}
    known = ddl_keys.foreign_keys(cursor)
    for schema in SCHEMAS:
        cursor.execute(
            "SELECT table_name, create_options FROM information_schema.tables WHERE "
            f"table_schema = '{schema}' AND table_name LIKE 'c{promise.client}\\_%'"
        )
        for table, options in cursor.fetchall():
            found[f"{schema}.{table}"] = _look(cursor, f"{schema}.{table}", options, known)
    wrong = promise.settle(found)
    if not wrong or (wrong == [definer.MIXTURE] and promise.piecewise):
        return ddl_tables.probe(cursor, found)
    return [*wrong, f"the last statement: {promise.statement[:150]}"]


def _look(cursor: Any, name: str, options: str, known: list[ForeignKey]) -> Table:
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
    reference = ddl_tables.reference_of(known, name)
    table = Table(rows, tuple(columns), primary, keys, "partitioned" in options, reference)
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

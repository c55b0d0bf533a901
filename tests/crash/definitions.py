"""Tables that come, go and change: after a crash each is as before the last statement or after it.

A statement that changes a definition touches the server's file and the engine's dictionary, so a
crash can leave the two apart. Every table that the server lists must open and have its rows; a
table that only the engine knows (an orphan) is reported.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any, TextIO

from tests.crash import definer
from tests.crash.writer import Connect

SCHEMA = "crash_ddl"
NAMES = tuple(f"t{number}" for number in range(6))


@dataclass(frozen=True)
class Table:
    """What one table must look like."""

    columns: int
    rows: int


class Promise(definer.Promise[Table]):
    """What the tables must look like."""

    def __init__(self) -> None:
        super().__init__()
        self.unusable: set[str] = set()


class Definer(definer.Definer[Table]):
    """Changes definitions during one round."""

    promise: Promise

    def __init__(
        self, promise: Promise, connect: Connect, journal: TextIO, random_numbers: random.Random
    ) -> None:
        super().__init__("definer", promise, connect, journal, random_numbers)

    def choose(self, tables: dict[str, Table]) -> str:
        free = [n for n in NAMES if n not in tables and n not in self.promise.unusable]
        if free and (not tables or self.random.random() < 0.3):
            name = self.random.choice(free)
            tables[name] = Table(2, 0)
            return (
                f"CREATE TABLE {SCHEMA}.{name} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, "
                "c0 INT DEFAULT 7, KEY c0 (c0)) ENGINE=ROCKSDB"
            )
        name = self.random.choice(sorted(tables))
        table = tables[name]
        kind = self.random.choices(
            ("insert", "drop", "truncate", "rename", "add"), (4, 2, 2, 3, 3)
        )[0]
        if kind == "drop":
            del tables[name]
            return f"DROP TABLE {SCHEMA}.{name}"
        if kind == "truncate":
            tables[name] = replace(table, rows=0)
            return f"TRUNCATE TABLE {SCHEMA}.{name}"
        if kind == "rename" and free:
            target = self.random.choice(free)
            tables[target] = tables.pop(name)
            return f"RENAME TABLE {SCHEMA}.{name} TO {SCHEMA}.{target}"
        if kind == "add" and table.columns < 8:
            tables[name] = replace(table, columns=table.columns + 1)
            column = f"c{table.columns - 1}"
            # Half of them copy the table, which makes a temporary one on the way.
            how = self.random.choice(("", ", ALGORITHM=COPY"))
            return f"ALTER TABLE {SCHEMA}.{name} ADD COLUMN {column} INT NOT NULL DEFAULT 7{how}"
        count = self.random.randint(1, 40)
        tables[name] = replace(table, rows=table.rows + count)
        return f"INSERT INTO {SCHEMA}.{name} (c0) VALUES {','.join(['(7)'] * count)}"


@dataclass(frozen=True)
class Findings:
    """What a check found: differences from the promise, and what merely is left behind."""

    wrong: list[str]
    left_over: list[str]


def check(promise: Promise, cursor: Any) -> Findings:
    """Compares the tables with the promise after a restart; decides what was under way."""
    import pymysql

    wrong: list[str] = []
    left_over: list[str] = []
    cursor.execute(
        "SELECT table_name FROM information_schema.tables "
        f"WHERE table_schema = '{SCHEMA}' ORDER BY table_name"
    )
    found: dict[str, Table] = {}
    listed = [name for (name,) in cursor.fetchall()]
    for name in listed:
        if name.startswith("#"):
            left_over.append(f"a temporary table that the server lists: {SCHEMA}.{name}")
            continue
        try:
            found[name] = _look(cursor, name)
        except pymysql.MySQLError as error:
            wrong.append(f"{SCHEMA}.{name} is listed but does not open: {error}")
        except ValueError as error:
            wrong.append(str(error))
    was_under_way = promise.pending is not None
    wrong += promise.settle(found)
    if wrong and was_under_way:
        wrong.append(f"(the statement under way: {promise.statement[:120]})")
    left_over += _orphans(promise, listed, cursor)
    return Findings(wrong, left_over)


def _look(cursor: Any, name: str) -> Table:
    cursor.execute(f"SHOW CREATE TABLE {SCHEMA}.{name}")
    cursor.execute(f"SELECT * FROM {SCHEMA}.{name} FORCE INDEX (PRIMARY)")
    rows = cursor.fetchall()
    if any(set(row[1:]) != {7} for row in rows):
        raise ValueError(f"{SCHEMA}.{name} has rows with other values than were written")
    cursor.execute(f"SELECT COUNT(*) FROM {SCHEMA}.{name} FORCE INDEX (c0) WHERE c0 = 7")
    by_index = cursor.fetchone()[0]
    if by_index != len(rows):
        raise ValueError(f"{SCHEMA}.{name}: {by_index} rows by index c0, {len(rows)} by primary")
    return Table(_column_count(cursor, name), len(rows))


def _column_count(cursor: Any, name: str) -> int:
    cursor.execute(f"SHOW COLUMNS FROM {SCHEMA}.{name}")
    return len(cursor.fetchall())


def _orphans(promise: Promise, listed: list[str], cursor: Any) -> list[str]:
    """Names that the server does not list and that the engine yet refuses to make anew."""
    import pymysql

    orphans = []
    for name in NAMES:
        if name in listed or name in promise.unusable:
            continue
        try:
            cursor.execute(f"CREATE TABLE {SCHEMA}.{name} (id INT PRIMARY KEY) ENGINE=ROCKSDB")
            cursor.execute(f"DROP TABLE {SCHEMA}.{name}")
        except pymysql.MySQLError as error:
            promise.unusable.add(name)
            orphans.append(f"the engine has a table that the server does not: {name} ({error})")
    return [*orphans, *_unlisted(cursor)]


def _unlisted(cursor: Any) -> list[str]:
    """Tables that are in the engine's dictionary only, where the engine can be asked."""
    import pymysql

    try:
        cursor.execute(
            "SELECT DISTINCT table_name FROM information_schema.rocksdb_ddl d "
            f"WHERE table_schema = '{SCHEMA}' AND NOT EXISTS (SELECT 1 FROM "
            "information_schema.tables t WHERE t.table_schema = d.table_schema "
            "AND t.table_name = d.table_name)"
        )
    except pymysql.MySQLError:
        return []
    return [f"in the engine's dictionary only: {SCHEMA}.{name}" for (name,) in cursor.fetchall()]

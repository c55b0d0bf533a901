"""No child without its parent, by any index, and tables that are sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.histories.foreign_keys.schema import ForeignKey
from tests.histories.foreign_keys.tables import ALL_KEYS
from tests.histories.workload import SCHEMA

SHOWN_ROWS = 5
ORPHANS = "without their parent"
OUTLIVED = "that have outlived their parent"

# Names of indexes with their columns.
Indexes = dict[str, tuple[str, ...]]


def foreign_keys(cursor: Any) -> list[ForeignKey]:
    """Those that exist."""
    cursor.execute(
        "SELECT k.constraint_name, k.table_name, k.column_name, k.referenced_table_name, "
        "k.referenced_column_name, r.delete_rule, r.update_rule "
        "FROM information_schema.key_column_usage k "
        "JOIN information_schema.referential_constraints r ON "
        "r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name "
        f"AND r.table_name = k.table_name WHERE k.table_schema = '{SCHEMA}' "
        "ORDER BY k.table_name, k.constraint_name, k.ordinal_position"
    )
    found: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for name, child, *column in cursor.fetchall():
        found.setdefault((child, name), []).append(tuple(column))
    return [
        ForeignKey(
            name,
            child,
            tuple(column for column, *_ in columns),
            columns[0][1],
            tuple(parent_column for _, _, parent_column, *_ in columns),
            on_delete=columns[0][3],
            on_update=columns[0][4],
        )
        for (child, name), columns in found.items()
    ]


def indexes(cursor: Any, table: str) -> Indexes:
    cursor.execute(
        "SELECT index_name, column_name FROM information_schema.statistics WHERE "
        f"table_schema = '{SCHEMA}' AND table_name = '{table}' ORDER BY index_name, seq_in_index"
    )
    found: dict[str, tuple[str, ...]] = {}
    for name, column in cursor.fetchall():
        found[name] = (*found.get(name, ()), column)
    return found


def queries(key: ForeignKey, child: Indexes, parent: Indexes) -> Iterator[str]:
    """Queries that find nothing: by each index of the child, and of the parent.

    For children without a parent, and for those with one that is not what they were made for.
    """
    present = " AND ".join(f"c.{column} IS NOT NULL" for column in key.columns)
    leading = [name for name, columns in parent.items() if columns[0] == key.parent_columns[0]]
    for child_hint in (*(f"FORCE INDEX ({name})" for name in child), _ignored(child)):
        for parent_hint in (*(f"FORCE INDEX ({name})" for name in leading), _ignored(parent)):
            yield (
                f"SELECT c.* FROM {key.child} c {child_hint} LEFT JOIN {key.parent} p "
                f"{parent_hint} ON {key.joined()} "
                f"WHERE {present} AND p.{key.parent_columns[0]} IS NULL"
            )
            if key.witness:
                yield (
                    f"SELECT c.*, p.born FROM {key.child} c {child_hint} STRAIGHT_JOIN "
                    f"{key.parent} p {parent_hint} ON {key.joined()} "
                    f"WHERE c.{key.witness} <> p.born"
                )


def what(query: str) -> str:
    """What a query of those finds."""
    return ORPHANS if "LEFT JOIN" in query else OUTLIVED


def _ignored(names: Indexes) -> str:
    return f"IGNORE INDEX ({', '.join(names)})" if names else ""


def broken(cursor: Any, keys: list[ForeignKey], described: dict[str, Indexes]) -> list[str]:
    """What breaks a foreign key."""
    wrong = []
    for key in keys:
        for query in queries(key, described[key.child], described[key.parent]):
            cursor.execute(query)
            if rows := cursor.fetchall():
                wrong.append(
                    f"{len(rows)} rows of {key.child} {what(query)}, by {key.clause()}: "
                    f"{rows[:SHOWN_ROWS]}: {query}"
                )
                break
    return wrong


def check(connect: Callable[[], Any]) -> list[str]:
    """What is wrong with the tables while nobody writes."""
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"USE {SCHEMA}")
        keys = foreign_keys(cursor)
        tables = {key.child for key in keys} | {key.parent for key in keys}
        described = {table: indexes(cursor, table) for table in tables}
        keys = [_with_witness(key) for key in keys]
        wrong = missing(keys) + broken(cursor, keys, described) + counts(cursor, described)
        cursor.execute(f"CHECK TABLE {', '.join(sorted(tables))} EXTENDED")
        said = [row for row in cursor.fetchall() if row[2:] != ("status", "OK")]
    return wrong + [f"CHECK TABLE: {row}" for row in said]


def counts(cursor: Any, described: dict[str, Indexes]) -> list[str]:
    """Tables whose indexes have more or fewer rows than the table."""
    wrong = []
    for table, names in described.items():
        hints = [_ignored(names), *(f"FORCE INDEX ({name})" for name in names)]
        found = {}
        for hint in hints:
            cursor.execute(f"SELECT COUNT(*) FROM {table} {hint}")
            found[hint] = cursor.fetchone()[0]
        if len(set(found.values())) > 1:
            wrong.append(f"rows of {table}: {found}")
    return wrong


def missing(keys: list[ForeignKey]) -> list[str]:
    """Foreign keys that are there at all times, under whatever name, and are not."""
    there = {_what(key) for key in keys}
    return [
        f"gone: {key.clause()} of {key.child}"
        for key in ALL_KEYS
        if key.child != "loose" and _what(key) not in there
    ]


def _what(key: ForeignKey) -> tuple[object, ...]:
    return (
        *(key.child, key.columns, key.parent, key.parent_columns),
        *(key.on_delete, key.on_update),
    )


def _with_witness(key: ForeignKey) -> ForeignKey:
    """A key that exists, with the column of the child that tells which parent it was made for."""
    witness = next((each.witness for each in ALL_KEYS if _what(each) == _what(key)), "")
    return replace(key, witness=witness)

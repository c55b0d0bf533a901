"""Reading a table in pieces by its primary key, whatever columns the key has. Texts of SQL only."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.migrate.link import literal, name
from cairn.migrate.schema import Column, Table, sql_of
from cairn.migrate.ways import NUMBERS

Bound = Sequence[str]  # A literal of SQL for each column of the primary key.


def _as_literal(column: Column) -> str:
    """An expression whose value is the column's value as a literal of SQL, exact to the byte."""
    text = name(column.name)
    if column.type in NUMBERS:
        return f"CAST({text} AS CHAR)"
    if column.type in ("binary", "varbinary"):
        return f"CONCAT('x''', HEX({text}), '''')"
    if column.type in ("char", "varchar"):
        return f"CONCAT({literal(f'_{column.charset} x')}, '''', HEX({text}), '''')"
    return f"CONCAT('''', {text}, '''')"


def after(table: Table, bound: Bound) -> str:
    """The condition of rows behind a bound, as ranges that the optimizer sees."""
    return _beyond(table.primary_key, bound, ">", ">")


def up_to(table: Table, bound: Bound) -> str:
    """The condition of rows up to a bound, that row included."""
    return _beyond(table.primary_key, bound, "<", "<=")


def _beyond(key: Sequence[str], bound: Bound, inner: str, last: str) -> str:
    ranges = []
    for position, column in enumerate(key):
        operator = last if position == len(key) - 1 else inner
        parts = [f"{name(key[before])} = {bound[before]}" for before in range(position)]
        ranges.append(" AND ".join([*parts, f"{name(column)} {operator} {bound[position]}"]))
    return "(" + " OR ".join(f"({part})" for part in ranges) + ")"


def find_bound(table: Table, behind: Bound | None, rows: int) -> str:
    """SELECT of the key of the last row of the next piece; no row: the rest is shorter."""
    literals = ", ".join(_as_literal(table.column(column)) for column in table.primary_key)
    where = f" WHERE {after(table, behind)}" if behind else ""
    order = ", ".join(map(name, table.primary_key))
    return (
        f"SELECT {literals} FROM {sql_of(table.id)} FORCE INDEX (PRIMARY){where} "
        f"ORDER BY {order} LIMIT {rows - 1}, 1"
    )


def copy(
    table: Table, shadow: str, behind: Bound | None, last: Bound | None, *, beside_writers: bool
) -> str:
    """INSERT … SELECT of a piece; without `last`, of all that is behind.

    Beside writers the rows are locked until they are in the shadow, and rows that are there
    already, put by triggers, stay: they are newer.
    """
    columns = ", ".join(map(name, table.stored))
    conditions = []
    if behind:
        conditions.append(after(table, behind))
    if last:
        conditions.append(up_to(table, last))
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    force = " FORCE INDEX (PRIMARY)" if table.primary_key and conditions else ""
    return (
        f"INSERT {'IGNORE ' if beside_writers else ''}INTO {name(table.id[0])}.{name(shadow)} "
        f"({columns}) SELECT {columns} FROM {sql_of(table.id)}{force}{where}"
        f"{' LOCK IN SHARE MODE' if beside_writers else ''}"
    )

"""Changes to single rows, found through an index; what they did is read back row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.acceptance.stock_data.table import (
    BLOBS,
    Column,
    Index,
    Query,
    Table,
    bytes_of,
    quoted,
    rows_of,
)

# New values that one row may not take: a duplicate, no partition for it, a CHECK against it.
REFUSALS = (1062, 1526, 4025)
ATTEMPTS = 8
MANY_COLUMNS = 4


def new_value(column: Column, attempt: int) -> str:
    """A literal that the stored rows hardly have; another one with each attempt."""
    number = attempt + 1
    if column.type in ("bit", "enum", "set"):
        return str(attempt % 3)
    if column.type == "year":
        return str(2030 + number)
    if column.type in ("date", "datetime", "timestamp"):
        return f"'2031-03-{number:02d}'" if attempt % 2 else f"'2031-03-{number:02d} 10:11:12'"
    if column.type == "time":
        return f"'11:12:{number:02d}'"
    if column.type == "uuid":
        return f"'123e4567-e89b-12d3-a456-4266554400{number:02d}'"
    if column.type == "inet6":
        return f"'2001:db8::{number}'"
    if column.type == "inet4":
        return f"'10.1.2.{number}'"
    # Below 100 fits every number; partitions by range end at 20 and 30.
    return f"'{(9 if attempt < ATTEMPTS // 2 else 87) + number}'"


class Changes:
    """The changes to one table; every problem is a line."""

    def __init__(self, table: Table, query: Query) -> None:
        self.table = table
        self.query = query
        self.rows: Counter[tuple[Any, ...]] = rows_of(query, table)
        self.made = 0

    def run(self) -> Iterator[str]:
        """Inserts, updates and deletes by every index of the table."""
        self.query(f"USE {quoted(self.table.schema)}")  # For the alias in DELETE.
        for number, index in enumerate(self.table.ways):
            if not self.rows:
                return
            yield from self._insert(index, number)
            keys = [column for column in index.columns if not _is_blob(column)][:MANY_COLUMNS]
            every = {column for i in self.table.indexes for column in i.columns}
            others = [c for c in self.table.columns if c not in every][:MANY_COLUMNS]
            for column in (*others, *keys):
                yield from self._update(index, number, column)
            if self.rows.total() > 1:
                yield from self._delete(index, number)

    def _insert(self, index: Index, number: int) -> Iterator[str]:
        """A copy of a row under another value of every unique key."""
        unique = {column for i in self.table.indexes if i.unique for column in i.columns}

        def statement(attempt: int) -> str:
            values = ", ".join(
                new_value(c, attempt) if c in unique else c.quoted for c in self.table.columns
            )
            names = ", ".join(column.quoted for column in self.table.columns)
            return (
                f"INSERT INTO {self.table.quoted} ({names}) SELECT {values} "
                f"FROM {self.table.quoted} {self._one_row(index)} LIMIT 1"
            )

        changed = self._attempt(index, number, statement)
        if changed is None:
            return
        gone, come = changed
        if gone or come.total() != 1:
            yield f"INSERT of a copy by {index.name}: {_told(gone, come)}"

    def _update(self, index: Index, number: int, column: Column) -> Iterator[str]:
        def statement(attempt: int) -> str:
            where = f"{self.table.quoted} {self._one_row(index)}"
            target, condition = where.split(" WHERE ", 1)
            return (
                f"UPDATE {target} SET {column.quoted} = {new_value(column, attempt)} "
                f"WHERE {condition} LIMIT 1"
            )

        changed = self._attempt(index, number, statement)
        if changed is None:
            return
        gone, come = changed
        place = self.table.columns.index(column)
        rest = [[(*row[:place], *row[place + 1 :]) for row in rows] for rows in (gone, come)]
        if gone.total() != 1 or come.total() != 1 or rest[0] != rest[1]:
            yield f"UPDATE of {column.name} by {index.name}: {_told(gone, come)}"

    def _delete(self, index: Index, number: int) -> Iterator[str]:
        before = self.rows

        def statement(_: int) -> str:
            return f"DELETE victim FROM {quoted(self.table.name)} AS victim {self._one_row(index)}"

        changed = self._attempt(index, number, statement)
        if changed is None:
            yield f"DELETE by {index.name} finds no row"
            return
        gone, come = changed
        place = [self.table.columns.index(column) for column in index.columns]
        keys = {tuple(row[i] for i in place) for row in gone}
        # Without a row's number, all rows with its key go; a collation may call more keys equal.
        if come or not gone or (index.unique and len(keys) != 1):
            yield f"DELETE by {index.name}: {_told(gone, come)} of {before.total()} rows"

    def _one_row(self, index: Index) -> str:
        """The index and the condition by which it finds the chosen row."""
        equal = " AND ".join(
            f"{column.quoted} <=> @v{number}" for number, column in enumerate(index.columns)
        )
        return f"{index.hint} WHERE {equal}"

    def _choose(self, index: Index, number: int) -> None:
        names = ", ".join(column.quoted for column in index.columns)
        variables = ", ".join(f"@v{i}" for i in range(len(index.columns)))
        order = ", ".join(bytes_of(index.columns))
        self.query(
            f"SELECT {names} INTO {variables} FROM {self.table.quoted} USE INDEX () "
            f"ORDER BY {order} LIMIT {number % self.rows.total()}, 1"
        )

    def _attempt(
        self, index: Index, number: int, statement: Callable[[int], str]
    ) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]]] | None:
        """The rows that went and came; None when no value made a change."""
        import pymysql

        self._choose(index, number)
        for attempt in range(ATTEMPTS):
            try:
                self.query(statement(attempt))
            except pymysql.MySQLError as error:
                if error.args[0] not in REFUSALS:
                    raise
                continue
            after = rows_of(self.query, self.table)
            gone, come = self.rows - after, after - self.rows
            if gone or come:
                self.rows = after
                self.made += 1
                return gone, come
        return None


def _is_blob(column: Column) -> bool:
    return column.type in BLOBS


def _told(gone: Counter[tuple[Any, ...]], come: Counter[tuple[Any, ...]]) -> str:
    return f"gone {list(gone.elements())[:3]}, come {list(come.elements())[:3]}"

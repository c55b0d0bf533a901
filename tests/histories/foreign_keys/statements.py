"""Random statements on the tables; each changes rows of one writer alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.histories.foreign_keys.schema import NOBODY, ForeignKey
from tests.histories.foreign_keys.tables import (
    BATCHES,
    COMMON_VALUES,
    FOREIGN_KEYS,
    NAMES,
    OWN_VALUES,
    OWNED,
    SLOTS,
    TABLES,
    Restricting,
)

NULLS = 0.1


class Statements:
    """Statements of one client, each with a mark of its own."""

    def __init__(self, writer: int, marks: Iterator[int], chance: random.Random) -> None:
        self._me = writer
        self._marks = marks
        self._chance = chance
        self._kinds: tuple[tuple[Callable[[Restricting, int], str], int], ...] = (
            (self._insert, 9),
            (self._insert_or_update, 3),
            (self._insert_selected, 2),
            (self._replace, 3),
            (self._move_child, 5),
            (self._move_parent, 4),
            (self._touch, 1),
            (self._delete, 7),
            (self._delete_joined, 2),
            (self._update_joined, 1),
            (self._lock, 1),
        )

    def any(self, *, nobody: bool = False) -> str:
        """A statement; with `nobody` one that leaves rows of clients alone."""
        chance = self._chance
        writer = NOBODY if nobody or chance.random() < 0.4 else self._me
        table = chance.choice(TABLES if writer == NOBODY else OWNED)
        kinds, weights = zip(*self._kinds, strict=True)
        return str(chance.choices(kinds, weights)[0](table, writer))

    # ---- values ---------------------------------------------------------------------------------

    def _unique(self, writer: int) -> int:
        return self._chance.choice(COMMON_VALUES if writer == NOBODY else OWN_VALUES)

    def _any_value(self) -> int:
        return self._chance.choice((*COMMON_VALUES, *OWN_VALUES))

    def id(self, table: Restricting, writer: int) -> int:
        if table.key == "value":
            return self._unique(writer)
        return writer * 1000 + self._chance.randint(1, SLOTS)

    def _value(self, table: Restricting, column: str, writer: int) -> str:
        if column == "id":
            return str(self.id(table, writer))
        if self._chance.random() < NULLS:
            return "NULL"
        if column == "name":
            return f"'{self._chance.choice(NAMES)}'"
        if column in table.unique:
            return str(self._unique(writer))
        if column in table.batches:
            return str(self._chance.choice(BATCHES))
        return str(self._any_value())

    def _row(self, table: Restricting, writer: int) -> str:
        values = [self._value(table, column, writer) for column in table.columns]
        return f"({', '.join([*values, str(writer), str(next(self._marks))])})"

    def _where(self, table: Restricting, writer: int) -> str:
        """A condition by key, range, secondary index or all of the writer's rows."""
        chance = self._chance
        columns = [column for column in table.columns if column != "name"]
        column = chance.choice(("id", "id", *columns))
        value = self.id(table, writer) if column == "id" else self._any_value()
        condition = chance.choice(
            (
                f"{column} = {value}",
                f"{column} = {value}",
                f"{column} IN ({value}, {self._any_value()})",
                f"{column} BETWEEN {value} AND {value + chance.randint(1, 4)}",
                "TRUE",
            )
        )
        if table.has_name and chance.random() < 0.3:
            condition = f"name = '{chance.choice(NAMES)}' AND {condition}"
        limit = " ORDER BY id LIMIT 1" if chance.random() < 0.1 else ""
        return f"WHERE {condition} AND {table.name}.writer = {writer}{limit}"

    def _ignore(self) -> str:
        return "IGNORE " if self._chance.random() < 0.15 else ""

    # ---- statements -----------------------------------------------------------------------------

    def _into(self, table: Restricting) -> str:
        return f"INTO {table.name} ({', '.join(table.columns)}, writer, mark)"

    def _insert(self, table: Restricting, writer: int) -> str:
        count = self._chance.choice((1, 1, 1, 2, 3))
        rows = ", ".join(self._row(table, writer) for _ in range(count))
        return f"INSERT {self._ignore()}{self._into(table)} VALUES {rows}"

    def _insert_or_update(self, table: Restricting, writer: int) -> str:
        changes = [
            f"{column} = IF(writer = {writer}, {self._value(table, column, writer)}, {column})"
            for column in table.columns[1:]
            if self._chance.random() < 0.5
        ]
        changes.append(f"mark = IF(writer = {writer}, {next(self._marks)}, mark)")
        return f"{self._insert(table, writer)} ON DUPLICATE KEY UPDATE {', '.join(changes)}"

    def _insert_selected(self, _table: Restricting, writer: int) -> str:
        """Children of parents that a condition finds."""
        key = self._chance.choice([k for k in FOREIGN_KEYS if k.child in ("by_pair", "by_batch")])
        names = ", ".join(key.parent_columns)
        return (
            f"INSERT {self._ignore()}INTO {key.child} (id, {', '.join(key.columns)}, writer, mark) "
            f"SELECT {writer * 1000} + id, {names}, {writer}, {next(self._marks)} "
            f"FROM {key.parent} WHERE {key.parent_columns[-1]} >= {self._any_value()} LIMIT 3"
        )

    def _replace(self, table: Restricting, writer: int) -> str:
        if table.is_shared:
            writer = NOBODY
        return f"REPLACE {self._into(table)} VALUES {self._row(table, writer)}"

    def _set(self, table: Restricting, writer: int, columns: tuple[str, ...]) -> str:
        changes = [f"{column} = {self._value(table, column, writer)}" for column in columns]
        return ", ".join([*changes, f"mark = {next(self._marks)}"])

    def _move_child(self, table: Restricting, writer: int) -> str:
        columns = table.children + table.batches + (("name",) if table.has_name else ())
        if not columns:
            return self._move_parent(table, writer)
        some = tuple(self._chance.sample(columns, self._chance.randint(1, len(columns))))
        changes = self._set(table, writer, some)
        return f"UPDATE {self._ignore()}{table.name} SET {changes} {self._where(table, writer)}"

    def _move_parent(self, table: Restricting, writer: int) -> str:
        columns = table.referenced or ("id",)
        changes = self._set(table, writer, (self._chance.choice(columns),))
        return f"UPDATE {self._ignore()}{table.name} SET {changes} {self._where(table, writer)}"

    def _touch(self, table: Restricting, writer: int) -> str:
        changes = f"mark = {next(self._marks)}"
        return f"UPDATE {table.name} SET {changes} {self._where(table, writer)}"

    def _delete(self, table: Restricting, writer: int) -> str:
        return f"DELETE {self._ignore()}FROM {table.name} {self._where(table, writer)}"

    def _pair(self, writer: int) -> tuple[ForeignKey, str]:
        """A child and its parent, and how they are joined, with rows of one writer."""
        owned = [key for key in FOREIGN_KEYS if writer == NOBODY or key.child != "loose"]
        key = self._chance.choice(owned)
        return key, f"{key.child} c JOIN {key.parent} p ON {key.joined()}"

    def _delete_joined(self, _table: Restricting, writer: int) -> str:
        key, joined = self._pair(writer)
        tables = self._chance.choice(("c", "p", "c, p", "p, c"))
        return (
            f"DELETE {self._ignore()}{tables} FROM {joined} WHERE c.writer = {writer} "
            f"AND p.writer = {writer} AND p.{key.parent_columns[-1]} >= {self._any_value()}"
        )

    def _update_joined(self, _table: Restricting, writer: int) -> str:
        key, joined = self._pair(writer)
        return (
            f"UPDATE {joined} SET c.{key.columns[-1]} = {self._any_value()}, "
            f"c.mark = {next(self._marks)}, p.mark = {next(self._marks)} "
            f"WHERE c.writer = {writer} AND p.writer = {writer}"
        )

    def _lock(self, table: Restricting, writer: int) -> str:
        how = self._chance.choice(("FOR UPDATE", "LOCK IN SHARE MODE"))
        return f"SELECT 1 FROM {table.name} {self._where(table, writer)} {how}"

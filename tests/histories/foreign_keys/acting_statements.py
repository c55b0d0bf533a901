"""Random statements on the tables whose foreign keys act; each names rows of one writer alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.histories.foreign_keys.acting import ACTING_KEYS, ACTING_TABLES, Acting
from tests.histories.foreign_keys.schema import NOBODY, STEADY_VALUE, ForeignKey
from tests.histories.plan import MOST_CLIENTS

NULLS = 0.15
ROOTS = 4
KEYS = 8
TOPS = 12
# Of keys and values; those of a client begin with its number.
RANGE = 100
# How often a row of nobody refers to a client's.
TO_OTHERS = 0.25


class ActingStatements:
    """Statements of one client, each with a mark of its own."""

    def __init__(self, writer: int, marks: Iterator[int], chance: random.Random) -> None:
        self._me = writer
        self._marks = marks
        self._chance = chance
        self._kinds: tuple[tuple[Callable[[Acting, int], str], int], ...] = (
            (self._insert, 8),
            (self._insert_witnessed, 12),
            (self._insert_or_update, 2),
            (self._replace, 3),
            (self._move, 7),
            (self._touch, 1),
            (self._delete, 5),
            (self._delete_joined, 2),
            (self._lock, 1),
        )

    def any(self, *, nobody: bool = False) -> str:
        """A statement; with `nobody` one that names no rows of clients."""
        chance = self._chance
        writer = NOBODY if nobody or chance.random() < 0.5 else self._me
        kinds, weights = zip(*self._kinds, strict=True)
        return str(chance.choices(kinds, weights)[0](chance.choice(ACTING_TABLES), writer))

    # ---- values ---------------------------------------------------------------------------------

    def key(self, kind: str, writer: int) -> int:
        """The writer's own value of what rows are found by."""
        count = ROOTS if kind in ("root", "code") else 2 if kind == "batch" else KEYS
        if kind == "slot":
            return self._chance.randint(1, 2) + (0 if writer == NOBODY else 2)
        if kind == "top":
            return self._chance.randint(1, TOPS)
        return writer * RANGE + self._chance.randint(1, count)

    def _value(self, table: Acting, column: str, writer: int) -> str:
        kind = table.kind(column)
        if column == "id":
            return str(self.key(kind, writer))
        needed = table.name == "petal"
        if not needed and self._chance.random() < NULLS:
            return "NULL"
        referred = writer
        if writer == NOBODY and self._is_child(table, column) and kind != "slot":
            referred = self._referred()
        if writer == NOBODY and kind == "slot" and table.name not in ("stem", "bunch"):
            return str(self._chance.randint(1, 4))
        return str(self.key(kind, referred))

    def _referred(self) -> int:
        if self._chance.random() < TO_OTHERS:
            return self._chance.randint(1, MOST_CLIENTS)
        return NOBODY

    def _is_child(self, table: Acting, column: str) -> bool:
        return any(key.child == table.name and column in key.columns for key in ACTING_KEYS)

    def _row(self, table: Acting, writer: int) -> str:
        values = [self._value(table, column, writer) for column in table.columns]
        born = [str(next(self._marks))] if table.has_born else []
        return f"({', '.join([*values, *born, str(writer), str(next(self._marks))])})"

    def _where(self, table: Acting, writer: int) -> str:
        chance = self._chance
        column = chance.choice(("id", "id", *table.columns))
        value = self.key(table.kind(column), writer)
        condition = chance.choice(
            (
                f"{column} = {value}",
                f"{column} = {value}",
                f"{column} IN ({value}, {self.key(table.kind(column), writer)})",
                f"{column} BETWEEN {value} AND {value + chance.randint(1, 4)}",
                "TRUE",
            )
        )
        limit = " ORDER BY id LIMIT 1" if chance.random() < 0.1 else ""
        return f"WHERE {condition} AND {table.name}.writer = {writer}{limit}"

    def _ignore(self) -> str:
        return "IGNORE " if self._chance.random() < 0.1 else ""

    # ---- statements -----------------------------------------------------------------------------

    def _into(self, table: Acting) -> str:
        born = ("born",) if table.has_born else ()
        return f"INTO {table.name} ({', '.join((*table.columns, *born))}, writer, mark)"

    def _insert(self, table: Acting, writer: int) -> str:
        rows = ", ".join(self._row(table, writer) for _ in range(self._chance.choice((1, 1, 2, 3))))
        return f"INSERT {self._ignore()}{self._into(table)} VALUES {rows}"

    def _insert_witnessed(self, _table: Acting, writer: int) -> str:
        """A child of a parent that is locked meanwhile, and whose number it takes."""
        chance = self._chance
        key = chance.choice([key for key in ACTING_KEYS if key.witness])
        child, parent = (_by_name(name) for name in (key.child, key.parent))
        others = [c for c in child.columns if c not in key.columns and c != "top"]
        values = [self._value(child, column, writer) for column in others]
        if child.has_born:
            others.append("born")
            values.append(str(next(self._marks)))
        columns = (*others, *key.columns, key.witness, "writer", "mark")
        found = ", ".join(f"p.{column}" for column in key.parent_columns)
        of = writer if writer != NOBODY else self._referred()
        column = chance.choice(parent.columns)
        condition = chance.choice((f"p.{column} = {self.key(parent.kind(column), of)}", "TRUE"))
        how = chance.choice(("FOR UPDATE", "LOCK IN SHARE MODE"))
        return (
            f"INSERT {self._ignore()}INTO {key.child} ({', '.join(columns)}) "
            f"SELECT {', '.join(values)}, {found}, p.born, {writer}, {next(self._marks)} "
            f"FROM {key.parent} p WHERE {condition} AND p.writer = {of} LIMIT 1 {how}"
        )

    def _insert_or_update(self, table: Acting, writer: int) -> str:
        some = [column for column in table.columns[1:] if self._chance.random() < 0.5]
        changes = self._changes(table, some, writer)
        changes.append(("mark", str(next(self._marks))))
        told = ", ".join(f"{name} = IF(writer = {writer}, {new}, {name})" for name, new in changes)
        return f"{self._insert(table, writer)} ON DUPLICATE KEY UPDATE {told}"

    def _replace(self, table: Acting, writer: int) -> str:
        return f"REPLACE {self._into(table)} VALUES {self._row(table, writer)}"

    def _move(self, table: Acting, writer: int) -> str:
        """New values for what refers to parents, or is referred to."""
        some = self._chance.sample(table.columns, self._chance.choice((1, 1, 2)))
        changes = self._changes(table, some, writer)
        changes.append(("mark", str(next(self._marks))))
        told = ", ".join(f"{name} = {new}" for name, new in changes)
        return f"UPDATE {self._ignore()}{table.name} SET {told} {self._where(table, writer)}"

    def _changes(self, table: Acting, some: list[str], writer: int) -> list[tuple[str, str]]:
        """New values of some columns; none that make a row of the steady root another's as well.

        The other places of that root belong to nobody in particular: a client could not know what
        becomes of its rows there.
        """
        changes = [(column, self._value(table, column, writer)) for column in some]
        if "root" in table.columns and "root" not in some:
            changes = [
                (column, f"IF(root = {STEADY_VALUE}, slot, {new})" if column == "slot" else new)
                for column, new in changes
            ]
        return changes + [(column, "NULL") for column in _outdated(table, some)]

    def _touch(self, table: Acting, writer: int) -> str:
        return f"UPDATE {table.name} SET mark = {next(self._marks)} {self._where(table, writer)}"

    def _delete(self, table: Acting, writer: int) -> str:
        return f"DELETE {self._ignore()}FROM {table.name} {self._where(table, writer)}"

    def _delete_joined(self, _table: Acting, writer: int) -> str:
        key: ForeignKey = self._chance.choice([key for key in ACTING_KEYS if key.parent != "top"])
        tables = self._chance.choice(("c", "p", "c, p", "p, c"))
        value = self.key(_by_name(key.parent).kind(key.parent_columns[-1]), writer)
        return (
            f"DELETE {self._ignore()}{tables} FROM {key.child} c JOIN {key.parent} p "
            f"ON {key.joined()} WHERE c.writer = {writer} AND p.writer = {writer} "
            f"AND p.{key.parent_columns[-1]} >= {value}"
        )

    def _lock(self, table: Acting, writer: int) -> str:
        how = self._chance.choice(("FOR UPDATE", "LOCK IN SHARE MODE"))
        return f"SELECT 1 FROM {table.name} {self._where(table, writer)} {how}"


def _by_name(name: str) -> Acting:
    return next(table for table in ACTING_TABLES if table.name == name)


def _outdated(table: Acting, changed: list[str]) -> list[str]:
    """Columns with a parent's number that may not be right any more."""
    return [
        key.witness
        for key in ACTING_KEYS
        if key.child == table.name and key.witness and set(key.columns) & set(changed)
    ]

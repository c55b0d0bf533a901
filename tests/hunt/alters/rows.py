"""Changes of rows between ALTER TABLE statements.

What a statement does must not depend on the order in which it meets its rows, which is the
engine's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.hunt.alters.column_types import literal
from tests.hunt.alters.tables import Column, Table
from tests.hunt.values import SEVERAL_LEVELS

NUMERIC = ("integer", "decimal", "real")


@dataclass(frozen=True)
class Insert:
    """An INSERT or REPLACE, which the shrinker takes apart."""

    verb: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tail: str = ""

    def sql(self) -> str:
        """The statement."""
        rows = ", ".join(f"({', '.join(row)})" for row in self.rows)
        return f"{self.verb} INTO t ({', '.join(self.columns)}) VALUES {rows}{self.tail}"

    def without_column(self, name: str) -> Insert:
        """Without the values of a column."""
        kept = [at for at, column in enumerate(self.columns) if column != name]
        if not kept:
            return self
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
        )


Statement = str | Insert


def sql_of(statement: Statement) -> str:
    """Its text."""
    return statement if isinstance(statement, str) else statement.sql()


class Changes:
    """Draws statements that change rows of `t`."""

    def __init__(self, chance: Random, table: Table) -> None:
        self._chance = chance
        self._table = table

    def first_rows(self) -> tuple[Insert, ...]:
        """What the table is filled with, by statements that succeed or fail for themselves."""
        chance = self._chance
        count = chance.choice([0, 1, 3, 8, 8, 20, 40])
        columns = self._table.given()
        inserts = []
        for first in range(1, count + 1, 4):
            last = min(count, first + 3)
            rows = tuple(self._row(columns, number) for number in range(first, last + 1))
            inserts.append(Insert("INSERT", tuple(c.name for c in columns), rows))
        return tuple(inserts)

    def draw(self) -> tuple[Statement, ...]:
        """A few statements, in a transaction or each by itself."""
        chance = self._chance
        statements = [self._statement() for _ in range(chance.randint(1, 4))]
        if chance.random() < 0.5:
            return tuple(statements)
        end = "COMMIT" if chance.random() < 0.75 else "ROLLBACK"
        if chance.random() < 0.4:
            at = chance.randint(0, len(statements))
            statements.insert(at, "SAVEPOINT s")
            after = chance.randint(at + 1, len(statements))
            statements.insert(after, "ROLLBACK TO SAVEPOINT s")
        return ("BEGIN", *statements, end)

    def _statement(self) -> Statement:
        pick = self._chance.random()
        if pick < 0.45:
            return self._insert()
        if pick < 0.8:
            return self._update()
        return f"DELETE FROM t WHERE {self._condition(self._chance.random() < 0.8)}"

    # ---- rows -----------------------------------------------------------------------------------

    def _row(self, columns: list[Column], number: int) -> tuple[str, ...]:
        return tuple(
            str(number) if column.name == "id" else self._value(column) for column in columns
        )

    def _value(self, column: Column) -> str:
        pick = self._chance.random()
        if column.increments:
            return "NULL" if pick < 0.7 else str(self._chance.randint(1, 200))
        if column.nullable and pick < 0.15:
            return "NULL"
        if pick > 0.93 and (column.nullable or column.default):
            return "DEFAULT"
        return literal(self._chance, column.type)

    def _insert(self) -> Insert:
        chance = self._chance
        columns = [
            column
            for column in self._table.given()
            if column.name == "id"
            or chance.random() < (0.7 if column.nullable or column.default else 0.97)
        ]
        columns = columns or self._table.given()[:1]
        # How many numbers a statement of several rows takes is left open.
        increments = any(column.increments for column in self._table.columns)
        count = 1 if increments else chance.choice([1, 1, 2, 3])
        rows = tuple(
            self._row(columns, chance.choice([chance.randint(1, 60), chance.randint(1, 9999)]))
            for _ in range(count)
        )
        if increments:
            rows = tuple(tuple(self._value(column) for column in columns) for _ in rows)
        names = tuple(column.name for column in columns)
        pick = chance.random()
        if pick < 0.2:
            return Insert("REPLACE", names, rows)
        if pick < 0.4:
            return Insert("INSERT", names, rows, f" ON DUPLICATE KEY UPDATE {self._assignment()}")
        return Insert("INSERT", names, rows)

    # ---- updates --------------------------------------------------------------------------------

    def _assignment(self) -> str:
        chance = self._chance
        # InnoDB's counter of a partitioned table does not follow an UPDATE; ours does.
        free = [
            each for each in self._table.given() if not (each.increments and self._table.partitions)
        ]
        column = chance.choice(free or list(self._table.columns))
        unique = {
            part.column for index in self._table.indexes if index.unique for part in index.parts
        }
        if column.name == "id" and chance.random() < 0.7:
            return f"id = {chance.randint(1, 9999)}"
        if column.type.family in NUMERIC and column.name not in unique and chance.random() < 0.3:
            return f"{column.name} = {column.name} + 1"
        if column.nullable and chance.random() < 0.2:
            return f"{column.name} = NULL"
        return f"{column.name} = {self._value(column)}"

    def _update(self) -> str:
        assignments = dict(
            each.split(" = ", 1)
            for each in (self._assignment() for _ in range(self._chance.choice([1, 1, 2])))
        )
        text = ", ".join(f"{name} = {value}" for name, value in assignments.items())
        of_key = any(
            part.column in assignments
            for index in self._table.indexes
            if index.unique
            for part in index.parts
        )
        return f"UPDATE t SET {text} WHERE {self._condition(of_key)}"

    def _condition(self, narrow: bool) -> str:
        """Which rows; `narrow`: one or few."""
        chance = self._chance
        column = chance.choice(self._table.columns)
        names = self._table.names()
        if "id" in names and (narrow or chance.random() < 0.4):
            if narrow and chance.random() < 0.8:
                return f"id = {chance.randint(1, 40)}"
            first = chance.randint(1, 40)
            return f"id BETWEEN {first} AND {first + chance.choice([1, 5, 20])}"
        pick = chance.random()
        if pick < 0.15:
            return f"{column.name} IS NULL"
        if pick < 0.25:
            return "TRUE"
        operator = chance.choice(["=", "=", "<", ">=", "<>"])
        if operator in ("<", ">=") and column.type.collation.endswith(SEVERAL_LEVELS):
            operator = "<>"  # InnoDB loses rows by an index of a prefix, which there may be.
        return f"{column.name} {operator} {literal(chance, column.type)}"

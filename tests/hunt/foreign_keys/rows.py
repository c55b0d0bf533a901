"""Draws statements that change rows.

What a statement does must not depend on the order in which an engine meets the rows, so statements
about several rows say in which order: by `id`, which is unique, and by all columns where it may be
NULL.
"""

from __future__ import annotations

from random import Random

from tests.hunt.foreign_keys.schema import Column, ForeignKey, Schema, Table
from tests.hunt.foreign_keys.values import ROWS, value

# Functions; see Definitions.function().
FUNCTIONS = ("fn1", "fn2")
# Files of LOAD DATA begin so.
FILE = "rows-"


class Rows:
    """Draws INSERT, REPLACE, UPDATE and DELETE."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._files = 0

    def draw(self, schema: Schema) -> str | None:
        """A statement; None when there is no table."""
        if not schema.tables:
            return None
        chance = self._chance
        table = chance.choice(schema.tables)
        pick = chance.random()
        if pick < 0.3:
            return self._insert(table) + self._returning(0.05)
        if pick < 0.4:
            return self._change_parent(schema)
        if pick < 0.42:
            return self._load(table)
        if pick < 0.52:
            return self._insert_child(schema, table)
        if pick < 0.76:
            return self._update(table)
        if pick < 0.81:
            return self._update_two(schema)
        if pick < 0.95:
            return self._delete(table) + self._returning(0.1)
        return self._delete_two(schema)

    def first(self, table: Table) -> str:
        """Rows for a fresh table."""
        return f"INSERT IGNORE {self._values(table, self._chance.randint(2, 8))}"

    # ---- values ---------------------------------------------------------------------------------

    def _value(self, column: Column) -> str:
        if column.name == "id":
            return str(self._chance.randint(1, ROWS))
        if column.nullable and self._chance.random() < 0.15:
            return "NULL"
        return value(self._chance, column.kind)

    def _values(self, table: Table, count: int) -> str:
        columns = table.given()
        rows = ", ".join(
            f"({', '.join(self._value(column) for column in columns)})" for _ in range(count)
        )
        return f"INTO {table.sql} ({_names(columns)}) VALUES {rows}"

    def _count(self) -> int:
        return self._chance.choice([1, 1, 1, 2, 3, 5])

    def _ignore(self) -> str:
        return " IGNORE" if self._chance.random() < 0.25 else ""

    def _returning(self, share: float) -> str:
        return " RETURNING id" if self._chance.random() < share else ""

    # ---- INSERT ---------------------------------------------------------------------------------

    def _insert(self, table: Table) -> str:
        chance = self._chance
        pick = chance.random()
        values = self._values(table, self._count())
        if pick < 0.2:
            return f"REPLACE {values}"
        if pick < 0.4:
            column = chance.choice(table.given())
            new = chance.choice([f"VALUES({column.name})", self._value(column)])
            more = f"{column.name} = {new}"
            return f"INSERT{self._ignore()} {values} ON DUPLICATE KEY UPDATE {more}"
        if pick < 0.5:
            columns = table.given()
            names = _names(columns)
            moved = ", ".join(
                f"id + {chance.choice([1, 3, 6])}" if c.name == "id" else c.name for c in columns
            )
            verb = chance.choice(["INSERT", "INSERT IGNORE", "REPLACE"])
            return (
                f"{verb} INTO {table.sql} ({names}) SELECT {moved} FROM {table.sql} "
                f"{_by_id(table)} LIMIT {chance.randint(1, 4)}"
            )
        return f"INSERT{self._ignore()} {values}"

    def _load(self, table: Table) -> str:
        """LOAD DATA of the file of rows that is there; see file()."""
        verb = self._chance.choice(["", "REPLACE ", "IGNORE "])
        names = _names(table.given())
        return f"LOAD DATA INFILE '{FILE}{self._files}' {verb}INTO TABLE {table.sql} ({names})"

    def file(self, schema: Schema) -> str | None:
        """A statement that writes a file of rows for one of the tables."""
        if not schema.tables:
            return None
        self._files += 1
        columns = self._chance.choice(schema.tables).given()
        rows = " UNION ALL ".join(
            f"SELECT {', '.join(self._value(column) for column in columns)}"
            for _ in range(self._chance.randint(1, 5))
        )
        return f"{rows} INTO OUTFILE '{FILE}{self._files}'"

    def _insert_child(self, schema: Schema, table: Table) -> str:
        """Rows with the values of a parent, so that several columns have one."""
        if not table.foreign_keys:
            return self._insert(table)
        key = self._chance.choice(table.foreign_keys)
        parent = schema.table(key.parent)
        if parent is None:
            return self._insert(table)
        found = []
        for column in table.given():
            if column.name in key.columns:
                found.append(f"p.{key.parent_columns[key.columns.index(column.name)]}")
            else:
                found.append(self._value(column))
        verb = self._chance.choice(["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"])
        return (
            f"{verb} INTO {table.sql} ({_names(table.given())}) SELECT {', '.join(found)} "
            f"FROM {parent.sql} p {_by_id(parent, 'p.')} LIMIT {self._chance.choice([1, 1, 2])}"
        )

    # ---- parents --------------------------------------------------------------------------------

    def _change_parent(self, schema: Schema) -> str | None:
        """What foreign keys act upon: a row of a parent goes, or its referenced value does."""
        chance = self._chance
        keys = [key for key in schema.foreign_keys() if schema.table(key.parent)]
        if not keys:
            return None
        key = chance.choice(keys)
        parent = schema.table(key.parent)
        assert parent
        name = chance.choice(key.parent_columns)
        column = parent.column(name)
        if column is None or column.generated:
            return self._delete(parent)
        new = "NULL" if column.nullable and chance.random() < 0.25 else self._value(column)
        pick = chance.random()
        if pick < 0.35:
            return self._delete(parent)
        if pick < 0.75:
            return f"UPDATE{self._ignore()} {parent.sql} SET {name} = {new} {self._which(parent)}"
        values = self._values(parent, self._count())
        if pick < 0.87:
            return f"REPLACE {values}"
        return f"INSERT{self._ignore()} {values} ON DUPLICATE KEY UPDATE {name} = {new}"

    def call(self, schema: Schema) -> str | None:
        """A statement that calls a function, see Definitions.function()."""
        chance = self._chance
        if not schema.tables:
            return None
        table = chance.choice(schema.tables)
        function = f"{chance.choice(FUNCTIONS)}({chance.randint(1, ROWS)})"
        return chance.choice(
            [
                f"SELECT {function}",
                f"INSERT INTO {table.sql} (id) SELECT {function}",
                f"UPDATE {table.sql} SET id = {function} WHERE id = {chance.randint(1, ROWS)}",
            ]
        )

    def deep(self, schema: Schema) -> list[str]:
        """A chain of rows in a table that references its `id`, and what goes along it."""
        chance = self._chance
        keys = [
            key
            for key in schema.foreign_keys()
            if key.parent == key.child and key.parent_columns == ("id",)
        ]
        if not keys:
            return []
        key = chance.choice(keys)
        table = schema.table(key.child)
        column = table.column(key.columns[0]) if table else None
        if table is None or column is None or column.generated or column.name == "id":
            return []
        steps = []
        others = [each for each in table.given() if each.name not in ("id", column.name)]
        for number in range(chance.choice([3, 14, 15, 16, 17, 20])):
            row = [str(100 + number), str(99 + number) if number else "NULL"]
            row += [self._value(each) for each in others]
            names = _names([column, *others])
            steps.append(f"INSERT INTO {table.sql} (id, {names}) VALUES ({', '.join(row)})")
        first = 100 + chance.randint(0, 3)
        steps += chance.choices(
            [
                f"DELETE{self._ignore()} FROM {table.sql} WHERE id = {first}",
                f"DELETE FROM {table.sql} WHERE id >= {first} ORDER BY id DESC LIMIT 9",
                f"UPDATE {table.sql} SET id = id + 50 WHERE id = {first + 1}",
                f"DELETE FROM {table.sql} WHERE id >= 100 ORDER BY id",
            ],
            k=3,
        )
        return steps

    # ---- UPDATE, DELETE -------------------------------------------------------------------------

    def _which(self, table: Table) -> str:
        chance = self._chance
        pick = chance.random()
        if pick < 0.12:
            column = chance.choice(table.columns)
            how = chance.choice(["=", "=", "<>", "<", ">="])
            return f"WHERE {column.name} {how} {value(chance, column.kind)} {_by_id(table)}"
        if pick < 0.6:
            return f"WHERE id = {chance.randint(1, ROWS)}"
        way = chance.choice(["", " DESC"])
        if pick < 0.75:
            first = chance.randint(1, ROWS)
            return f"WHERE id BETWEEN {first} AND {first + 4} ORDER BY id{way}"
        if pick < 0.9:
            return f"{_by_id(table, way=way)} LIMIT {chance.randint(1, 4)}"
        return _by_id(table, way=way)

    def _update(self, table: Table) -> str:
        chance = self._chance
        columns = chance.sample(table.given(), min(len(table.given()), chance.choice([1, 1, 2])))
        sets = []
        for column in columns:
            new = self._value(column)
            others = [c.name for c in table.columns if c.kind == column.kind]
            if column.name == "id" and chance.random() < 0.4:
                new = f"id + {chance.choice([1, 5, 20])}"
            elif chance.random() < 0.15:
                new = chance.choice(others)
            sets.append(f"{column.name} = {new}")
        return f"UPDATE{self._ignore()} {table.sql} SET {', '.join(sets)} {self._which(table)}"

    def _delete(self, table: Table) -> str:
        return f"DELETE{self._ignore()} FROM {table.sql} {self._which(table)}"

    def _joined(self, schema: Schema) -> tuple[ForeignKey, Table, Table, str] | None:
        """A child and its parent, which are read in their own order: the same in both engines."""
        found = [
            (key, child, parent)
            for key in schema.foreign_keys()
            if (child := schema.table(key.child)) and (parent := schema.table(key.parent))
            if not child.is_reverse and not parent.is_reverse
        ]
        if not found:
            return None
        key, child, parent = self._chance.choice(found)
        pairs = zip(key.columns, key.parent_columns, strict=True)
        equal = " AND ".join(f"c.{mine} = p.{theirs}" for mine, theirs in pairs)
        sides = [f"{child.sql} c USE INDEX ()", f"{parent.sql} p USE INDEX ()"]
        self._chance.shuffle(sides)
        return key, child, parent, f"{sides[0]} STRAIGHT_JOIN {sides[1]} ON {equal}"

    def _update_two(self, schema: Schema) -> str | None:
        joined = self._joined(schema)
        if joined is None:
            return None
        _, child, parent, tables = joined
        sets = []
        for table, name in ((child, "c"), (parent, "p")):
            if self._chance.random() < 0.7 or not sets:
                column = self._chance.choice(table.given())
                sets.append(f"{name}.{column.name} = {self._value(column)}")
        where = f"c.id <= {self._chance.randint(1, ROWS)}"
        return f"UPDATE {tables} SET {', '.join(sets)} WHERE {where}"

    def _delete_two(self, schema: Schema) -> str | None:
        joined = self._joined(schema)
        if joined is None:
            return None
        chance = self._chance
        which = chance.choice(["c, p", "p, c", "c", "p"])
        return f"DELETE {which} FROM {joined[3]} WHERE c.id <= {chance.randint(1, ROWS)}"


def _by_id(table: Table, before: str = "", way: str = "") -> str:
    """ORDER BY that says of any two rows which comes first, unless they are equal."""
    named = next((column for column in table.columns if column.name == "id"), None)
    names = ["id"]
    if named is None or named.nullable:
        names += [column.name for column in table.given() if column.name != "id"]
    return "ORDER BY " + ", ".join(f"{before}{name}{way}" for name in names)


def _names(columns: list[Column]) -> str:
    return ", ".join(column.name for column in columns)

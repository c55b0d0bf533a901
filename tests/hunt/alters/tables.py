"""What a table's definition is believed to be, from which the next ALTER TABLE is drawn.

A belief that is wrong, because a statement failed or did more than was thought, does no harm: both
engines are told the same, and must give the same errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.hunt.alters.column_types import Type, constant, of_family, random_type
from tests.hunt.keys import Key, KeyPart, without_columns

# Durations after which no row of a run expires.
TTLS = (2_000_000_000, 3_000_000_000)


@dataclass(frozen=True)
class Column:
    """A column. {0} and so on in its expressions stand for the columns in `needs`."""

    name: str
    type: Type
    nullable: bool = True
    # SQL; empty: none is said.
    default: str = ""
    # VIRTUAL or STORED; `expression` is what it is computed of, or the CHECK.
    generated: str = ""
    expression: str = ""
    check: str = ""
    needs: tuple[str, ...] = ()
    options: str = ""
    increments: bool = False

    def ddl(self) -> str:
        """Its definition."""
        text = f"{self.name} {self.type.sql}"
        if self.generated:
            text += f" AS ({self.expression.format(*self.needs)}) {self.generated}"
        else:
            text += "" if self.nullable else " NOT NULL"
            text += f" DEFAULT {self.default.format(*self.needs)}" if self.default else ""
        text += " AUTO_INCREMENT" if self.increments else ""
        text += f" {self.options}" if self.options else ""
        return text + (f" CHECK ({self.check.format(self.name)})" if self.check else "")

    def renamed(self, names: dict[str, str]) -> Column:
        """With the new names of columns."""
        needs = tuple(names.get(name, name) for name in self.needs)
        return replace(self, name=names.get(self.name, self.name), needs=needs)


@dataclass(frozen=True)
class Table:
    """A definition."""

    columns: tuple[Column, ...]
    indexes: tuple[Key, ...]
    checks: tuple[str, ...] = ()
    options: str = ""
    partitions: str = ""
    # Of the partitions: each unique key must have them.
    partition_columns: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        """Columns and indexes as in CREATE TABLE."""
        return (
            *(column.ddl() for column in self.columns),
            *(index.ddl() for index in self.indexes),
        )

    def names(self) -> list[str]:
        """The names of all columns."""
        return [column.name for column in self.columns]

    def index(self, name: str) -> Key | None:
        """The index of that name."""
        return next((index for index in self.indexes if index.name == name), None)

    def given(self) -> list[Column]:
        """The columns that an INSERT may name."""
        return [column for column in self.columns if not column.generated]

    def with_column(self, column: Column, place: str) -> Table:
        """With one more column; `place` is FIRST, AFTER and a name, or nothing."""
        columns = [each for each in self.columns if each.name != column.name]
        at = len(columns)
        if place == "FIRST":
            at = 0
        elif place:
            after = place.removeprefix("AFTER ")
            at = 1 + next((i for i, each in enumerate(columns) if each.name == after), at)
        elif len(columns) < len(self.columns):
            at = self.names().index(column.name)
        return replace(self, columns=(*columns[:at], column, *columns[at:]))

    def without_column(self, name: str) -> Table:
        """Without a column; indexes lose it."""
        return replace(
            self,
            columns=tuple(column for column in self.columns if column.name != name),
            indexes=without_columns(self.indexes, {name}),
        )

    def renamed(self, names: dict[str, str]) -> Table:
        """With other names of columns."""
        indexes = tuple(index.renamed(names) for index in self.indexes)
        columns = tuple(column.renamed(names) for column in self.columns)
        return replace(self, columns=columns, indexes=indexes)


# ---- drawing -------------------------------------------------------------------------------------

_OPTIONS = ("", "", "", "", "", "INVISIBLE", "COMMENT 'said'")


def random_column(chance: Random, name: str, others: list[Column]) -> Column:
    """A column of any kind; it may be computed of others."""
    of = random_type(chance)
    bases = [column for column in others if not column.generated and not column.increments]
    pick = chance.random()
    if pick < 0.2 and bases:
        return computed_column(chance, name, chance.choice(bases))
    nullable = chance.random() < 0.55
    options = chance.choice(_OPTIONS)
    check = "LENGTH({0}) < 700" if chance.random() < 0.08 else ""
    column = with_default(chance, Column(name, of, nullable, "", check=check), bases)
    if options == "INVISIBLE" and not nullable and column.default in ("", "NULL"):
        options = ""
    return replace(column, options=options)


def with_default(chance: Random, column: Column, bases: list[Column]) -> Column:
    """With a default: none, a constant, the time, or an expression."""
    pick = chance.random()
    if pick < 0.3:
        says_null = column.nullable and chance.random() < 0.5
        return replace(column, default="NULL" if says_null else "")
    if column.type.base in ("DATETIME", "TIMESTAMP") and pick < 0.7:
        moment = f"CURRENT_TIMESTAMP({column.type.size[0]})"
        update = f" ON UPDATE {moment}" if chance.random() < 0.2 else ""
        return replace(column, default=f"{moment}{update}")
    if pick > 0.9 and bases and column.type.family in ("integer", "text"):
        base = chance.choice(bases)
        return replace(column, default="(LENGTH({0}) + 1)", needs=(base.name,))
    if pick > 0.85 and column.type.family == "integer":
        return replace(column, default="(2 + 3)")
    return replace(column, default=constant(chance, column.type))


def computed_column(chance: Random, name: str, base: Column) -> Column:
    """A column that the server computes of another one."""
    # What pads a CHAR to its length is a session's own.
    how = "VIRTUAL" if base.type.base == "CHAR" else chance.choice(["VIRTUAL", "VIRTUAL", "STORED"])
    integer = Type("integer", chance.choice(["INT", "BIGINT"]))
    needs = (base.name,)
    if base.type.family == "integer" and chance.random() < 0.8:
        expression = chance.choice(["{0} % 7", "{0} % 100 + 1", "-({0} % 5)"])
        return Column(name, integer, True, "", how, expression, needs=needs)
    if base.type.base in ("VARCHAR", "TEXT") and chance.random() < 0.8:
        of = Type("text", "VARCHAR", (20,), False, "utf8mb4", "utf8mb4_general_ci")
        return Column(name, of, True, "", how, "LEFT({0}, 3)", needs=needs)
    return Column(name, integer, True, "", how, "IF({0} IS NULL, 1, 2)", needs=needs)


def random_part(chance: Random, column: Column, *, alone: bool) -> KeyPart:
    """A column for an index."""
    descending = chance.random() < 0.25
    of = column.type
    if of.is_blob or (of.is_long and not alone) or (of.may_have_prefix and chance.random() < 0.15):
        most = min(10, of.size[0]) if of.size else 10
        return KeyPart(column.name, chance.randint(1, most), descending)
    return KeyPart(column.name, 0, descending)


def random_index(chance: Random, table: Table, name: str) -> Key:
    """An index over some columns; a unique one mostly has a column whose values are unique."""
    count = min(len(table.columns), chance.choice([1, 1, 1, 2, 2, 3]))
    chosen = chance.sample(table.columns, count)
    unique = name == "PRIMARY" or chance.random() < 0.25
    if name == "PRIMARY":
        chosen = [column for column in chosen if not column.generated]
    if (unique and chance.random() < 0.8) or not chosen:
        own = [column for column in table.columns if column.name == "id"]
        chosen = [*own, *(column for column in chosen if column.name != "id")] or chosen
        if chance.random() < 0.5:
            chosen.reverse()
    chosen = chosen or [table.columns[0]]
    if unique:
        names = [column.name for column in chosen]
        chosen += [
            column
            for column in table.columns
            if column.name in table.partition_columns and column.name not in names
        ]
    parts = [random_part(chance, column, alone=len(chosen) == 1) for column in chosen]
    if unique:
        # Uniqueness of a partition's column holds only for all of it.
        parts = [
            replace(part, prefix=0) if part.column in table.partition_columns else part
            for part in parts
        ]
    return Key(name, tuple(parts), unique)


def random_table(chance: Random, partitions: str = "") -> Table:
    """A table to begin with: `id` has another value in each row, and decides on the partition."""
    pick = chance.random()
    of = Type("integer", chance.choice(["INT", "INT", "BIGINT"]))
    own = Column("id", of, False, increments=pick < 0.2)
    columns = [own]
    for number in range(chance.randint(1, 6)):
        columns.append(random_column(chance, f"c{number}", columns))
    if chance.random() < 0.3:
        text = of_family(chance, "text")
        columns.append(Column("u", text, chance.random() < 0.5))
    table = Table(tuple(columns), (), partitions=partitions)
    if partitions:
        table = replace(table, partition_columns=("id",))
    indexes = []
    if pick < 0.5:
        indexes.append(Key("PRIMARY", (KeyPart("id", 0, chance.random() < 0.25),), True))
    elif pick < 0.8:
        indexes.append(random_index(chance, table, "PRIMARY"))
    indexes += [random_index(chance, table, f"k{n}") for n in range(chance.choice([0, 1, 2, 2, 3]))]
    options = f" COMMENT='ttl_duration={TTLS[0]}'" if chance.random() < 0.15 else ""
    return replace(table, indexes=tuple(indexes), options=options)

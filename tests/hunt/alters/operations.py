"""Random ALTER TABLE statements: what their clauses say, and what the table is then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.hunt.alters.column_types import COMMON_COLLATIONS, changed_type, constant, enlarged_type
from tests.hunt.alters.tables import (
    TTLS,
    Column,
    Table,
    random_column,
    random_index,
    with_default,
)
from tests.hunt.keys import Key


@dataclass(frozen=True)
class Clause:
    """A part of a statement. Some operations need two that make no sense alone."""

    text: str
    # Its kind, for titles and counts.
    operation: str


Drawn = tuple[tuple[Clause, ...], Table]


class Operations:
    """Draws the clauses of one statement."""

    def __init__(self, chance: Random, table: Table, serial: int) -> None:
        self._chance = chance
        self.table = table
        # Columns that the statement has made or changed: its other clauses leave them alone.
        self._touched: set[str] = set()
        self.serial = serial

    def draw(self) -> tuple[Clause, ...]:
        """The clauses of a statement; `table` is then as it will be."""
        count = self._chance.choice([1, 1, 1, 1, 1, 1, 2, 2, 3, 4])
        clauses: list[Clause] = []
        while len(clauses) < count:
            [draw] = self._chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
            drawn = draw(self)
            if drawn is None or any(self._repeats(clause, clauses) for clause in drawn[0]):
                # A statement can be drawn of any table: what cannot be is tried again.
                continue
            clauses += drawn[0]
            self.table = drawn[1]
        return tuple(clauses)

    @staticmethod
    def _repeats(clause: Clause, clauses: list[Clause]) -> bool:
        once = ("COMMENT", "AUTO_INCREMENT", "ROW_FORMAT", "CONVERT TO", "FORCE", "PRIMARY KEY")
        same = [each for each in clauses if each.operation == clause.operation]
        return bool(same) and clause.operation.endswith(once)

    # ---- helpers --------------------------------------------------------------------------------

    def _name(self, letter: str) -> str:
        self.serial += 1
        return f"{letter}{self.serial}"

    def _column(self) -> Column | None:
        """A column that the statement has left alone."""
        free = [column for column in self.table.columns if column.name not in self._touched]
        # What others are computed of cannot be dropped or changed: rarely.
        needed = {name for column in self.table.columns for name in column.needs}
        needed |= set(self.table.partition_columns)
        if self._chance.random() < 0.9:
            free = [column for column in free if column.name not in needed] or free
        if not free:
            return None
        column = self._chance.choice(free)
        return column

    def _place(self) -> str:
        pick = self._chance.random()
        if pick < 0.6:
            return ""
        if pick < 0.7:
            return "FIRST"
        others = [name for name in self.table.names() if name not in self._touched]
        return f"AFTER {self._chance.choice(others)}" if others else ""

    # ---- columns --------------------------------------------------------------------------------

    def add_column(self) -> Drawn | None:
        """ADD COLUMN of any kind at any place."""
        if len(self.table.columns) > 14:
            return None
        bases = [column for column in self.table.columns if column.name not in self._touched]
        column = random_column(self._chance, self._name("c"), bases)
        place = self._place()
        self._touched |= {column.name, *column.needs, place.removeprefix("AFTER ")}
        table = self.table.with_column(column, place)
        operation = f"ADD {column.generated} COLUMN".replace("  ", " ")
        return (Clause(f"ADD COLUMN {column.ddl()} {place}".rstrip(), operation),), table

    def drop_column(self) -> Drawn | None:
        """DROP COLUMN; `id` mostly stays."""
        column = self._column()
        if column is None or len(self.table.columns) - len(self._touched) < 3:
            return None
        if column.name == "id" and self._chance.random() < 0.9:
            return None
        self._touched.add(column.name)
        operation = f"DROP {column.generated} COLUMN".replace("  ", " ")
        return (Clause(f"DROP COLUMN {column.name}", operation),), self.table.without_column(
            column.name
        )

    def modify(self) -> Drawn | None:
        """MODIFY or CHANGE: the type, NULL, the default, options, the place; mostly one of them."""
        column = self._column()
        if column is None:
            return None
        chance = self._chance
        new, place = column, ""
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            pick = chance.random()
            if pick < 0.55:
                new = replace(new, type=changed_type(chance, new.type))
                if new.default and not new.default.startswith(("NULL", "(")):
                    new = replace(new, default=constant(chance, new.type))
            elif pick < 0.7 and not new.generated:
                new = replace(new, nullable=not new.nullable)
                if new.default == "NULL":
                    new = replace(new, default="")
            elif pick < 0.78 and not new.generated and not new.increments:
                new = with_default(chance, replace(new, needs=()), [])
            elif pick < 0.86:
                options = ["", "COMMENT 'more'", *(["INVISIBLE"] if new.nullable else [])]
                new = replace(new, options=chance.choice(options))
            elif pick < 0.96:
                place = self._place()
            else:
                new = replace(new, check=chance.choice(["", "LENGTH({0}) < 800"]))
        self._touched |= {column.name, new.name, place.removeprefix("AFTER ")}
        if chance.random() < 0.15:
            new = replace(new, name=self._name("c"))
            self._touched.add(new.name)
            text = f"CHANGE {column.name} {new.ddl()} {place}".rstrip()
            table = self.table.renamed({column.name: new.name}).with_column(new, place)
            return (Clause(text, "CHANGE"),), table
        if place == f"AFTER {column.name}":
            place = ""
        text = f"MODIFY {new.ddl()} {place}".rstrip()
        return (Clause(text, "MODIFY"),), self.table.with_column(new, place)

    def enlarge(self) -> Drawn | None:
        """MODIFY that only makes a column hold more, of a VARCHAR mostly."""
        free = [column for column in self.table.columns if column.name not in self._touched]
        texts = [column for column in free if column.type.base == "VARCHAR"]
        if texts and self._chance.random() < 0.6:
            free = texts
        if not free:
            return None
        column = self._chance.choice(free)
        of = enlarged_type(self._chance, column.type)
        if of is None:
            return None
        self._touched.add(column.name)
        new = replace(column, type=of)
        return (Clause(f"MODIFY {new.ddl()}", "MODIFY"),), self.table.with_column(new, "")

    def rename_column(self) -> Drawn | None:
        """RENAME COLUMN, of two by each other's names as well."""
        column, other = self._column(), self._column()
        if column is None or other is None:
            return None
        if other.name != column.name and self._chance.random() < 0.3:
            self._touched |= {column.name, other.name}
            names = {column.name: other.name, other.name: column.name}
        elif column.name == "id" and self._chance.random() < 0.8:
            return None
        else:
            names = {column.name: self._name("c")}
            self._touched |= {column.name, names[column.name]}
        clauses = tuple(
            Clause(f"RENAME COLUMN {old} TO {new}", "RENAME COLUMN") for old, new in names.items()
        )
        return clauses, self.table.renamed(names)

    def set_default(self) -> Drawn | None:
        """ALTER COLUMN."""
        column = self._column()
        if column is None or column.generated:
            return None
        self._touched.add(column.name)
        value = constant(self._chance, column.type)
        text, new = f"ALTER {column.name} SET DEFAULT {value}", value
        if self._chance.random() < 0.3:
            text, new = f"ALTER {column.name} DROP DEFAULT", ""
        table = self.table.with_column(replace(column, default=new), "")
        return (Clause(text, "ALTER COLUMN"),), table

    # ---- indexes --------------------------------------------------------------------------------

    def add_index(self) -> Drawn | None:
        """ADD INDEX and ADD UNIQUE INDEX, of new columns too."""
        if len(self.table.indexes) > 7:
            return None
        index = random_index(self._chance, self.table, self._name("k"))
        if self._chance.random() < 0.1:
            index = replace(index, ignored=True)
        indexes = (*self.table.indexes, index)
        operation = "ADD UNIQUE INDEX" if index.unique else "ADD INDEX"
        self._touched |= {part.column for part in index.parts}
        return (Clause(f"ADD {index.ddl()}", operation),), replace(self.table, indexes=indexes)

    def drop_index(self) -> Drawn | None:
        """DROP INDEX, sometimes with another one under its name."""
        named = [index for index in self.table.indexes if index.name != "PRIMARY"]
        if not named:
            return None
        index = self._chance.choice(named)
        others = tuple(each for each in self.table.indexes if each != index)
        clauses = [Clause(f"DROP INDEX {index.name}", "DROP INDEX")]
        if self._chance.random() < 0.3:
            new = random_index(self._chance, self.table, index.name)
            if self._chance.random() < 0.3:
                new = replace(new, parts=index.parts)
            # In place, the server takes one that is the same for the old one, and it stays IGNORED.
            new = replace(new, ignored=index.ignored)
            self._touched |= {part.column for part in new.parts}
            others = (*others, new)
            clauses.append(Clause(f"ADD {new.ddl()}", "ADD INDEX"))
        return tuple(clauses), replace(self.table, indexes=others)

    def rename_index(self) -> Drawn | None:
        """RENAME INDEX."""
        return self._altered_index(
            "RENAME INDEX {0} TO {1}", lambda index: replace(index, name=self._name("k"))
        )

    def ignore_index(self) -> Drawn | None:
        """ALTER INDEX ... IGNORED."""
        drawn = self._altered_index("", lambda index: replace(index, ignored=not index.ignored))
        if drawn is None:
            return None
        index = drawn[1].indexes[-1]
        word = "IGNORED" if index.ignored else "NOT IGNORED"
        return (Clause(f"ALTER INDEX {index.name} {word}", "ALTER INDEX"),), drawn[1]

    def _altered_index(self, text: str, change: Callable[[Key], Key]) -> Drawn | None:
        named = [index for index in self.table.indexes if index.name != "PRIMARY"]
        if not named:
            return None
        old = self._chance.choice(named)
        new = change(old)
        others = [each for each in self.table.indexes if each != old]
        table = replace(self.table, indexes=(*others, new))
        return (Clause(text.format(old.name, new.name), "RENAME INDEX"),), table

    def primary_key(self) -> Drawn | None:
        """ADD, DROP, or both."""
        old = self.table.index("PRIMARY")
        others = tuple(index for index in self.table.indexes if index != old)
        clauses = [Clause("DROP PRIMARY KEY", "DROP PRIMARY KEY")] if old else []
        table = replace(self.table, indexes=others)
        if old is None or self._chance.random() < 0.6:
            new = random_index(self._chance, table, "PRIMARY")
            self._touched |= {part.column for part in new.parts}
            clauses.append(Clause(f"ADD {new.ddl()}", "ADD PRIMARY KEY"))
            table = replace(table, indexes=(new, *others))
        return tuple(clauses), table

    # ---- the rest -------------------------------------------------------------------------------

    def add_check(self) -> Drawn | None:
        """ADD CONSTRAINT ... CHECK."""
        column = self._column()
        if column is None or len(self.table.checks) > 2:
            return None
        name = self._name("r")
        condition = self._chance.choice(["{0} IS NOT NULL OR TRUE", "LENGTH({0}) < 900", "{0} > 0"])
        text = f"ADD CONSTRAINT {name} CHECK ({condition.format(column.name)})"
        table = replace(self.table, checks=(*self.table.checks, name))
        return (Clause(text, "ADD CHECK"),), table

    def drop_check(self) -> Drawn | None:
        """DROP CONSTRAINT."""
        if not self.table.checks:
            return None
        name = self._chance.choice(self.table.checks)
        checks = tuple(each for each in self.table.checks if each != name)
        table = replace(self.table, checks=checks)
        return (Clause(f"DROP CONSTRAINT {name}", "DROP CHECK"),), table

    def option(self) -> Drawn | None:
        """An option of the table."""
        chance = self._chance
        clause = chance.choice(
            [
                Clause(f"COMMENT='{self._name('said ')}'", "COMMENT"),
                Clause(f"COMMENT='ttl_duration={chance.choice(TTLS)}'", "ttl_duration COMMENT"),
                Clause(f"AUTO_INCREMENT={chance.choice([1, 50, 5000, 90000])}", "AUTO_INCREMENT"),
                Clause(f"ROW_FORMAT={chance.choice(['DYNAMIC', 'DEFAULT'])}", "ROW_FORMAT"),
                Clause("STATS_PERSISTENT=1", "option"),
                Clause("DEFAULT CHARACTER SET utf8mb4", "DEFAULT CHARACTER SET"),
            ]
        )
        return (clause,), self.table

    def convert(self) -> Drawn | None:
        """CONVERT TO CHARACTER SET."""
        character_set, collation = self._chance.choice(COMMON_COLLATIONS)
        columns = tuple(
            replace(
                column,
                type=replace(column.type, character_set=character_set, collation=collation),
            )
            if column.type.character_set and column.name not in self._touched
            else column
            for column in self.table.columns
        )
        self._touched |= set(self.table.names())
        text = f"CONVERT TO CHARACTER SET {character_set} COLLATE {collation}"
        return (Clause(text, "CONVERT TO"),), replace(self.table, columns=columns)

    def force(self) -> Drawn | None:
        """FORCE."""
        return (Clause("FORCE", "FORCE"),), self.table


_WEIGHTS: dict[Callable[[Operations], Drawn | None], float] = {
    Operations.add_column: 20,
    Operations.drop_column: 18,
    Operations.modify: 25,
    Operations.enlarge: 20,
    Operations.rename_column: 6,
    Operations.set_default: 4,
    Operations.add_index: 10,
    Operations.drop_index: 5,
    Operations.rename_index: 2,
    Operations.ignore_index: 2,
    Operations.primary_key: 5,
    Operations.add_check: 3,
    Operations.drop_check: 3,
    Operations.option: 6,
    Operations.convert: 2,
    Operations.force: 2,
}

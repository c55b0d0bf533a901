"""Draws CREATE TABLE statements, and foreign keys between the tables that there are."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from tests.hunt.foreign_keys.schema import HERE, Column, Index, Schema, Table
from tests.hunt.foreign_keys.values import BLOB, OF_KEYS, fit, random_type, virtual

# RESTRICT is for CREATE TABLE: InnoDB shows it as NO ACTION if ALTER TABLE has added it in place.
RULES = ("", "", " ON DELETE NO ACTION", " ON UPDATE NO ACTION")
RULES_OF_CREATE = (
    *RULES,
    " ON DELETE RESTRICT",
    " ON DELETE RESTRICT ON UPDATE NO ACTION",
    " ON DELETE NO ACTION ON UPDATE RESTRICT",
)
ACTIONS = ("CASCADE", "CASCADE", "SET NULL", "NO ACTION")
NAMES = "abcde"
VIRTUAL = "hij"


class Tables:
    """Draws definitions; the classes of columns are few in a round, so that many fit."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.kinds = ["int(11)", *chance.sample(OF_KEYS, chance.choice([1, 2, 3]))]
        # How often a foreign key has actions that change rows.
        self._acts = chance.choice([0.1, 0.7, 0.9, 1.0])
        # Whether the session may give NOT NULL columns the NULL of their parents.
        self.is_lax = False
        self._number = 0
        self._last = Table(HERE, "", (), (), ())

    def drawn(self) -> Table:
        """The table that was drawn last, for foreign keys in the same statement."""
        return self._last

    def create(self, name: str) -> str:
        """A table without foreign keys."""
        chance = self._chance
        counts = chance.random() < 0.15
        lines, kinds = (
            ["id INT AUTO_INCREMENT" if counts else "id INT"],
            {"id": "int(11)"},
        )
        columns = [Column("id", "int(11)", not counts, False)]
        for column in NAMES[: chance.randint(1, len(NAMES))]:
            kind = chance.choice(self.kinds)
            null = "" if chance.random() < 0.7 else " NOT NULL"
            lines.append(f"{column} {random_type(chance, kind)}{null}")
            kinds[column] = kind
            columns.append(Column(column, kind, not null, False))
        if chance.random() < 0.2:
            source = chance.choice([each for each in kinds if each != "id"])
            sql = random_type(chance, kinds[source])
            lines.append(f"g {sql} AS ({source}) PERSISTENT")
            kinds["g"] = kinds[source]
            columns.append(Column("g", kinds[source], True, True, source))
        if chance.random() < 0.2:
            lines.append(f"z {random_type(chance, BLOB)}")
            columns.append(Column("z", BLOB, True, False))
        keys = self._keys(kinds)
        for column in self._virtual(columns):
            lines.append(column)
        keys += self._keys_of_the_server(columns)
        by_id = keys[0].startswith("PRIMARY")
        # The index that a reference to itself may use.
        indexes = (Index("PRIMARY", True, ("id",), (True,)),) if by_id else ()
        primary = re.findall(r"\w+", " ".join(key for key in keys if key.startswith("PRIMARY")))
        columns = [
            replace(each, nullable=False) if each.name in primary else each for each in columns
        ]
        self._last = Table(HERE, name, tuple(columns), indexes, ())
        versions = " WITH SYSTEM VERSIONING" if chance.random() < 0.12 else ""
        return f"CREATE TABLE {name} ({', '.join([*lines, *keys])}){versions}"

    def _virtual(self, columns: list[Column]) -> list[str]:
        """Virtual columns of those that there are, or of one another."""
        chance = self._chance
        if chance.random() < 0.6:
            return []
        lines = []
        for name in VIRTUAL[: chance.choice([1, 1, 2, 3])]:
            text, column = self.virtual_column(name, columns)
            lines.append(text)
            columns.append(column)
        return lines

    def virtual_column(self, name: str, columns: list[Column]) -> tuple[str, Column]:
        """The definition of a virtual column of one of these."""
        source = self._chance.choice([each for each in columns if each.name != "id"])
        sql, kind, expression = virtual(self._chance, source.name, source.kind)
        text = f"{name} {sql} AS ({expression}) VIRTUAL"
        return text, Column(name, kind, True, True, virtual=True)

    def _keys_of_the_server(self, columns: list[Column]) -> list[str]:
        """Indexes whose entries are made of what the server computes."""
        chance = self._chance
        keys = []
        for column in columns:
            if column.virtual and chance.random() < 0.85:
                keys.append(self.key_of(f"v{len(keys)}", column, columns))
            if column.kind == BLOB and chance.random() < 0.4:
                keys.append(self.long_unique(f"l{len(keys)}", column, columns))
        return keys

    def key_of(self, name: str, column: Column, columns: list[Column]) -> str:
        """An index of a column, and of others perhaps."""
        chance = self._chance
        if column.kind == BLOB:
            return f"KEY {name} ({column.name}({chance.choice([1, 4, 30])}))"
        parts = [column.name]
        others = [each.name for each in columns if each.kind != BLOB and each != column]
        parts += chance.sample(others, min(len(others), chance.choice([0, 0, 1])))
        chance.shuffle(parts)
        prefix = "_" in column.kind and chance.random() < 0.2
        parts = [f"{part}(2)" if prefix and part == column.name else part for part in parts]
        unique = "UNIQUE " if chance.random() < 0.15 else ""
        return f"{unique}KEY {name} ({', '.join(parts)})"

    def long_unique(self, name: str, column: Column, columns: list[Column]) -> str:
        """A UNIQUE key of a BLOB: its whole, or the begin; with other columns mostly."""
        chance = self._chance
        others = [each.name for each in columns if each != column and not each.virtual]
        parts = [f"{column.name}{chance.choice(['', '', '(2)'])}"]
        parts += chance.sample(others, min(len(others), chance.choice([0, 1, 1, 2])))
        chance.shuffle(parts)
        return f"UNIQUE KEY {name} ({', '.join(parts)})"

    def _keys(self, kinds: dict[str, str]) -> list[str]:
        chance = self._chance
        others = [column for column in kinds if column != "id"]
        keys = []
        pick = chance.random()
        if pick < 0.45:
            keys.append(f"PRIMARY KEY (id{chance.choice(['', '', ' DESC'])}){self._family()}")
        else:
            keys.append("UNIQUE KEY id (id)")
            if pick < 0.65:
                keys.append(f"PRIMARY KEY ({self.parts([*others, 'id'])}){self._family()}")
            elif pick < 0.8:
                keys.append(f"PRIMARY KEY ({chance.choice(others)}, id)")
        for number in range(chance.randint(0, 3)):
            unique = "UNIQUE " if chance.random() < 0.25 else ""
            keys.append(f"{unique}KEY k{number} ({self.parts([*others, 'id'])}){self._family()}")
        return keys

    def parts(self, columns: list[str]) -> str:
        """Columns of an index."""
        chance = self._chance
        count = min(len(columns), chance.choice([1, 1, 2, 2, 3]))
        return ", ".join(
            f"{column}{' DESC' if chance.random() < 0.15 else ''}"
            for column in chance.sample(columns, count)
        )

    def _family(self) -> str:
        pick = self._chance.random()
        if pick < 0.1:
            return " COMMENT 'cfname=rev:hunt_r'"
        return " COMMENT 'cfname=hunt_f'" if pick < 0.2 else ""

    def index(self, table: Table) -> str:
        """An index to add, perhaps of a prefix."""
        self._number += 1
        chance = self._chance
        name = f"n{self._number}"
        odd = [each for each in table.columns if each.virtual or each.kind == BLOB]
        if odd and chance.random() < 0.4:
            column = chance.choice(odd)
            draw = chance.choice(
                [self.key_of, self.long_unique] if column.kind == BLOB else [self.key_of]
            )
            return draw(name, column, list(table.columns))
        strings = [column.name for column in table.columns if "_" in column.kind]
        if strings and chance.random() < 0.15:
            return f"KEY {name} ({chance.choice(strings)}(2))"
        unique = "UNIQUE " if chance.random() < 0.2 else ""
        parts = self.parts([column.name for column in table.of_keys()])
        return f"{unique}KEY {name} ({parts}){self._family()}"

    # ---- foreign keys ---------------------------------------------------------------------------

    def foreign_key(self, schema: Schema, child: Table, *, creates: bool = False) -> str | None:
        """A foreign key of a table, mostly one that fits; None when there is none."""
        chance = self._chance
        draw = self._any if chance.random() < 0.1 else self._fitting
        found = draw(schema, child)
        if found is None:
            return None
        mine, parent, theirs = found
        pairs = list(zip(mine, theirs, strict=True))
        name = f"CONSTRAINT {self.constraint()} " if chance.random() < 0.4 else ""
        where = parent.name if parent.database == child.database else parent.full
        match = " MATCH SIMPLE" if chance.random() < 0.05 else ""
        has_nulls = any(self._may_hand_null(child, a, parent, b) for a, b in pairs)
        rules = self._rules(child, mine, creates=creates, has_nulls=has_nulls)
        return (
            f"{name}FOREIGN KEY ({', '.join(mine)}) REFERENCES {where} ({', '.join(theirs)})"
            f"{match}{rules}"
        )

    def _may_hand_null(self, child: Table, name: str, parent: Table, of_parent: str) -> bool:
        mine, theirs = child.column(name), parent.column(of_parent)
        return bool(mine and theirs and theirs.nullable and not mine.nullable)

    def _rules(
        self,
        child: Table,
        mine: list[str],
        *,
        creates: bool = False,
        has_nulls: bool = False,
    ) -> str:
        """Actions; SET NULL mostly where the columns take NULL."""
        chance = self._chance
        if chance.random() >= self._acts:
            return chance.choice(RULES_OF_CREATE if creates else RULES)
        columns = [column for column in child.columns if column.name in mine]
        stays = any(child.feeds(name) for name in mine)
        takes = all(column.nullable for column in columns) or chance.random() < 0.04
        fits = [
            action
            for action in ACTIONS
            if action != "SET NULL" or (takes and not any(column.generated for column in columns))
        ]
        delete = chance.choice(fits)
        # Ours refuses to change what a stored column is made of.
        if stays:
            return " ON DELETE CASCADE" if delete == "CASCADE" else ""
        update = chance.choice(fits)
        if update == "CASCADE" and has_nulls and not self.is_lax:
            update = "NO ACTION"
        pick = chance.random()
        if pick < 0.2:
            return f" ON DELETE {delete}"
        if pick < 0.4:
            return f" ON UPDATE {update}"
        return f" ON DELETE {delete} ON UPDATE {update}"

    def constraint(self) -> str:
        """A name of a constraint, in use or not."""
        return f"f{self._chance.randint(1, 40)}"

    def _fitting(self, schema: Schema, child: Table) -> tuple[list[str], Table, list[str]] | None:
        chance = self._chance
        for _ in range(20):
            parent = child if chance.random() < 0.1 else chance.choice(schema.tables)
            if not parent.indexes:
                continue
            index = self._index_of(parent)
            theirs = list(index.leading())[: chance.choice([1, 1, 2, 3])]
            if parent.full == child.full and index.name != "PRIMARY":
                continue
            mine: list[str] = []
            for name in theirs:
                column = parent.column(name)
                fits = [
                    each.name
                    for each in child.columns
                    if column
                    and each.kind == column.kind
                    and not (column.virtual or each.virtual)
                    and each.name not in mine
                    and (parent.full != child.full or each.name != theirs[0])
                    and (each.name != "id" or chance.random() < 0.3)
                ]
                if fits:
                    mine.append(chance.choice(fits))
            if mine and len(mine) == len(theirs):
                return mine, parent, theirs
        return None

    def _index_of(self, parent: Table) -> Index:
        """An index of a parent; often one of its foreign keys, for chains."""
        foreign = [each.columns[0] for each in parent.foreign_keys]
        chained = [each for each in parent.indexes if each.columns[0] in foreign]
        if chained and self._chance.random() < 0.5:
            return self._chance.choice(chained)
        return self._chance.choice(parent.indexes)

    def _any(self, schema: Schema, child: Table) -> tuple[list[str], Table, list[str]] | None:
        """Columns of any kind, with an index or without: mostly refused."""
        chance = self._chance
        parent = chance.choice(schema.tables)
        if parent.full == child.full:
            return None
        of_parent, of_child = (
            [column for column in table.columns if not column.virtual] for table in (parent, child)
        )
        count = min(len(of_parent), len(of_child), chance.choice([1, 1, 2]))
        theirs = chance.sample(of_parent, count)
        mine = chance.sample(of_child, count)
        if not all(fit(a.kind, b.kind) for a, b in zip(mine, theirs, strict=True)):
            return None
        return [each.name for each in mine], parent, [each.name for each in theirs]

    def missing(self, schema: Schema, child: Table, names: list[str]) -> str | None:
        """A foreign key whose parent is not there, or not yet."""
        gone = [
            name for name in names if schema.table(f"{HERE}.{name}") is None and name != child.name
        ]
        if not gone:
            return None
        # Its unique `id` is the one thing that each table has.
        fits = [
            column.name
            for column in child.columns
            if column.kind == "int(11)" and column.name != "id" and not column.virtual
        ]
        if not fits:
            return None
        where = f"{HERE}.{self._chance.choice(gone)}"
        mine = self._chance.choice(fits)
        return f"FOREIGN KEY ({mine}) REFERENCES {where} (id){self._rules(child, [mine])}"

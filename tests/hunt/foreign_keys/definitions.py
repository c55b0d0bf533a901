"""Draws statements that change definitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.hunt.foreign_keys.rows import FUNCTIONS
from tests.hunt.foreign_keys.schema import ELSEWHERE, HERE, Schema, Table
from tests.hunt.foreign_keys.tables import NAMES, Tables
from tests.hunt.foreign_keys.values import random_type, value

TABLES = tuple(f"t{number}" for number in range(1, 7))
MOST_COLUMNS = 9


class Definitions:
    """Draws CREATE, ALTER, DROP, RENAME and TRUNCATE; `shown` gives the text of a table."""

    def __init__(self, chance: Random, shown: Callable[[str], str]) -> None:
        self._chance = chance
        self._shown = shown
        self._tables = Tables(chance)
        # What was dropped, or was to be.
        self._dropped: dict[str, str] = {}

    def be_lax(self) -> None:
        """The session is not strict."""
        self._tables.is_lax = True

    def draw(self, schema: Schema) -> str | None:
        """A statement, or None when the dice made nothing of it."""
        chance = self._chance
        pick = chance.random()
        if not schema.tables or pick < 0.12:
            return self.create(schema)
        table = chance.choice(schema.tables)
        if pick < 0.15:
            return self._replace(schema, table)
        if pick < 0.6:
            draw = chance.choice([self._alter, self._copy])
            return draw(schema, table)
        if pick < 0.72:
            return self._drop(schema, table)
        if pick < 0.8:
            return f"TRUNCATE TABLE {table.sql}"
        return self._rename(schema, table)

    def add_foreign_key(self, schema: Schema) -> str | None:
        """ALTER TABLE ADD FOREIGN KEY."""
        table = self._chance.choice(schema.tables) if schema.tables else None
        text = self._tables.foreign_key(schema, table) if table else None
        return f"ALTER TABLE {table.sql} ADD {text}" if table and text else None

    # ---- tables ---------------------------------------------------------------------------------

    def create(self, schema: Schema) -> str | None:
        """A table of a name that is free, or waited for; perhaps one that was dropped."""
        chance = self._chance
        free = [name for name in TABLES if schema.table(f"{HERE}.{name}") is None]
        if not free:
            return None
        waiting = [key.parent.partition(".")[2] for key in schema.foreign_keys()]
        wanted = [name for name in free if name in waiting]
        name = chance.choice(wanted or free)
        if name in self._dropped and (name in wanted or chance.random() < 0.6):
            return self._dropped[name]
        return self._fresh(schema, name, free)

    def _fresh(self, schema: Schema, name: str, free: list[str]) -> str:
        chance = self._chance
        text = self._tables.create(name)
        if chance.random() < 0.5 and schema.tables:
            keys = self._inline(schema, free)
            text = f"{text[:-1]}{''.join(f', {key}' for key in keys)})"
            if chance.random() < 0.1:
                columns = self._tables.drawn().given()
                values = (f"{value(chance, each.kind)} AS {each.name}" for each in columns)
                text = f"{text} SELECT {', '.join(values)}"
        return text

    def _replace(self, schema: Schema, table: Table) -> str | None:
        """CREATE OR REPLACE TABLE."""
        if table.database != HERE:
            return None
        text = self._fresh(schema, table.name, [])
        return text.replace("CREATE TABLE", "CREATE OR REPLACE TABLE", 1)

    def function(self, schema: Schema) -> str | None:
        """A function that changes a parent, if there is one."""
        chance = self._chance
        tables = [table for table in schema.tables if schema.parents_of(table)]
        if not tables:
            return None
        table = chance.choice(tables)
        columns = [column for column in table.given() if column.kind == "int(11)"]
        what = chance.choice(
            [
                f"DELETE FROM {table.sql} WHERE id = x",
                f"UPDATE {table.sql} SET {chance.choice(columns).name} = x WHERE id = x + 1",
            ]
        )
        return (
            f"CREATE OR REPLACE FUNCTION {chance.choice(FUNCTIONS)}(x INT) RETURNS INT "
            f"BEGIN {what}; RETURN x; END"
        )

    def trigger(self, schema: Schema) -> str | None:
        """A trigger that changes another table."""
        tables = [table for table in schema.tables if table.database == HERE]
        if len(tables) < 2:
            return None
        chance = self._chance
        table, other = chance.sample(tables, 2)
        event = chance.choice(["INSERT", "UPDATE", "DELETE"])
        row = "OLD" if event == "DELETE" else chance.choice(["NEW", "OLD", "NEW"])
        row = "NEW" if event == "INSERT" else row
        column = chance.choice(other.given())
        change = f"SET {column.name} = {value(chance, column.kind)}"
        what = chance.choice(
            [
                f"DELETE FROM {other.sql} WHERE id = {row}.id",
                f"REPLACE INTO {other.sql} (id) VALUES ({row}.id)",
                f"UPDATE {other.sql} {change} WHERE id = {row}.id",
            ]
        )
        return (
            f"CREATE OR REPLACE TRIGGER tr{chance.randint(1, 3)} "
            f"{chance.choice(['BEFORE', 'AFTER'])} {event} ON {table.sql} FOR EACH ROW {what}"
        )

    def _inline(self, schema: Schema, free: list[str]) -> list[str]:
        """Foreign keys within a CREATE TABLE."""
        child = self._tables.drawn()
        among = Schema((*schema.tables, child))
        keys = []
        for _ in range(self._chance.choice([1, 1, 2])):
            if self._chance.random() < 0.12:
                key = self._tables.missing(schema, child, free)
            else:
                key = self._tables.foreign_key(among, child, creates=True)
            if key:
                keys.append(key)
        return keys

    def _drop(self, schema: Schema, table: Table) -> str:
        names = [table]
        if self._chance.random() < 0.3:
            names.append(self._chance.choice(schema.tables))
        names = list(dict.fromkeys(names))
        for each in names:
            if each.database == HERE and each.name in TABLES and (text := self._definition(each)):
                self._dropped[each.name] = text
        return f"DROP TABLE {', '.join(each.sql for each in names)}"

    def _definition(self, table: Table) -> str:
        text = re.sub(r"\) ENGINE=[^)]*$", ")", self._shown(table.sql))
        return re.sub(r"\s+", " ", text)

    def _rename(self, schema: Schema, table: Table) -> str:
        chance = self._chance
        pick = chance.random()
        other = chance.choice(schema.tables)
        free = [name for name in TABLES if schema.table(f"{HERE}.{name}") is None]
        if pick < 0.35 and other != table:
            return (
                f"RENAME TABLE {table.full} TO {HERE}.swap, {other.full} TO {table.full}, "
                f"{HERE}.swap TO {other.full}"
            )
        if pick < 0.6 and table.database == HERE:
            return f"RENAME TABLE {table.sql} TO {ELSEWHERE}.{table.name}"
        name = chance.choice([table.name, *free])
        if pick < 0.8:
            return f"ALTER TABLE {table.sql} RENAME TO {HERE}.{name}"
        return f"RENAME TABLE {table.sql} TO {HERE}.{name}"

    # ---- ALTER ----------------------------------------------------------------------------------

    def _alter(self, schema: Schema, table: Table) -> str | None:
        count = self._chance.choice([1, 1, 1, 1, 2])
        clauses = [self._clause(schema, table) for _ in range(count)]
        text = ", ".join(dict.fromkeys(clause for clause in clauses if clause))
        return f"ALTER TABLE {table.sql} {text}" if text else None

    def _copy(self, schema: Schema, table: Table) -> str | None:
        """What writes the table anew, or does as it is told to."""
        chance = self._chance
        pick = chance.random()
        how = chance.choice(["", ", ALGORITHM=COPY", ", ALGORITHM=COPY"])
        if pick < 0.2:
            text: str | None = "FORCE"
        elif pick < 0.4:
            text = self._another_primary_key(table)
        elif pick < 0.6:
            text = self._modify(table)
        else:
            found = (self._clause(schema, table) for _ in range(chance.choice([1, 1, 2, 3])))
            text = ", ".join(dict.fromkeys(clause for clause in found if clause))
            how = ", ALGORITHM=COPY"
        # Of a copy under another name InnoDB forgets the foreign keys: this fails.
        if text and chance.random() < 0.08:
            text = f"{text}, RENAME TO {chance.choice(schema.tables).full}"
        return f"ALTER TABLE {table.sql} {text}{how}" if text else None

    def _another_primary_key(self, table: Table) -> str:
        """PRIMARY KEY anew; `id` stays unique, if not by this key."""
        has = {index.name for index in table.indexes}
        parts = self._tables.parts([each.name for each in table.of_keys() if not each.virtual])
        if "id" not in has:
            parts = self._chance.choice(["id", "id DESC"])
        drop = "DROP PRIMARY KEY, " if "PRIMARY" in has else ""
        if drop and "id" in has and self._chance.random() < 0.3:
            return "DROP PRIMARY KEY"
        return f"{drop}ADD PRIMARY KEY ({parts})"

    def _modify(self, table: Table) -> str | None:
        """Another type of the same class, NULL or NOT NULL; rarely another class."""
        chance = self._chance
        columns = [each for each in table.given() if each.name != "id"]
        if not columns:
            return None
        column = chance.choice(columns)
        kind = column.kind
        if chance.random() < 0.1:
            kind = chance.choice(self._tables.kinds)
        null = chance.choice(["", "", " NOT NULL"])
        place = chance.choice(["", "", " FIRST"])
        return f"MODIFY {column.name} {random_type(chance, kind)}{null}{place}"

    def _clause(self, schema: Schema, table: Table) -> str | None:
        chance = self._chance
        pick = chance.random()
        if pick < 0.3:
            key = self._tables.foreign_key(schema, table)
            if chance.random() < 0.08:
                key = self._tables.missing(schema, table, list(TABLES)) or key
            return f"ADD {key}" if key else None
        if pick < 0.45 and table.foreign_keys:
            return f"DROP FOREIGN KEY {chance.choice(table.foreign_keys).name}"
        if pick < 0.57:
            return f"ADD {self._tables.index(table)}"
        if pick < 0.75:
            # Of `id` one unique key must stay: statements go by its order.
            names = [i.name for i in table.indexes if i.name not in ("PRIMARY", "id")]
            return f"DROP KEY {chance.choice(names)}" if names else None
        return self._column_clause(table)

    def _column_clause(self, table: Table) -> str | None:
        chance = self._chance
        pick = chance.random()
        free = [name for name in f"{NAMES}uvwxyz" if table.column(name) is None]
        others = [column for column in table.columns if column.name not in ("id", "g")]
        # The server keeps old names in expressions, with any engine.
        computes = any(column.generated for column in table.columns)
        if pick < 0.4 and others and not computes:
            column = chance.choice(others)
            return f"RENAME COLUMN {column.name} TO {chance.choice(free)}"
        if pick < 0.5 and len(table.columns) < MOST_COLUMNS:
            text, column = self._tables.virtual_column(chance.choice(free), list(table.columns))
            key = self._tables.key_of(f"w{column.name}", column, list(table.columns))
            return f"ADD COLUMN {text}, ADD {key}"
        if pick < 0.8 and len(table.columns) < MOST_COLUMNS:
            kind = chance.choice(self._tables.kinds)
            null = chance.choice(["", "", " NOT NULL"])
            return f"ADD COLUMN {chance.choice(free)} {random_type(chance, kind)}{null}"
        if len(others) > 1:
            return f"DROP COLUMN {chance.choice(others).name}"
        return None

"""Random ALTER TABLEs that both plug-ins can do, and the tables that they make."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.acceptance.roundtrip.tables import (
    COLLATIONS,
    FAMILIES,
    NUMBERS,
    WIDER,
    WRONG_IN_STOCK_KEYS,
    Column,
    Key,
    Table,
)

STRICT = "SET STATEMENT sql_mode = 'STRICT_ALL_TABLES' FOR "


@dataclass
class Alter:
    """The changes of a statement, and the table after it."""

    changes: list[str]
    after: Table
    # Whether every row has the same bytes of the same columns afterwards.
    keeps_rows: bool = False
    # In strict mode a NULL fails the statement; else it becomes another value.
    strict: bool = False

    def statement(self, algorithm: str) -> str:
        parts = [*self.changes, *([f"ALGORITHM={algorithm}"] if algorithm else [])]
        return (
            (STRICT if self.strict else "") + f"ALTER TABLE `{self.after.name}` " + ", ".join(parts)
        )


def random_alter(chance: Random, table: Table, number: int) -> Alter | None:
    """A change of `table`, with `number` in new names; None where the kind does not fit it."""
    made = chance.choice(_KINDS)(chance, copy.deepcopy(table), number)
    if made is not None and chance.random() < 0.2:
        made.changes.append(f"COMMENT='{number}'")
    return made


def _changeable(table: Table) -> list[Column]:
    """The columns that partitions do not depend on."""
    return [column for column in table.columns if not (table.partitions and column.name == "id")]


def _secondary(table: Table) -> list[Key]:
    return [key for key in table.keys if key.name != "PRIMARY"]


def _is_primary(table: Table, column: Column) -> bool:
    return table.primary is not None and any(part is column for part, _ in table.primary.parts)


def _rename_column(chance: Random, table: Table, number: int) -> Alter | None:
    column = chance.choice(_changeable(table))
    before, column.name = column.name, f"n{number}"
    return Alter([f"RENAME COLUMN {before} TO {column.name}"], table, keeps_rows=True)


def _rename_key(chance: Random, table: Table, number: int) -> Alter | None:
    if not _secondary(table):
        return None
    key = chance.choice(_secondary(table))
    before, key.name = key.name, f"m{number}"
    return Alter([f"RENAME KEY {before} TO {key.name}"], table, keeps_rows=True)


def _move_column(chance: Random, table: Table, number: int) -> Alter | None:
    column = table.columns.pop(chance.randrange(len(table.columns)))
    place = chance.randrange(len(table.columns))
    where = f"AFTER {table.columns[place - 1].name}" if place else "FIRST"
    table.columns.insert(place, column)
    return Alter([f"MODIFY {column.definition} {where}"], table)


def _widen_column(chance: Random, table: Table, number: int) -> Alter | None:
    columns = [column for column in _changeable(table) if column.kind in WIDER]
    if not columns:
        return None
    column = chance.choice(columns)
    column.kind = WIDER[column.kind]
    return Alter([f"MODIFY {column.definition}"], table)


def _change_collation(chance: Random, table: Table, number: int) -> Alter | None:
    columns = [column for column in table.columns if column.collation]
    if not columns:
        return None
    column = chance.choice(columns)
    names = column.collation.partition("_")[0] + "_"
    column.collation = chance.choice(
        [each for each in COLLATIONS if each.startswith(names) and each not in WRONG_IN_STOCK_KEYS]
        or [column.collation]
    )
    return Alter([f"MODIFY {column.definition}"], table)


def _change_nullable(chance: Random, table: Table, number: int) -> Alter | None:
    columns = [column for column in _changeable(table) if not _is_primary(table, column)]
    columns = [column for column in columns if not column.auto_increment]
    if not columns:
        return None
    column = chance.choice(columns)
    column.nullable = not column.nullable
    strict = chance.random() < 0.7
    return Alter([f"MODIFY {column.definition}"], table, strict=strict)


def _drop_column(chance: Random, table: Table, number: int) -> Alter | None:
    columns = [column for column in _changeable(table) if not _is_primary(table, column)]
    columns = [
        column
        for column in columns
        if not column.auto_increment and not any(table.needs(key) for key in table.keys_of(column))
    ]
    if not columns or len(table.columns) < 3:
        return None
    column = chance.choice(columns)
    table.columns.remove(column)
    changes = [f"DROP COLUMN {column.name}"]
    for key in table.keys_of(column):
        rest = [(part, length) for part, length in key.parts if part is not column]
        # The server refuses to shorten a UNIQUE key.
        if not rest or key.unique or chance.random() < 0.5:
            table.keys.remove(key)
            changes.append(f"DROP KEY {key.name}")
        else:
            key.parts = rest
    return Alter(changes, table)


def _change_keys(chance: Random, table: Table, number: int) -> Alter | None:
    """Keys come and go in one statement; one may come back in another column family."""
    changes = []
    for key in _secondary(table):
        choice = chance.random()
        if choice < 0.3 and not table.needs(key):
            changes.append(f"DROP KEY {key.name}")
            table.keys.remove(key)
        elif choice < 0.5:
            key.family = "" if table.partitions else chance.choice(FAMILIES)
            changes += [f"DROP KEY {key.name}", f"ADD {key.definition}"]
    for _ in range(chance.randint(0, 2)):
        key = _new_key(chance, table)
        changes.append(f"ADD {key.definition}")
        table.keys.append(key)
    return Alter(changes, table, keeps_rows=True) if changes else None


def _new_key(chance: Random, table: Table) -> Key:
    key = table.new_key(chance)
    if table.partitions:
        key.family = ""
    return key


def _change_primary_key(chance: Random, table: Table, number: int) -> Alter | None:
    if table.partitions:
        return None
    changes, old = [], table.primary
    counted = next((column for column in table.columns if column.auto_increment), None)
    if old is not None:
        changes.append("DROP PRIMARY KEY")
        table.keys.remove(old)
    if counted is not None:  # The server wants a key for it.
        key = Key(f"a{number}", [(counted, 0)], unique=True)
        changes.append(f"ADD {key.definition}")
        table.keys.append(key)
    if old is None or chance.random() < 0.8:
        new = table.new_key(chance)
        parts = new.parts
        if counted is not None and all(part is not counted for part, _ in parts):
            parts.append((counted, 0))
        for column, _ in parts:
            column.nullable = False
        changes += [f"MODIFY {column.definition}" for column, _ in parts]
        key = Key("PRIMARY", parts, family=chance.choice(FAMILIES))
        changes.append(f"ADD {key.definition}")
        table.keys.insert(0, key)
    return Alter(changes, table, strict=chance.random() < 0.5)


def _rebuild(chance: Random, table: Table, number: int) -> Alter | None:
    change = chance.choice(("FORCE", "ENGINE=ROCKSDB"))
    return Alter([change], table, keeps_rows=True)


def _change_default(chance: Random, table: Table, number: int) -> Alter | None:
    columns = [c for c in table.columns if c.kind in NUMBERS and not c.auto_increment]
    if not columns:
        return None
    column = chance.choice(columns)
    change = "DROP DEFAULT" if chance.random() < 0.3 else f"SET DEFAULT {column.literal(chance)}"
    if change == "SET DEFAULT NULL":
        change = "DROP DEFAULT"
    return Alter([f"ALTER {column.name} {change}"], table, keeps_rows=True)


def _change_options(chance: Random, table: Table, number: int) -> Alter | None:
    change = chance.choice(("AUTO_INCREMENT=500", f"MIN_ROWS={number}", "STATS_PERSISTENT=1"))
    return Alter([change], table, keeps_rows=True)


_KINDS: tuple[Callable[[Random, Table, int], Alter | None], ...] = (
    _rename_column,
    _rename_key,
    _move_column,
    _widen_column,
    _change_collation,
    _change_nullable,
    _change_nullable,
    _drop_column,
    _change_keys,
    _change_keys,
    _change_primary_key,
    _change_primary_key,
    _rebuild,
    _change_default,
    _change_options,
)

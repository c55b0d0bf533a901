"""The tables: parents and children over four levels, with few values that all clients share.

A row belongs to the client whose number it has in `writer`, and only that one changes it; rows of
writer 0 belong to nobody and anybody changes them. What is unique has values from one range for
the first and from another for the second, so that REPLACE removes nobody's row. Foreign keys of
these tables restrict; those of `acting.py` act.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.histories.foreign_keys.acting import ACTING_KEYS, ACTING_TABLES, STEADY_ACTING
from tests.histories.foreign_keys.schema import OWNERSHIP, STEADY, STEADY_VALUE, ForeignKey, Table

# Values of nobody's rows and of rows that belong to a client. Children refer to both.
COMMON_VALUES = range(1, 6)
OWN_VALUES = range(6, 13)
BATCHES = range(1, 7)
# Equal among themselves by the collation, but for the last three.
NAMES = ("a", "A", "ä", "Á ", "b", "B  ", "ß")
STEADY_NAME = "z"
# Rows of one client in a table without shared keys.
SLOTS = 15

PAIR = "name VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"


@dataclass(frozen=True)
class Restricting(Table):
    """A table and what its columns are for."""

    # Columns by what is put into them.
    key: str  # "value": of the ranges above; "slot": of the writer's own numbers.
    unique: tuple[str, ...] = ()  # Values of the ranges above, each once.
    children: tuple[str, ...] = ()  # Values that a parent may have.
    batches: tuple[str, ...] = ()
    has_name: bool = False
    # Columns that children of other rows refer to.
    referenced: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        names = ("name",) if self.has_name else ()
        return ("id", *names, *self.unique, *self.children, *self.batches)

    @property
    def is_shared(self) -> bool:
        """Whether somebody else's row may be in the way of a new one."""
        return self.key == "value" or bool(self.unique)


TABLES = (
    Restricting("top", "id INT PRIMARY KEY", "value", referenced=("id",)),
    Restricting(
        "middle",
        f"id INT PRIMARY KEY, top INT, code INT, {PAIR}, number INT, batch INT, "
        "UNIQUE KEY code (code), UNIQUE KEY pair (name, number), KEY batch (batch, number)",
        "value",
        unique=("code", "number"),
        children=("top",),
        batches=("batch",),
        has_name=True,
        referenced=("code", "number", "batch"),
    ),
    Restricting(
        "by_code",
        "id INT PRIMARY KEY, code INT, top INT",
        "value",
        children=("code", "top"),
        referenced=("id",),
    ),
    Restricting(
        "leaf", "id INT PRIMARY KEY, child INT, KEY child (child, id)", "slot", (), ("child",)
    ),
    # Without a primary key, in a reverse column family.
    Restricting(
        "by_pair",
        f"id INT, {PAIR}, number INT, KEY pair (name, number) COMMENT 'rev:by_pair', KEY id (id)",
        "slot",
        children=("number",),
        has_name=True,
    ),
    Restricting(
        "by_batch",
        "id INT, batch INT, PRIMARY KEY (id) COMMENT 'rev:by_batch', "
        "KEY batch (batch) COMMENT 'rev:by_batch'",
        "slot",
        batches=("batch",),
    ),
    Restricting(
        "tree", "id INT PRIMARY KEY, up INT", "value", children=("up",), referenced=("id",)
    ),
    # Dropped, made and emptied by the session of --definitions: it has nobody's rows alone.
    Restricting("loose", "id INT PRIMARY KEY, code INT, top INT", "slot", children=("code", "top")),
)
BY_NAME = {table.name: table for table in TABLES}
# Tables that have rows of clients.
OWNED = tuple(table for table in TABLES if table.name != "loose")

FOREIGN_KEYS = (
    ForeignKey("middle_top", "middle", ("top",), "top", ("id",)),
    ForeignKey("by_code_code", "by_code", ("code",), "middle", ("code",)),
    ForeignKey("by_code_top", "by_code", ("top",), "top", ("id",)),
    ForeignKey("leaf_child", "leaf", ("child",), "by_code", ("id",)),
    ForeignKey("by_pair_pair", "by_pair", ("name", "number"), "middle", ("name", "number")),
    ForeignKey("by_batch_batch", "by_batch", ("batch",), "middle", ("batch",)),
    ForeignKey("tree_up", "tree", ("up",), "tree", ("id",)),
    ForeignKey("loose_code", "loose", ("code",), "middle", ("code",)),
    ForeignKey("loose_top", "loose", ("top",), "top", ("id",)),
)


# All of them, parents before their children.
ALL_TABLES: tuple[Table, ...] = (*TABLES, *ACTING_TABLES)
ALL_KEYS = (*FOREIGN_KEYS, *ACTING_KEYS)
# Tables that have rows of clients.
ALL_OWNED: tuple[Table, ...] = (*OWNED, *ACTING_TABLES)

# Rows that nobody changes, with the columns that have a value.
STEADY_ROWS = (
    ("top", ("id",)),
    ("middle", ("id", "top", "code", "number", "batch")),
    ("by_code", ("id", "code", "top")),
    ("tree", ("id",)),
    *STEADY_ACTING,
)


def create(table: Table, engine: str) -> str:
    clauses = [key.clause() for key in ALL_KEYS if key.child == table.name]
    lines = ", ".join([table.definition, OWNERSHIP, *clauses])
    return f"CREATE TABLE {table.name} ({lines}) ENGINE={engine}"


def steady_value(column: str) -> str:
    """What children have in a column to refer to a row that nobody changes."""
    return f"'{STEADY_NAME}'" if column == "name" else str(STEADY_VALUE)


def steady_rows() -> list[str]:
    """Statements that insert them."""
    statements = []
    for table, columns in STEADY_ROWS:
        names = (*columns, "name") if table == "middle" else columns
        values = ", ".join(steady_value(column) for column in names)
        statements.append(
            f"INSERT INTO {table} ({', '.join(names)}, writer, mark) VALUES ({values}, {STEADY}, 0)"
        )
    return statements


def own_rows(writer: int, hint: str = "") -> str:
    """A query for all rows of a client."""
    return " UNION ALL ".join(
        f"SELECT '{table.name}', id, CONCAT_WS(', ', "
        + ", ".join(f"IFNULL({column}, 'NULL')" for column in table.told_columns)
        + f"), mark FROM {table.name} {hint} WHERE writer = {writer}"
        for table in ALL_OWNED
    )

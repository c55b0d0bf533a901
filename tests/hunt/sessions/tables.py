"""Small tables for sessions that meet: every kind of key, with rows that carry their history.

Each table has the columns id, g, h, u, n and log. g and h have few values, u is unique where the
kind of table allows that. `log` begins with the row's birth (the mark of the statement that made
it, a dot and a number) and gets `,mark` with each change, so that a row tells what it has seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

GROUPS = 4
COLUMNS = ("id", "g", "h", "u", "n", "log")
# Marks below this are those of the rows at the begin.
FIRST_MARK = 100


def _number(value: int) -> str:
    return str(value)


def _word(value: int) -> str:
    # Equal letters in both cases are one value in utf8mb4_general_ci.
    return f"'{'kK'[value % 2]}ey{value:03}'"


@dataclass(frozen=True)
class Kind:
    """A kind of table: what its keys are."""

    name: str
    # Definitions of columns that differ from the usual, and of keys.
    keys: tuple[str, ...]
    columns: dict[str, str] = field(default_factory=dict)
    options: str = ""
    # How an id is written.
    literal: Callable[[int], str] = _number
    # How an id is computed from a number.
    computed: str = "{}"
    # Whether u is unique, and whether id is.
    unique: bool = True
    unique_id: bool = True
    # What stands for h in conditions: a virtual column, for instance.
    second: str = "h"
    # How u is written, and computed from a number.
    unique_literal: Callable[[int], str] = _number
    unique_computed: str = "{}"
    indexes: tuple[str, ...] = ("g", "h", "u")


_COMPUTED_WORD = "CONCAT('key', LPAD({}, 3, '0'))"
_LONG: dict[str, Any] = {
    "columns": {"u": "TEXT"},
    "unique_literal": lambda value: f"'long{value:03}'",
    "unique_computed": "CONCAT('long', LPAD({}, 3, '0'))",
    "indexes": ("g", "h"),
}
_SECONDARY = ("KEY g (g)", "KEY h (h)", "UNIQUE KEY u (u)")
KINDS = (
    Kind("integer", ("PRIMARY KEY (id)", *_SECONDARY)),
    Kind("descending", ("PRIMARY KEY (id DESC)", "KEY g (g DESC)", *_SECONDARY[1:])),
    Kind("descending unique", ("PRIMARY KEY (id)", *_SECONDARY[:2], "UNIQUE KEY u (u DESC)")),
    Kind("hidden", ("KEY id (id)", *_SECONDARY), unique_id=False, indexes=("id", "g", "h", "u")),
    Kind("no key", (), unique=False, unique_id=False, indexes=()),
    Kind("composite", ("PRIMARY KEY (id, n)", *_SECONDARY), unique_id=False),
    Kind("composite descending", ("PRIMARY KEY (g, id DESC)", *_SECONDARY), unique_id=False),
    Kind(
        "string",
        ("PRIMARY KEY (id)", *_SECONDARY),
        {"id": "VARCHAR(10) COLLATE utf8mb4_general_ci NOT NULL"},
        literal=_word,
        computed=_COMPUTED_WORD,
    ),
    Kind(
        "prefix",
        ("PRIMARY KEY (id(6))", *_SECONDARY),
        {"id": "VARCHAR(300) NOT NULL"},
        literal=_word,
        computed=_COMPUTED_WORD,
    ),
    Kind(
        "virtual",
        ("PRIMARY KEY (id)", "KEY g (g)", "KEY w (w)", "UNIQUE KEY u (u)"),
        {"w": "INT AS (h + 0) VIRTUAL"},
        second="w",
        indexes=("g", "w", "u"),
    ),
    Kind(
        "virtual unique",
        ("PRIMARY KEY (id)", "KEY g (g)", "KEY h (h)", "UNIQUE KEY x (x)"),
        {"x": "INT AS (u + 0) VIRTUAL"},
        indexes=("g", "h", "x"),
    ),
    Kind(
        "long unique",
        ("PRIMARY KEY (id)", "KEY g (g)", "KEY h (h)", "UNIQUE KEY u (u)"),
        **_LONG,
    ),
    Kind(
        "long unique, hidden",
        ("KEY g (g)", "KEY h (h)", "UNIQUE KEY u (u)"),
        unique_id=False,
        **_LONG,
    ),
    Kind(
        "hash partitions",
        ("PRIMARY KEY (id)", "KEY g (g)", "KEY h (h)", "KEY u (u)"),
        options="PARTITION BY HASH (id) PARTITIONS 3",
        unique=False,
    ),
    Kind(
        "range partitions",
        ("PRIMARY KEY (id DESC, g)", "KEY g (g)", "KEY h (h)", "UNIQUE KEY u (u, g)"),
        options="PARTITION BY RANGE (g) (PARTITION p0 VALUES LESS THAN (2), "
        "PARTITION p1 VALUES LESS THAN MAXVALUE)",
        unique=False,
        unique_id=False,
    ),
    Kind(
        "partitions without a key",
        ("KEY id (id)", "KEY g (g)", "KEY h (h)"),
        options="PARTITION BY HASH (g) PARTITIONS 2",
        unique=False,
        unique_id=False,
        indexes=("id", "g", "h"),
    ),
)


@dataclass(frozen=True)
class Table:
    """A table of a kind, with rows 1 to `rows` at the begin."""

    name: str
    kind: Kind
    rows: int
    # Begins the births of these rows; another for each table.
    birth: int = 0

    def create(self) -> str:
        """The statement that makes it."""
        types = {
            "id": "INT NOT NULL",
            "g": "INT NOT NULL",
            "h": "INT",
            "u": "INT",
            "n": "INT NOT NULL DEFAULT 0",
            "log": "VARCHAR(500) NOT NULL",
        }
        columns = [f"{name} {kind}" for name, kind in (types | self.kind.columns).items()]
        text = f"CREATE TABLE {self.name} ({', '.join([*columns, *self.kind.keys])})"
        return f"{text} {self.kind.options}".strip()

    def fill(self, chance: random.Random) -> str:
        """The statement that puts the rows in."""
        rows = [
            self.row(i, chance.randrange(GROUPS), chance.randrange(GROUPS), i, f"{self.birth}.{i}")
            for i in range(1, self.rows + 1)
        ]
        return f"INSERT INTO {self.name} (id, g, h, u, log) VALUES {', '.join(rows)}"

    def row(self, number: int, group: int, second: int, unique: int, log: str) -> str:
        """A row of VALUES; `number` is the id and `unique` the value of u."""
        kind = self.kind
        key, value = kind.literal(number), kind.unique_literal(unique)
        return f"({key}, {group}, {second}, {value}, '{log}')"

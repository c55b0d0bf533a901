"""Tables of every kind of key, with values that collide."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

# Some are equal to others in a collation that ignores case or accents, or but for spaces.
WORDS = ("a", "A", "b", "ab", "Ab", "abc", "abd", "ä", "é", "e", "ß", "ss", "", "a ", "zz", "Zz1")


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _number(chance: random.Random) -> str:
    return str(chance.randint(-3, 14))


def _word(chance: random.Random) -> str:
    return _quoted(chance.choice(WORDS))


def _long(chance: random.Random) -> str:
    return f"REPEAT({_quoted(chance.choice(WORDS))}, {chance.choice((1, 3, 200, 3000))})"


def _moment(chance: random.Random) -> str:
    return f"'2024-0{chance.randint(1, 3)}-11 1{chance.randint(0, 9)}:00:00.{chance.randint(0, 1)}'"


def _decimal(chance: random.Random) -> str:
    return f"{chance.randint(-9, 9)}.{chance.randint(0, 3)}"


def _bytes(chance: random.Random) -> str:
    return f"x'{chance.choice(('', '00', '0000', '01', 'ff', 'ff00', '61', '6100'))}'"


def _document(chance: random.Random) -> str:
    return _quoted(f'{{"k": {chance.randint(0, 9)}}}')


Values = Callable[[random.Random], str]
# The types of columns: how they are defined, and their values.
TYPES: dict[str, tuple[str, Values]] = {
    "number": ("INT", _number),
    "large": ("BIGINT", _number),
    "word": ("VARCHAR(40) COLLATE utf8mb4_general_ci", _word),
    "old word": ("VARCHAR(40) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci", _word),
    "char": ("CHAR(10) COLLATE utf8mb4_general_ci", _word),
    "unicode": ("VARCHAR(40) COLLATE utf8mb4_unicode_ci", _word),
    "no pad": ("VARCHAR(40) COLLATE utf8mb4_unicode_520_nopad_ci", _word),
    "binary word": ("VARCHAR(40) COLLATE utf8mb4_bin", _word),
    "bytes": ("VARBINARY(20)", _bytes),
    "text": ("TEXT COLLATE utf8mb4_general_ci", _long),
    "blob": ("BLOB", _long),
    "moment": ("DATETIME(1)", _moment),
    "decimal": ("DECIMAL(10,2)", _decimal),
    "choice": ("ENUM('a', 'b', 'ab', 'abc', 'e')", lambda c: f"'{c.choice(('a', 'b', 'ab'))}'"),
    "double": ("DOUBLE", _decimal),
    "document": ("JSON", _document),
}


@dataclass(frozen=True)
class Column:
    """A column that statements give values to."""

    name: str
    type: str
    is_null: bool = True

    def definition(self) -> str:
        """Its part of CREATE TABLE."""
        return f"{self.name} {TYPES[self.type][0]}{'' if self.is_null else ' NOT NULL'}"

    def value(self, chance: random.Random) -> str:
        """A random value, NULL now and then."""
        if self.is_null and chance.random() < 0.12:
            return "NULL"
        return TYPES[self.type][1](chance)


@dataclass(frozen=True)
class Kind:
    """A kind of table: the types of its first columns k and l, and its keys.

    The other columns are a and b, numbers; s, a word; c, long text; d, of any type.
    """

    name: str
    keys: tuple[str, ...]
    k: str = "number"
    l: str = "number"  # noqa: E741
    # Whether k and l may be NULL.
    is_null: bool = False
    # Columns that are computed.
    computed: tuple[str, ...] = ()
    options: str = ""


KINDS = (
    Kind("integer", ("PRIMARY KEY (k)", "KEY (a)")),
    Kind("integer, descending", ("PRIMARY KEY (k DESC)", "KEY (a DESC, b)"), "large"),
    Kind("two columns", ("PRIMARY KEY (l, k DESC)", "UNIQUE (a, b)"), l="word"),
    Kind("general_ci", ("PRIMARY KEY (k)", "KEY (s)"), "word"),
    Kind("general_ci of utf8mb3", ("PRIMARY KEY (k)", "KEY (b)"), "old word"),
    Kind("char", ("PRIMARY KEY (k DESC)", "KEY (s, a)"), "char"),
    Kind("unicode_ci", ("PRIMARY KEY (k, l)", "KEY (a)"), "unicode"),
    Kind("no pad", ("PRIMARY KEY (k)", "UNIQUE (s)"), "no pad"),
    Kind("binary word", ("PRIMARY KEY (k)",), "binary word"),
    Kind("bytes", ("PRIMARY KEY (k)", "KEY (l)"), "bytes"),
    Kind("prefix", ("PRIMARY KEY (k(2))", "KEY (s(1))"), "word"),
    Kind("prefix of text", ("PRIMARY KEY (k(3), l)", "KEY (a)"), "text"),
    Kind("moment", ("PRIMARY KEY (k)", "KEY (a)"), "moment"),
    Kind("decimal", ("PRIMARY KEY (k)", "KEY (s)"), "decimal"),
    Kind("choice", ("PRIMARY KEY (k, a)",), "choice"),
    Kind("none", ()),
    Kind("none, words", (), "word", "text", is_null=True),
    Kind("none, an index", ("KEY (k)", "KEY (s, a)"), "word", is_null=True),
    Kind("none, a nullable unique key", ("UNIQUE (k)", "KEY (a)"), is_null=True),
    Kind("a unique key that is the primary one", ("UNIQUE (k)", "KEY (a)")),
    Kind("two unique keys", ("PRIMARY KEY (k)", "UNIQUE (l)", "UNIQUE (s, a)"), l="word"),
    Kind("long unique", ("PRIMARY KEY (k)", "UNIQUE (l)"), l="text"),
    Kind("long unique, no primary key", ("UNIQUE (l)", "KEY (a)"), l="blob"),
    Kind(
        "virtual",
        ("PRIMARY KEY (k)", "KEY (v)", "KEY (w, a)"),
        computed=("v INT AS (a + b) VIRTUAL", "w VARCHAR(50) AS (CONCAT(s, '!')) VIRTUAL"),
    ),
    Kind(
        "virtual unique",
        ("PRIMARY KEY (k)", "UNIQUE (v)"),
        computed=("v BIGINT AS (l * 2) VIRTUAL", "w INT AS (k + a) STORED"),
    ),
    Kind(
        "virtual, no primary key",
        ("KEY (v)",),
        "word",
        is_null=True,
        computed=("v VARCHAR(60) AS (CONCAT(k, s)) VIRTUAL",),
    ),
    Kind(
        "virtual over a document",
        ("PRIMARY KEY (k)", "KEY (v)"),
        l="document",
        computed=("v INT AS (JSON_VALUE(l, '$.k')) VIRTUAL",),
    ),
    Kind("hash partitions", ("PRIMARY KEY (k)", "KEY (a)"), options="PARTITION BY HASH (k)"),
    Kind(
        "key partitions of words",
        ("PRIMARY KEY (k)", "KEY (s)"),
        "word",
        options="PARTITION BY KEY (k) PARTITIONS 3",
    ),
    Kind(
        "partitions, no key",
        ("KEY (a)",),
        options="PARTITION BY RANGE (l) (PARTITION p0 VALUES LESS THAN (5), "
        "PARTITION p1 VALUES LESS THAN MAXVALUE)",
    ),
)


@dataclass(frozen=True)
class Table:
    """A table of a kind."""

    name: str
    kind: Kind
    # The type of d.
    other: str = "number"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that get values."""
        kind = self.kind
        return (
            Column("k", kind.k, kind.is_null),
            Column("l", kind.l, kind.is_null),
            Column("a", "number"),
            Column("b", "number"),
            Column("s", "word"),
            Column("c", "text"),
            Column("d", self.other),
        )

    def create(self) -> str:
        """The statement that makes it, without ENGINE."""
        parts = [*(column.definition() for column in self.columns), *self.kind.computed]
        text = f"CREATE TABLE {self.name} ({', '.join([*parts, *self.kind.keys])})"
        return f"{text} {self.kind.options}".strip()

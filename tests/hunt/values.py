"""Types of columns and pools of values for them.

The values of a column come from a small pool, so that keys have many rows of the same value and
conditions meet them. A pool is a list of SQL literals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

WORDS = (
    "",
    " ",
    "a",
    "A",
    "a ",
    "ab",
    "AB ",
    "abc",
    "abcd",
    "abcdefgh",
    "ABCDEFGH ",
    "abcdefghi",
    "abcdefg      h",
    "b",
    "B",
    "x%y",
    "x_y",
    "zz",
)
# By what a character set can say.
WESTERN = ("é", "E", "ß", "ss", "ä", "ÿ", "Ab\u00e9")
WIDE = ("\u0100", "日本語", "ab\u3042", "Ж", "ж")
BEYOND = ("😀", "😁x")

# Collations of each kind that the server treats by itself: Unicode tables of several ages, with and
# without pad, of several levels, contractions, simple tables, multi-byte sets, binary ones.
COLLATIONS = (
    ("utf8mb4", "utf8mb4_general_ci"),
    ("utf8mb4", "utf8mb4_unicode_ci"),
    ("utf8mb4", "utf8mb4_bin"),
    ("utf8mb4", "utf8mb4_nopad_bin"),
    ("utf8mb4", "utf8mb4_general_nopad_ci"),
    ("utf8mb4", "utf8mb4_unicode_520_ci"),
    ("utf8mb4", "utf8mb4_unicode_nopad_ci"),
    ("utf8mb4", "utf8mb4_swedish_ci"),
    ("utf8mb4", "utf8mb4_uca1400_ai_ci"),
    ("utf8mb4", "utf8mb4_uca1400_as_cs"),
    ("utf8mb4", "utf8mb4_uca1400_nopad_as_cs"),
    ("utf8mb4", "utf8mb4_thai_520_w2"),
    ("utf8mb3", "utf8mb3_general_ci"),
    ("utf8mb3", "utf8mb3_bin"),
    ("utf8mb3", "utf8mb3_unicode_ci"),
    ("latin1", "latin1_swedish_ci"),
    ("latin1", "latin1_german2_ci"),
    ("latin1", "latin1_bin"),
    ("latin1", "latin1_swedish_nopad_ci"),
    ("latin2", "latin2_czech_cs"),
    ("cp1250", "cp1250_czech_cs"),
    ("ucs2", "ucs2_general_ci"),
    ("utf16", "utf16_unicode_ci"),
    ("utf32", "utf32_general_ci"),
    ("sjis", "sjis_japanese_ci"),
    ("cp932", "cp932_bin"),
    ("gbk", "gbk_chinese_ci"),
    ("big5", "big5_chinese_ci"),
    ("ascii", "ascii_general_ci"),
    ("tis620", "tis620_thai_ci"),
)
_WESTERN_SETS = ("utf8mb4", "utf8mb3", "latin1", "ucs2", "utf16", "utf32")
_WIDE_SETS = ("utf8mb4", "utf8mb3", "ucs2", "utf16", "utf32")
_BEYOND_SETS = ("utf8mb4", "utf16", "utf32")
# Collations that compare by several levels: by ranges over a prefix of such a string, InnoDB loses
# rows. So they have no prefix keys here, and tests/sql has them (prefix_levels).
SEVERAL_LEVELS = ("latin2_czech_cs", "cp1250_czech_cs", "_as_cs", "_as_ci", "_ai_cs", "_w2")
# Characters of the longest VARCHAR.
LONGEST = 260


@dataclass(frozen=True)
class Kind:
    """A type of column and what is known of it."""

    # What the server calls it, without NULL and so on.
    sql: str
    # Draws a pool of so many literals at most.
    pool: Callable[[Random, int], list[str]]
    # Makes the column's value of one element of ELT(n, pool...), which the server makes a string.
    wrap: str = "{}"
    is_text: bool = False
    # A key needs a prefix of it.
    is_blob: bool = False
    is_number: bool = False
    # Keys can be made of it.
    has_keys: bool = True
    # Values that compare equal are the same, so that it does not matter which one is shown.
    is_exact: bool = True
    collation: str = ""

    @property
    def may_have_prefix(self) -> bool:
        """Whether a key over the first characters of it is worth a try."""
        return self.is_text and not self.collation.endswith(SEVERAL_LEVELS)

    @property
    def is_sorted_whole(self) -> bool:
        """Whether a sort without an index compares all of it.

        It takes the first max_sort_length bytes of the weights, whatever the engine, and the second
        level of a long string lies behind them.
        """
        is_long = f"({LONGEST})" in self.sql
        return self.has_keys and not (is_long and self.collation.endswith(SEVERAL_LEVELS))


def quote(text: str) -> str:
    """A string as a literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


# ---- pools ---------------------------------------------------------------------------------------


def _integers(low: int, high: int) -> Callable[[Random, int], list[str]]:
    def draw(chance: Random, size: int) -> list[str]:
        first = max(low, min(chance.choice([0, 1, -size // 2, -3]), high - size))
        values = set(range(first, min(first + size, high)))
        values |= {value for value in (low, high) if chance.random() < 0.3}
        return [str(value) for value in sorted(values)]

    return draw


def _formats(*formats: str) -> Callable[[Random, int], list[str]]:
    """Formats: {n} counts from 0, {d} from 1 to 9, {s} from 0 to 59, {m} from 1 to 12."""

    def draw(chance: Random, size: int) -> list[str]:
        values: dict[str, None] = {}
        for n in range(size):
            text = chance.choice(formats).format(
                n=n, d=1 + n % 9, s=n % 60, m=1 + n % 12, x=f"{n % 256:02x}"
            )
            values[text] = None
        return list(values)

    return draw


def _strings(character_set: str, length: int, longer: int) -> Callable[[Random, int], list[str]]:
    words = list(WORDS)
    for sets, more in ((_WESTERN_SETS, WESTERN), (_WIDE_SETS, WIDE), (_BEYOND_SETS, BEYOND)):
        if character_set in sets:
            words += more

    def draw(chance: Random, size: int) -> list[str]:
        values: dict[str, None] = {}
        for _ in range(size):
            word = chance.choice(words)
            if chance.random() < 0.6:
                word += chance.choice(words) + chance.choice(["", "", "  ", "q", "0", "1", "7"])
            if longer > 1 and chance.random() < 0.05:
                word *= chance.randint(2, longer)
            values[quote(word[:length])] = None
        return list(values)

    return draw


def _bytes(length: int, longer: int) -> Callable[[Random, int], list[str]]:
    def draw(chance: Random, size: int) -> list[str]:
        values: dict[str, None] = {}
        for _ in range(size):
            count = chance.choice([0, 1, 2, 3, 7, 8, 9, 10, 16, 17])
            value = bytes(chance.choice([0, 1, 32, 65, 255]) for _ in range(count))
            if chance.random() < 0.04:
                value *= longer
            values["x'" + value[:length].hex() + "'"] = None
        return list(values)

    return draw


def _sets(*names: str) -> Callable[[Random, int], list[str]]:
    def draw(chance: Random, size: int) -> list[str]:
        values = {
            quote(",".join(name for name in names if chance.random() < 0.4)) for _ in range(size)
        }
        return sorted(values)

    return draw


# ---- the types -----------------------------------------------------------------------------------


def _number(sql: str, pool: Callable[[Random, int], list[str]], wrap: str = "{}") -> Kind:
    return Kind(sql, pool, wrap, is_number=True)


INT = _number("INT", _integers(-(2**31), 2**31 - 1))
NUMBERS = (
    INT,
    _number("TINYINT", _integers(-128, 127)),
    _number("TINYINT UNSIGNED", _integers(0, 255)),
    _number("SMALLINT", _integers(-(2**15), 2**15 - 1)),
    _number("MEDIUMINT", _integers(-(2**23), 2**23 - 1)),
    _number("INT UNSIGNED", _integers(0, 2**32 - 1)),
    _number("BIGINT", _integers(-(2**63), 2**63 - 1)),
    _number("BIGINT UNSIGNED", _integers(0, 2**64 - 1)),
    _number("DECIMAL(12,3)", _formats("{n}.5", "-{n}.125", "{n}", "-99999999{d}.999", "0.00{d}")),
    _number("DOUBLE", _formats("{n}.5", "-{n}.125", "{n}", "-1.5e3{d}", "1e-{d}")),
    _number("FLOAT", _formats("{n}.5", "-{n}.125", "{n}", "-1.5e{d}")),
)
OTHERS = (
    Kind("BIT(10)", _integers(0, 1023), "{}+0"),
    Kind("YEAR", _integers(1990, 2060)),
    Kind("DATE", _formats("'2024-{m}-{d}'", "'0000-00-00'", "'1999-{m}-2{d}'")),
    Kind("TIME(3)", _formats("'{n}:00:0{d}.5'", "'-{n}:10:{s}'", "'00:00:{s}.001'")),
    Kind("DATETIME", _formats("'2024-{m}-{d} 00:{s}:00'", "'9999-12-31 23:{s}:59'")),
    Kind(
        "DATETIME(6)", _formats("'2024-{m}-{d} 00:{s}:00.{n}'", "'1001-01-0{d} 23:{s}:59.000001'")
    ),
    Kind("TIMESTAMP(2)", _formats("'2024-{m}-{d} 00:{s}:00.5'", "'1999-{m}-0{d} 11:{s}:59'")),
    Kind("ENUM('c','a','b','B2','')", _formats("'c'", "'a'", "'b'", "'B2'", "''")),
    Kind("SET('r','g','b','y')", _sets("r", "g", "b", "y")),
    Kind(
        "UUID",
        _formats(
            "'00000000-0000-{x}00-8000-0000000000{x}'", "'{x}345678-9abc-1def-8000-0123456789ab'"
        ),
    ),
    Kind("INET6", _formats("'::{x}'", "'fe80::{x}:1'", "'::ffff:10.0.0.{d}'")),
    Kind("INET4", _formats("'10.0.0.{s}'", "'192.168.{d}.{s}'")),
    Kind("BINARY(9)", _bytes(9, 1)),
    Kind("VARBINARY(40)", _bytes(40, 2), is_text=True),
    Kind("TINYBLOB", _bytes(250, 9), is_text=True, is_blob=True),
    Kind("BLOB", _bytes(4000, 30), is_text=True, is_blob=True),
)
JSON = Kind(
    "JSON",
    _formats('\'{{"k": {d}, "s": "v{n}"}}\'', "'{{\"k\": {s}}}'", '\'{{"s": "A{d}"}}\'', "'[{n}]'"),
    has_keys=False,
    is_text=True,
    is_blob=True,
)
POINT = Kind("POINT", _formats("'POINT({n} {d})'"), "ST_GeomFromText({})", has_keys=False)


def text_kind(chance: Random) -> Kind:
    """A string type with a random collation."""
    character_set, collation = chance.choice(COLLATIONS)
    by = f" CHARACTER SET {character_set} COLLATE {collation}"
    exact = collation.endswith("_bin")
    pick = chance.random()
    if pick < 0.45:
        length = chance.choice([10, 24, 60, LONGEST])
        pool = _strings(character_set, length, 5)
        return Kind(
            f"VARCHAR({length}){by}", pool, is_text=True, is_exact=exact, collation=collation
        )
    if pick < 0.8:
        length = chance.choice([4, 10, 24])
        pool = _strings(character_set, length, 2)
        return Kind(f"CHAR({length}){by}", pool, is_text=True, is_exact=exact, collation=collation)
    sql = chance.choice(["TINYTEXT", "TEXT", "MEDIUMTEXT"])
    pool = _strings(character_set, 60 if sql == "TINYTEXT" else 2000, 40)
    return Kind(f"{sql}{by}", pool, is_text=True, is_blob=True, is_exact=exact, collation=collation)


def random_kind(chance: Random) -> Kind:
    """Any type; numbers and strings are the most frequent ones."""
    pick = chance.random()
    if pick < 0.4:
        return INT if pick < 0.15 else chance.choice(NUMBERS)
    if pick < 0.7:
        return text_kind(chance)
    if pick < 0.74:
        return JSON
    if pick < 0.76:
        return POINT
    return chance.choice(OTHERS)

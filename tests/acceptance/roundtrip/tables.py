"""Random tables and changes to them, within what both plug-ins can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

# The stock plug-in cannot read back its own keys of these, so that they are in no key here.
WRONG_IN_STOCK_KEYS = ("koi8u_general_ci", "cp1251_ukrainian_ci", "cp1250_general_ci")
COLLATIONS = (
    *("latin1_swedish_ci", "latin1_bin", "latin1_general_ci", "latin1_german1_ci", "ascii_bin"),
    *("utf8mb3_general_ci", "utf8mb3_bin", "utf8mb4_general_ci", "utf8mb4_bin"),
    *("utf8mb4_unicode_ci", "utf8mb4_german2_ci", "ucs2_general_ci", "utf16_bin", "cp1251_bin"),
    *("latin2_general_ci", "greek_general_ci", "koi8r_general_ci", "utf8mb3_unicode_ci"),
    *WRONG_IN_STOCK_KEYS,
)
WORDS = (
    *("", " ", "a", "A", "a ", "ab", "AB  ", "abc", "abcdefgh", "ABCDEFGH ", "abcdefghi", "zz"),
    *("x%y", "a\\tb", "é", "ß", "ss", "ä", "Ä", "abcdefg       h", "q" * 30, "ж", "Ж"),
)
FAMILIES = ("", "", "", "cf_one", "rev:cf_two")
NUMBERS: dict[str, tuple[str, ...]] = {
    "TINYINT": ("-128", "127", "0", "-1", "5"),
    "SMALLINT UNSIGNED": ("0", "65535", "7", "300"),
    "INT": ("-2147483648", "2147483647", "-1", "0", "77"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807", "0", "77"),
    "BIGINT UNSIGNED": ("0", "18446744073709551615", "9223372036854775808", "12"),
    "DECIMAL(12,3)": ("-99999999.999", "99999999.999", "-0.001", "3.5"),
    "DOUBLE": ("-1e300", "1e-300", "0", "-1.5", "2.25"),
    "FLOAT": ("-3e38", "0", "1.5", "-0.25"),
    "YEAR": ("1901", "2155", "2024"),
    "BIT(9)": ("b'101010101'", "b'0'", "b'1'"),
}
TIMES: dict[str, tuple[str, ...]] = {
    "DATE": ("'2024-02-29'", "'0000-00-00'", "'9999-12-31'", "'2001-01-01'"),
    "DATETIME": ("'2024-02-29 12:34:56'", "'1000-01-01 00:00:00'"),
    "DATETIME(3)": ("'2024-02-29 12:34:56.789'", "'1999-12-31 23:59:59.999'"),
    "TIMESTAMP(6) NULL": ("'2024-02-29 12:34:56.789012'", "'2001-01-01 00:00:01'"),
    "TIME(2)": ("'-838:59:59'", "'12:34:56.78'", "'-00:00:01.50'"),
}

# Types, and others that have all their values.
WIDER = {
    "TINYINT": "INT",
    "INT": "BIGINT",
    "SMALLINT UNSIGNED": "BIGINT UNSIGNED",
    "FLOAT": "DOUBLE",
    "DATETIME": "DATETIME(3)",
    "CHAR(10)": "CHAR(20)",
    "VARCHAR(40)": "VARCHAR(60)",
    "VARCHAR(60)": "VARCHAR(90)",
    "TEXT": "MEDIUMTEXT",
    "VARBINARY(20)": "VARBINARY(300)",
    "BINARY(9)": "BINARY(12)",
    "ENUM('x','y','zz')": "ENUM('x','y','zz','w')",
    "SET('p','q','r','s')": "SET('p','q','r','s','t')",
}


@dataclass
class Column:
    name: str
    kind: str
    collation: str = ""
    nullable: bool = True
    auto_increment: bool = False

    @property
    def is_blob(self) -> bool:
        return self.kind in ("TEXT", "BLOB", "MEDIUMTEXT")

    @property
    def is_text(self) -> bool:
        return self.is_blob or self.kind.startswith(("CHAR", "VARCHAR", "VARBINARY", "BINARY"))

    @property
    def definition(self) -> str:
        text = f"{self.name} {self.kind}"
        if self.collation:
            text += f" CHARACTER SET {self.collation.split('_')[0]} COLLATE {self.collation}"
        if not self.nullable:
            text = text.replace(" NULL", "") + " NOT NULL"
        return text + (" AUTO_INCREMENT" if self.auto_increment else "")

    def literal(self, chance: Random) -> str:
        if self.nullable and chance.random() < 0.15:
            return "NULL"
        if self.auto_increment:
            return "NULL"
        for pool in (NUMBERS, TIMES):
            if self.kind in pool:
                if pool is NUMBERS and "BIT" not in self.kind and chance.random() < 0.5:
                    return str(chance.randint(1, 120) if self.kind != "YEAR" else 2000)
                return chance.choice(pool[self.kind])
        if self.kind.startswith("ENUM"):
            return chance.choice(("'x'", "'y'", "'zz'"))
        if self.kind.startswith("SET"):
            return chance.choice(("''", "'p'", "'p,r'", "'q,r,s'"))
        if self.kind == "UUID":
            return (
                f"'{chance.getrandbits(32):08x}-e89b-12d3-a456-42665544{chance.randint(10, 99)}00'"
            )
        if self.kind == "INET6":
            return chance.choice(("'::1'", f"'2001:db8::{chance.randint(1, 99)}'"))
        if not self.collation:
            size = chance.choice((0, 1, 7, 8, 9, 16))
            return "x'" + bytes(chance.choice((0, 1, 32, 255)) for _ in range(size)).hex() + "'"
        word = chance.choice(WORDS) + chance.choice(("", "", " ", "b", chance.choice(WORDS)))
        if self.is_blob and chance.random() < 0.1:
            word *= chance.randint(1, 200)
        return "'" + word + "'"


@dataclass
class Key:
    name: str
    parts: list[tuple[Column, int]]  # A column and its prefix in characters, 0 for the whole.
    unique: bool = False
    family: str = ""

    @property
    def definition(self) -> str:
        parts = ", ".join(f"{c.name}({n})" if n else c.name for c, n in self.parts)
        head = "PRIMARY KEY" if self.name == "PRIMARY" else f"KEY {self.name}"
        if self.unique:
            head = f"UNIQUE {head}"
        return f"{head} ({parts})" + (f" COMMENT '{self.family}'" if self.family else "")

    @property
    def format_is_inexact(self) -> bool:
        """The stock format cuts a prefix of a TEXT by bytes: no reader finds all equals.

        And the stock plug-in lets duplicates into a unique prefix of a BLOB, of which a look-up
        gives one.
        """
        first = self.parts[0][0]
        return first.is_blob and (bool(first.collation) or self.unique)

    @property
    def is_whole(self) -> bool:
        return all(not length for _, length in self.parts)


@dataclass
class Table:
    name: str
    columns: list[Column]
    keys: list[Key] = field(default_factory=list)
    partitions: str = ""
    next_key: int = 0

    @property
    def definition(self) -> str:
        lines = [c.definition for c in self.columns] + [k.definition for k in self.keys]
        return (
            f"CREATE TABLE `{self.name}` ({', '.join(lines)}) ENGINE=ROCKSDB "
            f"DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci {self.partitions}"
        )

    @property
    def primary(self) -> Key | None:
        return next((key for key in self.keys if key.name == "PRIMARY"), None)

    def keys_of(self, column: Column) -> list[Key]:
        return [key for key in self.keys if any(part is column for part, _ in key.parts)]

    def needs(self, key: Key) -> bool:
        """Whether it is the one key that an AUTO_INCREMENT column is the first part of."""
        if not key.parts[0][0].auto_increment:
            return False
        return sum(each.parts[0][0] is key.parts[0][0] for each in self.keys) == 1

    @property
    def is_loaded_in_order(self) -> bool:
        """Whether SELECT * gives the rows in the order of the primary key."""
        return len(self.keys) == 1 and self.primary is not None and not self.partitions

    def insert(self, chance: Random, rows: int) -> str:
        verb = chance.choice(("INSERT IGNORE", "INSERT IGNORE", "REPLACE"))
        values = ", ".join(
            "(" + ", ".join(c.literal(chance) for c in self.columns) + ")" for _ in range(rows)
        )
        return f"{verb} INTO `{self.name}` VALUES {values}"

    def condition(self, chance: Random) -> str:
        column = chance.choice(self.columns)
        literal = column.literal(chance)
        if literal == "NULL":
            return f"{column.name} IS NULL"
        return f"{column.name} {chance.choice(('=', '<', '>=', '<>'))} {literal}"

    def new_key(self, chance: Random) -> Key:
        self.next_key += 1
        count = chance.choice((1, 1, 2, 3))
        parts = []
        for column in _sample(chance, self.columns, count):
            prefix = chance.choice((3, 8)) if column.is_blob else 0
            if column.is_text and not column.is_blob and chance.random() < 0.2:
                prefix = 4
            parts.append((column, prefix))
        unique = not self.partitions and chance.random() < 0.25
        return Key(f"k{self.next_key}", parts, unique, chance.choice(FAMILIES))


def _column(chance: Random, name: str) -> Column:
    kinds = (
        *NUMBERS,
        *TIMES,
        *("ENUM('x','y','zz')", "SET('p','q','r','s')", "UUID", "INET6"),
        *("CHAR(10)", "VARCHAR(40)", "VARCHAR(40)", "VARCHAR(90)", "CHAR(10)", "TEXT"),
        *("VARBINARY(20)", "BINARY(9)", "BLOB", "VARCHAR(40)", "VARCHAR(40)", "TEXT"),
    )
    kind = chance.choice(kinds)
    is_string = kind.startswith(("CHAR", "VARCHAR")) or kind == "TEXT"
    collation = chance.choice(COLLATIONS) if is_string else ""
    return Column(name, kind, collation, nullable=chance.random() < 0.6)


def _sample(chance: Random, columns: list[Column], count: int) -> list[Column]:
    """Columns for a key."""
    usable = [column for column in columns if column.collation not in WRONG_IN_STOCK_KEYS]
    return chance.sample(usable, min(count, len(usable)))


def random_table(chance: Random, name: str) -> Table:
    """A table with a primary key of any sort, or none, and up to four other keys."""
    table = Table(name, [_column(chance, f"c{i}") for i in range(chance.randint(2, 7))])
    if table.columns[0].collation in WRONG_IN_STOCK_KEYS:  # One column at least can be in a key.
        table.columns[0].collation = COLLATIONS[0]
    sort = chance.choice(("none", "auto", "auto", "number", "any", "many", "prefix", "partitioned"))
    if sort in ("auto", "number", "partitioned"):
        table.columns.insert(0, Column("id", "INT", "", False, auto_increment=sort == "auto"))
        table.keys.append(Key("PRIMARY", [(table.columns[0], 0)], family=chance.choice(FAMILIES)))
    if sort == "partitioned":
        table.keys[0].family = ""
        table.partitions = chance.choice(
            (
                "PARTITION BY HASH (id) PARTITIONS 3",
                "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (30), "
                "PARTITION p1 VALUES LESS THAN MAXVALUE)",
            )
        )
    elif sort in ("any", "many", "prefix"):
        count = {"any": 1, "many": 3, "prefix": 2}[sort]
        parts = []
        for column in _sample(chance, table.columns, count):
            column.nullable = False
            wants_prefix = column.is_blob or (sort == "prefix" and column.is_text)
            parts.append((column, 6 if wants_prefix else 0))
        table.keys.append(Key("PRIMARY", parts, family=chance.choice(FAMILIES)))
    for _ in range(chance.randint(0, 4)):
        key = table.new_key(chance)
        if table.partitions:
            key.family = ""
        table.keys.append(key)
    return table

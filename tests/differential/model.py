"""Random table shapes and values, and what the tester knows of each table."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

WORDS = [
    "",
    " ",
    "a",
    "A",
    "a ",
    "a\t",
    "ab",
    "AB ",
    "b",
    "abc",
    "abcdefgh",
    "ABCDEFGH ",
    "zz",
    "abcdefghi",
    "é",
    "E",
    "ß",
    "ss",
    "ä",
    "x%y",
    "x_y",
    "\u00ff",
    "abcdefg       h",
]
KINDS: dict[str, str] = {
    "int": "INT",
    "big": "BIGINT UNSIGNED",
    "lat": "VARCHAR(24) CHARACTER SET latin1",
    "utf": "VARCHAR(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "bin": "VARBINARY(24)",
    "dec": "DECIMAL(10,3)",
    "dt": "DATETIME(3)",
    "dbl": "DOUBLE",
    "txt": "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "enum": "ENUM('c','a','b','B2')",
    "uca": "VARCHAR(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
    "nopad": "VARCHAR(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_nopad_as_cs",
    "u8bin": "CHAR(24) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "bit": "BIT(10)",
}
AVOID: set[str] = set()  # kinds left out of the tables (--avoid)
STRINGS = ("lat", "utf", "bin", "txt", "uca", "nopad", "u8bin")
# The server's ranges over a prefix lose rows of a collation with several levels, with InnoDB too.
PREFIXABLE = tuple(kind for kind in STRINGS if kind != "nopad")
NUMBERS = ("int", "big", "dec", "dbl")


def quote(text: str) -> str:
    """Return a string as a literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(rnd: Random, kind: str) -> str:
    """Return a literal of a kind, mostly out of a small pool so that values collide."""
    match kind:
        case "int":
            pool = [-2147483648, 2147483647, -1, 0, 1]
            return str(rnd.choice(pool) if rnd.random() < 0.15 else rnd.randint(-12, 12))
        case "big":
            pool = [0, 2**63 - 1, 2**63, 2**64 - 1]
            return str(rnd.choice(pool) if rnd.random() < 0.2 else rnd.randint(0, 20))
        case "dec":
            return f"{rnd.choice([-9999999.999, 9999999.999, 0, -0.001, rnd.randint(-9, 9) / 4])}"
        case "dbl":
            return repr(rnd.choice([-1e300, 1e-300, 0.0, -1.5, 1.5, rnd.randint(-9, 9) / 8]))
        case "dt":
            return (
                f"'20{rnd.choice([0, 24]):02}-0{rnd.randint(1, 3)}-1{rnd.randint(0, 2)} "
                f"0{rnd.randint(0, 1)}:00:00.{rnd.choice([0, 1, 999]):03}'"
            )
        case "bit":
            return f"b'{rnd.choice([0, 1, 2, 512, 1023]):b}'"
        case "enum":
            return rnd.choice(["'a'", "'b'", "'c'", "'B2'"])
        case "bin":
            size = rnd.choice([0, 1, 2, 8, 9, 16, 17])
            return "x'" + bytes(rnd.choice([0, 1, 32, 65, 255]) for _ in range(size)).hex() + "'"
    word = rnd.choice(WORDS)
    if rnd.random() < 0.25:
        word = (word + rnd.choice(WORDS) + rnd.choice(["", "   ", "q"]))[:24]
    if kind == "uca":  # Which of two equal strings DISTINCT shows is nobody's promise.
        word = word.translate(str.maketrans("ßäÄé\u00ff", "qrRmn")).replace("ae", "af")
    if kind != "lat" and rnd.random() < 0.08:
        word = rnd.choice(["😀", "😁", "\u0100", "日本語"]) + word[:8]
    if kind == "txt" and rnd.random() < 0.1:
        word *= rnd.choice([3, 40, 400])
    return quote(word)


@dataclass
class Column:
    """One column."""

    name: str
    kind: str
    nullable: bool

    def ddl(self) -> str:
        """Return its definition."""
        return f"{self.name} {KINDS[self.kind]} {'NULL' if self.nullable else 'NOT NULL'}"


@dataclass
class Key:
    """One key; a part is a column's name and a prefix length (0: whole)."""

    name: str
    unique: bool
    parts: list[tuple[str, int]]
    comment: str = ""
    descending: tuple[str, ...] = ()  # Columns.

    def ddl(self) -> str:
        """Return its definition."""
        parts = ",".join(
            c + (f"({p})" if p else "") + (" DESC" if c in self.descending else "")
            for c, p in self.parts
        )
        head = f"{'UNIQUE ' if self.unique else ''}KEY {self.name}"
        head = "PRIMARY KEY" if self.name == "PRIMARY" else head
        return f"{head} ({parts})" + (f" COMMENT '{self.comment}'" if self.comment else "")

    def columns(self) -> list[str]:
        """Return the names of its columns."""
        return [c for c, _ in self.parts]


@dataclass
class Table:
    """One table. Column `uid` holds a value no other row has, so it ends every total order."""

    name: str
    columns: dict[str, Column] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    altered: bool = False

    def ddl(self) -> str:
        """Return its CREATE TABLE, without an engine."""
        parts = [c.ddl() for c in self.columns.values()] + [k.ddl() for k in self.keys.values()]
        return f"CREATE TABLE {self.name} ({', '.join(parts)}) DEFAULT CHARSET=utf8mb4"

    def unique_columns(self) -> set[str]:
        """Return the columns in unique keys."""
        return {c for k in self.keys.values() if k.unique for c in k.columns()}

    def orders(self) -> list[list[str]]:
        """Return column lists that are total orders."""
        found = [k.columns() for k in self.keys.values() if k.name == "PRIMARY"]
        return (
            found
            + [[*[c for c in k.columns() if c != "uid"], "uid"] for k in self.keys.values()]
            + [["uid"]]
        )


def random_key(rnd: Random, table: Table, name: str, unique: bool) -> Key:
    """Return a key over random columns of a table."""
    pool = [c for c in table.columns.values() if name != "PRIMARY" or not c.nullable]
    pool = rnd.sample(pool, min(len(pool), rnd.randint(1, 4)))
    parts: list[tuple[str, int]] = []
    for col in pool:
        wants = col.kind == "txt" or (col.kind in PREFIXABLE and rnd.random() < 0.15)
        parts.append((col.name, rnd.choice([1, 3, 8, 10]) if wants else 0))
    comment = rnd.choice(["", "", "cfname=rev:x", "cfname=fwd", "rev:y"])
    descending = tuple(c for c, _ in parts if rnd.random() < 0.2)
    return Key(name, unique, parts, comment, descending)


def random_table(rnd: Random, name: str) -> Table:
    """Return a random table."""
    table = Table(name)
    names = ["uid"] + [f"c{i}" for i in range(rnd.randint(2, 7))]
    rnd.shuffle(names)
    for col in names:
        kind = "int" if col == "uid" else rnd.choice([k for k in KINDS if k not in AVOID])
        table.columns[col] = Column(col, kind, col != "uid" and rnd.random() < 0.6)
    if rnd.random() < 0.8:
        table.keys["PRIMARY"] = (
            Key("PRIMARY", True, [("uid", 0)])
            if rnd.random() < 0.25
            else random_key(rnd, table, "PRIMARY", True)
        )
    for i in range(rnd.randint(0, 4)):
        table.keys[f"k{i}"] = random_key(rnd, table, f"k{i}", rnd.random() < 0.25)
    return table

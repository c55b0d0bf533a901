"""Random tables, described so that they can be made with any engine, and shrunk.

All rows follow from their number by expressions: a table of thousands of rows is one statement,
which stays short when a finding is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.hunt.keys import Key, KeyPart, without_columns
from tests.hunt.values import INT, JSON, POINT, Kind, random_kind, text_kind

# How many rows tables have; merges of indexes are chosen on a thousand and more.
LARGE = (1200, 2000, 3000, 4500)
SMALL = (0, 1, 7, 150, 400)
FAR_S = 3_000_000_000
ENGINES = {"r": "ROCKSDB", "i": "InnoDB"}


@dataclass(frozen=True)
class Column:
    """A column, and the expression over `seq`, the row's number from 1, that gives its value."""

    name: str
    kind: Kind
    nullable: bool = True
    value: str = "NULL"
    # Literals that occur in it.
    pool: tuple[str, ...] = ()
    # What `value` picks from, NULL included; empty where it is another expression.
    drawn: tuple[str, ...] = ()
    # Computed by the server: VIRTUAL or PERSISTENT, of other columns.
    generated: str = ""
    expression: str = ""
    needs: tuple[str, ...] = ()

    def picking(self, drawn: tuple[str, ...]) -> Column:
        """The same column with other values."""
        return replace(self, drawn=drawn, value=_chosen(drawn, self.kind, self.name))

    def ddl(self) -> str:
        """Its definition."""
        if self.generated:
            return f"{self.name} {self.kind.sql} AS ({self.expression}) {self.generated}"
        return f"{self.name} {self.kind.sql}{'' if self.nullable else ' NOT NULL'}"


@dataclass(frozen=True)
class Table:
    """A table. Its column `id` has another value in each row, so it ends every total order."""

    name: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...]
    rows: int
    partitions: str = ""
    versioned: bool = False
    comment: str = ""
    # Only these row numbers, as a condition on `seq`.
    only: str = ""

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)

    def has(self, name: str) -> bool:
        """Whether it has a column of that name."""
        return any(column.name == name for column in self.columns)

    def primary(self) -> Key | None:
        """Its primary key, if it has one."""
        return next((key for key in self.keys if key.name == "PRIMARY"), None)

    def ddl(self, engine: str) -> str:
        """Its CREATE TABLE."""
        parts = [column.ddl() for column in self.columns] + [key.ddl() for key in self.keys]
        text = f"CREATE TABLE {self.name} ({', '.join(parts)}) ENGINE={engine}"
        if self.comment:
            text += f" COMMENT='{self.comment}'"
        if self.versioned:
            text += " WITH SYSTEM VERSIONING"
        return f"{text}{' ' + self.partitions if self.partitions else ''}"

    @property
    def has_unique_numbers(self) -> bool:
        """Whether a key keeps out a second row with the same id."""
        return any(
            (key.unique or key.name == "PRIMARY") and tuple(key.columns) == ("id",)
            for key in self.keys
        )

    def insert(self, first: int = 1, last: int | None = None, verb: str = "INSERT IGNORE") -> str:
        """A statement that inserts the rows of these numbers, in their order."""
        given = [column for column in self.columns if not column.generated]
        last = self.rows if last is None else last
        # A sequence to a smaller number counts down.
        only = self.only if last >= first else "FALSE"
        values = ", ".join(column.value for column in given)
        return (
            f"{verb} INTO {self.name} ({', '.join(column.name for column in given)}) "
            f"SELECT {values} FROM seq_{first}_to_{last}{' WHERE ' + only if only else ''}"
        )

    def without_column(self, name: str) -> Table:
        """Without a column, and what is computed of it; keys lose the parts."""
        gone = {name}
        for column in self.columns:
            if gone & set(column.needs):
                gone.add(column.name)
        columns = tuple(column for column in self.columns if column.name not in gone)
        return replace(self, columns=columns, keys=without_columns(self.keys, gone))


# ---- values --------------------------------------------------------------------------------------


def _chosen(pool: tuple[str, ...], kind: Kind, salt: str) -> str:
    """An expression that picks one of the pool by the row's number."""
    number = f"CRC32(CONCAT(seq, '{salt}')) % {len(pool)}"
    if kind.is_number and all(literal.lstrip("-").isdigit() for literal in pool):
        first = int(pool[0])
        if [int(literal) for literal in pool] == list(range(first, first + len(pool))):
            return f"CAST({number} AS SIGNED) + {first}".replace("+ -", "- ")
    return kind.wrap.format(f"ELT(1 + {number}, {', '.join(pool)})")


def random_column(chance: Random, name: str, kind: Kind, rows: int) -> Column:
    """A column of a type, with a pool of its own."""
    size = chance.choice([2, 5, 12, 30, 60, max(3, min(200, rows // 12))])
    nullable = chance.random() < 0.6
    pool = tuple(kind.pool(chance, size))
    drawn = (*pool, *(["NULL"] if nullable and chance.random() < 0.8 else []))
    return Column(name, kind, nullable, "", pool).picking(drawn)


def _generated(chance: Random, name: str, base: Column) -> Column | None:
    """A column that the server computes from another one."""
    how = chance.choice(["VIRTUAL", "VIRTUAL", "VIRTUAL", "PERSISTENT"])

    def of(sql: str, expression: str, pool: list[str], *, number: bool) -> Column:
        kind = Kind(sql, lambda _, __: pool, is_number=number, is_text=not number)
        # What pads a CHAR to its length is a session's own.
        padded = base.kind.sql.startswith("CHAR(")
        text = expression.format(f"RTRIM({base.name})" if padded else base.name)
        return Column(name, kind, True, "", tuple(pool), (), how, text, (base.name,))

    small = [str(n) for n in range(-3, 12)]
    if base.kind is JSON:
        if chance.random() < 0.6:
            return of("INT", "JSON_VALUE({}, '$.k')", [str(n) for n in range(60)], number=True)
        latin = "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci"
        words = [f"'v{n}'" for n in range(30)] + ["'A1'", "'a2'"]
        return of(latin, "JSON_VALUE({}, '$.s')", words, number=False)
    if base.kind.is_number:
        expression = chance.choice(["{} % 7", "{} % 11 - 2", "-({} % 5)"])
        return of(chance.choice(["INT", "BIGINT", "SMALLINT"]), expression, small, number=True)
    if base.kind.is_text and base.kind.collation:
        words = [f"'{word}'" for word in ("a", "A", "ab", "b", "x%", "", "é", "0")]
        expression = chance.choice(["LEFT({}, 3)", "CONCAT({}, 'x')", "REVERSE({})"])
        sql = "VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        return of(sql, expression, words, number=False)
    return None


# ---- tables --------------------------------------------------------------------------------------


def _id(chance: Random, rows: int) -> Column:
    number = "CAST(seq AS SIGNED)"
    choices: list[tuple[str, Callable[[int], int]]] = [
        ("seq", lambda n: n),
        ("seq", lambda n: n),
        (f"{number} * 3 - 2000", lambda n: n * 3 - 2000),
        (f"5000 - {number}", lambda n: 5000 - n),
        ("seq * 7919 % 100003", lambda n: n * 7919 % 100003),
    ]
    value, pool = chance.choice(choices)
    some = [str(pool(chance.randint(1, max(1, rows)))) for _ in range(24)]
    return Column("id", INT, False, value, tuple(dict.fromkeys(some)))


def _unique_text(chance: Random) -> Column:
    """A string that each row has alone."""
    kind = text_kind(chance)
    while kind.sql.startswith(("CHAR(4)", "TINYTEXT")):
        kind = text_kind(chance)
    words = ("a", "B", "x_", "abcdefgh", "")
    value = f"CONCAT(ELT(1 + seq % 5, {', '.join(f'{w!r}' for w in words)}), seq)"
    pool = tuple(f"'{words[n % 5]}{n}'" for n in (1, 2, 7, 33, 104, 500))
    return Column("u", kind, chance.random() < 0.3, value, pool)


def _part(chance: Random, column: Column, *, prefixes: float = 0.15) -> KeyPart:
    descending = chance.random() < 0.25
    kind = column.kind
    if kind.is_blob or (kind.may_have_prefix and chance.random() < prefixes):
        most = 10
        if kind.sql.startswith(("CHAR(4)", "VARBINARY")):
            most = 4
        return KeyPart(column.name, chance.choice([1, 3, 8, most]) % (most + 1) or 1, descending)
    return KeyPart(column.name, 0, descending)


def _primary(chance: Random, columns: list[Column]) -> Key | None:
    """One of the kinds of primary keys; None is the hidden one."""
    own = KeyPart("id", 0, chance.random() < 0.4)
    others = [column for column in columns if not column.nullable and not column.generated]
    others = [c for c in others if c.kind.has_keys and c.name not in ("id", "u")]
    text = next((c for c in columns if c.name == "u" and not c.nullable), None)
    comment = chance.choice(["", "", "", "cfname=hunt_a", "rev:hunt_p"])
    pick = chance.random()
    if pick < 0.12:
        return None
    if pick < 0.3 and text is not None and not text.kind.is_blob:
        return Key("PRIMARY", (_part(chance, text, prefixes=0), own)[: chance.randint(1, 2)], True)
    if pick < 0.65 and others:
        chosen = chance.sample(others, min(len(others), chance.randint(1, 2)))
        parts = [_part(chance, column) for column in chosen]
        parts.insert(chance.randint(0, len(parts)), own)
        return Key("PRIMARY", tuple(parts), True, comment)
    return Key("PRIMARY", (own,), True, comment)


def _secondary(chance: Random, name: str, columns: list[Column]) -> Key:
    usable = [c for c in columns if c.kind.has_keys and c.name != "id"]
    chosen = chance.sample(usable, min(len(usable), chance.choice([1, 1, 1, 2, 2, 3])))
    parts = [_part(chance, column) for column in chosen]
    if chance.random() < 0.15:
        parts.append(KeyPart("id", 0, chance.random() < 0.3))
    comment = chance.choice(["", "", "", "", "cfname=hunt_b", "rev:hunt_k"])
    unique = parts[-1].column == "id" and chance.random() < 0.5
    return Key(name, tuple(parts), unique, comment)


def random_table(chance: Random, name: str, kinds: list[Kind], rows: int) -> Table:
    """A table of some of these types."""
    columns = [_id(chance, rows), _unique_text(chance)]
    for number in range(chance.randint(3, 7)):
        columns.append(random_column(chance, f"c{number}", chance.choice(kinds), rows))
    bases = columns[2:]
    for number in range(chance.choice([0, 1, 1, 2])):
        column = _generated(chance, f"g{number}", chance.choice(bases))
        if column is not None:
            columns.append(column)
    primary = _primary(chance, columns)
    usable = [c for c in columns if c.kind.has_keys and c.name not in ("id", "u")]
    # Two indexes that begin with other columns are what merges are made of.
    leading = chance.sample(usable, min(len(usable), 3))
    computed = [c for c in usable if c.generated]
    if computed and not any(c.generated for c in leading):
        leading[-1] = chance.choice(computed)
    keys = [Key(f"k{n}", (_part(chance, column),)) for n, column in enumerate(leading)]
    keys += [
        _secondary(chance, f"k{n}", columns)
        for n in range(len(keys), len(keys) + chance.randint(0, 3))
    ]
    partitions = ""
    if chance.random() < 0.2 and not any(column.kind is POINT for column in columns):
        partitions = _partitions(chance, rows, primary)
    if chance.random() < 0.3 and not partitions:
        # A key over all of a long string is unique by a hash.
        text = columns[1]
        keys.append(Key("uu", (KeyPart("u"),), True))
        if text.kind.is_blob and chance.random() < 0.5:
            keys.append(Key("ku", (KeyPart("u", 8),)))
    if primary is not None:
        keys.insert(0, primary)
        if partitions and "id" not in primary.columns:
            keys[0] = Key("PRIMARY", (*primary.parts, KeyPart("id")), True, "")
    versioned = not partitions and chance.random() < 0.12
    comment = ""
    if primary is not None and not partitions and not versioned and chance.random() < 0.12:
        comment = f"ttl_duration={FAR_S}"
    order = columns[:]
    chance.shuffle(order)
    # The server wants what a column is computed of in the same table, in any order.
    return Table(name, tuple(order), tuple(keys), rows, partitions, versioned, comment)


def _partitions(chance: Random, rows: int, primary: Key | None) -> str:
    step = max(1, rows // 3)
    bounds = [f"PARTITION p{n} VALUES LESS THAN ({n * step - 500})" for n in range(1, 4)]
    ranges = ", ".join([*bounds, "PARTITION p4 VALUES LESS THAN MAXVALUE"])
    kinds = [
        f"PARTITION BY HASH (id) PARTITIONS {chance.choice([2, 3, 7])}",
        f"PARTITION BY RANGE (id) ({ranges})",
        "PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 "
        f"(PARTITION p0 VALUES LESS THAN ({step}), PARTITION p1 VALUES LESS THAN MAXVALUE)",
    ]
    if primary is not None:
        kinds.append(f"PARTITION BY KEY (id) PARTITIONS {chance.choice([2, 5])}")
    return chance.choice(kinds)


def random_tables(chance: Random) -> list[Table]:
    """Tables with columns of the same types, which can be joined."""
    kinds = [random_kind(chance) for _ in range(4)] + [INT]
    return [
        random_table(chance, "t", kinds, chance.choice(LARGE)),
        random_table(chance, "s", kinds, chance.choice(SMALL)),
    ]

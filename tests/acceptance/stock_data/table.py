"""Tables as information_schema describes them, and the questions that every index must answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.roundtrip.tables import WRONG_IN_STOCK_KEYS

Query = Callable[[str], list[tuple[Any, ...]]]

SCHEMAS = ("fmt", "we-ird.db")
INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
BLOBS = ("tinyblob", "blob", "mediumblob", "longblob", "tinytext", "text", "mediumtext", "longtext")
# Their keys give everything back and order exactly in the stock format.
PLAIN_KEYS = (*INTEGERS, "decimal", "float", "double", "year", "date", "binary", "varbinary")
# Their stock keys cannot be read back.
CAIRN_KEYS = ("bit", "enum", "set", "uuid", "inet4", "inet6")
# No row has it, so that both sides of it are all rows.
PIVOT = "'m m'"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Column:
    name: str
    type: str  # Without length and attributes.
    collation: str = ""
    is_old_temporal: bool = False
    is_compressed: bool = False

    @property
    def quoted(self) -> str:
        return quoted(self.name)

    @property
    def is_exact_in_stock_keys(self) -> bool:
        return self.collation not in WRONG_IN_STOCK_KEYS


@dataclass(frozen=True)
class Part:
    column: Column
    prefix: int = 0  # In characters; 0 for the whole column.


@dataclass
class Index:
    name: str
    unique: bool
    ignored: bool
    parts: list[Part] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        return [part.column for part in self.parts]

    @property
    def hint(self) -> str:
        if not self.name:
            return "USE INDEX ()"
        return f"FORCE INDEX ({quoted(self.name)})"


@dataclass
class Table:
    schema: str
    name: str
    columns: list[Column]
    indexes: list[Index]
    is_versioned: bool = False

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def primary(self) -> Index | None:
        return next((index for index in self.indexes if index.name == "PRIMARY"), None)

    @property
    def usable_indexes(self) -> list[Index]:
        """Those that the optimizer may be told to take."""
        return [index for index in self.indexes if not index.ignored]

    @property
    def ways(self) -> list[Index]:
        """How a row may be found: by an index, or where there is none, by all its columns."""
        return self.usable_indexes or [Index("", False, False, [Part(c) for c in self.columns])]

    @property
    def has_old_temporals(self) -> bool:
        return any(column.is_old_temporal for column in self.columns)

    def gains_by_the_cairn_format(self) -> bool | None:
        """None where it depends on the collation, or on a length."""
        answers = [_part_gains(part) for index in self.indexes for part in index.parts]
        in_key = self.primary.columns if self.primary else []
        answers += [_row_gains(column) for column in self.columns if column not in in_key]
        if any(answers):
            return True
        return None if None in answers else False


def _part_gains(part: Part) -> bool | None:
    column = part.column
    if column.type in CAIRN_KEYS or column.is_old_temporal or column.type in BLOBS:
        return True
    if column.type in PLAIN_KEYS or (
        column.type in ("datetime", "timestamp", "time") and not column.is_old_temporal
    ):
        return False
    return None


def _row_gains(column: Column) -> bool | None:
    if column.type != "char":
        return False
    return True if column.collation.startswith(("utf8mb3_", "utf8mb4_")) else None


def read(query: Query) -> list[Table]:
    """Every ROCKSDB table of the server, by name."""
    tables: dict[tuple[str, str], Table] = {}
    for schema, name, kind in query(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES "
        "WHERE ENGINE = 'ROCKSDB' ORDER BY TABLE_SCHEMA, TABLE_NAME"
    ):
        tables[schema, name] = Table(schema, name, [], [], kind == "SYSTEM VERSIONED")
    for schema, name, column, kind, full_kind, collation in query(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COLLATION_NAME "
        "FROM information_schema.COLUMNS "
        "ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
    ):
        if table := tables.get((schema, name)):
            table.columns.append(
                Column(
                    *(column, kind.lower(), collation or ""),
                    is_old_temporal="5.3" in full_kind,
                    is_compressed="COMPRESSED" in full_kind,
                )
            )
    for schema, name, key, not_unique, column, prefix, ignored in query(
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART, IGNORED "
        "FROM information_schema.STATISTICS "
        "ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX"
    ):
        if table := tables.get((schema, name)):
            if not table.indexes or table.indexes[-1].name != key:
                table.indexes.append(Index(key, not not_unique, ignored == "YES"))
            found = next(c for c in table.columns if c.name == column)
            table.indexes[-1].parts.append(Part(found, prefix or 0))
    return list(tables.values())


def bytes_of(columns: list[Column], prefix: str = "") -> list[str]:
    """SQL for the columns' bytes, free of collations and rounding."""
    return [f"COALESCE(HEX(CAST({prefix}{column.quoted} AS BINARY)), 'N')" for column in columns]


def rows_of(query: Query, table: Table) -> Counter[tuple[Any, ...]]:
    """All rows as bytes, read through the primary key."""
    return Counter(
        query(f"SELECT {', '.join(bytes_of(table.columns))} FROM {table.quoted} USE INDEX ()")
    )


def differing_indexes(query: Query, table: Table, *, exact: bool = False) -> Iterator[str]:
    """One line for each index that does not give what the primary key gives.

    `exact`: the indexes are not of the stock plug-in, so that every collation comes back.
    """
    for index in table.usable_indexes:
        primary = table.primary.columns if table.primary else []
        given = list(dict.fromkeys(index.columns + primary))
        if not exact:
            given = [column for column in given if column.is_exact_in_stock_keys]
        for what, columns in (("rows", table.columns), ("rows of its own columns", given)):
            if not columns:
                continue
            by_index = _all_by(table, index, columns)
            found = _summed(query, columns, by_index)
            whole = f"SELECT {_names(columns)} FROM {table.quoted} USE INDEX ()"
            wanted = _summed(query, columns, whole)
            if found != wanted:
                yield f"index {index.name} gives other {what}: {found}, the table {wanted}"
            yield from _not_by_index(query, index, by_index)
        look_ups = _look_ups(table, index, index.hint)
        found, wanted = query(look_ups)[0], query(_look_ups(table, index, "USE INDEX ()"))[0]
        if found != wanted:
            yield f"look-ups by {index.name} find {found}, a scan {wanted}"
        yield from _not_by_index(query, index, look_ups)


def _not_by_index(query: Query, index: Index, statement: str) -> Iterator[str]:
    """A line when a statement that is to try an index does not read it."""
    plan = query(f"EXPLAIN {statement}")
    if index.name not in [line[5] for line in plan]:
        yield f"index {index.name} is not used: {plan} for {statement}"


def _names(columns: list[Column]) -> str:
    return ", ".join(column.quoted for column in columns)


def _summed(query: Query, columns: list[Column], rows: str) -> tuple[Any, ...]:
    """The number of rows, and a checksum that does not depend on their order."""
    digest = f"SUM(CRC32(CONCAT_WS('#', {', '.join(bytes_of(columns))})))"
    return query(f"SELECT COUNT(*), {digest} FROM ({rows}) AS found")[0]


def _all_by(table: Table, index: Index, columns: list[Column]) -> str:
    """All rows in the order of an index; one that begins with a prefix has none, but ranges."""
    source = f"SELECT {_names(columns)} FROM {table.quoted} {index.hint}"
    first = index.parts[0]
    name = first.column.quoted
    if not first.prefix:
        return f"{source} ORDER BY {name} LIMIT 100000000"
    sides = (f"{name} < {PIVOT}", f"{name} >= {PIVOT}", f"{name} IS NULL")
    return " UNION ALL ".join(f"({source} WHERE {side})" for side in sides)


def _look_ups(table: Table, index: Index, hint: str) -> str:
    """Finds each row's equals by the values that it has in the columns of the index."""
    names = [column.quoted for column in index.columns]
    equal = " AND ".join(f"b.{name} <=> a.{name}" for name in names)
    digest = ", ".join(bytes_of(table.columns, "a.") + bytes_of(table.columns, "b."))
    return (
        f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', {digest}))) "
        f"FROM {table.quoted} a USE INDEX () STRAIGHT_JOIN {table.quoted} b {hint} ON {equal}"
    )

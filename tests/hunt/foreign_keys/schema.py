"""What tables there are, read from InnoDB's database: statements are drawn for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.hunt.foreign_keys.values import BLOB, class_of
from tests.hunt.session import Session

# The databases of a script; each engine has its own, with its letter in front.
HERE, ELSEWHERE = "here", "elsewhere"
# What separates columns of an answer.
_BAR = "|"


@dataclass(frozen=True)
class Column:
    """A column; `kind` is its class, see values.py, `source` what it is stored a copy of."""

    name: str
    kind: str
    nullable: bool
    generated: bool
    source: str = ""
    virtual: bool = False
    # Whether it is a CHAR, whose values are filled up, and whether it counts.
    fixed: bool = False
    counts: bool = False


@dataclass(frozen=True)
class Index:
    """An index; `whole` says of each part whether it is the whole column."""

    name: str
    unique: bool
    columns: tuple[str, ...] = ()
    whole: tuple[bool, ...] = ()

    def leading(self) -> tuple[str, ...]:
        """The columns up to the first prefix."""
        count = self.whole.index(False) if False in self.whole else len(self.whole)
        return self.columns[:count]


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key; tables are names such as here.t1."""

    name: str
    child: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table and where it is."""

    database: str
    name: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...]
    foreign_keys: tuple[ForeignKey, ...]
    # Whether ours has its rows from the last to the first, and whether a UNIQUE key is hashed.
    is_reverse: bool = False
    is_hashed: bool = False
    is_versioned: bool = False

    @property
    def full(self) -> str:
        """Its name with its database."""
        return f"{self.database}.{self.name}"

    @property
    def sql(self) -> str:
        """Its name in a statement."""
        return self.name if self.database == HERE else self.full

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)

    def of_keys(self) -> list[Column]:
        """The columns that an index may have whole."""
        return [column for column in self.columns if column.kind != BLOB]

    def feeds(self, name: str) -> bool:
        """Whether a stored column is made of this one."""
        return any(column.source == name for column in self.columns)

    def given(self) -> list[Column]:
        """The columns that statements write."""
        return [column for column in self.columns if not column.generated]


@dataclass(frozen=True)
class Schema:
    """All tables of a script."""

    tables: tuple[Table, ...] = ()

    def foreign_keys(self) -> list[ForeignKey]:
        """All of them."""
        return [each for table in self.tables for each in table.foreign_keys]

    def parents_of(self, table: Table) -> list[ForeignKey]:
        """The foreign keys that name the table as their parent."""
        return [each for each in self.foreign_keys() if each.parent == table.full]

    def table(self, full: str) -> Table | None:
        """The table of that full name."""
        return next((table for table in self.tables if table.full == full), None)

    def named(self, statement: str) -> list[Table]:
        """The tables that a statement names."""
        words = set(re.findall(r"[\w.]+", statement))
        return [table for table in self.tables if table.sql in words or table.full in words]


def read(session: Session, letter: str) -> Schema:
    """Reads both databases of the engine that has this letter."""
    indexes: dict[tuple[str, str], dict[str, Index]] = {}
    reverse, hashed = _read_indexes(session, letter, indexes)
    keys = _foreign_keys(session, letter)
    versioned = {
        (schema, table)
        for schema, table in _rows(
            session,
            letter,
            "tables",
            ("table_name",),
            (),
            "table_name",
            "table_type = 'SYSTEM VERSIONED'",
        )
    }
    columns: dict[tuple[str, str], list[Column]] = {}
    for (
        schema,
        table,
        name,
        column_type,
        collation,
        nullable,
        generated,
        extra,
        source,
    ) in _rows(
        session,
        letter,
        "columns",
        ("table_name", "column_name", "column_type", "COALESCE(collation_name, '')"),
        ("is_nullable", "is_generated", "extra", "COALESCE(generation_expression, '')"),
        "ordinal_position",
    ):
        kind = class_of(column_type, collation)
        virtual = "VIRTUAL" in extra
        column = Column(
            name,
            kind,
            nullable == "YES",
            generated == "ALWAYS",
            "" if virtual else source.strip("`"),
            virtual,
            column_type.startswith("char("),
            "auto_increment" in extra,
        )
        columns.setdefault((schema, table), []).append(column)
    return Schema(
        tuple(
            Table(
                database,
                name,
                tuple(found),
                tuple(indexes.get((database, name), {}).values()),
                tuple(keys.get((database, name), {}).values()),
                (database, name) in reverse,
                (database, name) in hashed,
                (database, name) in versioned,
            )
            for (database, name), found in columns.items()
        )
    )


def _rows(
    session: Session,
    letter: str,
    table: str,
    names: tuple[str, ...],
    more: tuple[str, ...],
    order: str,
    where: str = "TRUE",
) -> list[list[str]]:
    """Rows of a table of information_schema: the database without the letter, then the columns."""
    columns = ", ".join(["table_schema", *names, *more])
    found = []
    # One by one: else the server looks into all databases that there are.
    for database in (HERE, ELSEWHERE):
        answer = session.must(
            f"SELECT CONCAT_WS('{_BAR}', {columns}) FROM information_schema.{table} "
            f"WHERE table_schema = '{letter}_{database}' AND {where} ORDER BY table_name, {order}"
        )
        found += [row.removeprefix(f"{letter}_").split(_BAR) for row in answer.rows]
    return found


def _read_indexes(
    session: Session, letter: str, found: dict[tuple[str, str], dict[str, Index]]
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Returns the tables whose primary key is in a reverse family, and those with a hashed key."""
    reverse, hashed = set(), set()
    for schema, table, name, other, column, part, kind, comment in _rows(
        session,
        letter,
        "statistics",
        ("table_name", "index_name", "non_unique", "column_name"),
        ("COALESCE(sub_part, 0)", "index_type", "index_comment"),
        "index_name, seq_in_index",
    ):
        if kind == "HASH":
            # A long unique key, which nothing can be read by.
            hashed.add((schema, table))
            continue
        if name == "PRIMARY" and "rev:" in comment:
            reverse.add((schema, table))
        of_table = found.setdefault((schema, table), {})
        before = of_table.get(name, Index(name, other == "0"))
        of_table[name] = Index(
            name, before.unique, (*before.columns, column), (*before.whole, part == "0")
        )
    return reverse, hashed


def _foreign_keys(session: Session, letter: str) -> dict[tuple[str, str], dict[str, ForeignKey]]:
    found: dict[tuple[str, str], dict[str, ForeignKey]] = {}
    for schema, table, name, column, parent_schema, parent, parent_column in _rows(
        session,
        letter,
        "key_column_usage",
        ("table_name", "constraint_name", "column_name"),
        ("referenced_table_schema", "referenced_table_name", "referenced_column_name"),
        "constraint_name, ordinal_position",
        "referenced_table_name IS NOT NULL",
    ):
        of_table = found.setdefault((schema, table), {})
        full = f"{parent_schema.removeprefix(f'{letter}_')}.{parent}"
        before = of_table.get(name, ForeignKey(name, f"{schema}.{table}", (), full, ()))
        of_table[name] = ForeignKey(
            name,
            before.child,
            (*before.columns, column),
            full,
            (*before.parent_columns, parent_column),
        )
    return found

"""Comparing a table with its copy, and looking for rows that foreign keys do not allow."""

from __future__ import annotations

from cairn.errors import CairnError
from cairn.migrate.link import Session, name
from cairn.migrate.schema import ForeignKey, Id, Table, sql_of, text_of


def figure(session: Session, table: Table, place: Id, verify: str) -> str:
    """What is compared of the rows at `place`, which are of `table` or its copy, as text.

    That is their number or CHECKSUM TABLE. The latter is not the same twice for InnoDB tables with
    virtual columns, so there it is a sum over what is stored.
    """
    if verify == "count":
        return f"{session.value(f'SELECT COUNT(*) FROM {sql_of(place)}')} rows"
    if table.has_virtual:
        return f"sum {session.value(sum_query(table, place))}"
    found = session.rows(f"CHECKSUM TABLE {sql_of(place)}")
    if not found or found[0][1] is None:
        raise CairnError(f"{text_of(place)}: the server has no checksum of it (CHECKSUM TABLE).")
    return f"checksum {found[0][1]}"


def sum_query(table: Table, place: Id) -> str:
    """A sum over all bytes of the stored columns that does not depend on the order of rows."""
    values = ", ".join(f"IFNULL(HEX(CONCAT({name(column)})), '-')" for column in table.stored)
    return f"SELECT IFNULL(SUM(CRC32(CONCAT_WS('#', {values}))), 0) FROM {sql_of(place)}"


def compare(session: Session, table: Table, copy: Id, verify: str) -> str:
    """Compares both; what they have in common, or a CairnError. Writers must be kept out."""
    if verify == "none":
        return "not compared"
    before = figure(session, table, table.id, verify)
    after = figure(session, table, copy, verify)
    if before != after:
        raise CairnError(
            f"{text_of(table.id)}: the copy differs: {before} here, {after} there. The table is as "
            "it was, and the copy is removed."
        )
    return before


def orphans_query(key: ForeignKey) -> str:
    """The query that finds the children without their parent."""
    on = " AND ".join(
        f"p.{name(parent)} = c.{name(child)}"
        for child, parent in zip(key.columns, key.parent_columns, strict=True)
    )
    given = " AND ".join(f"c.{name(child)} IS NOT NULL" for child in key.columns)
    return (
        f"SELECT c.* FROM {sql_of(key.child)} c LEFT JOIN {sql_of(key.parent)} p ON {on} "
        f"WHERE p.{name(key.parent_columns[0])} IS NULL AND {given}"
    )


def orphans(session: Session, key: ForeignKey) -> int:
    """How many children have no parent."""
    query = orphans_query(key).replace("SELECT c.*", "SELECT COUNT(*)", 1)
    return int(session.value(query))


def unbound(session: Session, tables: set[Id]) -> list[str]:
    """Foreign keys of ROCKSDB tables that have no parent; none where the engine does not tell."""
    if not session.value(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = 'information_schema' "
        "AND table_name = 'CAIRN_FOREIGN_KEYS'"
    ):
        return []
    return [
        f"{row[0]}.{row[1]}: {row[2]}"
        for row in session.rows(
            "SELECT table_schema, table_name, constraint_name "
            "FROM information_schema.cairn_foreign_keys WHERE state <> 'bound'"
        )
        if (row[0], row[1]) in tables
    ]

"""What a server says about the tables of a round, to be compared with what the next one says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.roundtrip.tables import Key, Table

Query = Callable[[str], list[tuple[Any, ...]]]


@dataclass
class Picture:
    """Facts by name, and where a plug-in contradicts itself."""

    facts: dict[str, Any] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)


def take(query: Query, tables: list[Table]) -> Picture:
    """Checksums and counts of every table, through its rows and through each of its keys.

    A fact that a plug-in answers differently by key and by scan is a contradiction instead: the
    stock plug-in has some with prefixes and collations of several weights, Cairn must have none.
    """
    seen = Picture()
    for table in tables:
        name = table.name
        seen.facts[f"{name}: checksum"] = query(f"CHECKSUM TABLE `{name}` EXTENDED")[0][1]
        seen.facts[f"{name}: rows"] = query(f"SELECT COUNT(*) FROM `{name}`")[0][0]
        for column in table.columns:
            if column.auto_increment and not query(_next_is_above(name, column.name))[0][0]:
                seen.contradictions.append(f"{name}: the next number is one that a row has")
        for key in table.keys:
            by_key = query(_look_ups(table, key, f"FORCE INDEX ({key.name})"))
            by_scan = query(_look_ups(table, key, "USE INDEX ()"))
            what = f"{name}, {key.name}: look-ups"
            if by_key == by_scan:
                seen.facts[what] = by_key
            elif not key.format_is_inexact and not query(_rows_alike(table, key)):
                seen.contradictions.append(f"{what}: {by_key} by key, {by_scan} by scan")
            if key.is_whole:
                seen.facts[f"{name}, {key.name}: in order"] = query(_in_order(table, key))
    return seen


def _next_is_above(table: str, column: str) -> str:
    # Numbers that no committed row took may come again after a restart: more cannot be compared.
    return (
        f"SELECT COALESCE(AUTO_INCREMENT, 1) > (SELECT COALESCE(MAX({column}), 0) FROM `{table}`) "
        "FROM information_schema.TABLES "
        f"WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}'"
    )


def _look_ups(table: Table, key: Key, hint: str) -> str:
    """Finds each row's equals; through the key where the hint says so."""
    first = key.parts[0][0].name
    return (
        f"SELECT COUNT(*) FROM `{table.name}` a USE INDEX () JOIN `{table.name}` b {hint} "
        f"ON b.{first} <=> a.{first}"
    )


def _rows_alike(table: Table, key: Key) -> str:
    """Rows that break a UNIQUE key, which the stock plug-in accepts in some prefixes.

    The server asks such a key for one row at most.
    """
    parts = [f"LEFT({column.name}, {n})" if n else column.name for column, n in key.parts]
    return (
        f"SELECT 1 FROM `{table.name}` USE INDEX () "
        f"WHERE {key.unique or key.name == 'PRIMARY'} "
        + "".join(f"AND {column.name} IS NOT NULL " for column, _ in key.parts)
        + f"GROUP BY {', '.join(parts)} HAVING COUNT(*) > 1 LIMIT 1"
    )


def _in_order(table: Table, key: Key) -> str:
    """All entries of a key, and what they give back of the columns."""
    columns = list(dict.fromkeys(column.name for column, _ in key.parts))
    primary = table.primary
    if primary is not None:
        columns += [c.name for c, _ in primary.parts if c.name not in columns]
    digest = ", ".join(f"COALESCE(HEX({name}), 'N')" for name in columns)
    order = ", ".join(column.name for column, _ in key.parts)
    return (
        f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', {digest}))) FROM (SELECT {', '.join(columns)} "
        f"FROM `{table.name}` FORCE INDEX ({key.name}) ORDER BY {order} LIMIT 100000000) AS ordered"
    )


def differences(before: Picture, after: Picture) -> list[str]:
    """One line for each fact that both know and that is not the same."""
    return [
        f"{name}: was {before.facts[name]}, is {after.facts[name]}"
        for name in sorted(before.facts.keys() & after.facts.keys())
        if before.facts[name] != after.facts[name]
    ]


def check(query: Query, tables: list[Table]) -> list[str]:
    """What CHECK TABLE says against the tables."""
    problems = []
    for table in tables:
        answers = query(f"CHECK TABLE `{table.name}`")
        if answers[-1][3] != "OK":
            problems.append(f"CHECK TABLE {table.name}: {answers}")
    return problems

"""What a server says about the tables of a round, to be compared with what the other plug-in says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cairn.acceptance.roundtrip.tables import Key, Table

Query = Callable[[str], list[tuple[Any, ...]]]


def take(query: Query, tables: list[Table]) -> dict[str, Any]:
    """Checksums and counts of every table, through its rows and through each of its keys."""
    seen: dict[str, Any] = {}
    for table in tables:
        seen[f"{table.name}: checksum"] = query(f"CHECKSUM TABLE `{table.name}` EXTENDED")[0][1]
        seen[f"{table.name}: rows"] = query(f"SELECT COUNT(*) FROM `{table.name}`")[0][0]
        for key in table.keys:
            if key.name == "PRIMARY" or key.stock_is_right:
                for what, statement in _through(table, key):
                    seen[f"{table.name}, {key.name}: {what}"] = query(statement)
    return seen


def _through(table: Table, key: Key) -> list[tuple[str, str]]:
    columns = list(dict.fromkeys(column.name for column, _ in key.parts))
    primary = table.primary
    if primary is not None and primary.stock_is_right:
        columns += [c.name for c, _ in primary.parts if c.name not in columns]
    digest = ", ".join(f"COALESCE(HEX({name}), 'N')" for name in columns)
    first = key.parts[0][0].name
    force = f"FORCE INDEX ({key.name})"
    statements = []
    # The stock plug-in misses rows when it looks a BLOB up by its prefix.
    if not key.parts[0][0].is_blob:
        statements.append(
            (
                "look-ups",
                f"SELECT COUNT(*) FROM `{table.name}` a JOIN `{table.name}` b {force} "
                f"ON b.{first} <=> a.{first}",
            )
        )
    if key.is_whole:
        order = ", ".join(column.name for column, _ in key.parts)
        wanted = ", ".join(columns)
        statements.append(
            (
                "in order",
                f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', {digest}))) FROM (SELECT {wanted} "
                f"FROM `{table.name}` {force} ORDER BY {order} LIMIT 100000000) AS ordered",
            )
        )
    return statements


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One line for each fact that is not the same, or only in one picture."""
    return [
        f"{name}: was {before.get(name)}, is {after.get(name)}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def check(query: Query, tables: list[Table]) -> list[str]:
    """What CHECK TABLE says against the tables."""
    problems = []
    for table in tables:
        answers = query(f"CHECK TABLE `{table.name}`")
        if answers[-1][3] != "OK":
            problems.append(f"CHECK TABLE {table.name}: {answers}")
    return problems

"""Maintenance of partitions between ALTER TABLE statements: partitions of one table need not have
been written under the same definition."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.hunt.alters.tables import Table

KINDS = (
    "PARTITION BY HASH (id) PARTITIONS 3",
    "PARTITION BY KEY (id) PARTITIONS 2",
    "PARTITION BY RANGE (id) (PARTITION p1 VALUES LESS THAN (15), "
    "PARTITION p2 VALUES LESS THAN (30), PARTITION p9 VALUES LESS THAN MAXVALUE)",
)
_OF_HASH = ("ADD PARTITION PARTITIONS 1", "COALESCE PARTITION 1", "REBUILD PARTITION ALL")
_OF_RANGE = (
    "REORGANIZE PARTITION p1, p2 INTO (PARTITION p2 VALUES LESS THAN (30))",
    "REORGANIZE PARTITION p2 INTO "
    "(PARTITION p1 VALUES LESS THAN (7), PARTITION p2 VALUES LESS THAN (30))",
    "DROP PARTITION p1",
    "REBUILD PARTITION p2, p9",
)


def partitioned(chance: Random, table: Table) -> Table:
    """The table with partitions by its `id`."""
    return replace(table, partitions=chance.choice(KINDS), partition_columns=("id",))


def draw(chance: Random, table: Table) -> tuple[tuple[str, ...], Table]:
    """Statements, and what the table is when they succeed."""
    statements, table = _draw(chance, table)
    if table.partitions and any(column.increments for column in table.columns):
        # Each partition has a counter, and the largest is the table's. A copy gives it to all of
        # them, so that it stays when the partition goes whose rows have raised it.
        statements += ("ALTER TABLE t AUTO_INCREMENT=1",)
    return statements, table


def _draw(chance: Random, table: Table) -> tuple[tuple[str, ...], Table]:
    if not table.partitions:
        table = partitioned(chance, table)
        return (f"ALTER TABLE t {table.partitions}",), table
    is_range = "RANGE" in table.partitions
    some = chance.choice(["p2", "p9"] if is_range else ["p0", "p1"])
    pick = chance.random()
    if pick < 0.4:
        # Its rows go into a table that was made under the present definition, and come back.
        exchange = f"ALTER TABLE t EXCHANGE PARTITION {some} WITH TABLE x"
        return (
            "DROP TABLE IF EXISTS x",
            "CREATE TABLE x LIKE t",
            "ALTER TABLE x REMOVE PARTITIONING",
            exchange,
            "SELECT COUNT(*) FROM x",
            *([exchange] if chance.random() < 0.7 else []),
            "DROP TABLE x",
        ), table
    if pick < 0.5:
        return (f"ALTER TABLE t TRUNCATE PARTITION {some}",), table
    if pick < 0.6:
        table = replace(table, partitions="", partition_columns=())
        return ("ALTER TABLE t REMOVE PARTITIONING",), table
    return (f"ALTER TABLE t {chance.choice(_OF_RANGE if is_range else _OF_HASH)}",), table

"""The least ratios that Cairn is meant to reach; reports say beside a figure whether it does."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Floor:
    """Against `engine`, figures whose full name matches the pattern are at least this ratio."""

    pattern: str  # Of "workload/figure", with shell wildcards.
    engine: str
    least: float


# The first match counts.
FLOORS = (
    # The slow disk of docs/benchmarks.md, with the limits that are the default.
    Floor("tpcc/new_orders/*", "innodb", 5.0),
    Floor("tpcc/new_orders/*", "stock", 1.4),
    Floor("tpcc/size on disk after compaction", "innodb", 5.88),
    # Slower than the plug-in whose place it takes, Cairn would be no progress.
    Floor("*", "stock", 1.0),
)


def find(workload: str, figure: str, engine: str) -> float | None:
    """The floor of a figure against an engine; None where nothing is promised."""
    name = f"{workload}/{figure}"
    for floor in FLOORS:
        if floor.engine == engine and fnmatchcase(name, floor.pattern):
            return floor.least
    return None

"""The least that Cairn is meant to reach; reports say beside a figure whether it does."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Floor:
    """Against `engine`, figures whose full name matches the pattern are at least this ratio."""

    pattern: str  # Of "workload/figure", with shell wildcards.
    engine: str
    least: float


@dataclass(frozen=True)
class OwnFloor:
    """Cairn's own figures of this name are at least so much in every round, whatever others do."""

    pattern: str  # As above.
    least: float


@dataclass(frozen=True)
class OwnRatio:
    """Cairn's figure `name` by its figure `other`, each "workload/figure", is at least this."""

    name: str
    other: str
    least: float


def _both(pattern: str, innodb: float, stock: float) -> tuple[Floor, Floor]:
    return Floor(pattern, "innodb", innodb), Floor(pattern, "stock", stock)


# The first match counts.
FLOORS = (
    # Cached reads with two clients, statements of ours with one too; what is read does not depend
    # on how commits are made durable.
    *_both("sysbench-durable/oltp_point_select/2", 0.95, 1.35),
    *_both("sysbench-durable/oltp_read_only/2", 0.9, 1.25),
    *_both("sysbench-durable/select_random_points/2", 0.9, 1.5),
    *_both("sysbench-durable/in_list_100/[12]", 0.9, 1.5),
    *_both("sysbench-durable/select_random_ranges/2", 0.85, 1.4),
    *_both("sysbench-durable/full_scan/[12]", 0.7, 1.8),
    # Changes without a sync, with two clients; with a sync, the binary log and sixteen clients.
    *_both("sysbench-relaxed/oltp_update_index/2", 1.2, 1.15),
    *_both("sysbench-relaxed/oltp_update_non_index/2", 0.9, 1.15),
    *_both("sysbench-relaxed/oltp_insert/2", 1.0, 1.15),
    *_both("sysbench-relaxed/oltp_delete/2", 1.0, 1.15),
    *_both("sysbench-relaxed/oltp_read_write/2", 0.9, 1.3),
    *_both("sysbench-relaxed/oltp_write_only/2", 0.9, 1.3),
    *_both("sysbench-durable-binlog/oltp_*/16", 1.5, 1.3),
    # As loads are, without any setting: 0.8 and 0.6 of the time.
    *_both("load/plain/seconds", 1.25, 1.67),
    # The slow disk of docs/benchmarks.md, with the limits that are the default.
    Floor("tpcc/new_orders/*", "innodb", 5.0),
    Floor("tpcc/new_orders/*", "stock", 1.4),
    Floor("tpcc/size on disk after compaction", "innodb", 5.88),
    # With foreign keys: as much faster on a slow disk as without them.
    Floor("tpcc-foreign-keys/new_orders/*", "innodb", 5.0),
    Floor("tpcc-cached-foreign-keys/new_orders/*", "innodb", 1.0),
    Floor("foreign-keys/insert_child/*", "innodb", 1.0),
    Floor("foreign-keys/insert_child_one_processor/1", "innodb", 1.0),
    Floor("foreign-keys/cascade_1000/1", "innodb", 0.8),
    # Slower than the plug-in whose place it takes, Cairn would be no progress.
    Floor("*", "stock", 1.0),
)

OWN_FLOORS = (
    # However slow the disk: ten seconds with half of the usual transactions at the least.
    OwnFloor("tpcc/worst 10 s by the median", 0.5),
    OwnFloor("tpcc-foreign-keys/worst 10 s by the median", 0.5),
)

OWN_RATIOS = (
    OwnRatio("tpcc-cached-foreign-keys/new_orders/4", "tpcc-cached/new_orders/4", 0.85),
    OwnRatio("foreign-keys/insert_one_parent/64", "foreign-keys/insert_64_parents/64", 0.9),
)

# What runs for them: workloads and cases as the command line names them.
CASES = (
    "sysbench-durable/oltp_point_select/2",
    "sysbench-durable/oltp_read_only/2",
    "sysbench-durable/select_random_*/2",
    "sysbench-durable/in_list_100/[12]",
    "sysbench-durable/full_scan/[12]",
    "sysbench-relaxed/oltp_*/2",
    "sysbench-durable-binlog/oltp_*/16",
    "load/plain",
    "tpcc",
    "tpcc-foreign-keys",
    "tpcc-cached",
    "tpcc-cached-foreign-keys",
    "foreign-keys",
)


def find(workload: str, figure: str, engine: str) -> float | None:
    """The floor of a figure against an engine; None where nothing is promised."""
    if (workload, engine) == ("sysbench-written", "stock"):
        return None  # It keeps in its memory what the others write.
    name = f"{workload}/{figure}"
    for floor in FLOORS:
        if floor.engine == engine and fnmatchcase(name, floor.pattern):
            return floor.least
    return None


def find_own(workload: str, figure: str) -> float | None:
    """The floor of Cairn's own figure; None where only ratios are promised, or nothing."""
    name = f"{workload}/{figure}"
    return next((floor.least for floor in OWN_FLOORS if fnmatchcase(name, floor.pattern)), None)

"""The tables whose definitions are changed."""

from __future__ import annotations

from dataclasses import dataclass

# Rows of three ranges, so that each partition has some.
IDS = (1, 2, 3, 4, 101, 102, 103, 201, 202)
# Of the table that is exchanged with the second range's partition.
OTHER_IDS = (151, 152)
RANGES = (
    "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), "
    "PARTITION p1 VALUES LESS THAN (200), PARTITION p2 VALUES LESS THAN (300))"
)
VERSIONS = "WITH SYSTEM VERSIONING"


@dataclass(frozen=True)
class Kind:
    """A kind of table."""

    name: str
    # What its keys are, after the columns.
    keys: str
    columns: str = ""
    options: str = ""
    has_primary_key: bool = True
    # Whether a key would keep a partition function over id from being allowed.
    can_be_partitioned: bool = False

    @property
    def is_versioned(self) -> bool:
        """Whether it keeps the rows that were changed or deleted."""
        return self.options == VERSIONS

    @property
    def partitions(self) -> str:
        """By what it is partitioned: RANGE, HASH or nothing."""
        words = self.options.split()
        return words[2] if words[:1] == ["PARTITION"] else ""


_COLUMNS = "id INT NOT NULL{increments}, g INT, h INT, n INT NOT NULL, c VARCHAR(20) DEFAULT 'x'"
KINDS = (
    Kind("plain", "PRIMARY KEY (id), KEY g (g)", can_be_partitioned=True),
    Kind("unique", "PRIMARY KEY (id), KEY g (g), UNIQUE KEY h (h)"),
    Kind("descending", "PRIMARY KEY (id DESC), KEY g (g DESC, n)", can_be_partitioned=True),
    # Without a primary key the order of equal entries is the engine's own, so that there are none.
    Kind("hidden", "KEY g (g, n), UNIQUE KEY h (h)", has_primary_key=False),
    Kind("virtual", "PRIMARY KEY (id), KEY g (v)", ", v INT AS (g + 1) VIRTUAL"),
    Kind("long unique", "PRIMARY KEY (id), KEY g (g), UNIQUE KEY b (b)", ", b TEXT AS (n) STORED"),
    Kind("versioned", "PRIMARY KEY (id), KEY g (g)", options=VERSIONS),
    Kind("ranges", "PRIMARY KEY (id), KEY g (g)", options=RANGES),
    Kind("ranges without a key", "KEY g (g, n)", options=RANGES, has_primary_key=False),
    Kind("hash", "PRIMARY KEY (id), KEY g (g)", options="PARTITION BY HASH (id) PARTITIONS 3"),
)


def create(kind: Kind) -> list[str]:
    """The statements that make `t` and the tables beside it, and fill them."""
    increments = " AUTO_INCREMENT" if kind.has_primary_key else ""
    columns = f"{_COLUMNS.format(increments=increments)}{kind.columns}, {kind.keys}"
    return [
        f"CREATE TABLE t ({columns}) {kind.options}".strip(),
        f"CREATE TABLE x ({columns})",
        "CREATE TABLE s (id INT PRIMARY KEY, n INT NOT NULL)",
        "CREATE TABLE sink (id INT, n INT)",
        f"INSERT INTO t (id, g, h, n) VALUES {_values(IDS, 0)}",
        f"INSERT INTO x (id, g, h, n) VALUES {_values(OTHER_IDS, 5000)}",
        "INSERT INTO s VALUES (1, 1), (2, 2)",
    ]


def _values(ids: tuple[int, ...], more: int) -> str:
    return ", ".join(f"({i}, {i % 3}, {i + more}, {i * 10 + more})" for i in ids)

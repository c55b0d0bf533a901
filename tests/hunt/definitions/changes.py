"""The statements that change the definition of the table `t`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.hunt.definitions.tables import Kind
from tests.hunt.tables import FAR_S

# What has another time to live is not exchanged: ER_TABLES_DIFFERENT_METADATA.
OTHER_TIME_TO_LIVE = 1736
_LIVES = f"ttl_duration={FAR_S}"


@dataclass(frozen=True)
class Change:
    """One change, of one statement or several."""

    name: str
    statements: tuple[str, ...]
    applies: Callable[[Kind], bool] = lambda kind: True
    # What an old snapshot must find under a name afterwards: the rows that another name had then.
    names: dict[str, str] = field(default_factory=lambda: {"t": "t"})
    # The error by which ROCKSDB must refuse the last statement; InnoDB does not know the reason.
    refused: int = 0


def _alter(name: str, what: str, applies: Callable[[Kind], bool] = lambda kind: True) -> Change:
    return Change(name, (f"ALTER TABLE t {what}",), applies)


def _is_plain(kind: Kind) -> bool:
    return not kind.partitions


def _has_ranges(kind: Kind) -> bool:
    return kind.partitions == "RANGE"


def _has_ranges_and_key(kind: Kind) -> bool:
    return _has_ranges(kind) and _has_key(kind)


def _has_hash(kind: Kind) -> bool:
    return kind.partitions == "HASH"


def _has_key(kind: Kind) -> bool:
    return kind.has_primary_key


def _without_virtual(kind: Kind) -> bool:
    return not kind.columns


# What is read of t for a copy of it.
COPY = "SELECT id, g, h, n FROM t"
_FILL = "INSERT INTO t (id, g, h, n) SELECT id, g, h, n + 7 FROM x"
CHANGES = (
    _alter("ADD COLUMN", "ADD COLUMN z INT"),
    _alter("ADD COLUMN by copy", "ADD COLUMN z INT NOT NULL DEFAULT 7, ALGORITHM=COPY"),
    _alter("ADD COLUMN FIRST", "ADD COLUMN z INT FIRST"),
    _alter("ADD virtual COLUMN", "ADD COLUMN z INT AS (n + 1) VIRTUAL"),
    _alter("DROP COLUMN", "DROP COLUMN c"),
    _alter("MODIFY", "MODIFY n BIGINT NOT NULL", _without_virtual),
    _alter("MODIFY COMMENT", "MODIFY c VARCHAR(20) COMMENT 'a comment'"),
    _alter("CHANGE", "CHANGE c d VARCHAR(40)"),
    _alter("SET DEFAULT", "ALTER c SET DEFAULT 'y'"),
    _alter("COMMENT", "COMMENT='a comment'"),
    _alter("FORCE", "FORCE"),
    _alter("ENGINE", "ENGINE={engine}"),
    _alter("ADD INDEX", "ADD INDEX z (n)"),
    _alter("ADD INDEX by copy", "ADD INDEX z (n), ALGORITHM=COPY"),
    _alter("ADD UNIQUE INDEX", "ADD UNIQUE INDEX z (n, id)"),
    _alter("DROP INDEX", "DROP INDEX g"),
    _alter("DROP INDEX by copy", "DROP INDEX g, ALGORITHM=COPY"),
    _alter("RENAME INDEX", "RENAME INDEX g TO z"),
    _alter("another PRIMARY KEY", "DROP PRIMARY KEY, ADD PRIMARY KEY (id, n)", _has_key),
    _alter("AUTO_INCREMENT", "AUTO_INCREMENT=1000", _has_key),
    _alter("CONVERT TO CHARACTER SET", "CONVERT TO CHARACTER SET utf8mb3"),
    _alter("ROW_FORMAT", "ROW_FORMAT=DYNAMIC"),
    _alter("PARTITION BY", "PARTITION BY HASH (id) PARTITIONS 3", lambda k: k.can_be_partitioned),
    _alter("REMOVE PARTITIONING", "REMOVE PARTITIONING", lambda k: bool(k.partitions)),
    _alter("ADD PARTITION", "ADD PARTITION (PARTITION p9 VALUES LESS THAN (900))", _has_ranges),
    _alter("DROP PARTITION", "DROP PARTITION p1", _has_ranges),
    _alter("TRUNCATE PARTITION", "TRUNCATE PARTITION p1", _has_ranges),
    _alter(
        "REORGANIZE PARTITION",
        "REORGANIZE PARTITION p1 INTO (PARTITION p1a VALUES LESS THAN (102), "
        "PARTITION p1b VALUES LESS THAN (200))",
        _has_ranges,
    ),
    _alter("REBUILD PARTITION", "REBUILD PARTITION p1", _has_ranges),
    _alter("ANALYZE PARTITION", "ANALYZE PARTITION p1", _has_ranges),
    Change(
        "EXCHANGE PARTITION",
        ("ALTER TABLE t EXCHANGE PARTITION p1 WITH TABLE x",),
        _has_ranges,
        {"t": "t", "x": "x"},
    ),
    _alter("CONVERT PARTITION", "CONVERT PARTITION p1 TO TABLE y", _has_ranges),
    Change(
        "CONVERT TABLE",
        (
            "DELETE FROM x",
            "INSERT INTO x (id, g, h, n) VALUES (301, 1, 1, 1)",
            "ALTER TABLE t CONVERT TABLE x TO PARTITION p9 VALUES LESS THAN (900)",
        ),
        _has_ranges,
    ),
    Change(
        "EXCHANGE PARTITION, another time to live",
        (
            f"ALTER TABLE x COMMENT='{_LIVES}'",
            "ALTER TABLE t EXCHANGE PARTITION p1 WITH TABLE x",
        ),
        _has_ranges_and_key,
        {"t": "t", "x": "x"},
        OTHER_TIME_TO_LIVE,
    ),
    Change(
        "CONVERT PARTITION, another time to live",
        (f"ALTER TABLE t COMMENT='p1_{_LIVES}'", "ALTER TABLE t CONVERT PARTITION p1 TO TABLE y"),
        _has_ranges_and_key,
        refused=OTHER_TIME_TO_LIVE,
    ),
    Change(
        "CONVERT TABLE, another time to live",
        (
            "DELETE FROM x",
            f"ALTER TABLE x COMMENT='{_LIVES}'",
            "ALTER TABLE t CONVERT TABLE x TO PARTITION p9 VALUES LESS THAN (900)",
        ),
        _has_ranges_and_key,
        refused=OTHER_TIME_TO_LIVE,
    ),
    _alter("ADD PARTITION of a hash", "ADD PARTITION PARTITIONS 1", _has_hash),
    _alter("COALESCE PARTITION", "COALESCE PARTITION 1", _has_hash),
    Change("TRUNCATE", ("TRUNCATE TABLE t",)),
    Change("TRUNCATE, filled again", ("TRUNCATE TABLE t", _FILL)),
    Change("RENAME", ("RENAME TABLE t TO y",), names={"y": "t"}),
    Change("RENAME and back", ("RENAME TABLE t TO y, y TO t",)),
    Change(
        "RENAME in a circle", ("RENAME TABLE t TO y, x TO t, y TO x",), names={"t": "x", "x": "t"}
    ),
    Change("DROP and CREATE", ("CREATE TABLE y LIKE t", "DROP TABLE t", "CREATE TABLE t LIKE y")),
    Change(
        "DROP and CREATE, filled again",
        ("CREATE TABLE y LIKE t", "DROP TABLE t", "CREATE TABLE t LIKE y", _FILL),
    ),
    Change(
        "a copy renamed into place",
        (
            "CREATE TABLE y LIKE t",
            f"INSERT INTO y (id, g, h, n) {COPY}",
            "RENAME TABLE t TO z, y TO t",
        ),
        names={"t": "t", "z": "t"},
    ),
    Change("CREATE OR REPLACE", ("CREATE OR REPLACE TABLE t (id INT PRIMARY KEY, n INT)",)),
    Change("OPTIMIZE", ("OPTIMIZE TABLE t",)),
    Change("ANALYZE", ("ANALYZE TABLE t",)),
    Change("CHECK", ("CHECK TABLE t EXTENDED",)),
)

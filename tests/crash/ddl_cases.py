"""The statements that ./cairn crash ddl cuts off, each with the tables that it finds."""

from __future__ import annotations

from tests.crash import ddl_keys
from tests.crash.ddl_case import Case

_COLUMNS = (
    "(id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT, c VARCHAR(20), KEY k (k), KEY c (c, k))"
)


def _table(name: str, options: str = "ENGINE=ROCKSDB", columns: str = _COLUMNS) -> str:
    return f"CREATE TABLE {name} {columns} {options}"


def _rows(name: str, count: int = 30, base: int = 0) -> str:
    return (
        f"INSERT INTO {name} (k, c) SELECT seq + {base}, CONCAT('row ', seq) "
        f"FROM crash_b.seq_1_to_{count}"
    )


def _filled(name: str, options: str = "ENGINE=ROCKSDB", base: int = 0) -> tuple[str, ...]:
    return (_table(name, options), _rows(name, base=base))


_RANGES = (
    "ENGINE=ROCKSDB PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), "
    "PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (100))"
)
_HASH = "ENGINE=ROCKSDB PARTITION BY HASH (id) PARTITIONS 3"

_T1 = _filled("crash_a.t1")
_T2 = _filled("crash_a.t2", base=1000)
_T3 = _filled("crash_b.t3", base=2000)
_PARTS = _filled("crash_a.t1", _RANGES)
_PLAIN_T2 = _table("crash_a.t2")
_HASHED = _filled("crash_a.t1", _HASH)
# Between them the definition and the list of partitions have no name that recovery looks for.
_CONVERT_GAPS = (
    "rename crash_a/t1.frm",
    "rename crash_a/t1.par",
    "rename crash_a/#sql-shadow",
)

CASES = (
    Case("create", _table("crash_a.t1", "ENGINE=ROCKSDB AUTO_INCREMENT=50"), short=True),
    Case("create-partitioned", _table("crash_a.t1", _RANGES)),
    Case(
        "create-select",
        _table("crash_a.t2", "ENGINE=ROCKSDB SELECT k + 1 AS k, c FROM crash_a.t1"),
        _T1,
    ),
    Case("create-like", "CREATE TABLE crash_b.t1 LIKE crash_a.t1", _T1),
    Case(
        "create-or-replace",
        "CREATE OR REPLACE TABLE crash_a.t1 (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=ROCKSDB",
        _T1,
        # The server drops the old table first; a crash then leaves none.
        piecewise=True,
    ),
    Case(
        "create-or-replace-select",
        "CREATE OR REPLACE TABLE crash_a.t1 (id INT PRIMARY KEY) ENGINE=ROCKSDB "
        "SELECT id + 5 AS id FROM crash_a.t2",
        _T1 + _T2,
        piecewise=True,
    ),
    Case(
        "create-or-replace-partitioned",
        _table("crash_a.t1", _HASH).replace("CREATE", "CREATE OR REPLACE"),
        _PARTS,
        piecewise=True,
    ),
    Case("drop", "DROP TABLE crash_a.t1", _T1, short=True),
    Case("drop-several", "DROP TABLE crash_a.t1, crash_b.t3, crash_a.t2", _T1 + _T2 + _T3, True),
    Case("drop-partitioned", "DROP TABLE crash_a.t1", _PARTS),
    Case("drop-database", "DROP DATABASE crash_a", _PARTS + _T2 + _T3, True),
    Case("rename", "RENAME TABLE crash_a.t1 TO crash_a.t9", _T1, short=True),
    Case("rename-across", "RENAME TABLE crash_a.t1 TO crash_b.t1", _T1),
    Case(
        "rename-several",
        "RENAME TABLE crash_a.t1 TO crash_a.t9, crash_a.t2 TO crash_b.t2, crash_b.t3 TO crash_a.t3",
        _T1 + _T2 + _T3,
    ),
    Case(
        "rename-swap",
        "RENAME TABLE crash_a.t1 TO crash_a.t9, crash_b.t3 TO crash_a.t1, crash_a.t9 TO crash_b.t3",
        _T1 + _T3,
        short=True,
    ),
    Case("rename-partitioned", "RENAME TABLE crash_a.t1 TO crash_b.t9", _PARTS, short=True),
    Case(
        "rename-swap-partitioned",
        "RENAME TABLE crash_a.t1 TO crash_a.t9, crash_a.t2 TO crash_a.t1, crash_a.t9 TO crash_a.t2",
        _PARTS + _filled("crash_a.t2", _HASH, base=500),
    ),
    Case("truncate", "TRUNCATE TABLE crash_a.t1", _T1, short=True),
    Case("truncate-partitioned", "TRUNCATE TABLE crash_a.t1", _PARTS),
    Case(
        "alter-copy",
        "ALTER TABLE crash_a.t1 ADD COLUMN d INT NOT NULL DEFAULT 7, ALGORITHM=COPY",
        _T1,
        short=True,
    ),
    Case(
        "alter-copy-sorted",
        "SET STATEMENT rocksdb_merge_buf_size=500 FOR "
        "ALTER TABLE crash_a.t1 ADD COLUMN d INT NOT NULL DEFAULT 7, ADD UNIQUE KEY u (c), "
        "ALGORITHM=COPY",
        _T1,
        short=True,
    ),
    Case(
        "alter-copy-disordered",
        "SET STATEMENT rocksdb_merge_buf_size=500 FOR "
        "ALTER TABLE crash_a.t1 DROP PRIMARY KEY, ADD PRIMARY KEY (c), MODIFY id INT, "
        "ALGORITHM=COPY",
        _T1,
    ),
    Case(
        "partition-sorted",
        "SET STATEMENT rocksdb_merge_buf_size=500 FOR "
        "ALTER TABLE crash_a.t1 PARTITION BY HASH (id) PARTITIONS 3",
        _T1,
    ),
    Case(
        "alter-add-key",
        "ALTER TABLE crash_a.t1 ADD UNIQUE KEY u (c), ALGORITHM=INPLACE",
        _T1,
        short=True,
    ),
    Case("alter-add-key-copy", "ALTER TABLE crash_a.t1 ADD UNIQUE KEY u (c), ALGORITHM=COPY", _T1),
    Case(
        "alter-add-key-sorted",
        "SET STATEMENT rocksdb_merge_buf_size=250 FOR "
        "ALTER TABLE crash_a.t1 ADD KEY u (c, id), ADD UNIQUE KEY v (k, c), ALGORITHM=INPLACE",
        _T1,
    ),
    Case(
        "alter-add-drop-keys",
        "ALTER TABLE crash_a.t1 ADD KEY u (c) COMMENT 'cfname=rev:crash', DROP KEY k, "
        "ADD KEY k (c, id), DROP KEY c, ALGORITHM=INPLACE",
        _T1,
    ),
    Case(
        "alter-add-drop-keys-partitioned",
        "ALTER TABLE crash_a.t1 ADD KEY u (c), ADD UNIQUE KEY v (k, id), DROP KEY k, "
        "ALGORITHM=INPLACE",
        _PARTS,
    ),
    Case("alter-drop-key", "ALTER TABLE crash_a.t1 DROP KEY k", _T1),
    Case("alter-comment", "ALTER TABLE crash_a.t1 COMMENT 'new'", _T1),
    Case("alter-auto-increment", "ALTER TABLE crash_a.t1 AUTO_INCREMENT=1000", _T1),
    Case(
        "alter-instant",
        "ALTER TABLE crash_a.t1 RENAME COLUMN c TO d, RENAME INDEX k TO kk, ALTER k SET DEFAULT 5, "
        "AUTO_INCREMENT=1000, COMMENT 'new', ALGORITHM=INSTANT",
        _T1,
        short=True,
    ),
    Case(
        "alter-columns",
        "ALTER TABLE crash_a.t1 ADD COLUMN d INT NOT NULL DEFAULT 7 FIRST, DROP COLUMN c, "
        "DROP KEY c, ALGORITHM=INSTANT",
        _T1,
        short=True,
    ),
    Case(
        "alter-columns-partitioned",
        "ALTER TABLE crash_a.t1 ADD COLUMN d INT NOT NULL DEFAULT 7 AFTER id, "
        "MODIFY c VARCHAR(300), DROP KEY c, ALGORITHM=INSTANT",
        _PARTS,
    ),
    Case(
        "alter-move-again-partitioned",
        "ALTER TABLE crash_a.t1 MODIFY b INT AFTER id, ALGORITHM=INSTANT",
        (
            _table("crash_a.t1", _RANGES, "(id INT NOT NULL PRIMARY KEY, a INT, b INT)"),
            "INSERT INTO crash_a.t1 SELECT seq, seq, -seq FROM crash_b.seq_1_to_30",
            # The table has a version by now, whatever the partitions tell the server.
            "ALTER TABLE crash_a.t1 COMMENT 'new', ALGORITHM=INSTANT",
        ),
        short=True,
    ),
    Case(
        "alter-instant-rename",
        "ALTER TABLE crash_a.t1 RENAME COLUMN c TO d, DROP KEY k, RENAME TO crash_a.t9, "
        "ALGORITHM=INSTANT",
        _T1,
    ),
    Case(
        "alter-rename-column-across",
        "ALTER TABLE crash_a.t1 RENAME COLUMN c TO d, DROP KEY k, RENAME TO crash_b.t9",
        _T1,
    ),
    Case(
        "alter-instant-partitioned",
        "ALTER TABLE crash_a.t1 RENAME COLUMN c TO d, DROP KEY k, COMMENT 'new', ALGORITHM=INSTANT",
        _PARTS,
    ),
    Case("alter-rename", "ALTER TABLE crash_a.t1 RENAME TO crash_b.t9", _T1),
    Case(
        "alter-copy-rename",
        "ALTER TABLE crash_a.t1 ADD COLUMN d INT NOT NULL DEFAULT 7, RENAME TO crash_b.t9, "
        "ALGORITHM=COPY",
        _T1,
    ),
    Case("alter-copy-force", "ALTER TABLE crash_a.t1 FORCE, ALGORITHM=COPY", _T1),
    Case("alter-rebuild", "ALTER TABLE crash_a.t1 FORCE, ALGORITHM=INPLACE", _T1),
    Case(
        "alter-rebuild-sorted",
        "SET STATEMENT rocksdb_merge_buf_size=250 FOR "
        "ALTER TABLE crash_a.t1 DROP PRIMARY KEY, ADD PRIMARY KEY (k, id), ADD UNIQUE KEY u (id), "
        "DROP KEY c, ADD COLUMN d INT NOT NULL DEFAULT 7, ALGORITHM=INPLACE",
        _T1,
        short=True,
    ),
    Case(
        "alter-rebuild-partitioned",
        "ALTER TABLE crash_a.t1 FORCE, ADD KEY u (c), DROP KEY k, ALGORITHM=INPLACE",
        _PARTS,
    ),
    Case(
        "alter-not-null",
        "ALTER TABLE crash_a.t1 MODIFY k INT NOT NULL, MODIFY c VARCHAR(20) NOT NULL, "
        "ALGORITHM=NOCOPY",
        _T1,
    ),
    Case("to-innodb", "ALTER TABLE crash_a.t1 ENGINE=InnoDB", _T1, innodb=True),
    Case(
        "from-innodb",
        "ALTER TABLE crash_a.t1 ENGINE=ROCKSDB",
        # Explicit numbers, of which InnoDB reserves none for AUTO_INCREMENT.
        (
            _table("crash_a.t1", "ENGINE=InnoDB"),
            "INSERT INTO crash_a.t1 SELECT seq, seq, 'row' FROM crash_b.seq_1_to_30",
        ),
        innodb=True,
    ),
    Case("partition", "ALTER TABLE crash_a.t1 PARTITION BY HASH (id) PARTITIONS 3", _T1),
    Case("remove-partitioning", "ALTER TABLE crash_a.t1 REMOVE PARTITIONING", _PARTS),
    Case(
        "alter-copy-partitioned",
        "ALTER TABLE crash_a.t1 ADD COLUMN d INT NOT NULL DEFAULT 7, ALGORITHM=COPY",
        _PARTS,
        short=True,
    ),
    Case("alter-rename-partitioned", "ALTER TABLE crash_a.t1 RENAME TO crash_b.t9", _PARTS),
    Case(
        "alter-copy-rename-partitioned",
        "ALTER TABLE crash_a.t1 ADD COLUMN d INT NOT NULL DEFAULT 7, RENAME TO crash_b.t9, "
        "ALGORITHM=COPY",
        _PARTS,
    ),
    Case(
        "add-partition",
        "ALTER TABLE crash_a.t1 ADD PARTITION (PARTITION p3 VALUES LESS THAN (200), "
        "PARTITION p4 VALUES LESS THAN (300))",
        _PARTS,
    ),
    Case("drop-partition", "ALTER TABLE crash_a.t1 DROP PARTITION p0, p1", _PARTS),
    Case("truncate-partition", "ALTER TABLE crash_a.t1 TRUNCATE PARTITION p0, p1", _PARTS, True),
    Case(
        "exchange-partition",
        "ALTER TABLE crash_a.t1 EXCHANGE PARTITION p1 WITH TABLE crash_a.t2",
        (*_PARTS, _PLAIN_T2, "INSERT INTO crash_a.t2 VALUES (15, 1, 'x'), (12, 2, 'y')"),
        short=True,
    ),
    Case(
        "reorganize-partition",
        "ALTER TABLE crash_a.t1 REORGANIZE PARTITION p0, p1 INTO "
        "(PARTITION p0 VALUES LESS THAN (5), PARTITION n1 VALUES LESS THAN (15), "
        "PARTITION p1 VALUES LESS THAN (20))",
        _PARTS,
        short=True,
    ),
    Case("add-hash-partition", "ALTER TABLE crash_a.t1 ADD PARTITION PARTITIONS 2", _HASHED),
    Case("coalesce-partition", "ALTER TABLE crash_a.t1 COALESCE PARTITION 1", _HASHED),
    Case("rebuild-partition", "ALTER TABLE crash_a.t1 REBUILD PARTITION p0, p1", _PARTS),
    Case(
        "convert-partition",
        "ALTER TABLE crash_a.t1 CONVERT PARTITION p1 TO TABLE crash_a.t2",
        _PARTS,
        server_gaps=_CONVERT_GAPS,
    ),
    Case(
        "convert-table",
        "ALTER TABLE crash_a.t1 CONVERT TABLE crash_a.t2 TO PARTITION p3 VALUES LESS THAN (5000)",
        (*_PARTS, _PLAIN_T2, "INSERT INTO crash_a.t2 VALUES (200, 1, 'x')"),
        server_gaps=_CONVERT_GAPS,
    ),
    *ddl_keys.CASES,
)

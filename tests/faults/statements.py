"""The statements whose calls of the engine fail in ./cairn acceptance faults, and their tables."""

from __future__ import annotations

from dataclasses import dataclass

ROWS = 24
TABLES = ("t", "h", "p", "s", "a", "g", "x")
_X = "CREATE TABLE x (id INT PRIMARY KEY, k INT, v VARCHAR(60), KEY k (k))"
_P = (
    "CREATE TABLE p (id INT PRIMARY KEY, k INT, v VARCHAR(60), KEY k (k)) "
    "PARTITION BY HASH (id) PARTITIONS 3"
)
OTHER = (
    "CREATE DATABASE other",
    "CREATE TABLE other.a (id INT PRIMARY KEY)",
    "CREATE TABLE other.b (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3",
)
DEFINITIONS = (
    "CREATE TABLE t (id INT PRIMARY KEY, u INT, k INT, v VARCHAR(60), UNIQUE u (u), KEY k (k), "
    "KEY kv (k, v))",
    "CREATE TABLE h (k INT, v VARCHAR(60), KEY k (k))",
    _P,
    "CREATE TABLE s (id INT PRIMARY KEY, u INT, k INT, v VARCHAR(60))",
    "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60))",
    "CREATE TABLE g (id INT, d INT, k INT, w INT AS (k * 2) VIRTUAL, b BLOB, "
    "PRIMARY KEY (id DESC, d), KEY w (w), KEY k (k), UNIQUE long_unique (b))",
    _X,
    *OTHER,
)
ROWS_OF = (
    f"INSERT INTO t SELECT seq, seq * 10, seq MOD 5, CONCAT('row ', seq) FROM seq_1_to_{ROWS}",
    "INSERT INTO h SELECT k, v FROM t",
    "INSERT INTO p SELECT id, k, v FROM t",
    "INSERT INTO s SELECT id + 12, u + 120, k, CONCAT('new ', id) FROM t",
    "INSERT INTO a SELECT id, v FROM t",
    "INSERT INTO g (id, d, k, b) SELECT id, id MOD 3, k, v FROM t",
)
# Files of the server, for LOAD DATA.
FILES = (
    "SELECT id + 100, u + 1000, k, v FROM s INTO OUTFILE 'new.txt'",
    "SELECT id, u, k, v FROM s INTO OUTFILE 'some taken.txt'",
    "SELECT id + 100, k, v FROM s INTO OUTFILE 'parts.txt'",
)


@dataclass(frozen=True)
class Kind:
    """One kind of statement. `before` runs in the same transaction, without faults."""

    name: str
    statement: str
    before: tuple[str, ...] = ()
    # What the session has set, and sets back behind it.
    settings: str = ""


READS = (
    Kind("scan", "SELECT * FROM t ORDER BY id"),
    Kind("scan backward", "SELECT * FROM t ORDER BY id DESC"),
    Kind("row by its key", "SELECT * FROM t WHERE id = 7"),
    Kind("row by a unique key", "SELECT * FROM t WHERE u = 70"),
    Kind("rows of a list", "SELECT * FROM t WHERE id IN (3, 9, 14, 20)"),
    Kind("rows of an index", "SELECT * FROM t FORCE INDEX (k) WHERE k = 3"),
    Kind("entries of an index", "SELECT k, v FROM t FORCE INDEX (kv) WHERE k BETWEEN 1 AND 3"),
    Kind("least and greatest", "SELECT MIN(k), MAX(k) FROM t"),
    Kind("groups", "SELECT k, COUNT(*), MAX(v) FROM t GROUP BY k"),
    Kind("sorted", "SELECT * FROM t ORDER BY v DESC LIMIT 5"),
    Kind("join", "SELECT t.id, s.v FROM t JOIN s ON s.id = t.id WHERE t.k < 3"),
    Kind("join with partitions", "SELECT t.id, p.v FROM t JOIN p ON p.id = t.id"),
    Kind(
        "join in batches",
        "SELECT s.id, t.v FROM s STRAIGHT_JOIN t FORCE INDEX (k) ON t.k = s.k",
        settings="optimizer_switch = 'mrr=on,join_cache_bka=on', join_cache_level = 6",
    ),
    Kind("hidden key", "SELECT * FROM h WHERE k = 2"),
    Kind("partitions", "SELECT * FROM p WHERE k = 2"),
    Kind("union of indexes", "SELECT * FROM g FORCE INDEX (k, w) WHERE k = 1 OR w = 6"),
    Kind("subquery", "SELECT * FROM t WHERE k IN (SELECT k FROM s WHERE id > 30)"),
    Kind("locking", "SELECT * FROM t WHERE k = 3 FOR UPDATE"),
    Kind("locking union", "SELECT * FROM g FORCE INDEX (k, w) WHERE k = 1 OR w = 6 FOR UPDATE"),
    Kind("handler", "HANDLER t READ k FIRST LIMIT 5", before=("HANDLER t OPEN",)),
)
CHANGES = (
    Kind("INSERT", "INSERT INTO t VALUES (100, 1000, 1, 'x'), (101, 1010, 1, 'y')"),
    Kind("INSERT IGNORE", "INSERT IGNORE INTO t VALUES (100, 1000, 1, 'x'), (7, 1010, 1, 'y')"),
    Kind("INSERT with a counter", "INSERT INTO a (v) VALUES ('x'), ('y'), ('z')"),
    Kind("LOAD DATA", "LOAD DATA INFILE 'new.txt' INTO TABLE t"),
    Kind("LOAD DATA IGNORE", "LOAD DATA INFILE 'some taken.txt' IGNORE INTO TABLE t"),
    Kind("LOAD DATA REPLACE", "LOAD DATA INFILE 'some taken.txt' REPLACE INTO TABLE t"),
    Kind("LOAD DATA into partitions", "LOAD DATA INFILE 'parts.txt' INTO TABLE p"),
    Kind("INSERT SELECT", "INSERT INTO t SELECT id + 100, u + 1000, k, v FROM s"),
    Kind(
        "ON DUPLICATE KEY",
        "INSERT INTO t VALUES (200, 70, 1, 'x'), (8, 81, 1, 'y'), (201, 2010, 1, 'z') "
        "ON DUPLICATE KEY UPDATE v = 'changed', k = 9",
    ),
    Kind("REPLACE", "REPLACE INTO t VALUES (7, 80, 1, 'x'), (100, 1000, 1, 'y')"),
    Kind("REPLACE of a long key", "REPLACE INTO g (id, d, k, b) VALUES (50, 1, 1, 'row 7')"),
    Kind("INSERT without a key", "INSERT INTO h VALUES (1, 'x'), (2, 'y')"),
    Kind("INSERT into partitions", "INSERT INTO p VALUES (100, 1, 'x'), (101, 1, 'y')"),
    Kind("UPDATE of a row", "UPDATE t SET v = 'changed' WHERE id = 7"),
    Kind("UPDATE by an index", "UPDATE t SET v = 'changed', k = k + 1 WHERE k = 3"),
    Kind("UPDATE of a key", "UPDATE t SET id = id + 100, u = u + 1000 WHERE k = 3"),
    Kind("UPDATE IGNORE", "UPDATE IGNORE t SET u = 10 WHERE k = 3"),
    Kind("UPDATE in order", "UPDATE t SET k = k + 1 ORDER BY u DESC LIMIT 6"),
    Kind("UPDATE of a join", "UPDATE t JOIN s ON s.id = t.id SET t.v = s.v, s.k = t.k + 1"),
    Kind("UPDATE of a union", "UPDATE g FORCE INDEX (k, w) SET d = d + 5 WHERE k = 1 OR w = 6"),
    Kind("UPDATE across partitions", "UPDATE p SET id = id + 100 WHERE k = 2"),
    Kind("UPDATE without a key", "UPDATE h SET v = 'changed' WHERE k = 2"),
    Kind("DELETE of a row", "DELETE FROM t WHERE id = 7"),
    Kind("DELETE by an index", "DELETE FROM t WHERE k = 3"),
    Kind("DELETE IGNORE", "DELETE IGNORE FROM t WHERE k = 3"),
    Kind("DELETE of all", "DELETE FROM t"),
    Kind("DELETE of a join", "DELETE t, s FROM t JOIN s ON s.id = t.id"),
    Kind("DELETE of a union", "DELETE FROM g WHERE k = 1 OR w = 6"),
    Kind("DELETE RETURNING", "DELETE FROM p WHERE k = 2 RETURNING id, v"),
    Kind("DELETE without a key", "DELETE FROM h WHERE k = 2"),
)
# Each ends its transaction.
ENDS = (
    Kind("COMMIT", "COMMIT", before=("UPDATE t SET v = 'changed' WHERE k = 3",)),
    Kind(
        "COMMIT behind a savepoint",
        "COMMIT",
        before=("SAVEPOINT x", "DELETE FROM t WHERE k = 3", "ROLLBACK TO x", "DELETE FROM h"),
    ),
)
_CHANGE = "UPDATE t SET v = 'changed' WHERE k = 3"
_XA_END = "XA END 'f'"
# Of an XA transaction `f`, which begins before.
XA_STATEMENTS = (
    Kind("INSERT within XA", CHANGES[0].statement),
    Kind("UPDATE within XA", _CHANGE),
)
XA_ENDS = (
    Kind("XA PREPARE", "XA PREPARE 'f'", before=(_CHANGE, _XA_END)),
    Kind("XA COMMIT in one phase", "XA COMMIT 'f' ONE PHASE", before=(_CHANGE, _XA_END)),
)
# Of one that a session has prepared and left behind.
XA_BY_NAME = (
    Kind("XA COMMIT by name", "XA COMMIT 'f'", before=(_CHANGE, _XA_END, "XA PREPARE 'f'")),
    Kind("XA ROLLBACK by name", "XA ROLLBACK 'f'", before=(_CHANGE, _XA_END, "XA PREPARE 'f'")),
)
_FILL_P = "INSERT IGNORE INTO p SELECT id, k, v FROM t"
# Each is a definition, and the statements that take it back. These build indexes of rows.
ADDED_INDEXES = (
    (
        Kind("ADD INDEX", "ALTER TABLE t ADD INDEX n (v, k), ADD UNIQUE INDEX n2 (v)"),
        ("ALTER TABLE t DROP INDEX n, DROP INDEX n2",),
    ),
    (
        Kind("ADD INDEX without writers", "ALTER TABLE t ADD INDEX n (v, k), LOCK=SHARED"),
        ("ALTER TABLE t DROP INDEX n",),
    ),
    (
        Kind("ADD INDEX to partitions", "ALTER TABLE p ADD INDEX n (v)"),
        ("ALTER TABLE p DROP INDEX n",),
    ),
)
# The server copies the rows of these.
COPIES = (
    (
        Kind("ADD COLUMN", "ALTER TABLE t ADD COLUMN n INT DEFAULT 3, ALGORITHM=COPY"),
        ("ALTER TABLE t DROP COLUMN n",),
    ),
    (
        Kind(
            "copy into files",
            "SET STATEMENT rocksdb_merge_buf_size = 250 FOR "
            "ALTER TABLE t ADD COLUMN n INT DEFAULT 3, ALGORITHM=COPY",
        ),
        ("ALTER TABLE t DROP COLUMN n",),
    ),
    (
        Kind("copy with a long unique key", "ALTER TABLE g ADD COLUMN n INT, ALGORITHM=COPY"),
        ("ALTER TABLE g DROP COLUMN n",),
    ),
    (
        Kind("REMOVE PARTITIONING", "ALTER TABLE p REMOVE PARTITIONING"),
        ("ALTER TABLE p PARTITION BY HASH (id) PARTITIONS 3",),
    ),
)
DEFINITION_CHANGES = (
    (Kind("CREATE TABLE", "CREATE TABLE n (id INT PRIMARY KEY)"), ("DROP TABLE n",)),
    (Kind("CREATE SELECT", "CREATE TABLE n AS SELECT * FROM t"), ("DROP TABLE n",)),
    (Kind("CREATE of partitions", _P.replace("TABLE p", "TABLE n")), ("DROP TABLE n",)),
    *ADDED_INDEXES,
    (Kind("DROP INDEX", "ALTER TABLE s DROP INDEX n"), ("ALTER TABLE s ADD INDEX n (v)",)),
    *COPIES,
    (Kind("RENAME", "RENAME TABLE t TO n"), ("RENAME TABLE n TO t",)),
    (Kind("RENAME of partitions", "RENAME TABLE p TO n"), ("RENAME TABLE n TO p",)),
    (Kind("AUTO_INCREMENT", "ALTER TABLE a AUTO_INCREMENT = 1000"), ()),
    (Kind("TRUNCATE", "TRUNCATE h"), ("INSERT INTO h SELECT k, v FROM t",)),
    (Kind("TRUNCATE of partitions", "TRUNCATE p"), (_FILL_P,)),
    (Kind("TRUNCATE PARTITION", "ALTER TABLE p TRUNCATE PARTITION p0, p2"), (_FILL_P,)),
    (
        Kind("ADD PARTITION", "ALTER TABLE p ADD PARTITION PARTITIONS 1"),
        ("ALTER TABLE p COALESCE PARTITION 1",),
    ),
    (
        Kind("EXCHANGE PARTITION", "ALTER TABLE p EXCHANGE PARTITION p1 WITH TABLE x"),
        ("ALTER TABLE p EXCHANGE PARTITION p1 WITH TABLE x",),
    ),
    (Kind("DROP TABLE", "DROP TABLE x"), (_X,)),
)
# Of these the server leaves a part of its own undone when the engine fails: the statement can be
# made again then, and the name be used.
DROPS = (
    (Kind("DROP of partitions", "DROP TABLE p"), (_P, _FILL_P)),
    (Kind("DROP DATABASE", "DROP DATABASE other"), OTHER),
)

"""The statements that are counted, and the tables that they read and change."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

ROWS = 50_000
# Rows of the table that share a value of the indexed column.
ROWS_PER_VALUE = 10
_BATCH = 500
# Parents from FIRST_ALONE on have no children, those from FIRST_LARGE on have many.
FIRST_ALONE = 10_001
FIRST_LARGE = 11_001
LARGE_PARENTS = 50
CHILDREN_OF_LARGE = 100


@dataclass(frozen=True)
class Case:
    """One kind of statement."""

    name: str
    description: str
    # The statement for a random number generator and its position in the series.
    statement: Callable[[random.Random, int], str]
    statements: int = 300  # That are counted.
    per: int = 1  # Divides the count: rows of one statement, where these are the unit.
    writes: bool = False
    references: bool = False  # Needs foreign keys, which the stock plug-in does not take.


def _row(number: int) -> str:
    text = f"{number:011d}-" * 9
    scattered = number * 7919 % ROWS
    return f"({number}, {number % (ROWS // ROWS_PER_VALUE)}, {scattered}, '{text}', '{text[:59]}')"


def load(cursor: Any, engine: str) -> None:
    """Makes the tables in the current database; their rows are numbered from 1.

    `t`, and `altered` with the same rows, which got columns afterwards.
    """
    cursor.execute(
        "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, "
        "s INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, "
        f"KEY k (k), KEY s (s)) ENGINE={engine} CHARSET=latin1"
    )
    for first in range(1, ROWS + 1, _BATCH):
        rows = ", ".join(_row(number) for number in range(first, first + _BATCH))
        cursor.execute(f"INSERT INTO t VALUES {rows}")
    cursor.execute("ANALYZE TABLE t")
    # Three changes that leave rows as they are, where the engine has such.
    cursor.execute("CREATE TABLE altered LIKE t")
    cursor.execute("INSERT INTO altered SELECT * FROM t")
    for column in ("x INT NOT NULL DEFAULT 7", "y VARCHAR(9) DEFAULT 'y' FIRST", "z INT"):
        cursor.execute(f"ALTER TABLE altered ADD COLUMN {column}")


def load_references(cursor: Any, engine: str) -> None:
    """Makes `parent`, and `child`, which references it."""
    cursor.execute(
        f"CREATE TABLE parent (id INT NOT NULL PRIMARY KEY, pad CHAR(60)) ENGINE={engine}"
    )
    cursor.execute(
        "CREATE TABLE child (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, "
        "pad CHAR(60), KEY (parent), "
        f"FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE) ENGINE={engine}"
    )
    # One that restricts, so that `guarded` has no child.
    cursor.execute(
        f"CREATE TABLE guarded (id INT NOT NULL PRIMARY KEY, pad CHAR(60)) ENGINE={engine}"
    )
    cursor.execute(
        "CREATE TABLE guard (id INT NOT NULL PRIMARY KEY, guarded INT, KEY (guarded), "
        f"FOREIGN KEY (guarded) REFERENCES guarded (id)) ENGINE={engine}"
    )
    last = FIRST_LARGE + LARGE_PARENTS - 1
    for table in ("parent", "guarded"):
        cursor.execute(f"INSERT INTO {table} SELECT seq, 'p' FROM seq_1_to_{last}")
    for parent in range(FIRST_LARGE, last + 1):
        cursor.execute(
            "INSERT INTO child (parent, pad) "
            f"SELECT {parent}, 'c' FROM seq_1_to_{CHILDREN_OF_LARGE}"
        )


def bring_into_files(cursor: Any, engine: str) -> None:
    """Leaves nothing in a memtable, where a look-up takes the longer the more was written."""
    if engine == "ROCKSDB":
        cursor.execute("SET GLOBAL rocksdb_compact_cf = 'default'")


def warm_up(cursor: Any) -> None:
    """Brings the whole table, and its index, into the engine's cache."""
    for statement in (
        "SELECT SUM(LENGTH(c)) FROM t IGNORE INDEX (k, s)",
        "SELECT COUNT(k) FROM t FORCE INDEX (k)",
        "SELECT COUNT(s) FROM t FORCE INDEX (s)",
        "SELECT SUM(LENGTH(c)) FROM altered IGNORE INDEX (k, s)",
    ):
        cursor.execute(statement)
        cursor.fetchall()


def _id(chance: random.Random) -> int:
    return chance.randint(1, ROWS)


def _range(columns: str, rows: int) -> Callable[[random.Random, int], str]:
    def statement(chance: random.Random, _: int) -> str:
        first = chance.randint(1, ROWS - rows)
        return f"SELECT {columns} FROM t WHERE id BETWEEN {first} AND {first + rows - 1}"

    return statement


def _listed(chance: random.Random, _: int) -> str:
    numbers = ", ".join(str(_id(chance)) for _ in range(10))
    return f"SELECT c FROM t WHERE id IN ({numbers})"


def _points(chance: random.Random, _: int) -> str:
    numbers = ", ".join(str(_id(chance)) for _ in range(10))
    return f"SELECT id, c FROM t WHERE s IN ({numbers})"


def _ranges(chance: random.Random, _: int) -> str:
    firsts = (_id(chance) for _ in range(10))
    ranges = " OR ".join(f"s BETWEEN {first} AND {first + 5}" for first in firsts)
    return f"SELECT COUNT(s) FROM t WHERE {ranges}"


def _look_up(columns: str) -> Callable[[random.Random, int], str]:
    values = ROWS // ROWS_PER_VALUE
    return lambda chance, _: f"SELECT {columns} FROM t WHERE k = {chance.randrange(values)}"


CASES = (
    Case("nothing", "SELECT 1: what the server takes by itself", lambda *_: "SELECT 1"),
    Case(
        "point-read",
        "a row by its primary key",
        lambda chance, _: f"SELECT c FROM t WHERE id = {_id(chance)}",
    ),
    Case(
        "point-read-altered",
        "the same of a table that has got three columns since its rows were written",
        lambda chance, _: f"SELECT c FROM altered WHERE id = {_id(chance)}",
    ),
    Case(
        "point-read-added",
        "an added column of such a row",
        lambda chance, _: f"SELECT x FROM altered WHERE id = {_id(chance)}",
    ),
    Case("range-100", "100 rows by a range of the primary key", _range("c", 100), statements=100),
    Case("in-10", "10 rows by a list of primary keys", _listed, statements=100),
    Case("look-up", f"{ROWS_PER_VALUE} rows by a secondary index", _look_up("c"), statements=100),
    Case("look-up-covered", "the same, from the index alone", _look_up("id"), statements=100),
    Case("points", "10 rows by a list of values of a secondary index", _points, statements=100),
    Case("ranges", "10 ranges of 6 entries of a secondary index", _ranges, statements=100),
    Case(
        "scan",
        "all rows, for each",
        lambda *_: "SELECT SUM(k) FROM t IGNORE INDEX (k, s)",
        statements=1,
        per=ROWS,
    ),
    Case(
        "insert",
        "a row, the key by AUTO_INCREMENT",
        lambda chance, _: f"INSERT INTO t (k, c, pad) VALUES ({chance.randrange(ROWS)}, 'c', 'p')",
        writes=True,
    ),
    Case(
        "update-index",
        "an indexed column of a row",
        lambda chance, _: f"UPDATE t SET k = k + 1 WHERE id = {_id(chance)}",
        writes=True,
    ),
    Case(
        "update",
        "another column of a row",
        lambda chance, _: f"UPDATE t SET c = 'd{chance.random()}' WHERE id = {_id(chance)}",
        writes=True,
    ),
    Case(
        "delete",
        "a row by its primary key",
        # Rows of the end, one after the other, so that there is always one.
        lambda _, position: f"DELETE FROM t WHERE id = {ROWS - position}",
        writes=True,
    ),
    Case(
        "transaction",
        "a row locked, two changed and one inserted, in a compound statement",
        lambda chance, _: (
            "BEGIN NOT ATOMIC START TRANSACTION; "
            f"SELECT k INTO @k FROM t WHERE id = {_id(chance)} FOR UPDATE; "
            f"UPDATE t SET k = k + 1 WHERE id = {_id(chance)}; "
            f"UPDATE t SET c = 'd{chance.random()}' WHERE id = {_id(chance)}; "
            "INSERT INTO t (k, c, pad) VALUES (1, 'c', 'p'); COMMIT; END"
        ),
        statements=100,
        writes=True,
    ),
    Case(
        "insert-child",
        "a row whose foreign key has one of many values",
        lambda chance, _: (
            f"INSERT INTO child (parent, pad) VALUES ({chance.randrange(1, FIRST_ALONE)}, 'c')"
        ),
        writes=True,
        references=True,
    ),
    Case(
        "update-child",
        "another column of such a row",
        lambda chance, _: (
            f"UPDATE child SET pad = 'd{chance.random()}' "
            f"WHERE id = {chance.randint(1, LARGE_PARENTS * CHILDREN_OF_LARGE)}"
        ),
        writes=True,
        references=True,
    ),
    Case(
        "delete-parent",
        "a row that a foreign key might reference, and does not",
        lambda _, position: f"DELETE FROM guarded WHERE id = {FIRST_ALONE + position}",
        writes=True,
        references=True,
    ),
    Case(
        "delete-cascade",
        f"a row with {CHILDREN_OF_LARGE} rows that go with it, for each of them",
        lambda _, position: f"DELETE FROM parent WHERE id = {FIRST_LARGE + position}",
        statements=LARGE_PARENTS // 2,
        per=CHILDREN_OF_LARGE,
        writes=True,
        references=True,
    ),
)


def chosen(names: tuple[str, ...], *, references: bool = True) -> Iterator[Case]:
    """The cases of these names, all for none; without `references` those without foreign keys."""
    return (
        case
        for case in CASES
        if (not names or case.name in names) and (references or not case.references)
    )

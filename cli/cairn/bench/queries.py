"""The statements that the bench adds to sysbench's own: each is one kind of reading.

They read the table `permuted`, made from the rows of sysbench's tables: `id` and `k` both hold the
numbers from 1 to its row count, each once, so that a range of n numbers is a range of n rows by
either.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import Any

TABLE = "permuted"
# Neighbours by k are this far apart by id, a prime that no row count of a bench is a multiple of.
_STEP = 982_451_653
_SAMPLES = 3


@dataclass(frozen=True)
class Query:
    """A statement with a ? for each number that a run chooses."""

    name: str
    text: str
    span: int = 0  # The first two ? are the ends of a range of so many numbers.

    @property
    def reads_all(self) -> bool:
        """Whether it reads the whole table: there is nothing to choose."""
        return "?" not in self.text

    def sample(self, cursor: Any, rows: int) -> str:
        """A checksum of the answers for a few choices of numbers, always the same ones."""
        chance = random.Random(self.name)
        answers = hashlib.sha256()
        for _ in range(_SAMPLES):
            cursor.execute(self.text.replace("?", "%s"), self._numbers(chance, rows))
            answers.update(repr(sorted(cursor.fetchall())).encode())
        return answers.hexdigest()[:16]

    def _numbers(self, chance: random.Random, rows: int) -> list[int]:
        chosen = []
        if self.span:
            first = chance.randint(1, max(1, rows - self.span + 1))
            chosen = [first, first + self.span - 1]
        others = self.text.count("?") - len(chosen)
        return chosen + [chance.randint(1, rows) for _ in range(others)]


def _in_list(count: int) -> Query:
    places = ",".join("?" * count)
    return Query(f"in_list_{count}", f"SELECT id, k, c FROM {TABLE} WHERE id IN ({places})")


_BY_K = f"FROM {TABLE} FORCE INDEX (k) WHERE k BETWEEN ? AND ?"
# How many rows a range has, by whichever index.
RANGES = (10, 100, 1_000, 10_000)
JOINED_ROWS = 10_000

QUERIES = (
    *(
        Query(f"range_{count}", f"SELECT c FROM {TABLE} WHERE id BETWEEN ? AND ?", count)
        for count in RANGES
    ),
    *(_in_list(count) for count in (10, 100, 1_000)),
    *(Query(f"secondary_covered_{count}", f"SELECT id, k {_BY_K}", count) for count in RANGES),
    *(Query(f"secondary_rows_{count}", f"SELECT c {_BY_K}", count) for count in RANGES),
    Query("full_scan", f"SELECT COUNT(*), SUM(k), SUM(LENGTH(c)) FROM {TABLE}"),
    Query("order_desc_100", f"SELECT id, c FROM {TABLE} WHERE id <= ? ORDER BY id DESC LIMIT 100"),
    Query(
        "order_desc_secondary_100",
        f"SELECT id, k, c FROM {TABLE} FORCE INDEX (k) WHERE k <= ? ORDER BY k DESC LIMIT 100",
    ),
    Query(
        "join_10000",
        f"SELECT STRAIGHT_JOIN COUNT(*), SUM(LENGTH(i.c)) FROM {TABLE} o JOIN {TABLE} i "
        "ON i.id = o.k WHERE o.id BETWEEN ? AND ?",
        JOINED_ROWS,
    ),
)


def create(cursor: Any, tables: int, rows: int, engine: str) -> None:
    """Makes the table from so many of sysbench's, each of which has the ids from 1 to `rows`."""
    cursor.execute(
        f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, "
        f"pad CHAR(60) NOT NULL, KEY k (k)) ENGINE={engine}"
    )
    for number in range(tables):
        copied = f"id + {number * rows}"
        for first in range(1, rows + 1, _BATCH):
            cursor.execute(
                f"INSERT INTO {TABLE} "
                f"SELECT {copied}, (({copied}) * {_STEP}) MOD {tables * rows} + 1, c, pad "
                f"FROM sbtest{number + 1} "
                f"WHERE id BETWEEN {first} AND {min(rows, first + _BATCH - 1)}"
            )


# Rows in one transaction of a copy: neither engine likes one of millions.
_BATCH = 10_000

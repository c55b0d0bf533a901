"""Parents, children and leaves: what foreign keys do belongs to the transaction that made them.

Each transaction takes one of its client's parents. Mostly it makes the parent, or gives it another
version, which ON UPDATE CASCADE hands to the children, and adds a child with a leaf; else it
deletes the parent, which takes the children along and leaves their leaves without. Which of them
follows from the transaction's number: the numbers that were committed say what must be there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.crash.writer import brief

# Parents of a client, and of how many transactions about one the last deletes it.
PARENTS = 5
TURNS = 4
NAMES = ("parent", "child", "leaf")
# Numbers of a client's transactions are less.
MOST = 10_000_000


def create(side: str, engine: str) -> tuple[str, ...]:
    """The statements that make the tables of one side."""
    parent, child, leaf = (f"crash.{side}_{name}" for name in NAMES)
    return (
        f"CREATE TABLE {parent} (id INT NOT NULL PRIMARY KEY, version INT NOT NULL, "
        f"KEY (id, version)) ENGINE={engine}",
        f"CREATE TABLE {child} (id BIGINT NOT NULL PRIMARY KEY, parent INT NOT NULL, "
        f"version INT NOT NULL, KEY (parent, version), FOREIGN KEY (parent, version) "
        f"REFERENCES {parent} (id, version) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE={engine}",
        f"CREATE TABLE {leaf} (id BIGINT NOT NULL PRIMARY KEY, child BIGINT, "
        f"FOREIGN KEY (child) REFERENCES {child} (id) ON DELETE SET NULL) ENGINE={engine}",
    )


def _parent(client: int, number: int) -> int:
    return client * PARENTS + number % PARENTS


def _deletes(number: int) -> bool:
    return number // PARENTS % TURNS == TURNS - 1


def statements(side: str, client: int, number: int) -> tuple[str, ...]:
    """What a transaction does on one side."""
    parent, child, leaf = (f"crash.{side}_{name}" for name in NAMES)
    row = client * MOST + number
    if _deletes(number):
        return (f"DELETE FROM {parent} WHERE id = {_parent(client, number)}",)
    return (
        f"INSERT INTO {parent} VALUES ({_parent(client, number)},{number}) "
        "ON DUPLICATE KEY UPDATE version = VALUES(version)",
        f"INSERT INTO {child} VALUES ({row},{_parent(client, number)},{number})",
        f"INSERT INTO {leaf} VALUES ({row},{row})",
    )


@dataclass
class Rows:
    """The rows of one side."""

    parents: dict[int, int] = field(default_factory=dict)
    children: dict[int, tuple[int, int]] = field(default_factory=dict)
    leaves: dict[int, int | None] = field(default_factory=dict)

    def add(self, client: int, number: int) -> None:
        """What a transaction, committed after those before, leaves."""
        parent, row = _parent(client, number), client * MOST + number
        children = [child for child, (of, _) in self.children.items() if of == parent]
        if _deletes(number):
            self.parents.pop(parent, None)
            for child in children:
                del self.children[child]
                self.leaves[child] = None
            return
        self.parents[parent] = number
        for child in children:
            self.children[child] = parent, number
        self.children[row] = parent, number
        self.leaves[row] = row


def expected(committed: dict[int, Iterable[int]]) -> Rows:
    """The rows after the transactions of each client."""
    rows = Rows()
    for client, numbers in committed.items():
        for number in sorted(numbers):
            rows.add(client, number)
    return rows


def check(side: str, committed: dict[int, Iterable[int]], cursor: Any) -> list[str]:
    """What is not as the committed transactions have left it."""
    right = expected(committed)
    wrong = []
    for name, columns, wanted in (
        ("parent", "id, version", right.parents.items()),
        ("child", "id, parent, version", ((k, *of) for k, of in right.children.items())),
        ("leaf", "id, child", right.leaves.items()),
    ):
        cursor.execute(f"SELECT {columns} FROM crash.{side}_{name}")
        unlike = set(wanted) ^ set(cursor.fetchall())
        if unlike:
            rows = brief(sorted({row[0] for row in unlike}))
            wrong.append(f"crash.{side}_{name} is not what the lines say: rows {rows}")
    return wrong

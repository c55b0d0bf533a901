"""What clients did and saw: transactions, their statements, and what these read and wrote.

There are three kinds of objects, each made so that what a read gives tells which writes it saw:

    list      grows by elements that are appended once; a read gives all of them, in order, or the
              last one (a tail read)
    register  holds a value that is assigned once, and counts its assignments: its version
    group     a set of members, each inserted once and perhaps deleted once; a read gives the
              members of a range, by their number or by their tag
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cairn.errors import CairnError

TAGS = 8
FORMAT = 1

READ_UNCOMMITTED = "READ UNCOMMITTED"
READ_COMMITTED = "READ COMMITTED"
REPEATABLE_READ = "REPEATABLE READ"
SERIALIZABLE = "SERIALIZABLE"
LEVELS = (READ_UNCOMMITTED, READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE)

COMMITTED = "committed"
ROLLED_BACK = "rolled back"
UNKNOWN = "unknown"  # The connection was lost after COMMIT was sent and before the answer.


class ListRead(NamedTuple):
    key: int
    elements: tuple[int, ...]


class TailRead(NamedTuple):
    key: int
    last: int | None  # None: the list is empty.


class RegisterRead(NamedTuple):
    key: int
    value: int
    version: int


class GroupRead(NamedTuple):
    group: int
    column: str  # number or tag
    low: int
    high: int
    members: tuple[int, ...]

    def covers(self, member: int) -> bool:
        """Whether the range that was read has room for this member."""
        return self.low <= (member if self.column == "number" else member % TAGS) <= self.high


class Append(NamedTuple):
    key: int
    element: int


class Assign(NamedTuple):
    key: int
    value: int


class Insert(NamedTuple):
    group: int
    member: int


class Delete(NamedTuple):
    group: int
    member: int


Read = ListRead | TailRead | RegisterRead | GroupRead
Write = Append | Assign | Insert | Delete
_KINDS = {
    kind.__name__: kind
    for kind in (ListRead, TailRead, RegisterRead, GroupRead, Append, Assign, Insert, Delete)
}


@dataclass
class Statement:
    """One statement; times are seconds of one clock for all clients."""

    text: str
    sent: float
    got: float | None = None  # None: no answer came.
    locking: bool = False
    reads: list[Read] = field(default_factory=list)
    # What it wrote or tried to write.
    writes: list[Write] = field(default_factory=list)
    error: int = 0
    # The position, in its transaction, of the statement that undid this one: itself when it failed.
    undone_by: int | None = None
    # What it did to rows, or did not, that no reading of the objects shows.
    wrong: str = ""


@dataclass
class Transaction:
    number: int
    client: int
    autocommit: bool = False
    pinned: bool = False  # Begun WITH CONSISTENT SNAPSHOT.
    begin_sent: float = 0.0
    begin_got: float = 0.0
    statements: list[Statement] = field(default_factory=list)
    end_sent: float = 0.0
    end_got: float | None = None
    outcome: str = UNKNOWN

    def lasting(self) -> Iterator[Statement]:
        """The statements that were not undone before the transaction ended."""
        return (statement for statement in self.statements if statement.undone_by is None)


@dataclass
class History:
    """Transactions on objects that nobody else uses."""

    level: str
    engine: str
    lists: list[int]  # All are empty at first.
    registers: dict[int, int]  # With the first value; its version is 0.
    groups: dict[int, list[int]]  # With the first members.
    transactions: list[Transaction] = field(default_factory=list)
    # Reads everything, after all others.
    final: Transaction | None = None
    # At REPEATABLE READ, rows are locked and changed as they are now: cairn_snapshot_conflicts is
    # LATEST, innodb_snapshot_isolation OFF.
    latest: bool = False


def save(history: History, path: Path) -> None:
    """A line for the objects, then one for each transaction."""
    head = {
        "format": FORMAT,
        "level": history.level,
        "engine": history.engine,
        "lists": history.lists,
        "registers": history.registers,
        "groups": history.groups,
        "has_final": history.final is not None,
        "latest": history.latest,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        for transaction in [*history.transactions, *([history.final] if history.final else [])]:
            line = asdict(transaction)
            for statement, own in zip(line["statements"], transaction.statements, strict=True):
                statement["reads"] = [_plain(read) for read in own.reads]
                statement["writes"] = [_plain(write) for write in own.writes]
            file.write(json.dumps(line) + "\n")


def load(path: Path) -> History:
    try:
        with path.open(encoding="utf-8") as file:
            head = json.loads(next(file))
            if head["format"] != FORMAT:
                raise CairnError(f"{path}: a history of format {head['format']}, not {FORMAT}.")
            transactions = [_transaction(json.loads(line)) for line in file]
            return History(
                head["level"],
                head["engine"],
                head["lists"],
                {int(key): value for key, value in head["registers"].items()},
                {int(key): members for key, members in head["groups"].items()},
                transactions,
                transactions.pop() if head["has_final"] else None,
                head.get("latest", False),
            )
    except OSError as error:
        raise CairnError(f"{path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, IndexError, StopIteration) as error:
        raise CairnError(f"{path} is not a history that ./cairn histories saved.") from error


def _plain(operation: Read | Write) -> list[Any]:
    return [type(operation).__name__, *operation]


def _operation(values: list[Any]) -> Any:
    kind, *fields = values
    return _KINDS[kind](*(tuple(each) if isinstance(each, list) else each for each in fields))


def _transaction(line: dict[str, Any]) -> Transaction:
    statements = [
        Statement(
            **statement
            | {
                "reads": [_operation(read) for read in statement["reads"]],
                "writes": [_operation(write) for write in statement["writes"]],
            }
        )
        for statement in line["statements"]
    ]
    return Transaction(**line | {"statements": statements})

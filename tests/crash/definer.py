"""A client that changes definitions: its tables are as acknowledged or as after what it does."""

from __future__ import annotations

import random
from typing import Any, Generic, TextIO, TypeVar

from tests.crash.writer import Connect, Writer

# What one table must look like; equal when two look alike.
TableT = TypeVar("TableT")


class Promise(Generic[TableT]):
    """The tables by name as acknowledged, and as they would be after the statement under way."""

    def __init__(self) -> None:
        self.tables: dict[str, TableT] = {}
        self.pending: dict[str, TableT] | None = None
        self.statement = ""

    def settle(self, found: dict[str, TableT]) -> list[str]:
        """What of the tables is neither before nor after; from here on they are as found.

        A text without a name says that some are as before and others as after.
        """
        before, after = self.tables, self.tables if self.pending is None else self.pending
        self.tables, self.pending = found, None
        if found in (before, after):
            return []
        wrong = []
        for name in sorted(found.keys() | before.keys() | after.keys()):
            wanted = dict.fromkeys((before.get(name), after.get(name)))
            if found.get(name) not in wanted:
                choices = " or ".join(str(table or "no table") for table in wanted)
                wrong.append(f"{name}: {found.get(name) or 'no table'} instead of {choices}")
        return wrong or [MIXTURE]


MIXTURE = "the tables are a mixture of before and after the last statement"


class Definer(Writer, Generic[TableT]):
    """Changes definitions until the server dies. No two clients share a table."""

    def __init__(
        self,
        name: str,
        promise: Promise[TableT],
        connect: Connect,
        journal: TextIO,
        random_numbers: random.Random,
    ) -> None:
        super().__init__(name, connect, journal, random_numbers)
        self.promise = promise

    def step(self, cursor: Any) -> None:
        after = dict(self.promise.tables)
        statement = self.choose(after)
        self.promise.statement, self.promise.pending = statement, after
        cursor.execute(statement)
        self.promise.tables, self.promise.pending = after, None
        self.acknowledge(statement)

    def refused(self) -> None:
        self.promise.pending = None

    def choose(self, tables: dict[str, TableT]) -> str:
        """A statement; makes of `tables`, which are those there are, what it will."""
        raise NotImplementedError

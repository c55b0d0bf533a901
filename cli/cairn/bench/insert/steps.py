"""The steps of the insert benchmark, and how large they are."""

from __future__ import annotations

from dataclasses import dataclass

# A row with the entries of its indexes in InnoDB, whose pages are half empty where inserts split
# them.
ROW_BYTES = 320


@dataclass(frozen=True)
class Scale:
    """How large the tables are, how many clients ask and how long."""

    tables: int
    rows: int  # Of each table.
    queries: int  # Clients that ask, for each table.
    seconds: float  # Of a step that has a rate.

    @property
    def changed_rows(self) -> int:
        """How many rows of a table l.i1 inserts, and deletes."""
        return max(self.rows // 5, 1)

    @property
    def data_bytes(self) -> int:
        return self.tables * self.rows * ROW_BYTES


@dataclass(frozen=True)
class Step:
    """One step at full speed (`rate` is 0) or beside queries."""

    name: str
    rate: int = 0  # Rows that each table gets, and loses, each second.
    batch: int = 50  # Rows of one statement, which is one transaction.


LOAD = Step("l.i0", batch=100)
INDEX = Step("l.x")
CHANGE = Step("l.i1")
STEPS = (LOAD, INDEX, CHANGE, *(Step(f"q{rate}", rate) for rate in (100, 500, 1000)))

"""Differences from InnoDB on purpose, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.hunt.session import Answer

DUPLICATE = 1062
# What a value or a row can be refused for: which of several comes first is left open.
OF_VALUES = frozenset(
    {DUPLICATE, 1048, 1138, 1264, 1265, 1292, 1364, 1366, 1406, 1411, 1525, 1690, 4025}
)
NOT_SUPPORTED = (1845, 1846)


@dataclass(frozen=True)
class Told:
    """A statement and what both engines answered; InnoDB is not asked what ours alone refuses."""

    statement: str
    ours: Answer
    theirs: Answer | None
    # The clauses of an ALTER TABLE, or 0.
    clauses: int = 0
    # What cairn_format is.
    format: str = "cairn"
    # What InnoDB answers to the same ALGORITHM, in a copy of its table.
    same_way: Answer | None = None


@dataclass(frozen=True)
class Reason:
    """Why two answers may differ."""

    name: str
    why: str
    holds: Callable[[Told], bool]


# Ours alone refuses: then nothing has happened, and InnoDB is not asked.
REFUSALS = (
    Reason(
        "stock format",
        "a directory kept for the stock plug-in refuses what its format cannot express",
        lambda told: told.format == "stock" and told.ours.error in (1235, 1478, 4077),
    ),
    Reason(
        "expiry without a primary key",
        "rows expire only where the table has a primary key",
        lambda told: told.ours.error == 4069,
    ),
)
# One of them alone refuses: the tables are not the same any more, and the chain ends.
ENDS = (
    Reason(
        "refused in place",
        "the server refuses in place what it copies; InnoDB gives the same error by that way",
        lambda told: (
            told.ours.error != 0
            and told.same_way is not None
            and told.same_way.error == told.ours.error
        ),
    ),
    Reason(
        "refused by the copy alone",
        "a copy computes all virtual columns and refuses values that do not fit; InnoDB takes the "
        "change too by the way that ours went",
        lambda told: (
            not told.ours.error
            and _error(told) in OF_VALUES
            and told.same_way is not None
            and not told.same_way.error
        ),
    ),
    Reason(
        "virtual values are not looked at",
        "an instant change computes no virtual column of the rows; a copy does, and refuses some",
        lambda told: (
            not told.ours.error
            and _error(told) in OF_VALUES
            and told.statement.startswith("ALTER")
            # These look at the rows, and refuse.
            and not re.search(r"\b(FORCE|KEY|INDEX)\b", told.statement)
            and _names_another_column(told)
        ),
    ),
    Reason(
        "row size of InnoDB",
        "rows of ROCKSDB have no such limit",
        lambda told: not told.ours.error and _error(told) in (1118, 139),
    ),
)
# Both refuse for reasons of their own.
ERRORS = (
    Reason(
        "another value first",
        "the order of rows and checks is left open where several are wrong",
        lambda told: (
            told.ours.error in OF_VALUES
            and _error(told) in OF_VALUES
            and (
                told.clauses != 1
                or not told.statement.startswith("ALTER")
                # Its columns become NOT NULL, and its values are to be different.
                or "ADD PRIMARY KEY" in told.statement
            )
        ),
    ),
)


def _error(told: Told) -> int:
    return told.theirs.error if told.theirs else 0


def _names_another_column(told: Told) -> bool:
    """Whether the refused value is in a column that the statement does not name."""
    found = re.search(r"column '([^']+)'", told.theirs.message) if told.theirs else None
    return found is not None and re.search(rf"\b{found[1]}\b", told.statement) is None


def reason(reasons: tuple[Reason, ...], told: Told) -> Reason | None:
    """The first that holds."""
    return next((each for each in reasons if each.holds(told)), None)

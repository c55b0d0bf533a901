"""What the loader knows of one table of the sample database."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Value = str | int | None
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Table:
    """A table's definition and where its rows come from."""

    name: str
    # Columns and keys, as between the parentheses of CREATE TABLE.
    definition: str
    # Produces the rows, always the same ones in the same order on one machine.
    rows: Callable[[], Iterable[Row]]


def line(row: Row) -> str:
    """A row in the form that LOAD DATA reads by default."""
    return "\t".join(_field(value) for value in row) + "\n"


def _field(value: Value) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, int):
        return str(value)
    return (
        value.replace("\\", "\\\\")
        .replace("\t", "\\t")
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\0", "\\0")
    )

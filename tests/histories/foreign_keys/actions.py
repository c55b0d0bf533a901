"""What may follow from one statement in the rows of a client, besides what it names."""

from __future__ import annotations

import re
from collections import Counter

from tests.histories.foreign_keys.acting import ACTING_BY_NAME, ACTING_KEYS
from tests.histories.foreign_keys.promise import Row, State
from tests.histories.foreign_keys.schema import RESTRICT, ForeignKey

_NAMED = re.compile(r"\b(?:INTO|UPDATE|FROM|JOIN)(?: IGNORE)?(?: /\*.*?\*/)? (\w+)")
_ACTING = [key for key in ACTING_KEYS if (key.on_delete, key.on_update) != (RESTRICT, RESTRICT)]


def unexplained(text: str, before: State, after: State) -> list[str]:
    """Rows that neither the statement nor an action of a foreign key can have changed.

    Both states are the client's own rows. A row may change or go if one of its parents did; what
    is new is then one of those.
    """
    named = set(_NAMED.findall(text))
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    wrong = [
        f"{row} went" for row in gone if row[0] not in named and not _follows(row, before, after)
    ]
    may_come = Counter((table, number, mark) for table, number, _, mark in gone.elements())
    for row in new.elements():
        table, number, _, mark = row
        if table not in named and not may_come[table, number, mark]:
            wrong.append(f"{row} came")
        may_come[table, number, mark] -= 1
    return wrong


def _follows(row: Row, before: State, after: State) -> bool:
    for key in _ACTING:
        if key.child != row[0]:
            continue
        values = _values(row, key.columns)
        was = {parent for parent in _parents(key, before) if parent[1] == values}
        if was - _parents(key, after):
            return True
    return False


def _parents(key: ForeignKey, state: State) -> set[tuple[str, tuple[str, ...]]]:
    """Rows as they are but for their mark, with what children refer to."""
    return {
        (f"{row[1]}, {row[2]}", _values(row, key.parent_columns))
        for row in state
        if row[0] == key.parent
    }


def _values(row: Row, columns: tuple[str, ...]) -> tuple[str, ...]:
    table, number, told, _ = row
    names = ACTING_BY_NAME[table].told_columns
    values = {**dict(zip(names, told.split(", "), strict=True)), "id": str(number)}
    return tuple(values[column] for column in columns)

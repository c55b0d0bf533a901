"""Makes cases smaller while they show the same kind of difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from tests.hunt.case import Case
from tests.hunt.keys import Key
from tests.hunt.tables import Column, Table

Thing = TypeVar("Thing")
# Makes the server choose merges and ranges of indexes in small tables as well.
EASE = "rocksdb_records_in_range=1"
# Rows are left out one by one only among so many.
FEW_ROWS = 300


def shrink(
    thing: Thing,
    smaller: Callable[[Thing], Iterator[Thing]],
    still_fails: Callable[[Thing], bool],
    seconds: float,
) -> Thing:
    """The smallest that was found: takes the first smaller one that fails, again and again."""
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in smaller(thing):
            if time.monotonic() > end:
                break
            if still_fails(candidate):
                thing = candidate
                progress = True
                break
    return thing


def shrink_case(
    case: Any,
    hints: dict[str, str],
    smaller: Callable[[Any], Iterator[Any]],
    still_fails: Callable[[Any], bool],
    seconds: float,
) -> Any | None:
    """Shrinks a case; None when it does not fail again, with tables made anew.

    The plan of a large table is kept for small ones where that can be, by `hints`, which force the
    indexes of the plan, or by an estimate of their ranges.
    """
    end = time.monotonic() + seconds
    for kept in _keeping_the_plan(case, hints):
        if still_fails(kept):
            case = shrink(kept, fewer_rows, still_fails, seconds / 2)
            break
    else:
        if not still_fails(case):
            return None
    return shrink(case, smaller, still_fails, max(1.0, end - time.monotonic()))


def _keeping_the_plan(case: Any, hints: dict[str, str]) -> Iterator[Any]:
    path = case.path
    forced = replace(path, hints=hints | path.hints)
    eased = (*path.settings, EASE)
    has_estimate = any(each.startswith("rocksdb_records") for each in path.settings)
    if forced != path:
        yield replace(case, path=forced)
    if not has_estimate:
        if forced != path:
            yield replace(case, path=replace(forced, settings=eased))
        yield replace(case, path=replace(path, settings=eased))


def fewer_rows(case: Any) -> Iterator[Any]:
    """Cases whose tables have fewer rows."""
    for index, table in enumerate(case.tables):
        for less in _less_rows(table):
            yield replace(case, tables=(*case.tables[:index], less, *case.tables[index + 1 :]))


def _less_rows(table: Table) -> Iterator[Table]:
    by_one = (table.rows - 1,) if table.rows <= 20 else ()
    for rows in (table.rows // 10, table.rows // 2, table.rows * 4 // 5, *by_one):
        if 0 < rows < table.rows and not table.only:
            yield replace(table, rows=rows)


def smaller_cases(case: Case) -> Iterator[Case]:
    """Cases with less in them: first what costs nothing to try, then other tables."""
    for path in case.path.smaller():
        yield replace(case, path=path)
    for query in case.query.smaller():
        if case.path.way == "partitioned" and not query.is_totals:
            continue
        aliases = query.aliases()
        hints = {alias: hint for alias, hint in case.path.hints.items() if alias in aliases}
        yield replace(case, query=query, path=replace(case.path, hints=hints))
    hinted = " ".join(case.path.hints.values())
    yield from smaller_data(case, set(case.query.aliases().values()), case.query.mentions, hinted)


def smaller_data(
    case: Any, used: set[str], mentions: Callable[[str], bool], hinted: str
) -> Iterator[Any]:
    """Cases whose `tables` are smaller, or with fewer `actions`.

    `used` are names of tables that the statement needs, `hinted` is text that names keys.
    """
    for index, table in enumerate(case.tables):
        if table.name not in used and len(case.tables) > 1:
            yield replace(case, tables=case.tables[:index] + case.tables[index + 1 :])
    for index in range(len(case.actions)):
        yield replace(case, actions=case.actions[:index] + case.actions[index + 1 :])
    done = " ".join(case.actions)
    for index, table in enumerate(case.tables):
        for less in smaller_tables(table, mentions, f"{hinted} {done}"):
            yield replace(case, tables=(*case.tables[:index], less, *case.tables[index + 1 :]))


def smaller_tables(table: Table, mentions: Callable[[str], bool], needed: str) -> Iterator[Table]:
    """Tables with fewer rows, keys, columns and properties; `needed` is text that names some."""
    yield from _less_rows(table)
    if table.partitions:
        yield replace(table, partitions="")
    if table.versioned:
        yield replace(table, versioned=False)
    if table.comment:
        yield replace(table, comment="")
    for index, key in enumerate(table.keys):
        if f"{key.name}" in needed.replace("(", " ").replace(")", " ").replace(",", " ").split():
            continue
        yield replace(table, keys=table.keys[:index] + table.keys[index + 1 :])
    for column in table.columns:
        if not mentions(column.name) and column.name not in needed:
            less = table.without_column(column.name)
            if less.columns and len(less.keys) == len(table.keys):
                yield less
    for index, key in enumerate(table.keys):
        for simpler in _simpler_keys(key):
            yield replace(table, keys=(*table.keys[:index], simpler, *table.keys[index + 1 :]))
    for index, column in enumerate(table.columns):
        for simpler in _simpler_columns(column):
            yield replace(
                table, columns=(*table.columns[:index], simpler, *table.columns[index + 1 :])
            )
    if 1 < table.rows <= FEW_ROWS:
        yield from _fewer_rows(table)


def _simpler_keys(key: Key) -> Iterator[Key]:
    if key.comment:
        yield replace(key, comment="")
    if key.unique and key.name != "PRIMARY":
        yield replace(key, unique=False)
    for index, part in enumerate(key.parts):
        if len(key.parts) > 1:
            yield replace(key, parts=key.parts[:index] + key.parts[index + 1 :])
        for simpler in ({"descending": False}, {"prefix": 0}):
            changed = replace(part, **simpler)
            if changed != part:
                yield replace(key, parts=(*key.parts[:index], changed, *key.parts[index + 1 :]))


def _simpler_columns(column: Column) -> Iterator[Column]:
    """With fewer values."""
    drawn = column.drawn
    half = len(drawn) // 2
    for fewer in (drawn[:1], drawn[-1:], drawn[:half], drawn[half:], drawn[:-1]):
        if 0 < len(fewer) < len(drawn):
            yield column.picking(fewer)


def _fewer_rows(table: Table) -> Iterator[Table]:
    numbers = list(range(1, table.rows + 1))
    if table.only:
        numbers = [int(text) for text in table.only.partition("(")[2].rstrip(")").split(",")]
    if len(numbers) < 2:
        return
    step = max(1, len(numbers) // 2)
    while True:
        for first in range(0, len(numbers), step):
            rest = numbers[:first] + numbers[first + step :]
            if rest:
                yield replace(table, only=f"seq IN ({', '.join(map(str, rest))})")
        if step == 1:
            return
        step //= 2

"""The plan as people read it."""

from __future__ import annotations

from cairn.migrate.plan import Plan, PlannedSet, PlannedTable
from cairn.migrate.schema import text_of
from cairn.migrate.ways import Way

SHOWN_STAYING = 20


def size_text(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def seconds_text(seconds: float) -> str:
    """A time to expect, no more exact than it is."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def lines(plan: Plan) -> list[str]:
    """The whole plan, a line each."""
    target = plan.circumstances.target.upper()
    found = []
    for number, one in enumerate(plan.convertible, 1):
        found.extend([*_set(number, one), ""])
    blocked = [one for one in plan.sets if one.decision.way is Way.NONE]
    if blocked:
        found.append("Not converted:")
        for one in blocked:
            found.append(f"  {', '.join(text_of(each.table.id) for each in one.tables)}")
            found.extend(f"    {reason}" for reason in one.decision.reasons)
        found.append("")
    if plan.staying:
        found.append("Left alone:")
        found.extend(f"  {text_of(table)}: {why}" for table, why in plan.staying[:SHOWN_STAYING])
        if len(plan.staying) > SHOWN_STAYING:
            found.append(f"  and {len(plan.staying) - SHOWN_STAYING} more (--json has them)")
        found.append("")
    found.extend([*(f"Note: {note}" for note in plan.notes), *([""] if plan.notes else [])])
    tables = sum(len(one.tables) for one in plan.convertible)
    seconds = sum(one.seconds for one in plan.convertible)
    found.append(
        f"{tables} tables to {target}, {seconds_text(seconds)} one after the other. "
        "Nothing has been changed."
    )
    return found


def _set(number: int, one: PlannedSet) -> list[str]:
    what = {
        Way.ONLINE: "online, writers go on",
        Way.HELD: "copied while writers wait, reads go on",
        Way.ALTER: "ALTER TABLE, clients wait",
    }[one.decision.way]
    found = [
        f"{number}. {what}; {seconds_text(one.seconds)}, "
        f"writers wait {seconds_text(one.writers_wait_s)}"
    ]
    found.extend(f"   {reason}" for reason in one.decision.reasons)
    for each in one.tables:
        found.extend(_table(each))
    return found


def _table(each: PlannedTable) -> list[str]:
    found = [
        f"   {text_of(each.table.id)}: about {each.table.rows:,} rows, "
        f"{size_text(each.table.data_bytes)} → about {size_text(each.bytes_expected)}; "
        f"the server says: {each.sample.answer}"
    ]
    found.extend(f"     {text}" for text in each.differs)
    return found

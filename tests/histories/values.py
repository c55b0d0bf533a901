"""Objects by name, and what transactions wrote to them and read of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.histories import history

# ("list", key), ("register", key) or ("member", group, number).
Object = tuple[Any, ...]
PRESENT, GONE = "present", "gone"


def written(write: history.Write) -> tuple[Object, Any]:
    """The object and the value that it gets."""
    match write:
        case history.Append(key, element):
            return ("list", key), element
        case history.Assign(key, value):
            return ("register", key), value
        case history.Insert(group, member):
            return ("member", group, member), PRESENT
        case history.Delete(group, member):
            return ("member", group, member), GONE
    raise AssertionError(write)


def name(thing: Object) -> str:
    if thing[0] == "member":
        return f"member {thing[2]} of group {thing[1]}"
    return f"{thing[0]} {thing[1]}"


def values_read(transaction: history.Transaction) -> Iterator[tuple[Object, Any]]:
    for statement in transaction.statements:
        for read in statement.reads:
            match read:
                case history.ListRead(key, elements):
                    yield from ((("list", key), element) for element in elements)
                case history.TailRead(key, last) if last is not None:
                    yield ("list", key), last
                case history.RegisterRead(key, value, _):
                    yield ("register", key), value
                case history.GroupRead():
                    for member in read.members:
                        yield ("member", read.group, member), PRESENT


def reads_with_own_writes(
    transaction: history.Transaction,
) -> Iterator[tuple[int, Any, dict[Object, list[Any]]]]:
    """Each read with the position of its statement and what the transaction had written by then."""
    for position, statement in enumerate(transaction.statements):
        if not statement.reads:
            continue
        own: dict[Object, list[Any]] = defaultdict(list)
        for earlier in transaction.statements[:position]:
            if earlier.undone_by is None or earlier.undone_by > position:
                for write in earlier.writes:
                    thing, value = written(write)
                    own[thing].append(value)
        for read in statement.reads:
            yield position, read, own


def without_own(elements: tuple[int, ...], own: list[Any]) -> tuple[int, ...]:
    """The elements before one's own; all of them when these are not at the end."""
    if own and list(elements[-len(own) :]) == own:
        return elements[: -len(own)]
    return elements


def why_undone(transaction: history.Transaction, position: int) -> str:
    undone_by = transaction.statements[position].undone_by
    if undone_by == position or undone_by is None:
        return "failing"
    return transaction.statements[undone_by].text


def shown(thing: Object, value: Any) -> str:
    return name(thing) if thing[0] == "member" else f"{value} in {name(thing)}"


def brief(values: Any) -> str:
    listed = list(values)
    if len(listed) <= 6:
        return str(listed)
    return f"[… {', '.join(map(str, listed[-6:]))}]"

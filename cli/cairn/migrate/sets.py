"""Which tables are converted together, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cairn.migrate.schema import ForeignKey, Id


def connected(tables: Iterable[Id], keys: Iterable[ForeignKey]) -> list[tuple[Id, ...]]:
    """Sets of tables that foreign keys tie to one another, directly or through others.

    Keys with an end outside of `tables` tie nothing. Both the sets and their tables are in order of
    names, parents before children where no ring forbids it.
    """
    neighbours: dict[Id, set[Id]] = {table: set() for table in tables}
    known = list(neighbours)
    inside = [key for key in keys if key.child in neighbours and key.parent in neighbours]
    for key in inside:
        neighbours[key.child].add(key.parent)
        neighbours[key.parent].add(key.child)
    seen: set[Id] = set()
    found: list[tuple[Id, ...]] = []
    for table in sorted(known):
        if table in seen:
            continue
        members, waiting = set(), [table]
        while waiting:
            member = waiting.pop()
            if member not in members:
                members.add(member)
                waiting.extend(neighbours[member])
        seen |= members
        parents = {member: set[Id]() for member in members}
        for key in inside:
            if key.child in members and key.child != key.parent:
                parents[key.child].add(key.parent)
        found.append(in_order(parents))
    return found


def in_order(parents: Mapping[Id, set[Id]]) -> tuple[Id, ...]:
    """Parents before their children; of a ring, the table that waits for the fewest goes first."""
    left = {table: set(names) for table, names in parents.items()}
    ordered: list[Id] = []
    while left:
        chosen = min(left, key=lambda table: (len(left[table]), table))
        ordered.append(chosen)
        del left[chosen]
        for names in left.values():
            names.discard(chosen)
    return tuple(ordered)

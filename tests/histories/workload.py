"""The tables, and random statements on them of which it is known what they read and write."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.histories.history import (
    TAGS,
    Append,
    Assign,
    Delete,
    GroupRead,
    Insert,
    ListRead,
    Read,
    RegisterRead,
    TailRead,
    Write,
)

SCHEMA = "histories"
LISTS, REGISTERS, GROUPS = 9, 6, 2
# The rows of the last lists are made by the first statement that appends to them.
LISTS_MADE = 6
LISTS_IN_PART = 3
FIRST_MEMBERS = 4
# Members are spread over this range, so that new ones come between old ones.
MEMBER_RANGE = 2**31 - 1
_SPREAD = 48271

Rows = tuple[tuple[Any, ...], ...]


def tables(engine: str) -> tuple[str, ...]:
    """Statements that make the tables."""
    return (
        f"CREATE DATABASE {SCHEMA}",
        f"CREATE TABLE {SCHEMA}.lists (id INT NOT NULL PRIMARY KEY, part INT NOT NULL, tail INT, "
        "once INT, elements TEXT NOT NULL, KEY part (part), KEY part_tail (part, tail), "
        f"UNIQUE KEY once (once)) ENGINE={engine}",
        f"CREATE TABLE {SCHEMA}.registers (id INT NOT NULL PRIMARY KEY, value INT NOT NULL, "
        f"version INT NOT NULL, KEY value (value)) ENGINE={engine}",
        f"CREATE TABLE {SCHEMA}.members (grp INT NOT NULL, number INT NOT NULL, tag INT NOT NULL, "
        f"payload VARCHAR(40) NOT NULL, PRIMARY KEY (grp, number), KEY tag (grp, tag)) "
        f"ENGINE={engine}",
    )


@dataclass(frozen=True)
class Step:
    """A statement to be sent."""

    text: str
    locking: bool = False
    # Makes of the rows that came what was read; says, too, what is wrong with them.
    parse: Callable[[Rows], tuple[list[Read], str]] | None = None
    writes: tuple[Write, ...] = ()
    # The rows that it must change, if that is known: neither more nor fewer.
    changes: int | None = None
    # Must fail with a duplicate key.
    fails: bool = False


class Objects:
    """The objects of one history, and random steps on them."""

    def __init__(self, number: int, values: Iterator[int], *, moving_scans: bool = True) -> None:
        base = number * 90
        self._moving_scans = moving_scans
        self._values = values
        self.lists = list(range(base, base + LISTS))
        self.registers = {base + i: next(values) for i in range(REGISTERS)}
        self.groups = {
            base + i: sorted(self._member() for _ in range(FIRST_MEMBERS)) for i in range(GROUPS)
        }
        self._first_value = min(self.registers.values())

    def create(self) -> list[str]:
        """Statements that make the first rows."""
        made = ",".join(f"({key},{_part(key)},'')" for key in self.lists[:LISTS_MADE])
        registers = ",".join(f"({key},{value},0)" for key, value in self.registers.items())
        members = ",".join(
            _member_row(group, member) for group, own in self.groups.items() for member in own
        )
        return [
            f"INSERT INTO lists (id, part, elements) VALUES {made}",
            f"INSERT INTO registers (id, value, version) VALUES {registers}",
            f"INSERT INTO members (grp, number, tag, payload) VALUES {members}",
        ]

    def _member(self) -> int:
        return next(self._values) * _SPREAD % MEMBER_RANGE

    # ---- reads ----------------------------------------------------------------------------------

    def random_read(self, chance: random.Random, lock: str = "") -> Step:
        """A read; `lock` is FOR UPDATE, LOCK IN SHARE MODE or empty."""
        kinds: list[tuple[int, Callable[[random.Random, str], Step]]] = [
            (4, self.read_list),
            (2, self._read_lists),
            (2, self._read_part),
            (1, self._read_tails),
            (1, self._read_some_lists),
            (3, self.read_register),
            (2, self._read_registers),
            (3, self._read_members),
            (2, self._read_tags),
        ]
        weights, makers = zip(*kinds, strict=True)
        return chance.choices(makers, weights)[0](chance, lock)

    def read_list(self, chance: random.Random, lock: str = "", key: int | None = None) -> Step:
        key = chance.choice(self.lists) if key is None else key
        return self._list_step(f"WHERE id = {key}", [key], lock)

    def _read_lists(self, chance: random.Random, lock: str) -> Step:
        if chance.random() < 0.5:
            first, last = _range(chance, self.lists)
            keys = list(range(first, last + 1))
            return self._list_step(f"WHERE id BETWEEN {first} AND {last}", keys, lock)
        keys = sorted(chance.sample(self.lists, chance.randint(2, 4)))
        return self._list_step(f"WHERE id IN ({','.join(map(str, keys))})", keys, lock)

    def _read_part(self, chance: random.Random, lock: str) -> Step:
        part = _part(chance.choice(self.lists))
        keys = [key for key in self.lists if _part(key) == part]
        return self._list_step(f"FORCE INDEX (part) WHERE part = {part}", keys, lock)

    def _read_some_lists(self, chance: random.Random, lock: str) -> Step:
        """Rows that do not match are read, perhaps locked, and let go."""
        first, last = self.lists[0], self.lists[-1]
        rest = chance.randint(0, 1)
        return self._list_step(
            f"WHERE id BETWEEN {first} AND {last} AND tail % 2 = {rest}", [], lock
        )

    def _list_step(self, where: str, keys: list[int], lock: str) -> Step:
        """Without `keys`, rows that do not come tell nothing; else a missing row is empty."""

        def parse(rows: Rows) -> tuple[list[Read], str]:
            found = {key: _elements(text) for key, text in rows}
            wrong = _twice([key for key, _ in rows], "list")
            # No row ever goes, so that a scan that locks must find all that were there at first.
            return [ListRead(key, found.get(key, ())) for key in keys or found], wrong

        return Step(f"SELECT id, elements FROM lists {where} {lock}".strip(), bool(lock), parse)

    def _read_tails(self, chance: random.Random, lock: str) -> Step:
        """The index has everything that is read."""
        if lock and not self._moving_scans:
            return self._read_part(chance, lock)
        part = _part(chance.choice(self.lists))
        return self._tail_step(part, lock)

    def _tail_step(self, part: int, lock: str) -> Step:
        keys = [key for key in self.lists if _part(key) == part]

        def parse(rows: Rows) -> tuple[list[Read], str]:
            found = dict(rows)
            missed = [key for key in keys if key in self.lists[:LISTS_MADE] and key not in found]
            if missed:
                return [], f"no row came for list {missed[0]}"
            wrong = _twice([key for key, _ in rows], "list")
            return [TailRead(key, found.get(key)) for key in (found if lock else keys)], wrong

        return Step(
            "SELECT id, tail FROM lists FORCE INDEX (part_tail) "
            f"WHERE part = {part} {lock}".strip(),
            bool(lock),
            parse,
        )

    def read_register(self, chance: random.Random, lock: str = "", key: int | None = None) -> Step:
        key = chance.choice(list(self.registers)) if key is None else key
        return self._register_step(f"WHERE id = {key}", [key], lock)

    def _read_registers(self, chance: random.Random, lock: str) -> Step:
        keys = list(self.registers)
        if chance.random() < 0.5 or (lock and not self._moving_scans):
            return self._register_step(f"WHERE id BETWEEN {keys[0]} AND {keys[-1]}", keys, lock)
        # Assignments move the rows within this index.
        return self._register_step(
            f"FORCE INDEX (value) WHERE value >= {self._first_value}", keys, lock
        )

    def _register_step(self, where: str, keys: list[int], lock: str) -> Step:
        def parse(rows: Rows) -> tuple[list[Read], str]:
            found = [row[0] for row in rows if row[0] in self.registers]
            missed = [key for key in keys if key not in found]
            wrong = f"no row came for register {missed[0]}" if missed else _twice(found, "register")
            return [RegisterRead(*row) for row in rows if row[0] in self.registers], wrong

        return Step(
            f"SELECT id, value, version FROM registers {where} {lock}".strip(), bool(lock), parse
        )

    def _read_members(self, chance: random.Random, lock: str) -> Step:
        group = chance.choice(list(self.groups))
        low, high = 0, MEMBER_RANGE
        if chance.random() < 0.5:
            low, high = sorted(chance.randrange(MEMBER_RANGE) for _ in range(2))
        return self._group_step(group, "number", low, high, "PRIMARY", lock)

    def _read_tags(self, chance: random.Random, lock: str) -> Step:
        group = chance.choice(list(self.groups))
        low, high = sorted(chance.randrange(TAGS) for _ in range(2))
        return self._group_step(group, "tag", low, high, "tag", lock)

    def _group_step(
        self, group: int, column: str, low: int, high: int, index: str, lock: str
    ) -> Step:
        def parse(rows: Rows) -> tuple[list[Read], str]:
            members = [member for (member,) in rows]
            read = GroupRead(group, column, low, high, tuple(sorted(members)))
            return [read], _twice(members, f"group {group}: member")

        return Step(
            f"SELECT number FROM members FORCE INDEX ({index}) WHERE grp = {group} "
            f"AND {column} BETWEEN {low} AND {high} {lock}".strip(),
            bool(lock),
            parse,
        )

    def everything(self) -> Iterator[Step]:
        """Reads of all objects by every index."""
        first, last = self.lists[0], self.lists[-1]
        yield self._list_step(f"WHERE id BETWEEN {first} AND {last}", self.lists, "")
        for part in sorted({_part(key) for key in self.lists}):
            keys = [key for key in self.lists if _part(key) == part]
            yield self._list_step(f"FORCE INDEX (part) WHERE part = {part}", keys, "")
            yield self._tail_step(part, "")
        keys = list(self.registers)
        yield self._register_step(f"WHERE id BETWEEN {keys[0]} AND {keys[-1]}", keys, "")
        yield self._register_step(
            f"FORCE INDEX (value) WHERE value >= {self._first_value}", keys, ""
        )
        for group in self.groups:
            yield self._group_step(group, "number", 0, MEMBER_RANGE, "PRIMARY", "")
            yield self._group_step(group, "tag", 0, TAGS, "tag", "")

    # ---- writes ---------------------------------------------------------------------------------

    def random_write(
        self, chance: random.Random, known: Sequence[Insert], *, can_undo: bool
    ) -> Step:
        """A write; `known` are members that may be there.

        One that may miss rows comes only where the transaction can be rolled back: what it then
        did is not known.
        """
        kinds: list[tuple[int, Callable[[random.Random], Step]]] = [
            (5, self.append),
            (2, self._append_to_several),
            (4, self.assign),
            (1, lambda chance: self._assign_all(chance, moves=can_undo and self._moving_scans)),
            (4, self._insert),
            (2, lambda chance: self._delete(chance, known)),
            (1, self._failing),
        ]
        weights, makers = zip(*kinds, strict=True)
        return chance.choices(makers, weights)[0](chance)

    def append(self, chance: random.Random, key: int | None = None) -> Step:
        key = chance.choice(self.lists) if key is None else key
        element = next(self._values)
        if key in self.lists[:LISTS_MADE] and chance.random() < 0.7:
            text = f"UPDATE lists SET {_appending(element)} WHERE id = {key}"
            return Step(text, writes=(Append(key, element),), changes=1)
        return Step(
            f"INSERT INTO lists (id, part, tail, elements) VALUES ({key}, {_part(key)}, {element}, "
            f"',{element}') ON DUPLICATE KEY UPDATE {_appending(element)}",
            writes=(Append(key, element),),
        )

    def _append_to_several(self, chance: random.Random) -> Step:
        element = next(self._values)
        made = self.lists[:LISTS_MADE]
        if chance.random() < 0.5:
            part = _part(chance.choice(made))
            keys = [key for key in made if _part(key) == part]
            where = f"FORCE INDEX (part) SET {_appending(element)} WHERE part = {part}"
        else:
            first, last = _range(chance, made)
            keys = list(range(first, last + 1))
            where = f"SET {_appending(element)} WHERE id BETWEEN {first} AND {last}"
        writes = tuple(Append(key, element) for key in keys)
        return Step(f"UPDATE lists {where}", writes=writes, changes=len(keys))

    def assign(self, chance: random.Random, key: int | None = None) -> Step:
        key = chance.choice(list(self.registers)) if key is None else key
        value = next(self._values)
        return Step(
            f"UPDATE registers SET value = {value}, version = version + 1 WHERE id = {key}",
            writes=(Assign(key, value),),
            changes=1,
        )

    def _assign_all(self, chance: random.Random, *, moves: bool) -> Step:
        value = next(self._values)
        keys = list(self.registers)
        index, which = "", f"id BETWEEN {keys[0]} AND {keys[-1]}"
        if moves and chance.random() < 0.5:
            index, which = "FORCE INDEX (value) ", f"value >= {self._first_value}"
        return Step(
            f"UPDATE registers {index}SET value = {value}, version = version + 1 WHERE {which}",
            writes=tuple(Assign(key, value) for key in keys),
            changes=len(keys),
        )

    def _insert(self, chance: random.Random) -> Step:
        group = chance.choice(list(self.groups))
        members = [self._member() for _ in range(chance.choice((1, 1, 2, 3)))]
        rows = ",".join(_member_row(group, member) for member in members)
        return Step(
            f"INSERT INTO members (grp, number, tag, payload) VALUES {rows}",
            writes=tuple(Insert(group, member) for member in members),
            changes=len(members),
        )

    def _delete(self, chance: random.Random, known: Sequence[Insert]) -> Step:
        group, member = chance.choice(known)
        return Step(
            f"DELETE FROM members WHERE grp = {group} AND number = {member}",
            writes=(Delete(group, member),),
        )

    def _failing(self, chance: random.Random) -> Step:
        """A statement of several rows whose last row has the key of the one before."""
        if chance.random() < 0.5:
            group = chance.choice(list(self.groups))
            members = [self._member() for _ in range(chance.choice((1, 2)))]
            rows = [_member_row(group, member) for member in [*members, members[-1]]]
            return Step(
                f"INSERT INTO members (grp, number, tag, payload) VALUES {','.join(rows)}",
                writes=tuple(Insert(group, member) for member in members),
                fails=True,
            )
        element = next(self._values)
        first, last = self.lists[0], self.lists[LISTS_MADE - 1]
        return Step(
            f"UPDATE lists SET {_appending(element)}, once = {element} "
            f"WHERE id BETWEEN {first} AND {last}",
            writes=tuple(Append(key, element) for key in self.lists[:LISTS_MADE]),
            fails=True,
        )


def _part(key: int) -> int:
    return key // LISTS_IN_PART


def _range(chance: random.Random, keys: list[int]) -> tuple[int, int]:
    first = chance.randrange(len(keys) - 1)
    return keys[first], keys[min(first + chance.randint(1, 3), len(keys) - 1)]


def _appending(element: int) -> str:
    return f"elements = CONCAT(elements, ',{element}'), tail = {element}"


def _member_row(group: int, member: int) -> str:
    return f"({group},{member},{member % TAGS},'member {member} of group {group}')"


def _elements(text: str) -> tuple[int, ...]:
    return tuple(int(element) for element in text.split(",")[1:])


def _twice(keys: list[int], what: str) -> str:
    seen: set[int] = set()
    for key in keys:
        if key in seen:
            return f"{what} {key} came twice"
        seen.add(key)
    return ""

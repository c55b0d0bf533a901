"""Random conditions as trees, so that a shrinker can take them apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.hunt.keys import Key
from tests.hunt.tables import Column, Table

PATTERNS = ("'a%'", "'A%'", "'abcdefgh%'", "'%b'", "'x\\\\_%'", "' %'", "'a_'", "''")


@dataclass(frozen=True)
class Condition:
    """A term, or `AND`, `OR` or `NOT` over conditions."""

    term: str = ""
    operator: str = ""
    parts: tuple[Condition, ...] = ()

    def sql(self) -> str:
        """As in a WHERE clause, in parentheses where that matters."""
        if not self.operator:
            return self.term
        if self.operator == "NOT":
            return f"NOT ({self.parts[0].sql()})"
        return "(" + f" {self.operator} ".join(part.sql() for part in self.parts) + ")"

    def smaller(self) -> Iterator[Condition]:
        """Conditions with less in them, the smallest first."""
        if not self.operator:
            yield from _smaller_terms(self.term)
            return
        yield from self.parts
        for index, part in enumerate(self.parts):
            if len(self.parts) > 2:
                rest = self.parts[:index] + self.parts[index + 1 :]
                yield Condition("", self.operator, rest)
            for less in part.smaller():
                changed = (*self.parts[:index], less, *self.parts[index + 1 :])
                yield Condition("", self.operator, changed)


def _smaller_terms(term: str) -> Iterator[Condition]:
    """An IN list with one literal less, or with none but one."""
    head, found, tail = term.partition(" IN (")
    if not found or "SELECT" in tail:
        return
    literals = split_literals(tail[:-1])
    if len(literals) > 1:
        for index in range(len(literals)):
            rest = literals[:index] + literals[index + 1 :]
            yield Condition(f"{head} IN ({', '.join(rest)})")


def split_literals(text: str) -> list[str]:
    """The literals of a list; commas within strings do not count."""
    found, current, quoted = [], "", False
    for character in text:
        if character == "'":
            quoted = not quoted
        if character == "," and not quoted:
            found.append(current.strip())
            current = ""
        else:
            current += character
    return [*found, current.strip()]


def all_of(*parts: Condition) -> Condition:
    """Conditions joined by AND."""
    return parts[0] if len(parts) == 1 else Condition("", "AND", parts)


def any_of(*parts: Condition) -> Condition:
    """Conditions joined by OR."""
    return parts[0] if len(parts) == 1 else Condition("", "OR", parts)


class Conditions:
    """Draws conditions on a table's columns."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def literal(self, column: Column) -> str:
        """A value that occurs in the column, mostly."""
        return column.kind.wrap.format(self._chance.choice(column.pool or ("0",)))

    def _bounds(self, column: Column) -> tuple[str, str]:
        """Two values, the first the smaller one where that is known, and not far apart."""
        pool = list(column.pool) or ["0"]
        first = self._chance.randrange(len(pool))
        last = min(len(pool) - 1, first + self._chance.choice([0, 1, 2, 5]))
        wrap = column.kind.wrap
        return wrap.format(pool[first]), wrap.format(pool[last])

    def term(self, column: Column, prefix: str) -> Condition:
        """A condition on one column."""
        chance, name = self._chance, f"{prefix}{column.name}"
        pick = chance.random()
        if not column.kind.has_keys or pick < 0.08:
            return Condition(f"{name} IS {chance.choice(['NULL', 'NOT NULL'])}")
        if pick < 0.3:
            values = {self.literal(column): None for _ in range(chance.choice([1, 2, 2, 3, 5]))}
            negated = "NOT " if chance.random() < 0.05 else ""
            return Condition(f"{name} {negated}IN ({', '.join(values)})")
        if pick < 0.45:
            return self._between(name, column)
        if pick < 0.55 and column.kind.collation:
            return Condition(f"{name} LIKE {chance.choice(PATTERNS)}")
        if pick < 0.68:
            return Condition(
                f"{name} {chance.choice(['<', '<=', '>', '>='])} {self.literal(column)}"
            )
        if pick < 0.71:
            return Condition(f"{name} <> {self.literal(column)}")
        if pick < 0.74 and column.nullable:
            return any_of(
                Condition(f"{name} = {self.literal(column)}"), Condition(f"{name} IS NULL")
            )
        return Condition(f"{name} {chance.choice(['=', '=', '=', '<=>'])} {self.literal(column)}")

    def narrow(self, column: Column, prefix: str) -> Condition:
        """A condition that an index makes cheap: a value, a few, or a short range."""
        chance, name = self._chance, f"{prefix}{column.name}"
        pick = chance.random()
        if not column.kind.has_keys:
            return Condition(f"{name} IS NULL")
        if pick < 0.5:
            return Condition(f"{name} = {self.literal(column)}")
        if pick < 0.75:
            values = {self.literal(column): None for _ in range(chance.choice([2, 2, 3]))}
            return Condition(f"{name} IN ({', '.join(values)})")
        if pick < 0.8 and column.nullable:
            return Condition(f"{name} IS NULL")
        if pick < 0.87 and column.kind.collation:
            return Condition(f"{name} LIKE {chance.choice(PATTERNS)}")
        return self._between(name, column)

    def _between(self, name: str, column: Column) -> Condition:
        """The values of a range, its ends included.

        The server takes BETWEEN for an equality, whatever the engine, where the connection's
        collation finds both ends equal, though the column's does not: two strings of one length.
        """
        low, high = self._bounds(column)
        if column.kind.collation and len(low.strip("' ")) == len(high.strip("' ")):
            return Condition(f"({name} >= {low} AND {name} <= {high})")
        return Condition(f"{name} BETWEEN {low} AND {high}")

    def of_key(self, table: Table, key: Key, prefix: str, *, equal: bool = False) -> Condition:
        """A condition on a key's leading columns; with `equal` each of them is one value."""
        chance = self._chance
        count = len(key.parts) if equal else chance.randint(1, len(key.parts))
        columns = [table.column(name) for name in key.columns[:count]]
        terms = [
            Condition(f"{prefix}{column.name} = {self.literal(column)}")
            if equal or number < count - 1
            else self.narrow(column, prefix)
            for number, column in enumerate(columns)
        ]
        return all_of(*terms)

    def merging(self, table: Table, prefix: str) -> Condition:
        """A condition over several keys, for which the server may merge their indexes."""
        chance = self._chance
        keys = chance.sample(table.keys, min(len(table.keys), chance.choice([2, 2, 2, 3])))
        equal = chance.random() < 0.4
        parts = [self.of_key(table, key, prefix, equal=equal) for key in keys]
        pick = chance.random()
        if pick < 0.25:
            return all_of(*parts)
        if pick < 0.35 and len(table.keys) > 2:
            both = all_of(*parts[:2])
            other = self.of_key(table, chance.choice(table.keys), prefix, equal=equal)
            return any_of(both, other)
        condition = any_of(*parts)
        if chance.random() < 0.25:
            condition = all_of(condition, self.term(chance.choice(table.columns), prefix))
        return condition

    def condition(self, table: Table, prefix: str = "") -> Condition:
        """Any condition on a table; half of them are made for merges of indexes."""
        chance, pick = self._chance, self._chance.random()
        if table.keys and pick < 0.5:
            return self.merging(table, prefix)
        if table.keys and pick < 0.7:
            found = self.of_key(table, chance.choice(table.keys), prefix)
            if chance.random() < 0.4:
                found = all_of(found, self.term(chance.choice(table.columns), prefix))
            return found
        keyed = [table.column(name) for key in table.keys for name in key.columns]
        terms = [
            self.term(
                chance.choice(keyed if keyed and chance.random() < 0.7 else table.columns), prefix
            )
            for _ in range(chance.choice([1, 1, 2, 3]))
        ]
        found = chance.choice([all_of, any_of])(*terms)
        return Condition("", "NOT", (found,)) if chance.random() < 0.08 else found

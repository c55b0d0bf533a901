"""Random statements that change rows, the same rows whatever the access path.

An UPDATE or DELETE of some of the rows has a total order; what a row is changed to does not depend
on other rows; new rows meet at most one old row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from tests.hunt.conditions import Condition, Conditions
from tests.hunt.queries import NO_HINTS
from tests.hunt.tables import Column, Table

STRICT = "sql_mode='STRICT_ALL_TABLES'"
# New rows get numbers from here, so that they meet no old one unless they should.
FAR = 1_000_000


def _assigned(sets: str) -> set[str]:
    """The columns, with their tables, that assignments change."""
    return set(re.findall(r"(?:^|, )([ab]\.\w+) = ", sets))


@dataclass(frozen=True)
class Change:
    """A statement; /*a*/ and /*b*/ are places for hints in it, /*where*/ for the condition."""

    text: str
    # Tables by alias, of which hints can be given.
    sources: tuple[tuple[str, str], ...] = ()
    where: Condition | None = None
    # Names of the tables that it changes.
    changes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def sql(self, hints: Mapping[str, str] = NO_HINTS) -> str:
        """The statement."""
        text = self.text.replace("/*where*/", self.where.sql() if self.where else "TRUE")
        for alias, _ in self.sources:
            text = text.replace(f"/*{alias}*/", hints.get(alias, ""))
        return text

    def aliases(self) -> dict[str, str]:
        """Tables by alias; those that take hints."""
        return {alias: table for alias, table in self.sources if f"/*{alias}*/" in self.text}

    def tables(self) -> set[str]:
        """The names of all its tables."""
        return {table for _, table in self.sources} | set(self.changes)

    def mentions(self, column: str) -> bool:
        """Whether the text may use a column of this name."""
        return re.search(rf"\b{column}\b", self.sql()) is not None

    def smaller(self) -> Iterator[Change]:
        """Statements with less in them."""
        if self.settings:
            yield replace(self, settings=())
        if self.where is not None:
            for condition in self.where.smaller():
                yield replace(self, where=condition)
        head, returning, _ = self.text.partition(" RETURNING ")
        if returning:
            yield replace(self, text=head)
        head, order, _ = self.text.partition(" ORDER BY ")
        if order and "LIMIT" in self.text:
            yield replace(self, text=head)
        yield from self._fewer_assignments()

    def _fewer_assignments(self) -> Iterator[Change]:
        found = re.search(r" SET (.*?)( WHERE |$)", self.text)
        parts = re.split(r", (?=[\w.]+ = )", found[1]) if found else []
        for index in range(len(parts) if len(parts) > 1 else 0):
            rest = ", ".join(parts[:index] + parts[index + 1 :])
            yield replace(self, text=self.text.replace(found[1], rest) if found else self.text)


class Changes:
    """Draws statements over tables; the first one is the large one."""

    def __init__(self, chance: Random, tables: list[Table]) -> None:
        self._chance = chance
        self._tables = tables
        self._conditions = Conditions(chance)
        self._far = FAR

    def change(self) -> Change:
        """Any statement."""
        chance, pick = self._chance, self._chance.random()
        table = self._tables[0] if chance.random() < 0.85 else self._tables[1]
        if pick < 0.3:
            change = self.update(table)
        elif pick < 0.42:
            change = self.update_joined()
        elif pick < 0.58:
            change = self.delete(table)
        elif pick < 0.68:
            change = self.delete_joined()
        elif pick < 0.82:
            change = self.insert_selected()
        else:
            change = self.insert_numbered(table)
        strict = chance.random() < 0.4 and "IGNORE" not in change.text
        return replace(change, settings=(STRICT,)) if strict else change

    # ---- parts ----------------------------------------------------------------------------------

    def _settable(self, table: Table) -> list[Column]:
        return [c for c in table.columns if not c.generated and c.name not in ("id", "u")]

    def _assignments(self, table: Table, prefix: str) -> str:
        chance = self._chance
        pool = self._settable(table)
        found = []
        for column in chance.sample(pool, min(len(pool), chance.choice([1, 1, 2, 3]))):
            name, pick = f"{prefix}{column.name}", chance.random()
            if pick < 0.2 and column.kind.is_number:
                value = f"{name} {chance.choice(['+ 1', '- 1', '* -1'])}"
            elif pick < 0.3:
                value = "NULL" if column.nullable or chance.random() < 0.3 else name
            elif pick < 0.45 and not column.kind.wrap.startswith("ST_"):
                # Another value for each row, as if it had had another number.
                value = re.sub(r"\bseq\b", f"{prefix}id + 1", column.value)
            else:
                value = self._conditions.literal(column)
            found.append(f"{name} = {value}")
        if chance.random() < 0.12:
            found.append(f"{prefix}id = {prefix}id + {FAR}")
        return ", ".join(found)

    def _order(self, table: Table, prefix: str) -> str:
        """Some of the rows, always the same ones."""
        chance = self._chance
        names = ["id"]
        if table.keys and chance.random() < 0.7:
            names = [n for n in chance.choice(table.keys).columns if n != "id"] + names
        names = [n for n in names if table.column(n).kind.is_sorted_whole]
        way = chance.choice(["", " DESC"])
        order = ", ".join(f"{prefix}{name}{way}" for name in names)
        limit = chance.choice([1, 3, 10, 50])
        # Without such a key a number may come twice, and then neither row is the first.
        return f" ORDER BY {order} LIMIT {limit}" if table.has_unique_numbers else ""

    # ---- statements -----------------------------------------------------------------------------

    def update(self, table: Table) -> Change:
        """An UPDATE of one table."""
        chance = self._chance
        where = self._conditions.condition(table, "a.")
        tail = self._order(table, "a.") if chance.random() < 0.3 else ""
        ignore = "IGNORE " if chance.random() < 0.08 else ""
        # With both, the server may give every row the values of one (InnoDB and Aria alike).
        if not tail and chance.random() < 0.15:
            other = self._tables[1]
            inner = self._conditions.condition(other, "b.").sql()
            within = f"SELECT b.id FROM {other.name} b /*b*/ WHERE {inner}"
            where = Condition("", "AND", (where, Condition(f"a.id IN ({within})")))
        return Change(
            f"UPDATE {ignore}{table.name} a /*a*/ SET {self._assignments(table, 'a.')} "
            f"WHERE /*where*/{tail}",
            (("a", table.name), ("b", self._tables[1].name)),
            where,
            (table.name,),
        )

    def _join(self) -> tuple[Table, Table, str]:
        chance = self._chance
        one, two = self._tables if chance.random() < 0.6 else self._tables[::-1]
        pairs = [
            f"a.{a.name} = b.{b.name}"
            for a in one.columns
            for b in two.columns
            if a.kind is b.kind and a.kind.has_keys and "u" not in (a.name, b.name)
        ]
        return one, two, chance.choice(pairs or ["a.id = b.id"])

    def update_joined(self) -> Change:
        """An UPDATE of a join; each row gets the same, whichever row it is joined with."""
        chance = self._chance
        one, two, on = self._join()
        sets = self._assignments(one, "a.")
        changed = [one.name]
        where = self._conditions.condition(one, "a.")
        if chance.random() < 0.5:
            where = Condition("", "AND", (where, self._conditions.condition(two, "b.")))
        sets_of_two = self._assignments(two, "b.")
        # The server changes a row while it still looks for others that it joins, and by what it has
        # changed it finds no more of them, in either engine.
        asked = f"{on} {where.sql()}"
        finds_itself = any(name in asked for name in _assigned(f"{sets}, {sets_of_two}"))
        if chance.random() < 0.4 and not finds_itself:
            sets += f", {sets_of_two}"
            changed.append(two.name)
        join = chance.choice(["JOIN", "JOIN", "STRAIGHT_JOIN", "LEFT JOIN"])
        return Change(
            f"UPDATE {one.name} a /*a*/ {join} {two.name} b /*b*/ ON {on} SET {sets} "
            "WHERE /*where*/",
            (("a", one.name), ("b", two.name)),
            where,
            tuple(changed),
        )

    def delete(self, table: Table) -> Change:
        """A DELETE of one table; only the form of several tables takes hints."""
        chance = self._chance
        if chance.random() < 0.4:
            return Change(
                f"DELETE a FROM {table.name} a /*a*/ WHERE /*where*/",
                (("a", table.name),),
                self._conditions.condition(table, "a."),
                (table.name,),
            )
        tail = self._order(table, "") if chance.random() < 0.4 else ""
        if chance.random() < 0.3:
            shown = ["id", *(c.name for c in self._settable(table) if c.kind.has_keys)]
            chosen = chance.sample(shown, chance.randint(1, min(3, len(shown))))
            tail += f" RETURNING {', '.join(f'CRC32({name})' for name in chosen)}"
        return Change(
            f"DELETE FROM {table.name} WHERE /*where*/{tail}",
            (("a", table.name),),
            self._conditions.condition(table, ""),
            (table.name,),
        )

    def delete_joined(self) -> Change:
        """A DELETE from one table of a join, or from both."""
        chance = self._chance
        one, two, on = self._join()
        which = chance.choice(["a", "a", "b", "a, b"])
        where = self._conditions.condition(one, "a.")
        if chance.random() < 0.5:
            where = Condition("", "AND", (where, self._conditions.condition(two, "b.")))
        names = {"a": one.name, "b": two.name}
        return Change(
            f"DELETE {which} FROM {one.name} a /*a*/ JOIN {two.name} b /*b*/ ON {on} "
            "WHERE /*where*/",
            (("a", one.name), ("b", two.name)),
            where,
            tuple(names[alias] for alias in which.split(", ")),
        )

    def insert_selected(self) -> Change:
        """Rows of a table go, with other numbers, into a table; or into the same."""
        chance = self._chance
        one = chance.choice(self._tables)
        two = chance.choice(self._tables)
        verb = chance.choice(["INSERT", "INSERT", "REPLACE", "INSERT IGNORE"])
        # Numbers of old rows, or new ones.
        shift = chance.choice([0, FAR, 2 * FAR])
        names, values = [], []
        for column in two.columns:
            if column.generated:
                continue
            like = [c.name for c in one.columns if c.kind is column.kind and c.name != "id"]
            if column.name == "id":
                value = f"a.id + {shift}"
            elif column.name == "u":
                value = f"CONCAT('n', a.id + {shift})"
            elif like and chance.random() < 0.8:
                value = f"a.{chance.choice(like)}"
            else:
                value = self._conditions.literal(column)
            names.append(column.name)
            values.append(value)
        # Which of two rows with one number comes first is left open.
        is_ordered = one.has_unique_numbers
        if not is_ordered:
            verb = "INSERT"
        tail = " ORDER BY a.id LIMIT 200" if is_ordered else ""
        if is_ordered and verb == "INSERT" and chance.random() < 0.4:
            tail += self._on_duplicate(two)
        if chance.random() < 0.2:
            tail += " RETURNING CRC32(id)"
        return Change(
            f"{verb} INTO {two.name} ({', '.join(names)}) SELECT {', '.join(values)} "
            f"FROM {one.name} a /*a*/ WHERE /*where*/{tail}",
            (("a", one.name),),
            self._conditions.condition(one, "a."),
            (two.name,),
        )

    def insert_numbered(self, table: Table) -> Change:
        """Rows by their number: new ones, old ones again, or both."""
        chance = self._chance
        first = chance.choice([1, max(1, table.rows - 3), table.rows + 1, table.rows // 2 + 1])
        verb = chance.choice(["INSERT", "REPLACE", "INSERT IGNORE", "INSERT"])
        text = table.insert(first, first + chance.choice([0, 2, 9, 60]), verb)
        if verb == "INSERT" and chance.random() < 0.75:
            text += self._on_duplicate(table)
        if chance.random() < 0.25:
            text += " RETURNING CRC32(id)"
        return Change(text, (("a", table.name),), None, (table.name,))

    def _on_duplicate(self, table: Table) -> str:
        chance = self._chance
        pool = self._settable(table)
        chosen = chance.sample(pool, min(len(pool), chance.choice([1, 2])))
        sets = [
            f"{column.name} = "
            + chance.choice([f"VALUES({column.name})", self._conditions.literal(column)])
            for column in chosen
        ]
        return f" ON DUPLICATE KEY UPDATE {', '.join(sets)}"

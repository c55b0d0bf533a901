"""Random statements over small tables, by every path that an index offers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.hunt.sessions import script
from tests.hunt.sessions.script import Effect, Step
from tests.hunt.sessions.tables import FIRST_MARK, GROUPS, Table

LOCKS = (
    "FOR UPDATE",
    "FOR UPDATE",
    "LOCK IN SHARE MODE",
    "FOR UPDATE NOWAIT",
    "FOR UPDATE SKIP LOCKED",
    "LOCK IN SHARE MODE SKIP LOCKED",
    "FOR UPDATE WAIT 1",
)


@dataclass(frozen=True)
class Condition:
    """Which rows, and by which index."""

    where: str
    # FORCE INDEX (...), or nothing.
    hint: str = ""
    tail: str = ""


@dataclass
class Statements:
    """Makes random statements; the marks in them are never used twice."""

    chance: random.Random
    # The first is the one that most is done to; the second has an integer id.
    tables: tuple[Table, Table]
    marks: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_MARK))
    # Ids and values of u are those of the rows at the begin, and so many more.
    more: int = 5

    # ---- where ----------------------------------------------------------------------------------

    def condition(self, table: Table, *, limits: bool = True) -> Condition:
        """A random one; `limits` allows ORDER BY and LIMIT."""
        chance, kind = self.chance, table.kind
        first, second = chance.randrange(GROUPS), chance.randrange(GROUPS)
        other = kind.second
        key = self._key(table)
        merged = self._hint(table, "g", other)
        union = (
            Condition(f"g = {first} OR {other} = {second}", merged),
            Condition(f"g IN ({first}, {second}) OR {other} IN ({second}, {first})", merged),
            Condition(f"g < {first} OR {other} > {second}", merged),
            Condition(f"g = {first} AND {other} = {second}", merged),
            Condition(f"id = {key} OR g = {first}"),
        )
        single = (
            Condition(f"id = {key}"),
            Condition(f"id IN ({key}, {self._key(table)}, {self._key(table)})"),
            Condition(f"id >= {key}"),
            Condition(f"id BETWEEN {key} AND {self._key(table)}"),
            Condition(f"g = {first}", self._hint(table, "g")),
            Condition(f"g = {first}"),
            Condition(f"g >= {first}", self._hint(table, "g")),
            Condition(f"{other} IN ({first}, {second})", self._hint(table, other)),
            Condition(f"u = {self._unique(table)}"),
            Condition(f"u = {self._unique(table)} OR g = {first}", self._hint(table, "u", "g")),
            Condition("n >= 0"),
        )
        chosen = chance.choice(union if chance.random() < 0.35 else single)
        if limits and kind.unique_id and chance.random() < 0.1:
            order = chance.choice(("id", "id DESC"))
            return Condition(chosen.where, chosen.hint, f" ORDER BY {order} LIMIT 2")
        return chosen

    def _hint(self, table: Table, *indexes: str) -> str:
        if self.chance.random() < 0.2 or not set(indexes) <= set(table.kind.indexes):
            return ""
        return f" FORCE INDEX ({', '.join(indexes)})"

    def _key(self, table: Table) -> str:
        return table.kind.literal(self.chance.randint(1, table.rows + self.more))

    def _unique(self, table: Table) -> str:
        return table.kind.unique_literal(self.chance.randint(1, table.rows + self.more))

    # ---- what -----------------------------------------------------------------------------------

    def random(self, session: str) -> list[Step]:
        """One statement, with a look before it perhaps."""
        kinds: tuple[tuple[int, Callable[[str, Table], list[Step]]], ...] = (
            (3, self.read),
            (4, self.locking_read),
            (9, self.update),
            (4, self.delete),
            (3, self.insert),
            (3, self.upsert),
            (2, self.replace),
            (2, self.copy),
            (2, self.update_two),
            (1, self.delete_joined),
        )
        table = self.tables[0] if self.chance.random() < 0.85 else self.tables[1]
        (make,) = self.chance.choices([k for _, k in kinds], [weight for weight, _ in kinds])
        return make(session, table)

    def read(self, session: str, table: Table) -> list[Step]:
        which = self.condition(table)
        return [Step(session, f"SELECT id, g, h, n, log FROM {self._from(table, which)}")]

    def locking_read(self, session: str, table: Table) -> list[Step]:
        which, lock = self.condition(table), self.chance.choice(LOCKS)
        text = f"SELECT id, n, log FROM {self._from(table, which)} {lock}"
        return self._after_look(table, which, Step(session, text, may_skip="SKIP" in lock))

    def update(self, session: str, table: Table) -> list[Step]:
        which, mark = self.condition(table), next(self.marks)
        hint = which.hint
        text = f"UPDATE {table.name}{hint} SET {self._change(table, mark)} WHERE {which.where}"
        effect = Effect(script.UPDATE, mark)
        return self._after_look(table, which, Step(session, f"{text}{which.tail}", effect))

    def _change(self, table: Table, mark: int) -> str:
        kind = table.kind
        changes = [
            "n = n + 1",
            "n = n + 1",
            f"g = (g + 1) % {GROUPS}",
            f"h = (h + 1) % {GROUPS}",
            "u = CONCAT(u, 'x')" if "u" in kind.columns else "u = u + 100",
        ]
        if "id" not in kind.columns:
            changes.append("id = id + 100")
        return f"{self.chance.choice(changes)}, log = CONCAT(log, ',{mark}')"

    def delete(self, session: str, table: Table) -> list[Step]:
        which, mark = self.condition(table), next(self.marks)
        if which.hint:
            # Only the form with several tables takes hints, and it takes no RETURNING.
            text = f"DELETE {table.name} FROM {table.name}{which.hint} WHERE {which.where}"
            step = Step(session, text, Effect(script.DELETE_UNSEEN, mark))
            return self._after_look(table, Condition(which.where, which.hint), step)
        text = f"DELETE FROM {table.name} WHERE {which.where}{which.tail} RETURNING log"
        return self._after_look(table, which, Step(session, text, Effect(script.DELETE, mark)))

    def insert(self, session: str, table: Table) -> list[Step]:
        mark, rows = next(self.marks), self.chance.choice((1, 1, 2, 3))
        ignore = self.chance.random() < 0.25
        effect = Effect(script.IGNORE if ignore else script.INSERT, mark, rows)
        return [Step(session, self._insert(table, mark, rows, "IGNORE " if ignore else ""), effect)]

    def upsert(self, session: str, table: Table) -> list[Step]:
        mark, rows = next(self.marks), self.chance.choice((1, 1, 2))
        update = self._change(table, mark)
        # Where the keys meet two rows, either may be changed: by a long unique key InnoDB looks
        # for one before the write or behind it, as the level is.
        insert = self._insert(table, mark, rows, meets_one="u" in table.kind.columns)
        text = f"{insert} ON DUPLICATE KEY UPDATE {update}"
        return [Step(session, text, Effect(script.UPSERT, mark, rows))]

    def replace(self, session: str, table: Table) -> list[Step]:
        mark, rows = next(self.marks), self.chance.choice((1, 1, 2))
        text = self._insert(table, mark, rows).replace("INSERT", "REPLACE", 1)
        return [Step(session, text, Effect(script.REPLACE, mark, rows))]

    def _insert(
        self, table: Table, mark: int, rows: int, ignore: str = "", *, meets_one: bool = False
    ) -> str:
        chance, most = self.chance, table.rows + self.more
        values = []
        for i in range(rows):
            number, *groups = (
                chance.randint(1, most),
                chance.randrange(GROUPS),
                chance.randrange(GROUPS),
            )
            unique = number if meets_one else chance.randint(1, most)
            values.append(table.row(number, *groups, unique, f"{mark}.{i}"))
        return f"INSERT {ignore}INTO {table.name} (id, g, h, u, log) VALUES {', '.join(values)}"

    def copy(self, session: str, table: Table) -> list[Step]:
        """INSERT ... SELECT from the other table."""
        into, source = self.tables
        which, mark = self.condition(source, limits=False), next(self.marks)
        more = self.chance.choice((0, 20, 40))
        key = into.kind.computed.format(f"id + {more}")
        value = into.kind.unique_computed.format(f"u + {more}")
        text = (
            f"INSERT INTO {into.name} (id, g, h, u, log) "
            f"SELECT {key}, g, h, {value}, CONCAT('{mark}.', id) FROM {self._from(source, which)}"
        )
        return [Step(session, text, Effect(script.COPY, mark))]

    def update_two(self, session: str, table: Table) -> list[Step]:
        """Both tables, joined by the first one's group."""
        first, second = self.tables
        mark = next(self.marks)
        changes = [f"{first.name}.log = CONCAT({first.name}.log, ',{mark}')"]
        if self.chance.random() < 0.5:
            changes.append(f"{second.name}.log = CONCAT({second.name}.log, ',{mark}')")
        group = self.chance.randrange(1, GROUPS)
        text = (
            f"UPDATE {first.name} JOIN {second.name} ON {first.name}.g = {second.name}.id "
            f"SET {', '.join(changes)} WHERE {first.name}.g = {group}"
        )
        return [Step(session, text, Effect(script.UPDATE, mark))]

    def delete_joined(self, session: str, table: Table) -> list[Step]:
        """Rows of the first table that have a partner in the second."""
        first, second = self.tables
        text = (
            f"DELETE {first.name} FROM {first.name} JOIN {second.name} "
            f"ON {first.name}.g = {second.name}.id "
            f"WHERE {second.name}.id = {self.chance.randrange(1, GROUPS)}"
        )
        return [Step(session, text, Effect(script.DELETE_UNSEEN, next(self.marks)))]

    def _from(self, table: Table, which: Condition) -> str:
        return f"{table.name}{which.hint} WHERE {which.where}{which.tail}"

    def _after_look(self, table: Table, which: Condition, step: Step) -> list[Step]:
        """The step, often with a plain count of its rows before it."""
        if which.tail or self.chance.random() < 0.4:
            return [step]
        text = f"SELECT COUNT(*) FROM {self._from(table, which)}"
        return [Step(step.session, text, looks=True), step]

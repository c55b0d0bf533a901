"""Random queries whose results do not depend on the access path, and their text.

Which of several equal strings is shown, the order of equal rows, and the rounding of sums of
floating-point numbers are left open by SQL; no query here shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from tests.hunt.conditions import Condition, Conditions
from tests.hunt.tables import Column, Table

NO_HINTS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Source:
    """A table in FROM, by an alias, with how it is joined to those before."""

    table: str
    alias: str
    join: str = ""
    on: str = ""
    # FOR SYSTEM_TIME or PARTITION, behind the name.
    part: str = ""

    def sql(self, hint: str) -> str:
        """As in FROM; the server wants hints behind the alias."""
        text = f"{self.table}{self.part} {self.alias}{' ' + hint if hint else ''}"
        return f"{self.join} {text}{' ON ' + self.on if self.on else ''}" if self.join else text


@dataclass(frozen=True)
class Query:
    """A SELECT in parts."""

    columns: tuple[str, ...]
    sources: tuple[Source, ...]
    where: Condition | None = None
    group: str = ""
    order: str = ""
    limit: str = ""
    # The order of the rows is part of the answer.
    is_list: bool = False
    # In place of the above; /*a*/ is for the hints of alias a, /*where*/ for the condition, and
    # /*head*/ comes behind SELECT.
    form: str = ""
    form_width: int = 0

    @property
    def width(self) -> int:
        """The number of columns of the answer."""
        return self.form_width or len(self.columns)

    def sql(self, hints: Mapping[str, str] = NO_HINTS, tail: str = "", head: str = "") -> str:
        """The statement; `hints` are index hints by alias, `head` comes behind SELECT."""
        where = self.where.sql() if self.where is not None else "TRUE"
        if self.form:
            text = self.form.replace("/*where*/", where).replace("/*head*/", head)
            for source in self.sources:
                text = text.replace(f"/*{source.alias}*/", hints.get(source.alias, ""))
            return text + tail
        tables = " ".join(source.sql(hints.get(source.alias, "")) for source in self.sources)
        text = f"SELECT {head}{', '.join(self.columns)} FROM {tables}"
        if self.where is not None:
            text += f" WHERE {where}"
        text += f" GROUP BY {self.group}" if self.group else ""
        text += f" ORDER BY {self.order}" if self.order else ""
        return f"{text}{' LIMIT ' + self.limit if self.limit else ''}{tail}"

    def aliases(self) -> dict[str, str]:
        """Tables by alias."""
        return {source.alias: source.table for source in self.sources}

    def smaller(self) -> Iterator[Query]:
        """Queries with less in them."""
        if self.where is not None:
            if not self.form:
                yield replace(self, where=None)
            for condition in self.where.smaller():
                yield replace(self, where=condition)
        if self.form:
            return
        if self.limit:
            yield replace(self, limit="")
        if self.order:
            yield replace(self, order="", limit="", is_list=False)
        if self.group:
            yield replace(self, group="")
        if len(self.sources) > 1:
            yield replace(self, sources=self.sources[:-1])
            yield replace(self, sources=(replace(self.sources[1], join="", on=""),))
        for index, source in enumerate(self.sources):
            if source.part:
                changed = replace(source, part="")
                yield replace(
                    self, sources=(*self.sources[:index], changed, *self.sources[index + 1 :])
                )
        if len(self.columns) > 1:
            yield replace(self, columns=("COUNT(*)",), group="", order="", limit="", is_list=False)
            for index in range(len(self.columns)):
                yield replace(self, columns=self.columns[:index] + self.columns[index + 1 :])

    @property
    def is_totals(self) -> bool:
        """Whether the answers of parts of the rows add up to that of all."""
        return (
            not (self.form or self.group or self.order or self.limit)
            and self.where is not None
            and len(self.sources) == 1
            and all(column.startswith(("COUNT(*)", "SUM(")) for column in self.columns)
        )

    def mentions(self, column: str) -> bool:
        """Whether the text may use a column of this name."""
        import re

        return re.search(rf"\b{column}\b", self.sql()) is not None


def checksum(column: Column, prefix: str) -> str:
    """An aggregate that tells the values of a column, of any rows, whatever their order."""
    name = f"{prefix}{column.name}"
    return f"SUM(CRC32({'ST_AsText(' + name + ')' if column.kind.sql == 'POINT' else name}))"


class Queries:
    """Draws queries over tables; the first table is the large one."""

    def __init__(self, chance: Random, tables: list[Table]) -> None:
        self._chance = chance
        self._tables = tables
        self._conditions = Conditions(chance)

    def query(self) -> Query:
        """Any query."""
        chance, pick = self._chance, self._chance.random()
        table = self._tables[0] if chance.random() < 0.92 else chance.choice(self._tables)
        if pick < 0.42:
            return self.totals(table)
        if pick < 0.55:
            return self.listed(table)
        if pick < 0.65:
            return self.grouped(table)
        if pick < 0.70:
            return self.ends(table)
        if pick < 0.88:
            return self.joined()
        return self.nested()

    def _source(self, table: Table, alias: str) -> Source:
        chance, part = self._chance, ""
        if table.versioned and chance.random() < 0.3:
            part = chance.choice([" FOR SYSTEM_TIME ALL", " FOR SYSTEM_TIME AS OF NOW(6)"])
        elif table.partitions.startswith("PARTITION BY RANGE") and chance.random() < 0.15:
            part = " PARTITION (p1)"
        return Source(table.name, alias, part=part)

    def _columns(self, table: Table) -> list[Column]:
        """Those that are shown: of one key, so that it may answer alone, or any."""
        chance = self._chance
        if table.keys and chance.random() < 0.5:
            names = list(chance.choice(table.keys).columns)
            return [table.column(name) for name in dict.fromkeys(names)]
        return chance.sample(table.columns, chance.randint(1, len(table.columns)))

    def totals(self, table: Table) -> Query:
        """Count and checksums of the rows of a condition."""
        shown = [checksum(column, "a.") for column in self._columns(table)]
        where = self._conditions.condition(table, "a.")
        return Query(("COUNT(*)", *shown), (self._source(table, "a"),), where)

    def listed(self, table: Table) -> Query:
        """Some rows in a total order, which an index may have."""
        chance = self._chance
        names = list(chance.choice(table.keys).columns) if table.keys else []
        names = [n for n in names if table.column(n).kind.is_sorted_whole and n != "id"]
        way = chance.choice(["", " DESC", None])
        order = [
            f"a.{name}{chance.choice(['', ' DESC']) if way is None else way}"
            for name in [*names, "id"]
        ]
        shown = tuple(
            f"CRC32(a.{column.name})" for column in self._columns(table) if column.kind.has_keys
        )
        limit = chance.choice(["", "3", "1", "20", "7, 5", "100"])
        where = self._conditions.condition(table, "a.") if chance.random() < 0.9 else None
        return Query(
            ("a.id", *shown),
            (self._source(table, "a"),),
            where,
            order=", ".join(order),
            limit=limit or "500",
            is_list=True,
        )

    def grouped(self, table: Table) -> Query:
        """Groups; the group's value is shown where equal ones look the same."""
        chance = self._chance
        usable = [c for c in table.columns if c.kind.has_keys and c.name not in ("id", "u")]
        if table.keys and chance.random() < 0.7:
            names = chance.choice(table.keys).columns
            usable = [table.column(name) for name in names[: chance.randint(1, len(names))]]
        chosen = chance.sample(usable, min(len(usable), chance.choice([1, 1, 2])))
        by = ", ".join(f"a.{column.name}" for column in chosen)
        shown = ["COUNT(*)", "MIN(a.id)", "MAX(a.id)"][: chance.randint(1, 3)]
        if chance.random() < 0.3:
            shown = ["MIN(a.id)"]
        if chance.random() < 0.2:
            shown.append(f"COUNT(DISTINCT {by})")
        shown += [
            f"HEX(a.{c.name})" for c in chosen if c.kind.is_number and "DOUBLE" not in c.kind.sql
        ]
        where = self._conditions.condition(table, "a.") if chance.random() < 0.6 else None
        group = "" if chance.random() < 0.1 and not shown[-1].startswith("HEX") else by
        return Query(tuple(dict.fromkeys(shown)), (self._source(table, "a"),), where, group)

    def ends(self, table: Table) -> Query:
        """The smallest and the largest value of a column, and how many there are."""
        chance = self._chance
        usable = [c for c in table.columns if c.kind.has_keys]
        column = chance.choice(usable)
        if table.keys and chance.random() < 0.7:
            column = table.column(chance.choice(table.keys).columns[0])
        name = f"a.{column.name}"
        shown: tuple[str, ...] = (f"COUNT(DISTINCT {name})",)
        if column.kind.is_exact:
            shown = (f"CRC32(MIN({name}))", f"CRC32(MAX({name}))", *shown)[: chance.randint(1, 3)]
        where = self._conditions.condition(table, "a.") if chance.random() < 0.5 else None
        return Query(shown, (self._source(table, "a"),), where)

    def _pair(self) -> tuple[Table, Table, str] | None:
        """Two tables and a condition that joins them."""
        chance = self._chance
        one = chance.choice(self._tables)
        two = (
            self._tables[1] if one is self._tables[0] or chance.random() < 0.2 else self._tables[0]
        )
        pairs = [
            (a.name, b.name)
            for a in one.columns
            for b in two.columns
            if a.kind is b.kind and a.kind.has_keys and "u" not in (a.name, b.name)
        ]
        keyed = {key.columns[0] for key in two.keys}
        wanted = [pair for pair in pairs if pair[1] in keyed]
        if not pairs:
            return None
        a, b = chance.choice(wanted if wanted and chance.random() < 0.8 else pairs)
        return one, two, f"a.{a} = b.{b}"

    def joined(self) -> Query:
        """Count and checksums of a join of two tables."""
        chance = self._chance
        pair = self._pair()
        if pair is None:
            return self.totals(self._tables[0])
        one, two, on = pair
        join = chance.choice(["JOIN", "JOIN", "LEFT JOIN", "STRAIGHT_JOIN"])
        if chance.random() < 0.5:
            on += f" AND {self._conditions.condition(two, 'b.').sql()}"
        where = self._conditions.condition(one, "a.")
        if join != "LEFT JOIN" and chance.random() < 0.4:
            where = Condition("", "AND", (where, self._conditions.condition(two, "b.")))
        shown = [checksum(column, "a.") for column in self._columns(one)[:3]]
        shown += [checksum(column, "b.") for column in self._columns(two)[:3]]
        second = replace(self._source(two, "b"), join=join, on=on)
        return Query(("COUNT(*)", *shown), (self._source(one, "a"), second), where)

    def nested(self) -> Query:
        """A subquery: IN, EXISTS, derived tables, unions."""
        chance = self._chance
        pair = self._pair()
        if pair is None:
            return self.totals(self._tables[0])
        one, two, on = pair
        left, right = on.split(" = ")
        inner = self._conditions.condition(two, "b.").sql()
        outer = f"FROM {one.name} a /*a*/ WHERE /*where*/"
        within = f"FROM {two.name} b /*b*/ WHERE {inner}"
        no = chance.choice(["", "", "NOT "])
        shown = [checksum(c, "a.") for c in self._columns(one)[:3]]
        totals = ", ".join(["COUNT(*)", *shown])
        forms = [
            (f"SELECT /*head*/{totals} {outer} AND {left} {no}IN (SELECT {right} {within})", 0),
            (f"SELECT /*head*/{totals} {outer} AND {no}EXISTS (SELECT 1 {within} AND {on})", 0),
            (
                f"SELECT /*head*/COUNT(*), SUM(n) FROM (SELECT COUNT(*) AS n, {left} AS v {outer} "
                f"GROUP BY {left}) d JOIN {two.name} b /*b*/ ON d.v = {right} WHERE {inner}",
                2,
            ),
            (
                f"SELECT /*head*/COUNT(*), SUM(CRC32(x)) FROM (SELECT a.id AS x {outer} UNION "
                f"SELECT b.id {within}) d",
                2,
            ),
            (f"SELECT /*head*/COUNT(*), SUM((SELECT COUNT(*) {within} AND {on})) {outer}", 2),
        ]
        form, width = chance.choice(forms)
        where = self._conditions.condition(one, "a.")
        sources = (Source(one.name, "a"), Source(two.name, "b"))
        return Query((), sources, where, form=form, form_width=width or 1 + len(shown))

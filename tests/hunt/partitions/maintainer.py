"""A client that adds, drops, splits, merges, empties, exchanges and converts partitions.

Its table is partitioned by ranges of `zone`. Zones below `SHARED` belong to the writers: their
partitions are split, merged and exchanged, and no row of theirs may get lost, wherever it is. Zones
from there on are the maintainer's own, and it knows their rows. Two plain tables take part: `side`
is exchanged with partitions, `conv` is what a partition was converted to.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from tests.crash import definer
from tests.crash.writer import Connect

SCHEMA = "parts"
SHARED = 1000
WIDTH = 10
MOST_OWN = 12
LEAST, MOST = 100, 130
COLUMNS = (
    "(zone INT NOT NULL, id BIGINT NOT NULL, writer INT NOT NULL, note VARCHAR(60) NOT NULL, "
    "PRIMARY KEY (zone, writer, id), KEY writer (writer, id), KEY note (note(10))) ENGINE=ROCKSDB"
)
# So many own rows are inserted at most by one statement.
MOST_ROWS = 20

Row = tuple[int, int]


@dataclass(frozen=True)
class Table:
    """What a maintainer's tables must look like; `rows` are those in its own zones."""

    # Names and upper bounds, ascending.
    partitions: tuple[tuple[str, int], ...] = ()
    rows: frozenset[Row] = frozenset()
    side: frozenset[Row] = frozenset()
    conv: frozenset[Row] | None = None
    # The partition in whose range the rows in `side` are, with which alone it can be exchanged.
    # What is found after a crash tells it by the rows; there may be none, and then any will do.
    out: str | None = field(default=None, compare=False)

    def within(self, name: str) -> range:
        """The zones of a partition."""
        bounds = [0, *(bound for _, bound in self.partitions)]
        at = [each for each, _ in self.partitions].index(name)
        return range(bounds[at], bounds[at + 1])

    def __str__(self) -> str:
        own = [f"{name}<{bound}" for name, bound in self.partitions if bound > SHARED]
        shared = len(self.partitions) - len(own)
        converted = "none" if self.conv is None else f"{len(self.conv)} rows"
        return (
            f"{shared} shared and the own partitions {' '.join(own)} with {len(self.rows)} rows, "
            f"side {len(self.side)} rows, converted {converted}"
        )


class Promise(definer.Promise[Table]):
    """One maintainer's tables."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.name = f"{SCHEMA}.t{number}"
        self.next_name = 0
        self.next_row = 1

    def fresh(self) -> str:
        """A name that no partition had before."""
        self.next_name += 1
        return f"n{self.next_name}"

    def create(self) -> tuple[str, ...]:
        """The statements that make the tables; they have a hundred partitions."""
        bounds = range(WIDTH, SHARED + 1, WIDTH)
        partitions = tuple((self.fresh(), bound) for bound in bounds)
        self.tables = {self.name: Table(partitions)}
        listed = ", ".join(_partition(name, bound) for name, bound in partitions)
        return (
            f"CREATE TABLE {self.name} {COLUMNS} PARTITION BY RANGE (zone) ({listed})",
            f"CREATE TABLE {self.name}_side {COLUMNS}",
        )


class Maintainer(definer.Definer[Table]):
    """One client."""

    promise: Promise

    def __init__(
        self,
        promise: Promise,
        connect: Connect,
        journal: TextIO,
        chance: random.Random,
        *,
        exchanges: bool = True,
    ) -> None:
        super().__init__(f"maintainer {promise.number}", promise, connect, journal, chance)
        self.exchanges = exchanges

    def choose(self, tables: dict[str, Table]) -> str:
        name = self.promise.name
        while True:
            kind = self.random.choice(_KINDS)
            made = kind(self, tables[name])
            if made is not None:
                tables[name], statement = made
                return statement

    def _own(self, table: Table) -> list[tuple[str, int]]:
        """The own partitions that may be changed now."""
        return [each for each in table.partitions if each[1] > SHARED and each[0] != table.out]

    def _alter(self, change: str) -> str:
        return f"ALTER TABLE {self.promise.name} {change}"

    # ---- kinds of statements: what the tables are then, and the text; None: not now -------------

    def add(self, table: Table) -> tuple[Table, str] | None:
        count = self.random.randint(1, 2)
        own = [bound for _, bound in table.partitions if bound > SHARED]
        if table.conv is not None or len(own) + count > MOST_OWN:
            return None
        last = table.partitions[-1][1]
        new = tuple((self.promise.fresh(), last + WIDTH * (n + 1)) for n in range(count))
        listed = ", ".join(_partition(*each) for each in new)
        after = replace(table, partitions=table.partitions + new)
        return after, self._alter(f"ADD PARTITION ({listed})")

    def drop(self, table: Table) -> tuple[Table, str] | None:
        own = self._own(table)
        if len(own) < 3:
            return None
        chosen = self.random.sample(own, self.random.randint(1, 2))
        names = [name for name, _ in chosen]
        gone = {zone for name in names for zone in table.within(name)}
        # What is out would belong to a wider partition afterwards; that is as good.
        after = replace(
            table,
            partitions=tuple(each for each in table.partitions if each[0] not in names),
            rows=frozenset(row for row in table.rows if row[0] not in gone),
        )
        return after, self._alter(f"DROP PARTITION {', '.join(names)}")

    def truncate(self, table: Table) -> tuple[Table, str] | None:
        own = self._own(table)
        if not own:
            return None
        name, _ = self.random.choice(own)
        zones = table.within(name)
        rows = frozenset(row for row in table.rows if row[0] not in zones)
        return replace(table, rows=rows), self._alter(f"TRUNCATE PARTITION {name}")

    def insert(self, table: Table) -> tuple[Table, str] | None:
        own = self._own(table)
        if not own:
            return None
        first = self.promise.next_row
        numbers = range(first, first + self.random.randint(1, MOST_ROWS))
        self.promise.next_row = numbers.stop
        new = [(self.random.choice(own)[1] - 1, number) for number in numbers]
        values = ", ".join(f"({zone}, {number}, -1, 'own {number}')" for zone, number in new)
        after = replace(table, rows=table.rows | set(new))
        return after, f"INSERT INTO {self.promise.name} VALUES {values}"

    def split(self, table: Table) -> tuple[Table, str] | None:
        wide = [
            name
            for name, _ in table.partitions
            if name != table.out and len(table.within(name)) >= 2
        ]
        if len(table.partitions) >= MOST or not wide:
            return None
        name = self.random.choice(wide)
        zones = table.within(name)
        middle = self.random.randrange(zones.start + 1, zones.stop)
        # One of them may keep the name.
        names = (self.random.choice((name, self.promise.fresh())), self.promise.fresh())
        new = ((names[0], middle), (names[1], zones.stop))
        return self._reorganize(table, [name], new)

    def merge(self, table: Table) -> tuple[Table, str] | None:
        if len(table.partitions) <= LEAST:
            return None
        at = self.random.randrange(len(table.partitions) - 1)
        chosen = table.partitions[at : at + self.random.randint(2, 4)]
        names = [name for name, _ in chosen]
        crosses = chosen[0][1] <= SHARED < chosen[-1][1]
        if table.out in names or crosses or len(names) < 2:
            return None
        new = self.random.choice((names[0], self.promise.fresh()))
        return self._reorganize(table, names, ((new, chosen[-1][1]),))

    def _reorganize(
        self, table: Table, names: list[str], new: tuple[tuple[str, int], ...]
    ) -> tuple[Table, str]:
        at = [name for name, _ in table.partitions].index(names[0])
        kept = table.partitions
        listed = ", ".join(_partition(*each) for each in new)
        after = replace(table, partitions=kept[:at] + new + kept[at + len(names) :])
        return after, self._alter(f"REORGANIZE PARTITION {', '.join(names)} INTO ({listed})")

    def exchange(self, table: Table) -> tuple[Table, str] | None:
        if not self.exchanges:
            return None
        name = table.out or self.random.choice(table.partitions)[0]
        zones = table.within(name)
        inside = frozenset(row for row in table.rows if row[0] in zones)
        after = replace(
            table,
            rows=table.rows - inside | table.side,
            side=inside,
            out=name,
        )
        return after, self._alter(f"EXCHANGE PARTITION {name} WITH TABLE {self.promise.name}_side")

    def steer(self, table: Table) -> tuple[Table, str] | None:
        """Makes the rows in `side` fit into another partition."""
        if table.out is None:
            return None
        is_own = table.within(table.out).stop > SHARED
        others = [
            name
            for name, bound in table.partitions
            if name != table.out and (bound > SHARED) == is_own
        ]
        if not others:
            return None
        name = self.random.choice(others)
        zone = self.random.choice(table.within(name))
        after = replace(table, side=frozenset((zone, number) for _, number in table.side), out=name)
        return after, f"UPDATE {self.promise.name}_side SET zone = {zone}"

    def convert(self, table: Table) -> tuple[Table, str] | None:
        """The last partition becomes a table, or the table the last partition."""
        if not self.exchanges:
            return None
        own = self._own(table)
        if table.conv is not None:
            last = table.partitions[-1][1]
            bound = max((zone + 1 for zone, _ in table.conv), default=last + WIDTH)
            if min((zone for zone, _ in table.conv), default=last) < last:
                return None
            name = self.promise.fresh()
            after = replace(
                table,
                partitions=(*table.partitions, (name, bound)),
                rows=table.rows | table.conv,
                conv=None,
            )
            return after, self._alter(
                f"CONVERT TABLE {self.promise.name}_conv TO PARTITION {_bound(name, bound)}"
            )
        if not own or own[-1] != table.partitions[-1]:
            return None
        name, _ = own[-1]
        zones = table.within(name)
        inside = frozenset(row for row in table.rows if row[0] in zones)
        after = replace(
            table, partitions=table.partitions[:-1], rows=table.rows - inside, conv=inside
        )
        return after, self._alter(f"CONVERT PARTITION {name} TO TABLE {self.promise.name}_conv")


_KINDS = (
    *(Maintainer.insert, Maintainer.insert, Maintainer.add, Maintainer.add),
    *(Maintainer.drop, Maintainer.truncate, Maintainer.split, Maintainer.split),
    *(Maintainer.merge, Maintainer.merge, Maintainer.exchange, Maintainer.exchange),
    *(Maintainer.steer, Maintainer.convert),
)


def _bound(name: str, bound: int) -> str:
    return f"{name} VALUES LESS THAN ({bound})"


def _partition(name: str, bound: int) -> str:
    return f"PARTITION {_bound(name, bound)}"


def settle(promise: Promise, cursor: Any) -> list[str]:
    """Compares a maintainer's tables with its promise, which then is what was found."""
    found = {promise.name: _look(promise, cursor)}
    wrong = promise.settle(found)
    return [*wrong, f"the last statement: {promise.statement[:300]}"] if wrong else []


def _look(promise: Promise, cursor: Any) -> Table:
    schema, _, table = promise.name.partition(".")
    cursor.execute(
        "SELECT partition_name, CAST(partition_description AS INT) FROM "
        f"information_schema.partitions WHERE table_schema = '{schema}' AND "
        f"table_name = '{table}' ORDER BY partition_ordinal_position"
    )
    partitions = tuple(cursor.fetchall())
    cursor.execute(
        f"SELECT 1 FROM information_schema.tables WHERE table_schema = '{schema}' AND "
        f"table_name = '{table}_conv'"
    )
    converted = bool(cursor.fetchall())
    zones = _zones(cursor, f"{promise.name}_side")
    out = None
    for name, _ in partitions if zones else ():
        if min(zones) in Table(partitions).within(name):
            out = name
    return Table(
        partitions,
        _own_rows(cursor, promise.name),
        _own_rows(cursor, f"{promise.name}_side"),
        _own_rows(cursor, f"{promise.name}_conv") if converted else None,
        out,
    )


def _own_rows(cursor: Any, name: str) -> frozenset[Row]:
    cursor.execute(f"SELECT zone, id FROM {name} FORCE INDEX (PRIMARY) WHERE zone >= {SHARED}")
    return frozenset(cursor.fetchall())


def _zones(cursor: Any, name: str) -> set[int]:
    cursor.execute(f"SELECT DISTINCT zone FROM {name}")
    return {zone for (zone,) in cursor.fetchall()}

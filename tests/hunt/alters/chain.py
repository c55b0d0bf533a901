"""A chain: a table, and what happens to it step by step; it can be run again and shrunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

from tests.hunt.alters import partitions
from tests.hunt.alters.operations import Clause, Operations
from tests.hunt.alters.rows import Changes, Insert, Statement, sql_of
from tests.hunt.alters.tables import Table, random_table

STEPS = 20
ALGORITHMS = ("", "INSTANT", "NOCOPY", "INPLACE", "COPY")
LOCKS = ("", "", "NONE", "SHARED", "EXCLUSIVE")
MODES = ("", "STRICT_TRANS_TABLES", "STRICT_TRANS_TABLES")
FORMATS = ("cairn", "cairn", "cairn", "stock")
# Statements for the engine alone that keep everything as it is.
ACTIONS = (
    "SET GLOBAL rocksdb_force_flush_memtable_now=1",
    "SET GLOBAL rocksdb_compact_cf='default'",
    "FLUSH TABLES",
    "ANALYZE TABLE t",
    "SET GLOBAL cairn_format=cairn",
    "SET GLOBAL cairn_format=stock",
)


@dataclass(frozen=True)
class Alter:
    """An ALTER TABLE; InnoDB always copies."""

    clauses: tuple[Clause, ...]
    algorithm: str = ""
    lock: str = ""
    ignore: bool = False

    def sql(self, algorithm: str = "", lock: str = "", table: str = "t") -> str:
        """The statement with a way of making it."""
        text = ", ".join(clause.text for clause in self.clauses)
        text += f", ALGORITHM={algorithm}" if algorithm else ""
        text += f", LOCK={lock}" if lock else ""
        return f"ALTER {'IGNORE ' if self.ignore else ''}TABLE {table} {text}"

    @property
    def operations(self) -> str:
        """The kinds of its clauses."""
        return " + ".join(dict.fromkeys(clause.operation for clause in self.clauses))


@dataclass(frozen=True)
class Change:
    """Changes of rows."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Maintenance:
    """Statements about partitions; old snapshots see the partitions of now."""

    statements: tuple[str, ...]


@dataclass(frozen=True)
class Action:
    """A statement for the engine alone, `restart` or `kill`."""

    text: str


@dataclass(frozen=True)
class Snapshot:
    """A session takes a snapshot, or reads by it."""

    begins: bool


Step = Alter | Change | Maintenance | Action | Snapshot


@dataclass(frozen=True)
class Chain:
    """Everything that is done."""

    # Columns and indexes, as CREATE TABLE has them.
    lines: tuple[str, ...]
    options: str
    partitions: str
    format: str
    mode: str
    rows: tuple[Insert, ...]
    steps: tuple[Step, ...] = ()

    def create(self, engine: str) -> str:
        """The CREATE TABLE."""
        text = f"CREATE TABLE t ({', '.join(self.lines)}) ENGINE={engine}{self.options}"
        return f"{text} {self.partitions}".rstrip()

    def script(self) -> list[str]:
        """The statements for people, with the engine under test."""
        found = [f"SET GLOBAL cairn_format={self.format}", f"SET sql_mode='{self.mode}'"]
        found += [self.create("ROCKSDB"), *(insert.sql() for insert in self.rows)]
        for step in self.steps:
            if isinstance(step, Alter):
                found.append(step.sql(step.algorithm, step.lock))
            elif isinstance(step, Change | Maintenance):
                found += [sql_of(statement) for statement in step.statements]
            elif isinstance(step, Snapshot):
                found.append(
                    "/* another session */ START TRANSACTION WITH CONSISTENT SNAPSHOT"
                    if step.begins
                    else "/* that session */ SELECT * FROM t"
                )
            else:
                found.append(f"/* {step.text} */" if " " not in step.text else step.text)
        return [*found, "SHOW CREATE TABLE t", "SELECT * FROM t", "CHECK TABLE t EXTENDED"]

    # ---- shrinking ------------------------------------------------------------------------------

    def smaller(self) -> Iterator[Chain]:
        """Chains with less in them, but for the steps themselves."""
        for at, step in enumerate(self.steps):
            for simpler in _simpler(step):
                yield replace(self, steps=(*self.steps[:at], simpler, *self.steps[at + 1 :]))
        if self.partitions:
            yield replace(self, partitions="")
        if self.options:
            yield replace(self, options="")
        for at in range(len(self.rows)):
            yield replace(self, rows=self.rows[:at] + self.rows[at + 1 :])
        for at, insert in enumerate(self.rows):
            for fewer in _fewer_rows(insert):
                yield replace(self, rows=(*self.rows[:at], fewer, *self.rows[at + 1 :]))
        for at in range(len(self.lines) - 1, -1, -1):
            name = self.lines[at].split()[0]
            rows = tuple(insert.without_column(name) for insert in self.rows)
            yield replace(self, lines=self.lines[:at] + self.lines[at + 1 :], rows=rows)


def _simpler(step: Step) -> Iterator[Step]:
    if isinstance(step, Alter):
        for at in range(len(step.clauses)):
            if len(step.clauses) > 1:
                yield replace(step, clauses=step.clauses[:at] + step.clauses[at + 1 :])
        if step.lock:
            yield replace(step, lock="")
        if step.algorithm:
            yield replace(step, algorithm="")
    elif isinstance(step, Change):
        for at, statement in enumerate(step.statements):
            before, after = step.statements[:at], step.statements[at + 1 :]
            if before or after:
                yield Change((*before, *after))
            if isinstance(statement, Insert):
                for simpler in _fewer_rows(statement):
                    yield Change((*before, simpler, *after))


def _fewer_rows(insert: Insert) -> Iterator[Insert]:
    if len(insert.rows) > 1:
        for at in range(len(insert.rows)):
            yield replace(insert, rows=insert.rows[:at] + insert.rows[at + 1 :])


# ---- drawing -------------------------------------------------------------------------------------


@dataclass
class Chains:
    """Draws the steps of one chain, each by what has become of the one before."""

    chance: Random
    table: Table = field(init=False)
    _after: Table | None = None
    _serial: int = 10
    _has_snapshot: bool = False
    _drawn: int = 0

    def begin(self) -> Chain:
        """A table without steps."""
        kind = self.chance.choice(partitions.KINDS) if self.chance.random() < 0.2 else ""
        self.table = random_table(self.chance, kind)
        return Chain(
            self.table.lines(),
            self.table.options,
            self.table.partitions,
            self.chance.choice(FORMATS),
            self.chance.choice(MODES),
            Changes(self.chance, self.table).first_rows(),
        )

    def step(self) -> Step:
        """The next one; what it makes of the table is believed when `done` is called behind it."""
        self._after = None
        self._drawn += 1
        pick = self.chance.random()
        if self._has_snapshot and pick < 0.25:
            self._has_snapshot = False
            return Snapshot(begins=False)
        if not self._has_snapshot and pick < 0.07:
            self._has_snapshot = True
            return Snapshot(begins=True)
        if 0.25 < pick < 0.29:
            return Action(self.chance.choice(ACTIONS))
        if 0.29 < pick < 0.30:
            self._has_snapshot = False
            return Action(self.chance.choice(["restart", "kill", "kill"]))
        if 0.30 < pick < (0.36 if self.table.partitions else 0.305):
            self._has_snapshot = False
            statements, self._after = partitions.draw(self.chance, self.table)
            return Maintenance(statements)
        if pick > 0.7:
            return Change(Changes(self.chance, self.table).draw())
        return self._alter()

    def _alter(self) -> Alter:
        chance = self.chance
        operations = Operations(chance, self.table, self._serial)
        clauses = operations.draw()
        self._after = operations.table
        self._serial = operations.serial
        return Alter(
            clauses, chance.choice(ALGORITHMS), chance.choice(LOCKS), chance.random() < 0.03
        )

    def done(self) -> None:
        """The step has succeeded."""
        if self._after is not None:
            self.table = self._after

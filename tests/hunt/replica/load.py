"""Random transactions over random tables: what is replicated."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.hunt.replica.tables import KINDS, TYPES, Column, Kind, Table

IMAGES = ("FULL", "MINIMAL", "NOBLOB")
# How a replica applies: its mode, and its threads.
MODES = (
    ("none", 0),
    ("none", 4),
    ("minimal", 4),
    ("conservative", 0),
    ("conservative", 4),
    ("optimistic", 4),
    ("optimistic", 4),
    ("aggressive", 4),
)
ENGINES = ("ROCKSDB", "ROCKSDB", "InnoDB")
TRANSACTIONS = 60

Transaction = tuple[str, ...]


@dataclass(frozen=True)
class Load:
    """What a round does on the primary, and how its replica applies it."""

    tables: tuple[Table, ...]
    transactions: tuple[Transaction, ...]
    # That sessions begin with.
    image: str
    mode: str
    threads: int
    # Sessions of the primary; each takes every so manieth transaction.
    sessions: int
    # Of the primary's tables; the others' are always of ROCKSDB.
    engine: str

    def __str__(self) -> str:
        return (
            f"binlog_row_image={self.image}, slave_parallel_mode={self.mode}, "
            f"slave_parallel_threads={self.threads}, {self.sessions} sessions, "
            f"the primary's tables of {self.engine}"
        )

    def text(self) -> str:
        """As people read it."""
        used = " ".join(text for transaction in self.transactions for text in transaction)
        lines = [f"-- {self}", f"SET SESSION binlog_row_image = {self.image};"]
        lines += [f"{table.create()};" for table in self.tables if f" {table.name} " in used]
        for number, transaction in enumerate(self.transactions):
            session = f"/* session {number % self.sessions + 1} */ " if self.sessions > 1 else ""
            lines += [f"{session}{statement};" for statement in transaction]
        return "\n".join(lines)


def random_load(chance: random.Random, number: int, *, transactions: int = TRANSACTIONS) -> Load:
    """A load; the kinds of tables, the images and the modes come in turn."""
    tables = tuple(
        Table(f"t{i + 1}", kind, chance.choice(sorted(TYPES)))
        for i, kind in enumerate(_kinds(number, chance))
    )
    mode, threads = MODES[number % len(MODES)]
    writer = Writer(chance, tables)
    return Load(
        tables,
        tuple(writer.transaction() for _ in range(transactions)),
        IMAGES[(number // 2) % len(IMAGES)],
        mode,
        threads,
        chance.choice((1, 1, 3)),
        chance.choice(ENGINES),
    )


def _kinds(number: int, chance: random.Random) -> list[Kind]:
    """Two in turn and one by chance."""
    first = 2 * (number - 1) % len(KINDS)
    return [KINDS[first], KINDS[(first + 1) % len(KINDS)], chance.choice(KINDS)]


class Writer:
    """Makes random transactions."""

    def __init__(self, chance: random.Random, tables: tuple[Table, ...]) -> None:
        self._chance = chance
        self._tables = tables

    def transaction(self) -> Transaction:
        """One statement by itself, or several, of which some may be undone."""
        chance = self._chance
        if chance.random() < 0.02:
            return (self._definition(chance.choice(self._tables)),)
        if chance.random() < 0.08:
            # Of the session, from here on: no kind of table is left with the image of its round.
            return (f"SET SESSION binlog_row_image = {chance.choice(IMAGES)}",)
        if chance.random() < 0.4:
            return (self._statement(),)
        statements = ["BEGIN", *(self._statement() for _ in range(chance.randint(1, 5)))]
        if chance.random() < 0.2:
            begin = chance.randint(1, len(statements))
            undone = [self._statement() for _ in range(chance.randint(1, 2))]
            statements[begin:begin] = ["SAVEPOINT a", *undone, "ROLLBACK TO SAVEPOINT a"]
        return (*statements, "ROLLBACK" if chance.random() < 0.08 else "COMMIT")

    def _definition(self, table: Table) -> str:
        return self._chance.choice(
            (
                f"TRUNCATE TABLE {table.name} ",
                f"ALTER TABLE {table.name} ADD INDEX IF NOT EXISTS z (b, s)",
                f"ALTER TABLE {table.name} FORCE",
            )
        )

    def _statement(self) -> str:
        kinds: tuple[tuple[int, Callable[[Table], str]], ...] = (
            (6, self._insert),
            (5, self._update),
            (4, self._delete),
            (2, self._upsert),
            (2, self._replace),
            (1, self._copy),
            (1, self._update_two),
        )
        (make,) = self._chance.choices([k for _, k in kinds], [weight for weight, _ in kinds])
        return make(self._chance.choice(self._tables))

    # ---- statements -----------------------------------------------------------------------------

    def _insert(self, table: Table, words: str = "") -> str:
        chance = self._chance
        words = words or chance.choice(("INSERT", "INSERT IGNORE"))
        rows = ", ".join(
            "(" + ", ".join(column.value(chance) for column in table.columns) + ")"
            for _ in range(chance.choice((1, 2, 3, 6)))
        )
        names = ", ".join(column.name for column in table.columns)
        return f"{words} INTO {table.name} ({names}) VALUES {rows}"

    def _upsert(self, table: Table) -> str:
        return f"{self._insert(table, 'INSERT')} ON DUPLICATE KEY UPDATE {self._changes(table)}"

    def _replace(self, table: Table) -> str:
        return self._insert(table, "REPLACE")

    def _update(self, table: Table) -> str:
        ignore = "IGNORE " if self._chance.random() < 0.3 else ""
        changes = self._changes(table)
        return f"UPDATE {ignore}{table.name} SET {changes} WHERE {self._where(table)}"

    def _delete(self, table: Table) -> str:
        limit = " ORDER BY a, b LIMIT 3" if self._chance.random() < 0.2 else ""
        return f"DELETE FROM {table.name} WHERE {self._where(table)}{limit}"

    def _copy(self, table: Table) -> str:
        names = ", ".join(column.name for column in table.columns)
        values = ", ".join(
            f"{column.name} + 20" if column.type in ("number", "large") else column.name
            for column in table.columns
        )
        return (
            f"INSERT IGNORE INTO {table.name} ({names}) SELECT {values} FROM {table.name} "
            f"WHERE {self._where(table)}"
        )

    def _update_two(self, table: Table) -> str:
        other = self._chance.choice(self._tables)
        if other == table:
            return self._update(table)
        return (
            f"UPDATE {table.name} JOIN {other.name} ON {table.name}.a = {other.name}.a "
            f"SET {table.name}.b = 77, {other.name}.s = 'joined' WHERE {other.name}.b > 3"
        )

    def _changes(self, table: Table) -> str:
        chance = self._chance
        chosen = chance.sample(table.columns, chance.choice((1, 1, 2)))
        return ", ".join(f"{column.name} = {self._new(column)}" for column in chosen)

    def _new(self, column: Column) -> str:
        if column.type in ("number", "large") and self._chance.random() < 0.4:
            return f"{column.name} + 1"
        return column.value(self._chance)

    def _where(self, table: Table) -> str:
        chance = self._chance
        column = chance.choice((*table.columns[:2], *table.columns))
        form = chance.choice(("{0} = {1}", "{0} = {1}", "{0} IN ({1}, {2})", "{0} > {1}", "1 = 1"))
        return form.format(column.name, column.value(chance), column.value(chance))

"""Random statements on the tables of a round, and what is remembered of their definitions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.acceptance.roundtrip.alters import random_alter
from tests.acceptance.roundtrip.tables import Key, Table, random_table

SCHEMA = "trip"
# Outcomes of random statements that say nothing against either plug-in: duplicates in a new unique
# key, values that cannot be compared or converted, NULL in a column that is not to have it.
EXPECTED_ERRORS = (1062, 1138, 1169, 1265, 1267, 1292, 1366, 1690)
# The stock plug-in finds a duplicate in a key of a prefix, and then not the row, at REPLACE.
STOCK_ERRORS = (1032,)
# What only Cairn can store is refused while the directory is kept for the stock plug-in.
NEEDS_CAIRN = "cairn_format=cairn"


class Changes:
    """The tables of one round, and a stream of changes to them."""

    def __init__(self, chance: Random, execute: Callable[[str], Any]) -> None:
        self.chance = chance
        self.tables: list[Table] = []
        self.execute = execute  # The connection changes with the server; the tables stay.
        self.of_stock = False  # Whose turn it is.
        self._count = 0

    def run(self, statement: str) -> bool:
        """Runs a statement; whether it did something. Errors that mean trouble are raised."""
        import pymysql

        try:
            self.execute(statement)
        except pymysql.MySQLError as error:
            expected = EXPECTED_ERRORS + (STOCK_ERRORS if self.of_stock else ())
            if error.args[0] in expected or NEEDS_CAIRN in str(error.args[-1]):
                return False
            who = "the stock plug-in" if self.of_stock else "Cairn"
            raise RuntimeError(f"{who} says {error.args}: {statement[:1000]}") from error
        return True

    def create(self) -> None:
        self._count += 1
        name = f"t{self._count}" if self.chance.random() < 0.7 else f"tä-{self._count} #"
        table = random_table(self.chance, name)
        if self.run(table.definition):
            self.tables.append(table)
            self.fill(table)

    def fill(self, table: Table) -> None:
        for _ in range(self.chance.randint(0, 4)):
            self.run(table.insert(self.chance, self.chance.randint(1, 40)))

    def some(self, count: int) -> None:
        """Makes `count` random changes."""
        for _ in range(count):
            self.one()

    def one(self) -> None:
        chance = self.chance
        if not self.tables:
            return self.create()
        table = chance.choice(self.tables)
        name = f"`{table.name}`"
        match chance.choices(
            ("insert", "update", "delete", "create", "drop", "rename", "truncate")
            + (
                "add key",
                "drop key",
                "optimize",
                "flush",
                "compact",
                "add column",
                "transaction",
                "load",
                "alter",
            ),
            (20, 15, 10, 5, 2, 4, 2, 6, 3, 3, 4, 2, 2, 6, 5, 40),
        )[0]:
            case "insert":
                self.run(table.insert(chance, chance.randint(1, 30)))
            case "update":
                column = chance.choice([c for c in table.columns if not c.auto_increment])
                value = column.literal(chance)
                where = table.condition(chance)
                self.run(f"UPDATE IGNORE {name} SET {column.name} = {value} WHERE {where}")
            case "delete":
                self.run(f"DELETE FROM {name} WHERE {table.condition(chance)} LIMIT 10")
            case "create":
                self.create()
            case "drop":
                self.run(f"DROP TABLE {name}")
                self.tables.remove(table)
            case "rename":
                self._count += 1
                new = f"r{self._count}"
                self.run(f"RENAME TABLE {name} TO `{new}`")
                table.name = new
            case "truncate":
                self.run(f"TRUNCATE TABLE {name}")
            case "add key":
                self._add_key(table)
            case "drop key":
                keys = [key for key in table.keys if key.name != "PRIMARY" and not table.needs(key)]
                if keys and self.run(f"ALTER TABLE {name} DROP KEY {keys[0].name}"):
                    table.keys.remove(keys[0])
            case "add column":
                self._add_column(table)
            case "transaction":
                self.run("BEGIN")
                for _ in range(3):
                    self.run(table.insert(chance, 3))
                self.run(chance.choice(("COMMIT", "ROLLBACK")))
            case "load":
                self._load_copy(table)
            case "alter":
                self._alter(table)
            case "optimize":
                self.run(f"OPTIMIZE TABLE {name}")
            case "flush":
                self.run("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
            case "compact":
                self.run("SET GLOBAL rocksdb_compact_cf = 'default'")

    def _load_copy(self, table: Table) -> None:
        """Puts a copy in the table's place whose rows come from Cairn's sorted files."""
        if self.of_stock:
            return
        self._count += 1
        new = f"l{self._count}"
        unsorted = self.chance.choice((0, 1)) if table.is_loaded_in_order else 1
        for statement in (
            f"CREATE TABLE `{new}` LIKE `{table.name}`",
            "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')",
            f"SET rocksdb_bulk_load_allow_unsorted = {unsorted}",
            f"SET rocksdb_merge_buf_size = {self.chance.choice((1000, 1 << 20))}",
            "SET rocksdb_bulk_load = ON",
            f"INSERT INTO `{new}` SELECT * FROM `{table.name}`",
            "SET rocksdb_bulk_load = OFF",
            "SET SESSION sql_mode = DEFAULT",
            f"DROP TABLE `{table.name}`",
        ):
            self.run(statement)
        table.name = new

    def _alter(self, table: Table) -> None:
        """Changes a table in place, where the plug-in can, or by a copy."""
        self._count += 1
        alter = random_alter(self.chance, table, self._count)
        if alter is None:
            return
        algorithm = self.chance.choice(("", "", "COPY"))
        checksum = f"CHECKSUM TABLE `{table.name}` EXTENDED"
        before = self.execute(checksum)
        if not self.run(alter.statement(algorithm)):
            return
        after = self.execute(checksum)
        if alter.keeps_rows and not self.of_stock and before != after:
            raise RuntimeError(f"{alter.statement(algorithm)}: {before} became {after}")
        self.tables[self.tables.index(table)] = alter.after

    def _add_key(self, table: Table) -> None:
        key: Key = table.new_key(self.chance)
        if table.partitions:
            key.family = ""
        if len(table.keys) < 8 and self.run(f"ALTER TABLE `{table.name}` ADD {key.definition}"):
            table.keys.append(key)

    def _add_column(self, table: Table) -> None:
        column = random_table(self.chance, "x").columns[-1]
        column.name = f"d{self._count}_{len(table.columns)}"
        column.nullable, column.auto_increment = True, False
        if len(table.columns) < 12 and self.run(
            f"ALTER TABLE `{table.name}` ADD COLUMN {column.definition}"
        ):
            table.columns.append(column)

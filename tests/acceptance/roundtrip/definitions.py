"""Copies of definitions in a directory that goes to the stock plug-in and back.

The stock plug-in keeps their records and knows nothing of them: what it changes must leave a copy
that nobody uses, until Cairn has opened the table.
"""

from __future__ import annotations

from pathlib import Path

from cairn import plugin
from cairn.prefix import Server
from cairn.scratch_server import ScratchServer
from tests.acceptance.rounds import Wrong

SCHEMA = "copies"
# What the stock plug-in does to each table.
CHANGES = {
    "kept": (),
    "indexed": ("ALTER TABLE indexed ADD KEY b (b)",),
    "copied": ("ALTER TABLE copied ADD c INT DEFAULT 5",),
    "emptied": ("TRUNCATE TABLE emptied",),
    "anew": ("DROP TABLE anew", "CREATE TABLE anew (b INT PRIMARY KEY, id INT) ENGINE=ROCKSDB"),
    "old_name": ("RENAME TABLE old_name TO new_name",),
    "dropped": ("DROP TABLE dropped",),
    "parts": ("ALTER TABLE parts ADD PARTITION (PARTITION p2 VALUES LESS THAN (300))",),
}
BEFORE = tuple(CHANGES)
AFTER = tuple(sorted({*BEFORE, "new_name"} - {"old_name", "dropped"}))
UNCHANGED = {"kept"}


class Definitions:
    """One directory: made by Cairn, changed by the stock plug-in, opened by Cairn."""

    def __init__(self, mariadb: Server, server: ScratchServer) -> None:
        self.mariadb = mariadb
        self.server = server
        self.what = ""
        self.details: list[str] = []

    def run(self) -> None:
        stock, ours = self.mariadb.stock_plugin, plugin.library()
        self._start(ours)
        self.server.execute("SET GLOBAL cairn_format = 'stock'", f"CREATE DATABASE {SCHEMA}")
        for table in BEFORE:
            partitions = (
                "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), "
                "PARTITION p1 VALUES LESS THAN (200))"
                if table == "parts"
                else ""
            )
            self._execute(
                f"CREATE TABLE {table} (id INT PRIMARY KEY, b INT) ENGINE=ROCKSDB {partitions}",
                f"INSERT INTO {table} VALUES (1, 10), (101, 20)",
            )
        self._expect_restored(BEFORE, BEFORE)
        self.server.stop()

        self._start(stock)
        for statements in CHANGES.values():
            self._execute(*statements)
        self.server.stop()

        self._start(ours)
        self._expect_restored(AFTER, UNCHANGED)
        for table in AFTER:
            self._execute(f"SELECT COUNT(*) FROM {table}")
        self._expect_restored(AFTER, AFTER)
        self.server.stop()

        self._start(stock)
        for table in AFTER:
            self._execute(f"SELECT COUNT(*) FROM {table}")
        self.server.stop()

    def _start(self, library: Path) -> None:
        self.server.library = library
        self.server.start()

    def _execute(self, *statements: str) -> None:
        self.server.execute(*statements, database=SCHEMA)

    def _expect_restored(self, tables: tuple[str, ...], whole: tuple[str, ...] | set[str]) -> None:
        """Loses each table's file and asks for it: those of `whole` come back as they were."""
        import pymysql

        self._execute("FLUSH TABLES")
        for table in tables:
            file = self.server.data / SCHEMA / f"{table}.frm"
            kept = file.read_bytes()
            file.unlink()
            try:
                self._execute(f"SET GLOBAL cairn_restore_definition = '{SCHEMA}.{table}'")
            except pymysql.MySQLError as error:
                if table in whole:
                    raise Wrong(f"{table} does not come back: {error}") from error
                if file.exists():
                    raise Wrong(f"{table} comes back although it is refused: {error}") from error
                file.write_bytes(kept)
                continue
            if table not in whole:
                raise Wrong(f"a copy of another state of {table} is used")
            if file.read_bytes() != kept:
                raise Wrong(f"{table} comes back with another definition")

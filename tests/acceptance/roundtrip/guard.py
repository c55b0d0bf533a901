"""What keeps the stock plug-in from a directory, until it is undone.

Instant ALTER TABLEs do until the table is rebuilt, and foreign keys until they are dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cairn import plugin
from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.scratch_server import ScratchServer
from tests.acceptance.rounds import Wrong

SCHEMA = "guard"
# Each needs rows of several layouts, or a check that only readers of those can do without.
CHANGES = {
    "added": "ADD COLUMN c INT NOT NULL DEFAULT 7 FIRST",
    "dropped": "DROP COLUMN b",
    "moved": "MODIFY b VARCHAR(20) FIRST",
    "wider": "MODIFY a BIGINT NOT NULL",
    "longer": "MODIFY b VARCHAR(300)",
    "nullable": "MODIFY a INT NULL",
    "with_key": "ADD COLUMN c INT NOT NULL DEFAULT 7, ADD KEY c (c)",
}
OBSTACLE = "rows of several layouts"
# By table; none of them has more than what is named here.
FOREIGN_KEYS = {
    "parent": "PRIMARY: referenced by foreign key",
    "child": "PRIMARY: foreign key",
    "middle": "PRIMARY: foreign key, referenced by foreign key",
}
TABLES = (*CHANGES, *FOREIGN_KEYS, "untouched")
KEYS = (("child", "checked"), ("middle", "unchecked"), ("middle", "own"))
_REFERENCE = "FOREIGN KEY (a) REFERENCES"
# What the stock plug-in says of an index whose record is of a version that it does not know.
REFUSAL = "Found invalid key version number"


class Guard:
    """One directory: made by the stock plug-in, changed by Cairn, and kept from the former."""

    def __init__(self, mariadb: Server, server: ScratchServer) -> None:
        self.mariadb = mariadb
        self.server = server
        self.what = ""
        self.details: list[str] = []

    def run(self) -> None:
        stock, ours = self.mariadb.stock_plugin, plugin.library()
        self._start(stock)
        self.server.execute(f"CREATE DATABASE {SCHEMA}")
        for table in TABLES:
            self._execute(
                f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(20)) "
                "ENGINE=ROCKSDB",
                f"INSERT INTO {table} VALUES (1, 10, 'one'), (2, 20, NULL)",
            )
        untouched = self._rows()
        self.server.stop()

        self._start(ours)
        self._expect("Cairn reads what the stock plug-in wrote", untouched)
        self._execute("SET GLOBAL cairn_format = 'cairn'")
        for table, change in CHANGES.items():
            self._execute(f"ALTER TABLE {table} {change}, ALGORITHM=NOCOPY")
            self._execute(f"INSERT INTO {table} (id, a) VALUES (3, 30)")
        self._add_foreign_keys()
        changed = self._rows()
        guarded = dict.fromkeys(CHANGES, OBSTACLE) | FOREIGN_KEYS
        self._expect_obstacles(guarded)
        self.server.stop()

        self._expect_refusal("rows of several layouts")

        self._start(ours)
        self._expect("Cairn after the stock plug-in has refused to start", changed)
        self._expect_obstacles(guarded)
        self._execute("SET GLOBAL cairn_format = 'stock'")
        self._execute(*(f"ALTER TABLE {table} FORCE" for table in CHANGES))
        self._expect("Cairn after FORCE", changed)
        self._expect_obstacles(FOREIGN_KEYS)
        self.server.stop()

        self._expect_refusal("foreign keys")

        self._start(ours)
        self._expect_foreign_keys()
        self._execute(*(f"ALTER TABLE {table} DROP FOREIGN KEY {key}" for table, key in KEYS))
        self._expect("Cairn after DROP FOREIGN KEY", changed)
        self._expect_obstacles({})
        self.server.stop()

        self._start(stock)
        self._expect("the stock plug-in after FORCE and DROP FOREIGN KEY", changed)
        self.server.stop()

    def _start(self, library: Path) -> None:
        self.server.library = library
        self.server.start()

    def _execute(self, *statements: str) -> None:
        self.server.execute(*statements, database=SCHEMA)

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.query(statement, database=SCHEMA)

    def _rows(self) -> dict[str, list[tuple[Any, ...]]]:
        return {table: self._query(f"SELECT * FROM {table} ORDER BY id") for table in TABLES}

    def _add_foreign_keys(self) -> None:
        """One with a check of the rows and an index, one without."""
        self._execute(
            "UPDATE child SET a = id",
            f"ALTER TABLE child ADD CONSTRAINT checked {_REFERENCE} parent (id)",
            "SET foreign_key_checks = 0",
            f"ALTER TABLE middle ADD CONSTRAINT unchecked {_REFERENCE} parent (id)",
            f"ALTER TABLE middle ADD CONSTRAINT own {_REFERENCE} middle (id)",
        )

    def _expect_foreign_keys(self) -> None:
        """They refuse rows after the stock plug-in has refused them."""
        import pymysql

        for statement, code in (
            ("INSERT INTO child (id, a) VALUES (3, 30)", 1452),
            ("INSERT INTO middle (id, a) VALUES (3, 30)", 1452),
            ("DELETE FROM parent WHERE id = 1", 1451),
        ):
            try:
                self._execute(statement)
            except pymysql.MySQLError as error:
                if error.args[0] != code:
                    raise
            else:
                raise Wrong(f"no foreign key refuses {statement}")

    def _expect(self, who: str, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        wrong = [
            f"{name}: was {rows[name]}, is {found}"
            for name, found in self._rows().items()
            if found != rows[name]
        ]
        for name in rows:
            answers = self._query(f"CHECK TABLE {name}")
            if answers[-1][3] != "OK":
                wrong.append(f"CHECK TABLE: {answers}")
        if wrong:
            raise Wrong(f"{who}:\n    " + "\n    ".join(wrong))

    def _expect_obstacles(self, expected: dict[str, str]) -> None:
        found = dict(
            self._query(
                "SELECT TABLE_NAME, OBSTACLES FROM information_schema.CAIRN_TABLES "
                f"WHERE TABLE_SCHEMA = '{SCHEMA}' AND OBSTACLES IS NOT NULL"
            )
        )
        if found.keys() != expected.keys() or any(
            text not in found[name] for name, text in expected.items()
        ):
            raise Wrong(f"the tables in the way are {found}, not {expected}")

    def _expect_refusal(self, why: str) -> None:
        try:
            self._start(self.mariadb.stock_plugin)
        except CairnError:
            if not any(REFUSAL in line for line in self.server.errors()):
                raise
        else:
            raise Wrong(f"the stock plug-in opens a directory with {why}")

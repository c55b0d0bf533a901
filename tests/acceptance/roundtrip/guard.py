"""After an instant ALTER TABLE the stock plug-in refuses a directory until the table is rebuilt."""

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
        for table in (*CHANGES, "untouched"):
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
        changed = self._rows()
        guarded = dict.fromkeys(CHANGES, OBSTACLE)
        self._expect_obstacles(guarded)
        self.server.stop()

        self._expect_refusal()

        self._start(ours)
        self._expect("Cairn after the stock plug-in has refused to start", changed)
        self._expect_obstacles(guarded)
        self._execute("SET GLOBAL cairn_format = 'stock'")
        self._execute(*(f"ALTER TABLE {table} FORCE" for table in CHANGES))
        self._expect("Cairn after FORCE", changed)
        self._expect_obstacles({})
        self.server.stop()

        self._start(stock)
        self._expect("the stock plug-in after FORCE", changed)
        self.server.stop()

    def _start(self, library: Path) -> None:
        self.server.library = library
        self.server.start()

    def _execute(self, *statements: str) -> None:
        self.server.execute(*statements, database=SCHEMA)

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.query(statement, database=SCHEMA)

    def _rows(self) -> dict[str, list[tuple[Any, ...]]]:
        tables = (*CHANGES, "untouched")
        return {table: self._query(f"SELECT * FROM {table} ORDER BY id") for table in tables}

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

    def _expect_refusal(self) -> None:
        try:
            self._start(self.mariadb.stock_plugin)
        except CairnError:
            if not any(REFUSAL in line for line in self.server.errors()):
                raise
        else:
            raise Wrong("the stock plug-in opens a directory with rows of several layouts")

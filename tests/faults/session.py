"""A connection under test, and what it finds in the tables."""

from __future__ import annotations

import re
from typing import Any

import pymysql

from cairn.scratch_server import ScratchServer
from tests.faults.statements import TABLES

DATABASE = "faults"
TIMEOUT_S = 60

Rows = list[tuple[Any, ...]]
# All rows of each table, what its indexes have, and those of the table that tells transactions.
Content = dict[str, Rows]
_COUNTER = re.compile(r" AUTO_INCREMENT=\d+")


class Session:
    """One connection, and the kernel's number of its thread."""

    def __init__(self, server: ScratchServer) -> None:
        self._server = server
        self.connection = server.connect(database=DATABASE, read_timeout=TIMEOUT_S)
        self.id = int(self.rows("SELECT CONNECTION_ID()")[0][0])
        self.thread = int(
            self.rows(f"SELECT tid FROM information_schema.processlist WHERE id = {self.id}")[0][0]
        )

    def rows(self, statement: str) -> Rows:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def error_of(self, statement: str) -> tuple[int, str, Rows]:
        """The number and text of the statement's error, 0 without one, and its rows."""
        try:
            return 0, "", self.rows(statement)
        except pymysql.MySQLError as error:
            number = int(error.args[0]) if error.args else -1
            return number, str(error.args[1] if len(error.args) > 1 else error), []

    def content(self) -> Content:
        """All rows of the tables, by the primary keys, and what their indexes have."""
        found = {}
        for table in TABLES:
            found[table] = sorted(self.rows(f"SELECT * FROM {table}"), key=repr)
            found[f"{table} by k"] = (
                sorted(self.rows(f"SELECT k FROM {table} FORCE INDEX (k) WHERE k >= 0"), key=repr)
                if table in ("t", "h", "p", "g")
                else []
            )
        found["marker"] = self.rows("SELECT * FROM marker")
        return found

    def definitions(self) -> list[str]:
        """How the tables are made, but for their counters."""
        return [
            _COUNTER.sub("", str(self.rows(f"SHOW CREATE TABLE {table}")[0][1])) for table in TABLES
        ]

    def close(self) -> None:
        self.connection.close()


def comparable(content: Content) -> Content:
    """The rows of the tables, but for numbers that are given out once."""
    rows = {table: found for table, found in content.items() if table != "marker"}
    return rows | {"a": [row[1:] for row in rows["a"]]}

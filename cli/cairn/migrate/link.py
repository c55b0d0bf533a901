"""Connections to the server whose tables are migrated, set up so that copies are exact."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cairn.errors import CairnError
from cairn.place import Place, reason

# Errors of PyMySQL that say that the connection, or the server, is gone.
LOST = (2003, 2006, 2013, 2055, 1053, 1927, 0)
ACCESS_DENIED = (1044, 1142, 1143, 1227, 1370, 1419)
# Waited for a lock, deadlock, snapshot conflict: the statement may be repeated.
CONFLICTS = (1205, 1213, 1020)

# A copy takes values as they are: no strict date, no AUTO_INCREMENT for 0, no check that a row of
# the source has passed or not; times are read in UTC, which has every moment once.
SETTINGS = (
    "sql_mode = 'NO_AUTO_VALUE_ON_ZERO,IGNORE_BAD_TABLE_OPTIONS,STRICT_TRANS_TABLES,"
    "STRICT_ALL_TABLES,ALLOW_INVALID_DATES'",
    "time_zone = '+00:00'",
    "foreign_key_checks = 0",
    "check_constraint_checks = 0",
    "tx_isolation = 'READ-COMMITTED'",
    "wait_timeout = 604800",
    "max_statement_time = 0",
    "system_versioning_alter_history = 'KEEP'",
    "lock_wait_timeout = 60",
    "innodb_lock_wait_timeout = 5",
)


def name(text: str) -> str:
    """An identifier in backquotes."""
    return "`" + text.replace("`", "``") + "`"


def literal(text: str | None) -> str:
    """A string as a literal of SQL; our sessions read backslashes as escapes."""
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
    return f"'{escaped}'"


def is_lost(error: Exception) -> bool:
    """Whether an error of PyMySQL says that the connection is gone."""
    return bool(error.args) and error.args[0] in LOST


class Stopped(Exception):
    """The command is to end; what has been done is written down."""


class Session:
    """One connection; its statements run one after the other. For one thread at a time.

    What waits and tries again looks at `stopping` in between, and raises Stopped.
    """

    stopping: Callable[[], bool] = staticmethod(lambda: False)

    def __init__(self, place: Place, *, binary_log: bool = True) -> None:
        import pymysql  # Costs time to import, so only where it is used.

        try:
            self._connection = place.connect()
        except (OSError, pymysql.MySQLError) as error:
            raise CairnError(
                f"{place.socket}: the server does not let us in: {reason(error)}."
            ) from error
        self.execute(f"SET SESSION {', SESSION '.join(SETTINGS)}")
        self._settle_binary_log(binary_log)
        self.id = int(self.value("SELECT CONNECTION_ID()"))

    def _settle_binary_log(self, binary_log: bool) -> None:
        if not int(self.value("SELECT @@log_bin")):
            return
        if not binary_log:
            self.execute("SET SESSION sql_log_bin = 0")
            return
        # Without the right to set it, the server's format is used; the plan has looked at it.
        self.allowed("SET SESSION binlog_format = 'ROW'")

    def execute(self, text: str) -> int:
        """Runs a statement; the number of rows that it has changed."""
        with self._connection.cursor() as cursor:
            return int(cursor.execute(text) or 0)

    def allowed(self, text: str) -> bool:
        """Runs a statement; False when the user has no right to."""
        import pymysql

        try:
            self.execute(text)
        except pymysql.MySQLError as error:
            if error.args[0] in ACCESS_DENIED:
                return False
            raise
        return True

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    def value(self, text: str) -> Any:
        """The first column of the first row; None when there is no row."""
        found = self.rows(text)
        return found[0][0] if found else None

    def rest(self, seconds: float) -> None:
        """Waits before another try, unless the command is to end."""
        if self.stopping():
            raise Stopped
        time.sleep(seconds)

    def close(self) -> None:
        """Ends the connection, which also ends what it waits for at the server."""
        import pymysql

        with suppress(pymysql.MySQLError, OSError):  # It may be gone already.
            self._connection.close()

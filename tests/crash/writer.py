"""A client that writes until the server dies, and knows what the server acknowledged."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

from cairn.scratch_server import ScratchServer

# What a client may be told when two transactions meet: try again.
CONFLICTS = (1020, 1205, 1213)
# The server went away: what PyMySQL says when the process at the other end is gone.
LOST = (0, 2003, 2006, 2013, 2014)

CONNECT_S = 20
JOIN_S = 30

Connect = Callable[[], Any]


class Writer(threading.Thread):
    """Repeats `step` on one connection.

    A subclass keeps two things apart: what was acknowledged, and the one change under way, of
    which a crash may leave all or nothing. It moves a change from the second to the first after the
    server's answer and never before.
    """

    def __init__(
        self, name: str, connect: Connect, journal: TextIO, random_numbers: random.Random
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.random = random_numbers
        self.ready = threading.Event()
        self.acknowledged = 0
        self.error = ""
        self._connect = connect
        self._journal = journal
        self._ended = False

    def run(self) -> None:
        import pymysql

        try:
            connection = self._connect()
        except pymysql.MySQLError as error:
            self.error = f"{self.name} cannot connect: {error}"
            self.ready.set()
            return
        cursor = connection.cursor()
        self.ready.set()
        while not self._ended:
            try:
                self.step(cursor)
            except pymysql.MySQLError as error:
                if error.args and error.args[0] in LOST:
                    return
                if not (error.args and error.args[0] in CONFLICTS):
                    self.error = f"{self.name}: {error} (statement: {_last(cursor)})"
                    return
                try:
                    cursor.execute("ROLLBACK")
                except pymysql.MySQLError:
                    return
                self.refused()

    def end(self) -> None:
        """Asks for an end after the current step."""
        self._ended = True

    def acknowledge(self, what: str) -> None:
        """Notes an acknowledgement in the client's journal, which outlives the client too."""
        self.acknowledged += 1
        self._journal.write(f"{self.name} {what}\n")
        self._journal.flush()

    def step(self, cursor: Any) -> None:
        """One transaction."""
        raise NotImplementedError

    def refused(self) -> None:
        """The server refused the current transaction because of a conflict; it is rolled back."""
        raise NotImplementedError


def start(writers: Sequence[Writer]) -> str:
    """Starts all and waits until they are connected; returns what is wrong, or nothing."""
    for writer in writers:
        writer.start()
    limit = time.monotonic() + CONNECT_S
    for writer in writers:
        if not writer.ready.wait(max(0.0, limit - time.monotonic())):
            return f"{writer.name} could not connect within {CONNECT_S} s"
    return ""


def kill_under_load(
    server: ScratchServer,
    writers: Sequence[Writer],
    load_s: float,
    at_end: Callable[[], list[str]] | None = None,
) -> list[str]:
    """Lets clients write for a while and kills their server; returns what went wrong.

    `at_end` comes before the kill, if the server is alive, and says what it finds wrong.
    """
    if late := start(writers):
        return [late]
    time.sleep(load_s)
    wrong = []
    if not server.is_alive():
        wrong.append(f"The server ended by itself:\n{server.excerpt()}")
    elif at_end is not None:
        wrong += at_end()
    server.kill()
    return wrong + end(writers)


def end(writers: Sequence[Writer]) -> list[str]:
    """Ends all, whose server was killed; returns what went wrong with them."""
    limit = time.monotonic() + JOIN_S
    waiting = []
    for writer in writers:
        writer.end()
        writer.join(max(0.0, limit - time.monotonic()))
        if writer.is_alive():
            waiting.append(f"{writer.name} still waits for the killed server")
    return waiting + [writer.error for writer in writers if writer.error]


def listed(cursor: Any, condition: str) -> list[str]:
    """The names of tables by a condition, but for those of statements that were cut off."""
    cursor.execute(
        "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables "
        f"WHERE {condition} AND table_name NOT LIKE '#%'"
    )
    return [name for (name,) in cursor.fetchall()]


def check_tables(cursor: Any, tables: Iterable[str], *, extended: bool = False) -> list[str]:
    """What CHECK TABLE finds."""
    cursor.execute(f"CHECK TABLE {', '.join(tables)}{' EXTENDED' if extended else ''}")
    return [
        f"CHECK TABLE {table}: {kind}: {text}"
        for table, _, kind, text in cursor.fetchall()
        if (kind, text) != ("status", "OK")
    ]


def _last(cursor: Any) -> str:
    statement = getattr(cursor, "_executed", None) or ""
    if isinstance(statement, bytes):
        statement = statement.decode("utf-8", "replace")
    return statement[:200]


def brief(values: Any, limit: int = 8) -> str:
    """The first of many values, for a message."""
    listed = sorted(values)
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return f"{', '.join(map(str, listed[:limit]))}{more}"

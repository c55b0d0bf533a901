"""Sessions that are sent statements without waiting for the answer, and who of them waits.

A statement that meets a lock does not answer, and nobody tells the client. The watcher reads from
the server which connections wait, so that a script can go on with the next session at that point
and not after some time.
"""

from __future__ import annotations

import contextlib
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# What a client is told when its connection is gone.
LOST = (0, 2003, 2006, 2013, 2014, 2055)
# Readings of the watcher, one after the other, that must agree: whoever has just been given a lock
# may still look as if it waited.
READINGS = 3
READING_PAUSE_S = 0.012
# The longest that a statement may take, waits included, before the server is thought to hang.
ANSWER_S = 60.0
# A command of the protocol that PyMySQL does not know.
_RESET_CONNECTION = 0x1F
_WAITS = re.compile(r"^(Waiting for |User lock|User sleep)")
_WAITS_FOR_TABLE = "Waiting for table level lock"
_INNODB_WAITS = re.compile(r"^LOCK WAIT\b.*?thread id (\d+)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """What a session was told about a statement."""

    error: int = 0
    message: str = ""
    changed: int = 0
    # Of a statement that has a result; None for others.
    rows: tuple[tuple[Any, ...], ...] | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the connection ended: what the statement did is not known."""
        return self.error in LOST and bool(self.message)

    def __str__(self) -> str:
        if self.error or self.message:
            return f"ERROR {self.error}: {self.message}"
        if self.rows is None:
            return f"OK, {self.changed} rows"
        shown = ", ".join(str(row) for row in self.rows[:8])
        more = f", … {len(self.rows) - 8} more" if len(self.rows) > 8 else ""
        return f"{len(self.rows)} rows: {shown}{more}"


class Session:
    """One connection, whose statements run in a thread of its own."""

    def __init__(self, name: str, connect: Callable[[], Any]) -> None:
        self.name = name
        self._connection = connect()
        self.id = int(self._connection.thread_id())
        self._statements: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.is_busy = False
        self.is_gone = False
        self._thread = threading.Thread(target=self._serve, name=f"session {name}", daemon=True)
        self._thread.start()

    def send(self, text: str) -> None:
        """Sends a statement; only when the session is not busy."""
        self.is_busy = True
        self._statements.put(text)

    def poll(self, seconds: float = 0.0) -> Answer | None:
        """The answer, if it has come; waits for it up to so many seconds."""
        try:
            answer = (
                self._answers.get(timeout=seconds) if seconds > 0 else self._answers.get_nowait()
            )
        except queue.Empty:
            return None
        self.is_busy = False
        if answer.is_lost and not self.is_gone:
            self.disconnect()
        return answer

    def ask(self, text: str) -> Answer:
        """Sends a statement that waits for nobody, and takes its answer."""
        self.send(text)
        answer = self.poll(ANSWER_S)
        if answer is None:
            raise TimeoutError(f"no answer to {text} within {ANSWER_S:g} s")
        return answer

    def reset(self) -> None:
        """Resets the connection as pools do; only when the session is not busy."""
        self._connection._execute_command(_RESET_CONNECTION, b"")
        self._connection._read_ok_packet()

    def disconnect(self) -> None:
        """Closes the connection without a word, as a client does that dies."""
        self.is_gone = True
        # As close() would send COM_QUIT, and that must not follow a statement under way.
        sock = getattr(self._connection, "_sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(2)

    def end(self) -> None:
        """Ends the thread and the connection; a statement under way is given up."""
        self._statements.put(None)
        if self.is_busy:
            self.disconnect()
        self._thread.join(10)

    def _serve(self) -> None:
        while (text := self._statements.get()) is not None:
            self._answers.put(_execute(self._connection, text))
        with contextlib.suppress(Exception):
            self._connection.close()


def _execute(connection: Any, text: str) -> Answer:
    import pymysql

    try:
        with connection.cursor() as cursor:
            changed = cursor.execute(text)
            if cursor.description is None:
                return Answer(changed=int(changed))
            return Answer(rows=tuple(cursor.fetchall()))
    except pymysql.MySQLError as error:
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        return Answer(number, str(error.args[-1] if error.args else error) or "lost")
    except Exception as error:
        # PyMySQL lets many kinds through when the socket is closed under it. Without an answer a
        # session would seem to run for ever.
        return Answer(0, f"lost: {error!r}")


class Watcher:
    """Reads again and again which connections of a server wait, while somebody wants to know."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connection = connect()
        self._wanted = 0
        self._changed = threading.Condition()
        # The latest readings: when each began, and who waited.
        self._readings: list[tuple[float, frozenset[int]]] = []
        self._ended = False
        self._failed = ""
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)
        self._thread.start()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(10)
        with contextlib.suppress(Exception):
            self._connection.close()

    def waiting(self, since: float) -> frozenset[int] | None:
        """Who has waited in all of the latest readings, which began after `since`.

        None while there are too few of them. Raises when the server can no longer be read.
        """
        with self._changed:
            if self._failed:
                raise ConnectionError(f"the server no longer answers: {self._failed}")
            latest = self._readings[-READINGS:]
        if len(latest) < READINGS or latest[0][0] < since:
            return None
        return frozenset.intersection(*(waits for _, waits in latest))

    @contextlib.contextmanager
    def watching(self) -> Any:
        """While this is open, the server is read."""
        with self._changed:
            self._wanted += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._wanted -= 1

    def _watch(self) -> None:
        import pymysql

        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted > 0 or self._ended)
                if self._ended:
                    return
            begun = time.monotonic()
            try:
                waits = self._read()
            except (pymysql.MySQLError, OSError) as error:
                with self._changed:
                    self._failed = str(error)
                return
            with self._changed:
                self._readings = [*self._readings[-READINGS:], (begun, waits)]
            time.sleep(READING_PAUSE_S)

    def _read(self) -> frozenset[int]:
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT ID, STATE, INFO FROM information_schema.PROCESSLIST")
            waits = {
                int(number)
                for number, state, text in cursor.fetchall()
                if is_wait(state or "", text or "")
            }
            # information_schema.INNODB_TRX is a copy that others may keep from being made anew.
            cursor.execute("SHOW ENGINE INNODB STATUS")
            waits.update(innodb_waits(cursor.fetchone()[2]))
        return frozenset(waits)


def is_wait(state: str, statement: str) -> bool:
    """Whether a state of the process list is that of a session that waits for another one.

    Whole tables are locked by LOCK TABLES, for which OPTIMIZE of a partitioned table waits, and for
    a moment where the server writes to tables of its own, such as mysql.proc.
    """
    if state == _WAITS_FOR_TABLE:
        return statement.startswith(("OPTIMIZE", "REPAIR"))
    return bool(_WAITS.match(state))


def innodb_waits(status: str) -> Iterable[int]:
    """The connections that wait for a row, from InnoDB's status text."""
    begin = status.find("LIST OF TRANSACTIONS FOR EACH SESSION")
    # Each transaction has lines of its own; the wait comes before the connection's number.
    for block in status[begin if begin >= 0 else 0 :].split("---TRANSACTION")[1:]:
        if found := _INNODB_WAITS.search(block):
            yield int(found[1])

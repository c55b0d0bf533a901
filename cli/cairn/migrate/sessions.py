"""The sessions of a migration: one command at a time, and no statement of a killed one left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cairn.errors import CairnError
from cairn.migrate.link import CONFLICTS, Session
from cairn.place import Place

RUN_LOCK = "cairn_migrate.run"
LARGEST_SESSION = 99
# A command that was killed leaves its session for as long as the server needs to notice.
NOTICE_S = 5.0
PATIENCE_S = 5
TRIES = 60


def lock_of(number: int) -> str:
    return f"cairn_migrate.session.{number}"


class Sessions:
    """Opens sessions that a later command recognizes as ours, by a lock that each holds."""

    def __init__(
        self, place: Place, *, binary_log: bool, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self.place = place
        self.binary_log = binary_log
        self.stopping = stopping

    @contextmanager
    def open(self, *, binary_log: bool | None = None) -> Iterator[Session]:
        session = Session(
            self.place, binary_log=self.binary_log if binary_log is None else binary_log
        )
        session.stopping = self.stopping
        try:
            for number in range(LARGEST_SESSION + 1):
                if session.value(f"SELECT GET_LOCK('{lock_of(number)}', 0)") == 1:
                    break
            else:
                raise CairnError("Too many sessions of migrations: use less tables at a time.")
            yield session
        finally:
            session.close()

    @contextmanager
    def quiet(self) -> Iterator[Session]:
        """A session for the state, which replicas do not need; logged where the rights are few."""
        with self.open() as session:
            session.allowed("SET SESSION sql_log_bin = 0")
            yield session


@contextmanager
def only_command(place: Place) -> Iterator[Session]:
    """Keeps other commands away while the block runs, and ends what a killed one has left."""
    session = Session(place)
    try:
        if session.value(f"SELECT GET_LOCK('{RUN_LOCK}', {NOTICE_S})") != 1:
            owner = session.value(f"SELECT IS_USED_LOCK('{RUN_LOCK}')")
            raise CairnError(
                f"Another migration runs on this server (connection {owner}): wait for it, or "
                "interrupt that command first."
            )
        _end_others(session)
        yield session
    finally:
        session.close()


def is_running(session: Session) -> int | None:
    """The connection of the command that runs now."""
    owner = session.value(f"SELECT IS_USED_LOCK('{RUN_LOCK}')")
    return None if owner is None else int(owner)


def _end_others(session: Session) -> None:
    """Ends the sessions of a killed command; a RENAME or ALTER of theirs may still wait."""
    for number in range(LARGEST_SESSION + 1):
        begun = time.monotonic()
        while (owner := session.value(f"SELECT IS_USED_LOCK('{lock_of(number)}')")) is not None:
            _kill(session, int(owner))
            if time.monotonic() - begun > 600:
                raise CairnError(
                    f"Connection {owner} of an earlier migration does not end: KILL {owner}, wait "
                    "until SHOW PROCESSLIST has it no more, then try again."
                )
            time.sleep(0.05)


def _kill(session: Session, owner: int) -> None:
    import pymysql

    try:
        session.execute(f"KILL {owner}")
    except pymysql.MySQLError as error:
        if error.args[0] != 1094:  # There is no such connection any more.
            raise


def patiently(session: Session, text: str, tries: int = TRIES) -> None:
    """Runs a statement that waits for clients' transactions, in short turns.

    While a statement waits for a table, clients wait behind it; so it gives up after some seconds,
    lets them pass and tries again.
    """
    import pymysql

    session.execute(f"SET SESSION lock_wait_timeout = {PATIENCE_S}")
    try:
        for attempt in range(tries):
            try:
                session.execute(text)
                return
            except pymysql.MySQLError as error:
                if error.args[0] not in CONFLICTS:
                    raise
                if attempt == tries - 1:
                    raise CairnError(
                        f"The table is not to be had: {error.args[1]}. Some transaction has used "
                        f"it for minutes (SHOW PROCESSLIST); end it, then --resume. It was: {text}"
                    ) from error
            session.rest(min(2.0, 0.1 * (attempt + 1)))
    finally:
        session.execute("SET SESSION lock_wait_timeout = 60")

"""Keeping writers out, and the exchange of names that makes shadows the tables."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cairn.errors import CairnError
from cairn.migrate.link import Session, is_lost, literal, name
from cairn.migrate.schema import sql_of, text_of
from cairn.migrate.sessions import Sessions, patiently
from cairn.migrate.shadows import former_of, shadow_of
from cairn.migrate.state import Entry
from cairn.migrate.triggers import gate
from cairn.migrate.ways import Way

# How long the exchange waits for those who read the tables; meanwhile clients wait behind it.
ONLINE_S = 20
# When rows were copied under a lock, to give up is to copy them again.
HELD_S = 600


class WaitedTooLong(CairnError):
    """The exchange did not get the tables; nothing has changed."""


@contextmanager
def writers_kept_out(sessions: Sessions, entries: list[Entry]) -> Iterator[Session]:
    """Locks tables against writers, once their transactions have ended; others may read.

    Gives the session that holds the locks: UNLOCK TABLES there lets writers in. LOCK TABLES … READ
    would not do: on ROCKSDB it keeps statements away, but not the commit of a transaction that has
    written before. FLUSH TABLES takes metadata locks, which transactions hold to their ends.
    """
    with sessions.open() as session:
        tables = sorted(entry.table for entry in entries)
        patiently(session, f"FLUSH TABLES {', '.join(map(sql_of, tables))} WITH READ LOCK")
        # A prepared transaction whose client has gone holds no lock on its tables.
        if prepared := session.rows("XA RECOVER"):
            raise CairnError(
                f"{len(prepared)} prepared XA transactions are there, whose changes a copy would "
                "miss: end them (XA RECOVER lists them), then --resume."
            )
        yield session


def exchange(sessions: Sessions, session: Session, holder: Session, entries: list[Entry]) -> None:
    """Renames tables and shadows in one statement, and no writer comes in between.

    The statement is sent while `holder` keeps writers out. It waits at the first table; where it
    comes to wait, it goes before any writer. At the others writers may be let in a moment before:
    the gate, which the same session holds, makes their statements fail (triggers.guarding).
    """
    waits = ONLINE_S if entries[0].way is Way.ONLINE else HELD_S
    with sessions.open() as renamer:
        renamer.execute(f"SET SESSION lock_wait_timeout = {waits}")
        gate_name = gate(entries[0].set_number)
        if renamer.value(f"SELECT GET_LOCK({literal(gate_name)}, 10)") != 1:
            raise CairnError(f"The lock {gate_name} is taken: somebody else's migration uses it.")
        errors: list[Exception] = []
        thread = threading.Thread(target=_rename, args=(renamer, entries, errors), daemon=True)
        thread.start()
        _wait_until_it_waits(session, renamer.id, thread)
        holder.execute("UNLOCK TABLES")
        thread.join()
        if errors:
            _explain(errors[0], entries, waits)


def rename_statement(entries: list[Entry]) -> str:
    pairs = [
        f"{sql_of(entry.table)} TO {sql_of(former_of(entry))}, "
        f"{sql_of(shadow_of(entry))} TO {sql_of(entry.table)}"
        for entry in entries
    ]
    return "RENAME TABLE " + ", ".join(pairs)


def _rename(renamer: Session, entries: list[Entry], errors: list[Exception]) -> None:
    try:
        renamer.execute(f"USE {name(entries[0].table[0])}")
        renamer.execute(rename_statement(entries))
    except Exception as error:  # Told by the thread that waits for this one.
        errors.append(error)


def _wait_until_it_waits(session: Session, connection: int, thread: threading.Thread) -> None:
    """Until the statement waits for the tables, or has ended."""
    while thread.is_alive():
        state = session.value(
            f"SELECT state FROM information_schema.processlist WHERE id = {connection}"
        )
        if state and "metadata lock" in str(state):
            return
        time.sleep(0.002)


def _explain(error: Exception, entries: list[Entry], waits: int) -> None:
    names = ", ".join(text_of(entry.table) for entry in entries)
    if is_lost(error) or not error.args:
        raise error
    if error.args[0] in (1205, 1213):
        raise WaitedTooLong(
            f"{names}: the exchange of names has waited {waits} s for statements that read the "
            "tables, and given up; nothing has changed. End them (SHOW PROCESSLIST), then --resume."
        ) from error
    raise CairnError(f"{names}: the exchange of names failed: {error.args[-1]}") from error

"""The commands beside a migration: status, pause, resume, abandon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cairn.errors import CairnError
from cairn.migrate import schema, shadows
from cairn.migrate.link import Session
from cairn.migrate.schema import Selection, text_of
from cairn.migrate.sessions import is_running, only_command, patiently
from cairn.migrate.state import Entry, Phase, State
from cairn.place import Place
from cairn.report import say


@contextmanager
def _session(place: Place) -> Iterator[Session]:
    session = Session(place)
    try:
        yield session
    finally:
        session.close()


def status(place: Place) -> dict[str, Any]:
    """How far the migration is, for scripts; `running` is the command's connection or null."""
    with _session(place) as session:
        state = State(session)
        if not state.exists():
            return {"migration": False, "running": is_running(session), "tables": []}
        return {
            "migration": True,
            "running": is_running(session),
            "paused": state.paused(),
            "options": state.options(),
            "tables": [
                {
                    "schema": entry.table[0],
                    "table": entry.table[1],
                    "set": entry.set_number,
                    "way": entry.way.value,
                    "phase": entry.phase.value,
                    "rows_expected": entry.rows_expected,
                    "rows_copied": entry.rows_copied,
                    "compared": entry.checksum,
                    "error": entry.error,
                }
                for entry in state.entries()
            ],
        }


def show_status(found: dict[str, Any]) -> None:
    if not found["migration"]:
        say("There is no migration.")
        return
    how = "paused" if found["paused"] else "under way"
    who = (
        f"its command runs (connection {found['running']})"
        if found["running"]
        else "no command runs: go on with run --resume"
    )
    say(f"Migration to {found['options']['target'].upper()}: {how}; {who}.")
    for table in found["tables"]:
        rows = f"{table['rows_copied']:,} of about {table['rows_expected']:,} rows"
        say(
            f"  {table['schema']}.{table['table']:<30} set {table['set']:<3} {table['way']:<7} "
            f"{table['phase']:<9} {rows}{', ' + table['compared'] if table['compared'] else ''}"
        )


def set_paused(place: Place, paused: bool) -> None:
    with _session(place) as session:
        state = State(session)
        if not state.exists():
            raise CairnError("There is no migration: begin one with run.")
        session.allowed("SET SESSION sql_log_bin = 0")
        state.set_paused(paused)
        running = is_running(session)
    if paused:
        say(
            "Paused. Online copies rest after their present piece, and triggers go on carrying "
            "changes; a set whose writers wait is completed first."
        )
    elif running:
        say("Goes on.")
    else:
        say("No longer paused, but no command runs: go on with run --resume.")


def abandon(place: Place) -> None:
    """Gives a migration up: what is not converted stays as it is, and nothing of ours is left."""
    with only_command(place) as session:
        state = State(session)
        if not state.exists():
            state.remove()  # What a kill at the very beginning or end has left of the schema.
            raise CairnError("There is no migration to abandon; nothing of ours is left.")
        options = state.options()
        session.allowed("SET SESSION sql_log_bin = 0")
        with _session(place) as worker:
            if options.get("no_binlog"):
                worker.execute("SET SESSION sql_log_bin = 0")
            done, undone = _give_up(worker, state.entries(), str(options["target"]))
        state.remove()
    engine = str(options["target"]).upper()
    say(
        f"Abandoned: {done} tables are {engine}, {undone} are as they were; nothing of ours is "
        "left."
    )


def _give_up(session: Session, entries: list[Entry], target: str) -> tuple[int, int]:
    """The numbers of tables that are converted and that are not."""
    engines = schema.engines(session)
    done = undone = 0
    for entry in entries:
        converted = engines.get(entry.table) == target
        done, undone = done + converted, undone + (not converted)
        if entry.phase is Phase.DONE:
            continue
        if shadows.former_of(entry) in engines:
            if not converted:
                raise CairnError(
                    f"{text_of(entry.table)} is not converted, but "
                    f"{text_of(shadows.former_of(entry))} is there: it has its rows. Rename it "
                    "back by hand; nothing has been dropped."
                )
            patiently(session, f"DROP TABLE {schema.sql_of(shadows.former_of(entry))}")
        if entry.table in engines and not converted:
            table = schema.read(session, Selection((), (entry.table,)))[0]
            shadows.undo(session, entry, table)
        elif shadows.shadow_of(entry) in engines:
            session.execute(f"DROP TABLE {schema.sql_of(shadows.shadow_of(entry))}")
    return done, undone

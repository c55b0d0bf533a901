"""Statements that change definitions."""

from __future__ import annotations

import time

import pymysql

from cairn.scratch_server import ENGINE_DIRECTORY
from tests.faults.statements import ADDED_INDEXES
from tests.faults.trial import Trial

# What a drop that is made again may find: it is done now, or was done before.
GONE = (0, 1008, 1051)

# What the removal of indexes may take on a busy machine, in seconds.
REMOVAL_S = 120.0


def change(trial: Trial, back: tuple[str, ...]) -> None:
    """A definition that fails is as it was, and can be made the next time; `back` undoes it."""
    if trial.is_of_locks:
        return
    made = trial.session.definitions()
    trial.execute()
    if trial.call is None:
        if trial.number != 0:
            trial.error_is_a_problem()
        else:
            _take_back(trial, back)
        return
    if trial.number == 0:
        # Its work was done otherwise, or need not be done now.
        _take_back(trial, back)
    elif trial.number == 1005:
        # The server words some by itself, and has the engine's words behind.
        warnings = {int(row[1]) for row in trial.session.rows("SHOW WARNINGS")}
        if not warnings & trial.outcome.numbers:
            trial.error_is_a_problem()
    else:
        trial.require_number(1030)
    _require_as_it_was(trial, made)
    if trial.kind in (kind for kind, _ in ADDED_INDEXES):
        _require_no_build(trial)


def kill(trial: Trial, back: tuple[str, ...]) -> None:
    """KILL QUERY while a call is under way: 1317 and nothing is left, or the change is made."""
    made = trial.session.definitions()
    trial.execute_and_kill()
    if trial.number == 0:
        _take_back(trial, back)
    elif trial.call is None:
        trial.error_is_a_problem()
    _require_as_it_was(trial, made)
    _require_no_build(trial)


def drop(trial: Trial, back: tuple[str, ...]) -> None:
    """A drop that fails can be made again, and leaves nothing in the way of the name."""
    if trial.is_of_locks:
        return
    made = trial.session.definitions()
    trial.execute()
    if trial.call is None and trial.number != 0:
        trial.error_is_a_problem()
    else:
        trial.require_number(0, 1030)
    if trial.number != 0:
        number, text, _ = trial.session.error_of(trial.kind.statement)
        if number not in GONE:
            trial.problem(f"again: error {number} ({text})")
    _take_back(trial, back)
    _require_as_it_was(trial, made)


def _require_as_it_was(trial: Trial, made: list[str]) -> None:
    trial.require_as_it_was()
    try:
        found = trial.session.definitions()
    except pymysql.MySQLError as error:
        trial.problem(f"then {error}")
        return
    if changed := [text for text in found if text not in made]:
        trial.problem(f"another definition is there: {changed}")


def _require_no_build(trial: Trial) -> None:
    """No index is being built, and what was made of one goes: entries, marks and files."""
    if builds := trial.session.rows("SELECT * FROM information_schema.CAIRN_INDEX_BUILDS"):
        trial.problem(f"a build goes on: {builds}")
    if files := sorted((trial.rig.server.data / ENGINE_DIRECTORY).glob("*.tmp")):
        trial.problem(f"files are left: {files}")
    marks = "SELECT NAME FROM information_schema.ROCKSDB_GLOBAL_INFO WHERE TYPE LIKE 'DDL%ONGOING'"
    limit = time.monotonic() + REMOVAL_S
    while left := trial.session.rows(marks):
        if time.monotonic() > limit:
            trial.problem(f"indexes are left: {left}")
            return
        # Without it the removal of what others have dropped may begin a minute later.
        trial.require_success("SET GLOBAL rocksdb_signal_drop_index_thread = 1")
        time.sleep(0.05)


def _take_back(trial: Trial, back: tuple[str, ...]) -> None:
    for statement in back:
        trial.require_success(statement)

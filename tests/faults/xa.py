"""XA: statements within a branch, its end, and the decision about a prepared one by its name."""

from __future__ import annotations

import time

from tests.faults.outcomes import COMMIT_FAILED, ENGINE_ERROR
from tests.faults.session import Session
from tests.faults.trial import Trial

_START = "XA START 'f'"
_ROLLED_BACK = 1402
_FAILED = 1401


def statement(trial: Trial) -> None:
    """A statement that fails leaves the branch as it was, or ends it."""
    trial.begin(_START)
    trial.execute()
    if trial.call is None:
        if trial.number:
            trial.error_is_a_problem()
    else:
        trial.require_number()
        if not trial.outcome.ends_transaction:
            trial.require_told()
    trial.session.error_of("XA END 'f'")
    trial.require_success("XA ROLLBACK 'f'")
    trial.require_undone()


def end(trial: Trial) -> None:
    """A branch that cannot be prepared or committed is undone, and nobody finds it."""
    if trial.is_of_locks:
        return
    session = trial.session
    trial.begin(_START)
    trial.execute()
    if trial.call is None:
        if trial.number:
            trial.error_is_a_problem()
        if session.rows("XA RECOVER"):
            session.rows("XA ROLLBACK 'f'")
        elif (trial.rig.marker,) not in session.rows("SELECT * FROM marker"):
            trial.problem("the branch is not committed")
        trial.restore()
        return
    if trial.number == 0:
        trial.problem("no error")
        session.error_of("XA ROLLBACK 'f'")
    else:
        trial.require_number(_ROLLED_BACK, COMMIT_FAILED, 1030)
    if session.rows("XA RECOVER"):
        trial.problem("the branch is prepared")
    trial.require_undone()


def end_by_name(trial: Trial) -> None:
    """A prepared branch that cannot be ended is there, and can be ended the next time."""
    if trial.is_of_locks:
        return
    session = trial.session
    _leave_prepared(trial)
    trial.execute()
    if trial.call is not None:
        warnings = {int(row[1]) for row in session.rows("SHOW WARNINGS")}
        if trial.number != _FAILED or ENGINE_ERROR not in warnings:
            trial.problem(f"error {trial.number} ({trial.text}), {warnings}")
        if [row[3] for row in session.rows("XA RECOVER")] != [b"f"]:
            trial.problem("the branch is gone")
        trial.require_success(trial.kind.statement)
    elif trial.number:
        trial.error_is_a_problem()
    found = session.content()
    is_there = (trial.rig.marker,) in found.pop("marker")
    commits = trial.kind.statement.startswith("XA COMMIT")
    if is_there != commits or (found["t"] != trial.wanted["t"]) != commits:
        trial.problem("the decision is not what was asked")
    for part, rows in found.items():
        if part not in ("t", "t by k") and rows != trial.wanted[part]:
            trial.problem(f"{part} is not as it was")
    trial.restore()


def _leave_prepared(trial: Trial) -> None:
    """Has a session prepare a branch and go."""
    owner = Session(trial.rig.server)
    trial.begin(_START, owner)
    owner.close()
    left = f"SELECT 1 FROM information_schema.processlist WHERE id = {owner.id}"
    while trial.session.rows(left):
        time.sleep(0.001)

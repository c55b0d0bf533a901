"""Statements in transactions, commits, and statements that are killed."""

from __future__ import annotations

from tests.faults.outcomes import COMMIT_FAILED, KILLED
from tests.faults.session import comparable
from tests.faults.statements import READS
from tests.faults.trial import Trial


def statement(trial: Trial) -> None:
    """A statement that fails is undone; its transaction is what the client was told of it."""
    session, kind = trial.session, trial.kind
    is_read = kind in READS
    is_handler = kind.statement.startswith("HANDLER")
    changed = None
    if trial.rig.in_files and not is_read:
        # What the statement makes of the tables, without a fault.
        trial.begin()
        session.rows(kind.statement)
        changed = comparable(session.content())
        session.rows("ROLLBACK")
    trial.begin()
    right = sorted(session.rows(kind.statement), key=repr) if is_read else []
    rows = trial.execute()
    if trial.call is None:
        if trial.number:
            trial.error_is_a_problem()
    else:
        if trial.number:
            trial.require_number()
        elif is_read:
            if not is_handler and sorted(rows, key=repr) != right:
                trial.problem("no error, and other rows")
        elif changed is None:
            trial.problem("no error")
        elif comparable(session.content()) != changed:
            # It has read again, or not for its own sake.
            trial.problem("no error, and other rows")
        trial.require_told()
    if is_handler:
        session.rows("HANDLER t CLOSE")
    session.rows("ROLLBACK")


def end(trial: Trial) -> None:
    """A transaction that cannot be committed is an error, and all of it is undone."""
    if trial.is_of_locks:
        return
    trial.begin()
    trial.execute()
    if trial.call is None:
        trial.session.rows("ROLLBACK")
        trial.restore()
        return
    if trial.number == 0:
        trial.problem("no error")
    else:
        trial.require_number(COMMIT_FAILED, 1030)
    trial.require_undone()


def kill(trial: Trial) -> None:
    """KILL QUERY while a call is under way: the statement ends with 1317, or as ever."""
    session = trial.session
    trial.begin()
    trial.execute_and_kill()
    if trial.call is not None and trial.number == KILLED:
        trial.require_told()
    if trial.kind.statement.startswith("HANDLER"):
        session.error_of("HANDLER t CLOSE")
    session.rows("ROLLBACK")

"""Statements that change definitions."""

from __future__ import annotations

from tests.faults.trial import Trial

# What a drop that is made again may find: it is done now, or was done before.
GONE = (0, 1008, 1051)


def change(trial: Trial, back: tuple[str, ...]) -> None:
    """A definition that fails is as it was, and can be made the next time; `back` undoes it."""
    if trial.is_of_locks:
        return
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
    trial.require_as_it_was()


def drop(trial: Trial, back: tuple[str, ...]) -> None:
    """A drop that fails can be made again, and leaves nothing in the way of the name."""
    if trial.is_of_locks:
        return
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
    trial.require_as_it_was()


def _take_back(trial: Trial, back: tuple[str, ...]) -> None:
    for statement in back:
        trial.require_success(statement)

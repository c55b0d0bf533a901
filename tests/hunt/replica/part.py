"""The part `replica`: random binary logs, applied by a replica and by mariadb-binlog."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from tests.hunt.part import Context, Finding, Part
from tests.hunt.replica.load import Load, Transaction, random_load
from tests.hunt.replica.rig import Outcome, Rig
from tests.hunt.shorten import shorten

AGAIN = 3
SHRINK_S = 90.0
SHORT_SHRINK_S = 6.0


def confirm_and_shrink(
    play: Callable[[Load], Outcome], load: Load, title: str, is_over: Callable[[], bool]
) -> tuple[Load, Outcome] | None:
    """The shortest load found that has the fault; None when the fault does not show again."""
    shown: dict[tuple[Transaction, ...], Outcome] = {}

    def shows(transactions: Sequence[Transaction]) -> bool:
        candidate = replace(load, transactions=tuple(transactions))
        for _ in range(AGAIN):
            outcome = play(candidate)
            if outcome.title == title:
                shown[candidate.transactions] = outcome
                return True
        return False

    if not shows(load.transactions):
        return None
    transactions = shorten(load.transactions, shows, is_over)
    # Then the statements of what is left, each transaction's in its place.
    statements = [
        (number, statement)
        for number, transaction in enumerate(transactions)
        for statement in transaction
    ]

    def grouped(kept: Sequence[tuple[int, str]]) -> list[Transaction]:
        groups = [
            tuple(statement for at, statement in kept if at == number)
            for number in range(len(transactions))
        ]
        return [group for group in groups if group]

    kept = shorten(statements, lambda items: shows(grouped(items)), is_over)
    final = replace(load, transactions=tuple(grouped(kept)))
    return final, shown[final.transactions]


def run(context: Context) -> None:
    """A load each round, until the context is over."""
    with ExitStack() as stack:
        rig = Rig(context, stack)
        for number, chance in context.rounds():
            _round(context, rig, number, chance)


def _round(context: Context, rig: Rig, number: int, chance: random.Random) -> None:
    load = random_load(chance, number)
    outcome = rig.play(load)
    context.count("transactions", len(load.transactions))
    context.count("statements", outcome.statements)
    context.count("refused", outcome.refused)
    context.count("applied again", outcome.retried)
    context.progress(load.mode)
    if not outcome.title or context.is_known(outcome.title):
        return
    until = time.monotonic() + (SHORT_SHRINK_S if context.short else SHRINK_S)
    shrunk = confirm_and_shrink(rig.play, load, outcome.title, lambda: time.monotonic() > until)
    if shrunk is None:
        # A log that stops a replica once is a fault, whoever meets it.
        context.found(Finding(f"{outcome.title} (once)", load.text(), outcome.details))
        return
    load, outcome = shrunk
    context.found(Finding(outcome.title, load.text(), outcome.details))


PART = Part(
    "replica",
    "a replica and mariadb-binlog beside random changes",
    run,
    short_s=40.0,
    short_rounds=8,
)

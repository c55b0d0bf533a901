"""The part `sessions`: scripts of two and three sessions, judged and compared with InnoDB."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace

from tests.hunt.part import Context, Finding, Part
from tests.hunt.sessions.compare import (
    Difference,
    first_choice_apart,
    first_difference,
    first_race,
    reason_of,
    rows_differ,
)
from tests.hunt.sessions.generate import random_script
from tests.hunt.sessions.judge import Complaint, judge
from tests.hunt.sessions.script import Record, Step
from tests.hunt.sessions.storm import random_storm
from tests.hunt.sessions.tables import KINDS, Kind
from tests.hunt.shorten import shorten
from tests.hunt.stage import (
    AGAIN,
    SHORT_SHRINK_S,
    SHRINK_S,
    WORKERS,
    Case,
    Stage,
    Verdict,
    plays,
    told,
)

SCRIPTS_OF_A_ROUND = 5 * WORKERS


def verdict_of(ours: Record, theirs: Record) -> Verdict:
    """Judges our record, then compares it with InnoDB's."""
    difference = first_difference(ours, theirs)
    differ = "" if difference else rows_differ(ours, theirs)
    on_purpose = difference is not None and reason_of(difference) is not None
    if difference or differ:
        shows_at = difference.position if difference else len(ours.events)
        on_purpose = on_purpose or first_choice_apart(ours, theirs) <= shows_at
    # What InnoDB does as well is no fault of ours: the server's, or the judge's own.
    excused = {complaint.kind for complaint in judge(theirs)}

    def verdict(title: str = "", details: str = "") -> Verdict:
        return Verdict(
            title,
            details,
            on_purpose,
            sum(event.waited for event in ours.events),
            sum(bool(event.answer.error) for event in ours.events),
            bool(excused),
            not difference and min(first_race(ours), first_race(theirs)) <= len(ours.events),
        )

    complaints = [each for each in judge(ours) if each.kind not in excused]
    if complaints:
        return verdict(complaints[0].kind, _details(complaints, ours, difference))
    if difference and not on_purpose:
        return verdict(difference.title, f"{difference.text()}\n{_told(ours)}")
    if differ and not on_purpose:
        return verdict("tables differ from InnoDB's", f"{differ}\n{_told(ours)}")
    return verdict()


def _details(complaints: list[Complaint], ours: Record, difference: Difference | None) -> str:
    lines = [complaint.text for complaint in complaints]
    if difference:
        lines.append(f"InnoDB went another way {difference.text()}")
    return "\n".join([*lines, _told(ours)])


def _told(record: Record) -> str:
    return "\n".join(
        [told(record), *(f"  at the end, {table}: {logs}" for table, logs in record.logs.items())]
    )


def storm_verdict(record: Record) -> tuple[str, str]:
    """A title and details; both are empty when nothing is wrong."""
    complaints = judge(record)
    if not complaints:
        return "", ""
    first = [each.text for each in complaints if each.kind == complaints[0].kind][:5]
    return f"free sessions: {complaints[0].kind}", "\n".join(first)


def _storm(context: Context, stage: Stage, chance: random.Random, kind: Kind) -> None:
    """Sessions that repeat a few statements freely; what they find is shrunk."""
    storm = random_storm(chance, kind)
    record = stage.storm(storm)
    context.count("free sessions", len(record.script.sessions))
    context.count("their statements", len(record.events))
    title, details = storm_verdict(record)
    if not title or context.is_known(title):
        return
    until = time.monotonic() + (SHORT_SHRINK_S if context.short else SHRINK_S)
    shown = {storm.steps: details}

    def shows(steps: Sequence[Step]) -> bool:
        for _ in range(AGAIN if steps else 0):
            found, how = storm_verdict(stage.storm(replace(storm, steps=tuple(steps))))
            if found == title:
                shown[tuple(steps)] = how
                return True
        return False

    # What came once is a fault: nothing here depends on what waits, or on another engine.
    kept = tuple(shorten(storm.steps, shows, lambda: time.monotonic() > until))
    context.found(Finding(title, replace(storm, steps=kept).text(), shown[kept]))


def run(context: Context) -> None:
    """Plays rounds of scripts until the context is over."""
    with plays(context, "interleavings") as playing:
        for number, chance in context.rounds():
            first = (number - 1) * SCRIPTS_OF_A_ROUND
            playing.batch(
                [
                    # Each kind of table in turn.
                    Case(
                        random_script(
                            random.Random(chance.random()), KINDS[(first + i) % len(KINDS)]
                        ),
                        verdict_of,
                    )
                    for i in range(SCRIPTS_OF_A_ROUND)
                ]
            )
            _storm(context, playing.stage, chance, KINDS[number % len(KINDS)])


PART = Part(
    "sessions",
    "sessions that meet, in scripted interleavings, beside InnoDB",
    run,
    short_s=30.0,
    short_rounds=4,
)

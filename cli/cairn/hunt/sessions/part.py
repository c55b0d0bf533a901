"""The part `sessions`: scripts of two and three sessions, judged and compared with InnoDB."""

from __future__ import annotations

import random

from cairn.hunt.part import Context, Part
from cairn.hunt.sessions.compare import Difference, first_difference, reason_of, rows_differ
from cairn.hunt.sessions.generate import random_script
from cairn.hunt.sessions.judge import Complaint, judge
from cairn.hunt.sessions.script import Record
from cairn.hunt.sessions.tables import KINDS
from cairn.hunt.stage import WORKERS, Case, Verdict, plays, told

SCRIPTS_OF_A_ROUND = 5 * WORKERS


def verdict_of(ours: Record, theirs: Record) -> Verdict:
    """Judges our record, then compares it with InnoDB's."""
    difference = first_difference(ours, theirs)
    reason = reason_of(difference) if difference else None
    # What InnoDB does as well is no fault of ours: the server's, or the judge's own.
    excused = {complaint.kind for complaint in judge(theirs)}

    def verdict(title: str = "", details: str = "") -> Verdict:
        return Verdict(
            title,
            details,
            reason is not None,
            sum(event.waited for event in ours.events),
            sum(bool(event.answer.error) for event in ours.events),
            bool(excused),
        )

    complaints = [each for each in judge(ours) if each.kind not in excused]
    if complaints:
        return verdict(complaints[0].kind, _details(complaints, ours, difference))
    if difference and not reason:
        return verdict(difference.title, f"{difference.text()}\n{_told(ours)}")
    if not difference and (differ := rows_differ(ours, theirs)):
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


PART = Part(
    "sessions",
    "sessions that meet, in scripted interleavings, beside InnoDB",
    run,
    short_s=30.0,
    short_rounds=4,
)

"""The part `definitions`: statements that change definitions, beside open readers and writers."""

from __future__ import annotations

import random

from tests.hunt.definitions.pairs import (
    Pair,
    PairPlayer,
    all_pairs,
    difference,
    is_the_server_s,
    judge_pair,
    make,
    not_refused,
    race_of,
    tables_differ,
)
from tests.hunt.part import Context, Part
from tests.hunt.sessions.script import Record
from tests.hunt.stage import WORKERS, Case, Verdict, plays, told

PAIRS_OF_A_ROUND = 6 * WORKERS


def verdict_of(pair: Pair, ours: Record, theirs: Record) -> Verdict:
    """Judges what old snapshots were given, and compares the rest with InnoDB."""
    complaints = judge_pair(ours, pair)
    excused = judge_pair(theirs, pair)
    differs, how = difference(ours, theirs, pair)

    def verdict(title: str = "", details: str = "") -> Verdict:
        head = f"{pair.name}, table: {pair.kind.name}"
        return Verdict(
            title,
            f"{head}\n{details}\n{told(ours)}",
            waits=sum(event.waited for event in ours.events),
            errors=sum(bool(event.answer.error) for event in ours.events),
            innodb_is_wrong=bool(excused),
            is_cut=not title and race_of(ours, theirs) <= len(ours.events),
        )

    if unrefused := not_refused(ours, pair):
        return verdict(unrefused[0].kind, unrefused[0].text)
    # InnoDB's old snapshots are no measure, its tables and answers are.
    if complaints and not (excused and is_the_server_s(ours, theirs, pair)):
        return verdict(complaints[0].kind, "\n".join(each.text for each in complaints))
    if differs:
        return verdict(f"{differs}: {pair.name}", how)
    if rows := tables_differ(ours, theirs):
        return verdict(f"tables differ from InnoDB's: {pair.name}", rows)
    return verdict()


def run(context: Context) -> None:
    """Plays pairs in a random order, each at most once, again in another order when all are."""
    with plays(context, "pairs", PairPlayer) as playing:
        for number, chance in context.rounds():
            playing.batch([_case(context.seed, number, i, chance) for i in range(PAIRS_OF_A_ROUND)])


def _case(seed: int, number: int, i: int, chance: random.Random) -> Case:
    pairs = all_pairs()
    index = (number - 1) * PAIRS_OF_A_ROUND + i
    # The same order for all rounds until each pair has had its turn.
    random.Random(f"{seed} {index // len(pairs)}").shuffle(pairs)
    pair = pairs[index % len(pairs)]
    return Case(
        make(pair, random.Random(chance.random())),
        lambda ours, theirs: verdict_of(pair, ours, theirs),
    )


PART = Part(
    "definitions",
    "changes of definitions beside open readers and writers, old snapshots",
    run,
    short_s=35.0,
    short_rounds=1,
)

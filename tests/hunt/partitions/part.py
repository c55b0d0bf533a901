"""The part `partitions`: partition maintenance beside writers, with kills; nothing is lost."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from random import Random

from tests.hunt.part import Context, Finding, Part
from tests.hunt.partitions.memory_group import MemoryGroup
from tests.hunt.partitions.rig import Plan, Rig, ServerGap

# Of one data directory; the next round begins with an empty one.
KILLS = 10
SHORT_KILLS = 6


def run(context: Context) -> None:
    """Kills one server after the other until the context is over."""
    with ExitStack() as stack:
        group: MemoryGroup | None = None
        try:
            group = stack.enter_context(MemoryGroup())
        except OSError as error:
            context.phase.note(f"no control group for memory can be made: kill -9 alone ({error})")
        for _, chance in context.rounds():
            _series(context, chance, group)
    if context.plugin == "stock" and not context.figures["failures of the stock plug-in"]:
        context.found(
            Finding(
                "the control did not fail",
                "",
                "The stock plug-in kept all promises in this time, so that this run shows little.",
            )
        )


def _series(context: Context, chance: Random, group: MemoryGroup | None) -> None:
    """Kills of one data directory, up to the first difference."""
    stock = context.plugin == "stock"
    library = context.mariadb.stock_plugin if stock else None
    with Rig(
        context.mariadb,
        context.directory / f"server-{context.round}",
        group=group,
        library=library,
    ) as rig:
        for number in range(SHORT_KILLS if context.short else KILLS):
            plan = Plan.of(chance)
            if context.short:
                plan = replace(plan, out_of_memory=number % 2 == 1)
            try:
                wrong = _kill(context, rig, plan)
            except ServerGap as gap:
                context.count("gaps of the server")
                context.progress(str(gap))
                return
            if wrong and stock:
                context.count("failures of the stock plug-in")
                context.phase.note(f"round {context.round}, kill {number + 1}: {wrong[0]}"[:300])
                return
            if wrong:
                _tell(context, rig, plan, number + 1, wrong)
                return
            if context.is_over() and not context.short:
                return
    # What a round leaves is only of use when it found something.
    rig.remove()


def _kill(context: Context, rig: Rig, plan: Plan) -> list[str]:
    try:
        acknowledged, wrong = rig.kill(plan)
        context.count("statements and transactions", acknowledged)
    except ServerGap:
        raise
    except Exception as error:
        # Whatever a check stumbles over is what this looks for.
        wrong = [f"{type(error).__name__}: {error}"]
        if not rig.server.is_alive():
            wrong.append(rig.server.excerpt())
    context.count("kills", 2 if plan.second_kill_s is not None else 1)
    if plan.out_of_memory and rig.group is not None:
        context.count("of them by the kernel")
    context.progress()
    return wrong


def _tell(context: Context, rig: Rig, plan: Plan, number: int, wrong: list[str]) -> None:
    context.found(
        Finding(
            # Numbers differ each time, and a kind is reported once.
            f"after a kill: {re.sub(r'[0-9]+', 'N', wrong[0])}",
            "",
            "\n".join(
                [
                    *wrong,
                    f"Kill {number} of the round: {plan}",
                    *(
                        f"Maintainer {each.number}: {each.statement[:200]}"
                        for each in rig.maintainers
                    ),
                    f"What clients were told: {rig.directory / 'acknowledged.log'}",
                ]
            ),
        )
    )


PART = Part(
    "partitions",
    "partition maintenance beside writers, with kills: nothing lost, definitions agree",
    run,
    short_s=20.0,
    short_rounds=1,
    accepts=frozenset({"plugin"}),
)

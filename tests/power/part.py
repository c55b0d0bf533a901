"""The part `power`: what was acknowledged at durability 1 is there after a power cut."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from cairn.scratch_server import remove
from tests.hunt.part import Context, Finding, Part
from tests.power.disk import build
from tests.power.rig import Plan, Rig

# Of one data directory; the next round begins with an empty one.
CUTS = 8
SHORT_CUTS = 6
# Of a control in which nothing is lost: the machine then sees nothing.
CONTROL_CUTS = 4


def run(context: Context) -> None:
    """Cuts the power of one server after the other until the context is over."""
    build(context.phase)
    for number, chance in context.rounds():
        _series(context, chance)
        if number == 1 and context.only_round is None and context.durability == 1:
            _control(context, chance)
    if context.durability != 1 and not context.figures["losses"]:
        context.found(_blind())


def _series(context: Context, chance: Random) -> None:
    """Cuts of one data directory, up to the first difference."""
    directory = context.directory / f"power-{context.round}"
    with Rig(context.mariadb, directory, context.durability) as rig:
        for number in range(SHORT_CUTS if context.short else CUTS):
            plan = Plan.of(chance)
            gaps, refused = rig.gaps, rig.refused
            wrong = _cut(context, rig, plan)
            context.count("gaps of the server", rig.gaps - gaps)
            context.count("starts with recovery mode 2", rig.refused - refused)
            if wrong and context.durability != 1:
                context.count("losses")
                break
            if wrong:
                _tell(context, rig, plan, number + 1, wrong)
                return
            if context.is_over() and not context.short:
                break
    # What a round leaves is only of use when it found something.
    remove(directory / "server")
    remove(directory)


def _cut(context: Context, rig: Rig, plan: Plan) -> list[str]:
    try:
        acknowledged, wrong = rig.cut(plan)
        context.count("transactions", acknowledged)
    except Exception as error:
        # Whatever a check stumbles over is what this looks for.
        wrong = [f"{type(error).__name__}: {error}"]
        if not rig.server.is_alive():
            wrong.append(rig.server.excerpt())
    context.count("cuts", 2 if plan.second_cut_s is not None else 1)
    context.progress()
    return wrong


def _control(context: Context, chance: Random) -> None:
    """Without syncs at commits the same machine must see a loss."""
    with Rig(context.mariadb, context.directory / "control", durability=2) as rig:
        for _ in range(CONTROL_CUTS):
            plan = replace(Plan.of(chance), loss="everything", second_cut_s=None, load_s=0.5)
            _, wrong = rig.cut(plan)
            context.count("control cuts")
            if any("lost" in text for text in wrong):
                context.count("control losses")
                return
    context.found(_blind())


def _blind() -> Finding:
    return Finding(
        "the control lost nothing: power cuts without syncs at commits must show",
        "",
        "Nothing that this part says can be believed.",
    )


def _tell(context: Context, rig: Rig, plan: Plan, number: int, wrong: list[str]) -> None:
    rig.server.kill()
    kept = context.directory / f"left-{context.round}"
    rig.disk.keep(kept)
    context.found(
        Finding(
            # Numbers differ each time, and a kind is reported once.
            f"after a power cut: {re.sub(r'[0-9]+', 'N', wrong[0])}",
            "",
            "\n".join(
                [
                    *wrong,
                    f"Cut {number} of the round: {plan}",
                    f"What the cut left, before the restart: {kept}",
                    f"What clients were told: {rig.directory / 'acknowledged.log'}",
                    "Lost at the last cut:",
                    *(f"  {line}" for line in rig.last_cut.splitlines()),
                ]
            ),
        )
    )


PART = Part(
    "power",
    "power cuts that lose what was not synced: acknowledged changes are there, logs agree",
    run,
    short_s=20.0,
    short_rounds=1,
    accepts=frozenset({"durability"}),
)

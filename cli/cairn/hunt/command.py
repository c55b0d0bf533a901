"""./cairn hunt: runs parts one after the other, and tells what they did and found."""

from __future__ import annotations

import importlib
import random
import time
import traceback
from dataclasses import dataclass

from cairn import packages, plugin, prefix
from cairn.errors import CairnError
from cairn.hunt.part import Context, Finding, Part, Unavailable
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.scratch_server import own_directory, remove

# A part is added by a line: its name, and the module whose PART it is.
PARTS: dict[str, str] = {
    "paths": "cairn.hunt.paths",
    "changes": "cairn.hunt.changes",
    "counters": "cairn.hunt.counters",
    "sessions": "cairn.hunt.sessions.part",
    "partitions": "cairn.hunt.partitions.part",
    "definitions": "cairn.hunt.definitions.part",
    "replica": "cairn.hunt.replica.part",
    "power": "cairn.hunt.power.part",
}
DIRECTORY = VAR / "hunt"
FINDINGS = DIRECTORY / "findings"
DEFAULT_S = 60.0
# What ./cairn test repeats; anything new it finds is the change's fault, not chance.
SHORT_SEED = 2


@dataclass(frozen=True)
class Plan:
    """What to run."""

    parts: tuple[str, ...]
    # Of each part.
    seconds: float
    seed: int
    short: bool = False
    only_round: int | None = None
    # Settings for controls: see Context.
    durability: int = 1
    plugin: str = "ours"


def parts(names: tuple[str, ...]) -> list[Part]:
    """The parts of these names, all without a name."""
    if unknown := [name for name in names if name not in PARTS]:
        raise CairnError(f"There is no part {unknown[0]}: ./cairn hunt --list names them.")
    return [importlib.import_module(PARTS[name]).PART for name in names or PARTS]


def list_parts() -> None:
    """Prints the names and purposes."""
    for part in parts(()):
        say(f"  {part.name:<12} {part.purpose}")


def run(
    names: tuple[str, ...],
    seconds: float | None,
    hours: float | None,
    seed: int | None,
    *,
    short: bool,
    only_round: int | None = None,
    durability: int = 1,
    plugin_name: str = "ours",
) -> int:
    """Runs parts for so many seconds each, or for hours together; returns the exit status."""
    if only_round is not None and len(names) != 1:
        raise CairnError("--round repeats a round of one part: name the part.")
    for part in parts(names):
        if durability != 1 and "durability" not in part.accepts:
            raise CairnError(f"The part {part.name} has no --durability: name a part that has.")
        if plugin_name != "ours" and "plugin" not in part.accepts:
            raise CairnError(f"The part {part.name} has no --plugin: name a part that has.")
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.SERVER,), phase)
    mariadb = prefix.require()
    if not plugin.library().is_file():
        raise CairnError("There is no plug-in yet: run ./cairn build.")
    if seed is None:
        seed = SHORT_SEED if short else random.SystemRandom().randrange(1_000_000)
    each = seconds or (hours * 3600 / len(parts(names)) if hours else DEFAULT_S)
    say(f"  {shown(plugin.library())}, seed {seed}")
    plan = Plan(names, each, seed, short, only_round, durability, plugin_name)
    passed, failed = run_plan(reporter, mariadb, plan)
    say("")
    idle = len(parts(names)) - passed - failed
    say(
        f"{passed} parts found nothing, {failed} did"
        + (f", {idle} could not run on this machine" if idle else "")
    )
    return 1 if failed or not passed else 0


def run_short(reporter: Reporter, mariadb: Server) -> tuple[int, int]:
    """The form that ./cairn test runs: how many parts passed and how many failed."""
    return run_plan(reporter, mariadb, Plan((), 0, SHORT_SEED, short=True))


def run_plan(reporter: Reporter, mariadb: Server, plan: Plan) -> tuple[int, int]:
    """Runs the parts; how many found nothing and how many did.

    A part that cannot run on this machine is among neither.
    """
    passed = failed = 0
    for part in parts(plan.parts):
        if plan.short and not part.short_s:
            continue
        findings = run_part(reporter, mariadb, part, plan)
        if findings:
            failed += 1
        elif findings is not None:
            passed += 1
    return passed, failed


def run_part(reporter: Reporter, mariadb: Server, part: Part, plan: Plan) -> list[Finding] | None:
    """Runs one part in a directory of its own, which is kept if it finds something.

    Returns None when the part cannot run here.
    """
    directory = DIRECTORY / f"{part.name}-{plan.seed}"
    with own_directory(directory), reporter.phase(f"Hunt ({part.name})") as phase:
        seconds = part.short_s if plan.short else plan.seconds
        context = Context(
            part.name,
            plan.seed,
            time.monotonic() + seconds,
            directory,
            FINDINGS,
            mariadb,
            phase,
            plan.short,
            plan.only_round,
            plan.durability,
            plan.plugin,
            most_rounds=(part.short_rounds or None) if plan.short else None,
        )
        try:
            part.run(context)
        except Unavailable as error:
            phase.note(f"{part.name} cannot run here and shows nothing: {error}")
            phase.summary = "not run"
            remove(directory)
            return None
        except Exception as error:
            # Whatever a part stumbles over is what it looks for.
            context.found(_unexpected(error))
        phase.summary = context.summary()
        if context.findings:
            phase.note(f"Kept for a look: {shown(directory)}")
        else:
            remove(directory)
    return context.findings


def _unexpected(error: Exception) -> Finding:
    lines = [str(error)] if isinstance(error, CairnError) else traceback.format_exception(error)
    first = (str(error).splitlines() or [""])[0]
    return Finding(f"the part ended with {type(error).__name__}: {first}", "", "".join(lines))

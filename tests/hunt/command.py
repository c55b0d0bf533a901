"""./cairn hunt: runs parts, one by one or side by side, and tells what they did and found."""

from __future__ import annotations

import importlib
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

from cairn import plugin, process
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.scratch_server import own_directory, remove
from tests import runs
from tests.hunt.part import Context, Finding, Part, Unavailable

# A part is added by a line: its name, and the module whose PART it is.
PARTS: dict[str, str] = {
    "paths": "tests.hunt.paths",
    "changes": "tests.hunt.changes",
    "counters": "tests.hunt.counters",
    "sessions": "tests.hunt.sessions.part",
    "partitions": "tests.hunt.partitions.part",
    "definitions": "tests.hunt.definitions.part",
    "alters": "tests.hunt.alters.part",
    "foreign-keys": "tests.hunt.foreign_keys.part",
    "replica": "tests.hunt.replica.part",
    "power": "tests.power.part",
}
DIRECTORY = VAR / "hunt"
FINDINGS = DIRECTORY / "findings"
DEFAULT_S = 60.0
# How the process of a part ends: nothing found, something, or it could not run.
PASSED, FOUND, IDLE = 0, 10, 11
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
    # So many parts run at a time.
    jobs: int = 1


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
    jobs: int = 1,
) -> int:
    """Runs parts for so many seconds each, or for hours together; returns the exit status.

    The hours are the sum over the parts: with several jobs the run is over sooner.
    """
    if only_round is not None and len(names) != 1:
        raise CairnError("--round repeats a round of one part: name the part.")
    for part in parts(names):
        if durability != 1 and "durability" not in part.accepts:
            raise CairnError(f"The part {part.name} has no --durability: name a part that has.")
        if plugin_name != "ours" and "plugin" not in part.accepts:
            raise CairnError(f"The part {part.name} has no --plugin: name a part that has.")
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    if seed is None:
        seed = SHORT_SEED if short else runs.chosen_seed(None)
    each = seconds or (hours * 3600 / len(parts(names)) if hours else DEFAULT_S)
    say(f"  {shown(plugin.library())}, seed {seed}")
    plan = Plan(names, each, seed, short, only_round, durability, plugin_name, jobs)
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
    chosen = [part for part in parts(plan.parts) if part.short_s or not plan.short]
    if plan.jobs > 1:
        outcomes = _side_by_side(mariadb, chosen, plan)
    else:
        outcomes = (run_part(reporter, mariadb, part, plan) for part in chosen)
    for findings in outcomes:
        if findings:
            failed += 1
        elif findings is not None:
            passed += 1
    return passed, failed


def _side_by_side(
    mariadb: Server, chosen: list[Part], plan: Plan
) -> Iterator[list[Finding] | None]:
    """The findings of the parts as they end; each has a process and shows its lines at its end."""
    context = get_context("fork")
    waiting = [part.name for part in chosen]
    running: dict[int, tuple[str, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < plan.jobs:
                name = waiting.pop(0)
                child = context.Process(target=_run_apart, args=(mariadb, name, plan))
                child.start()
                running[child.sentinel] = name, child
            for sentinel in wait(list(running)):
                name, child = running.pop(cast(int, sentinel))
                child.join()
                yield _outcome_of(name, child.exitcode, plan)
    finally:
        # An interrupt, which the children have been told of as well.
        for _, child in running.values():
            child.terminate()
            child.join()


def _outcome_of(name: str, status: int | None, plan: Plan) -> list[Finding] | None:
    """Shows what a part's process has written, and gives its findings."""
    lines = _log_of(name, plan).read_text(encoding="utf-8").splitlines(keepends=True)
    # Progress is for who looks while the part runs.
    progress = f"    Hunt ({name}): round "
    say("".join(line for line in lines if not line.startswith(progress)).rstrip("\n"))
    if status == IDLE:
        return None
    if status == PASSED:
        return []
    if status != FOUND:
        say(f"    FOUND  the part {name} has ended without a word, with exit status {status}")
    return [Finding(f"exit status {status}", "")]


def _log_of(name: str, plan: Plan) -> Path:
    """Where one may see how far a part is."""
    return DIRECTORY / f"{name}-{plan.seed}.log"


def _run_apart(mariadb: Server, name: str, plan: Plan) -> None:
    """Runs one part in a process of its own, with its output in a file."""
    process.end_with_parent()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    path = _log_of(name, plan)
    path.parent.mkdir(parents=True, exist_ok=True)
    [part] = parts((name,))
    with path.open("w", encoding="utf-8") as log, redirect_stdout(log):
        findings = run_part(Reporter(), mariadb, part, plan)
    sys.exit(IDLE if findings is None else FOUND if findings else PASSED)


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

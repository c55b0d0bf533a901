"""Random rounds, each with a seed of its own that is printed and repeats that round alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Protocol

from cairn import plugin
from cairn.paths import shown
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, remove
from tests import runs

SHOWN_CHARACTERS = 1500


class Wrong(Exception):
    """What a round found."""


class Round(Protocol):
    """One random attempt to find something wrong."""

    what: str  # What it does, for the line of a round; it may be known after the start only.
    details: list[str]  # For a look at a failure.
    server: ScratchServer  # Killed at the end.

    def run(self) -> None: ...


def run(
    reporter: Reporter,
    directory: Path,
    count: int,
    base: str,
    make: Callable[[Path, str], Round],
    *,
    innodb_may_abort: bool = False,
) -> int:
    """Runs rounds whose seeds follow from `base`; returns how many failed.

    `make` is given an empty directory of the round's own, which is kept if it fails, and its seed.
    With `innodb_may_abort` a round that InnoDB ended is kept and run again, one in a run.
    """
    failed = 0
    aborted: Path | None = None
    home = directory / "round"

    def reason(seed: str) -> str:
        remove(home)
        home.mkdir(parents=True)
        return _reason(reporter, make(home, seed), seed)

    for number in range(1, count + 1):
        seed = seed_of(base, number)
        wrong = reason(seed)
        if innodb_may_abort and aborted is None and runs.innodb_aborted(wrong):
            aborted = directory / "aborted"
            home.rename(aborted)
            say(f"    InnoDB has ended the server, see {shown(aborted)}: the round is run again.")
            wrong = reason(seed)
        if wrong:
            failed += 1
            kept = directory / f"failed-{re.sub('[^0-9]', '-', seed)}"
            home.rename(kept)
            say(f"    Kept for a look: {shown(kept)}")
    if not failed:
        remove(home)
        if aborted is None:
            remove(directory)
    return failed


def announced_seed(seed: str | None) -> str:
    """The seed that all rounds follow from: the one wished for or a new one."""
    base = seed or f"{Random().getrandbits(32)}"
    say(f"  {shown(plugin.library())}; again with --seed {base}")
    return base


def seed_of(base: str, number: int) -> str:
    """The seed of a round; one that a round has printed repeats that round alone."""
    return base if "." in base and number == 1 else f"{base}.{number}"


def concluded(rounds: int, failed: int) -> int:
    """Says the total and returns the exit status."""
    say("")
    say(f"{rounds - failed} passed, {failed} failed")
    return 1 if failed else 0


def _reason(reporter: Reporter, round_: Round, seed: str) -> str:
    """Runs one round, and says what was wrong; empty: nothing."""
    server = round_.server
    reason = ""
    with reporter.phase(f"Round {seed}") as phase:
        try:
            round_.run()
        except Wrong as wrong:
            reason = str(wrong)
        except Exception as error:  # Whatever a round stumbles over is what it looks for.
            reason = f"{type(error).__name__}: {error}"
            if not server.is_alive():
                reason += "\n" + server.excerpt()
        finally:
            server.kill()
        phase.summary = f"{'failed' if reason else 'passed'} {round_.what}".rstrip()
    if reason:
        for line in [*round_.details, *reason.splitlines()]:
            say(f"    {line[:SHOWN_CHARACTERS]}")
    return reason

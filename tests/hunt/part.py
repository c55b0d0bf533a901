"""The contract between ./cairn hunt and its parts.

A part looks for one kind of fault until its deadline. It works in rounds, each with random choices
of its own that follow from the seed, the part's name and the round's number, so that any round can
be run again alone. What it finds it shrinks itself, and tells by `Context.found`, at once.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cairn import files
from cairn.errors import CairnError
from cairn.paths import shown
from cairn.prefix import Server
from cairn.report import Phase
from cairn.scratch_server import ScratchServer

# A part that finds this much ends: the rest are mostly the same faults again.
MOST_FINDINGS = 20
# So much of a line is shown; the file has all of it.
SHOWN_COLUMNS = 400


class Unavailable(CairnError):
    """A part cannot run on this machine; the text says what is missing."""


@dataclass(frozen=True)
class Finding:
    """A difference that nothing explains."""

    # One line that tells the kind of fault; a kind is reported once by each run.
    title: str
    # Statements, a few lines, that show it; each ends with a semicolon.
    script: str
    # What came out and what is right, for people.
    details: str = ""


@dataclass
class Context:
    """What one run of a part is given, and where it tells what it did."""

    name: str
    seed: int
    # By time.monotonic(). A part looks at it between rounds, and in long ones within them.
    deadline: float
    # The part's own, empty at the begin; it is kept when there are findings.
    directory: Path
    findings_directory: Path
    mariadb: Server
    phase: Phase
    # In ./cairn test: a small form that covers the part's kinds of things once.
    short: bool = False
    only_round: int | None = None
    # 2 is for a control that must lose something; only parts that accept "durability" are given it.
    durability: int = 1
    # "stock" is for a control with the stock plug-in; only parts that accept "plugin".
    plugin: str = "ours"
    most_rounds: int | None = None
    figures: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    round: int = 0
    _known: set[str] = field(default_factory=set)

    # ---- time and chance ------------------------------------------------------------------------

    def left(self) -> float:
        """The seconds up to the deadline; not less than 0."""
        return max(0.0, self.deadline - time.monotonic())

    def is_over(self) -> bool:
        """Whether the part should end: the time is up, or it has found enough."""
        return self.left() <= 0 or len(self.findings) >= MOST_FINDINGS

    def rounds(self) -> Iterator[tuple[int, random.Random]]:
        """Rounds and their random numbers until the part should end; at least one."""
        number = self.only_round or 1
        while True:
            self.round = number
            self.figures["rounds"] += 1
            yield number, random.Random(f"{self.seed} {self.name} {number}")
            if self.only_round is not None or self.is_over() or number == self.most_rounds:
                return
            number += 1

    # ---- servers --------------------------------------------------------------------------------

    @contextmanager
    def server(self, name: str, *options: str) -> Iterator[ScratchServer]:
        """A server with an empty data directory that is not started yet, and killed at the end."""
        with ScratchServer(self.mariadb, self.directory / name, options) as server:
            yield server

    # ---- telling --------------------------------------------------------------------------------

    def count(self, what: str, number: int = 1) -> None:
        """Adds to a figure of the summary, such as queries or paths."""
        self.figures[what] += number

    def progress(self, text: str = "") -> None:
        """Says how far the part is; may be called often."""
        self.phase.progress(f"round {self.round}, {self.summary()}{text and f', {text}'}")

    def summary(self) -> str:
        """The figures and the number of findings, as people read them."""
        parts = [f"{number:,} {what}" for what, number in self.figures.items() if number]
        return ", ".join([*parts, f"{len(self.findings)} findings"])

    def is_known(self, title: str) -> bool:
        """Whether this run has reported the kind of fault already: shrinking it is in vain."""
        return title in self._known

    @property
    def again(self) -> str:
        """The command that runs the present round again."""
        control = f" --durability {self.durability}" if self.durability != 1 else ""
        control += f" --plugin {self.plugin}" if self.plugin != "ours" else ""
        return f"./cairn hunt {self.name} --seed {self.seed} --round {self.round}{control}"

    def found(self, finding: Finding) -> Path | None:
        """Writes a finding down and shows it; None when its kind was reported before."""
        self.count("differences")
        if self.is_known(finding.title):
            return None
        self._known.add(finding.title)
        self.findings.append(finding)
        number = len(self.findings)
        path = self.findings_directory / f"{self.name}-{self.seed}-{self.round}-{number}.sql"
        details = "".join(f"-- {line}\n" for line in finding.details.splitlines())
        files.write_atomic(
            path,
            f"-- {_one_line(finding.title)}\n-- Again: {self.again}\n{details}\n"
            f"{finding.script.rstrip()}\n",
        )
        self.phase.note(f"FOUND  {_one_line(finding.title)}")
        for line in [*finding.details.splitlines(), *finding.script.splitlines()]:
            self.phase.note(f"       {_cut(line)}")
        self.phase.note(f"       {shown(path)}; again: {self.again}")
        return path


@dataclass(frozen=True)
class Part:
    """One part: the modules that PARTS of command.py names have one as PART."""

    name: str
    # One line, for --list.
    purpose: str
    # Returns when the context is over. An exception that leaves it is a finding as well.
    run: Callable[[Context], None]
    # The time in ./cairn test, where all parts have 260 s together; 0: it is not run there.
    short_s: float = 25.0
    # The options of ./cairn hunt for controls that it understands: "durability", "plugin".
    accepts: frozenset[str] = frozenset()
    # In ./cairn test only so many rounds, so that each machine runs the same ones; 0: the time.
    short_rounds: int = 0


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN_COLUMNS else f"{line[:SHOWN_COLUMNS]} ..."


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)[:300]

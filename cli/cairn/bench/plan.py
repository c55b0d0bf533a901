"""What a bench will run, chosen by names, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cairn.bench.engines import Engine
from cairn.bench.workload import Case, Workload
from cairn.errors import CairnError


@dataclass(frozen=True)
class Part:
    """A workload, and those of its cases that run."""

    workload: Workload
    cases: tuple[Case, ...]

    def engines(self, of: Sequence[Engine]) -> tuple[Engine, ...]:
        """Those that can run the workload."""
        return tuple(engine for engine in of if self.workload.runs_on(engine))

    def seconds(self, engines: int, rounds: int) -> float:
        one_round = sum(case.seconds for case in self.cases)
        return engines * (self.workload.prepare_s + rounds * one_round)


@dataclass(frozen=True)
class Plan:
    """All parts, each on all engines, so many rounds."""

    parts: tuple[Part, ...]
    engines: tuple[Engine, ...]
    rounds: int

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return sum(
            part.seconds(len(part.engines(self.engines)), self.rounds) for part in self.parts
        )

    @property
    def runs(self) -> int:
        return self.rounds * sum(
            len(part.cases) * len(part.engines(self.engines)) for part in self.parts
        )


def choose(workloads: Sequence[Workload], patterns: Sequence[str]) -> tuple[Part, ...]:
    """The workloads and cases that a pattern matches; all without patterns.

    A pattern has shell wildcards and is about a workload (`sysbench-durable`), a case
    (`oltp_point_select/2`), a case at any number of threads (`oltp_point_select`) or both
    (`sysbench-durable/oltp_*`). Errors: CairnError for a pattern that matches nothing.
    """
    used = set()
    parts = []
    for workload in workloads:
        kept = []
        for case in workload.cases:
            matching = {pattern for pattern in patterns if _matches(pattern, workload, case)}
            used |= matching
            if matching or not patterns:
                kept.append(case)
        if kept:
            parts.append(Part(workload, tuple(kept)))
    if unused := [pattern for pattern in patterns if pattern not in used]:
        raise CairnError(
            f"Nothing is called {', '.join(unused)}: ./cairn bench --list shows the names; "
            "* stands for any part of one."
        )
    return tuple(parts)


def _matches(pattern: str, workload: Workload, case: Case) -> bool:
    short = case.name.partition("/")[0]
    names = (
        workload.name,
        case.name,
        short,
        f"{workload.name}/{case.name}",
        f"{workload.name}/{short}",
    )
    return any(fnmatchcase(name, pattern) for name in names)

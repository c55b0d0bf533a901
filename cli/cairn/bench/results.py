"""The raw results of a bench: what a file of them holds, and the ratios that follow from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from cairn.errors import CairnError

SCHEMA = 1
# The engine whose figures are divided by those of the others.
OURS = "cairn"

# Of the details of a run: the server's processor time for one transaction, in microseconds. Other
# programs on the machine change it less than they change the throughput.
CPU = "server_cpu_us"


@dataclass(frozen=True)
class Run:
    """One measured run."""

    value: float
    points: tuple[tuple[float, float], ...] = ()
    details: dict[str, float] = field(default_factory=dict)


@dataclass
class Series:
    """One figure of a workload: by engine, a run for each round."""

    name: str
    unit: str
    higher_is_better: bool
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def values(self, engine: str) -> list[float]:
        return [run.value for run in self.runs.get(engine, [])]

    def detail(self, name: str, unit: str) -> Series | None:
        """A detail of the runs as a figure of which less is better; None where it is missing."""
        runs = {
            key: [Run(run.details[name]) for run in each if name in run.details]
            for key, each in self.runs.items()
        }
        return Series(self.name, unit, False, runs) if any(runs.values()) else None

    def ratio(self, other: str) -> Ratio | None:
        """How much better ours is than the other engine, from the rounds that both finished."""
        return self._ratio(self.values(other))

    def own_ratio(self, other: Series) -> Ratio | None:
        """The same by another figure of ours."""
        return self._ratio(other.values(OURS))

    def _ratio(self, others: list[float]) -> Ratio | None:
        ratios = [
            ours / theirs if self.higher_is_better else theirs / ours
            for ours, theirs in zip(self.values(OURS), others, strict=False)
            if ours > 0 and theirs > 0
        ]
        return Ratio(median(ratios), min(ratios), max(ratios), len(ratios)) if ratios else None


@dataclass(frozen=True)
class Ratio:
    """Ours by another engine's, above 1 where ours is better: of all rounds, and their spread."""

    median: float
    least: float
    most: float
    rounds: int


@dataclass
class WorkloadResult:
    """What came out of one workload."""

    name: str
    title: str
    series: list[Series] = field(default_factory=list)
    # Why it did not run; nothing else is there then.
    skipped: str | None = None
    # What was wrong: answers that differ, problems of the data, errors.
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    setup: dict[str, Any] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    # Variables of the servers: those that are the same for all, and by engine those that are not.
    variables: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    # By engine: the largest resident memory and the bytes of the data directory at the end.
    peaks: dict[str, dict[str, int]] = field(default_factory=dict)
    seconds: float = 0.0

    def find(self, name: str, unit: str, *, higher_is_better: bool) -> Series:
        """The figure of this name, made if it is new."""
        for series in self.series:
            if series.name == name:
                return series
        self.series.append(Series(name, unit, higher_is_better))
        return self.series[-1]


@dataclass
class Results:
    """Everything that a bench has found out."""

    # Date, commit, command, settings, machine, versions: what describes the run.
    about: dict[str, Any]
    engines: dict[str, str]  # Titles by key, in the order of their turns.
    workloads: list[WorkloadResult] = field(default_factory=list)

    @property
    def others(self) -> list[str]:
        """The engines that ours is compared with."""
        return [key for key in self.engines if key != OURS] if OURS in self.engines else []

    def named(self, name: str) -> Series | None:
        """The figure "workload/figure"; None where it was not measured."""
        found = (each for of, each in self.figures() if f"{of.name}/{each.name}" == name)
        return next(found, None)

    def figures(self) -> Iterator[tuple[WorkloadResult, Series]]:
        for workload in self.workloads:
            for series in workload.series:
                yield workload, series

    @property
    def failed(self) -> bool:
        return any(workload.failures for workload in self.workloads)


# ---- files -------------------------------------------------------------------------------------


def as_json(results: Results) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "about": results.about,
        "engines": results.engines,
        "workloads": [_workload_as_json(workload) for workload in results.workloads],
    }


def _workload_as_json(workload: WorkloadResult) -> dict[str, Any]:
    return vars(workload) | {
        "series": [
            vars(series)
            | {"runs": {key: [vars(run) for run in runs] for key, runs in series.runs.items()}}
            for series in workload.series
        ]
    }


def load(path: Path) -> Results:
    """Reads a file of results. Errors: CairnError, with what is wrong with the file."""
    try:
        text = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CairnError(f"{path}: {error.strerror}.") from error
    except ValueError as error:
        raise CairnError(f"{path} is no file of results: it is not JSON ({error}).") from error
    if not isinstance(text, dict) or "schema" not in text:
        raise CairnError(f"{path} is no file of results of ./cairn bench.")
    if text["schema"] != SCHEMA:
        raise CairnError(
            f"{path} has the layout {text['schema']}; this ./cairn reads layout {SCHEMA} only."
        )
    try:
        return Results(
            text["about"], text["engines"], [_read_workload(each) for each in text["workloads"]]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CairnError(f"{path} is damaged: {type(error).__name__}: {error}.") from error


def _read_workload(text: dict[str, Any]) -> WorkloadResult:
    series = [_read_series(each) for each in text["series"]]
    return WorkloadResult(**(text | {"series": series}))


def _read_series(text: dict[str, Any]) -> Series:
    runs = {
        key: [
            Run(float(run["value"]), tuple((x, y) for x, y in run["points"]), run["details"])
            for run in each
        ]
        for key, each in text["runs"].items()
    }
    return Series(text["name"], text["unit"], text["higher_is_better"], runs)

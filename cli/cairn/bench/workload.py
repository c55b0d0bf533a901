"""What a workload of the bench is: its servers' setup, its cases, and what must be true of them.

The runner (runner.py) gives each engine a server of its own with the same setup, calls `prepare`
once for each, and then runs every case on every engine in turn, round after round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cairn.bench.engines import BenchServer, Engine, Setup
from cairn.bench.machine import Machine, Needs

# What is compared between engines: row counts, checksums, answers. Values must have an equality.
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Measurement:
    """One figure of one run on one engine."""

    name: str  # Unique within the workload; the same for every engine and round.
    unit: str  # "1/s", "s", "ms", "bytes", …
    value: float
    higher_is_better: bool = True
    # How the figure came about over time: (seconds since the run's begin, value).
    points: tuple[tuple[float, float], ...] = ()
    # Figures beside it, for the raw results only: latencies, counts of conflicts.
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one run of a case gives."""

    measurements: Sequence[Measurement]
    # What must be equal between the engines in the same round; empty where a run is limited by
    # time, since then the faster engine has done more.
    facts: Facts = field(default_factory=dict)
    # What was odd about the run, as sentences; it is no failure.
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Case:
    """A part of a workload that is measured by itself.

    `run` gets the server and the number of the round, from 1 on. It raises a CairnError where the
    server answers wrongly; the whole bench then fails.
    """

    name: str
    seconds: float  # What one run on one engine takes, about; for the estimate.
    run: Callable[[BenchServer, int], Outcome]


class Workload(ABC):
    """One set of servers with one set of data, and what is measured on them."""

    name: str  # For the command line and the results, such as "sysbench-durable".
    title: str  # One line that says what it is.
    setup: Setup
    # Servers are up side by side and only one is loaded, unless they would disturb each other; then
    # each is started for its turn in a round and stopped after it.
    one_at_a_time = False

    @property
    @abstractmethod
    def cases(self) -> Sequence[Case]:
        """What is measured, in this order."""

    @property
    @abstractmethod
    def prepare_s(self) -> float:
        """Seconds that `prepare` and starting take on one engine, about."""

    def needs(self) -> Needs:
        return Needs()

    def refusal(self, machine: Machine) -> str | None:
        """Why this machine cannot run the workload; None when it can."""
        return machine.lack(self.needs())

    def runs_on(self, engine: Engine) -> bool:
        """Whether the engine can do it at all; it is left out, with a note, where not."""
        return True

    def options(self, engine: Engine) -> tuple[str, ...]:
        """Options of the server beyond those that follow from the setup; they come last."""
        return ()

    @contextmanager
    def place(self, engine: Engine, directory: Path) -> Iterator[Path]:
        """Where the data directory is; entered once for each engine, around all of its starts.

        `directory` is the server's own directory. A workload that wants another volume mounts it
        here and unmounts it at the end; the path that is yielded need not exist yet.
        """
        yield directory / "data"

    def started(self, server: BenchServer) -> None:
        """Called after every start of a server, for what must be done to its process."""
        return  # Most workloads have nothing to do.

    @abstractmethod
    def prepare(self, server: BenchServer) -> None:
        """Loads the data, once for each engine, on a server that runs."""

    def warm_up(self, server: BenchServer) -> None:
        """Called before a server's first case, and again after each start of it."""
        return  # Some begin with empty tables.

    def facts(self, server: BenchServer) -> Facts:
        """What must be equal between the engines once they are prepared."""
        return {}

    def problems(self, server: BenchServer) -> list[str]:
        """What is wrong with the data after the last round; any problem fails the bench."""
        return []

"""What lua/recorder.lua has kept of every request of a run, and series made of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from cairn.errors import CairnError

_S = 1_000_000  # Microseconds.
# A second is a stall when less than this share of the usual was done in it.
STALL_SHARE = 0.1


@dataclass(frozen=True)
class Request:
    """One request; times in microseconds of one clock."""

    ended_us: int
    kind: str
    duration_us: int
    rows: int
    outcome: str


def read(directory: Path) -> list[Request]:
    """The requests of all threads, by their ends.

    Errors: CairnError for files that a run has not written to their ends.
    """
    requests = []
    for path in sorted(directory.glob("thread-*.tsv")):
        for line in path.read_text(encoding="ascii").splitlines():
            try:
                ended, kind, duration, rows, outcome = line.split("\t")
                requests.append(Request(int(ended), kind, int(duration), int(rows), outcome))
            except ValueError:
                raise CairnError(f"{path} is cut short: {line!r}.") from None
    requests.sort(key=lambda request: request.ended_us)
    return requests


def begin_us(requests: Sequence[Request]) -> int:
    """When the first request began."""
    return min(request.ended_us - request.duration_us for request in requests)


def between(requests: Iterable[Request], begin: float, end: float) -> list[Request]:
    """Those that ended in a span of time, in microseconds; `end` is no part of it."""
    return [request for request in requests if begin <= request.ended_us < end]


def rows_per_step(
    requests: Iterable[Request], begin: float, steps: int, step_s: float
) -> list[int]:
    """How many rows the requests had that ended in each of `steps` spans from `begin` on."""
    counts = [0] * steps
    for request in requests:
        step = math.floor((request.ended_us - begin) / (step_s * _S))
        if 0 <= step < steps:
            counts[step] += request.rows
    return counts


def longest_per_step(
    requests: Iterable[Request], begin: float, steps: int, step_s: float
) -> list[float]:
    """The longest response time in milliseconds at each of the spans.

    A request that takes longer than a span counts for each in which somebody waited for it.
    """
    longest = [0.0] * steps
    for request in requests:
        duration_ms = request.duration_us / 1000
        first = math.floor((request.ended_us - request.duration_us - begin) / (step_s * _S))
        last = math.floor((request.ended_us - begin) / (step_s * _S))
        for step in range(max(first, 0), min(last, steps - 1) + 1):
            longest[step] = max(longest[step], duration_ms)
    return longest


def percentile_ms(requests: Iterable[Request], percent: float) -> float:
    """The response time that so many percent of the requests do not exceed; 0 without any."""
    durations = sorted(request.duration_us for request in requests)
    if not durations:
        return 0.0
    return durations[max(math.ceil(len(durations) * percent / 100), 1) - 1] / 1000


def stalls(rates: Sequence[float]) -> int:
    """How many steps had nothing done in them, or less than a tenth of the median."""
    if not rates:
        return 0
    least = STALL_SHARE * median(rates)
    return sum(rate == 0 or rate < least for rate in rates)

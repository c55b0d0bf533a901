"""What the records of a step of the insert benchmark give."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.bench import records
from cairn.bench.insert.steps import Scale, Step
from cairn.bench.records import Request
from cairn.bench.results import CPU
from cairn.bench.workload import Measurement
from cairn.errors import CairnError

_S = 1_000_000  # Microseconds.


def measure(
    step: Step, requests: Sequence[Request], scale: Scale, cpu_s: float
) -> list[Measurement]:
    """The figures of a step: rates each second, stalls, longest response times.

    `cpu_s` is the processor time that the server has used for all of it.
    """
    if not requests:
        raise CairnError(f"{step.name} has run without a single statement.")
    begin = records.begin_us(requests)
    inserts = [request for request in requests if request.kind == "insert"]
    if not step.rate:
        return _figures(f"{step.name} inserts", "rows/s", inserts, begin, None, cpu_s)
    queries = [request for request in requests if request.kind == "query"]
    found = _figures(f"{step.name} queries", "1/s", queries, begin, scale.seconds, cpu_s)
    rate = sum(request.rows for request in inserts) / scale.seconds
    reached = rate / (step.rate * scale.tables)
    longest = Measurement(
        f"{step.name} longest insert",
        "ms",
        records.percentile_ms(inserts, 100),
        higher_is_better=False,
        points=_numbered(_longest(inserts, begin, int(scale.seconds))),
        details={"share_of_rate": reached, "p95_ms": records.percentile_ms(inserts, 95)},
    )
    return [*found, longest]


def _figures(
    name: str,
    unit: str,
    requests: Sequence[Request],
    begin: int,
    seconds: float | None,
    cpu_s: float,
) -> list[Measurement]:
    """Rate, stalls and longest response of requests; without `seconds`, until the last of them."""
    if not requests:
        raise CairnError(f"{name}: there are none.")
    span = seconds or max(requests[-1].ended_us - begin, 1) / _S
    # A last second that is cut short would look like a stall.
    whole = max(1, int(span))
    rates = records.rows_per_step(requests, begin, whole, 1.0)
    longest = _longest(requests, begin, whole)
    rows = sum(request.rows for request in requests)
    return [
        Measurement(
            name,
            unit,
            rows / span,
            points=_numbered(rates),
            details={
                "p95_ms": records.percentile_ms(requests, 95),
                "seconds": span,
                CPU: 1e6 * cpu_s / rows,
            },
        ),
        Measurement(f"{name}: stalls", "s", float(records.stalls(rates)), higher_is_better=False),
        Measurement(
            f"{name}: longest",
            "ms",
            records.percentile_ms(requests, 100),
            higher_is_better=False,
            points=_numbered(longest),
        ),
    ]


def _longest(requests: Sequence[Request], begin: int, seconds: int) -> list[float]:
    return records.longest_per_step(requests, begin, seconds, 1.0)


def _numbered(values: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Points of a series with one value for each second."""
    return tuple((float(second), float(value)) for second, value in enumerate(values, 1))

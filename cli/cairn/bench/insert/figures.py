"""What the records of a step of the insert benchmark give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cairn.bench import records
from cairn.bench.insert.steps import Scale, Step
from cairn.bench.records import Request
from cairn.bench.results import CPU
from cairn.bench.workload import Measurement, Outcome
from cairn.errors import CairnError

_S = 1_000_000  # Microseconds.


def measure(step: Step, requests: Sequence[Request], scale: Scale, cpu_s: float) -> Outcome:
    """The figures of a step: rates each second, stalls, longest response times.

    `cpu_s` is the processor time that the server has used for all of it.
    """
    if not requests:
        raise CairnError(f"{step.name} has run without a single statement.")
    begin = records.begin_us(requests)
    inserts = [request for request in requests if request.kind == "insert"]
    if not step.rate:
        return Outcome(_figures(f"{step.name} inserts", "rows/s", inserts, begin, None, cpu_s))
    queries = [request for request in requests if request.kind == "query"]
    asked = _figures(f"{step.name} queries", "1/s", queries, begin, scale.seconds, cpu_s)
    writes = [request for request in requests if request.kind != "query"]
    written = _writes(step, writes, scale)
    return Outcome([*asked, *written], notes=list(_slow_writers(step, written[0], scale)))


def _writes(step: Step, writes: Sequence[Request], scale: Scale) -> list[Measurement]:
    """What those did that insert, and delete as much, at a rate: it is what queries run beside."""
    name = f"{step.name} writes"
    inserts = [request for request in writes if request.kind == "insert"]
    if not inserts:
        raise CairnError(f"{name}: there are none.")
    # A writer's time begins with its first insert.
    begin = records.begin_us(inserts)
    seconds = int(scale.seconds)
    rates = records.rows_per_step(inserts, begin, seconds, 1.0)
    reached = sum(rates) / seconds
    due = step.rate * scale.tables
    return [
        Measurement(
            name,
            "rows/s",
            reached,
            points=_numbered(rates),
            details={"share_of_rate": reached / due, "p95_ms": records.percentile_ms(writes, 95)},
        ),
        Measurement(
            f"{name}: stalls",
            "s",
            float(sum(rate < due for rate in rates)),
            higher_is_better=False,
        ),
        Measurement(
            f"{name}: longest",
            "ms",
            records.percentile_ms(writes, 100),
            higher_is_better=False,
            points=_numbered(_longest(writes, begin, seconds)),
        ),
    ]


def _slow_writers(step: Step, written: Measurement, scale: Scale) -> Iterator[str]:
    """Says so where the writers did not keep their pace: the queries had less beside them."""
    due = step.rate * scale.tables
    # Each may have its last statement before it.
    missing = (due - written.value) * int(scale.seconds)
    if missing > step.batch * scale.tables:
        yield f"{step.name}: {written.value:,.0f} rows a second were written instead of {due:,}"


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

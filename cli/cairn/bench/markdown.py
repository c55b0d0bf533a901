"""The results as Markdown: what was measured on what, and tables of ratios for each workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from cairn.bench import floors
from cairn.bench.engines import Durability
from cairn.bench.results import CPU, OURS, Ratio, Results, Series, WorkloadResult
from cairn.report import duration

MIB = 1 << 20
MISSED = "MISSED"
FAILED = "This bench has failed: its figures mean nothing until that is explained."
HOW = (
    "A ratio is Cairn's figure by the other engine's, above 1 where Cairn is better: the median of "
    "all rounds, and in brackets the least and the most of them."
)


@dataclass(frozen=True)
class Table:
    """Texts of cells; all columns but the first two hold numbers."""

    head: list[str]
    rows: list[list[str]]


def page(results: Results, pictures: Sequence[str] = ()) -> str:
    """The whole page; pictures are names of files beside it."""
    parts = ["# Cairn bench"]
    if results.failed:
        parts.append(f"**{FAILED}**")
    parts.append("\n".join(f"- {name}: {value}" for name, value in facts(results)))
    parts.append(HOW)
    parts += [summary(results, heading="## ")]
    parts += [f"![{name.removesuffix('.png')}]({name})" for name in pictures]
    return "\n\n".join(parts) + "\n"


def facts(results: Results) -> Iterator[tuple[str, str]]:
    """What describes the run, as names and texts."""
    about = results.about
    machine = about["machine"]
    commit = about["commit"]
    changed = f", {commit['changed_files']} files changed" if commit["changed_files"] else ""
    yield "date", about["date"]
    yield "command", f"`{about['command']}`"
    yield "commit", f"{commit['id'][:12]}{changed}"
    yield "processor", f"{machine['cpu']}, {machine['cores']} cores"
    yield "memory", f"{machine['memory_bytes'] // MIB:,} MiB"
    yield "disk", machine["disk"]
    yield "system", f"{machine['system']}, Linux {machine['kernel']}"
    yield "load before", f"{machine['load']:.2f} processes that run or wait"
    yield "MariaDB", about["versions"]["mariadb"]
    yield "sysbench", about["versions"]["sysbench"]
    for key, plugin in about["plugins"].items():
        yield results.engines[key], f"`{plugin['file']}`, SHA-256 {plugin['sha256'][:12]}"
    yield "rounds", str(about["rounds"])


def summary(results: Results, heading: str = "") -> str:
    """What came out of each workload, readable as plain text too."""
    parts = []
    for workload in results.workloads:
        parts.append(f"{heading}{workload.name}: {workload.title}")
        if workload.skipped:
            parts.append(f"Not run: {workload.skipped}.")
            continue
        parts.append(circumstances(workload))
        parts += [f"**FAILED**: {text}" for text in workload.failures]
        parts.append("\n".join(f"- {note}" for note in remarks(results, workload)))
        parts += ["\n".join(_aligned(table)) for table in tables(results, workload)]
    return "\n\n".join(parts)


def circumstances(workload: WorkloadResult) -> str:
    """The setup of the servers and the time that all took, as a sentence."""
    setup = workload.setup
    commits = Durability(setup["durability"]).title()
    binary_log = "on" if setup["binary_log"] else "off"
    return (
        f"Cache of {setup['memory_bytes'] // MIB:,} MiB, {commits}, binary log {binary_log}; "
        f"took {duration(workload.seconds)}."
    )


def remarks(results: Results, workload: WorkloadResult) -> Iterator[str]:
    """What else there is to know: sizes of the servers, their options, what was odd."""
    for key, peak in workload.peaks.items():
        yield (
            f"{results.engines[key]}: {peak['resident_bytes'] // MIB:,} MiB resident at most, "
            f"{peak['data_bytes'] // MIB:,} MiB in the data directory at the end"
        )
    options = list(workload.options.values())
    common = [each for each in options[0] if all(each in one for one in options)] if options else []
    if common:
        yield f"options of all servers: `{' '.join(common)}`"
    for key, own in workload.options.items():
        rest = [each for each in own if each not in common]
        if rest:
            yield f"options of {results.engines[key]}: `{' '.join(rest)}`"
    yield from workload.notes
    yield from own_ratios(results, workload)


def tables(results: Results, workload: WorkloadResult) -> Iterator[Table]:
    """The figures, and the processor time where the runs know it; nothing without figures."""
    if not workload.series:
        return
    head = ["figure", "unit", *results.engines.values()]
    for other in results.others:
        head += [f"Cairn / {results.engines[other]}", "floor"]
    rows = [_compared(results, workload, series) for series in workload.series]
    own = [_own_floor_text(workload, series) for series in workload.series]
    if any(own):
        head.append(f"floor of {results.engines[OURS]}'s own")
        for row, text in zip(rows, own, strict=True):
            row.append(text)
    yield Table(head, rows)
    found = [series.detail(CPU, "µs") for series in workload.series]
    head = ["server's processor time", "unit", *results.engines.values()]
    head += [f"{results.engines[other]} / Cairn" for other in results.others]
    rows = [
        [*_medians(results, series), *(ratio_text(series.ratio(other)) for other in results.others)]
        for series in found
        if series is not None
    ]
    if rows:
        yield Table(head, rows)


def own_ratios(results: Results, workload: WorkloadResult) -> Iterator[str]:
    """What is promised of figures of ours against each other, where both were measured."""
    for promised in floors.OWN_RATIOS:
        ours = results.named(promised.name)
        other = results.named(promised.other)
        if not promised.name.startswith(f"{workload.name}/") or ours is None or other is None:
            continue
        ratio = ours.own_ratio(other)
        if ratio is not None:
            met = "met" if round(ratio.median, 2) >= promised.least else MISSED
            yield (
                f"{promised.name} by {promised.other}: {ratio_text(ratio)}, floor "
                f"{promised.least:g} {met}"
            )


def _compared(results: Results, workload: WorkloadResult, series: Series) -> list[str]:
    row = _medians(results, series)
    for other in results.others:
        ratio = series.ratio(other)
        row += [ratio_text(ratio), _floor_text(workload, series, other, ratio)]
    return row


def _medians(results: Results, series: Series) -> list[str]:
    """The figure's name and unit, and the median of each engine."""
    unit = series.unit if series.higher_is_better else f"{series.unit}, less is better"
    medians = [series.values(engine) for engine in results.engines]
    return [series.name, unit, *(figure(median(values)) if values else "" for values in medians)]


def figure(value: float) -> str:
    """A value with three digits or more."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ratio_text(ratio: Ratio | None) -> str:
    return f"{ratio.median:.2f} ({ratio.least:.2f}–{ratio.most:.2f})" if ratio else ""


def _floor_text(workload: WorkloadResult, series: Series, other: str, ratio: Ratio | None) -> str:
    """The floor against an engine and whether it is met; empty where there is none."""
    least = floors.find(workload.name, series.name, other)
    if least is None or ratio is None:
        return ""
    # What reads as the floor meets it.
    return f"{least:g} {'met' if round(ratio.median, 2) >= least else MISSED}"


def _own_floor_text(workload: WorkloadResult, series: Series) -> str:
    """The floor of Cairn's own figure, and whether the worst round meets it; empty without one."""
    least = floors.find_own(workload.name, series.name)
    values = series.values(OURS)
    if least is None or not values:
        return ""
    worst = min(values)
    met = "met" if round(worst, 2) >= least else MISSED
    return f"{least:g} {met} (worst round {worst:.2f})"


def _aligned(table: Table) -> list[str]:
    rows = [table.head, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.head))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    marks = [
        "-" * width if column < 2 else "-" * (width - 1) + ":"
        for column, width in enumerate(widths)
    ]
    return [line(table.head), line(marks), *(line(row) for row in table.rows)]

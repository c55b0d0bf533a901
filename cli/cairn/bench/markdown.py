"""The results as Markdown: what was measured on what, and a table of ratios for each workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from cairn.bench import floors
from cairn.bench.results import CPU, Ratio, Results, Series, WorkloadResult
from cairn.report import duration

MIB = 1 << 20


def page(results: Results) -> str:
    """The whole page."""
    lines = ["# Cairn bench", ""]
    if results.failed:
        lines += [
            "**This bench has failed: its figures mean nothing until that is explained.**",
            "",
        ]
    lines += [*(f"- {name}: {value}" for name, value in facts(results)), "", *_HOW, ""]
    return "\n".join(lines) + tables(results, heading="## ") + "\n"


_HOW = (
    "A ratio is Cairn's figure by the other engine's, above 1 where Cairn is better: the median of",
    "all rounds, and the least and the most of them in brackets.",
)


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
    yield "MariaDB", about["versions"]["mariadb"]
    yield "sysbench", about["versions"]["sysbench"]
    for key, plugin in about["plugins"].items():
        yield results.engines[key], f"`{plugin['file']}`, SHA-256 {plugin['sha256'][:12]}"
    yield "rounds", str(about["rounds"])


def tables(results: Results, heading: str = "") -> str:
    """A table for each workload."""
    parts = []
    for workload in results.workloads:
        lines = [f"{heading}{workload.name}: {workload.title}", ""]
        if workload.skipped:
            lines.append(f"Not run: {workload.skipped}.")
        else:
            lines += [*_remarks(workload), *_table(results, workload)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _remarks(workload: WorkloadResult) -> list[str]:
    setup = ", ".join(f"{name} {value}" for name, value in _setup(workload))
    lines = [f"{setup}; took {duration(workload.seconds)}.", ""]
    for text in workload.failures:
        lines += [f"**FAILED**: {text}", ""]
    if workload.notes:
        lines += [*(f"- {note}" for note in workload.notes), ""]
    return lines


def _setup(workload: WorkloadResult) -> Iterator[tuple[str, str]]:
    setup = workload.setup
    yield "cache", f"{setup['memory_bytes'] // MIB:,} MiB"
    yield "commits", "durable" if setup["durable"] else "relaxed"
    yield "binary log", "on" if setup["binary_log"] else "off"


def _table(results: Results, workload: WorkloadResult) -> list[str]:
    head = ["figure", "unit", *results.engines.values()]
    for other in results.others:
        head += [f"Cairn / {results.engines[other]}", "floor"]
    rows = []
    for series in workload.series:
        row = _row(results, series)
        for other in results.others:
            ratio = series.ratio(other)
            row += [ratio_text(ratio), floor_text(workload, series, other, ratio)]
        rows.append(row)
    return [*_aligned([head, *rows]), *_cpu_table(results, workload)]


def _cpu_table(results: Results, workload: WorkloadResult) -> list[str]:
    """The server's processor time for one transaction, where the runs know it."""
    found = [series.detail(CPU, "µs") for series in workload.series]
    head = ["server's processor time", "unit", *results.engines.values()]
    head += [f"{results.engines[other]} / Cairn" for other in results.others]
    rows = [
        [*_row(results, series), *(ratio_text(series.ratio(other)) for other in results.others)]
        for series in found
        if series is not None
    ]
    return ["", *_aligned([head, *rows])] if rows else []


def _row(results: Results, series: Series) -> list[str]:
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


def floor_text(workload: WorkloadResult, series: Series, other: str, ratio: Ratio | None) -> str:
    """The floor against an engine and whether it is met; empty where there is none."""
    least = floors.find(workload.name, series.name, other)
    if least is None or ratio is None:
        return ""
    return f"{least:g} {'met' if ratio.median >= least else 'MISSED'}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table that reads well as plain text too; all columns but the first two are numbers."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

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
    return [line(rows[0]), line(marks), *(line(row) for row in rows[1:])]

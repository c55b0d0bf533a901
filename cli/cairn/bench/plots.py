"""The plots of a bench: ratios of a workload, and figures over time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from cairn.bench.results import Results, Run, Series, WorkloadResult

WIDTH = 880
_ROW_PX = 26
_FRAME_PX = 110  # Title, labels of the axis, legend.
_TIME_HEIGHT = 320
# Shorter runs are not drawn over time.
LEAST_S = 20
# By engine, Cairn first; those who see no red can tell them apart as well.
COLORS = ("#1769aa", "#c2410c", "#15803d")


@dataclass(frozen=True)
class Plot:
    """A drawing; the name is that of its file, without an ending."""

    workload: str
    name: str
    svg: str


def draw(results: Results) -> Iterator[Plot]:
    """All plots of the results."""
    for workload in results.workloads:
        if any(series.ratio(other) for series in workload.series for other in results.others):
            yield _ratios(results, workload)
        for series in workload.series:
            if _longest_s(series) >= LEAST_S:
                yield _over_time(results, workload, series)


def png(plot: Plot) -> bytes:
    """The plot as a picture, at twice its size."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=plot.svg, zoom=2, background="white"))


# ---- ratios ------------------------------------------------------------------------------------


def _ratios(results: Results, workload: WorkloadResult) -> Plot:
    """For each figure a dot at the median ratio and a line from the least to the most."""
    import pygal

    title = f"{workload.name}: Cairn by the other engine (right of 1: Cairn is better)"
    names = [series.name for series in workload.series]
    rows = list(range(len(names), 0, -1))
    least, most = _extent(results, workload)
    chart = pygal.XY(
        **_settings(title, COLORS[1:]),
        height=_FRAME_PX + _ROW_PX * len(names),
        xrange=(least, most),
        range=(0.5, len(names) + 0.5),
        stroke_style={"width": 3},
        show_y_guides=True,
        show_x_guides=True,
        x_value_formatter=_power,
    )
    chart.x_labels = [{"value": power, "label": _power(power)} for power in _powers(least, most)]
    chart.y_labels = [{"value": row, "label": name} for row, name in zip(rows, names, strict=True)]
    for number, other in enumerate(results.others):
        # The engines' lines lie one below the other.
        shift = (len(results.others) - 1) / 2 - number
        ratios = [series.ratio(other) for series in workload.series]
        points: list[Any] = []
        for row, ratio in zip(rows, ratios, strict=True):
            if ratio is None:
                continue
            at = row + 0.3 * shift
            ends = (math.log2(ratio.least), math.log2(ratio.median), math.log2(ratio.most))
            points += [_dot(x, at, px) for x, px in zip(ends, (3, 6, 3), strict=True)]
            points.append((None, None))
        chart.add(f"Cairn / {results.engines[other]}", points, allow_interruptions=True)
    return Plot(workload.name, f"{workload.name}-ratios", chart.render(is_unicode=True))


def _dot(x: float, y: float, radius_px: int) -> dict[str, Any]:
    return {"value": (x, y), "node": {"r": radius_px}}


def _extent(results: Results, workload: WorkloadResult) -> tuple[int, int]:
    """The powers of two that all ratios lie between; 1 and its neighbours always do."""
    found = [series.ratio(other) for series in workload.series for other in results.others]
    least = min((ratio.least for ratio in found if ratio), default=1.0)
    most = max((ratio.most for ratio in found if ratio), default=1.0)
    return min(-1, math.floor(math.log2(least))), max(1, math.ceil(math.log2(most)))


def _powers(least: int, most: int) -> list[int]:
    """Every power of two between these, or every second one and so on where they are many."""
    step = 1 + (most - least) // 10
    return [power for power in range(least, most + 1) if power % step == 0]


def _power(exponent: float) -> str:
    return f"{2.0**exponent:.3g}"


# ---- over time ---------------------------------------------------------------------------------


def _over_time(results: Results, workload: WorkloadResult, series: Series) -> Plot:
    """A line for each engine: of its rounds the one that came to the median."""
    import pygal

    title = f"{workload.name}: {series.name}, {series.unit}"
    chart = pygal.XY(
        **_settings(title, COLORS),
        height=_TIME_HEIGHT,
        show_dots=False,
        include_x_axis=True,
        x_title="seconds",
        x_label_rotation=0,
        x_value_formatter=lambda seconds: f"{seconds:g}",
        value_formatter=lambda value: f"{value:,.6g}",
    )
    for engine, label in results.engines.items():
        run = _median_run(series.runs.get(engine, []))
        chart.add(label, list(run.points) if run else [])
    # What comes before a colon would be the scheme of an address.
    name = re.sub(r"[^\w.]+", "-", f"{workload.name}-{series.name}")
    return Plot(workload.name, name, chart.render(is_unicode=True))


def _longest_s(series: Series) -> float:
    """How long the longest run of a figure was that has a course over time; 0 where none has."""
    runs = (run for each in series.runs.values() for run in each)
    return max((run.points[-1][0] for run in runs if run.points), default=0.0)


def _median_run(runs: Sequence[Run]) -> Run | None:
    if not runs:
        return None
    middle = median(run.value for run in runs)
    return min(runs, key=lambda run: abs(run.value - middle))


# ---- both --------------------------------------------------------------------------------------


def _settings(title: str, colors: tuple[str, ...]) -> dict[str, Any]:
    from pygal.style import Style

    style = Style(
        background="white",
        plot_background="white",
        foreground="#333333",
        foreground_strong="#111111",
        foreground_subtle="#bbbbbb",
        colors=colors,
        font_family="'DejaVu Sans', sans-serif",
        title_font_size=14,
        label_font_size=12,
        major_label_font_size=12,
        legend_font_size=12,
        guide_stroke_color="#dddddd",
        guide_stroke_dasharray="none",
        major_guide_stroke_color="#dddddd",
        major_guide_stroke_dasharray="none",
        opacity=1,
    )
    return {
        "title": title,
        "width": WIDTH,
        "style": style,
        "js": (),
        "disable_xml_declaration": True,
        "truncate_label": -1,
        "truncate_legend": -1,
        "legend_at_bottom": True,
        "legend_at_bottom_columns": len(COLORS),
        "margin": 12,
    }

"""One plot as SVG for a page: pygal draws it, the page's own style sheet colours it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# The plots are drawn for the width of a phone, and stand side by side on wider screens: texts then
# have about the same size everywhere.
WIDTH, HEIGHT = 360, 200
TIMES = 4  # Labels of the time axis.
GUIDES = 4
_FONT_PX = 11


@dataclass(frozen=True)
class Series:
    """A line of a plot; None where nothing is known."""

    name: str
    values: Sequence[float | None]


def draw(
    series: Sequence[Series],
    times: Sequence[str],
    label: Callable[[float | None], str],
    *,
    stacked: bool = False,
    maximum: float | None = None,
    at_least: float = 0,
    binary: bool = False,
) -> str:
    """An SVG element without styles, scripts or references of its own.

    The axis ends at `maximum`, or at a number that is round in powers of ten or, if `binary`, of
    two, and not less than `at_least`.
    """
    import pygal
    from pygal.style import Style

    largest = max(_largest(series, stacked=stacked), at_least)
    top = maximum or round_up(largest, binary=binary)
    labelled = _spread(len(times), TIMES)
    settings: dict[str, Any] = {
        "width": WIDTH,
        "height": HEIGHT,
        "css": (),
        "js": (),
        "style": Style(label_font_size=_FONT_PX, major_label_font_size=_FONT_PX),
        "show_legend": False,
        "margin": 6,
        "margin_right": 24,  # Half of the last label of the time axis.
        "disable_xml_declaration": True,
        "truncate_label": -1,
        "y_labels": [top * i / GUIDES for i in range(GUIDES + 1)],
        "range": (0, top),
        "value_formatter": label,
        "allow_interruptions": True,
        "show_dots": True,
    }
    chart = pygal.StackedLine(fill=True, **settings) if stacked else pygal.Line(**settings)
    # By position, because readings of one second have one label.
    chart.x_labels = [text if i in labelled else "" for i, text in enumerate(times)]
    for one in series:
        chart.add(one.name, list(one.values))
    chart.add_xml_filter(lambda root: _strip(root, [one.name for one in series]))
    return chart.render(is_unicode=True)


def _spread(count: int, wanted: int) -> list[int]:
    """Positions that are evenly spread, the first and the last among them."""
    if count <= wanted:
        return list(range(count))
    return sorted({round(i * (count - 1) / (wanted - 1)) for i in range(wanted)})


def _largest(series: Sequence[Series], *, stacked: bool) -> float:
    columns = zip(*(one.values for one in series), strict=True)
    combine = sum if stacked else max
    return max((combine([v or 0.0 for v in column]) for column in columns), default=0.0)


def round_up(value: float, *, binary: bool = False) -> float:
    """The next number that is round, and a quarter of which is."""
    if value <= 0:
        return 1.0
    base, steps = (2.0, (1, 1.5, 2)) if binary else (10.0, (1, 2, 4, 8, 10))
    unit = base ** math.floor(math.log(value, base))
    return next((step * unit for step in steps if step * unit >= value), base * unit)


def _strip(root: Any, names: list[str]) -> Any:
    """Leaves what draws; values become titles, which browsers show at the pointer."""
    for child in list(root):
        if child.tag == "defs" or child.tag == "title" or not isinstance(child.tag, str):
            root.remove(child)
    for parent in root.iter("g"):
        classes = parent.get("class", "").split()
        if "dots" in classes:
            _name_dot(parent)
        for child in list(parent):
            if "tooltip" in child.get("class", "").split() or child.tag == "title":
                parent.remove(child)
    for group in root.iter("g"):
        for number, name in enumerate(names):
            if f"serie-{number}" in group.get("class", "").split():
                for title in group.iter("title"):
                    title.text = f"{name}: {title.text}"
    for node in root.iter():
        for attribute in ("cx", "cy", "x", "y", "d"):
            if number := node.get(attribute):
                node.set(attribute, re.sub(r"(\.\d)\d+", r"\1", number))
    root.set("role", "img")
    return root


def _name_dot(group: Any) -> None:
    texts = [child.text for child in group if child.get("class") == "value"]
    for child in [child for child in group if child.tag == "desc"]:
        group.remove(child)
    for circle in group.iter("circle"):
        title = circle.makeelement("title", {})
        title.text = texts[0] if texts else ""
        circle.append(title)

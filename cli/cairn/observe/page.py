"""./cairn report: what a server did for some time, as one HTML page with plots."""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from cairn import files
from cairn.errors import CairnError
from cairn.observe import plot
from cairn.observe.reading import (
    LEVELS,
    Interval,
    Reader,
    Reading,
    bytes_per_second_text,
    bytes_text,
    duration_text,
    number_text,
    per_second_text,
    percent_text,
    stall_text,
)
from cairn.paths import shown
from cairn.place import Place
from cairn.report import Reporter

READINGS = 120
SHORTEST_INTERVAL_S = 0.5

Figure = Callable[[Interval], float | None]
Format = Callable[[float | None], str]


@dataclass(frozen=True)
class Chart:
    """One plot: what it shows, in which words, of which figures."""

    title: str
    text: str
    format: Format
    series: tuple[tuple[str, Figure], ...]
    stacked: bool = False
    maximum: float | None = None
    at_least: float = 0  # Where the axis ends at the soonest.


def _rate(*names: str) -> Figure:
    return lambda interval: interval.rate(*names)


def _gauge(name: str) -> Figure:
    return lambda interval: interval.gauge(name)


def _hits(kind: str) -> Figure:
    return lambda interval: interval.hit_rate(kind)


def _share(name: str) -> Figure:
    """A status that is a percentage."""

    def figure(interval: Interval) -> float | None:
        value = interval.gauge(name)
        return None if value is None else value / 100

    return figure


def _level_files(level: int) -> Figure:
    return lambda interval: float(interval.now.level_files[level])


def _level_bytes(level: int) -> Figure:
    return lambda interval: interval.now.level_bytes[level]


CHARTS = (
    Chart(
        "Statements",
        "By kind, as the server counts them.",
        per_second_text,
        tuple((name, _rate(f"com_{name}")) for name in ("select", "insert", "update", "delete"))
        + (("commit", _rate("com_commit")),),
    ),
    Chart(
        "Keys",
        "Point reads, seeks of iterators, and written keys: a row is one key for each index.",
        per_second_text,
        (
            ("read", _rate("rocksdb_number_keys_read")),
            ("seeks", _rate("rocksdb_number_db_seek")),
            ("written", _rate("rocksdb_number_keys_written")),
        ),
    ),
    Chart(
        "Bytes written",
        "By transactions, and to data files by flushes and compactions.",
        bytes_per_second_text,
        (
            ("transactions", _rate("rocksdb_bytes_written")),
            ("flushes", _rate("rocksdb_flush_write_bytes")),
            ("compactions", _rate("rocksdb_compact_write_bytes")),
        ),
        at_least=1 << 10,
    ),
    Chart(
        "Writers held back",
        "Seconds in each second, over all writers.",
        percent_text,
        (("held back", Interval.held_back),),
    ),
    Chart(
        "How near to a slowdown",
        "At 100 % RocksDB begins to slow down writes.",
        percent_text,
        (
            ("files of level 0", _share("cairn_level0_slowdown_percent")),
            ("pending compaction", _share("cairn_pending_compaction_slowdown_percent")),
        ),
    ),
    Chart(
        "Background work",
        "Running now; full memtables that wait for their flush.",
        number_text,
        (
            ("compactions", _gauge("cairn_running_compactions")),
            ("flushes", _gauge("cairn_running_flushes")),
            ("memtables that wait", _gauge("cairn_immutable_memtables")),
        ),
        at_least=4,
    ),
    Chart(
        "Files by level",
        "Over all column families.",
        number_text,
        tuple((f"L{level}", _level_files(level)) for level in range(LEVELS)),
        stacked=True,
    ),
    Chart(
        "Bytes by level",
        "A tree at rest has about nine tenths in its last level.",
        bytes_text,
        tuple((f"L{level}", _level_bytes(level)) for level in range(LEVELS)),
        stacked=True,
    ),
    Chart(
        "Pending compaction",
        "What RocksDB estimates that compactions must still rewrite.",
        bytes_text,
        (("pending", _gauge("cairn_pending_compaction_bytes")),),
        at_least=1 << 20,
    ),
    Chart(
        "Block cache hits",
        "The share of blocks that need not be read from files.",
        percent_text,
        (
            ("all", _hits("")),
            ("data", _hits("data")),
            ("index", _hits("index")),
            ("filter", _hits("filter")),
        ),
        maximum=1.0,
    ),
    Chart(
        "Block cache misses",
        "Each is a read of a file.",
        per_second_text,
        (
            ("data", _rate("rocksdb_block_cache_data_miss")),
            ("index", _rate("rocksdb_block_cache_index_miss")),
            ("filter", _rate("rocksdb_block_cache_filter_miss")),
        ),
    ),
    Chart(
        "Memory",
        "The three large users; transactions and the server itself come on top.",
        bytes_text,
        (
            ("block cache", _gauge("cairn_block_cache_usage")),
            ("memtables", _gauge("rocksdb_memtable_total")),
            ("table readers", _gauge("cairn_table_reader_bytes")),
        ),
        stacked=True,
    ),
)


def run(place: Place, seconds: float, interval_s: float | None, file: Path) -> int:
    """Watches the server, then writes the page; what was seen until an interrupt counts."""
    if not file.parent.is_dir() or not os.access(file.parent, os.W_OK):
        raise CairnError(f"{file}: there is no directory {file.parent} to write into.")
    step = interval_s or max(seconds / READINGS, SHORTEST_INTERVAL_S)
    reader = Reader(place)
    first = reader.first()
    readings: list[Reading | None] = [first]
    with Reporter().phase("Watching") as phase:
        end = time.monotonic() + seconds
        try:
            while (left := end - time.monotonic()) > 0:
                time.sleep(min(step, left))
                readings.append(reader.read())
                phase.progress(f"{max(0, end - time.monotonic()):.0f} s left")
        except KeyboardInterrupt:
            phase.note("interrupted: the page shows what was seen so far")
        finally:
            reader.close()
        missing = readings.count(None)
        phase.summary = f"{len(readings)} readings"
        if missing:
            phase.note(f"the server did not answer {missing} times")
    if len([reading for reading in readings if reading is not None]) < 2:
        raise CairnError("There are too few readings for a page: let it watch for longer.")
    files.write_atomic(file, render(place, readings, step))
    print(f"  {shown(file.absolute())}")
    return 0


def intervals(readings: Sequence[Reading | None]) -> list[Interval | None]:
    """What happened between each reading and the next; None where one of them is missing."""
    pairs = zip(readings, readings[1:], strict=False)
    return [Interval(a, b) if a is not None and b is not None else None for a, b in pairs]


# ---- the page ----------------------------------------------------------------------------------


def render(place: Place, readings: Sequence[Reading | None], step: float) -> str:
    """The whole page."""
    seen = [reading for reading in readings if reading is not None]
    first, last = seen[0], seen[-1]
    steps = intervals(readings)
    times = _times(readings, step)
    host = last.variables.get("hostname", "")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        # An icon of its own: browsers would ask for one otherwise.
        '<link rel="icon" href="data:,">',
        f"<title>Cairn report: {html.escape(host)}</title>",
        f"<style>{(Path(__file__).parent / 'page.css').read_text(encoding='utf-8')}</style>",
        "</head><body><header>",
        f"<h1>Cairn report: {html.escape(host)}</h1>",
        f"<p>{html.escape(_about(place, first, last, len(readings)))}</p>",
        "</header><main>",
        _notice(readings),
        '<section class="facts">',
        *(_fact(name, value) for name, value in _facts(Interval(first, last))),
        '</section><section class="charts">',
        *(_chart(number, chart, steps, times) for number, chart in enumerate(CHARTS)),
        "</section></main><footer>",
        "Made by ./cairn report; docs/monitoring.md says what each plot tells.",
        "</footer></body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _times(readings: Sequence[Reading | None], step: float) -> list[str]:
    """The time of day at each interval's end, also where the server did not answer."""
    assert readings[0] is not None
    result, at = [], readings[0].at
    for reading in readings[1:]:
        at = at + step if reading is None else reading.at
        result.append(time.strftime("%H:%M:%S", time.localtime(at)))
    return result


def _about(place: Place, first: Reading, last: Reading, count: int) -> str:
    begin, end = (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(r.at)) for r in (first, last))
    return (
        f"MariaDB {last.variables.get('version', '')}, up {duration_text(last.get('uptime'))}. "
        f"{count} readings from {begin} to {end[11:] if begin[:10] == end[:10] else end}, "
        f"over {place.socket}."
    )


def _notice(readings: Sequence[Reading | None]) -> str:
    missing = readings.count(None)
    seen = [reading for reading in readings if reading is not None]
    restarts = sum(
        (after.get("uptime") or 0) < (before.get("uptime") or 0)
        for before, after in zip(seen, seen[1:], strict=False)
    )
    texts = []
    if missing:
        texts.append(f"The server did not answer {missing} of {len(readings)} times.")
    if restarts:
        texts.append(
            "It was restarted: totals since the start begin anew."
            if missing
            else "The server was restarted: totals since the start begin anew."
        )
    return f'<p class="notice">{" ".join(texts)}</p>' if texts else ""


def _facts(whole: Interval) -> list[tuple[str, str]]:
    """What the whole time comes to, in a line of tiles."""
    held = whole.growth("rocksdb_stall_micros")
    stops, slowdowns = (
        whole.growth(f"rocksdb_stall_total_{kind}") for kind in ("stops", "slowdowns")
    )
    return [
        ("commits", per_second_text(whole.rate("com_commit"))),
        ("keys written", per_second_text(whole.rate("rocksdb_number_keys_written"))),
        ("writes at the end", stall_text(whole.now) or "–"),
        ("write stops", number_text(stops)),
        ("slowdowns", number_text(slowdowns)),
        ("held back in all", "–" if held is None else f"{held / 1e6:.2f} s"),
        ("block cache hits", percent_text(whole.hit_rate())),
        ("write amplification", number_text(whole.write_amplification())),
        ("data on disk", bytes_text(sum(whole.now.level_bytes))),
    ]


def _fact(name: str, value: str) -> str:
    return f"<div><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>"


def _chart(
    number: int, chart: Chart, steps: Sequence[Interval | None], times: Sequence[str]
) -> str:
    series = [
        plot.Series(name, [None if step is None else figure(step) for step in steps])
        for name, figure in chart.series
    ]
    shown_series = [(i, one) for i, one in enumerate(series) if _is_shown(chart, one)]
    head = (
        f'<h2 id="chart-{number}">{html.escape(chart.title)}</h2><p>{html.escape(chart.text)}</p>'
    )
    if not shown_series:
        body = '<p class="none">Nothing in this time.</p>'
    else:
        drawing = plot.draw(
            series,
            times,
            chart.format,
            stacked=chart.stacked,
            maximum=chart.maximum,
            at_least=chart.at_least,
            binary=chart.format in (bytes_text, bytes_per_second_text),
        )
        body = drawing + _table(chart, shown_series)
    return f'<figure aria-labelledby="chart-{number}">{head}{body}</figure>'


def _is_shown(chart: Chart, series: plot.Series) -> bool:
    """Levels that stay empty are left out of the legend."""
    values = [value for value in series.values if value is not None]
    return bool(values) and (not chart.stacked or any(values))


def _table(chart: Chart, series: Sequence[tuple[int, plot.Series]]) -> str:
    rows = []
    for number, one in series:
        values = [value for value in one.values if value is not None]
        cells = "".join(
            f"<td>{html.escape(chart.format(value))}</td>"
            for value in (min(values), fmean(values), max(values))
        )
        rows.append(
            f'<tr><th><i class="color-{number}"></i>{html.escape(one.name)}</th>{cells}</tr>'
        )
    head = "<tr><th></th><td>least</td><td>mean</td><td>most</td></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"

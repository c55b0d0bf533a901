"""./cairn top: a server's throughput, stalls, levels, cache, compactions and memory, live."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.bar import Bar
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cairn import files
from cairn.observe.reading import (
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
from cairn.place import Place

PANEL_WIDTH = 38
STATEMENTS = ("com_select", "com_insert", "com_update", "com_delete", "com_replace")


def run(place: Place, interval_s: float, *, once: bool, picture: Path | None) -> int:
    """Shows the view until it is interrupted, or once; `picture` gets the last one as SVG."""
    reader = Reader(place)
    before = reader.first()
    console = Console(record=picture is not None)
    try:
        if once:
            time.sleep(interval_s)
            now = reader.read()
            shown = view(place, Interval(before, now)) if now else silence(place, before)
            console.print(shown)
            return 0 if now else 1
        _follow(console, reader, before, interval_s)
    finally:
        reader.close()
        if picture is not None:
            _save(console, picture)
    return 0


def _save(console: Console, picture: Path) -> None:
    """What was shown, as SVG; rich would load a font from elsewhere, the viewer has one too."""
    text = console.export_svg(title="./cairn top")
    files.write_atomic(picture, re.sub(r"@font-face \{.*?\}", "", text, flags=re.DOTALL))


def _follow(console: Console, reader: Reader, before: Reading, interval_s: float) -> None:
    """Refreshes the screen at each interval; into a file or a pipe, one view follows the other."""
    views = _views(reader, before, interval_s)
    shown: RenderableType = Text("One moment …")
    try:
        if not console.is_terminal:
            for shown in views:
                console.print(shown)
        with Live(shown, console=console, screen=True, auto_refresh=False) as live:
            for shown in views:
                live.update(shown, refresh=True)
    except KeyboardInterrupt:
        if console.is_terminal:
            console.print(shown)


def _views(reader: Reader, before: Reading, interval_s: float) -> Iterator[RenderableType]:
    """A view for each interval, without end; a server that was restarted is found again."""
    last: Reading | None = before
    while True:
        time.sleep(interval_s)
        now = reader.read()
        if now is None:
            last = None
            yield silence(reader.place, before)
        else:
            # After a pause the first reading has nothing to be compared with.
            interval = Interval(last or now, now)
            before = last = now
            yield view(reader.place, interval)


# ---- the view ----------------------------------------------------------------------------------


def view(place: Place, interval: Interval) -> RenderableType:
    """One screen, as wide as the terminal allows."""
    panels = [
        _panel("Throughput", _throughput(interval)),
        _panel("Stalls", _stalls(interval)),
        _panel("Reading", _reading(interval)),
        _panel("Compaction", _compaction(interval)),
        _panel("Memory", _memory(interval)),
        _panel("Levels", _levels(interval.now)),
    ]
    stalls = [Text(f"Writes are {text}", style="yellow") for text in interval.now.stalls]
    return Group(_title(place, interval), *stalls, Columns(panels, padding=(0, 1)))


def silence(place: Place, last: Reading) -> RenderableType:
    """What is shown while the server does not answer."""
    return Panel(
        f"{place.socket} does not answer, since "
        f"{time.strftime('%H:%M:%S', time.localtime(last.at))} at the latest.\n"
        "This view goes on when the server is back; Ctrl-C ends it.",
        title="No answer",
        border_style="red",
        box=box.ROUNDED,
    )


def _title(place: Place, interval: Interval) -> Text:
    now = interval.now
    name = now.variables.get("hostname", "")
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{name} ", style="bold")
    text.append(f"MariaDB {now.variables.get('version', '')}, up ")
    text.append(f"{duration_text(now.get('uptime'))}, ")
    text.append(f"{time.strftime('%H:%M:%S', time.localtime(now.at))}, ")
    text.append(f"last {interval.seconds:.1f} s, {place.socket}", style="dim")
    return text


def _panel(title: str, rows: Table) -> Panel:
    return Panel(
        rows, title=title, title_align="left", box=box.ROUNDED, width=PANEL_WIDTH, height=10
    )


def _rows(*rows: tuple[str, str | Text]) -> Table:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in rows:
        table.add_row(name, value)
    return table


def _throughput(i: Interval) -> Table:
    def per_second(*names: str) -> str:
        return per_second_text(i.rate(*names))

    return _rows(
        ("statements", per_second(*STATEMENTS)),
        ("commits", per_second("com_commit")),
        ("keys read", per_second("rocksdb_number_keys_read")),
        ("seeks", per_second("rocksdb_number_db_seek")),
        ("iterator steps", per_second("rocksdb_number_db_next")),
        ("keys written", per_second("rocksdb_number_keys_written")),
        ("bytes written", bytes_per_second_text(i.rate("rocksdb_bytes_written"))),
        ("log syncs", per_second("rocksdb_wal_synced")),
    )


def _stalls(i: Interval) -> Table:
    now = stall_text(i.now) or "–"
    style = {"flowing": "green", "stopped": "bold red", "–": ""}.get(now, "yellow")
    _, slowed, rate = now.rpartition("slowed to ")
    return _rows(
        (f"writes {slowed.strip() or 'now'}", Text(rate, style=style)),
        ("held back", percent_text(i.held_back())),
        ("stops since start", number_text(i.gauge("rocksdb_stall_total_stops"))),
        ("slowdowns since start", number_text(i.gauge("rocksdb_stall_total_slowdowns"))),
        ("level 0, of slowdown", _nearness(i.gauge("cairn_level0_slowdown_percent"))),
        ("pending, of slowdown", _nearness(i.gauge("cairn_pending_compaction_slowdown_percent"))),
        ("quarantined tables", _alarming(i.gauge("cairn_quarantined_tables"))),
        ("background errors", _alarming(i.gauge("cairn_background_errors"))),
    )


def _nearness(percent: float | None) -> Text:
    if percent is None:
        return Text("–")
    style = "red" if percent >= 100 else "yellow" if percent >= 75 else ""
    return Text(f"{percent:.0f} %", style=style)


def _alarming(count: float | None) -> Text:
    return Text(number_text(count), style="bold red" if count else "")


def _reading(i: Interval) -> Table:
    def misses(kind: str) -> str:
        return per_second_text(i.rate(f"rocksdb_block_cache_{kind}_miss"))

    return _rows(
        ("cache hits", percent_text(i.hit_rate())),
        ("  data", percent_text(i.hit_rate("data"))),
        ("  index", percent_text(i.hit_rate("index"))),
        ("  filter", percent_text(i.hit_rate("filter"))),
        ("data blocks read", misses("data")),
        ("found in memtable", percent_text(_memtable_share(i))),
        (
            "files spared by bloom",
            percent_text(
                i.share(("rocksdb_bloom_filter_useful",), ("rocksdb_bloom_filter_full_positive",))
            ),
        ),
        ("oldest snapshot", duration_text(i.gauge("cairn_oldest_snapshot_seconds"))),
    )


def _memtable_share(i: Interval) -> float | None:
    return i.share(("rocksdb_memtable_hit",), ("rocksdb_memtable_miss",))


def _compaction(i: Interval) -> Table:
    return _rows(
        ("running", number_text(i.gauge("cairn_running_compactions"))),
        ("flushes running", number_text(i.gauge("cairn_running_flushes"))),
        ("memtables that wait", number_text(i.gauge("cairn_immutable_memtables"))),
        ("pending", bytes_text(i.gauge("cairn_pending_compaction_bytes"))),
        ("flushed", bytes_per_second_text(i.rate("rocksdb_flush_write_bytes"))),
        ("read", bytes_per_second_text(i.rate("rocksdb_compact_read_bytes"))),
        ("written", bytes_per_second_text(i.rate("rocksdb_compact_write_bytes"))),
        ("write amplification", number_text(i.write_amplification())),
    )


def _memory(i: Interval) -> Table:
    free, disk = i.gauge("cairn_disk_free_bytes"), i.gauge("cairn_disk_bytes")
    return _rows(
        ("block cache", bytes_text(i.gauge("cairn_block_cache_usage"))),
        ("  capacity", bytes_text(_capacity(i.now))),
        ("  pinned", bytes_text(i.gauge("cairn_block_cache_pinned"))),
        ("memtables", bytes_text(i.gauge("rocksdb_memtable_total"))),
        ("table readers", bytes_text(i.gauge("cairn_table_reader_bytes"))),
        ("data on disk", bytes_text(i.gauge("cairn_data_bytes") or sum(i.now.level_bytes))),
        ("disk free", bytes_text(free)),
        ("disk in use", percent_text(1 - free / disk if free is not None and disk else None)),
    )


def _capacity(reading: Reading) -> float | None:
    own = reading.get("cairn_block_cache_capacity")
    if own is not None:
        return own
    set_to = reading.variables.get("rocksdb_block_cache_size", "")
    return float(set_to) if set_to.isdigit() else None


def _levels(reading: Reading) -> Table:
    table = Table.grid(expand=True, padding=(0, 1))
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(ratio=1)
    largest = max(*reading.level_bytes, 1.0)
    for level, (count, size) in enumerate(
        zip(reading.level_files, reading.level_bytes, strict=True)
    ):
        bar = Bar(largest, 0, size, color="cyan") if count else Text("")
        table.add_row(f"L{level}", str(count), bytes_text(size) if count else "–", bar)
    return table

"""The report's page, as a browser shows it: wide and narrow, light and dark."""

import re
from pathlib import Path

import pytest
from browser import PROGRAM, Browser

from cairn import plugin, prefix
from cairn.errors import CairnError
from cairn.observe import page, plot
from cairn.observe.reading import LEVELS, Reading
from cairn.place import Place
from cairn.scratch_server import ScratchServer

COUNT = 40
STEP_S = 0.5  # Several readings have one time of day.
GAP = range(20, 24)  # Readings that fail: the server is restarted.


def reading(number: int) -> Reading:
    """A busy server's figures, with large numbers, so that texts are as long as they get."""
    since_start = number if number < GAP.start else number - GAP.stop
    figures = {
        name: float(since_start * step)
        for name, step in {
            "com_select": 123_456,
            "com_insert": 10_001,
            "com_update": 9_999,
            "com_delete": 1_000,
            "com_commit": 12_345,
            "rocksdb_number_keys_read": 1_234_567,
            "rocksdb_number_db_seek": 345_678,
            "rocksdb_number_keys_written": 98_765,
            "rocksdb_bytes_written": 123_456_789,
            "rocksdb_flush_write_bytes": 122_456_789,
            "rocksdb_compact_write_bytes": 999_456_789,
            "rocksdb_stall_micros": 212_345,
            "rocksdb_stall_total_stops": 1,
            "rocksdb_stall_total_slowdowns": 3,
            "uptime": 1,
        }.items()
    }
    for kind in ("", "data_", "index_", "filter_"):
        figures[f"rocksdb_block_cache_{kind}hit"] = since_start * 900_000.0
        figures[f"rocksdb_block_cache_{kind}miss"] = since_start * 12_345.0
    figures |= {
        "cairn_level0_slowdown_percent": 20.0 + number,
        "cairn_pending_compaction_slowdown_percent": 3.0 * number,
        "cairn_running_compactions": number % 3,
        "cairn_running_flushes": number % 2,
        "cairn_immutable_memtables": number % 4,
        "cairn_pending_compaction_bytes": number * 3.3e9,
        "cairn_block_cache_usage": 33e9,
        "rocksdb_memtable_total": 1.7e9,
        "cairn_table_reader_bytes": 1e6,
        "cairn_write_stopped": 0.0,
        "cairn_write_delayed_bytes_per_second": 16_777_216.0,
    }
    return Reading(
        1_700_000_000.0 + number * STEP_S,
        figures,
        tuple(level * 11 for level in range(LEVELS)),
        tuple(10.0 ** (level + 5) for level in range(LEVELS)),
        {"version": "10.11.18-MariaDB-0+deb12u1", "hostname": "database-07.example.com"},
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    readings = [None if number in GAP else reading(number) for number in range(COUNT)]
    result = tmp_path_factory.mktemp("report") / "report.html"
    text = page.render(Place(Path("/run/mysqld/mysqld.sock")), readings, STEP_S)
    result.write_text(text, encoding="utf-8")
    return result


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if PROGRAM is None:
        pytest.skip("there is no Chromium: apt-get install chromium-headless-shell")
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


# Pairs of texts that touch each other inside one plot, and texts that leave it.
COLLISIONS = """
[...document.querySelectorAll('svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim())
    .map(t => [t.textContent, t.getBoundingClientRect()]);
  const found = texts.filter(([, r]) => r.left < frame.left - 1 || r.right > frame.right + 1 ||
    r.top < frame.top - 1 || r.bottom > frame.bottom + 1).map(([text]) => 'outside: ' + text);
  texts.forEach(([a, r], i) => texts.slice(i + 1).forEach(([b, s]) => {
    if (r.left < s.right && s.left < r.right && r.top + 1 < s.bottom && s.top + 1 < r.bottom)
      found.push(a + ' / ' + b);
  }));
  return found;
})
"""
# Elements whose content is wider than they are.
OVERFLOWS = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('svg') &&
  e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display != 'inline' &&
  e.clientWidth > 0).map(e => e.tagName + ': ' + e.textContent.slice(0, 60))
"""
# Lines that are drawn: longer than a point, in a colour that is not the card's.
LINES = """
[...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('svg .series path')]
  .filter(p => p.getTotalLength() > 20 && p.getBoundingClientRect().width > 50 &&
    getComputedStyle(p).stroke != getComputedStyle(f).backgroundColor).length)
"""
SMALLEST_TEXT = """
Math.min(...[...document.querySelectorAll('svg text')].filter(t => t.textContent.trim())
  .map(t => t.getBoundingClientRect().height))
"""
# The contrast of texts with the card that they are on, as WCAG counts it.
CONTRAST = """
(() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
  return Math.min(...[...document.querySelectorAll('figure')].flatMap(f => {
    const card = getComputedStyle(f).backgroundColor;
    return [...f.querySelectorAll('h2, p, td, th')].map(e => ratio(getComputedStyle(e).color, card))
      .concat([...f.querySelectorAll('svg text')].map(e => ratio(getComputedStyle(e).fill, card)));
  }));
})()
"""


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1080, True), (390, False), (390, True), (320, False)]
)
def test_a_browser_shows_the_page_as_it_should_be(browser, file, width, dark):
    browser.open(file, width=width, dark=dark)
    assert not browser.named("Runtime.consoleAPICalled")
    assert not browser.named("Runtime.exceptionThrown")
    assert not browser.named("Log.entryAdded")
    requests = [event["request"]["url"] for event in browser.named("Network.requestWillBeSent")]
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
    assert browser.evaluate(COLLISIONS) == []
    assert browser.evaluate(OVERFLOWS) == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    lines = browser.evaluate(LINES)
    assert len(lines) == len(page.CHARTS)
    assert all(count > 0 for count in lines), lines
    assert browser.evaluate(SMALLEST_TEXT) >= 8.5
    assert browser.evaluate(CONTRAST) >= 4.5


def test_the_two_schemes_look_different(browser, file):
    colours = []
    for dark in (False, True):
        browser.open(file, width=800, dark=dark)
        colours.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1]


def test_the_pointer_finds_values(file):
    assert re.search(r"<title>select: [\d,.]+k?/s</title>", file.read_text())


def test_a_page_has_no_script_and_nothing_from_elsewhere(file):
    text = file.read_text()
    assert "<script" not in text
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", text)
    assert "url(" not in text


def test_a_restart_is_a_gap_and_is_told(file):
    text = file.read_text()
    assert f"The server did not answer {len(GAP)} of {COUNT} times." in text
    assert "It was restarted" in text
    steps = page.intervals([reading(1), reading(2), None, reading(GAP.stop), reading(GAP.stop + 1)])
    assert [step is not None for step in steps] == [True, False, False, True]


def test_names_are_not_taken_for_markup():
    readings = [reading(1), reading(2)]
    for one in readings:
        one.variables["hostname"] = "<script>alert(1)</script>"
    text = page.render(Place(Path("/<b>")), readings, 1.0)
    assert "<script" not in text
    assert "/<b>" not in text


@pytest.mark.parametrize(
    ("value", "binary", "top"),
    [(0, False, 1), (7, False, 8), (10, False, 10), (4300, False, 8000), (1025, True, 1536)],
)
def test_an_axis_ends_at_a_round_number(value, binary, top):
    assert plot.round_up(value, binary=binary) == top


@pytest.mark.skipif(
    prefix.current() is None or not plugin.library().exists(),
    reason="./cairn build has not been run here",
)
def test_a_report_of_a_live_server(tmp_path):
    with ScratchServer(prefix.require(), tmp_path) as server:
        server.start()
        target = tmp_path / "made.html"
        assert page.run(Place(server.socket), 1.0, 0.2, target) == 0
        text = target.read_text()
        assert text.count("<figure") == len(page.CHARTS)
        assert text.count("<svg") > len(page.CHARTS) / 2
        assert "flowing" in text
        server.stop()


def test_a_page_that_cannot_be_written_is_refused_before_the_watch(tmp_path):
    with pytest.raises(CairnError, match="no directory"):
        page.run(Place(tmp_path / "socket"), 3600, None, tmp_path / "nothing" / "page.html")


def test_too_few_readings_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(page.Reader, "first", lambda self: reading(1))
    monkeypatch.setattr(page.Reader, "read", lambda self: None)
    with pytest.raises(CairnError, match="too few readings"):
        page.run(Place(tmp_path / "socket"), 0.2, 0.1, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()

"""./cairn top: what it makes of a server's figures, and that it outlives the server's restarts."""

import io
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from cairn import plugin, prefix
from cairn.errors import CairnError
from cairn.observe import reading, top
from cairn.observe.reading import Interval, Reader, Reading
from cairn.paths import ROOT
from cairn.place import Place
from cairn.scratch_server import ScratchServer

PLACE = Place(Path("/run/mysqld/mysqld.sock"))
STOCK = {"rocksdb_stall_total_stops": 2.0, "rocksdb_memtable_total": 3e6, "uptime": 100.0}


def figures(at: float, **values: float) -> Reading:
    return Reading(at, STOCK | values, variables={"version": "10.11.18-MariaDB"})


def text_of(shown, width: int = 120) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(shown)
    return out.getvalue()


def test_a_rate_is_the_growth_for_each_second():
    interval = Interval(figures(10, a=100, b=1), figures(12, a=300, b=2))
    assert interval.rate("a") == 100
    assert interval.rate("a", "b") == 100.5


def test_a_counter_that_was_reset_tells_nothing():
    interval = Interval(figures(10, a=100), figures(12, a=3))
    assert interval.rate("a") is None
    assert interval.rate("unknown") is None
    assert Interval(figures(10, a=1), figures(10, a=1)).rate("a") is None


def test_an_idle_cache_has_no_hit_rate():
    names = {"rocksdb_block_cache_hit": 5.0, "rocksdb_block_cache_miss": 5.0}
    assert Interval(figures(1, **names), figures(2, **names)).hit_rate() is None
    later = {"rocksdb_block_cache_hit": 8.0, "rocksdb_block_cache_miss": 6.0}
    assert Interval(figures(1, **names), figures(2, **later)).hit_rate() == 0.75


@pytest.mark.parametrize(
    ("stopped", "rate", "expected"),
    [(0, 0, "flowing"), (0, 1 << 24, "slowed to 16.0 MiB/s"), (1, 0, "stopped")],
)
def test_stalls_are_told_in_words(stopped, rate, expected):
    now = figures(1, cairn_write_stopped=stopped, cairn_write_delayed_bytes_per_second=rate)
    assert reading.stall_text(now) == expected
    shown = " ".join(text_of(top.view(PLACE, Interval(now, now))).split())
    assert expected in shown


def test_what_holds_writes_back_is_told():
    now = Reading(1, STOCK, stalls=("stopped by memtables in default: a flush is running",))
    shown = text_of(top.view(PLACE, Interval(now, now)))
    assert "Writes are stopped by memtables in default: a flush is running" in shown


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width):
    large = {name: 9.9e14 for name in STOCK} | {"com_commit": 1e9, "rocksdb_bytes_written": 1e13}
    shown = top.view(PLACE, Interval(figures(0), figures(1, **large)))
    assert max(map(len, text_of(shown, width).splitlines())) <= width


def test_what_the_stock_plugin_does_not_tell_is_left_open():
    text = text_of(top.view(PLACE, Interval(figures(0), figures(1))))
    assert "writes now                       –" in text
    assert "stops since start                2" in text
    assert "memtables                  2.9 MiB" in text


class StockConnection:
    """Answers as a server with the stock plug-in does."""

    status = (("Uptime", "7"), ("Rocksdb_stall_micros", "0"), ("Ssl_cipher", ""))
    engine_status = (
        ("CFSTATS", "default", "  L0      2/0    3.00 KB   0.5\n  L6  1/0  1.5 MB  0"),
    )

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def execute(self, statement):
        self.statement = statement

    def fetchall(self):
        if "STATUS" not in self.statement:
            return (("version", "10.11"),)
        return self.engine_status if "ENGINE" in self.statement else self.status


def left_over(directory: Path) -> Path:
    """A socket at which nothing listens any more."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(directory / "socket"))
    return directory / "socket"


def connected(monkeypatch, tmp_path, connection) -> Reader:
    monkeypatch.setattr(Reader, "_connect", lambda self: connection)
    return Reader(Place(left_over(tmp_path)))


def test_levels_of_the_stock_plugin_come_from_its_engine_status(monkeypatch, tmp_path):
    found = connected(monkeypatch, tmp_path, StockConnection()).first()
    assert found.level_files == (2, 0, 0, 0, 0, 0, 1)
    assert found.level_bytes == (3072.0, 0, 0, 0, 0, 0, 1.5 * (1 << 20))
    assert found.get("uptime") == 7


def test_a_server_without_the_engine_is_refused(monkeypatch, tmp_path):
    connection = StockConnection()
    connection.status = (("Uptime", "7"),)
    with pytest.raises(CairnError, match="no engine ROCKSDB"):
        connected(monkeypatch, tmp_path, connection).first()


def test_a_place_without_a_server_is_refused(tmp_path):
    with pytest.raises(CairnError, match="no such socket"):
        Reader(Place(tmp_path / "socket")).first()
    with pytest.raises(CairnError, match="is a directory, not a socket"):
        Reader(Place(tmp_path)).first()
    with pytest.raises(CairnError, match="does not answer"):
        Reader(Place(left_over(tmp_path))).first()


def test_a_missing_file_of_options_is_named(tmp_path):
    with pytest.raises(CairnError, match=r"missing\.cnf"):
        Reader(Place(left_over(tmp_path), "root", tmp_path / "missing.cnf")).first()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ScratchServer(prefix.require(), tmp_path_factory.mktemp("top")) as server:
        server.start()
        yield server


@pytest.mark.skipif(
    prefix.current() is None or not plugin.library().exists(),
    reason="./cairn build has not been run here",
)
class TestLive:
    def command(self, server: ScratchServer, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "cairn", "top", f"--socket={server.socket}", *arguments]

    def test_once_shows_one_interval_and_saves_a_picture(self, server, tmp_path):
        done = subprocess.run(
            self.command(server, "--once", "--interval=0.2", f"--svg={tmp_path / 'top.svg'}"),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env=dict(os.environ, PYTHONPATH=str(ROOT / "cli"), COLUMNS="120"),
        )
        for title in ("Throughput", "Stalls", "Levels", "Reading", "Compaction", "Memory"):
            assert title in done.stdout
        assert "flowing" in done.stdout
        picture = (tmp_path / "top.svg").read_text()
        assert picture.startswith("<svg")
        assert "url(http" not in picture

    def test_the_live_view_outlives_a_restart_of_the_server(self, server):
        child, terminal = pty.fork()
        if child == 0:
            environment = dict(
                os.environ, PYTHONPATH=str(ROOT / "cli"), COLUMNS="120", LINES="40", TERM="xterm"
            )
            os.execve(sys.executable, self.command(server, "--interval=0.1"), environment)
        try:
            assert wait_for(terminal, "flowing")
            server.stop()
            assert wait_for(terminal, "does not answer")
            server.start()
            assert wait_for(terminal, "flowing")
            os.kill(child, signal.SIGINT)
            drain(terminal)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        finally:
            os.close(terminal)


def wait_for(terminal: int, text: str, limit_s: float = 30) -> bool:
    """Reads what the program shows until `text` is in it."""
    seen, end = "", time.monotonic() + limit_s
    while text not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 1 << 16).decode("utf-8", "replace")
    return text in seen


def drain(terminal: int) -> None:
    """Reads until the program has ended and its side of the terminal is closed."""
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        pass


@pytest.mark.skipif(
    prefix.current() is None or not plugin.library().exists(),
    reason="./cairn build has not been run here",
)
def test_a_stall_is_seen_with_its_cause(tmp_path):
    triggers = "level0_file_num_compaction_trigger=2;level0_slowdown_writes_trigger=2"
    options = f"--rocksdb-override-cf-options=slow={{disable_auto_compactions=1;{triggers}}}"
    with ScratchServer(prefix.require(), tmp_path, (options,)) as server:
        server.start()
        server.query("CREATE DATABASE d")
        server.query(
            "CREATE TABLE d.t (id INT, PRIMARY KEY (id) COMMENT 'cfname=slow') ENGINE=ROCKSDB"
        )
        for number in range(2):
            server.query(f"INSERT INTO d.t VALUES ({number})")
            server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
        assert reading.stall_text(Reader(Place(server.socket)).first()) == "flowing"
        server.query("SET GLOBAL rocksdb_pause_background_work = 1")
        server.query("SET GLOBAL rocksdb_update_cf_options = 'slow={disable_auto_compactions=0}'")
        found = Reader(Place(server.socket)).first()
        assert reading.stall_text(found).startswith("slowed to ")
        assert found.get("cairn_level0_slowdown_percent") == 100
        assert [text for text in found.stalls if "level-0 files in slow" in text]
        server.query("SET GLOBAL rocksdb_pause_background_work = 0")
        server.stop()

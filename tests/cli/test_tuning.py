"""A server starts with each configuration of docs/tuning.md, and does what it says."""

import re

import pytest

from cairn import plugin, prefix
from cairn.paths import ROOT
from cairn.scratch_server import ScratchServer

PAGE = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# The server's log and its table pool belong to the machine; the test's own are smaller.
SCALED = ("rocksdb_block_cache_size", "rocksdb_db_write_buffer_size", "innodb_buffer_pool_size")
SCALE = 64


def configurations() -> list[tuple[str, str]]:
    """Title and text of each."""
    return re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?```ini\n(.*?)```", PAGE, re.DOTALL | re.M)


def options(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "["))]
    pairs = (re.fullmatch(r'(\w+) = "?(.*?)"?', line) for line in lines)
    return {found[1]: found[2] for found in pairs if found}


def number(text: str) -> int:
    return int(text[:-1]) * SIZES[text[-1]] if text[-1] in SIZES else int(text)


ALL = configurations()


def test_there_are_three_machines():
    assert [int(re.match(r"\d+", title)[0]) for title, _ in ALL] == [2, 8, 32]


@pytest.mark.parametrize(("title", "text"), ALL, ids=[title for title, _ in ALL])
class TestConfiguration:
    def test_every_line_has_its_reason(self, title, text):
        lines = text.splitlines()
        for before, line in zip(lines, lines[1:], strict=False):
            assert line.startswith("#") or before.startswith("#"), line

    def test_its_memory_fits_the_machine(self, title, text):
        """Block cache and memtables together take at most 70 % of it."""
        machine = int(re.search(r"(\d+) GiB", title)[1]) * SIZES["G"]
        values = options(text)
        assert sum(number(values[name]) for name in SCALED) < 0.7 * machine

    @pytest.mark.skipif(
        prefix.current() is None or not plugin.library().exists(),
        reason="./cairn build has not been run here",
    )
    def test_a_server_starts_with_it(self, title, text, tmp_path):
        values = options(text)
        for name in SCALED:
            values[name] = str(max(number(values[name]) // SCALE, 8 << 20))
        arguments = tuple(f"--{name.replace('_', '-')}={value}" for name, value in values.items())
        with ScratchServer(prefix.require(), tmp_path, arguments) as server:
            server.start()
            shown = dict(server.query("SHOW GLOBAL VARIABLES"))
            for name, value in values.items():
                if re.fullmatch(r"\d+[KMG]?", value):
                    assert int(shown[name]) == number(value), name
                else:
                    assert shown[name] == value, name
            server.query("CREATE DATABASE d")
            server.query("CREATE TABLE d.t (id INT PRIMARY KEY, b VARCHAR(100)) ENGINE=ROCKSDB")
            rows = "SELECT seq, REPEAT('r', 100) FROM seq_1_to_1000"
            server.query(f"INSERT INTO t {rows}", database="d")
            server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
            assert server.query("SELECT COUNT(*) FROM d.t") == [(1000,)]
            family = dict(
                server.query(
                    "SELECT option_type, value FROM information_schema.rocksdb_cf_options "
                    "WHERE cf_name = 'default'"
                )
            )
            wanted = re.search(r"write_buffer_size=(\d+)m", values["rocksdb_default_cf_options"])
            assert int(family["WRITE_BUFFER_SIZE"]) == int(wanted[1]) << 20
            assert not server.errors()
            server.stop()

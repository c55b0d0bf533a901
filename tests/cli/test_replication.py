"""The binary log as tests replay it: a file that a crash cut off hides nothing that comes later."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cairn import plugin, prefix
from cairn.errors import CairnError
from cairn.scratch_server import ScratchServer
from tests import replication

# In the header of a file's first event, after the magic number.
_FLAGS = 4 + 17
_IN_USE = 1


pytestmark = pytest.mark.skipif(
    prefix.current() is None or not plugin.library().exists(),
    reason="./cairn build has not been run here",
)


@pytest.fixture
def servers(tmp_path: Path):
    mariadb = prefix.require()
    with (
        ScratchServer(mariadb, tmp_path / "source", ("--log-bin=binlog",)) as source,
        ScratchServer(mariadb, tmp_path / "target") as target,
    ):
        source.start()
        target.start()
        source.execute("CREATE DATABASE d", "CREATE TABLE d.t (i INT PRIMARY KEY)")
        source.execute("INSERT INTO d.t VALUES (1)")
        source.execute("INSERT INTO d.t VALUES (2)", "FLUSH BINARY LOGS")
        source.execute("INSERT INTO d.t VALUES (3)", "FLUSH BINARY LOGS")
        yield source, target


def cut_off(log: Path, missing: int, *, in_use: bool) -> None:
    """Cuts bytes off the end of the last transaction, as a crash within its write does."""
    content = bytearray(log.read_bytes())
    at, starts = 4, []
    while at < len(content):
        starts.append(at)
        at += struct.unpack_from("<I", content, at + 9)[0]
    # The last event points to the next file; the transaction ends before it.
    del content[starts[-1] - missing :]
    content[_FLAGS] = _IN_USE if in_use else 0
    log.write_bytes(content)


@pytest.mark.parametrize("missing", [1, 5, 20])
def test_files_after_one_that_was_cut_off_are_replayed(servers, tmp_path: Path, missing: int):
    source, target = servers
    cut_off(source.data / "binlog.000001", missing, in_use=True)
    files = ("binlog.000001", "binlog.000002")
    replication.replay(source.mariadb, files, source, target, tmp_path / "log")
    assert target.query("SELECT i FROM d.t ORDER BY i") == [(1,), (3,)]


def test_a_damaged_file_that_was_closed_is_an_error(servers, tmp_path: Path):
    source, target = servers
    cut_off(source.data / "binlog.000001", 5, in_use=False)
    with pytest.raises(CairnError, match=r"cannot be read \(binlog\.000001\)"):
        replication.replay(source.mariadb, ["binlog.000001"], source, target, tmp_path / "log")

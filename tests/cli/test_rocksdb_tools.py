"""RocksDB's ldb and sst_dump read a directory of the engine, reverse column families included."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cairn import plugin, prefix
from cairn.paths import BUILD
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer

TOOLS = BUILD / "release" / "tools"

# Of a record of RocksDB's logs (engine/lsm/log_record.h).
_LENGTH_AT = 4
_TYPE_AT = 6
_HEAD_BYTES = 7
_REUSED_FULL = 5

pytestmark = pytest.mark.skipif(
    prefix.current() is None or not plugin.library().exists() or not (TOOLS / "ldb").exists(),
    reason="./cairn build has not been run here",
)


def run(tool: str, *arguments: str) -> str:
    done = subprocess.run(
        [TOOLS / tool, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    """What a stopped server has left: a table with a key in each order, flushed to files."""
    with ScratchServer(prefix.require(), tmp_path_factory.mktemp("tools")) as server:
        server.start()
        server.query("CREATE DATABASE d")
        server.query(
            "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, k INT, "
            "KEY backwards (k) COMMENT 'rev:backwards') ENGINE=ROCKSDB"
        )
        server.query("INSERT INTO d.t (k) VALUES (1), (2), (3)")
        server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
        server.query("INSERT INTO d.t (k) VALUES (4)")
        server.stop()
        return server.data / ENGINE_DIRECTORY


def scan(directory: Path, family: str) -> list[str]:
    text = run("ldb", f"--db={directory}", f"--column_family={family}", "scan", "--hex")
    return [line.partition(" ==> ")[0] for line in text.splitlines() if " ==> " in line]


def test_ldb_lists_column_families(directory):
    families = run("ldb", f"--db={directory}", "list_column_families")
    for name in ("default", "__system__", "rev:backwards"):
        assert name in families


def test_ldb_dumps_the_manifest_with_both_orders(directory):
    manifest = run("ldb", f"--db={directory}", "manifest_dump")
    assert "comparator: RocksDB_SE_v3.10" in manifest
    assert "comparator: rev:RocksDB_SE_v3.10" in manifest


def test_ldb_scans_each_family_in_its_order(directory):
    forward, backward = scan(directory, "default"), scan(directory, "rev:backwards")
    assert len(forward) == len(backward) == 4
    assert forward == sorted(forward)
    assert backward == sorted(backward, reverse=True)


def test_ldb_merges_records_of_the_dictionary(directory):
    # The records of auto-increment values begin with 9 and are merge entries.
    assert any(key.startswith("0x00000009") for key in scan(directory, "__system__"))


def test_sst_dump_scans_every_file(directory):
    files = sorted(directory.glob("*.sst"))
    assert files
    orders = set()
    for file in files:
        text = run("sst_dump", f"--file={file}", "--command=scan", "--output_hex")
        assert "=>" in text
        properties = run("sst_dump", f"--file={file}", "--command=none", "--show_properties")
        orders |= {line.split(": ")[1] for line in properties.splitlines() if "comparator" in line}
    assert orders == {"RocksDB_SE_v3.10", "rev:RocksDB_SE_v3.10"}


def test_sst_dump_writes_a_raw_dump(directory, tmp_path):
    copy = tmp_path / "000001.sst"
    copy.write_bytes(next(iter(directory.glob("*.sst"))).read_bytes())
    run("sst_dump", f"--file={copy}", "--command=raw")
    assert "Footer" in (tmp_path / "000001_dump.txt").read_text(errors="replace")


def test_ldb_refuses_a_directory_that_is_none(tmp_path):
    done = subprocess.run(
        [TOOLS / "ldb", f"--db={tmp_path / 'nothing'}", "scan"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "nothing" in done.stderr


def test_ldb_refuses_to_repair(directory, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    for path in [*copy.glob("MANIFEST-*"), copy / "CURRENT"]:
        path.unlink()
    before = sorted(path.name for path in copy.iterdir())
    for arguments in ([f"--db={copy}", "repair"], ["repair", f"--db={copy}", "--verbose"]):
        done = subprocess.run(
            [TOOLS / "ldb", *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert "repair is refused" in done.stderr
    assert sorted(path.name for path in copy.iterdir()) == before


@pytest.mark.parametrize(
    ("files", "dump"),
    [
        ("MANIFEST-*", ("--path", "manifest_dump")),
        ("*.log", ("--walfile", "dump_wal")),
    ],
)
def test_ldb_refuses_what_its_reader_would_not_get_past(tmp_path, files, dump):
    database = tmp_path / "database"
    run("ldb", f"--db={database}", "--create_if_missing", "put", "a", "1")
    file = max(database.glob(files), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    second = _HEAD_BYTES + int.from_bytes(content[_LENGTH_AT:_TYPE_AT], "little")
    if file.suffix == ".log":
        content = content[:second] * 2
    content[second + _TYPE_AT] = _REUSED_FULL
    file.write_bytes(content)
    option, command = dump
    for arguments in ([f"--db={database}", "scan"], [f"{option}={file}", command]):
        done = subprocess.run(
            [TOOLS / "ldb", *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert f"{file} is damaged (byte {second})" in done.stderr
    assert file.read_bytes() == content

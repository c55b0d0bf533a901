"""Which files of a data directory count as data."""

from pathlib import Path

import pytest

from cairn.bench import disk_size


@pytest.mark.parametrize(
    ("name", "is_log"),
    [
        ("ib_logfile0", True),
        ("#rocksdb/000012.log", True),
        ("#rocksdb/000012.sst", False),
        ("sbtest/stock.ibd", False),
        ("sbtest/000012.log", False),
        ("ibdata1", False),
    ],
)
def test_redo_logs_are_no_data(name, is_log):
    assert disk_size.is_log(Path("data", name)) == is_log


class Server:
    loads_plugin = False

    def __init__(self, data):
        self.data = data


def test_sizes_are_without_logs_and_with_them_in_the_details(tmp_path):
    (tmp_path / "ibdata1").write_bytes(b"x" * 300)
    (tmp_path / "ib_logfile0").write_bytes(b"x" * 50)
    before, after = disk_size.measure(Server(tmp_path))
    assert (before.name, after.name) == ("size on disk", "size on disk after compaction")
    assert before.value == after.value == 300
    assert before.details == {"with_logs": 350}

"""What a power cut leaves of files: what was synced, and nothing else for sure."""

import errno
import os
import threading
import time

import pytest

from tests.hunt.part import Unavailable
from tests.power.disk import Disk, build


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    try:
        build(None)
        with Disk(tmp_path_factory.mktemp("power") / "disk") as disk:
            yield disk
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def disk(mounted):
    """An empty directory of its own for each test, durable; names become durable by directories."""
    for path in mounted.path.iterdir():
        path.unlink() if path.is_file() else remove_tree(path)
    mounted.delay(0)
    mounted.name_rule("directory")
    mounted.sync()
    return mounted


def remove_tree(path):
    for each in path.iterdir():
        each.unlink() if each.is_file() else remove_tree(each)
    path.rmdir()


def write(path, data, *, at=0, sync=False):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(descriptor, data, at)
    if sync:
        os.fsync(descriptor)
    os.close(descriptor)


def sync_directory(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def names(disk):
    return sorted(path.name for path in disk.path.iterdir())


def test_files_are_files(disk):
    path = disk.path / "a"
    path.write_bytes(b"x" * 300_000)
    with path.open("ab") as file:
        file.write(b"end")
    os.truncate(path, 300_001)
    assert path.read_bytes() == b"x" * 300_000 + b"e"
    (disk.path / "d").mkdir()
    path.rename(disk.path / "d" / "b")
    assert names(disk) == ["d"]
    with pytest.raises(OSError, match="not empty"):
        (disk.path / "d").rmdir()


def test_written_bytes_without_a_sync_are_gone_and_synced_ones_stay(disk):
    path = disk.path / "a"
    write(path, b"durable", sync=True)
    sync_directory(disk.path)
    write(path, b"LOST", at=0)
    write(path, b" and longer", at=7)
    assert path.read_bytes() == b"LOSTble and longer"
    disk.cut("everything", 512, 1)
    assert path.read_bytes() == b"durable"


def test_a_file_cut_short_without_a_sync_is_long_again(disk):
    path = disk.path / "a"
    write(path, b"0123456789", sync=True)
    sync_directory(disk.path)
    os.truncate(path, 3)
    disk.cut("everything", 512, 1)
    assert path.read_bytes() == b"0123456789"


def test_a_new_name_is_gone_until_its_directory_is_synced(disk):
    write(disk.path / "synced", b"1", sync=True)
    sync_directory(disk.path)
    write(disk.path / "new", b"2", sync=True)
    disk.cut("everything", 512, 1)
    assert names(disk) == ["synced"]


def test_a_new_name_stays_with_its_file_by_the_rule_own(disk):
    disk.name_rule("own")
    (disk.path / "d").mkdir()
    write(disk.path / "d" / "new", b"2", sync=True)
    write(disk.path / "other", b"3")
    disk.cut("everything", 512, 1)
    assert names(disk) == ["d"]
    assert (disk.path / "d" / "new").read_bytes() == b"2"


def test_any_sync_keeps_all_names_by_the_rule_journal(disk):
    disk.name_rule("journal")
    write(disk.path / "other", b"3")
    write(disk.path / "new", b"2", sync=True)
    disk.cut("everything", 512, 1)
    assert names(disk) == ["new", "other"]
    assert (disk.path / "other").read_bytes() == b""


def test_a_directory_has_a_rule_of_its_own(disk):
    (disk.path / "strict").mkdir()
    sync_directory(disk.path)
    disk.name_rule("journal")
    disk.name_rule("directory", "strict")
    for folder in (disk.path, disk.path / "strict"):
        write(folder / "new", b"2", sync=True)
    disk.cut("everything", 512, 1)
    assert names(disk) == ["new", "strict"]
    assert list((disk.path / "strict").iterdir()) == []


def test_removing_and_renaming_are_taken_back(disk):
    for name in ("a", "b", "c"):
        write(disk.path / name, name.encode(), sync=True)
    sync_directory(disk.path)
    (disk.path / "a").unlink()
    (disk.path / "b").rename(disk.path / "c")
    assert names(disk) == ["c"]
    disk.cut("everything", 512, 1)
    assert [(disk.path / name).read_text() for name in names(disk)] == ["a", "b", "c"]


def test_a_sync_of_a_directory_keeps_what_a_change_depends_on(disk):
    (disk.path / "d").mkdir()
    write(disk.path / "a", b"moved", sync=True)
    (disk.path / "a").rename(disk.path / "d" / "b")
    sync_directory(disk.path / "d")
    disk.cut("everything", 512, 1)
    assert names(disk) == ["d"]
    assert (disk.path / "d" / "b").read_bytes() == b"moved"


def test_a_prefix_has_no_later_change_without_the_earlier_ones(disk):
    first, second = disk.path / "first", disk.path / "second"
    kept = set()
    for seed in range(12):
        for path in (first, second):
            write(path, bytes(16), sync=True)
        sync_directory(disk.path)
        for number in range(16):
            write(first if number % 2 == 0 else second, b"x", at=number)
        disk.cut("prefix", 512, seed)
        written = [(first, second)[n % 2].read_bytes()[n] == ord("x") for n in range(16)]
        assert written == sorted(written, reverse=True)
        kept.add(sum(written))
    assert len(kept) > 4


def test_a_subset_tears_writes_at_sectors_only(disk):
    path = disk.path / "a"
    mixed = False
    for seed in range(10):
        write(path, b"o" * 8192, sync=True)
        sync_directory(disk.path)
        write(path, b"n" * 8192)
        disk.cut("subset", 512, seed)
        sectors = [path.read_bytes()[at : at + 512] for at in range(0, 8192, 512)]
        assert all(sector in (b"o" * 512, b"n" * 512) for sector in sectors)
        mixed |= len(set(sectors)) == 2
    assert mixed


def test_what_a_seed_takes_away_it_takes_away_again(disk):
    results = []
    for seed in (3, 3, 4):
        path = disk.path / "a"
        write(path, b"o" * 65536, sync=True)
        sync_directory(disk.path)
        write(path, b"n" * 65536)
        disk.cut("subset", 4096, seed)
        results.append(path.read_bytes())
    assert results[0] == results[1] != results[2]


def test_what_the_cut_left_comes_back(disk, tmp_path):
    path = disk.path / "a"
    write(path, b"durable", sync=True)
    sync_directory(disk.path)
    write(path, b"LOST")
    disk.cut("everything", 512, 1)
    write(path, b"later", sync=True)
    disk.keep(tmp_path / "kept")
    assert path.read_bytes() == b"durable"
    assert (tmp_path / "kept" / "a").read_bytes() == b"durable"


def test_a_file_that_was_open_is_of_no_use_after_the_cut(disk):
    descriptor = os.open(disk.path / "a", os.O_RDWR | os.O_CREAT, 0o600)
    disk.cut("everything", 512, 1)
    with pytest.raises(OSError, match="Input/output error"):
        os.pwrite(descriptor, b"late", 0)
    os.close(descriptor)


def test_what_a_slow_sync_covered_stays(disk):
    disk.delay(2000)
    path = disk.path / "a"
    write(path, b"durable", sync=True)
    sync_directory(disk.path)
    assert disk.cut("everything", 512, 1).startswith("0 bytes and 0 names lost")
    assert path.read_bytes() == b"durable"


def test_a_cut_before_the_end_of_a_sync_finds_nothing_synced(disk):
    path = disk.path / "a"
    write(path, b"old", sync=True)
    sync_directory(disk.path)
    disk.delay(1_000_000)
    write(path, b"new")
    before = disk.report().partition("\n")[0]
    descriptor = os.open(path, os.O_RDWR)
    errors = []

    def sync():
        try:
            os.fsync(descriptor)
        except OSError as error:
            errors.append(error.errno)

    thread = threading.Thread(target=sync)
    thread.start()
    # Until the file system has been asked; it takes its time to answer.
    while disk.report().partition("\n")[0] == before:
        time.sleep(0.01)
    disk.cut("everything", 512, 1)
    thread.join()
    os.close(descriptor)
    assert errors == [errno.EIO]
    assert path.read_bytes() == b"old"

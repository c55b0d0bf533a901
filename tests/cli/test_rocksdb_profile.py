"""The profile that RocksDB is compiled with: what it decides and how it is made."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest

from cairn import rocksdb
from cairn.errors import CairnError

OBJECTS = Path("CMakeFiles", "rocksdb.dir", "Unity")


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "profile.tar.xz"
    monkeypatch.setattr(rocksdb, "PROFILE", path)
    return path


def test_the_checkout_has_one_for_each_compiled_file() -> None:
    with tarfile.open(rocksdb.PROFILE) as archive:
        names = archive.getnames()
    numbers = sorted(int(re.fullmatch(r"unity_(\d+)_cxx\.cxx\.gcda", name)[1]) for name in names)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 20


def test_another_profile_makes_another_library(profile: Path) -> None:
    without = rocksdb.library()
    profile.write_bytes(b"one")
    one = rocksdb.library()
    profile.write_bytes(b"two")
    assert len({without, one, rocksdb.library()}) == 3


def test_sanitizers_are_built_without(profile: Path) -> None:
    without = rocksdb.library("thread")
    profile.write_bytes(b"one")
    assert rocksdb.library("thread") == without


def test_a_server_that_left_no_counts_replaces_nothing(profile: Path, tmp_path: Path) -> None:
    profile.write_bytes(b"one")
    with pytest.raises(CairnError, match="no counts"):
        rocksdb.save_profile(tmp_path)
    assert profile.read_bytes() == b"one"


def test_the_same_counts_make_the_same_archive(profile: Path, tmp_path: Path) -> None:
    archives = []
    for run in ("first", "second"):
        objects = rocksdb._training_directories(tmp_path / run)[1] / OBJECTS
        objects.mkdir(parents=True)
        for number in (1, 0):
            (objects / f"unity_{number}_cxx.cxx.gcda").write_bytes(b"counts %d" % number)
            (objects / f"unity_{number}_cxx.cxx.o").write_bytes(b"an object")
        rocksdb.save_profile(tmp_path / run)
        archives.append(profile.read_bytes())
    assert archives[0] == archives[1]
    with tarfile.open(profile) as archive:
        assert archive.getnames() == ["unity_0_cxx.cxx.gcda", "unity_1_cxx.cxx.gcda"]

"""The profile that our own code is compiled with: which sources it has, and how it is packed."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from cairn import profiles
from cairn.errors import CairnError
from cairn.paths import ROOT

MOST_GONE = 0.2


def test_the_checkout_has_one_for_most_sources() -> None:
    with tarfile.open(profiles.OWN) as archive:
        sources = [ROOT / name.removesuffix(".gcda") for name in archive.getnames()]
    assert sum(source.suffix == ".cc" for source in sources) == len(sources) > 200
    gone = [source for source in sources if not source.is_file()]
    assert len(gone) < MOST_GONE * len(sources), "make another with ./cairn train"


def _leave(objects: Path, *names: str) -> None:
    for name in names:
        path = objects / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"counts of " + name.encode())


def test_counts_are_known_by_their_sources(tmp_path: Path) -> None:
    _leave(
        tmp_path,
        "engine/a/CMakeFiles/cairn_a.dir/x.cc.gcda",
        "mariadb/CMakeFiles/ha_rocksdb.dir/schema/y.cc.gcda",
        "mariadb/CMakeFiles/ha_rocksdb.dir/y.cc.o",
        "tests/CMakeFiles/tests.dir/z.cc.gcda",
    )
    assert profiles.of_sources(tmp_path).keys() == {
        "engine/a/x.cc.gcda",
        "mariadb/schema/y.cc.gcda",
    }


def test_the_same_counts_make_the_same_bytes(tmp_path: Path) -> None:
    packed = []
    for run in ("first", "second"):
        _leave(tmp_path / run, "b.gcda", "a.gcda")
        archive = tmp_path / f"{run}.tar.xz"
        profiles.save(profiles.of_folder(tmp_path / run), archive)
        packed.append(archive.read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(tmp_path / "first.tar.xz") as archive_read:
        assert archive_read.getnames() == ["a.gcda", "b.gcda"]


def test_without_counts_the_archive_stays(tmp_path: Path) -> None:
    archive = tmp_path / "profile.tar.xz"
    archive.write_bytes(b"before")
    with pytest.raises(CairnError, match="no counts"):
        profiles.save(profiles.of_folder(tmp_path), archive)
    assert archive.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == [archive.name]


def test_counts_of_before_are_forgotten(tmp_path: Path) -> None:
    _leave(tmp_path, "engine/a/x.cc.gcda", "engine/a/x.cc.o")
    profiles.remove_counts(tmp_path)
    assert [path.name for path in tmp_path.rglob("*.*")] == ["x.cc.o"]


def test_the_compiler_is_told_paths_from_the_build_directory() -> None:
    """Else two checkouts would name file-local functions differently."""
    told = subprocess.run(
        [
            *(ROOT / "cmake" / "relative_source.sh", "/a checkout", "../.."),
            *("printf", "<%s>", "-I/a checkout", "-I/a checkout/a b", "-I/a checkout2", "-o"),
            *("x.cc.o", "/a checkout/mariadb/x.cc", "/elsewhere/y.cc", "*", ""),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    includes = ("-I../..", "-I../../a b", "-I/a checkout2")
    others = ("-o", "x.cc.o", "../../mariadb/x.cc", "/elsewhere/y.cc", "*", "")
    assert told.stdout == "".join(f"<{argument}>" for argument in (*includes, *others))

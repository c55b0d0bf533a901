"""How RocksDB is built into the cache that all checkouts share."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn import rocksdb

RECIPE = "cmake_minimum_required(VERSION 3.25)\nproject(recipe NONE)\n"


def test_a_build_that_another_checkout_has_begun_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rocksdb, "LOG", tmp_path)
    scratch = tmp_path / "library.build"
    compiled = scratch / "CMakeFiles" / "compiled.o"
    for checkout in ("first", "second"):
        recipe = tmp_path / checkout
        recipe.mkdir()
        (recipe / "CMakeLists.txt").write_text(RECIPE, encoding="utf-8")
        rocksdb._configure(scratch, tmp_path / "rocksdb.log", recipe)
        if checkout == "first":
            compiled.write_bytes(b"an object")
    assert compiled.read_bytes() == b"an object"
    assert str(tmp_path / "second") in (scratch / "CMakeCache.txt").read_text(encoding="utf-8")

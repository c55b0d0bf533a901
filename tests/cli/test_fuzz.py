"""The fuzz targets: what ./cairn fuzz runs is what is built, and has a committed corpus."""

import re

import pytest

from cairn import fuzz
from cairn.commands.development import FUZZ_TARGETS
from cairn.paths import ROOT


def test_every_target_is_built() -> None:
    """The command knows the targets that CMake knows, and no others."""
    cmake = (ROOT / "tests" / "fuzz" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^cairn_fuzz_target\((\w+)", cmake, re.MULTILINE)) == FUZZ_TARGETS


@pytest.mark.parametrize("target", FUZZ_TARGETS)
def test_a_committed_corpus_is_small(target: str) -> None:
    """Every target has inputs, which a clone does not feel."""
    inputs = list(fuzz.committed(target).iterdir())
    assert inputs
    assert all(path.stat().st_size <= 4096 for path in inputs)
    assert sum(path.stat().st_size for path in inputs) <= 100 * 1024


def test_targets_share_the_time() -> None:
    """All of it is used, and none goes without."""
    assert fuzz.shares(62, ("a", "b")) == {"a": 31, "b": 31}
    assert sorted(fuzz.shares(63, ("a", "b", "c", "d")).values()) == [15, 16, 16, 16]
    assert fuzz.shares(2, ("a", "b", "c", "d")) == dict.fromkeys("abcd", 1)

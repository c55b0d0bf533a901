#!/usr/bin/env python3
"""Fails when a source file has more lines than one reads at once: it has several topics.

Usage: source_size_test.py REPOSITORY_ROOT
       source_size_test.py --self-test
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

import rule

FOLDERS = ("engine", "mariadb", "tests", "tools", "cli", "packaging", "cmake")
SUFFIXES = (".cc", ".h", ".py", ".sh", ".cmake")
MOST_LINES = 700


def problems(root: Path) -> list[str]:
    """Each file that is too long, with its length."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                count = len(path.read_text(encoding="utf-8").splitlines())
                if count > MOST_LINES:
                    name = path.relative_to(root).as_posix()
                    found.append(f"{name}: {count} lines, {MOST_LINES} are allowed")
    return found


class SelfTest(unittest.TestCase):
    """The checker finds what it is there to find."""

    def test_a_file_that_is_too_long_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, lines in (
                ("engine/a.cc", MOST_LINES),
                ("engine/b.cc", MOST_LINES + 1),
                ("tests/unit/c_test.cc", MOST_LINES + 2),
                ("cli/d.py", MOST_LINES + 3),
                ("tests/sql/r/e.result", MOST_LINES + 4),
            ):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("x\n" * lines)
            self.assertEqual(
                problems(root),
                [
                    "engine/b.cc: 701 lines, 700 are allowed",
                    "tests/unit/c_test.cc: 702 lines, 700 are allowed",
                    "cli/d.py: 703 lines, 700 are allowed",
                ],
            )


if __name__ == "__main__":
    sys.exit(rule.run(__doc__, problems, "No source file is too long."))

#!/usr/bin/env python3
"""Fails when a source of the checkout is compiled without the warnings that stop a build.

Where assertions are on, so is <cassert>: no source may be compiled with -DNDEBUG.

Usage: warnings_test.py COMPILE_COMMANDS CHECKOUT [--assertions] -Wall... | --self-test
"""

from __future__ import annotations

import json
import shlex
import sys
import unittest
from pathlib import Path


def problems(
    commands: list[dict[str, str]], root: Path, wanted: list[str], assertions: bool = False
) -> list[str]:
    """The sources below `root` whose command lacks one of the options, or takes it back."""
    found = []
    for entry in commands:
        path = Path(entry["file"])
        if not path.is_relative_to(root):
            continue
        options = shlex.split(entry["command"])
        found += [
            f"{path}: compiled without {option}" for option in wanted if option not in options
        ]
        found += [
            f"{path}: compiled with {option}"
            for option in options
            if option == "-w" or option.startswith("-Wno-error")
        ]
        if assertions and "-DNDEBUG" in options:
            found.append(f"{path}: compiled without assertions (-DNDEBUG)")
    return found


class SelfTest(unittest.TestCase):
    def test_a_source_without_an_option_is_found(self) -> None:
        commands = [
            {"file": "/c/engine/a.cc", "command": "c++ -Wall -Werror -c /c/engine/a.cc"},
            {"file": "/c/engine/b.cc", "command": "c++ -Wall -c /c/engine/b.cc"},
            {"file": "/c/engine/c.cc", "command": "c++ -Wall -Werror -w -c /c/engine/c.cc"},
            {"file": "/rocksdb/d.cc", "command": "c++ -c /rocksdb/d.cc"},
        ]
        self.assertEqual(
            problems(commands, Path("/c"), ["-Wall", "-Werror"]),
            ["/c/engine/b.cc: compiled without -Werror", "/c/engine/c.cc: compiled with -w"],
        )

    def test_a_source_without_assertions_is_found(self) -> None:
        commands = [
            {"file": "/c/engine/a.cc", "command": "c++ -DCAIRN_ASSERTIONS -c /c/engine/a.cc"},
            {"file": "/c/engine/b.cc", "command": "c++ -O2 -DNDEBUG -c /c/engine/b.cc"},
        ]
        self.assertEqual(
            problems(commands, Path("/c"), [], assertions=True),
            ["/c/engine/b.cc: compiled without assertions (-DNDEBUG)"],
        )
        self.assertEqual(problems(commands, Path("/c"), []), [])


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        return 0 if unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful() else 1
    assertions = "--assertions" in arguments
    # CMake since 3.31 passes an option that does not apply as an empty one.
    arguments = [each for each in arguments if each not in ("", "--assertions")]
    if len(arguments) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    commands = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    root = Path(arguments[1]).resolve()
    found = problems(commands, root, arguments[2:], assertions)
    if not any(Path(entry["file"]).is_relative_to(root) for entry in commands):
        found.append(f"{arguments[0]} names no source of {root}.")
    print("\n".join(found) or f"All sources are compiled with {' '.join(arguments[2:])}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The command line of a rule that looks at the sources of a checkout."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable
from pathlib import Path


def run(usage: str | None, problems: Callable[[Path], list[str]], none: str) -> int:
    """Prints the problems of the checkout that the command names, or `none` of them.

    The exit status: 1 if there are any, 2 for a wrong command. With --self-test the tests of the
    calling module run.
    """
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return 0 if unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful() else 1
    if len(arguments) != 1 or not Path(arguments[0], "engine").is_dir():
        print(usage, file=sys.stderr)
        return 2
    found = problems(Path(arguments[0]).resolve())
    print("\n".join(found) or none)
    return 1 if found else 0

"""Which of the two packages uses the other."""

import ast

from cairn.paths import ROOT

CLI = ROOT / "cli"
DOORS = (CLI / "cairn" / "commands", CLI / "cairn" / "testing.py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def uses_tests(path):
    return any(name.partition(".")[0] == "tests" for name in imported(path))


def test_of_the_command_line_only_the_doors_use_the_long_checks():
    users = {path for path in CLI.rglob("*.py") if uses_tests(path)}
    assert users and all(any(path.is_relative_to(door) for door in DOORS) for path in users)

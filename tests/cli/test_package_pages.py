"""How pages of commands are read and compared with what the commands print."""

from __future__ import annotations

import json

import pytest

from cairn.errors import CairnError
from cairn.paths import ROOT
from tests.acceptance.package import pages
from tests.acceptance.package.walkthrough import errors_of_the_server

PAGE = """# A page

Text.

    # first --option
    one
    …

    MariaDB> not a command

## Other

    # second
    # third

    more text in a block of its own

    # with_NEW_file
"""


def test_commands_have_what_they_are_said_to_print() -> None:
    assert [(command.text, command.output) for command in pages.commands(PAGE)] == [
        ("first --option", ("one", "…")),
        ("second", ()),
        ("third", ()),
    ]


def test_commands_know_their_lines_in_a_section_too() -> None:
    lines = PAGE.splitlines()
    for command in (*pages.commands(PAGE), *pages.commands(pages.section(PAGE, "Other"))):
        assert lines[command.line - 1] == f"    # {command.text}"
    assert pages.section(PAGE, "Unknown") == ""


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ((), "", True),
        ((), "something\n", False),
        (("a",), "a\n", True),
        (("a",), "a", True),
        (("a",), "a\nb\n", False),
        (("a", "…"), "a\n", True),
        (("…", "b"), "x\ny\nb\n", True),
        (("…", "b"), "x\nbc\n", False),
        (("a … c",), "a b c\n", True),
        (("a … c",), "a c\n", False),
        (("a (1+1)",), "a (1+1)\n", True),
    ],
)
def test_what_is_printed_is_compared_line_by_line(
    said: tuple[str, ...], printed: str, same: bool
) -> None:
    assert pages.is_as_said(said, printed) is same


@pytest.mark.parametrize("name", ["install.md", "upgrade.md", "uninstall.md"])
def test_the_pages_have_commands(name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert len(pages.commands(page)) >= 4


def answer(*findings: tuple[str, str]) -> str:
    """What cairn-doctor --json prints, as far as the walk-through reads it."""
    found = [{"code": code, "severity": severity} for code, severity in findings]
    return json.dumps({"error": None, "findings": found})


def test_errors_of_the_server_are_not_those_of_the_machine() -> None:
    nearly_full = ("disk-nearly-full", "error")
    assert errors_of_the_server(answer(nearly_full, ("backup-old", "warning"))) == []
    assert errors_of_the_server(answer(nearly_full, ("engine-missing", "error"))) == [
        "engine-missing"
    ]


def test_an_answer_that_is_none_is_said() -> None:
    with pytest.raises(CairnError, match="answers 'Segmentation fault'"):
        errors_of_the_server("Segmentation fault")
    with pytest.raises(CairnError, match="no answer: no such socket"):
        errors_of_the_server(json.dumps({"error": "no such socket", "findings": []}))

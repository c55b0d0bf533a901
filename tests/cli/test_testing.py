"""The total of ./cairn test and what it names."""

from __future__ import annotations

import pytest

from cairn import testing
from cairn.testing import Total


@pytest.fixture
def parts(monkeypatch):
    """Lets `lint` and `unit` be the only parts, with these results."""

    def choose(lint, unit):
        monkeypatch.setattr(testing.packages, "ensure", lambda *_: None)
        for name in ("slips", "sql", "crash", "conformance", "package"):
            monkeypatch.setattr(testing, name, lambda _: Total())
        monkeypatch.setattr(testing, "lint", lambda _: lint)
        monkeypatch.setattr(testing, "unit", lambda _: unit)

    return choose


def test_failures_are_named_after_the_total(parts, capsys):
    parts(Total(3, 1), Total(5, 2, ["release: codec_test", "asan: codec_test"]))
    assert testing.run("all") == 1
    lines = capsys.readouterr().out.splitlines()
    total = lines.index("8 passed, 3 failed")
    assert lines[total + 1 :] == [
        "    failed  lint: 1",
        "    failed  release: codec_test",
        "    failed  asan: codec_test",
    ]


def test_nothing_is_named_when_all_passes(parts, capsys):
    parts(Total(3), Total(5))
    assert testing.run("all") == 0
    assert capsys.readouterr().out.endswith("\n8 passed, 0 failed\n")


def test_a_run_without_tests_fails(parts):
    parts(Total(), Total())
    assert testing.run("all") == 1


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("\t  7 - codec_test (Failed)", "codec_test"),
        ("\t 12 - codec_test (SEGFAULT)                  unit", "codec_test"),
        (" 3/32 Test  #7: codec_test ....***Failed", None),
    ],
)
def test_the_list_of_ctest_names_what_failed(line, name):
    found = testing.FAILED_UNIT.match(line)
    assert (found and found[1]) == name

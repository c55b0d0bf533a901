"""How ./cairn acceptance django and the like compare two runs, and how they name tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cairn.errors import CairnError
from tests.acceptance.frameworks import command
from tests.acceptance.frameworks.django import groups, label, labels, pinned_version
from tests.acceptance.frameworks.gorm import Recorder
from tests.acceptance.frameworks.outcomes import (
    LEDGER,
    MISSING,
    Outcome,
    Pair,
    judge,
    load,
    load_ledger,
    pair_up,
)
from tests.acceptance.frameworks.suite import PINS, is_made, note_made

PASS, FAIL, SKIP = Outcome("pass"), Outcome("fail", "an error"), Outcome("skip", "a reason")


def written(path: Path, *entries: tuple[str, str] | str) -> Path:
    lines = [
        entry if isinstance(entry, str) else json.dumps({"test": entry[0], "state": entry[1]})
        for entry in entries
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def ledger_of(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(("suite\ttest\treason", *lines)) + "\n", encoding="utf-8")
    return path


# ---- outcomes --------------------------------------------------------------------------------


def test_a_test_that_failed_in_one_part_has_failed(tmp_path):
    path = written(tmp_path / "o", ("a", "fail"), ("a", "pass"), ("b", "pass"), ("b", "fail"))
    assert {test: outcome.state for test, outcome in load(path).items()} == {
        "a": "fail",
        "b": "fail",
    }


def test_a_line_that_a_killed_suite_left_half_written_is_left_out(tmp_path):
    assert list(load(written(tmp_path / "o", ("a", "pass"), '{"test": "b", "sta'))) == ["a"]


def test_a_suite_that_wrote_nothing_has_no_outcomes(tmp_path):
    assert load(tmp_path / "none") == {}


def test_a_test_that_ran_on_one_engine_alone_is_paired_with_none():
    pairs = pair_up({"InnoDB": {"a": PASS, "b": PASS}, "ROCKSDB": {"b": PASS, "c": PASS}})
    assert [(pair.test, pair.innodb.state, pair.rocksdb.state) for pair in pairs] == [
        ("a", "pass", MISSING),
        ("b", "pass", "pass"),
        ("c", MISSING, "pass"),
    ]


# ---- the verdict -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("innodb", "rocksdb", "worse"),
    [
        (PASS, PASS, False),
        (PASS, FAIL, True),
        (PASS, SKIP, True),
        (PASS, Outcome(MISSING), True),
        (FAIL, FAIL, False),
        (SKIP, FAIL, False),
        (FAIL, PASS, False),
    ],
)
def test_worse_is_what_passes_on_innodb_and_not_on_rocksdb(innodb, rocksdb, worse):
    assert [pair.test for pair in judge([Pair("a", innodb, rocksdb)], {}).worse] == ["a"] * worse


def test_what_the_ledger_names_is_known():
    verdict = judge([Pair("a", PASS, FAIL), Pair("b", PASS, FAIL)], {"a": "FULLTEXT"})
    assert [pair.test for pair in verdict.known] == ["a"]
    assert [pair.test for pair in verdict.worse] == ["b"]
    assert verdict.needless == ()


def test_an_entry_of_the_ledger_that_is_not_needed_any_more_is_told():
    assert judge([Pair("a", PASS, PASS)], {"a": "FULLTEXT"}).needless == ("a",)


def test_an_entry_about_a_test_that_did_not_run_stays():
    assert judge([Pair("a", PASS, PASS)], {"b": "FULLTEXT"}).needless == ()


def test_what_passes_alone_was_chance():
    pairs = [Pair("a", PASS, FAIL), Pair("b", PASS, FAIL), Pair("c", PASS, PASS)]
    second = {"InnoDB": {"a": PASS, "b": FAIL}, "ROCKSDB": {"a": PASS, "b": FAIL}}
    verdict = judge(command.after_second(pairs, second), {})
    assert [pair.test for pair in verdict.worse] == ["b"]


def test_what_does_not_run_alone_stays_as_it_was():
    pairs = [Pair("a", PASS, FAIL)]
    assert command.after_second(pairs, {"InnoDB": {}, "ROCKSDB": {}}) == pairs


# ---- the ledger ------------------------------------------------------------------------------


def test_the_ledger_is_read_by_suite(tmp_path):
    path = ledger_of(tmp_path / "l", "django\ta\tFULLTEXT", "knex\tb\tSPATIAL")
    assert load_ledger(path, "django") == {"a": "FULLTEXT"}


@pytest.mark.parametrize("line", ["django\ta", "django\ta\t", "django\ta\tb\tc"])
def test_a_wrong_line_of_the_ledger_is_named(tmp_path, line):
    with pytest.raises(CairnError, match="line 2: expected a suite"):
        load_ledger(ledger_of(tmp_path / "l", line), "django")


def test_a_test_is_in_the_ledger_once(tmp_path):
    path = ledger_of(tmp_path / "l", "django\ta\tFULLTEXT", "django\ta\tSPATIAL")
    with pytest.raises(CairnError, match="line 3: a is there twice"):
        load_ledger(path, "django")


@pytest.mark.parametrize("suite", command.SUITES)
def test_the_ledger_can_be_read(suite):
    load_ledger(LEDGER, suite)


def test_the_ledger_names_suites_that_exist():
    lines = LEDGER.read_text(encoding="utf-8").splitlines()[1:]
    assert {line.partition("\t")[0] for line in lines} <= set(command.SUITES)


# ---- suites ----------------------------------------------------------------------------------


def test_what_fails_before_the_tests_of_a_class_is_run_again_by_the_class():
    assert label("setUpClass (schema.tests.SchemaTests)") == "schema.tests.SchemaTests"
    assert label("schema.tests.SchemaTests.test_add") == "schema.tests.SchemaTests.test_add"


def test_labels_are_the_packages_but_those_of_other_databases(tmp_path):
    for name in ("schema", "gis_tests", "postgres_tests", "admin_views"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "templates").mkdir()
    assert labels(tmp_path) == ("admin_views", "schema")


def test_groups_keep_every_label_in_order():
    names = tuple(f"label{number}" for number in range(31))
    found = groups(names)
    assert tuple(name for group in found for name in group) == names
    assert len(found) == 3
    assert groups(("a",)) == [("a",)]


def test_events_of_go_become_outcomes(tmp_path):
    record = Recorder(tmp_path / "o")
    for event in (
        {"Action": "run", "Test": "TestA"},
        {"Action": "output", "Test": "TestA", "Output": "wrong row\n"},
        {"Action": "fail", "Test": "TestA"},
        {"Action": "output", "Test": "TestB/part", "Output": "fine\n"},
        {"Action": "pass", "Test": "TestB/part"},
        {"Action": "fail"},
    ):
        record(json.dumps(event))
    record("no event\n")
    assert load(tmp_path / "o") == {
        "TestA": Outcome("fail", "wrong row\n"),
        "TestB/part": Outcome("pass"),
    }


def test_every_requirement_is_pinned_with_its_checksum():
    for path in PINS.glob("*.txt"):
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in filter(None, text.splitlines()):
            assert line.startswith("#") or ("==" in line and "--hash=sha256:" in line), line


def test_the_version_comes_from_the_pin():
    assert pinned_version(PINS / "django-source.txt").startswith("django ")


def test_a_directory_is_made_again_when_what_it_is_of_changes(tmp_path):
    assert not is_made(tmp_path, ["a"])
    note_made(tmp_path, ["a"])
    assert is_made(tmp_path, ["a"])
    assert not is_made(tmp_path, ["b"])

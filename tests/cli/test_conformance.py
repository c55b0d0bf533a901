"""How ./cairn conformance gives tests to the framework."""

from __future__ import annotations

import pytest

from cairn import conformance, ledger
from cairn.errors import CairnError
from cairn.ledger import Entry
from cairn.mtr import Outcome
from cairn.paths import LEDGER, OTHER_SERVER_LEDGER


def test_every_test_is_in_one_batch_and_no_batch_has_two_variants_of_a_test():
    tests = [f"suite.t{number}" for number in range(70)]
    tests += ["suite.t3,row", "suite.t3,mix", "suite.t69,row"]
    batches = list(conformance.batches(tests))
    assert sorted(test for batch in batches for test in batch) == sorted(tests)
    for batch in batches:
        assert 0 < len(batch) <= conformance.BATCH
        names = [test.partition(",")[0] for test in batch]
        assert len(names) == len(set(names))


def test_no_tests_make_no_batch():
    assert list(conformance.batches([])) == []


def packaged(tmp_path):
    for place in ("plugin/rocksdb/rocksdb/t/one.test", "plugin/rocksdb/rocksdb/t/two.test"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    variants = "[write_committed]\n[write_prepared]\n"
    (tmp_path / "plugin/rocksdb/rocksdb/combinations").write_text(variants)
    return tmp_path


def test_tests_are_selected_in_any_directory_of_the_framework(tmp_path):
    directory = packaged(tmp_path)
    found = conformance.select(directory, ("rocksdb",), "write_committed")
    assert found == ["rocksdb.one,write_committed", "rocksdb.two,write_committed"]
    assert conformance.select(directory, ("rocksdb.two",), None) == ["rocksdb.two"]
    for wrong in ("rocksdb.three", "nothing", "nothing.one"):
        with pytest.raises(CairnError, match="There is no"):
            conformance.select(directory, (wrong,), None)


def test_a_test_that_the_framework_says_nothing_of_is_worse(capsys):
    entries = {"s.one": Entry("s.one", "pass"), "s.two": Entry("s.two", "differs", "Because.")}
    tests = ["s.one,write_committed", "s.two,write_committed"]
    one = Outcome("s.one", ("row", "write_committed"), "pass")
    two = Outcome("s.two", ("write_committed",), "fail", "mismatch")
    assert conformance.lost(tests, [one]) == ["s.two,write_committed"]
    assert conformance.tell(tests, [one, two], entries, updated=False) == 0
    assert conformance.tell(tests[1:], [two], entries, updated=False) == 0
    assert conformance.tell(tests, [two], entries, updated=True) == 1
    said = capsys.readouterr().out
    assert "did not run: 1" in said
    assert "failed, as the ledger says: 1" in said


def test_the_ledger_of_the_other_server_has_nothing_that_the_first_has():
    ledger.load_with(ledger.load(LEDGER), OTHER_SERVER_LEDGER)

"""How ./cairn conformance gives tests to the framework."""

from __future__ import annotations

from cairn import conformance


def test_every_test_is_in_one_batch_and_no_batch_has_two_variants_of_a_test():
    tests = [f"suite.t{number}" for number in range(70)]
    tests += ["suite.t3,row", "suite.t3,mix", "suite.t69,row"]
    batches = list(conformance._batches(tests))
    assert sorted(test for batch in batches for test in batch) == sorted(tests)
    for batch in batches:
        assert 0 < len(batch) <= conformance.BATCH
        names = [test.partition(",")[0] for test in batch]
        assert len(names) == len(set(names))


def test_no_tests_make_no_batch():
    assert list(conformance._batches([])) == []

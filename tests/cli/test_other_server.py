"""What of a test's differences on another server is Cairn's to explain."""

from cairn.expected_differences import Line, differences
from cairn.mtr import Outcome
from tests.acceptance import other_server

MISMATCH = "Result content mismatch"


def report(*lines: str) -> list[str]:
    removed = sum(line.startswith("-") for line in lines)
    added = sum(line.startswith("+") for line in lines)
    return [f"@@ -1,{1 + removed} +1,{1 + added} @@", " SELECT 1;", *lines]


def failed(variant: str, *lines: str) -> Outcome:
    variants = (variant,) if variant else ()
    return Outcome("sql.one", variants, "fail", MISMATCH, report(*lines))


def held(*outcomes: Outcome, ledger: tuple[Line, ...] = ()) -> list[tuple[str, bool]]:
    return [(each.test, each.holds) for each in other_server.judge(outcomes, list(ledger))]


def test_what_innodb_gives_as_well_is_the_servers() -> None:
    server = failed("innodb", "-old", "+new")
    assert held(server, failed("rocksdb", "-old", "+new")) == [("sql.one,rocksdb", True)]
    assert held(server, failed("rocksdb", "-old", "+other")) == [("sql.one,rocksdb", False)]


def test_a_difference_of_ours_alone_fails_unless_the_ledger_explains_it() -> None:
    outcome = failed("", "-old", "+new")
    (difference,) = differences(outcome.report)
    assert held(outcome) == [("sql.one", False)]
    line = Line("sql.one", difference.digest, "Because.")
    assert held(outcome, ledger=(line,)) == [("sql.one", True)]
    assert held(failed("", "-old", "+other"), ledger=(line,)) == [("sql.one", False)]


def test_innodb_variants_and_skipped_tests_say_nothing_of_cairn() -> None:
    skipped = Outcome("sql.two", (), "skip", "Needs debug build")
    assert held(failed("innodb", "-a", "+b"), skipped) == []


def test_a_test_that_ends_without_a_result_fails() -> None:
    crashed = Outcome("sql.one", ("rocksdb",), "fail", "Server crashed")
    same = Outcome("sql.one", ("innodb",), "fail", "Server crashed")
    assert held(same, crashed) == [("sql.one,rocksdb", False)]


def test_what_the_ledger_has_without_need_is_named() -> None:
    line = Line("sql.one", "01234567", "Because.")
    passed = Outcome("sql.one", (), "pass")
    (verdict,) = other_server.judge([passed], [line])
    assert verdict.holds
    assert verdict.gone == ("01234567",)

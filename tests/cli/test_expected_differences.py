"""Differences of tests' results, and the ledger that explains them."""

import pytest

from cairn import expected_differences as expected
from cairn.errors import CairnError
from cairn.expected_differences import Difference, Line, Verdict
from cairn.foreign_key_suites import runnable
from cairn.mtr import Outcome

REPORT = (
    "--- /a/r/keys.result\t2026-01-01",
    "+++ /a/r/keys.reject\t2026-01-02",
    "@@ -1,4 +1,5 @@",
    " DROP INDEX a ON t;",
    "+mysqltest: At line 7: query 'DROP INDEX a ON t' failed",
    " SELECT 1;",
    "-1",
    "-2",
    "+3",
    "",
    "@@ -9 +10 @@",
    "-old",
    "+new",
    "Result length mismatch",
    "- saving '/a/log'",
)
FIRST, SECOND, THIRD = expected.differences(REPORT)


def failed(*report: str, reason: str = "Result length mismatch") -> Outcome:
    return Outcome("innodb.keys", ("COPY",), "fail", reason, list(report))


def test_differences_are_neighbouring_lines_with_the_line_before_them():
    assert [(each.before, each.lines) for each in (FIRST, SECOND, THIRD)] == [
        (
            "DROP INDEX a ON t;",
            ("+mysqltest: At line 7: query 'DROP INDEX a ON t' failed",),
        ),
        ("SELECT 1;", ("-1", "-2", "+3")),
        ("", ("-old", "+new")),
    ]


def test_ruled_lines_and_lines_that_look_like_a_head_belong_to_the_difference():
    (found,) = expected.differences(["@@ -1,2 +1,1 @@", "--- a comment", "-@@ -1 +1 @@", " x"])
    # The piece has room for one line of the new result alone.
    assert found.lines == ("--- a comment", "-@@ -1 +1 @@")


def test_a_difference_that_moved_to_another_line_is_the_same():
    moved = Difference(FIRST.before, (FIRST.lines[0].replace("line 7", "line 70"),))
    assert moved.digest == FIRST.digest
    assert Difference("DROP INDEX b ON t;", FIRST.lines).digest != FIRST.digest
    assert Difference(FIRST.before, ("+other",)).digest != FIRST.digest


def test_a_test_holds_whose_differences_the_ledger_has_for_it_or_all_its_variants():
    ledger = [
        Line("innodb.keys", f"{FIRST.digest} {THIRD.digest}", "a reason"),
        Line("innodb.keys,COPY", SECOND.digest, "another"),
        Line("innodb.keys,INPLACE", "01234567", "a third"),
    ]
    verdict = expected.judge(failed(*REPORT), ledger)
    assert verdict == Verdict("innodb.keys,COPY", known=3)
    assert verdict.holds


def test_a_new_difference_fails_also_where_it_is_like_a_known_one():
    ledger = [Line("innodb.keys", f"{FIRST.digest} {SECOND.digest} {THIRD.digest}", "a reason")]
    report = [*REPORT[:-2], *REPORT[10:13]]
    verdict = expected.judge(failed(*report), ledger)
    assert verdict.unknown == (THIRD,)
    assert not verdict.holds


def test_a_difference_that_nobody_has_explained_fails():
    ledger = [Line("innodb.keys", FIRST.digest, expected.UNEXPLAINED)]
    assert expected.judge(failed(*REPORT[:6]), ledger).unknown == (FIRST,)


def test_what_the_ledger_has_without_need_is_named_and_does_not_fail():
    ledger = [Line("innodb.keys", f"{FIRST.digest} 01234567", "a reason")]
    verdict = expected.judge(failed(*REPORT[:6]), ledger)
    assert verdict.gone == ("01234567",)
    assert verdict.holds


@pytest.mark.parametrize(
    "outcome",
    [
        failed(*REPORT, reason="mysqltest failed with unexpected return code"),
        failed(),
        Outcome("innodb.keys", ("COPY",), "skip", "needs something"),
    ],
)
def test_a_test_without_a_result_fails_whatever_the_ledger_says(outcome):
    ledger = [Line("innodb.keys", f"{FIRST.digest} {SECOND.digest} {THIRD.digest}", "a reason")]
    assert not expected.judge(outcome, ledger).holds


def test_an_update_keeps_reasons_drops_what_is_gone_and_asks_for_new_ones():
    ledger = [
        Line("innodb.a", "00000001 00000002", "a reason", "sql.a"),
        Line("innodb.a", "00000003", "gone"),
        Line("innodb.b", "pass"),
        Line("innodb.x", expected.CANNOT_RUN, "needs more"),
    ]
    updated = expected.update(
        ledger,
        [
            Verdict("innodb.a", 1, gone=("00000002", "00000003")),
            Verdict("innodb.b", 0, unknown=(FIRST,)),
            Verdict("innodb.c", 0),
            Verdict("innodb.d", failure="server died"),
        ],
    )
    assert updated == [
        Line("innodb.a", "00000001", "a reason", "sql.a"),
        Line("innodb.x", expected.CANNOT_RUN, "needs more"),
        Line("innodb.b", FIRST.digest, expected.UNEXPLAINED),
        Line("innodb.c", "pass"),
    ]


def test_a_ledger_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "foreign_keys.tsv"
    lines = [
        Line("innodb.a", "pass"),
        Line("innodb.b,COPY", "01234567 89abcdef", "a reason", "sql.foreign_keys"),
        Line("innodb.c", expected.CANNOT_RUN, "needs more"),
    ]
    expected.save_ledger(path, reversed(lines))
    assert expected.load_ledger(path) == lines
    assert runnable(lines) == ("innodb.a", "innodb.b")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("innodb.a", "expected a test"),
        ("innodb.a\tpass\ta\tb\tc", "expected a test"),
        ("innodb.a\t012345\ta reason", "8 hexadecimal digits"),
        ("innodb.a\t01234567", "needs a reason"),
        ("innodb.a\tcannot run", "needs a reason"),
    ],
)
def test_a_wrong_line_of_the_ledger_is_named(tmp_path, line, problem):
    path = tmp_path / "foreign_keys.tsv"
    path.write_text(f"test\tdifferences\n{line}\n")
    with pytest.raises(CairnError, match=f"line 2: .*{problem}"):
        expected.load_ledger(path)

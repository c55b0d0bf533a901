"""The server's tests of foreign keys with ROCKSDB: what is changed, compared and kept."""

import pytest

from cairn import foreign_key_suites as suites
from cairn.errors import CairnError
from cairn.foreign_key_suites import Difference, Line, Verdict
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
FIRST, SECOND, THIRD = suites.differences(REPORT)


def failed(*report: str, reason: str = "Result length mismatch") -> Outcome:
    return Outcome("innodb.keys", ("COPY",), "fail", reason, list(report))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (
            "CREATE TABLE t (a INT) ENGINE=InnoDB;",
            "CREATE TABLE t (a INT) ENGINE=ROCKSDB;",
        ),
        ("--source include/have_innodb.inc", "--source include/have_innodb.inc"),
        ("SET innodb_lock_wait_timeout=7;", "SET rocksdb_lock_wait_timeout=7;"),
        ("--innodb-lock-wait-timeout=2", "--rocksdb-lock-wait-timeout=2"),
        (
            "SET innodb_lock_wait_timeout= 0, a=0;",
            "SET rocksdb_lock_wait_timeout= 1, a=0;",
        ),
        ("Got error 193 'x' from InnoDB", "Got error 193 'x' from ROCKSDB"),
        (
            "where state = 'update' and info",
            "where state = 'Waiting for row lock' and info",
        ),
        ("SELECT * FROM INNODB_SYS_FOREIGN;", "SELECT * FROM INNODB_SYS_FOREIGN;"),
    ],
)
def test_what_names_innodb_names_our_engine_where_it_has_the_like(text, changed):
    assert suites.substitute(text) == changed


def test_of_a_test_for_debug_servers_the_parts_that_need_none_stay():
    test = (
        "--source include/have_innodb.inc\n--source include/have_debug_sync.inc\n"
        "source include/have_debug.inc;\n\n"
        "--echo # plain\nCREATE TABLE t;\n\n"
        "#\n# staged\nSET debug_sync='a SIGNAL b';\nDROP TABLE t;\n\n"
        "# faults\nSET DEBUG_DBUG = '+d,fault';\n--error 1\nALTER TABLE t;\n"
        "SET DEBUG_DBUG = @saved;\nDROP TABLE t;\n"
    )
    assert suites.leave_out_debugging(test) == (
        "--source include/have_innodb.inc\n\n"
        "--echo # plain\nCREATE TABLE t;\n\n# faults\nDROP TABLE t;\n"
    )


def test_a_test_for_any_server_stays_whole():
    test = "\n\n# a\nSET debug_sync='RESET';\n"
    assert suites.leave_out_debugging(test) == test


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
    (found,) = suites.differences(["@@ -1,2 +1,1 @@", "--- a comment", "-@@ -1 +1 @@", " x"])
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
    verdict = suites.judge(failed(*REPORT), ledger)
    assert verdict == Verdict("innodb.keys,COPY", known=3)
    assert verdict.holds


def test_a_new_difference_fails_also_where_it_is_like_a_known_one():
    ledger = [Line("innodb.keys", f"{FIRST.digest} {SECOND.digest} {THIRD.digest}", "a reason")]
    report = [*REPORT[:-2], *REPORT[10:13]]
    verdict = suites.judge(failed(*report), ledger)
    assert verdict.unknown == (THIRD,)
    assert not verdict.holds


def test_a_difference_that_nobody_has_explained_fails():
    ledger = [Line("innodb.keys", FIRST.digest, suites.UNEXPLAINED)]
    assert suites.judge(failed(*REPORT[:6]), ledger).unknown == (FIRST,)


def test_what_the_ledger_has_without_need_is_named_and_does_not_fail():
    ledger = [Line("innodb.keys", f"{FIRST.digest} 01234567", "a reason")]
    verdict = suites.judge(failed(*REPORT[:6]), ledger)
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
    assert not suites.judge(outcome, ledger).holds


def test_an_update_keeps_reasons_drops_what_is_gone_and_asks_for_new_ones():
    ledger = [
        Line("innodb.a", "00000001 00000002", "a reason", "sql.a"),
        Line("innodb.a", "00000003", "gone"),
        Line("innodb.b", "pass"),
        Line("innodb.x", suites.CANNOT_RUN, "needs more"),
    ]
    updated = suites.update(
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
        Line("innodb.x", suites.CANNOT_RUN, "needs more"),
        Line("innodb.b", FIRST.digest, suites.UNEXPLAINED),
        Line("innodb.c", "pass"),
    ]


def test_a_ledger_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "foreign_keys.tsv"
    lines = [
        Line("innodb.a", "pass"),
        Line("innodb.b,COPY", "01234567 89abcdef", "a reason", "sql.foreign_keys"),
        Line("innodb.c", suites.CANNOT_RUN, "needs more"),
    ]
    suites.save_ledger(path, reversed(lines))
    assert suites.load_ledger(path) == lines
    assert suites.runnable(lines) == ("innodb.a", "innodb.b")


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
        suites.load_ledger(path)


def test_suites_are_laid_out_changed_and_others_stay_links(tmp_path):
    packaged = tmp_path / "packaged"
    own = tmp_path / "own"
    for directory in (
        packaged / "main",
        packaged / "suite/innodb/t",
        packaged / "suite/rpl",
    ):
        directory.mkdir(parents=True)
    include = packaged / "suite/innodb/include"
    include.mkdir()
    text = "CREATE TABLE t (a INT) ENGINE=InnoDB;\n"
    for path in (
        packaged / "main/a.test",
        packaged / "suite/innodb/t/b.test",
        include / "c.inc",
    ):
        path.write_text(text)
    (own / "suite").mkdir(parents=True)
    (own / "main").symlink_to(packaged / "main")
    for name in ("innodb", "rpl"):
        (own / "suite" / name).symlink_to(packaged / "suite" / name)

    suites.lay_out(own / "suite", packaged, ["main", "innodb"])

    assert "ROCKSDB" in (own / "main/a.test").read_text()
    assert "ROCKSDB" in (own / "suite/innodb/t/b.test").read_text()
    assert (own / "suite/innodb/include/c.inc").read_text() == text
    assert (packaged / "main/a.test").read_text() == text
    assert (own / "suite/rpl").is_symlink()
    with pytest.raises(CairnError, match="no packaged suite 'nothing'"):
        suites.lay_out(own / "suite", packaged, ["nothing"])


def test_the_ledger_of_this_repository_explains_all_that_it_lists():
    ledger = suites.load_ledger(suites.FOREIGN_KEYS_LEDGER)
    assert ledger
    assert [line for line in ledger if line.reason == suites.UNEXPLAINED] == []
    for line in ledger:
        if line.differences == suites.PASS:
            assert not line.reason

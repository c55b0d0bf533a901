"""The server's tests of foreign keys with ROCKSDB: what is changed in them, and their ledger."""

import pytest

from cairn import expected_differences as expected
from cairn import foreign_key_suites as suites
from cairn.errors import CairnError


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
    ledger = expected.load_ledger(suites.FOREIGN_KEYS_LEDGER)
    assert ledger
    assert [line for line in ledger if line.reason == expected.UNEXPLAINED] == []
    for line in ledger:
        if line.differences == expected.PASS:
            assert not line.reason

"""Comparing what the server's suites give with InnoDB and with ROCKSDB."""

import pytest

from cairn import engine_suites
from cairn.engine_suites import Pair
from cairn.errors import CairnError
from cairn.mtr import Outcome


def outcome(state: str, *report: str, reason: str = "") -> Outcome:
    return Outcome("vcol.keys", (), state, reason, list(report))


def holds(innodb: Outcome | None, rocksdb: Outcome | None) -> bool:
    return Pair("vcol", "vcol.keys", innodb, rocksdb).holds


FAILED = outcome(
    "fail",
    "--- /a/keys.result\t2026-01-01",
    "+++ /a/keys.reject\t2026-01-01",
    "@@ -1 +1 @@",
    " context",
    "-1",
    "+Storage engine InnoDB said 2",
)


@pytest.mark.parametrize(
    ("innodb", "rocksdb", "expected"),
    [
        ("pass", "pass", True),
        ("pass", "fail", False),
        ("pass", "skip", False),
        ("fail", "pass", True),
        ("fail", "skip", False),
        ("skip", "skip", True),
        ("skip", "fail", False),
    ],
)
def test_rocksdb_must_give_at_least_what_innodb_gives(innodb, rocksdb, expected):
    assert holds(outcome(innodb), outcome(rocksdb)) is expected


def test_a_test_that_did_not_run_does_not_hold():
    assert not holds(outcome("pass"), None)
    assert not holds(None, outcome("fail"))
    assert holds(None, outcome("pass"))


def test_the_same_difference_with_another_engine_name_place_and_time_holds():
    other = outcome(
        "fail",
        "--- /b/keys.result\t2026-01-02",
        "+++ /b/keys.reject\t2026-01-02",
        "@@ -7 +7 @@",
        "-1",
        "+Storage engine ROCKSDB said 2",
    )
    assert holds(FAILED, other)


def test_ruled_lines_are_no_difference():
    assert holds(outcome("fail", "+1"), outcome("fail", "+1", "-" * 74))


def test_another_word_for_the_type_of_an_index_is_a_difference():
    assert not holds(outcome("fail", "+BTREE"), outcome("fail", "+LSMTREE"))


def test_another_difference_does_not_hold():
    assert not holds(FAILED, outcome("fail", "-1", "+Storage engine ROCKSDB said 3"))
    assert not holds(FAILED, outcome("fail", "-1"))


def test_without_a_difference_the_reasons_are_compared():
    assert holds(outcome("fail", reason="InnoDB died"), outcome("fail", reason="ROCKSDB died"))
    assert not holds(outcome("fail", reason="timeout"), outcome("fail", reason="server died"))


def test_variants_are_paired_by_name():
    both = [
        Outcome("versioning.a", ("timestamp",), "pass"),
        Outcome("handler.x", (), "pass"),
    ]
    pairs = engine_suites.pair_up({"InnoDB": both, "ROCKSDB": both[:1]})
    assert [(each.suite, each.test, each.holds) for each in pairs] == [
        ("handler", "handler.x", False),
        ("versioning", "versioning.a,timestamp", True),
    ]


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        (
            "create table t(a int) engine=innodb;",
            "create table t(a int) engine=ROCKSDB;",
        ),
        ("CREATE SEQUENCE s ENGINE = INNODB", "CREATE SEQUENCE s ENGINE = ROCKSDB"),
        (
            "create table t (a int) engine innodb",
            "create table t (a int) engine ROCKSDB",
        ),
        ("default_storage_engine = 'InnoDB'", "default_storage_engine = 'ROCKSDB'"),
        ("eval SET $engine_type= InnoDB;", "eval SET $engine_type= ROCKSDB;"),
        ("default-storage-engine=innodb\n", "default-storage-engine=ROCKSDB\n"),
        ("--replace_result InnoDB ENGINE", "--replace_result ROCKSDB ENGINE"),
        ("@@default_storage_engine\nInnoDB\n", "@@default_storage_engine\nROCKSDB\n"),
        (
            "SET GLOBAL innodb_stats_persistent=1",
            "SET GLOBAL innodb_stats_persistent=1",
        ),
        ("--source include/have_innodb.inc", "--source include/have_innodb.inc"),
    ],
)
def test_engine_names_are_translated_and_nothing_else(text, translated):
    assert engine_suites.translate(text, "ROCKSDB") == translated


def test_of_variants_those_of_innodb_stay():
    assert engine_suites.keep_innodb("[a]\nengine=innodb\n\n[b]\nengine=heap\n") == (
        "[a]\nengine=innodb\n\n"
    )
    assert engine_suites.keep_innodb("[pk]\n[unique]\n") == "[pk]\n[unique]\n"


def test_a_ledger_gives_reasons_and_names_wrong_lines(tmp_path):
    path = tmp_path / "engine_suites.tsv"
    path.write_text("test\treason\tcovered_by\na.b\tno foreign keys\na.c\tother\tsql.insert\n")
    assert engine_suites.load_ledger(path) == {"a.b": "no foreign keys", "a.c": "other"}
    for line in ("a.b", "a.b\t", "a.b\tx\ty\tz"):
        path.write_text(f"test\treason\n{line}\n")
        with pytest.raises(CairnError, match="line 2"):
            engine_suites.load_ledger(path)
    path.write_text("a.b\tx\na.b\ty\n")
    with pytest.raises(CairnError, match="twice"):
        engine_suites.load_ledger(path)


def test_a_test_is_chosen_for_the_engine_that_its_includes_name(tmp_path):
    suite = tmp_path / "suite" / "vcol"
    (suite / "t").mkdir(parents=True)
    (suite / "inc").mkdir()
    (suite / "t" / "one.test").write_text("--source suite/vcol/inc/body.inc\n")
    (suite / "t" / "two.test").write_text("CREATE TABLE t (a INT) ENGINE=InnoDB;\n")
    (suite / "inc" / "body.inc").write_text("CREATE TABLE t (a INT);\n")
    (suite / "inc" / "body.combinations").write_text("[x]\ndefault-storage-engine=innodb\n")
    assert engine_suites.select(tmp_path, ("vcol",)) == ["vcol.one"]
    # By name any test can be had.
    assert engine_suites.select(tmp_path, ("vcol.two",)) == ["vcol.two"]
    with pytest.raises(CairnError, match="no test"):
        engine_suites.select(tmp_path, ("vcol.three",))
    with pytest.raises(CairnError, match="not one of these"):
        engine_suites.select(tmp_path, ("rpl",))


def test_of_the_suite_of_innodb_only_listed_tests_are_chosen(tmp_path):
    tests = tmp_path / "suite" / "innodb" / "t"
    tests.mkdir(parents=True)
    for name in ("instant_drop", "page_size"):
        (tests / f"{name}.test").write_text("--source include/have_innodb.inc\n")
    assert engine_suites.select(tmp_path, ("innodb",)) == ["innodb.instant_drop"]
    assert engine_suites.select(tmp_path, ("innodb.page_size",)) == ["innodb.page_size"]


def test_tests_and_variants_that_one_engine_lost_are_found():
    both = [Outcome("versioning.a", (name,), "pass") for name in ("timestamp", "trx_id")]
    assert engine_suites.lost({"InnoDB": both, "ROCKSDB": both[:1]}) == {
        "InnoDB": [],
        "ROCKSDB": ["versioning.a,trx_id"],
    }

"""Reading the test framework's output."""

from cairn import mtr

OUTPUT = """\
rocksdb.1st 'write_committed'            w1 [ pass ]     12
rocksdb.add_index 'write_prepared'       w2 [ fail ]
        Test ended at 2026-01-02 03:04:05

CURRENT_TEST: rocksdb.add_index
mysqltest: At line 7: query 'ALTER TABLE t1' failed: 1030: Got error 1
rocksdb.big                              w1 [ skipped ]  Test needs 'big-test' option
rocksdb_rpl.ddl 'row,write_committed'    w1 [ pass ]    120
rocksdb.gone                             w1 [ disabled ]  MDEV-1 not ours
/home/me/tests.types                        w1 [ fail ]  Found warnings/errors in server log file!
"""


def read(text: str) -> dict[str, mtr.Outcome]:
    reader = mtr.Reader()
    for line in text.splitlines():
        reader.read(line)
    return {outcome.key: outcome for outcome in reader.finish()}


def test_each_test_has_its_state():
    assert {key: each.state for key, each in read(OUTPUT).items()} == {
        "rocksdb.1st": "pass",
        "rocksdb.add_index,write_prepared": "fail",
        "rocksdb.big": "skip",
        "rocksdb_rpl.ddl,row": "pass",
        "rocksdb.gone": "skip",
        "tests.types": "fail",
    }


def test_reasons_are_kept():
    outcomes = read(OUTPUT)
    assert outcomes["rocksdb.add_index,write_prepared"].reason.startswith("At line 7: query")
    assert outcomes["rocksdb.big"].reason == "Test needs 'big-test' option"
    assert outcomes["tests.types"].reason == "Found warnings/errors in server log file!"


def test_a_repeated_test_that_failed_once_has_failed():
    lines = "a.b w1 [ pass ] 1\na.b w1 [ fail ]\na.b w1 [ pass ] 1\n"
    assert read(lines)["a.b"].state == "fail"

"""What the ledger makes of a run."""

import pytest

from cairn import ledger
from cairn.errors import CairnError
from cairn.ledger import Entry
from cairn.mtr import Outcome

LEDGER = {
    "rocksdb.good": Entry("rocksdb.good", "pass"),
    "rocksdb.other": Entry("rocksdb.other", "differs", "another message", "cairn.message"),
    "rocksdb.later": Entry("rocksdb.later", "pending", "no partitions yet"),
}


def outcome(name: str, state: str, reason: str = "") -> Outcome:
    return Outcome(f"rocksdb.{name}", ("write_committed",), state, reason)


def test_a_known_failure_is_no_regression():
    result = ledger.compare([outcome("other", "fail"), outcome("later", "fail")], LEDGER)
    assert not result.regressions and len(result.known) == 2


def test_a_failure_that_the_ledger_does_not_know_is_a_regression():
    result = ledger.compare([outcome("good", "fail"), outcome("unheard", "fail")], LEDGER)
    assert [each.key for each in result.regressions] == ["rocksdb.good", "rocksdb.unheard"]


def test_a_test_that_is_no_longer_run_is_a_regression():
    assert ledger.compare([outcome("good", "skip")], LEDGER).regressions


def test_a_skipped_test_is_a_regression_unless_the_ledger_says_that_it_cannot_run():
    known = LEDGER | {"rocksdb.debug": Entry("rocksdb.debug", "cannot run", "a debug build")}
    for name, worse in (("other", True), ("unheard", True), ("debug", False)):
        assert bool(ledger.compare([outcome(name, "skip")], known).regressions) is worse, name


def other_ledger(tmp_path, *lines):
    path = tmp_path / "other.tsv"
    path.write_text("\n".join(("\t".join(ledger.HEADER), *lines)) + "\n")
    return path


def test_another_servers_ledger_has_only_what_is_otherwise_there(tmp_path):
    path = other_ledger(tmp_path, "rocksdb.good\tdiffers\tit is 11.8\tsql.x", "rocksdb.later\tpass")
    both = ledger.load_with(LEDGER, path)
    assert both["rocksdb.other"] == LEDGER["rocksdb.other"]
    assert ledger.compare([outcome("good", "fail")], both).known
    assert ledger.compare([outcome("later", "fail")], both).regressions
    assert set(ledger.differing(LEDGER, both)) == {"rocksdb.good", "rocksdb.later"}
    ledger.save(path, ledger.differing(LEDGER, both))
    assert ledger.load_with(LEDGER, path) == both


@pytest.mark.parametrize("line", ["rocksdb.good\tpass", "rocksdb.other\tdiffers\tanother message"])
def test_a_line_that_the_first_ledger_has_is_named(tmp_path, line):
    with pytest.raises(CairnError, match=r"rocksdb\.(good|other) is there without need"):
        ledger.load_with(LEDGER, other_ledger(tmp_path, line))


def test_a_pass_against_the_ledger_is_told():
    assert ledger.compare([outcome("later", "pass")], LEDGER).surprises


def test_an_update_keeps_what_people_wrote_while_it_is_true():
    after = ledger.update(
        LEDGER, [outcome("other", "fail", "x"), outcome("later", "pass"), outcome("new", "fail")]
    )
    assert after["rocksdb.other"] == LEDGER["rocksdb.other"]
    assert after["rocksdb.later"].expected == "pass"
    assert after["rocksdb.new"].expected == "pending" and after["rocksdb.new"].reason


def test_a_line_is_about_the_variants_without_one():
    prepared = Outcome("rocksdb.good", ("write_prepared",), "fail", "broken")
    assert ledger.compare([prepared], LEDGER).regressions
    known = LEDGER | {prepared.key: Entry(prepared.key, "pending", "only there")}
    assert not ledger.compare([prepared], known).regressions
    other = Outcome("rocksdb.other", ("row", "write_prepared"), "fail")
    rows = {"rocksdb.other,row": LEDGER["rocksdb.other"]}
    assert ledger.compare([other], rows).known
    assert ledger.update(rows, [other]) == rows
    assert ledger.update(LEDGER, [prepared])[prepared.key].reason == "broken"


def test_a_test_that_cannot_run_is_told_when_it_does():
    skipped = outcome("debug", "skip", "Requires debug build")
    known = ledger.update(LEDGER, [skipped])
    assert known["rocksdb.debug"].expected == "cannot run"
    assert known["rocksdb.debug"].reason == "Skipped: Requires debug build"
    assert not ledger.compare([skipped], known).regressions
    assert ledger.compare([outcome("debug", "pass")], known).surprises
    assert ledger.compare([outcome("debug", "fail")], known).known


def test_a_ledger_survives_writing_and_reading(tmp_path):
    path = tmp_path / "ledger.tsv"
    ledger.save(path, LEDGER)
    assert ledger.load(path) == LEDGER


@pytest.mark.parametrize(
    "line", ["rocksdb.x\tperhaps", "rocksdb.x\tpending", "rocksdb.x", "rocksdb.x\tpass\ta\tb\tc"]
)
def test_a_wrong_line_is_named(tmp_path, line):
    path = tmp_path / "ledger.tsv"
    path.write_text(f"test\texpected\treason\tcovered_by\n{line}\n")
    with pytest.raises(CairnError, match="line 2"):
        ledger.load(path)

"""What the checks after a crash accept and what they report."""

from cairn import scratch_server
from tests.crash import binlog, inserts, mixed, trees


class Answers:
    """A cursor that gives out prepared answers."""

    def __init__(self, rows, total):
        self._rows, self._total = rows, total

    def execute(self, statement):
        pass

    def fetchall(self):
        return self._rows

    def fetchone(self):
        return self._total


def promise(acknowledged, pending=()):
    made = inserts.Promise(1)
    made.fresh = dict.fromkeys(acknowledged, 1)
    made.pending = dict.fromkeys(pending, 9)
    return made


def answers(numbers, batches=None):
    batches = batches or {}
    payload = inserts.Promise(1).payload
    rows = [(n, batches.get(n, 1), payload(n).encode()) for n in numbers]
    return Answers(rows, (len(numbers), sum(numbers)))


def test_all_acknowledged_rows_are_enough():
    assert inserts.check(promise([1, 2]), answers([1, 2])) == []


def test_what_was_under_way_may_be_there_whole():
    assert inserts.check(promise([1], [2, 3]), answers([1, 2, 3], {2: 9, 3: 9})) == []


def test_a_part_of_what_was_under_way_is_reported():
    wrong = inserts.check(promise([1], [2, 3]), answers([1, 2], {2: 9}))
    assert any("only in part" in text for text in wrong)


def test_a_lost_row_is_reported():
    assert any("lost" in text for text in inserts.check(promise([1, 2]), answers([1])))


def test_a_row_that_failed_is_reported():
    assert any("failed" in text for text in inserts.check(promise([1]), answers([1, 2])))


def test_a_changed_row_is_reported():
    other = Answers([(1, 1, b"something else")], (1, 1))
    assert any("payload" in text for text in inserts.check(promise([1]), other))


class MixedAnswers:
    """A cursor over lines (number, kind, source, target, amount) of client 0 in each engine.

    Foreign keys have done what belongs to the lines, or to `followed` in its place.
    """

    def __init__(self, lines, sums, followed=None):
        self._lines, self._sums, self._followed = lines, sums, followed
        self._rows = []

    def execute(self, statement):
        side = "rocks" if "crash.rocks" in statement else "inno"
        if "_line" in statement:
            self._rows = [(0, *line) for line in self._lines[side]]
        elif "_sum" not in statement:
            numbers = self._followed or [line[0] for line in self._lines[side]]
            rows = trees.expected({0: numbers})
            if "_parent" in statement:
                self._rows = list(rows.parents.items())
            elif "_child" in statement:
                self._rows = [(child, *of) for child, of in rows.children.items()]
            else:
                self._rows = list(rows.leaves.items())
        else:
            totals = dict.fromkeys(range(mixed.SUMS), 0) | self._sums[side]
            self._rows = list(totals.items())

    def fetchall(self):
        return self._rows


LINE = (1, "both", 2, 3, 5)
MOVED = {"rocks": {3: 5}, "inno": {2: -5}}
NOTHING: dict[str, dict[int, int]] = {"rocks": {}, "inno": {}}


def mixed_promise(done=None, pending=None):
    made = mixed.Promise(0)
    made.done = done or {}
    made.pending = pending
    return made


def test_a_transaction_of_both_engines_is_in_both():
    answers = MixedAnswers({"rocks": [LINE], "inno": [LINE]}, MOVED)
    assert mixed.check([mixed_promise({1: "both"})], answers) == []


def test_what_was_under_way_in_both_engines_may_be_there_or_not():
    there = MixedAnswers({"rocks": [LINE], "inno": [LINE]}, MOVED)
    promise = mixed_promise(pending=(1, "both"))
    assert mixed.check([promise], there) == []
    assert promise.done == {1: "both"}
    gone = MixedAnswers({"rocks": [], "inno": []}, NOTHING)
    assert mixed.check([mixed_promise(pending=(1, "both"))], gone) == []


def test_what_was_under_way_is_not_in_one_engine_alone():
    for present, absent in (("rocks", "inno"), ("inno", "rocks")):
        answers = MixedAnswers({present: [LINE], absent: []}, MOVED)
        wrong = mixed.check([mixed_promise(pending=(1, "both"))], answers)
        assert any("client 0" in text for text in wrong)


def test_what_was_under_way_in_innodb_alone_is_decided_there():
    line = (1, "inno", 2, 3, 5)
    answers = MixedAnswers({"rocks": [], "inno": [line]}, {"rocks": {}, "inno": {2: -5, 3: 5}})
    assert mixed.check([mixed_promise(pending=(1, "inno"))], answers) == []


def test_a_change_without_its_line_is_reported():
    answers = MixedAnswers({"rocks": [LINE], "inno": [LINE]}, {"rocks": {3: 10}, "inno": {2: -5}})
    wrong = mixed.check([mixed_promise({1: "both"})], answers)
    assert wrong == ["crash.rocks_sum is not what the lines say: rows 3"]


def test_what_does_not_follow_by_foreign_keys_is_reported():
    answers = MixedAnswers({"rocks": [LINE], "inno": [LINE]}, MOVED, followed=[1, 6])
    wrong = mixed.check([mixed_promise({1: "both"})], answers)
    assert "crash.rocks_parent is not what the lines say: rows 1" in wrong
    assert "crash.inno_child is not what the lines say: rows 1, 6" in wrong


def test_numbers_say_what_follows_from_a_parent():
    deleting = next(number for number in range(100) if not trees.statements("rocks", 0, number)[1:])
    of_parent = range(deleting % trees.PARENTS, deleting, trees.PARENTS)
    before = trees.expected({0: of_parent})
    assert set(before.parents.values()) == {of_parent[-1]}
    assert {version for _, version in before.children.values()} == {of_parent[-1]}
    assert len(before.children) == len(before.leaves) == len(of_parent)
    after = trees.expected({0: [*of_parent, deleting]})
    assert not after.parents
    assert not after.children
    assert after.leaves == dict.fromkeys(before.leaves)


DAMAGE = [
    "client 0: lost from crash.inno_line: 427",
    "CHECK TABLE crash.inno_line: Warning: InnoDB: The B-tree of index PRIMARY is corrupted.",
    "CHECK TABLE crash.inno_line: error: Corrupt",
    "The primary: 7 [ERROR] InnoDB: duplicate key in `PRIMARY` of table `crash`.`inno_line`",
    "crash.inno_line differs in the replica",
]


def test_damage_that_innodb_reports_of_its_own_tables_is_its_own():
    assert binlog.only_innodb_is_damaged(DAMAGE)


def test_a_record_that_innodb_leaves_out_at_a_start_is_its_damage():
    left_out = "The primary: 0 [ERROR] InnoDB: Not applying INSERT_REUSE_DYNAMIC due to corruption"
    lost = "client 2: lost from crash.inno_line: 849"
    assert binlog.only_innodb_is_damaged([left_out, lost, "crash.inno_line differs in the replica"])
    assert not binlog.only_innodb_is_damaged(
        [left_out, lost, "crash.rocks_line differs in the replica"]
    )


def test_a_row_missing_from_innodb_without_damage_is_a_failure():
    assert not binlog.only_innodb_is_damaged(["client 0: lost from crash.inno_line: 427"])


def test_anything_wrong_with_rocksdb_beside_innodb_s_damage_is_a_failure():
    for text in (
        "client 0: lost from crash.rocks_line: 427",
        "CHECK TABLE crash.rocks_line: error: Corrupt",
        "crash.keyless differs in the replica",
        "The replica has stopped: error 1032",
        "The primary: 7 [ERROR] Got signal 11",
    ):
        assert not binlog.only_innodb_is_damaged([*DAMAGE, text])


ABORTED_LOG = [
    "261128 16:25:53 0 [Note] InnoDB: Buffer pool(s) load completed",
    "2026-11-28 16:25:53 0x7fb1 InnoDB: Assertion failure in file ./storage/innobase/a.cc line 2",
    "InnoDB: Failing assertion: flst_add_first(rseg_header) == DB_SUCCESS",
    "261128 16:25:53 [ERROR] /usr/sbin/mariadbd got signal 6 ;",
    "/usr/sbin/mariadbd(_Z19ha_recover_complete)[0x56526a8b4c8c]",
]


def ended(log):
    lines = "\n".join(scratch_server.telling(log))
    return f"CairnError: The server ended while it started (SIGABRT):\n{lines}"


def test_an_assertion_of_innodb_at_a_start_is_its_own():
    assert binlog.only_innodb_is_damaged([ended(ABORTED_LOG)])


def test_another_abort_at_a_start_is_a_failure():
    ours = "/usr/lib/mysql/plugin/ha_rocksdb.so(_Z1f)[0x56526a8b4c8c]"
    assert not binlog.only_innodb_is_damaged([ended([*ABORTED_LOG, ours])])
    assert not binlog.only_innodb_is_damaged([ended(ABORTED_LOG[3:])])
    assert not binlog.only_innodb_is_damaged([ended(ABORTED_LOG), "client 0: lost"])

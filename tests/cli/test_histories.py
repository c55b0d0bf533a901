"""The checker of recorded histories finds each anomaly, and nothing in a history without one."""

import itertools
import random

import pytest

from cairn.errors import CairnError
from tests.histories import finding, history
from tests.histories.check import check
from tests.histories.history import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    REPEATABLE_READ,
    SERIALIZABLE,
    Append,
    Assign,
    Delete,
    GroupRead,
    History,
    Insert,
    ListRead,
    RegisterRead,
    Statement,
    TailRead,
    Transaction,
)
from tests.histories.workload import Objects

X, Y = 1, 2
GROUP = 7


class Recorder:
    """Transactions by name; each call happens after the one before."""

    def __init__(self):
        self.clock = itertools.count(1)
        self.made = {}

    def _transaction(self, name):
        if name not in self.made:
            number = len(self.made) + 1
            self.made[name] = Transaction(number, number, begin_sent=next(self.clock))
            self.made[name].begin_got = next(self.clock)
            self.made[name].outcome = history.ROLLED_BACK
        return self.made[name]

    def _do(self, name, text, reads=(), writes=(), locking=False):
        sent = next(self.clock)
        statement = Statement(text, sent, next(self.clock), locking, list(reads), list(writes))
        self._transaction(name).statements.append(statement)
        return statement

    def read(self, name, *reads, locking=False):
        return self._do(name, "SELECT", reads, locking=locking)

    def write(self, name, *writes):
        return self._do(name, "UPDATE", writes=writes)

    def undo(self, name, *statements):
        """Rolls back to a savepoint before these."""
        position = len(self.made[name].statements)
        self._do(name, "ROLLBACK TO SAVEPOINT s")
        for statement in statements:
            statement.undone_by = position

    def end(self, name, outcome):
        transaction = self._transaction(name)
        transaction.end_sent, transaction.outcome = next(self.clock), outcome
        if outcome != history.UNKNOWN:
            transaction.end_got = next(self.clock)

    def commit(self, *names):
        for name in names:
            self.end(name, history.COMMITTED)

    def roll_back(self, name):
        self.end(name, history.ROLLED_BACK)

    def final(self, *reads):
        self.read("final", *reads)
        self.commit("final")

    def kinds(self, level, engine="ROCKSDB", *, latest=False):
        return {each.kind for each in self.findings(level, engine, latest=latest)}

    def findings(self, level, engine="ROCKSDB", *, latest=False):
        transactions = dict(self.made)
        final = transactions.pop("final", None)
        others = list(transactions.values())
        first = {X: 100, Y: 200}, {GROUP: [5]}
        recorded = History(level, engine, [X, Y], *first, others, final, latest=latest)
        return check(recorded, level).findings


@pytest.fixture
def run():
    return Recorder()


def of(key, *elements):
    return ListRead(key, elements)


def members(*found, low=0, high=100):
    return GroupRead(GROUP, "number", low, high, found)


LEVELS = (READ_UNCOMMITTED, READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE)


@pytest.mark.parametrize("level", LEVELS)
def test_a_serial_history_is_possible_at_every_level(run, level):
    run.read("a", of(X), RegisterRead(X, 100, 0), members(5))
    run.write("a", Append(X, 1), Assign(X, 101), Insert(GROUP, 6))
    run.read("a", of(X, 1), TailRead(X, 1), RegisterRead(X, 101, 1), members(5, 6))
    run.commit("a")
    run.write("b", Append(X, 2), Delete(GROUP, 5))
    run.read("b", of(X, 1, 2), members(6))
    run.commit("b")
    run.final(of(X, 1, 2), TailRead(X, 2), RegisterRead(X, 101, 1), members(6))
    assert run.kinds(level) == set()


def test_writes_of_two_objects_in_different_orders_are_dirty(run):
    run.write("a", Append(X, 1))
    run.write("b", Append(X, 2))
    run.write("b", Append(Y, 2))
    run.write("a", Append(Y, 1))
    run.commit("a", "b")
    run.final(of(X, 1, 2), of(Y, 2, 1))
    assert finding.DIRTY_WRITE in run.kinds(READ_UNCOMMITTED)


def test_a_read_of_what_was_rolled_back_is_aborted(run):
    run.write("a", Append(X, 1))
    run.read("b", of(X, 1))
    run.roll_back("a")
    run.commit("b")
    run.final(of(X))
    assert run.kinds(READ_COMMITTED) == {finding.ABORTED_READ}
    assert run.kinds(READ_UNCOMMITTED) == set()


def test_what_was_rolled_back_and_stays_is_an_anomaly_at_every_level(run):
    run.write("a", Append(X, 1))
    run.roll_back("a")
    run.final(of(X, 1))
    assert run.kinds(READ_UNCOMMITTED) == {finding.ABORTED_READ}


def test_a_read_of_what_a_savepoint_undid_is_aborted(run):
    undone = run.write("a", Insert(GROUP, 6))
    run.undo("a", undone)
    run.commit("a")
    run.read("b", members(5, 6))
    run.commit("b")
    assert run.kinds(READ_COMMITTED) == {finding.ABORTED_READ}


def test_a_read_of_a_failed_statement_is_aborted(run):
    failed = run.write("a", Append(X, 1))
    failed.undone_by, failed.error = 0, 1062
    run.commit("a")
    run.final(of(X, 1))
    assert run.kinds(READ_COMMITTED) == {finding.ABORTED_READ}


def test_a_read_between_two_writes_of_a_transaction_is_intermediate(run):
    run.write("a", Assign(X, 101))
    run.read("b", RegisterRead(X, 101, 1))
    run.write("a", Assign(X, 102))
    run.commit("a", "b")
    run.final(RegisterRead(X, 102, 2))
    assert run.kinds(READ_COMMITTED) == {finding.INTERMEDIATE_READ}
    assert run.kinds(READ_UNCOMMITTED) == set()


def test_a_read_before_the_commit_is_dirty(run):
    run.write("a", Append(X, 1))
    run.read("b", of(X, 1))
    run.commit("a", "b")
    assert run.kinds(READ_COMMITTED) == {finding.DIRTY_READ}


def test_two_transactions_that_read_each_other_are_circular(run):
    run.write("a", Append(X, 1))
    run.write("b", Append(Y, 2))
    run.read("a", of(Y, 2), locking=True)
    run.read("b", of(X, 1), locking=True)
    run.commit("a", "b")
    kinds = run.kinds(READ_COMMITTED)
    assert finding.INFORMATION_FLOW in kinds


def test_an_increment_that_is_not_counted_is_lost(run):
    run.write("a", Assign(X, 101))
    run.write("b", Assign(X, 102))
    run.commit("a", "b")
    run.final(RegisterRead(X, 102, 1))
    assert run.kinds(READ_COMMITTED) == {finding.LOST_UPDATE}


def test_an_overwritten_append_is_lost(run):
    run.write("a", Append(X, 1))
    run.commit("a")
    run.write("b", Append(X, 2))
    run.commit("b")
    run.final(of(X, 2))
    assert run.kinds(READ_UNCOMMITTED) == {finding.LOST_UPDATE}


def test_lists_without_a_common_order_show_a_lost_update(run):
    for name in "ab":
        run.write(name, Append(X, 1 if name == "a" else 2))
        run.commit(name)
    run.read("c", of(X, 1))
    run.read("d", of(X, 2))
    run.commit("c", "d")
    assert run.kinds(READ_COMMITTED) == {finding.LOST_UPDATE}


def test_a_lost_insertion_and_a_deletion_without_effect_are_found(run):
    run.write("a", Insert(GROUP, 6), Delete(GROUP, 5))
    run.commit("a")
    run.final(members(5))
    assert run.kinds(READ_COMMITTED) == {finding.LOST_UPDATE, finding.STALE_READ}


def test_a_write_on_what_was_read_before_another_wrote_loses_an_update(run):
    """Allowed at READ COMMITTED, where the read was not locked."""
    run.read("a", of(X))
    run.write("b", Append(X, 2))
    run.commit("b")
    run.write("a", Append(X, 1))
    run.commit("a")
    run.final(of(X, 2, 1))
    assert run.kinds(READ_COMMITTED) == set()
    assert run.kinds(REPEATABLE_READ) == {finding.LOST_UPDATE}
    assert finding.LOST_UPDATE in run.kinds(SERIALIZABLE)


def test_a_write_over_a_row_lock_loses_an_update(run):
    run.write("c", Append(X, 3))
    run.commit("c")
    run.read("a", of(X, 3), locking=True)
    run.write("b", Append(X, 2))
    run.commit("b")
    run.write("a", Append(X, 1))
    run.commit("a")
    run.final(of(X, 3, 2, 1))
    assert run.kinds(READ_COMMITTED) == {finding.LOST_UPDATE}


def test_a_row_lock_that_a_savepoint_released_allows_a_write(run):
    run.write("c", Append(X, 3))
    run.commit("c")
    run.read("a", of(Y))
    released = run.read("a", of(X, 3), locking=True)
    run.undo("a", released)
    run.write("b", Append(X, 2))
    run.commit("b", "a")
    run.final(of(X, 3, 2))
    assert run.kinds(READ_COMMITTED) == set()


def test_reads_before_and_after_another_commit_are_skewed(run):
    run.read("a", of(X))
    run.write("b", Append(X, 1), Append(Y, 1))
    run.commit("b")
    run.read("a", of(Y, 1))
    run.commit("a")
    assert run.kinds(READ_COMMITTED) == set()
    assert run.kinds(REPEATABLE_READ) == {finding.READ_SKEW}


def test_one_statement_sees_one_state_at_read_committed(run):
    run.read("a", of(X), of(Y))
    run.write("b", Append(X, 1), Append(Y, 1))
    run.commit("b")
    run.read("a", of(X), of(Y, 1))
    run.commit("a")
    run.final(of(X, 1), of(Y, 1))
    assert run.kinds(READ_COMMITTED) == {finding.READ_SKEW}


def test_a_read_that_misses_what_was_acknowledged_before_is_stale(run):
    run.write("a", Append(X, 1))
    run.commit("a")
    run.read("b", of(X))
    run.commit("b")
    run.final(of(X, 1))
    for level in (READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE):
        assert run.kinds(level) == {finding.STALE_READ}


def test_two_that_read_what_the_other_writes_are_skewed_when_serializable(run):
    run.read("a", of(X), of(Y))
    run.read("b", of(X), of(Y))
    run.write("a", Append(X, 1))
    run.write("b", Append(Y, 2))
    run.commit("a", "b")
    run.final(of(X, 1), of(Y, 2))
    assert run.kinds(REPEATABLE_READ) == set()
    assert run.kinds(SERIALIZABLE) == {finding.WRITE_SKEW}


def test_two_that_insert_what_the_other_looked_for_are_phantoms_when_serializable(run):
    run.read("a", members(5))
    run.read("b", members(5))
    run.write("a", Insert(GROUP, 6))
    run.write("b", Insert(GROUP, 7))
    run.commit("a", "b")
    run.final(members(5, 6, 7))
    assert run.kinds(REPEATABLE_READ) == set()
    assert run.kinds(SERIALIZABLE) == {finding.PHANTOM}


def test_a_member_that_comes_within_a_snapshot_skews_it(run):
    run.read("a", members(5))
    run.write("b", Insert(GROUP, 6))
    run.commit("b")
    run.read("a", members(5, 6))
    run.commit("a")
    assert run.kinds(READ_COMMITTED) == set()
    assert run.kinds(REPEATABLE_READ) == {finding.READ_SKEW}


def test_a_range_without_room_for_a_member_says_nothing_of_it(run):
    run.write("a", Insert(GROUP, 60))
    run.commit("a")
    run.read("b", members(5, low=0, high=50))
    run.commit("b")
    assert run.kinds(SERIALIZABLE) == set()


def test_not_seeing_ones_own_writes_is_inconsistent(run):
    run.write("a", Append(X, 1))
    run.read("a", of(X))
    run.commit("a")
    run.write("b", Assign(X, 101))
    run.read("b", RegisterRead(X, 100, 0))
    run.roll_back("b")
    run.write("c", Insert(GROUP, 6), Delete(GROUP, 5))
    run.read("c", members(5))
    run.roll_back("c")
    run.final(of(X, 1))
    assert run.kinds(READ_UNCOMMITTED) == {finding.INTERNAL}


def test_seeing_what_one_has_undone_is_inconsistent(run):
    undone = run.write("a", Append(X, 1))
    run.undo("a", undone)
    run.read("a", of(X, 1))
    run.commit("a")
    assert run.kinds(READ_COMMITTED) == {finding.INTERNAL}


def test_a_transaction_without_an_answer_may_be_there_or_not(run):
    run.write("a", Append(X, 1), Append(Y, 1), Assign(X, 101))
    run.end("a", history.UNKNOWN)
    run.write("b", Append(Y, 2), Assign(Y, 201), Insert(GROUP, 6))
    run.end("b", history.UNKNOWN)
    run.final(of(X, 1), of(Y, 1), RegisterRead(X, 101, 1), RegisterRead(Y, 200, 0), members(5))
    assert run.kinds(SERIALIZABLE) == set()


def test_a_transaction_without_an_answer_may_not_be_there_in_part(run):
    run.write("a", Append(X, 1), Append(Y, 1))
    run.end("a", history.UNKNOWN)
    run.final(of(X, 1), of(Y))
    assert run.kinds(READ_COMMITTED) == {finding.PARTIAL}


def test_an_element_that_is_there_twice_is_wrong(run):
    run.write("a", Append(X, 1))
    run.commit("a")
    run.final(of(X, 1, 1))
    assert run.kinds(READ_COMMITTED) == {finding.WRONG_ROWS}


def test_a_value_of_nobody_is_found(run):
    run.final(of(X, 1), RegisterRead(X, 9, 4))
    assert run.kinds(READ_COMMITTED) == {finding.FOREIGN_VALUE, finding.LOST_UPDATE}


def test_innodb_takes_its_snapshot_at_the_first_plain_read(run):
    run.read("a", RegisterRead(X, 100, 0), locking=True)
    run.write("b", Append(Y, 1))
    run.commit("b")
    run.read("a", of(Y, 1))
    run.write("c", Append(Y, 2))
    run.commit("c")
    run.read("a", of(Y, 1))
    run.commit("a")
    assert run.kinds(REPEATABLE_READ, engine="InnoDB") == set()
    assert run.kinds(REPEATABLE_READ) == {finding.READ_SKEW}


def test_where_the_latest_is_taken_a_write_may_follow_an_older_read(run):
    run.read("a", of(X))
    run.write("b", Append(X, 1))
    run.commit("b")
    run.write("a", Append(X, 2))
    run.commit("a")
    run.final(of(X, 1, 2))
    assert run.kinds(REPEATABLE_READ, latest=True) == set()
    assert finding.LOST_UPDATE in run.kinds(REPEATABLE_READ)


def test_where_the_latest_is_taken_plain_reads_still_belong_to_one_snapshot(run):
    run.read("a", of(X))
    run.write("b", Append(X, 1), Append(Y, 1))
    run.commit("b")
    run.read("a", of(Y, 1))
    run.commit("a")
    run.final(of(X, 1), of(Y, 1))
    assert run.kinds(REPEATABLE_READ, latest=True) == {finding.READ_SKEW}


def test_where_the_latest_is_taken_locks_see_it_and_plain_reads_one_s_own_changes(run):
    run.read("a", of(X), of(Y))
    run.write("b", Append(X, 1), Append(Y, 1))
    run.commit("b")
    run.read("a", of(X, 1), locking=True)
    run.read("a", of(X), of(Y))
    run.write("a", Append(X, 2))
    run.read("a", of(X, 1, 2), of(Y))
    run.commit("a")
    run.final(of(X, 1, 2), of(Y, 1))
    assert run.kinds(REPEATABLE_READ, latest=True) == set()
    assert run.kinds(REPEATABLE_READ) != set()


def test_where_the_latest_is_taken_a_lock_must_see_what_was_acknowledged(run):
    run.read("a", of(X))
    run.write("b", Append(X, 1))
    run.commit("b")
    run.read("a", of(X), locking=True)
    run.commit("a")
    run.final(of(X, 1))
    assert run.kinds(REPEATABLE_READ, latest=True) != set()


@pytest.mark.parametrize("locking", [False, True])
def test_where_the_latest_is_taken_a_read_that_finds_nothing_takes_the_snapshot(run, locking):
    run.read("a", locking=locking)
    run.write("b", Append(X, 1))
    run.commit("b")
    run.read("a", of(X))
    run.write("a", Append(Y, 1))
    run.commit("a")
    run.final(of(X, 1), of(Y, 1))
    assert bool(run.kinds(REPEATABLE_READ, latest=True)) == locking


def test_where_the_latest_is_taken_nobody_writes_over_a_lock(run):
    run.write("c", Append(X, 1))
    run.commit("c")
    run.read("a", of(Y))
    run.read("a", of(X, 1), locking=True)
    run.write("b", Append(X, 2))
    run.commit("b")
    run.write("a", Append(X, 3))
    run.commit("a")
    run.final(of(X, 1, 2, 3))
    assert run.kinds(REPEATABLE_READ, latest=True) != set()


def test_a_lock_on_a_row_that_is_not_there_takes_no_snapshot(run):
    run.read("a", of(X), locking=True)
    run.write("b", Append(Y, 1))
    run.commit("b")
    run.read("a", of(Y, 1))
    run.write("c", Append(Y, 2))
    run.commit("c")
    run.read("a", of(Y, 1, 2))
    run.commit("a")
    assert run.kinds(REPEATABLE_READ) == {finding.READ_SKEW}


def test_a_finding_tells_the_transactions(run):
    run.read("a", of(X))
    run.write("b", Append(X, 1), Append(Y, 1))
    run.commit("b")
    run.read("a", of(Y, 1))
    run.commit("a")
    run.final(of(X, 1), of(Y, 1))
    (found,) = run.findings(REPEATABLE_READ)
    text = "\n".join(found.lines())
    assert "T1 read or held list 1 without element 1 (1) of T2" in text
    assert "T1 read element 1 (1) of list 2 as T2 wrote it" in text
    assert "SELECT -> 1 ()" in text


def test_a_saved_history_is_the_same(run, tmp_path):
    run.read("a", of(X), TailRead(Y, None), RegisterRead(X, 100, 0), members(5))
    undone = run.write("a", Append(X, 1), Assign(X, 101), Insert(GROUP, 6), Delete(GROUP, 5))
    run.undo("a", undone)
    run.end("a", history.UNKNOWN)
    run.final(of(X))
    made, final = run.made["a"], run.made["final"]
    recorded = History(READ_COMMITTED, "ROCKSDB", [X, Y], {X: 100}, {GROUP: [5]}, [made], final)
    history.save(recorded, tmp_path / "saved")
    assert history.load(tmp_path / "saved") == recorded


@pytest.mark.parametrize("text", ["", "{}\n", '{"format": 1, "level": "x"}\n', "no json\n"])
def test_a_file_that_is_no_history_is_refused(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(CairnError, match="is not a history"):
        history.load(tmp_path / "file")


def first_step(make, wanted):
    """The first of many random steps whose statement contains a text."""
    chance = random.Random(1)
    return next(step for step in (make(chance) for _ in range(10_000)) if wanted in step.text)


def test_a_scan_that_misses_a_row_or_gives_it_twice_is_wrong():
    objects = Objects(1, itertools.count(1))
    step = first_step(lambda chance: objects.random_read(chance), "FORCE INDEX (value)")
    rows = [(key, value, 0) for key, value in objects.registers.items()]
    assert step.parse(rows) == ([RegisterRead(*row) for row in rows], "")
    assert "no row came for register 90" in step.parse(rows[1:])[1]
    assert "register 90 came twice" in step.parse([*rows, rows[0]])[1]


def test_a_list_without_a_row_is_empty():
    objects = Objects(1, itertools.count(1))
    step = objects.read_list(random.Random(1), key=objects.lists[-1])
    assert step.parse([])[0] == [ListRead(objects.lists[-1], ())]
    assert step.parse([(objects.lists[-1], ",4,9")])[0] == [ListRead(objects.lists[-1], (4, 9))]


def test_a_locking_scan_of_an_index_that_moves_can_be_left_out():
    objects = Objects(1, itertools.count(1), moving_scans=False)
    chance = random.Random(1)
    for _ in range(2000):
        text = objects.random_read(chance, "FOR UPDATE").text
        assert "INDEX (value)" not in text and "part_tail" not in text
        members = [Insert(group, 1) for group in objects.groups]
        assert "INDEX (value)" not in objects.random_write(chance, members, can_undo=True).text

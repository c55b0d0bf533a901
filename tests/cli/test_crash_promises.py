"""What the checks after a crash accept and what they report."""

from cairn.crash import inserts


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

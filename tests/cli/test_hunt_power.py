"""What the part power accepts after a cut and what it reports, without a server."""

import struct
import zlib

import pytest

from cairn.report import Reporter
from tests.hunt import command
from tests.hunt.part import Part, Unavailable
from tests.power import log, xa

FORMAT_DESCRIPTION, QUERY = 15, 2


def event(kind, body=b"body", *, flags=0):
    length = 19 + len(body) + 4
    head = struct.pack("<IBIIIH", 0, kind, 1, length, 0, flags) + body
    return head + struct.pack("<I", zlib.crc32(head))


def binary_log(*events):
    # A file in use has a flag that the checksum of its first event does not cover.
    first = bytearray(event(FORMAT_DESCRIPTION))
    first[17] = 1
    return b"\xfebin" + bytes(first) + b"".join(events)


def test_whole_events_end_at_the_end_of_the_file():
    content = binary_log(event(QUERY), event(QUERY, b"another"))
    assert log.valid_end(content) == len(content)


@pytest.mark.parametrize("tail", [b"\0" * 600, b"\x01", event(QUERY)[:-3], bytes(30) + b"x"])
def test_a_torn_tail_is_not_valid(tail):
    content = binary_log(event(QUERY))
    assert log.valid_end(content + tail) == len(content)


def test_an_event_with_another_checksum_is_not_valid():
    bad = bytearray(event(QUERY))
    bad[20] ^= 1
    content = binary_log(event(QUERY))
    assert log.valid_end(content + bytes(bad) + event(QUERY)) == len(content)


def test_what_is_no_binary_log_has_nothing_valid():
    assert log.valid_end(b"\0" * 100) == 0


def insert(table, *columns):
    values = [f"###   @{number}={value}" for number, value in enumerate(columns, 1)]
    return [f"### INSERT INTO `crash`.`{table}`", "### SET", *values]


def rows(*lines):
    read = log.Inserted()
    read.read([line for group in lines for line in (group if isinstance(group, list) else [group])])
    return dict(read.rows)


def test_rows_of_committed_transactions_are_read():
    found = rows(
        "START TRANSACTION",
        insert("a", 1, 7, "'x'", 5),
        insert("a", 1, 8, "'x'", 5),
        insert("b", 2, 9),
        "COMMIT/*!*/;",
    )
    assert found == {"crash.a": {(1, 7), (1, 8)}, "crash.b": {(2, 9)}}


def test_changes_and_transactions_without_an_end_are_not_inserted_rows():
    update = ["### UPDATE `crash`.`a`", "### WHERE", "###   @1=1", "###   @2=2", "### SET"]
    update += ["###   @1=1", "###   @2=3"]
    found = rows("START TRANSACTION", update, "COMMIT/*!*/;", "BEGIN", insert("a", 5, 5))
    assert found == {}


def test_a_prepared_transaction_counts_when_it_is_committed():
    begin = "XA START X'6331',X'',1"
    prepared = [begin, *insert("a", 1, 2), "XA END X'6331',X'',1", "XA PREPARE X'6331',X'',1"]
    assert rows(prepared) == {}
    assert rows(prepared, "XA ROLLBACK X'6331',X'',1") == {}
    assert rows(prepared, "XA COMMIT X'6331',X'',1") == {"crash.a": {(1, 2)}}


class Answers:
    """A cursor over a list of prepared transactions and the rows of the two tables."""

    def __init__(self, prepared=(), rocks=(), inno=()):
        self.prepared, self.rows = list(prepared), {"xa_rocks": set(rocks), "xa_inno": set(inno)}
        self.statements, self._answer = [], []

    def execute(self, statement):
        self.statements.append(statement)
        if statement == "XA RECOVER":
            self._answer = [(1, len(xid), 0, xid) for xid in self.prepared]
        elif statement.startswith("XA COMMIT"):
            for each in self.rows.values():
                each.add(int(statement.rpartition("-")[2].strip("'")))
        elif "xa_" in statement:
            self._answer = [
                (n,) for n in self.rows["xa_rocks" if "rocks" in statement else "xa_inno"]
            ]

    def fetchall(self):
        return self._answer


def promise(stage, done=(1,), current=2):
    return xa.Promise(0, next_id=3, done=set(done), current=current, stage=stage)


def check(promised, answers):
    return xa.check([promised], answers, [])[0]


def test_a_prepared_transaction_that_is_listed_is_decided():
    answers = Answers(["c0-2"], [1], [1])
    assert check(promise(xa.Stage.PREPARED), answers) == []
    assert "XA COMMIT 'c0-2'" in answers.statements


def test_a_prepared_transaction_that_is_not_listed_is_lost():
    wrong = check(promise(xa.Stage.PREPARED), Answers([], [1], [1]))
    assert wrong == ["XA client 0: the prepared c0-2 is lost"]


@pytest.mark.parametrize("there", [True, False])
def test_what_was_being_prepared_may_be_listed_or_not(there):
    answers = Answers(["c0-2"] if there else [], [1], [1])
    assert check(promise(xa.Stage.PREPARING), answers) == []
    assert ("XA ROLLBACK 'c0-2'" in answers.statements) == there


def test_what_was_being_committed_is_listed_or_there():
    committing = xa.Stage.COMMITTING
    assert check(promise(committing), Answers(["c0-2"], [1], [1])) == []
    assert check(promise(committing), Answers([], [1, 2], [1, 2])) == []
    wrong = check(promise(committing), Answers([], [1, 2], [1]))
    assert wrong == ["XA client 0: lost from crash.xa_inno: 2"]


def test_a_transaction_that_is_over_is_not_listed():
    wrong = check(promise(xa.Stage.PREPARED, current=None), Answers(["c0-1"], [1], [1]))
    assert wrong == ["c0-1 is listed as prepared, which it was not"]


RECOVERED = [
    "[Note] Found 4 prepared transaction(s) in ROCKSDB",
    "[Note] Crash table recovery finished.",
    "[Note] Found 1 prepared transaction(s) in InnoDB",
]


def test_what_innodb_had_rolled_back_may_be_listed_again_and_is_rolled_back():
    rolled_back = promise(xa.Stage.PREPARED, current=None)
    rolled_back.rolled_back = {2}
    answers = Answers(["c0-2"], [1], [1])
    assert xa.check([rolled_back], answers, RECOVERED) == ([], 1)
    assert "XA ROLLBACK 'c0-2'" in answers.statements


def test_what_rocksdb_had_rolled_back_is_not_prepared_again():
    rolled_back = promise(xa.Stage.PREPARED, current=None)
    rolled_back.rolled_back = {2}
    log = [*RECOVERED, "[Note] Found 1 prepared transaction(s) in ROCKSDB"]
    wrong, _ = xa.check([rolled_back], Answers(["c0-2"], [1], [1]), log)
    assert wrong == ["ROCKSDB has transactions prepared that were rolled back: c0-2"]


def test_lost_and_strange_rows_are_reported():
    wrong = check(promise(xa.Stage.PREPARED, current=None), Answers([], [], [1, 9]))
    assert wrong == [
        "XA client 0: lost from crash.xa_rocks: 1",
        "XA client 0: too much in crash.xa_inno: 9",
    ]


def test_a_part_that_cannot_run_here_has_not_passed(monkeypatch, tmp_path, capsys):
    def act(context):
        raise Unavailable("no /dev/fuse")

    planted = type("Module", (), {"PART": Part("planted", "cannot run", act)})
    monkeypatch.setattr(command, "PARTS", {"planted": "no module"})
    monkeypatch.setattr(command.importlib, "import_module", lambda _: planted)
    monkeypatch.setattr(command, "DIRECTORY", tmp_path / "hunt")
    monkeypatch.setattr(command, "FINDINGS", tmp_path / "findings")
    assert command.run_plan(Reporter(), None, command.Plan((), 0.0, 1)) == (0, 0)
    assert "planted cannot run here and shows nothing: no /dev/fuse" in capsys.readouterr().out

"""Triggers beside sessions that meet: what they wrote must be what the rows have seen."""

import random

import pymysql
import pytest

from cairn.errors import CairnError
from tests.hunt.actors import Answer
from tests.hunt.definitions.pairs import PairPlayer
from tests.hunt.sessions import generate, script, triggers
from tests.hunt.sessions.judge import judge
from tests.hunt.sessions.play import NOT_EMPTY, Player
from tests.hunt.sessions.script import Effect, Event, Record, Script, Step
from tests.hunt.sessions.tables import KINDS


def differ(logs, *seen, **more):
    return list(triggers.differ(logs, seen, **more))


def test_rows_as_the_triggers_saw_them():
    assert differ(["0.1"]) == []
    assert differ(["0.1,100,101"], ("update", "0.1,100"), ("update", "0.1,100,101")) == []
    assert differ(["100.0"], ("insert", "100.0"), ("try", "100.0"), ("try", "100.1")) == []
    assert differ([], ("insert", "100.0"), ("update", "100.0,101"), ("delete", "100.0,101")) == []
    assert differ([], ("delete", "0.1")) == []


def test_what_only_one_of_both_has():
    assert differ(["0.1,100"]) != []
    assert differ(["0.1"], ("update", "0.1,100")) != []
    assert differ(["100.0"]) != []
    assert differ([], ("insert", "100.0")) != []
    # A change that the deleted row had is missing.
    assert differ([], ("delete", "0.1,100")) != []
    # There, and deleted.
    assert differ(["100.0"], ("insert", "100.0"), ("delete", "100.0")) != []


def test_the_first_rows_are_there_or_were_deleted():
    first = ("0.1", "0.2")
    assert differ(["0.1", "0.2,100"], ("update", "0.2,100"), first=first) == []
    assert differ(["0.1"], ("delete", "0.2"), first=first) == []
    assert differ(["0.1"], first=first) != []
    assert differ(["0.1", "0.2"], ("delete", "0.2"), first=first) != []


def test_what_was_inserted_was_tried():
    assert differ(["100.0"], ("insert", "100.0"), ("try", "100.0"), is_tried=True) == []
    assert differ(["100.0"], ("insert", "100.0"), is_tried=True) != []


def test_what_is_written_twice():
    assert differ(["0.1,100"], ("update", "0.1,100"), ("update", "0.1,100")) != []
    assert differ([], ("delete", "0.1"), ("delete", "0.1")) != []


def record(answer, seen, logs=("0.1",), trigger="CREATE TRIGGER refused … SIGNAL"):
    step = Step("A", "INSERT INTO t", Effect(script.INSERT, 100, 1))
    event = Event(step, 0, 0, answer=answer, in_transaction=False)
    played = Script("READ COMMITTED", (trigger,), (step,), 2, {"t": ()}, 1)
    return Record("ROCKSDB", played, [event], {"t": list(logs)}, seen=seen)


def kinds(made):
    return [complaint.kind for complaint in judge(made)]


def test_a_statement_that_fails_undoes_what_its_triggers_wrote():
    duplicate = Answer(1062, "Duplicate entry")
    assert kinds(record(duplicate, [])) == []
    assert kinds(record(duplicate, [("try", "100.0")])) == [
        "what a trigger wrote was not undone: INSERT"
    ]
    assert kinds(record(duplicate, [("insert", "100.0")])) == [
        "what a trigger wrote is not what the rows have seen"
    ]


def test_only_triggers_refuse():
    refused = Answer(1644, "refused")
    assert kinds(record(refused, [])) == []
    assert kinds(record(refused, [], trigger="CREATE TRIGGER tried")) == [
        "error 1644 is none that sessions may meet: INSERT"
    ]


def test_scripts_have_all_kinds_of_triggers():
    scripts = [
        generate.random_script(random.Random(f"{seed} {kind.name}"), kind)
        for seed in range(12)
        for kind in KINDS
    ]
    assert 20 < sum(bool(made.triggers) for made in scripts) < 100
    texts = " ".join(made.text() for made in scripts)
    for words in (
        *("BEFORE INSERT", "AFTER INSERT", "BEFORE UPDATE", "AFTER UPDATE", "BEFORE DELETE"),
        *("AFTER DELETE", "SIGNAL", "KEY what (what)", "PRIMARY KEY (what, log(200))"),
    ):
        assert words in texts


class Cursor:
    """Cannot drop the first schemas."""

    def __init__(self, left, number=NOT_EMPTY, directory="."):
        self.left, self.number, self.directory = left, number, directory

    def fetchone(self):
        return (self.directory,)

    def execute(self, text):
        if not text.startswith("DROP"):
            return
        self.left -= 1
        if self.left >= 0:
            raise pymysql.err.OperationalError(self.number, "cannot rmdir")


def dropped(cursor, of=Player):
    player = of(None, None, "ROCKSDB", "ours_1")
    player._cursor = cursor
    player._drop()
    return player._schema


def test_a_schema_that_the_server_cannot_drop_is_left(tmp_path):
    for name in ("ours_1", *(f"ours_1_{i}" for i in range(1, Player.NAMES))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.TRG-").touch()

    def left(count, **more):
        return Cursor(count, directory=tmp_path, **more)

    assert [dropped(left(count)) for count in range(3)] == ["ours_1", "ours_1_1", "ours_1_2"]
    with pytest.raises(CairnError):
        dropped(left(Player.NAMES))
    with pytest.raises(CairnError):
        dropped(left(1), PairPlayer)
    with pytest.raises(pymysql.MySQLError):
        dropped(left(1, number=1205))
    (tmp_path / "ours_1" / "t.frm").touch()
    with pytest.raises(pymysql.MySQLError):
        dropped(left(1))

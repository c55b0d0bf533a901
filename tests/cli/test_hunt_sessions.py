"""The judge of sessions that meet, the comparison with InnoDB, and the shrinker of findings."""

import random
import time
from dataclasses import replace

import pytest

from tests.hunt import actors, stage
from tests.hunt.actors import Answer, innodb_waits
from tests.hunt.sessions import generate, script, storm
from tests.hunt.sessions.compare import (
    REASONS,
    first_difference,
    first_race,
    reason_of,
    rows_differ,
)
from tests.hunt.sessions.judge import LASTING, UNDONE, UNKNOWN, fates_of, judge
from tests.hunt.sessions.part import storm_verdict, verdict_of
from tests.hunt.sessions.script import Effect, Event, Record, Script, Step
from tests.hunt.sessions.tables import KINDS
from tests.hunt.shorten import shorten

UPDATE = Effect(script.UPDATE, 100)


def record(*events, logs=(), level="READ COMMITTED", rows=2, engine="ROCKSDB"):
    """A record of events; those without a place are sent and answered one after the other."""
    for position, event in enumerate(events):
        event.sent_at = position if event.sent_at < 0 else event.sent_at
        event.ended_at = position if event.ended_at < 0 else event.ended_at
    played = Script(level, (), tuple(event.step for event in events), 2, {"t": ()}, rows)
    made = Record(engine, played, list(events), {"t": list(logs)})
    made.rows = {"t": [(log,) for log in logs]}
    return made


def told(session, text, answer=None, effect=None, **more):
    steps = {key: more.pop(key) for key in ("looks", "may_skip") if key in more}
    return Event(Step(session, text, effect, **steps), answer=answer or Answer(), **more)


def failed(number, **more):
    return {"answer": Answer(number, "an error"), "in_transaction": more.pop("open", False)} | more


def kinds(made):
    return [complaint.kind for complaint in judge(made)]


# ---- the judge ----------------------------------------------------------------------------------


def test_what_is_told_and_is_there_is_right():
    made = record(
        told("A", "BEGIN"),
        told("A", "UPDATE t", Answer(changed=2), UPDATE),
        told("A", "COMMIT"),
        told("A", "DELETE FROM t", Answer(rows=(("0.2,100",),)), Effect(script.DELETE, 101)),
        told("B", "INSERT INTO t", Answer(changed=1), Effect(script.INSERT, 102, 1)),
        logs=("0.1,100", "102.0"),
    )
    assert kinds(made) == []


def test_an_acknowledged_change_that_is_lost():
    made = record(told("A", "UPDATE t", Answer(changed=2), UPDATE), logs=("0.1,100", "0.2"))
    assert kinds(made) == ["an acknowledged change is not as told: UPDATE"]


def test_a_change_of_a_transaction_that_was_rolled_back_in_silence():
    made = record(
        told("A", "BEGIN"),
        told("A", "UPDATE t", Answer(changed=1), UPDATE),
        # It met a deadlock and did not say so.
        told("A", "UPDATE t FORCE INDEX (g, h)", Answer(changed=0), Effect(script.UPDATE, 101)),
        told("A", "COMMIT"),
        logs=("0.1", "0.2"),
    )
    assert kinds(made) == ["an acknowledged change is not as told: UPDATE"]


@pytest.mark.parametrize(
    "ending",
    [
        told("A", "ROLLBACK"),
        told("A", script.KILL, applied=True),
        told("A", script.DISCONNECT, applied=True),
        told("A", "UPDATE t", waited=True, **failed(1213)),
    ],
)
def test_what_was_undone_must_not_be_there(ending):
    made = record(
        told("A", "BEGIN"),
        told("A", "UPDATE t", Answer(changed=1), UPDATE),
        ending,
        logs=("0.1,100", "0.2"),
    )
    assert kinds(made) == ["what was undone is there: UPDATE"]
    made.logs["t"] = ["0.1", "0.2"]
    assert kinds(made) == []


def test_a_statement_that_failed_in_a_transaction_that_goes_on():
    events = (
        told("A", "BEGIN"),
        told("A", "UPDATE t", Answer(changed=1), UPDATE),
        told("A", "UPDATE t", None, Effect(script.UPDATE, 101), waited=True),
        told("A", "COMMIT"),
    )
    events[2].answer, events[2].in_transaction = Answer(1205, "too long"), True
    assert kinds(record(*events, logs=("0.1,100", "0.2"))) == []
    # 1205 says that the transaction goes on: its changes must be there.
    assert "an acknowledged change is not as told: UPDATE" in kinds(
        record(*events, logs=("0.1", "0.2"))
    )


def test_savepoints():
    made = record(
        told("A", "BEGIN"),
        told("A", "UPDATE t", Answer(changed=1), UPDATE),
        told("A", "SAVEPOINT a"),
        told("A", "UPDATE t", Answer(changed=1), Effect(script.UPDATE, 101)),
        told("A", "ROLLBACK TO SAVEPOINT a"),
        told("A", "COMMIT"),
        logs=("0.1,100", "0.2"),
    )
    assert fates_of(made) == {1: LASTING, 3: UNDONE}
    assert kinds(made) == []
    made.logs["t"] = ["0.1,100,101", "0.2"]
    assert kinds(made) == ["what was undone is there: UPDATE"]


def test_what_a_lost_connection_did_is_not_known():
    def lost(*more):
        answer = Answer(2013, "Lost connection")
        return record(told("A", "UPDATE t", answer, UPDATE), *more, logs=("0.1", "0.2"))

    assert fates_of(lost()) == {0: UNKNOWN}
    assert kinds(lost(told("A", script.KILL, applied=True))) == []
    assert kinds(lost(told("A", script.DISCONNECT, applied=True))) == []
    # Nobody has ended it: the server has, or has sent what no client can read.
    wrong = ["a connection was lost that nobody had ended: UPDATE"]
    assert kinds(lost()) == kinds(lost(told("B", script.KILL, applied=True))) == wrong
    assert kinds(lost(told("A", script.KILL))) == wrong


def test_rows_lost_and_rows_twice():
    assert kinds(record(logs=("0.1",))) == ["rows are lost or too many"]
    twice = kinds(record(logs=("0.1", "0.1")))
    assert twice == ["a row is there twice, or there and deleted"]


def test_a_row_that_was_deleted_is_there():
    made = record(
        told("A", "DELETE FROM t", Answer(rows=(("0.2",),)), Effect(script.DELETE, 100)),
        logs=("0.1", "0.2"),
    )
    assert "a row is there twice, or there and deleted" in kinds(made)


def test_inserts_updates_and_replacements_are_counted():
    made = record(
        # One row is inserted and one updated.
        told("A", "INSERT INTO t", Answer(changed=3), Effect(script.UPSERT, 100, 2)),
        # One row takes the place of another.
        told("A", "REPLACE INTO t", Answer(changed=2), Effect(script.REPLACE, 101, 1)),
        told("A", "INSERT IGNORE INTO t", Answer(changed=1), Effect(script.IGNORE, 102, 2)),
        logs=("0.1,100", "100.0", "101.0", "102.1"),
    )
    assert kinds(made) == []
    made.logs["t"].pop()
    assert "rows are lost or too many" in kinds(made)


def test_a_row_that_a_statement_changed_twice():
    made = record(told("A", "UPDATE t", Answer(changed=2), UPDATE), logs=("0.1,100,100", "0.2"))
    assert "a statement changed a row twice" in kinds(made)


def look(rows):
    return told("A", "SELECT COUNT(*) FROM t", Answer(rows=((rows,),)), looks=True)


def test_rows_passed_over_without_an_error():
    text = "UPDATE t FORCE INDEX (g, h) SET n = n + 1 WHERE g = 1 OR h = 1"
    made = record(look(2), told("A", text, Answer(changed=0), UPDATE), logs=("0.1", "0.2"))
    assert kinds(made) == [
        "rows that are there are passed over, without an error: UPDATE by merged indexes"
    ]


def test_a_look_says_nothing_about_what_waited_failed_or_may_skip():
    def complaints(**more):
        return kinds(record(look(1), told("A", "SELECT", **more), logs=("0.1", "0.2")))

    none = Answer(rows=())
    assert complaints(answer=none)
    assert not complaints(answer=none, waited=True)
    assert not complaints(answer=none, may_skip=True)
    assert not complaints(answer=Answer(1205, "x"), in_transaction=True, waited=True)


def test_a_look_says_nothing_about_a_step_that_is_no_statement():
    assert kinds(record(look(1), told("A", script.AWAIT), logs=("0.1", "0.2"))) == []


@pytest.mark.parametrize(
    ("number", "level", "more", "is_wrong"),
    [
        (1032, "READ COMMITTED", {"waited": True}, True),
        (1041, "READ COMMITTED", {"waited": True}, True),
        (1205, "READ COMMITTED", {}, True),
        (1205, "READ COMMITTED", {"waited": True}, False),
        (1213, "READ COMMITTED", {"open": True}, True),
        (1213, "REPEATABLE READ", {"open": True}, False),
        (1213, "REPEATABLE READ", {"open": False}, True),
        (1213, "READ COMMITTED", {"waited": True}, False),
        (1317, "READ COMMITTED", {"waited": True}, True),
        (1062, "READ COMMITTED", {}, False),
    ],
)
def test_errors_that_sessions_may_meet(number, level, more, is_wrong):
    made = record(told("A", "UPDATE t", **failed(number, **more)), logs=("0.1", "0.2"), level=level)
    assert bool(judge(made)) == is_wrong


def test_damage_is_told():
    made = record(logs=("0.1", "0.2"))
    made.damage.append("CHECK TABLE t EXTENDED: Corrupt")
    assert kinds(made) == ["damaged table"]


# ---- the comparison -----------------------------------------------------------------------------


def pair(ours, theirs, level="READ COMMITTED", text="UPDATE t SET n = 1"):
    """The difference of two playings of one statement."""
    return first_difference(
        record(told("A", text, **ours), level=level),
        record(told("A", text, **theirs), level=level, engine="InnoDB"),
    )


WAITS = {"ended_at": 99, "waited": True}
OK = {"answer": Answer(changed=1)}


def test_equal_playings_do_not_differ():
    assert pair(OK, OK) is None
    assert pair(WAITS, WAITS) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "level", "reason"),
    [
        (failed(1213, open=True), OK, "REPEATABLE READ", "conflict"),
        (failed(1213, open=True), failed(1020), "REPEATABLE READ", "conflict"),
        (OK, failed(1020), "REPEATABLE READ", "late conflict"),
        (OK, WAITS, "READ COMMITTED", "gaps"),
        (failed(1062), WAITS, "READ COMMITTED", "duplicate beside a lock"),
        (WAITS, OK, "READ COMMITTED", "row locks"),
        (OK, failed(1213), "READ COMMITTED", "victim"),
    ],
)
def test_differences_on_purpose(ours, theirs, level, reason):
    found = reason_of(pair(ours, theirs, level))
    assert found is not None
    assert found.name == reason


@pytest.mark.parametrize(
    ("ours", "theirs", "title"),
    [
        (failed(1041), WAITS, "error 1041, with InnoDB waits: UPDATE"),
        (failed(1032), OK, "error 1032, with InnoDB succeeds: UPDATE"),
        (failed(1062), OK, "error 1062, with InnoDB succeeds: UPDATE"),
        (OK, {"answer": Answer(changed=2)}, "another result than InnoDB's: UPDATE"),
    ],
)
def test_differences_that_nothing_explains(ours, theirs, title):
    difference = pair(ours, theirs)
    assert difference.title == title
    assert reason_of(difference) is None


@pytest.mark.parametrize(
    ("level", "first", "is_explained"),
    [
        ("REPEATABLE READ", "INSERT INTO t SELECT", True),
        ("REPEATABLE READ", "SELECT id FROM s", False),
        ("READ COMMITTED", "INSERT INTO t SELECT", False),
    ],
)
def test_the_moment_of_the_snapshot(level, first, is_explained):
    def difference(*before, other="UPDATE t"):
        def played(rows):
            texts = (*before, first)
            read = told("A", "SELECT id FROM t", Answer(rows=rows))
            changed = told("B", other)
            return record(*(told("A", text) for text in texts), changed, read, level=level)

        return first_difference(played(((1,),)), played(()))

    assert bool(reason_of(difference("BEGIN"))) == is_explained
    # Without BEGIN each statement is a transaction.
    assert reason_of(difference()) is None
    assert reason_of(difference("BEGIN", "COMMIT")) is None
    # Nobody has changed anything.
    assert reason_of(difference("BEGIN", other="SELECT id FROM t")) is None


def test_rows_that_were_copied_from_snapshots_of_two_times():
    def differ(level="REPEATABLE READ", kind=script.COPY, birth="101.4", changed="UPDATE s"):
        def played(value):
            made = record(
                told("A", "BEGIN"),
                told("A", "DELETE FROM t"),
                told("B", changed),
                told("A", "INSERT INTO t SELECT", Answer(changed=1), Effect(kind, 101)),
                level=level,
            )
            made.rows["t"] = [(1, 7, "0.1"), (44, value, birth)]
            return made

        return rows_differ(played(0), played(1))

    assert differ() == ""
    assert differ(birth="101.4,102") == ""
    # Of other statements, of rows that were there, and where each statement has its own snapshot.
    assert differ(kind=script.INSERT)
    assert differ(birth="0.4")
    assert differ(level="READ COMMITTED")
    assert differ(changed="SELECT id FROM s")


def test_one_row_may_take_the_unique_value_of_another():
    taken = failed(1062)

    def reason(text, keys="UNIQUE KEY u (u, g)", ours=taken, theirs=OK):
        def played(state):
            made = record(told("A", text, **state))
            return Record(
                made.engine,
                Script("READ COMMITTED", (f"CREATE TABLE t ({keys})",), made.script.steps, 2, {}),
                made.events,
                {},
            )

        return reason_of(first_difference(played(ours), played(theirs)))

    update = "UPDATE t SET g = (g + 1) % 4 WHERE g >= 1"
    assert reason(update).name == "which row comes first"
    assert reason(update, ours=OK, theirs=taken).name == "which row comes first"
    assert reason(update, keys="UNIQUE KEY u (u)") is None
    assert reason(update.replace("g = (g", "h = (h")) is None
    assert reason(update.replace("t SET", "t FORCE INDEX (g) SET")) is None
    assert reason(update, ours=failed(1032)) is None


def test_a_trigger_refuses_a_row_before_innodb_looks_at_the_next_one():
    assert reason_of(pair(failed(1644), WAITS)).name == "gaps"
    assert reason_of(pair(failed(1644), OK)) is None
    assert reason_of(pair(failed(1041), WAITS)) is None


def test_innodb_tells_a_victim_late_beside_a_long_unique_key():
    difference = pair(OK, failed(4060), text="INSERT IGNORE INTO t VALUES (8)")
    assert reason_of(difference) is None
    assert reason_of(replace(difference, has_long_key=True)).name == (
        "victim beside a long unique key"
    )
    ours = pair(failed(4060), OK)
    assert reason_of(replace(ours, has_long_key=True)) is None


def test_at_serializable_innodb_has_no_snapshot():
    def difference(other):
        def played(rows):
            texts = ("BEGIN", "SELECT id FROM s")
            read = told("A", "SELECT id FROM t", Answer(rows=rows))
            before = [told("A", text) for text in texts]
            return record(*before, told("B", other), read, level="SERIALIZABLE")

        return reason_of(first_difference(played(((1,),)), played(())))

    assert difference("UPDATE t").name.startswith("when")
    assert difference("COMMIT").name.startswith("when")
    assert difference("SELECT id FROM t") is None


def test_a_wait_for_the_end_is_one_at_the_last_step():
    waits = {"ended_at": 1, "waited": True, **OK}
    assert reason_of(pair(OK, waits)).name == "gaps"
    assert first_difference(
        record(told("A", "UPDATE t SET n = 1", **waits)),
        record(told("A", "UPDATE t SET n = 1", answer=Answer(changed=2), ended_at=1)),
    )


def test_after_a_wait_a_scan_may_meet_a_duplicate():
    waits = {"ended_at": 1, "waited": True}
    assert reason_of(pair(OK | waits, failed(1062) | waits)).name.startswith("what a scan meets")
    assert reason_of(pair(OK | waits, failed(1032) | waits)) is None
    # An INSERT of values meets nothing else than its duplicate.
    insert = "INSERT INTO t VALUES (1)"
    assert reason_of(pair(OK | waits, failed(1062) | waits, text=insert)) is None


def test_a_scan_that_waited_may_have_changed_other_rows():
    def played(logs, *, waited=True, text="UPDATE t SET n = n + 1 LIMIT 1", read=((1,),)):
        change = told("A", text, Answer(changed=1), Effect(script.UPDATE, 100), waited=waited)
        return record(change, told("B", "SELECT id FROM t", Answer(rows=read)), logs=logs)

    def is_right(**more):
        ours, theirs = played(["0.1,100", "0.2"], **more), played(["0.1", "0.2,100"], **more)
        return verdict_of(ours, theirs).title == ""

    assert is_right()
    assert not is_right(waited=False)
    assert not is_right(text="REPLACE INTO t VALUES (1)")
    # Other rows in what follows as well, but not where both changed the same ones.
    same = [["0.1,100", "0.2"], ["0.1,100", "0.2"]]
    other = [["0.1,100", "0.2"], ["0.1", "0.2,100"]]
    for logs, excused in ((same, False), (other, True)):
        ours, theirs = (played(each, read=((n,),)) for n, each in enumerate(logs))
        assert (verdict_of(ours, theirs).title == "") == excused


def test_merges_with_virtual_columns_that_innodb_sorts():
    text = "SELECT id FROM t FORCE INDEX (g, w) WHERE g = 1 OR w = 2"
    ours, theirs = ({"answer": Answer(rows=((n,),))} for n in (1, 0))
    assert reason_of(pair(ours, theirs, text=f"{text} ORDER BY id")).name.startswith("sorted")
    assert reason_of(pair(ours, theirs, text=text)) is None
    for indexes in ("(g, h)", "(w)"):
        other = text.replace("(g, w)", indexes)
        assert reason_of(pair(ours, theirs, text=f"{other} ORDER BY id")) is None


def test_what_two_sessions_do_once_they_are_freed_is_not_compared():
    def played(changed, *, other_waits):
        waits = {"sent_at": 0, "ended_at": 2, "waited": True}
        made = record(
            told("A", "UPDATE t SET n = 1", Answer(changed=changed), **waits),
            told("B", "UPDATE t SET n = 2", **(waits if other_waits else {})),
            told("C", "COMMIT"),
        )
        made.rows["t"] = [(changed,)]
        return made

    one, other = (played(changed, other_waits=True) for changed in (1, 2))
    assert first_race(one) == 2
    assert first_difference(one, other) is None
    assert rows_differ(one, other) == ""
    # The step that has freed them is compared.
    other.events[2].answer = Answer(1317, "interrupted")
    assert first_difference(one, other).ours.step.text == "COMMIT"
    # Whoever was killed, or was told an error and has no more to say, does nothing.
    for answer in (Answer(2013, "lost"), Answer(1205, "timed out")):
        made = played(1, other_waits=True)
        made.events[1].answer = answer
        assert first_race(made) == 4
    alone = [played(changed, other_waits=False) for changed in (1, 2)]
    assert first_race(alone[0]) == 4
    assert first_difference(*alone).position == 2
    assert rows_differ(*alone)


def test_a_plain_read_that_waits_is_not_explained():
    assert reason_of(pair(WAITS, OK, text="SELECT id FROM t")) is None
    assert reason_of(pair(OK, WAITS, text="SELECT id FROM t")) is None
    # At SERIALIZABLE it locks what it reads.
    assert reason_of(pair(WAITS, OK, "SERIALIZABLE", "SELECT id FROM t")).name == "row locks"
    assert reason_of(pair(OK, WAITS, "SERIALIZABLE", "SELECT id FROM t")).name == "gaps"


def test_reasons_are_told_apart_and_explained():
    names = [reason.name for reason in REASONS]
    assert len(set(names)) == len(names)
    assert all(len(reason.why) > 20 for reason in REASONS)


def test_what_innodb_does_as_well_is_no_finding():
    ours = record(told("A", "UPDATE t", **failed(1032)), logs=("0.1", "0.2"))
    theirs = record(told("A", "UPDATE t", **failed(1032)), logs=("0.1", "0.2"), engine="InnoDB")
    verdict = verdict_of(ours, theirs)
    assert not verdict.title
    assert verdict.innodb_is_wrong


def test_tables_that_differ_after_equal_answers():
    theirs = record(told("A", "SELECT"), logs=("0.1", "0.2"))
    ours = record(told("A", "SELECT"), logs=("0.1", "0.2"))
    ours.rows["t"] = [("0.1", 7), ("0.2", 8)]
    assert verdict_of(ours, theirs).title == "tables differ from InnoDB's"


# ---- sessions without a script ------------------------------------------------------------------


def test_what_free_sessions_repeat_can_be_repeated():
    for seed in range(60):
        for kind in KINDS[seed % 4 :: 4]:
            made = storm.random_storm(random.Random(seed), kind)
            assert made == storm.random_storm(random.Random(seed), kind)
            for step in made.steps:
                assert f"{step.effect.mark}" not in step.text or not step.effect.mark
                assert "+ 100" not in step.text


class Asked:
    """A session that answers by itself."""

    def __init__(self, name, answer):
        self.name, self.answer, self.is_gone, self.texts = name, answer, False, []

    def ask(self, text):
        self.texts.append(text)
        self.is_gone = len(self.texts) == 3
        return self.answer


def test_free_sessions_have_another_mark_each_time():
    step = Step("B", "UPDATE t SET log = CONCAT(log, ',{mark}')", Effect(script.UPDATE, 7))
    session, events = Asked("B", Answer(changed=1)), []
    storm._repeat(session, [step], time.monotonic() + 60, events)
    marks = [event.step.effect.mark for event in events]
    assert len(set(marks)) == 3
    assert all(f",{mark}" in text for mark, text in zip(marks, session.texts, strict=True))


def test_free_sessions_are_judged():
    step = Step("B", "INSERT INTO t", Effect(script.UPSERT, 100, 1))
    made = record(
        Event(step, waited=True, in_transaction=False, answer=Answer(1032, "Can't find record")),
        logs=("0.1", "0.2"),
    )
    title, details = storm_verdict(made)
    assert title == "free sessions: error 1032 is none that sessions may meet: INSERT"
    assert "Can't find record" in details
    # Conflicts are what sessions meet.
    made.events[0].answer = Answer(1213, "deadlock")
    assert storm_verdict(made) == ("", "")


# ---- scripts, and the shrinker ------------------------------------------------------------------


def test_scripts_repeat_by_their_seed():
    for kind in KINDS:
        made = [generate.random_script(random.Random("7"), kind) for _ in range(2)]
        assert made[0] == made[1]
        assert made[0] != generate.random_script(random.Random("8"), kind)


def test_scripts_have_all_kinds_of_steps():
    texts = " ".join(
        generate.random_script(random.Random(seed), kind).text()
        for seed in range(40)
        for kind in KINDS
    )
    for words in (
        *("FORCE INDEX (g, h)", "SKIP LOCKED", "NOWAIT", "ON DUPLICATE KEY", "REPLACE", "JOIN"),
        *(
            "SAVEPOINT",
            "kill query",
            "disconnect",
            "reset",
            "await",
            "RETURNING",
            "SERIALIZABLE",
            "DESC",
        ),
        *("CONSISTENT SNAPSHOT", "VIRTUAL", "PARTITION BY", "TEXT", "id(6)"),
    ):
        assert words in texts


def test_shrinking_keeps_what_the_fault_needs():
    asked = []

    def shows(items):
        asked.append(list(items))
        return {3, 17} <= set(items)

    assert shorten(range(40), shows) == [3, 17]
    assert len(asked) < 120


def test_shrinking_ends_when_the_time_is_up():
    assert shorten(range(5), lambda items: True, lambda: True) == [0, 1, 2, 3, 4]


def played_by(fault):
    """Plays as a stage does; the fault shows as an error of ours at the last step."""

    def play(played):
        def of(engine, answer):
            events = [told(step.session, step.text) for step in played.steps]
            if events and fault({step.text for step in played.steps}):
                events[-1].answer, events[-1].in_transaction = answer, False
            return record(*events, logs=("0.1", "0.2"), engine=engine)

        return of("ROCKSDB", Answer(1032, "Can't find record")), of("InnoDB", Answer(changed=1))

    return play


def test_a_finding_is_played_again_and_shrunk():
    steps = tuple(Step("A", f"SELECT {number}") for number in range(12))
    case = stage.Case(Script("READ COMMITTED", (), steps, 2, {"t": ()}, 2), verdict_of)
    play = played_by(lambda texts: {"SELECT 4", "SELECT 9"} <= texts)
    title = case.judge(*play(case.script)).title
    assert title == "error 1032 is none that sessions may meet: SELECT"
    shrunk, verdict = stage.confirm_and_shrink(play, case, title, lambda: False)
    assert [step.text for step in shrunk.steps] == ["SELECT 4", "SELECT 9"]
    assert verdict.title == title


def test_a_finding_that_does_not_show_again_is_none():
    steps = (Step("A", "SELECT 1"),)
    case = stage.Case(Script("READ COMMITTED", (), steps, 2, {"t": ()}, 2), verdict_of)
    play = played_by(lambda texts: False)
    assert stage.confirm_and_shrink(play, case, "error 1032", lambda: False) is None


def test_innodb_status_tells_who_waits():
    status = """
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 25, ACTIVE 1 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 8, OS thread handle 1, query id 30 localhost root Updating
UPDATE t SET n = 1
---TRANSACTION 24, ACTIVE 1 sec
2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 1
MariaDB thread id 7, OS thread handle 2, query id 29 localhost root
"""
    assert list(innodb_waits(status)) == [8]


def test_states_that_are_waits():
    assert actors.is_wait("Waiting for table metadata lock", "CALL walk()")
    assert actors.is_wait("User lock", "CALL walk()")
    # OPTIMIZE of a partitioned table, beside LOCK TABLES.
    assert actors.is_wait("Waiting for table level lock", "OPTIMIZE TABLE t")
    # Of tables of the server's own, for a moment.
    assert not actors.is_wait("Waiting for table level lock", "CALL walk()")
    assert not actors.is_wait("Waiting for table level lock", "DROP TABLE t")
    assert not actors.is_wait("Sending data", "SELECT 1")

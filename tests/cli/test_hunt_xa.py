"""XA transactions among sessions that meet: what becomes of them, and which errors are right."""

import random
from dataclasses import replace

import pytest

from tests.hunt.actors import Answer
from tests.hunt.sessions import generate, script, xa
from tests.hunt.sessions.compare import began_with_change
from tests.hunt.sessions.judge import LASTING, UNDONE, UNKNOWN, fates_of, judge
from tests.hunt.sessions.script import Effect, Event, Record, Script, Step
from tests.hunt.sessions.tables import KINDS

UPDATE = Effect(script.UPDATE, 100)


def of(session, verb, error=0, branch="A0", tail="", **more):
    more = {"in_transaction": bool(error)} | more
    return Event(
        Step(session, xa.statement(verb, branch, tail)), answer=Answer(error, "x" * error), **more
    )


def changed(session="A", rows=1):
    return Event(Step(session, "UPDATE t", UPDATE), answer=Answer(changed=rows))


def gone(session="A", how=script.DISCONNECT):
    return Event(Step(session, how), applied=True)


def record(*events, logs=("0.1,100", "0.2")):
    for position, event in enumerate(events):
        event.sent_at = event.ended_at = position
    played = Script("READ COMMITTED", (), tuple(event.step for event in events), 2, {"t": ()}, 2)
    return Record("ROCKSDB", played, list(events), {"t": list(logs)})


def prepared(*more, rows=1, **given):
    begin = (of("A", "START"), changed(rows=rows), of("A", "END"), of("A", "PREPARE"))
    return record(*begin, *more, **given)


def kinds(made):
    return [complaint.kind for complaint in judge(made)]


def test_statements_are_taken_apart():
    assert xa.statement("START", "A0") == "XA START '{schema}','A0'"
    assert xa.parts(xa.statement("COMMIT", "A0", "ONE PHASE")) == xa.Parts("COMMIT", "A0", True)
    assert xa.parts("UPDATE t SET n = 1") == xa.Parts()


@pytest.mark.parametrize(
    ("more", "fate"),
    [
        ((of("A", "COMMIT"),), LASTING),
        ((of("A", "ROLLBACK"),), UNDONE),
        # What is prepared outlasts its session; the player ends it by COMMIT.
        ((), LASTING),
        ((gone(),), LASTING),
        ((gone(how=script.KILL),), LASTING),
        ((gone(how=script.RESET),), LASTING),
        ((gone(how=script.RESET), of("A", "ROLLBACK")), UNDONE),
        ((gone(), of("B", "COMMIT")), LASTING),
        ((gone(), of("B", "ROLLBACK")), UNDONE),
        ((gone(), of("B", "ROLLBACK", xa.OUTSIDE)), LASTING),
        ((gone(), of("B", "COMMIT", in_transaction=None)), LASTING),
    ],
)
def test_what_becomes_of_a_prepared_branch(more, fate):
    made = prepared(*more)
    assert fates_of(made) == {1: fate}
    made.logs["t"] = ["0.1,100" if fate == LASTING else "0.1", "0.2"]
    assert not any("told" in kind or "undone" in kind for kind in kinds(made))
    made.logs["t"] = ["0.1" if fate == LASTING else "0.1,100", "0.2"]
    assert any("told" in kind or "undone" in kind for kind in kinds(made))


def test_what_is_not_prepared_goes_with_its_session():
    begin = (of("A", "START"), changed())
    for more in ((gone(),), (of("A", "END"), gone())):
        assert fates_of(record(*begin, *more)) == {1: UNDONE}
    one_phase = (of("A", "END"), of("A", "COMMIT", tail="ONE PHASE"))
    assert fates_of(record(*begin, *one_phase)) == {1: LASTING}


def test_a_commit_without_an_answer():
    lost = of("A", "COMMIT")
    lost.answer = Answer(2013, "Lost connection")
    assert fates_of(prepared(lost))[1] == UNKNOWN


@pytest.mark.parametrize(
    ("more", "is_wrong"),
    [
        ((of("A", "COMMIT", xa.ROLLED_BACK, in_transaction=False),), True),
        ((of("A", "ROLLBACK", xa.NO_BRANCH),), True),
        ((of("A", "COMMIT"), of("A", "ROLLBACK", xa.NO_BRANCH, in_transaction=False)), False),
        ((of("A", "END", xa.WRONG_STATE),), False),
        # Others find it once its session has gone, and until somebody has ended it.
        ((of("B", "COMMIT", xa.NO_BRANCH),), False),
        ((gone(), of("B", "COMMIT", xa.NO_BRANCH)), True),
        ((gone(how=script.RESET), of("A", "COMMIT", xa.NO_BRANCH)), True),
        ((gone(how=script.RESET), of("A", "START", xa.WRONG_STATE, branch="A1")), True),
        ((gone(), of("B", "COMMIT"), of("C", "COMMIT", xa.NO_BRANCH)), False),
        ((gone(), Event(Step("B", "BEGIN")), of("B", "COMMIT", xa.OUTSIDE)), False),
    ],
)
def test_errors_in_states_that_allow_the_statement(more, is_wrong):
    assert any("state being" in kind for kind in kinds(prepared(*more))) == is_wrong


def test_a_statement_that_comes_late_may_find_that_the_player_has_ended_the_branch():
    waited = Event(Step("B", "UPDATE s"), waited=True)
    made = prepared(gone(), waited, of("B", "COMMIT", xa.NO_BRANCH))
    made.ended = {"A0"}
    assert any("state being" in kind for kind in kinds(made))
    waited.ended_at = 6
    assert kinds(made) == []
    made.ended = set()
    assert any("state being" in kind for kind in kinds(made))


@pytest.mark.parametrize("verb", ["COMMIT", "ROLLBACK"])
def test_a_branch_without_changes_may_be_rolled_back(verb):
    error = of("B", verb, xa.ROLLED_BACK, in_transaction=False)
    assert kinds(prepared(gone(), error, rows=0, logs=("0.1", "0.2"))) == []
    assert any("state being" in kind for kind in kinds(prepared(gone(), error)))


def test_nor_has_a_branch_changed_what_a_savepoint_has_undone():
    def ended(*inside):
        prepare = (of("A", "END"), of("A", "PREPARE"), gone())
        error = of("B", "COMMIT", xa.ROLLED_BACK, in_transaction=False)
        return kinds(record(of("A", "START"), *inside, *prepare, error, logs=("0.1", "0.2")))

    def saved(text):
        return Event(Step("A", text))

    undone = (saved("SAVEPOINT a"), changed(), saved("ROLLBACK TO SAVEPOINT a"))
    assert ended(*undone) == []
    assert any("state being" in kind for kind in ended(changed(), *undone))


def test_a_branch_has_changed_what_its_triggers_wrote_of_rows_not_inserted():
    ignored = Event(Step("A", "INSERT IGNORE INTO t VALUES (1)", Effect(script.IGNORE, 100, 1)))
    error = of("B", "COMMIT", xa.ROLLED_BACK, in_transaction=False)
    begin = (of("A", "START"), ignored, of("A", "END"), of("A", "PREPARE"), gone())
    made = record(*begin, error, logs=("0.1", "0.2"))
    assert list(xa.misplaced_errors(made)) == []
    made.script = replace(made.script, tables=("CREATE TRIGGER tried … 'try'",))
    assert [event for event, _ in xa.misplaced_errors(made)] == [error]


@pytest.mark.parametrize("number", [1613, 1614])
def test_a_branch_is_rolled_back_for_a_reason_only_where_it_was(number):
    told = {"error": number, "in_transaction": False}
    for more in ((of("A", "COMMIT", **told),), (gone(), of("B", "COMMIT", **told))):
        assert any("state being" in kind for kind in kinds(prepared(*more)))
    assert any("none: XA COMMIT" in kind for kind in kinds(record(of("A", "COMMIT", **told))))


def test_after_a_deadlock_only_a_rollback_has_its_place():
    def deadlock():
        return Event(
            Step("A", "UPDATE t", Effect(script.UPDATE, 101)),
            waited=True,
            answer=Answer(1213, "deadlock"),
            in_transaction=False,
        )

    def complaints(*more):
        made = record(of("A", "START"), changed(), deadlock(), *more, logs=("0.1", "0.2"))
        return kinds(made)

    error = of("A", "END", xa.WRONG_STATE, in_transaction=False)
    assert complaints(error, of("A", "ROLLBACK")) == []
    assert complaints(of("A", "ROLLBACK", xa.WRONG_STATE)) != []
    # COMMIT says why, and ends the branch.
    commit = of("A", "COMMIT", 1614, in_transaction=False)
    assert complaints(commit, of("A", "ROLLBACK", xa.NO_BRANCH, in_transaction=False)) == []
    assert "state being none: XA START" in complaints(commit, of("A", "START", 1614))[0]
    assert kinds(prepared(of("A", "COMMIT", 1614, in_transaction=False))) != []


def test_the_first_read_of_a_branch():
    read = Event(Step("A", "SELECT id FROM t"), answer=Answer(rows=()))
    other = Event(Step("B", "UPDATE t"))
    assert began_with_change(record(of("A", "START"), changed(), other, read), read)
    assert not began_with_change(record(of("A", "START"), changed(), read), read)
    assert not began_with_change(record(of("A", "START"), other, read), read)
    assert not began_with_change(record(*prepared(of("A", "COMMIT")).events, other, read), read)


def test_scripts_have_branches_of_all_kinds():
    scripts = [
        generate.random_script(random.Random(f"{seed} {kind.name}"), kind)
        for seed in range(20)
        for kind in KINDS
    ]
    steps = [step for made in scripts for step in made.steps]
    done = [(xa.parts(step.text), step.session) for step in steps]
    assert {each.verb for each, _ in done} >= {"START", "END", "PREPARE", "COMMIT", "ROLLBACK"}
    assert any(each.is_one_phase for each, _ in done)
    # Some are ended by others.
    assert any(each.branch and each.branch[0] != session for each, session in done)
    for made in scripts:
        starts = [step.text for step in made.steps if xa.parts(step.text).verb == "START"]
        assert len(starts) == len(set(starts))

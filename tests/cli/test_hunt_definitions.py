"""What old snapshots may be given after a change of the definition, and what else is compared."""

import random
from dataclasses import replace

import pytest

from tests.hunt.actors import Answer
from tests.hunt.definitions import pairs
from tests.hunt.definitions.changes import CHANGES
from tests.hunt.definitions.part import verdict_of
from tests.hunt.definitions.tables import KINDS
from tests.hunt.definitions.users import PROBES, USERS
from tests.hunt.sessions.script import Event, Record, Script, Step

THEN = ((1, 10), (101, 1010))
PAIR = pairs.Pair(
    KINDS[0],
    next(change for change in CHANGES if change.name == "ADD COLUMN by copy"),
    next(user for user in USERS if user.name == "a consistent snapshot"),
)


def probe(words):
    return next(each for each in PROBES if each.text.startswith(words))


def played(answer, words="SELECT id, n FROM {table}", *, opened=True):
    """A record in which a probe of an old snapshot had an answer."""
    role = pairs.Expected(probe(words), "t", "t")
    steps = [
        (Step("B", "START TRANSACTION", role=pairs.Opening()), Answer()),
        (Step("C", "SELECT id, n FROM t", role=pairs.Reference("t")), Answer(rows=THEN)),
        (Step("A", "ALTER TABLE t"), Answer()),
        (Step("B", role.probe.text, role=role), answer),
    ]
    if not opened:
        del steps[0]
    events = [
        Event(step, sent_at=i, ended_at=i, answer=told) for i, (step, told) in enumerate(steps)
    ]
    script = Script("REPEATABLE READ", (), tuple(step for step, _ in steps), 2)
    return Record("ROCKSDB", script, events)


def is_wrong(answer, words="SELECT id, n FROM {table}", **more):
    return bool(pairs.judge_pair(played(answer, words, **more), PAIR))


def test_an_old_snapshot_gives_its_rows_or_a_refusal():
    assert not is_wrong(Answer(rows=tuple(reversed(THEN))))
    assert not is_wrong(Answer(1412, "Table definition has changed"))
    assert not is_wrong(Answer(1146, "no such table"))


@pytest.mark.parametrize(
    "answer",
    [
        Answer(rows=()),
        Answer(rows=THEN[:1]),
        Answer(rows=((1, 11), (101, 1010))),
        Answer(rows=(*THEN, (151, 1))),
        Answer(1032, "Can't find record"),
        Answer(1213, "a plain read meets no conflict"),
    ],
)
def test_an_old_snapshot_must_not_give_others(answer):
    assert is_wrong(answer)


def test_counts_and_ranges_and_copies():
    assert not is_wrong(Answer(rows=((2,),)), "SELECT COUNT")
    assert is_wrong(Answer(rows=((0,),)), "SELECT COUNT")
    between = "SELECT id, n FROM {table} WHERE id BETWEEN"
    assert not is_wrong(Answer(rows=THEN[1:]), between)
    assert is_wrong(Answer(rows=()), between)
    assert not is_wrong(Answer(changed=2), "INSERT INTO sink")
    assert is_wrong(Answer(changed=0), "INSERT INTO sink")


def test_changes_may_conflict():
    assert is_wrong(Answer(changed=0), "UPDATE {table} SET n = n + 100000")
    assert not is_wrong(Answer(changed=2), "UPDATE {table} SET n = n + 100000")
    assert not is_wrong(Answer(1213, "conflict"), "UPDATE {table} SET n = n + 100000")


def test_without_a_snapshot_nothing_is_said():
    assert not is_wrong(Answer(rows=()), opened=False)


def test_a_finding_names_the_change():
    empty, right = played(Answer(rows=())), played(Answer(rows=THEN))
    verdict = verdict_of(PAIR, empty, right)
    assert verdict.title == "an old snapshot after ADD COLUMN by copy: other rows than it had"
    assert not verdict_of(PAIR, right, empty).title  # InnoDB's snapshots are no measure.


def renamed(answer, change, sent_at=3, text="SELECT COUNT(*) FROM t"):
    """A record in which a probe of t had an answer; t and x were, or were not, exchanged."""
    pair = replace(PAIR, change=next(each for each in CHANGES if each.name == "RENAME in a circle"))
    role = pairs.Expected(probe("SELECT COUNT"), "x", "t")
    events = [
        Event(Step("B", "START TRANSACTION", role=pairs.Opening()), 0, 0),
        Event(Step("C", "SELECT", role=pairs.Reference("t")), 1, 1, answer=Answer(rows=THEN)),
        Event(Step("C", "SELECT", role=pairs.Reference("x")), 1, 1, answer=Answer(rows=())),
        change(Step("A", pair.change.statements[-1])),
        Event(Step("B", text, role=role), sent_at, 3, answer=answer),
    ]
    script = Script("REPEATABLE READ", (), tuple(event.step for event in events), 2)
    return bool(pairs.judge_pair(Record("ROCKSDB", script, events), pair))


@pytest.mark.parametrize(
    ("change", "sent_at", "right"),
    [
        (lambda step: Event(step, 2, 2), 3, {0}),
        (lambda step: Event(step, 2, -1), 3, {2}),
        (lambda step: Event(step, 2, 4), 3, {2}),
        (lambda step: Event(step, 2, 2, answer=Answer(1205, "too long")), 3, {2}),
        (lambda step: Event(step, 2, 3), 3, {0, 2}),
        (lambda step: Event(step, 2, 2), 2, {0, 2}),
    ],
)
def test_a_name_is_that_of_another_table_once_the_change_has_ended(change, sent_at, right):
    for count in (0, 1, 2):
        assert renamed(Answer(rows=((count,),)), change, sent_at) == (count not in right)


def compared(
    ours, theirs, text="ALTER TABLE t", session=pairs.CHANGER, kind="plain", level="READ COMMITTED"
):
    def made(answer):
        script = Script(level, (), (Step(session, text),), 2)
        ended_at = 0 if answer else -1
        return Record("", script, [Event(script.steps[0], 0, ended_at, answer=answer or Answer())])

    pair = replace(PAIR, kind=next(each for each in KINDS if each.name == kind))
    return pairs.difference(made(ours), made(theirs), pair)[0]


def test_answers_are_compared_but_for_what_is_on_purpose():
    assert compared(Answer(), Answer()) == ""
    assert compared(Answer(), Answer(1205, "x")) == ""
    assert compared(Answer(), Answer(1205, "x"), session="B") == "succeeds, with InnoDB error 1205"
    assert compared(Answer(1205, "x"), Answer()) == ""
    assert compared(Answer(1034, "x"), Answer()) == "error 1034, with InnoDB succeeds"
    assert compared(Answer(1412, "x"), Answer()) == ""
    assert compared(Answer(), Answer(1412, "x")) == ""
    assert compared(Answer(1213, "x"), Answer(1020, "x")) == ""


def test_long_unique_keys_cannot_be_altered_with_innodb_at_serializable():
    error, text = Answer(159, "unknown"), "ALTER TABLE t FORCE"
    where = {"kind": "long unique", "level": "SERIALIZABLE"}
    for ours in (Answer(), None):
        assert compared(ours, error, text, **where) == ""
        assert compared(ours, error, text, kind="long unique") != ""
        assert compared(ours, error, text, level="SERIALIZABLE") != ""
        assert compared(ours, error, "TRUNCATE TABLE t", **where) != ""
        assert compared(ours, error, text, "B", **where) != ""
    assert compared(error, Answer(), text, **where) != ""
    assert compared(Answer(1034, "x"), error, text, **where) != ""


def test_nor_can_they_be_optimized():
    ok, failed = (
        Answer(rows=(("schema.t", "optimize", "status", text),))
        for text in ("OK", "Operation failed")
    )
    where = {"kind": "long unique", "level": "SERIALIZABLE"}
    assert compared(ok, failed, "OPTIMIZE TABLE t", **where) == ""
    assert compared(None, failed, "OPTIMIZE TABLE t", **where) == ""
    assert compared(failed, ok, "OPTIMIZE TABLE t", **where) != ""
    assert compared(ok, failed, "OPTIMIZE TABLE t", kind="long unique") != ""
    assert compared(ok, failed, "OPTIMIZE TABLE t", level="SERIALIZABLE") != ""


def test_of_check_only_the_last_line_counts():
    ours = Answer(rows=(("schema.t", "check", "status", "OK"),))
    theirs = Answer(
        rows=(("schema.t", "check", "note", "…"), ("schema.t", "check", "status", "OK"))
    )
    bad = Answer(rows=(("schema.t", "check", "error", "Corrupt"),))
    assert compared(ours, theirs, "CHECK TABLE t") == ""
    assert compared(bad, theirs, "CHECK TABLE t") == "another result than InnoDB's"


def test_tables_at_the_end():
    ours, theirs = (played(Answer(rows=THEN)) for _ in range(2))
    ours.rows, theirs.rows = {"t": [(1, 2)]}, {"t": [(1, 3)]}
    ours.logs = theirs.logs = {"t": [""]}
    assert verdict_of(PAIR, ours, theirs).title.startswith("tables differ from InnoDB's")
    # After different answers they may differ.
    theirs.events[2].answer = Answer(1205, "too long")
    assert "tables differ" not in verdict_of(PAIR, ours, theirs).title


def test_who_comes_between_the_statements_of_a_change_is_luck():
    waits = {"sent_at": 0, "ended_at": 3, "waited": True}

    def made(error, *, other_waits=True, told=0):
        freed = Event(Step("C", "UPDATE t"), **(waits if other_waits else {"sent_at": 0}))
        change = Event(Step(pairs.CHANGER, "DROP TABLE t"), **waits)
        late = Event(Step("C", "DELETE FROM t"), sent_at=3, ended_at=3)
        late.answer = Answer(error, "x" * error)
        end = Event(Step("B", "COMMIT"), sent_at=3, ended_at=3, answer=Answer(told, "x" * told))
        events = [freed, change, late, end]
        script = Script("READ COMMITTED", (), tuple(event.step for event in events), 2)
        return Record("", script, events, rows={"t": [(error,)]}, logs={"t": [""]})

    def differ(ours, theirs):
        return pairs.difference(ours, theirs, PAIR)[0]

    assert differ(made(1146), made(0)) == ""
    assert pairs.tables_differ(made(1146), made(0)) == ""
    ours, theirs = (made(error, other_waits=False) for error in (1146, 0))
    assert differ(ours, theirs) != ""
    # What frees them is compared.
    assert differ(made(0, told=1317), made(0)) != ""


def test_what_must_be_refused_is_a_finding_when_it_is_done():
    change = next(each for each in CHANGES if each.refused)
    pair = pairs.Pair(next(kind for kind in KINDS if change.applies(kind)), change, USERS[-1])

    def ended(answer):
        steps = tuple(Step(pairs.CHANGER, text) for text in change.statements)
        events = [Event(step, sent_at=i, ended_at=i) for i, step in enumerate(steps)]
        events[-1].answer = answer
        return Record("ROCKSDB", Script("READ COMMITTED", (), steps, 2), events)

    done, refused = ended(Answer()), ended(Answer(change.refused, "differ"))
    assert verdict_of(pair, done, done).title == f"not refused: {change.name}"
    assert not verdict_of(pair, refused, done).title
    assert verdict_of(pair, ended(Answer(1030, "x")), done).title


def test_a_copy_made_while_innodb_waits_may_have_other_rows():
    text = "INSERT INTO y (id, g, h, n) SELECT id, g, h, n FROM t"
    script = Script("REPEATABLE READ", (), (Step("A", text), Step("B", "COMMIT")), 2)

    def made(ended_at, **rows):
        events = [Event(script.steps[0], 0, ended_at), Event(script.steps[1], 1, 1)]
        return Record("", script, events, dict.fromkeys(rows, [""]), [], rows)

    def title(ended_at, ours, theirs):
        return verdict_of(PAIR, made(0, **ours), made(ended_at, **theirs)).title

    old, new = [(1, 10)], [(1, 11)]
    # The copy is y before the names are exchanged, and t then.
    assert not title(1, {"t": new, "y": old}, {"t": new, "y": new})
    assert not title(1, {"t": old, "z": new}, {"t": new, "z": new})
    assert title(1, {"t": old, "y": new}, {"t": new, "y": new})
    assert title(1, {"t": new, "z": old}, {"t": new, "z": new})
    assert title(0, {"t": new, "y": old}, {"t": new, "y": new})


def test_every_pair_makes_a_script_that_repeats():
    made = pairs.all_pairs()
    assert len(made) > 3000
    for pair in random.Random(1).sample(made, 300):
        first, again = (pairs.make(pair, random.Random("5")) for _ in range(2))
        assert first == again
        assert first.steps
    covered = {change for pair in made for change in [pair.change.name]}
    assert covered == {change.name for change in CHANGES}


def test_cursors_are_opened_by_routines_of_the_script():
    users = [user for user in USERS if "cursor" in user.name]
    assert len(users) == 3
    for user in users:
        (call,) = (text for text in user.before if text.startswith("CALL "))
        text = pairs.make(replace(PAIR, user=user), random.Random(1)).text()
        routines = [line for line in text.splitlines() if line.startswith("CREATE PROCEDURE")]
        assert routines == [f"CREATE PROCEDURE {call.split()[1]}"]


def test_hidden_columns_of_versions_are_not_compared():
    users = {pair.user for pair in pairs.all_pairs() if pair.kind.is_versioned}
    assert {user.name for user in USERS if user not in users} == {
        "a HANDLER",
        "a HANDLER on an index",
    }
    assert not any(user.sees_hidden_columns for user in users)

"""What ./cairn hunt changes draws, how it compares, and that it shrinks: without a server."""

import re
from dataclasses import replace
from random import Random

import pytest

from tests.hunt import changes
from tests.hunt.access import Path
from tests.hunt.case import Rig
from tests.hunt.change_statements import Change, Changes
from tests.hunt.changes import ChangeCase, ChangePaths, Known, Outcome, checks, compare, outcome
from tests.hunt.conditions import Condition, all_of, any_of
from tests.hunt.keys import Key, KeyPart
from tests.hunt.session import Answer
from tests.hunt.shrink import shrink
from tests.hunt.tables import Column, Table, random_tables
from tests.hunt.values import INT


def column(name, *, nullable=True):
    return Column(name, INT, nullable, "seq % 5", ("0", "1", "2", "3", "4"))


TABLE = Table(
    "t",
    (Column("id", INT, False, "seq", ("1",)), column("c0"), column("c1", nullable=False)),
    (
        Key("PRIMARY", (KeyPart("id"),), True),
        Key("k0", (KeyPart("c0"),)),
        Key("k1", (KeyPart("c1"),)),
    ),
    500,
)
WHERE = any_of(Condition("a.c0 = 1"), Condition("a.c1 = 2"))
UPDATE = Change(
    "UPDATE t a /*a*/ SET a.c0 = 3, a.c1 = 4 WHERE /*where*/", (("a", "t"),), WHERE, ("t",)
)
FORCED = Path((), {"a": "FORCE INDEX (k0, k1)"})


# ---- drawing -------------------------------------------------------------------------------------


def drawn(seed, count=400):
    chance = Random(seed)
    tables = random_tables(chance)
    source = Changes(chance, tables)
    return [source.change() for _ in range(count)], tables


def test_a_seed_draws_the_same_again():
    assert [c.sql() for c in drawn(1, 30)[0]] == [c.sql() for c in drawn(1, 30)[0]]


def test_all_forms_of_changes_are_drawn():
    text = "\n".join(change.sql() for seed in range(5) for change in drawn(seed)[0])
    for needed in (
        r"^UPDATE \w+ a  SET",
        r"^UPDATE IGNORE",
        r"^UPDATE \w+ a  (STRAIGHT_|LEFT )?JOIN",
        r"^DELETE FROM",
        r"^DELETE a FROM \w+ a +WHERE",
        r"^DELETE a, b FROM",
        r"^INSERT INTO .* SELECT .* a +WHERE",
        r"^INSERT IGNORE INTO",
        r"^REPLACE INTO",
        r"ON DUPLICATE KEY UPDATE",
        r"RETURNING",
        r"ORDER BY .* LIMIT",
    ):
        assert re.search(needed, text, re.MULTILINE), needed


def test_some_of_the_rows_are_always_the_same_ones():
    for seed in range(5):
        changes_of_seed, tables = drawn(seed)
        unique = {table.name for table in tables if table.has_unique_numbers}
        for change in changes_of_seed:
            if " LIMIT " in change.text:
                assert re.search(r"ORDER BY .*\bid( DESC)? LIMIT", change.text), change.text
                assert change.sources[0][1] in unique, change.text


def test_rows_that_come_in_no_order_do_not_displace_each_other():
    found = False
    for seed in range(40):
        changes_of_seed, tables = drawn(seed, 100)
        unique = {table.name for table in tables if table.has_unique_numbers}
        for change in changes_of_seed:
            one = re.search(r"^(\w+( IGNORE)?) INTO .* SELECT .* FROM (\w+) a ", change.text)
            if one and one[3] not in unique:
                found = True
                assert one[1] == "INSERT" and "ON DUPLICATE" not in change.text, change.text
    assert found


def test_paths_use_hints_where_the_statement_takes_them():
    found, tables = drawn(3)
    paths = ChangePaths(Random(1), "mrr=on", tables)
    hinted = 0
    for change in found[:100]:
        for path in paths.some(change, 5):
            assert set(path.hints) <= set(change.aliases())
            hinted += bool(path.hints)
            assert "/*" not in ChangeCase(tuple(tables), (), change, path).statements()[-1][:30]
    assert hinted > 50


def test_statements_are_sent_with_settings_and_ways():
    path = replace(FORCED, settings=("join_cache_level=1",), way="prepared")
    change = replace(UPDATE, settings=("sql_mode='STRICT_ALL_TABLES'",))
    assert ChangeCase((TABLE,), (), change, path).statements() == (
        "PREPARE p FROM 'UPDATE t a FORCE INDEX (k0, k1) SET a.c0 = 3, a.c1 = 4 "
        "WHERE (a.c0 = 1 OR a.c1 = 2)'",
        "SET STATEMENT sql_mode='STRICT_ALL_TABLES', join_cache_level=1 FOR EXECUTE p",
    )


# ---- looking and comparing -----------------------------------------------------------------------


def test_rows_and_every_index_are_looked_at():
    names = [name for name, _ in checks((TABLE,), UPDATE)]
    assert names == [
        "rows of t",
        "index PRIMARY of t",
        "index k0 of t",
        "index k0 of t",
        "index k1 of t",
    ]
    text = "\n".join(statement for _, statement in checks((TABLE,), UPDATE))
    assert "USE INDEX ()" in text
    assert "FORCE INDEX (k0) WHERE c0 IS NULL" in text
    assert "FORCE INDEX (k1) WHERE c1 IS NULL" not in text
    assert checks((replace(TABLE, name="other"),), UPDATE) == []
    scans = "\n".join(statement for _, statement in checks((TABLE,), UPDATE, by_scan=True))
    assert "FORCE INDEX" in text
    assert "FORCE INDEX" not in scans
    assert scans.count("\n") == text.count("\n")
    history = checks((replace(TABLE, versioned=True),), UPDATE)
    assert any("FOR SYSTEM_TIME ALL" in statement for _, statement in history)


def result(rows="5,9", *, error=0, changed=2, index="5,9"):
    return Outcome(Answer((), error, "", changed), (Answer((rows,)), Answer((index,))))


NAMES = ("rows of t", "index k0 of t")


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (result(), ""),
        (result("4,9"), "rows: rows are missing"),
        (result("5,8"), "rows: other rows"),
        (result(index="6,9"), "index: rows too many"),
        (result(changed=1), "another number of changed rows"),
        (result(error=1032), "answer: error 1032 in place of an answer"),
        (result(error=1969), ""),
    ],
)
def test_kinds_of_differences(given, kind):
    assert compare(result(), given, NAMES) == kind


def test_known_differences_need_both_kind_and_statement(monkeypatch):
    entry = Known("error 1105", "^REPLACE", "because")
    monkeypatch.setattr(changes, "KNOWN", (entry,))
    assert changes.known("answer: error 1105, not 1062", "REPLACE INTO t") is entry
    assert changes.known("answer: error 1105, not 1062", "INSERT INTO t") is None
    assert changes.known("rows: rows are missing", "REPLACE INTO t") is None


def test_every_known_difference_has_its_reason():
    for entry in changes.KNOWN:
        assert entry.reason
        assert entry.kind
        assert entry.statement


# ---- finding and shrinking -----------------------------------------------------------------------


class Engine:
    """Stands for a session; `loses` says of which statements rows are forgotten."""

    def __init__(self, loses):
        self.loses = loses
        self.rows = 10

    def run(self, scripts):
        answers = []
        for script in scripts:
            text = " ".join(script.statements)
            if text == "BEGIN":
                self.rows = 10
            if "UPDATE t" in text:
                self.rows = 9 if self.loses(text) else 10
                answers.append(Answer(changed=3))
            else:
                answers.append(Answer((f"{self.rows},1",)))
        return answers

    def try_to(self, _):
        return Answer()

    must = try_to


def merged(text):
    return "FORCE INDEX (k0, k1)" in text and " OR " in text


def rig(rocksdb, innodb=lambda _: False):
    made = Rig.__new__(Rig)
    made.rocksdb, made.innodb, made._built = Engine(rocksdb), Engine(innodb), None
    return made


def hunt(made):
    found = changes.Hunt.__new__(changes.Hunt)
    found.rig = made
    found.explained, found.servers = changes.Counter(), changes.Counter()
    found._context = None
    return found


def judged(made, case):
    right = outcome(made.innodb, replace(case, path=Path()))

    class Context:
        def count(self, *_):
            pass

    one = hunt(made)
    one._context = Context()
    return one._judge(made, case, right, count=False)


def test_a_planted_difference_is_found_and_a_false_one_is_not():
    case = ChangeCase((TABLE,), (), UPDATE, FORCED)
    assert judged(rig(merged), case) == "rows: rows are missing"
    assert judged(rig(merged, merged), case) == ""
    assert judged(rig(merged), replace(case, path=Path())) == ""


def test_a_case_shrinks_to_what_shows_the_difference():
    made = rig(merged)
    whole = ChangeCase(
        (TABLE, replace(TABLE, name="s")),
        ("ANALYZE TABLE t",),
        replace(
            UPDATE,
            where=all_of(WHERE, Condition("a.id > 3")),
            settings=("sql_mode='STRICT_ALL_TABLES'",),
        ),
        replace(FORCED, settings=("mrr_buffer_size=8192",), way="prepared"),
    )

    def fails(case):
        return judged(made, case) == "rows: rows are missing"

    small = shrink(whole, changes.smaller_cases, fails, 30)
    assert small.path == FORCED
    assert small.actions == ()
    assert [each.name for each in small.tables] == ["t"]
    assert small.tables[0].rows == 1
    assert small.change.settings == ()
    assert small.change.where.sql() == "(a.c0 = 1 OR a.c1 = 2)"
    assert small.change.text.count(" = ") == 1
    assert [key.name for key in small.tables[0].keys] == ["k0", "k1"]
    script = small.script("ROCKSDB")
    assert script[0].startswith("CREATE TABLE t (")
    assert script[2] == "BEGIN"
    assert script[3].startswith("UPDATE t a FORCE INDEX (k0, k1)")

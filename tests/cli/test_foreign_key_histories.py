"""Histories of foreign keys: what clients must find again and send, and orphans."""

import itertools
import random
import re
from dataclasses import replace

import pytest

from tests.histories.foreign_keys.acting import ACTING_BY_NAME, ACTING_KEYS
from tests.histories.foreign_keys.acting_statements import RANGE, ActingStatements
from tests.histories.foreign_keys.actions import unexplained
from tests.histories.foreign_keys.judge import ORPHANS, OUTLIVED, missing, queries, what
from tests.histories.foreign_keys.promise import Promise, Sent
from tests.histories.foreign_keys.schema import NOBODY, STEADY
from tests.histories.foreign_keys.statements import Statements
from tests.histories.foreign_keys.steady import MARK, SteadyStatements
from tests.histories.foreign_keys.tables import (
    ALL_KEYS,
    ALL_OWNED,
    ALL_TABLES,
    BY_NAME,
    COMMON_VALUES,
    OWN_VALUES,
    create,
    own_rows,
    steady_rows,
)

OLD = (("top", 6, "6", 1),)
NEW = (("top", 7, "7", 2),)
OTHER = (("top", 6, "6", 3),)


def promise(sent, pending=NEW):
    made = Promise(3, OLD)
    made.begin(sent, pending, "3-1")
    return made


@pytest.mark.parametrize(
    ("sent", "prepared", "found"),
    [
        (Sent.NOTHING, False, OLD),
        (Sent.COMMIT, False, OLD),
        (Sent.COMMIT, False, NEW),
        (Sent.PREPARE, False, OLD),
        (Sent.PREPARE, True, OLD),
        (Sent.PREPARED, True, OLD),
        (Sent.COMMIT_PREPARED, True, OLD),
        (Sent.COMMIT_PREPARED, False, NEW),
        (Sent.ROLLBACK_PREPARED, True, OLD),
        (Sent.ROLLBACK_PREPARED, False, OLD),
    ],
)
def test_what_a_lost_connection_may_leave_is_right(sent, prepared, found):
    made = promise(sent)
    assert made.settle(found, prepared=prepared) == ""
    assert made.rows == found
    assert made.is_prepared == prepared


@pytest.mark.parametrize(
    ("sent", "prepared", "found"),
    [
        (Sent.NOTHING, False, NEW),
        (Sent.NOTHING, True, OLD),
        (Sent.COMMIT, True, OLD),
        (Sent.COMMIT, False, OTHER),
        (Sent.PREPARE, False, NEW),
        (Sent.PREPARED, False, OLD),
        (Sent.PREPARED, False, NEW),
        (Sent.PREPARED, True, NEW),
        (Sent.COMMIT_PREPARED, False, OLD),
        (Sent.COMMIT_PREPARED, True, NEW),
        (Sent.ROLLBACK_PREPARED, False, NEW),
    ],
)
def test_what_it_may_not_leave_is_wrong(sent, prepared, found):
    assert promise(sent).settle(found, prepared=prepared) != ""


def test_a_prepared_transaction_that_changed_nothing_may_be_gone():
    assert promise(Sent.PREPARED, OLD).settle(OLD, prepared=False) == ""


def test_what_a_client_does_for_nobody_leaves_rows_of_clients_alone():
    statements = Statements(3, itertools.count(1_000_000), random.Random(1))
    for _ in range(500):
        text = statements.any(nobody=True)
        # In conditions, and in new rows before their mark.
        assert set(re.findall(r"writer = (\d+)", text)) <= {str(NOBODY)}
        assert set(re.findall(r"\b(\d+), 1\d{6}\b", text)) <= {str(NOBODY)}


def test_rows_of_a_client_are_never_replaced_by_others():
    assert not set(COMMON_VALUES) & set(OWN_VALUES)
    statements = Statements(3, itertools.count(1_000_000), random.Random(1))
    replaced = [text for text in (statements.any() for _ in range(3000)) if "REPLACE" in text]
    assert len(replaced) > 50
    for text in replaced:
        table = BY_NAME[re.match(r"REPLACE INTO (\w+)", text)[1]]
        if table.is_shared:
            assert re.search(r", 0, 1\d{6}\)$", text), text


def test_each_table_has_its_foreign_keys_and_each_row_its_owner():
    for table in ALL_TABLES:
        text = create(table, "ROCKSDB")
        assert text.count("FOREIGN KEY") == sum(key.child == table.name for key in ALL_KEYS)
        assert "writer INT NOT NULL, mark INT NOT NULL" in text
    assert own_rows(3).count("writer = 3") == len(ALL_OWNED)


def test_orphans_are_looked_for_by_each_index_of_child_and_parent():
    (key,) = [key for key in ALL_KEYS if key.name == "by_pair_pair"]
    looked = list(
        queries(
            key,
            {"pair": ("name", "number"), "id": ("id",)},
            {"PRIMARY": ("id",), "pair": ("name", "number")},
        )
    )
    assert len(looked) == 3 * 2
    assert (
        "SELECT c.* FROM by_pair c FORCE INDEX (pair) LEFT JOIN middle p FORCE INDEX (pair) "
        "ON c.name = p.name AND c.number = p.number WHERE c.name IS NOT NULL AND "
        "c.number IS NOT NULL AND p.name IS NULL" in looked
    )
    assert sum("p IGNORE INDEX (PRIMARY, pair)" in query for query in looked) == 3


def test_a_foreign_key_that_is_gone_is_missed_unless_it_may_go():
    assert missing(list(ALL_KEYS)) == []
    gone = missing([key for key in ALL_KEYS if key.name not in ("tree_up", "loose_top")])
    assert gone == ["gone: CONSTRAINT tree_up FOREIGN KEY (up) REFERENCES tree (id) of tree"]


def test_a_foreign_key_with_other_actions_is_missed():
    changed = [replace(key, on_delete="RESTRICT") for key in ALL_KEYS]
    acting = [key for key in ACTING_KEYS if key.on_delete != "RESTRICT"]
    assert len(missing(changed)) == len(acting) > 5


def test_children_that_outlive_their_parent_are_looked_for():
    (key,) = [key for key in ALL_KEYS if key.name == "stem_code"]
    orphans, outlived = queries(key, {}, {})
    assert what(orphans) == ORPHANS
    assert what(outlived) == OUTLIVED
    assert outlived == (
        "SELECT c.*, p.born FROM stem c  STRAIGHT_JOIN root p  ON c.code = p.code "
        "WHERE c.code_born <> p.born"
    )


def test_a_client_refers_to_its_own_rows_where_actions_follow():
    writer = 7
    statements = ActingStatements(writer, itertools.count(1_000_000), random.Random(1))
    for _ in range(3000):
        text = statements.any()
        if f"writer = {NOBODY}" in text or not re.search(rf"writer = {writer}\b", text):
            continue
        values = [int(found) for found in re.findall(r"= (\d{3,4})\b", text)]
        assert {value // RANGE for value in values} <= {writer}, text


def test_a_row_of_the_steady_root_does_not_move_to_a_place_of_anybody():
    statements = ActingStatements(7, itertools.count(1_000_000), random.Random(1))
    moves = 0
    for _ in range(3000):
        text = statements.any()
        separator = " SET " if text.startswith("UPDATE") else " KEY UPDATE "
        changed = text.partition(separator)[2].partition(" WHERE ")[0]
        if "bunch" in text or "slot = " not in changed or "root = " in changed.replace("(root", ""):
            continue
        moves += 1
        assert "IF(root = 20, slot, " in changed, text
    assert moves > 20


def test_a_number_of_a_parent_goes_with_the_value_that_refers_to_it():
    statements = ActingStatements(7, itertools.count(1_000_000), random.Random(1))
    changed = 0
    for _ in range(5000):
        text = statements.any()
        found = re.match(r"UPDATE (?:IGNORE )?(\w+) SET (.*) WHERE", text)
        for key in ACTING_KEYS if found else ():
            columns = {change.split(" = ")[0] for change in found[2].split(", ")}
            if key.child == found[1] and key.witness and columns & set(key.columns):
                assert f"{key.witness} = NULL" in text
                changed += 1
    assert changed > 100


def test_children_of_rows_that_nobody_changes_have_all_that_they_need():
    assert all(f"{STEADY}, 0)" in text for text in steady_rows())
    parents = {text.split()[2] for text in steady_rows()}
    assert parents == {key.parent for key in ALL_KEYS}
    statements = SteadyStatements(
        Statements(3, itertools.count(1), random.Random(1)),
        ActingStatements(3, itertools.count(1), random.Random(1)),
        itertools.count(1),
        random.Random(1),
    )
    seen = set()
    for _ in range(1000):
        text = statements.any(3)
        assert MARK in text
        seen.add(re.search(r"\*/ (?:INTO )?(\w+)", text)[1])
    assert seen == {key.child for key in ALL_KEYS if key.child != "loose"}
    assert seen & set(ACTING_BY_NAME)


ROOT = ("root", 301, "301, 3, 1000", 1)
STEM = ("stem", 305, "301, 3, NULL, 7, 1001, NULL, NULL", 2)
TWIG = ("twig", 306, "301, 3, 1001", 3)
KNOT = ("knot", 307, "NULL, 1002, NULL", 4)


def moved(row, old, new):
    return (row[0], row[1], row[2].replace(old, new), row[3])


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("DELETE FROM root WHERE TRUE", (KNOT,)),
        ("DELETE FROM stem WHERE TRUE", (ROOT, KNOT)),
        ("DELETE c FROM twig c JOIN stem p ON c.root = p.root", (ROOT, STEM, KNOT)),
        (
            "UPDATE IGNORE root SET id = 302",
            (
                ("root", 302, *ROOT[2:]),
                moved(STEM, "301, 3", "302, 3"),
                moved(TWIG, "301, 3", "302, 3"),
                KNOT,
            ),
        ),
        (
            "REPLACE INTO root (id, code, batch, born, writer, mark) VALUES ROW",
            (("root", 301, "301, 3, 1004", 5), KNOT),
        ),
        (
            "UPDATE root SET code = 302",
            (moved(ROOT, "301,", "302,"), STEM, TWIG, KNOT),
        ),
    ],
)
def test_what_follows_from_a_statement_is_right(text, after):
    assert unexplained(text, (ROOT, STEM, TWIG, KNOT), after) == []


@pytest.mark.parametrize(
    ("text", "after", "wrong"),
    [
        ("DELETE FROM stem WHERE TRUE", (ROOT, STEM, KNOT), TWIG),
        ("DELETE FROM root WHERE TRUE", (), KNOT),
        ("UPDATE root SET code = 302", (ROOT, STEM, KNOT), TWIG),
        ("DELETE FROM knot WHERE TRUE", (STEM, TWIG), ROOT),
        ("DELETE FROM knot WHERE TRUE", (ROOT, STEM, TWIG, TWIG, KNOT), TWIG),
    ],
)
def test_what_does_not_follow_from_it_is_wrong(text, after, wrong):
    assert any(str(wrong) in found for found in unexplained(text, (ROOT, STEM, TWIG, KNOT), after))

"""Loads that are replicated, and how what they show is shrunk."""

import random

from tests.hunt.replica import load, part, rig
from tests.hunt.replica.load import IMAGES, MODES, Load, random_load
from tests.hunt.replica.rig import Outcome
from tests.hunt.replica.tables import KINDS, Table


def test_loads_repeat_by_their_seed():
    for number in range(1, 20):
        made = [random_load(random.Random("7"), number) for _ in range(2)]
        assert made[0] == made[1]
    assert random_load(random.Random("7"), 1) != random_load(random.Random("8"), 1)


def test_rounds_take_all_kinds_images_and_modes_in_turn():
    loads = [random_load(random.Random(number), number) for number in range(1, 60)]
    assert {table.kind for each in loads for table in each.tables} == set(KINDS)
    assert {each.image for each in loads} == set(IMAGES)
    assert {(each.mode, each.threads) for each in loads} == set(MODES)
    # Each image meets each mode.
    together = {(each.image, each.mode, each.threads) for each in loads}
    assert len(together) == len(set(MODES)) * len(IMAGES)


def test_loads_have_all_kinds_of_statements():
    text = " ".join(random_load(random.Random(n), n).text() for n in range(1, 40))
    for words in (
        *(
            "INSERT IGNORE",
            "ON DUPLICATE KEY",
            "REPLACE",
            "DELETE",
            "JOIN",
            "SAVEPOINT",
            "TRUNCATE",
        ),
        *("FORCE", "UPDATE IGNORE", "general_ci", "DESC", "k(2)", "VIRTUAL", "PARTITION BY"),
    ):
        assert words in text


def test_each_kind_of_table_meets_each_image():
    together = set()
    for number in range(1, 60):
        made = random_load(random.Random(number), number)
        switched = {text.rpartition(" ")[2] for each in made.transactions for text in each[:1]}
        for image in (switched | {made.image}) & set(IMAGES):
            together |= {(table.kind, image) for table in made.tables}
    assert len(together) == len(KINDS) * len(IMAGES)


def made(transactions, sessions=1):
    tables = (Table("t1", KINDS[0]), Table("t2", KINDS[1]))
    return Load(tables, transactions, "MINIMAL", "optimistic", 4, sessions, "ROCKSDB")


def test_the_text_names_only_tables_that_are_used():
    text = made((("DELETE FROM t1 WHERE k = 1",),)).text()
    assert "CREATE TABLE t1" in text
    assert "CREATE TABLE t2" not in text
    assert "optimistic" in text


def test_the_text_tells_which_session_does_what():
    lines = made((("DELETE FROM t1 WHERE k = 1",), ("BEGIN", "COMMIT")), 2).text().splitlines()
    assert lines[-3:] == [
        "/* session 1 */ DELETE FROM t1 WHERE k = 1;",
        "/* session 2 */ BEGIN;",
        "/* session 2 */ COMMIT;",
    ]


def play(needed):
    """A rig on which a load fails if it has these statements."""

    def played(tried):
        statements = {text for transaction in tried.transactions for text in transaction}
        return Outcome("the replica stops: 1032", "…") if needed <= statements else Outcome()

    return played


def test_a_load_is_shrunk_to_transactions_and_then_to_statements():
    transactions = tuple((f"BEGIN {n}", f"DELETE {n}", f"COMMIT {n}") for n in range(30))
    needed = {"DELETE 4", "DELETE 21", "COMMIT 21"}
    shrunk, outcome = part.confirm_and_shrink(
        play(needed), made(transactions), "the replica stops: 1032", lambda: False
    )
    assert shrunk.transactions == (("DELETE 4",), ("DELETE 21", "COMMIT 21"))
    assert outcome.title == "the replica stops: 1032"


def test_a_load_that_does_not_fail_again_is_not_shrunk():
    tried = made((("DELETE 1",),))
    assert part.confirm_and_shrink(play({"DELETE 2"}), tried, "x", lambda: False) is None


def test_a_problem_is_named_by_its_numbers():
    text = "Can't find record in 't', Error_code: 1032; handler error HA_ERR_END_OF_FILE; log x"
    assert rig._kind(text) == "1032, HA_ERR_END_OF_FILE"
    assert rig._kind("The binary log cannot be replayed: ERROR 1032 (HY000) at line 7") == "1032"
    assert rig._kind("it has not caught up after 30 s\nmore") == "it has not caught up after 30 s"


def test_transactions_end():
    writer = load.Writer(random.Random(3), (Table("t1", KINDS[0]), Table("t2", KINDS[7])))
    for transaction in (writer.transaction() for _ in range(400)):
        begins = [text for text in transaction if text == "BEGIN"]
        ends = [text for text in transaction if text in ("COMMIT", "ROLLBACK")]
        assert len(begins) == len(ends) == (len(transaction) > 1)

"""What ./cairn hunt foreign-keys draws and how it compares: without a server."""

import re
from dataclasses import replace
from random import Random

from tests.hunt.foreign_keys import look, schema
from tests.hunt.foreign_keys.reasons import ENDS, ERRORS, QUIET, REFUSALS, Told, reason
from tests.hunt.foreign_keys.rows import Rows
from tests.hunt.foreign_keys.schema import Column, ForeignKey, Index, Schema, Table
from tests.hunt.foreign_keys.script import KILL, Script
from tests.hunt.foreign_keys.tables import Tables
from tests.hunt.foreign_keys.values import TYPES, class_of, fit, value
from tests.hunt.session import Answer

PARENT = Table(
    "here",
    "t1",
    (Column("id", "int(11)", False, False), Column("a", "utf8mb4_bin", True, False)),
    (
        Index("PRIMARY", True, ("id",), (True,)),
        Index("k", False, ("a", "id"), (True, True)),
        Index("n", False, ("id", "a"), (True, False)),
    ),
    (),
)
KEY = ForeignKey("f1", "elsewhere.t2", ("b", "p"), "here.t1", ("a", "id"))
CHILD = Table(
    "elsewhere",
    "t2",
    (
        Column("id", "int(11)", True, False),
        Column("p", "int(11)", True, False),
        Column("b", "utf8mb4_bin", True, False),
        Column("g", "int(11)", True, True),
    ),
    (Index("id", True, ("id",), (True,)),),
    (KEY,),
)
BOTH = Schema((PARENT, CHILD))
THREE = Schema((PARENT, CHILD, replace(PARENT, name="t3")))
NO_PARENT = (
    "Cannot add or update a child row: a foreign key constraint fails (`r_here`.`c`, CONSTRAINT "
    "`f` FOREIGN KEY (`p`) REFERENCES `r_elsewhere`.`p` (`id`))"
)


def drawn(seed, known=THREE, count=400):
    script = Script(Random(seed), lambda table: f"CREATE TABLE `x` ( `id` int(11) ) {table}", 1.0)
    return [script.next(known) for _ in range(count)]


# ---- what is drawn -------------------------------------------------------------------------------


def test_a_seed_draws_the_same_again_and_every_kind_of_step():
    assert drawn(3) == drawn(3)
    text = "\n".join(step for seed in range(12) for step in drawn(seed))
    for needed in (
        *("CREATE TABLE", "CREATE OR REPLACE TABLE", "DROP TABLE", "TRUNCATE", "RENAME TABLE"),
        *("ADD FOREIGN KEY", "ADD CONSTRAINT", "DROP FOREIGN KEY f1", "DROP KEY", "ADD KEY"),
        *("ADD UNIQUE KEY", "RENAME COLUMN", "ADD COLUMN", "DROP COLUMN", "RENAME TO"),
        *("foreign_key_checks=0", "SAVEPOINT s", "XA PREPARE", "ROLLBACK", KILL, "LOAD DATA"),
        *("INSERT IGNORE", "REPLACE", "ON DUPLICATE KEY", "UPDATE IGNORE", "DELETE IGNORE"),
        *("DELETE c, p FROM", "STRAIGHT_JOIN", "RETURNING", "TRIGGER", "DROP DATABASE"),
        *(" DESC", "cfname=rev:", "PERSISTENT", "ON DELETE RESTRICT", "MATCH SIMPLE"),
        *("SERIALIZABLE", "MATCH SIMPLE", "NO ACTION", ") SELECT ", "sql_mode=''", "LOCK TABLES"),
        *("ON DELETE CASCADE", "ON DELETE SET NULL", "ON UPDATE CASCADE", "ON UPDATE SET NULL"),
        *("ALGORITHM=COPY", "FORCE", "ADD PRIMARY KEY", "MODIFY", "BLOB", "AUTO_INCREMENT"),
        *("FUNCTION fn1(", "SELECT fn"),
    ):
        assert needed in text, needed


def test_statements_about_several_rows_say_in_which_order():
    rows = Rows(Random(1))
    for _ in range(500):
        step = rows.draw(BOTH)
        if step.startswith(("UPDATE", "DELETE")):
            assert "WHERE id = " in step or "ORDER BY id" in step or "STRAIGHT_JOIN" in step, step


def test_generated_columns_are_not_written():
    rows = Rows(Random(2))
    for _ in range(500):
        step = rows.draw(BOTH)
        if "INTO elsewhere.t2" in step:
            assert "(id, p, b)" in step, step


def test_foreign_keys_mostly_fit_and_name_the_database_where_they_must():
    tables = Tables(Random(4))
    found = {tables.foreign_key(BOTH, CHILD) for _ in range(200)}
    assert any("FOREIGN KEY (b) REFERENCES here.t1 (a)" in (key or "") for key in found)
    assert any("FOREIGN KEY (b, p) REFERENCES here.t1 (a, id)" in (key or "") for key in found)


def test_a_row_is_no_parent_of_its_own_by_the_same_column():
    tables = Tables(Random(5))
    for _ in range(300):
        key = tables.foreign_key(Schema((PARENT,)), PARENT) or ""
        assert "FOREIGN KEY (id) REFERENCES t1 (id)" not in key


def test_columns_of_prefixes_are_not_referenced():
    assert Index("k", False, ("a", "b", "c"), (True, False, True)).leading() == ("a",)


def test_types_have_classes_and_values():
    assert class_of("varchar(8)", "utf8mb4_bin") == class_of("char(8)", "utf8mb4_bin")
    assert class_of("enum('x','y','z')", "utf8mb4_general_ci") in TYPES
    assert class_of("varbinary(9)", "") == class_of("varbinary(6)", "")
    assert all(value(Random(6), kind) for kind in TYPES)
    assert fit("int(11)", "bigint(20)")
    assert not fit("varbinary", "decimal(6,2)")


# ---- what is compared ----------------------------------------------------------------------------


def test_each_engine_has_its_databases():
    text = look.for_engine("RENAME TABLE here.t1 TO elsewhere.where_t1", "r")
    assert text == "RENAME TABLE r_here.t1 TO r_elsewhere.where_t1"
    assert look.plain(NO_PARENT) == look.plain(NO_PARENT.replace("r_", "i_"))


def test_refusals_have_reasons():
    copies = Told("ALTER TABLE t1 RENAME COLUMN a TO b, FORCE", Answer(error=1235), None)
    assert reason(REFUSALS, copies) is not None
    assert reason(REFUSALS, replace(copies, statement="ALTER TABLE t1 FORCE")) is None
    assert reason(REFUSALS, Told("INSERT INTO t1", Answer(error=1235), None)) is None
    needed = Told("ALTER TABLE t1 DROP KEY k", Answer(error=1553), None, checks=False)
    assert reason(REFUSALS, needed) is not None


def test_a_lost_check_has_no_reason():
    orphan = Told("INSERT INTO t1 VALUES (1)", Answer(), Answer(error=1452))
    refused = Told("INSERT INTO t1 VALUES (1)", Answer(error=1452), Answer())
    for told in (orphan, refused):
        assert reason((*REFUSALS, *ENDS, *ERRORS), told) is None


def test_an_orphan_that_was_there_is_no_lost_check():
    kept = Told("UPDATE t1 SET b = 1", Answer(), Answer(error=1452), is_loose=True, is_old=True)
    assert reason(ENDS, kept) is not None
    assert reason(ENDS, replace(kept, is_loose=False)) is None
    assert reason(ENDS, replace(kept, is_old=False)) is None


def test_two_foreign_keys_of_one_column_are_looked_for_in_what_follows():
    done = Told("UPDATE t1 SET id = 5", Answer(), Answer(error=1452), is_old=True)
    twice = replace(CHILD, foreign_keys=(KEY, replace(KEY, name="f2")))
    other = replace(CHILD, foreign_keys=(KEY, replace(KEY, name="f2", parent_columns=("id", "a"))))
    grandchild = replace(
        twice,
        name="t4",
        foreign_keys=tuple(
            replace(key, child="elsewhere.t4", parent="elsewhere.t2") for key in twice.foreign_keys
        ),
    )
    assert reason(ENDS, replace(done, schema=Schema((PARENT, twice)))) is not None
    assert reason(ENDS, replace(done, schema=Schema((PARENT, CHILD, grandchild)))) is not None
    assert reason(ENDS, replace(done, schema=Schema((PARENT, other)))) is None
    assert reason(ENDS, replace(done, schema=Schema((PARENT, twice)), is_old=False)) is None
    elsewhere = replace(done, statement="UPDATE t3 SET id = 5", schema=Schema((PARENT, twice)))
    assert reason(ENDS, elsewhere) is None


def test_a_parent_that_comes_by_cascade_needs_tables_that_reference_each_other():
    refused = Told("UPDATE elsewhere.t2 SET b = 1", Answer(error=1452), Answer())
    back = ForeignKey("f3", "here.t1", ("a",), "elsewhere.t2", ("p",))
    ring = Schema((replace(PARENT, foreign_keys=(back,)), CHILD))
    assert reason(ENDS, replace(refused, schema=ring)) is not None
    assert reason(ENDS, replace(refused, schema=BOTH)) is None
    ignored = replace(refused, statement="UPDATE IGNORE elsewhere.t2 SET b = 1", ours=Answer())
    assert reason(QUIET, replace(ignored, schema=ring, is_old=True)) is not None
    assert reason(QUIET, replace(ignored, schema=ring)) is None


def test_a_ring_of_any_length_leads_back():
    third = ForeignKey("f3", "here.t3", ("a",), "elsewhere.t2", ("p",))
    back = ForeignKey("f4", "here.t1", ("a",), "here.t3", ("a",))
    ring = Schema(
        (
            replace(PARENT, foreign_keys=(back,)),
            CHILD,
            replace(PARENT, name="t3", foreign_keys=(third,)),
        )
    )
    ignored = Told("DELETE IGNORE FROM t1", Answer(), Answer(), is_old=True, schema=ring)
    assert reason(QUIET, ignored) is not None
    assert reason(QUIET, replace(ignored, schema=THREE)) is None
    assert reason(QUIET, replace(ignored, statement="DELETE FROM t1")) is None


def test_a_row_may_be_its_own_parent_where_the_table_references_itself():
    own = replace(KEY, parent="elsewhere.t2", parent_columns=("p", "id"))
    table = Schema((PARENT, replace(CHILD, foreign_keys=(own,))))
    told = Told("INSERT INTO elsewhere.t2", Answer(), Answer(error=1452), is_old=True, schema=table)
    assert reason(ENDS, told) is not None
    assert reason(ENDS, replace(told, schema=BOTH)) is None
    assert reason(ENDS, replace(told, is_old=False)) is None


def test_which_duplicate_is_met_is_open_at_read_committed_alone():
    hashed = Schema((replace(PARENT, is_hashed=True),))
    change = "INSERT INTO t1 (id) VALUES (1) ON DUPLICATE KEY UPDATE id = 2"
    told = Told(change, Answer(error=1062), Answer(), schema=hashed, level="READ COMMITTED")
    assert reason(ENDS, told) is not None
    assert reason(QUIET, replace(told, ours=Answer())) is not None
    assert reason(ENDS, replace(told, level="REPEATABLE READ")) is None
    assert reason(ENDS, replace(told, schema=BOTH)) is None


def test_innodb_alone_may_miss_a_lock_that_was_taken():
    missed = Answer(error=1100, message="Table 't1' was not locked with LOCK TABLES")
    told = Told("DELETE FROM t1", Answer(), missed, locks="LOCK TABLES t1 WRITE, t2 WRITE")
    assert reason(ENDS, told) is not None
    assert reason(ENDS, replace(told, locks="LOCK TABLES t2 WRITE")) is None


def test_a_prepared_transaction_that_was_not_decided_is_not_lost():
    lost = Told("XA ROLLBACK 'here'", Answer(error=1397), Answer())
    assert reason((*ENDS, *ERRORS), lost) is None
    assert reason(ENDS, replace(lost, is_decided=True)) is not None


def test_only_a_char_gives_spaces():
    char = replace(PARENT.columns[1], fixed=True)
    tables = Schema((replace(PARENT, columns=(PARENT.columns[0], char)), CHILD))
    told = Told("UPDATE t1 SET a = 'b'", Answer(), Answer(), schema=tables)
    assert reason(QUIET, told) is not None
    assert reason(QUIET, replace(told, schema=BOTH)) is None


def test_tables_that_are_read_in_another_order_are_not_joined():
    rows = Rows(Random(3))
    reverse = Schema((replace(PARENT, is_reverse=True), CHILD))
    assert any("STRAIGHT_JOIN" in (rows.draw(BOTH) or "") for _ in range(300))
    assert not any("STRAIGHT_JOIN" in (rows.draw(reverse) or "") for _ in range(300))


def test_actions_are_drawn_where_columns_take_them():
    tables = Tables(Random(7))
    child = replace(CHILD, columns=(replace(CHILD.columns[2], nullable=False),))
    keys = "\n".join(tables.foreign_key(Schema((PARENT, child)), child) or "" for _ in range(500))
    assert "ON DELETE CASCADE" in keys
    assert "ON UPDATE CASCADE" not in keys
    tables.is_lax = True
    keys = "\n".join(tables.foreign_key(Schema((PARENT, child)), child) or "" for _ in range(500))
    assert "ON UPDATE CASCADE" in keys


class FakeSession:
    """Answers by the beginning of a statement."""

    def __init__(self, answers):
        self.answers = answers

    def must(self, statement):
        found = next(answer for part, answer in self.answers.items() if part in statement)
        database = re.search(r"table_schema = '(\w+)'", statement)[1]
        return replace(found, rows=[row for row in found.rows if row.startswith(f"{database}|")])


def test_the_schema_is_read_without_the_letter_of_the_engine():
    session = FakeSession(
        {
            "schema.tables": Answer(("i_here|t1",)),
            "schema.columns": Answer(
                (
                    "i_here|t1|id|int(11)||NO|NEVER||",
                    "i_elsewhere|t2|p|int(11)||YES|ALWAYS|STORED GENERATED|`q`",
                    "i_elsewhere|t2|h|int(11)||YES|ALWAYS|VIRTUAL GENERATED|`p`",
                )
            ),
            "statistics": Answer(
                (
                    "i_here|t1|PRIMARY|0|id|0|BTREE|cfname=rev:x",
                    "i_here|t1|PRIMARY|0|a|3|BTREE|cfname=rev:x",
                    "i_elsewhere|t2|u|0|p|0|HASH|",
                )
            ),
            "key_column_usage": Answer(("i_elsewhere|t2|f|p|i_here|t1|id",)),
        }
    )
    found = schema.read(session, "i")
    assert [table.full for table in found.tables] == ["here.t1", "elsewhere.t2"]
    assert found.tables[0].indexes == (Index("PRIMARY", True, ("id", "a"), (True, False)),)
    assert found.foreign_keys() == [ForeignKey("f", "elsewhere.t2", ("p",), "here.t1", ("id",))]
    assert [(t.is_reverse, t.is_hashed, t.is_versioned) for t in found.tables] == [
        (True, False, True),
        (False, True, False),
    ]
    assert found.parents_of(found.tables[0]) == found.foreign_keys()
    assert found.tables[1].given() == []
    assert found.tables[1].feeds("q")
    assert not found.tables[1].feeds("p")
    assert [column.virtual for column in found.tables[1].columns] == [False, True]


def test_virtual_columns_and_long_unique_keys_are_drawn_with_their_indexes():
    texts = [Tables(Random(seed)).create("t1") for seed in range(200)]
    assert any(" VIRTUAL" in text and "KEY v0 (" in text for text in texts)
    assert any("UNIQUE KEY l0 (" in text for text in texts)
    for seed in range(50):
        tables = Tables(Random(seed))
        tables.create("t1")
        key = tables.foreign_key(Schema((PARENT, tables.drawn())), tables.drawn()) or ""
        virtual = [column.name for column in tables.drawn().columns if column.virtual]
        assert not any(f"FOREIGN KEY ({name}" in key for name in virtual)

"""What ./cairn hunt alters draws and how it compares: without a server."""

from dataclasses import replace
from random import Random

import pytest

from cairn.errors import CairnError
from tests.hunt import revive
from tests.hunt.alters import look, play
from tests.hunt.alters.chain import Alter, Chain, Chains, Change, Maintenance, Snapshot
from tests.hunt.alters.column_types import Type, changed_type, enlarged_type, literal, random_type
from tests.hunt.alters.operations import Clause, Operations
from tests.hunt.alters.play import Over, Player
from tests.hunt.alters.rows import Changes, Insert
from tests.hunt.alters.tables import Column, Table, random_table
from tests.hunt.keys import Key, KeyPart
from tests.hunt.session import Answer
from tests.hunt.shorten import shorten
from tests.hunt.shrink import shrink

INT = Type("integer", "INT")
TABLE = Table(
    (
        Column("id", INT, False),
        Column("a", INT),
        Column("v", INT, True, "", "VIRTUAL", "{0} % 7", needs=("a",)),
    ),
    (Key("PRIMARY", (KeyPart("id"),), True), Key("k", (KeyPart("a"), KeyPart("id", 0, True)))),
)
SHOWN = """CREATE TABLE `t` (
  `id` int(11) NOT NULL,
  `a` varchar(20) DEFAULT 'x)y',
  `v` int(11) GENERATED ALWAYS AS (`id` % 7) VIRTUAL INVISIBLE,
  PRIMARY KEY (`id` DESC),
  KEY `k` (`a`(3),`id`),
  KEY `hidden` (`v`) IGNORED,
  UNIQUE KEY `long` (`a`) USING HASH,
  CONSTRAINT `r` CHECK (`id` > 0)
) ENGINE={engine} DEFAULT CHARSET=utf8mb4
 PARTITION BY HASH (`id`)
(PARTITION `p0` ENGINE = {engine})"""
ADD = Alter((Clause("ADD COLUMN c INT", "ADD COLUMN"),), "INSTANT", "NONE")


def drawn_chain(seed):
    chains = Chains(Random(seed))
    chain = chains.begin()
    steps = []
    for _ in range(20):
        steps.append(chains.step())
        chains.done()
    return replace(chain, steps=tuple(steps))


# ---- what is drawn -------------------------------------------------------------------------------


def test_a_seed_draws_the_same_again_and_every_kind_of_clause():
    assert drawn_chain(5) == drawn_chain(5)
    chains = [drawn_chain(seed) for seed in range(120)]
    alters = [step for chain in chains for step in chain.steps if isinstance(step, Alter)]
    operations = {clause.operation for alter in alters for clause in alter.clauses}
    for needed in (
        *("ADD COLUMN", "ADD VIRTUAL COLUMN", "ADD STORED COLUMN", "DROP COLUMN", "MODIFY"),
        *("DROP VIRTUAL COLUMN", "CHANGE", "RENAME COLUMN", "ALTER COLUMN", "ADD INDEX"),
        *("ADD UNIQUE INDEX", "DROP INDEX", "RENAME INDEX", "ALTER INDEX", "ADD PRIMARY KEY"),
        *("DROP PRIMARY KEY", "ADD CHECK", "DROP CHECK", "CONVERT TO", "FORCE", "ROW_FORMAT"),
        *("COMMENT", "ttl_duration COMMENT", "AUTO_INCREMENT"),
    ):
        assert needed in operations, needed
    text = "\n".join(line for chain in chains for line in chain.script())
    for needed in (
        *("ALGORITHM=INSTANT", "LOCK=NONE", " FIRST", " AFTER ", "CURRENT_TIMESTAMP", " DESC"),
        *("ON DUPLICATE KEY", "REPLACE", "SAVEPOINT", "PARTITION BY RANGE", "/* kill */"),
        *("CONSISTENT SNAPSHOT", "cairn_format=stock", "DEFAULT (LENGTH(", "INVISIBLE", "SET("),
        *("EXCHANGE PARTITION", "COALESCE PARTITION", "REORGANIZE", "REMOVE PARTITIONING"),
    ):
        assert needed in text, needed


@pytest.mark.parametrize("seed", range(20))
def test_statements_name_only_columns_that_are_believed_to_be_there(seed):
    chance = Random(seed)
    table = random_table(chance)
    serial = 10
    for _ in range(30):
        operations = Operations(chance, table, serial)
        operations.draw()
        table, serial = operations.table, operations.serial
        names = set(table.names())
        assert len(names) == len(table.columns)
        assert {part.column for index in table.indexes for part in index.parts} <= names
        assert "{" not in " ".join(table.lines())
        for statement in Changes(chance, table).draw():
            if isinstance(statement, Insert):
                assert set(statement.columns) <= {column.name for column in table.given()}


def test_types_change_within_a_family_mostly_and_have_literals():
    chance = Random(3)
    kept = 0
    for _ in range(2000):
        old = random_type(chance)
        new = changed_type(chance, old)
        kept += new.family == old.family
        assert literal(chance, new)
        assert "()" not in new.sql
    assert kept > 1700


def test_types_that_are_enlarged_keep_their_kind():
    chance = Random(4)
    enlarged = [
        (old, enlarged_type(chance, old)) for old in (random_type(chance) for _ in range(999))
    ]
    for old, new in enlarged:
        if new is not None:
            assert (new.family, new.unsigned, new.collation) == (
                *(old.family, old.unsigned, old.collation),
            )
            assert new.size >= old.size and new.members[: len(old.members)] == old.members
            assert new != old
    assert sum(new is not None for _, new in enlarged) > 500


def test_a_definition_follows_its_statements():
    swapped = TABLE.renamed({"a": "id", "id": "a"})
    assert swapped.names() == ["a", "id", "v"]
    assert swapped.index("k").ddl() == "KEY k (id, a DESC)"
    assert swapped.columns[2].ddl() == "v INT AS (id % 7) VIRTUAL"
    without = TABLE.without_column("id")
    assert without.index("PRIMARY") is None
    assert without.index("k").ddl() == "KEY k (a)"
    moved = TABLE.with_column(Column("a", INT), "FIRST").with_column(Column("b", INT), "AFTER a")
    assert moved.names() == ["a", "b", "id", "v"]


# ---- comparison ----------------------------------------------------------------------------------


class Fake:
    """A session that answers by the beginning of a statement, or with nothing."""

    def __init__(self, engine="ROCKSDB", **answers):
        self.answers = {"SHOW CREATE TABLE": Answer((f"t,{SHOWN.format(engine=engine)}",))}
        self.answers["CHECK TABLE"] = Answer(("r.t,check,status,OK",))
        self.answers |= {words.replace("_", " "): answer for words, answer in answers.items()}
        self.statements = []

    def try_to(self, statement):
        self.statements.append(statement)
        found = [answer for words, answer in self.answers.items() if statement.startswith(words)]
        return found[-1] if found else Answer()

    must = try_to

    def run(self, scripts):
        return [self.try_to(script.statements[-1]) for script in scripts]


def compared(**ours):
    trouble = look.compare(Fake(**ours), Fake("InnoDB"))
    return trouble.kind if trouble else ""


def test_a_definition_is_taken_apart():
    shown = look.definition(Fake())
    assert shown == look.definition(Fake("InnoDB"))
    assert look.columns_of(shown) == ["id", "a", "v"]
    names = [index.name for index in look.indexes_of(shown)]
    assert names == ["PRIMARY", "k", "hidden", "long"]
    asked = [question.sql("t", question.hint) for question in look.questions(shown)]
    assert asked == [
        "SELECT `id`, `a`, `v` FROM t USE INDEX ()",
        "SELECT `id` FROM t FORCE INDEX (`PRIMARY`)",
        "SELECT `id`, `a`, `v` FROM t FORCE INDEX (`PRIMARY`) ORDER BY `id` DESC",
        "SELECT `a`, `id` FROM t FORCE INDEX (`k`)",
        "SELECT `id`, `a`, `v` FROM t FORCE INDEX (`k`) WHERE `a` >= '' OR `a` IS NULL",
    ]


def test_tables_that_are_not_alike_are_trouble():
    assert compared() == ""
    other = Answer((f"t,{SHOWN.format(engine='ROCKSDB').replace('20', '21')}",))
    assert compared(SHOW_CREATE_TABLE=other) == "another definition"
    index, other = "  KEY `k` (`a`(3),`id`),\n", "  KEY `hidden` (`v`) IGNORED,\n"
    swapped = SHOWN.format(engine="ROCKSDB").replace(index, "").replace(other, other + index)
    assert compared(SHOW_CREATE_TABLE=Answer((f"t,{swapped}",))) == ""
    without = Answer((f"t,{swapped.replace(index, '')}",))
    assert compared(SHOW_CREATE_TABLE=without) == "another definition"
    assert compared(SELECT=Answer(("1,a,1",))) == "rows: rows too many"
    by_key = {"SELECT `a`, `id` FROM t FORCE": Answer(("a,1",))}
    assert compared(**by_key) == "rows of an index: rows too many"
    assert compared(**{"SELECT COUNT": Answer(("7",))}) == "keys looked up: rows too many"
    assert compared(CHECK_TABLE=Answer(("r.t,check,error,Corrupt",))) == "CHECK TABLE"
    assert compared(SELECT=Answer(error=1030)) == "rows: error 1030 in place of an answer"


def test_an_old_snapshot_has_its_rows_or_is_refused():
    then = Answer(("1,a,1",))

    def told(answer):
        trouble = look.compare_old(Fake(SELECT=answer), Fake("InnoDB", SELECT=then))
        return trouble.kind if trouble else ""

    assert told(then) == ""
    assert told(Answer(error=1412)) == ""
    assert told(Answer()) == "old snapshot: rows: rows are missing"
    assert told(Answer(("1,b,1",))) == "old snapshot: rows: other rows"
    assert told(Answer(error=1032)) == "old snapshot: rows: error 1032 in place of an answer"


# ---- playing -------------------------------------------------------------------------------------


def player(monkeypatch, ours, theirs):
    sessions = iter([ours, theirs, Fake()])
    monkeypatch.setattr(play, "Session", lambda *_: next(sessions))
    return Player(None)


def altered(monkeypatch, ours, theirs, step=ADD):
    return player(monkeypatch, ours, theirs).step(step)


def test_a_refused_way_is_tried_again_by_the_default(monkeypatch):
    ours, theirs = Fake(), Fake("InnoDB")
    ours.answers["ALTER TABLE t ADD COLUMN c INT, ALGORITHM"] = Answer(error=1846)
    outcome = altered(monkeypatch, ours, theirs)
    assert outcome.succeeded and outcome.trouble is None
    alters = [each for each in ours.statements if each.startswith("ALTER")]
    assert alters == [
        "ALTER TABLE t ADD COLUMN c INT, ALGORITHM=INSTANT, LOCK=NONE",
        "ALTER TABLE t ADD COLUMN c INT",
    ]
    assert "ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY" in theirs.statements


def test_renames_begin_with_tables_that_are_opened_anew(monkeypatch):
    def said(text):
        ours = Fake(**{"ALTER TABLE t": Answer(error=1054)})
        theirs = Fake("InnoDB", **{"ALTER TABLE t": Answer(error=1054)})
        altered(monkeypatch, ours, theirs, Alter((Clause(text, "x"),)))
        return [each.split()[0] for each in ours.statements if each.startswith(("FLUSH", "ALTER"))]

    assert said("RENAME COLUMN a TO b") == ["FLUSH", "ALTER", "FLUSH"]
    assert said("CHANGE a b INT") == ["FLUSH", "ALTER", "FLUSH"]
    assert said("ADD COLUMN b INT") == ["ALTER"]


def test_unlike_answers_are_trouble_unless_there_is_a_reason(monkeypatch):
    def kind(ours, theirs, step=ADD):
        answers = {"ALTER": ours}, {"ALTER TABLE t": theirs}
        outcome = altered(monkeypatch, Fake(**answers[0]), Fake("InnoDB", **answers[1]), step)
        return outcome.trouble.kind if outcome.trouble else ""

    failed = Answer(error=1030)
    assert kind(failed, Answer()) == "ALTER: error 1030 in place of an answer"
    assert kind(Answer(), failed) == "ALTER: an answer in place of error 1030"
    assert kind(failed, failed) == ""
    assert kind(Answer(error=1062), Answer(error=1265)) == "ALTER: error 1062, not 1265"
    several = replace(ADD, clauses=ADD.clauses * 2)
    assert kind(Answer(error=1062), Answer(error=1265), several) == ""
    with pytest.raises(Over):
        kind(Answer(), Answer(error=1118))


def test_what_innodb_refuses_by_the_same_way_ends_the_chain(monkeypatch):
    ours = Fake(ALTER=Answer(error=1176))
    same = {"ALTER TABLE again ADD COLUMN c INT, ALGORITHM=INSTANT": Answer(error=1176)}
    with pytest.raises(Over):
        altered(monkeypatch, ours, Fake("InnoDB", **same))


def test_what_the_copy_alone_refuses_ends_the_chain(monkeypatch):
    in_place = "ALTER TABLE again ADD COLUMN c INT, ALGORITHM=INSTANT"
    refused = {"ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY": Answer(error=1264)}
    with pytest.raises(Over):
        altered(monkeypatch, Fake(), Fake("InnoDB", **refused))
    outcome = altered(
        monkeypatch, Fake(), Fake("InnoDB", **refused, **{in_place: Answer(error=1264)})
    )
    assert outcome.trouble.kind == "ALTER: an answer in place of error 1264"


def test_a_refusal_on_purpose_leaves_innodb_alone(monkeypatch):
    theirs = Fake("InnoDB")
    outcome = altered(monkeypatch, Fake(ALTER=Answer(error=4069)), theirs)
    assert outcome == play.Outcome()
    assert not [each for each in theirs.statements if each.startswith("ALTER")]


def test_changes_count_alike(monkeypatch):
    step = Change(("DELETE FROM t",))
    ours = Fake(DELETE=Answer(changed=1))
    outcome = altered(monkeypatch, ours, Fake("InnoDB", DELETE=Answer(changed=2)), step)
    assert outcome.trouble.kind == "another number of changed rows"


def test_an_old_snapshot_is_compared_with_the_rows_of_then(monkeypatch):
    old = Fake(SELECT=Answer(("1,a,1",)))
    sessions = iter([Fake(), Fake("InnoDB"), old])
    monkeypatch.setattr(play, "Session", lambda *_: next(sessions))
    playing = Player(None)
    assert playing.step(Snapshot(begins=True)).trouble is None
    assert playing.step(ADD).succeeded
    assert playing.step(Snapshot(begins=False)).trouble.kind == "old snapshot: rows: rows too many"
    # Without a snapshot there is nothing to compare.
    assert playing.step(Snapshot(begins=False)).trouble is None


def test_partitions_are_maintained_alike(monkeypatch):
    exchange = "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE x"
    step = Maintenance(
        ("CREATE TABLE x LIKE t", exchange, "SELECT COUNT(*) FROM x", "DROP TABLE x")
    )

    def told(theirs=None, **ours):
        sessions = Fake(**ours), Fake("InnoDB", **(theirs or {}))
        outcome = altered(monkeypatch, *sessions, step)
        return outcome.trouble.kind if outcome.trouble else outcome.succeeded

    assert told() is True
    refused = Answer(error=1736)
    assert told(ALTER=refused) == "ALTER: error 1736 in place of an answer"
    assert told({"ALTER": refused}, ALTER=refused) is False
    counted = {"SELECT COUNT(*) FROM x": Answer(("3",))}
    assert told(**counted) == "another number of exchanged rows"


def test_an_old_snapshot_ends_where_partitions_are_maintained(monkeypatch):
    old = Fake(SELECT=Answer(("1,a,1",)))
    sessions = iter([Fake(), Fake("InnoDB"), old])
    monkeypatch.setattr(play, "Session", lambda *_: next(sessions))
    playing = Player(None)
    for step in (Snapshot(begins=True), Maintenance(()), Snapshot(begins=False)):
        assert playing.step(step).trouble is None
    assert "COMMIT" in old.statements


def test_a_server_that_does_not_start_is_set_aside_and_the_chain_told(monkeypatch, tmp_path):
    class Server:
        directory, data = tmp_path, tmp_path / "data"
        starts = 0

        def ending(self):
            return None

        def excerpt(self):
            return ""

        def kill(self):
            pass

        def start(self):
            self.starts += 1
            if self.starts == 1:
                raise CairnError("no such record")

        def empty(self):
            self.data.mkdir()

    class Lost(Fake):
        def try_to(self, statement):
            raise CairnError("The connection was lost")

    (tmp_path / "data").mkdir()
    sessions = iter([Fake(), Lost(), *(Fake() for _ in range(4))])
    monkeypatch.setattr(play, "Session", lambda *_: next(sessions))
    monkeypatch.setattr(revive.time, "sleep", lambda _: None)
    playing = Player(Server())
    playing._theirs.must = lambda _: Answer()
    outcome = playing.step(Change(("DELETE FROM t",)))
    assert outcome.trouble.kind == "the server does not start"
    assert "no such record" in outcome.trouble.details
    assert (tmp_path / "broken-1").is_dir() and (tmp_path / "data").is_dir()
    assert playing.step(Snapshot(begins=False)).trouble is None


# ---- shrinking -----------------------------------------------------------------------------------


def test_a_chain_shrinks_to_what_matters():
    rows = (Insert("INSERT", ("id", "a"), (("1", "2"), ("3", "4"))),)
    steps = (
        Change(("DELETE FROM t", "UPDATE t SET a = 1")),
        replace(ADD, clauses=(*ADD.clauses, Clause("FORCE", "FORCE"))),
        Alter((Clause("DROP INDEX k", "DROP INDEX"),)),
    )
    chain = Chain(TABLE.lines(), " COMMENT='x'", "", "cairn", "", rows, steps)

    def fails(smaller):
        text = "\n".join(smaller.script())
        return "ADD COLUMN c" in text and "id INT" in text and "(3" in text

    kept = shorten(chain.steps, lambda steps: fails(replace(chain, steps=tuple(steps))))
    small = shrink(replace(chain, steps=tuple(kept)), Chain.smaller, fails, 10)
    assert small.script() == [
        "SET GLOBAL cairn_format=cairn",
        "SET sql_mode=''",
        "CREATE TABLE t (id INT NOT NULL) ENGINE=ROCKSDB",
        "INSERT INTO t (id) VALUES (3)",
        "ALTER TABLE t ADD COLUMN c INT",
        "SHOW CREATE TABLE t",
        "SELECT * FROM t",
        "CHECK TABLE t EXTENDED",
    ]

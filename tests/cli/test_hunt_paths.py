"""What ./cairn hunt paths draws, how it compares, and that it shrinks: without a server."""

import re
from random import Random

import pytest

from tests.hunt import access, case, paths, shrink, values
from tests.hunt.access import Path, Paths
from tests.hunt.case import Case, Rig, signature
from tests.hunt.compare import difference
from tests.hunt.conditions import Condition, Conditions, all_of, any_of, split_literals
from tests.hunt.keys import Key, KeyPart
from tests.hunt.queries import Queries, Query, Source
from tests.hunt.session import Answer, Script
from tests.hunt.tables import Column, Table, random_tables
from tests.hunt.values import INT

SWITCH = "index_merge=on,mrr=off"


def column(name, **changes):
    return Column(name, INT, True, "seq % 5", ("0", "1", "2", "3", "4"), **changes)


def table(rows=1000):
    keys = (
        Key("PRIMARY", (KeyPart("id", 0, True),), True),
        Key("k0", (KeyPart("c0"), KeyPart("c1", 0, True))),
        Key("k1", (KeyPart("c1"),), False, "cfname=x"),
    )
    columns = (Column("id", INT, False, "seq", ("1",)), column("c0"), column("c1"), column("c2"))
    return Table("t", columns, keys, rows, comment="ttl_duration=5")


def query(where):
    return Query(("COUNT(*)", "SUM(CRC32(a.c2))"), (Source("t", "a"),), where)


def term(text):
    return Condition(text)


# ---- drawing -------------------------------------------------------------------------------------


def test_a_seed_draws_the_same_again():
    def drawn(seed):
        chance = Random(seed)
        tables = random_tables(chance)
        queries = Queries(chance, tables)
        return [each.ddl("X") + each.insert() for each in tables], [
            queries.query().sql() for _ in range(20)
        ]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_tables_have_all_that_keys_can_be():
    chance = Random(1)
    text = "\n".join(each.ddl("X") for _ in range(300) for each in random_tables(chance))
    for needed in (
        r"PRIMARY KEY \(id DESC\)",
        r"PRIMARY KEY \(u",
        r" DESC\)",
        r"\(\w+\(\d+\)",
        "VIRTUAL",
        "PERSISTENT",
        "UNIQUE KEY uu",
        "PARTITION BY HASH",
        "PARTITION BY KEY",
        "SUBPARTITION",
        "WITH SYSTEM VERSIONING",
        "ttl_duration",
        "rev:",
        "cfname=",
    ):
        assert re.search(needed, text), needed
    assert any("PRIMARY" not in line for line in text.splitlines())
    assert len(set(re.findall(r"COLLATE (\w+)", text))) >= 25


def test_a_computed_column_leads_a_key_of_its_table():
    for number in range(200):
        for table in random_tables(Random(number)):
            computed = [c.name for c in table.columns if c.generated and c.kind.has_keys]
            leading = [key.columns[0] for key in table.keys]
            assert not computed or set(computed) & set(leading), table


def test_many_queries_can_be_answered_by_a_merge_of_indexes():
    chance = Random(2)
    merging = 0
    for _ in range(300):
        drawn = Queries(chance, [table(), table()]).totals(table())
        merging += " OR " in drawn.sql() or drawn.sql().count(" = ") > 1
    assert merging > 120


def test_ends_of_ranges_are_not_equal_by_the_connection():
    text = values.Kind("VARCHAR(10)", INT.pool, is_text=True, collation="utf8mb4_bin")
    texts = set()
    for pool in (("'bAB '", "'BAB   '"), ("'a'", "'abc'")):
        one = Column("c0", text, True, "seq", pool)
        source = Conditions(Random(3))
        texts |= {source._between("a.c0", one).sql() for _ in range(30)}
    assert any("BETWEEN 'a' AND 'abc'" in drawn for drawn in texts)
    assert "(a.c0 >= 'bAB ' AND a.c0 <= 'BAB   ')" in texts


def test_long_strings_of_several_levels_are_not_sorted_by():
    long = f"VARCHAR({values.LONGEST}) COLLATE {{}}"
    draw = INT.pool
    assert values.Kind(long.format("utf8mb4_bin"), draw, collation="utf8mb4_bin").is_sorted_whole
    two_levels = values.Kind(long.format("utf8mb4_thai_520_w2"), draw, collation="_520_w2")
    assert not two_levels.is_sorted_whole
    wide = Column("c0", two_levels, True, "seq", ("'a'",))
    number = Column("id", INT, False, "seq", ("1",))
    ordered = Table("t", (number, wide), (Key("k0", (KeyPart("c0"),)),), 9)
    for seed in range(50):
        assert " ORDER BY a.id" in Queries(Random(seed), [ordered]).listed(ordered).sql()


def test_paths_cover_switches_keys_levels_and_ways():
    chance = Random(1)
    drawn = query(any_of(term("a.c0 = 1"), term("a.c1 = 2")))
    names = [
        path.script(drawn).statements[0]
        for path in Paths(chance, SWITCH, [table()]).every(drawn, in_transaction=False)
    ]
    text = "\n".join(names)
    for needed in (
        "index_merge=off",
        "mrr=on",
        "FORCE INDEX (k0)",
        "IGNORE INDEX (PRIMARY)",
        "FORCE INDEX (k0, k1)",
        "USE INDEX ()",
        *(f"join_cache_level={level} " for level in range(9)),
        "sort_buffer_size=1024",
        "rocksdb_records_in_range=1",
        "PREPARE",
        "CURSOR FOR",
        "ALGORITHM=MERGE VIEW",
        "ALGORITHM=TEMPTABLE VIEW",
        "SQL_CACHE",
        "FOR UPDATE",
        "UNION ALL",
    ):
        assert needed in text, needed


def test_nothing_ends_a_transaction_within_one():
    chance = Random(1)
    drawn = query(term("a.c0 = 1"))
    for path in Paths(chance, SWITCH, [table()]).every(drawn, in_transaction=True):
        for statement in path.script(drawn).statements:
            assert "VIEW" not in statement
            assert not statement.startswith(("START", "COMMIT"))


def test_the_query_cache_is_asked_in_each_state_and_statement_by_statement():
    cached = {
        name: paths._cached(actions)
        for name, actions in (
            ("fresh", ()),
            ("pending", ("BEGIN", "UPDATE t SET n = 1")),
            ("undone", ("BEGIN", "UPDATE t SET n = 1", "ROLLBACK")),
        )
    }
    ways = {name: [path.way for path in found] for name, found in cached.items()}
    assert ways["pending"] == ["cached"]
    assert ways["fresh"] == ways["undone"] == ["cached", "cached in a transaction"]
    # The server looks for the rest of a packet in the cache, and would find nothing.
    [query] = [Queries(Random(1), random_tables(Random(1))).query()]
    assert all(path.script(query).is_apart for path in cached["fresh"])


def test_parts_of_a_condition_are_asked_for_together():
    drawn = query(term("a.c0 = 1"))
    [statement] = Path(way="partitioned").script(drawn).statements
    assert statement == (
        "SELECT SUM(x0), SUM(x1) FROM ("
        "SELECT COUNT(*) AS x0, SUM(CRC32(a.c2)) AS x1 FROM t a WHERE a.c0 = 1 UNION ALL "
        "SELECT COUNT(*) AS x0, SUM(CRC32(a.c2)) AS x1 FROM t a WHERE NOT (a.c0 = 1) UNION ALL "
        "SELECT COUNT(*) AS x0, SUM(CRC32(a.c2)) AS x1 FROM t a WHERE (a.c0 = 1) IS NULL) d"
    )
    whole = Case((table(),), (), drawn, Path(way="partitioned")).plain()
    assert whole.sql() == "SELECT COUNT(*), SUM(CRC32(a.c2)) FROM t a"


def test_two_paths_are_joined_unless_they_contradict():
    one = Path(("join_cache_level=1",), {"a": "FORCE INDEX (k0)"})
    assert one.joined(Path(("join_cache_level=2",))) is None
    assert one.joined(Path((), {"a": "USE INDEX ()"})) is None
    both = one.joined(Path(("sort_buffer_size=1024",), {"b": "USE INDEX ()"}, "view"))
    assert both is not None
    assert both.name == (
        "join_cache_level=1 + sort_buffer_size=1024 + FORCE INDEX + USE INDEX + view"
    )


def test_switches_are_turned_over():
    assert access.switches("mrr=on,icp=off,x=default") == ["mrr=off", "icp=on"]


def test_changes_of_a_state_repeat():
    assert paths.changes(Random(4), table(), 0) == paths.changes(Random(4), table(), 0)
    assert not any("seq, '" in text for text in paths.changes(Random(4), table(), 0)[:1])


# ---- comparing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "given", "kind"),
    [
        (Answer(("3,9",)), Answer(("3,9",)), ""),
        (Answer(("3,9",)), Answer(("2,9",)), "rows are missing"),
        (Answer(("3,9",)), Answer(("4,9",)), "rows too many"),
        (Answer(("3,9",)), Answer(("3,8",)), "other rows"),
        (Answer(("~", "2")), Answer(("2", "~")), "another order of rows"),
        (Answer(("1", "2")), Answer(("1",)), "rows are missing"),
        (Answer(error=1032), Answer(error=1032), ""),
        (Answer(error=1032), Answer(error=1205), "error 1205, not 1032"),
        (Answer(("1",)), Answer(error=1032), "error 1032 in place of an answer"),
        (Answer(error=1032), Answer(("1",)), "an answer in place of error 1032"),
        (Answer(("1",)), Answer(error=1969), ""),
    ],
)
def test_kinds_of_differences(right, given, kind):
    assert difference(right, given) == kind


class Engine:
    """Stands for a session: answers by a rule over the statement."""

    def __init__(self, rule):
        self.rule = rule
        self.asked = []

    def run(self, scripts):
        self.asked += [script.statements[-1] for script in scripts]
        return [self.rule(script.statements[-1]) for script in scripts]

    def try_to(self, statement):
        return Answer()

    must = try_to


def rig(rocksdb, innodb):
    made = Rig.__new__(Rig)
    made.rocksdb, made.innodb = Engine(rocksdb), Engine(innodb)
    made._built = None
    return made


def right(_):
    return Answer(("10,5",))


def merged(statement):
    """Loses rows when both keys are forced, as a merge of indexes did."""
    return (
        Answer(("9,5",))
        if "FORCE INDEX (k0, k1)" in statement and " OR " in statement
        else right(0)
    )


FORCED = Path(("mrr_buffer_size=8192",), {"a": "FORCE INDEX (k0, k1)"})
MERGING = any_of(term("a.c0 IN (1, 2)"), term("a.c1 = 2"))


def test_a_planted_difference_is_found():
    verdict = rig(merged, right).judge(Case((table(),), (), query(MERGING), FORCED))
    assert verdict.kind == "rows are missing"


def test_what_innodb_gives_by_the_same_path_is_the_servers_own():
    verdict = rig(merged, merged).judge(Case((table(),), (), query(MERGING), FORCED))
    assert verdict.kind == ""
    assert verdict.is_servers


def test_what_innodb_gives_by_the_same_indexes_is_the_servers_own():
    settings = Path(("rocksdb_records_in_range=1",))

    def ours(statement):
        if "EXPLAIN" in statement:
            return Answer(
                ("1,PRIMARY,<subquery2>,ALL,~,~,~,~,1,", "1,PRIMARY,a,ref,k1,k0,k1,7,x,1,")
            )
        return Answer(("9,5",)) if "rocksdb_records_in_range" in statement else right(0)

    def servers(statement):
        return Answer(("9,5",)) if "FORCE INDEX (k1)" in statement else right(0)

    whole = Case((table(),), (), query(MERGING), settings)
    assert rig(ours, servers).judge(whole).is_servers
    assert rig(ours, right).judge(whole).kind == "rows are missing"


def test_innodb_being_wrong_elsewhere_does_not_hide_a_difference():
    def wrong_elsewhere(statement):
        return right(0) if "USE INDEX ()" in statement else Answer(("8,5",))

    verdict = rig(merged, wrong_elsewhere).judge(Case((table(),), (), query(MERGING), FORCED))
    assert verdict.kind == "rows are missing"


def test_the_order_counts_only_where_the_query_has_one():
    def turned(_):
        return Answer(("2", "1"))

    def ordered(_):
        return Answer(("1", "2"))

    free = Query(("a.id",), (Source("t", "a"),))
    listed = Query(("a.id",), (Source("t", "a"),), order="a.id", is_list=True)
    assert rig(turned, ordered).judge(Case((table(),), (), free, Path())).kind == ""
    assert (
        rig(turned, ordered).judge(Case((table(),), (), listed, Path())).kind
        == "another order of rows"
    )
    assert rig(turned, ordered).judge(Case((table(),), (), listed, Path(way="derived"))).kind == ""


# ---- shrinking -----------------------------------------------------------------------------------


def test_a_case_shrinks_to_what_shows_the_difference():
    made = rig(merged, right)
    whole = Case(
        (table(), Table("s", (column("c0"),), (), 7)),
        ("ANALYZE TABLE t", "DELETE FROM t WHERE id = 5"),
        query(all_of(MERGING, term("a.c2 > 1"))),
        FORCED,
    )

    def fails(candidate):
        return made.judge(candidate).kind == "rows are missing"

    small = shrink.shrink(whole, shrink.smaller_cases, fails, 30)
    assert small.path == Path((), {"a": "FORCE INDEX (k0, k1)"})
    assert small.actions == ()
    assert [each.name for each in small.tables] == ["t"]
    assert small.tables[0].rows == 1
    assert small.tables[0].comment == ""
    assert [key.name for key in small.tables[0].keys] == ["k0", "k1"]
    assert [each.name for each in small.tables[0].columns] == ["c0", "c1"]
    assert small.query.columns == ("COUNT(*)",)
    assert small.query.where.sql().count(" OR ") == 1
    assert "c2" not in small.query.sql()
    assert small.script("ROCKSDB")[-1].endswith(f"WHERE {small.query.where.sql()}")


def test_shrinking_keeps_the_kind():
    def other_kind_when_small(statement):
        return merged(statement) if "c1" in statement else Answer(error=1032)

    made = rig(other_kind_when_small, right)
    whole = Case((table(),), (), query(MERGING), FORCED)

    def fails(candidate):
        return made.judge(candidate).kind == "rows are missing"

    small = shrink.shrink(whole, shrink.smaller_cases, fails, 30)
    assert "c1" in small.query.sql()


def test_rows_are_left_out_one_by_one():
    def fails(candidate):
        numbers = candidate.only[8:-1].split(", ") if candidate.only else range(1, 200)
        return {"7", "90"} <= {str(number) for number in numbers} and candidate.rows >= 90

    small = shrink.shrink(table(200), shrink._fewer_rows, fails, 30)
    assert small.only == "seq IN (7, 90)"


def test_terms_of_a_condition_become_smaller():
    condition = Condition("a.c0 IN ('x,y', 'z')")
    assert [each.sql() for each in condition.smaller()] == ["a.c0 IN ('z')", "a.c0 IN ('x,y')"]
    assert split_literals("1, 'a,''b', x'00'") == ["1", "'a,''b'", "x'00'"]
    three = any_of(term("a"), term("b"), term("c"))
    assert {"a", "b", "c", "(b OR c)", "(a OR c)", "(a OR b)"} == {
        each.sql() for each in three.smaller()
    }


# ---- telling -------------------------------------------------------------------------------------


def test_a_finding_tells_what_is_right_and_how_it_came():
    whole = Case((table(3),), ("ANALYZE TABLE t",), query(MERGING), FORCED)
    verdict = rig(merged, right).judge(whole)
    told = paths.finding(whole, verdict, ["1 SIMPLE a index_merge k0 k1"], repeats=True)
    assert told.title == "rows are missing: index_merge; mrr_buffer_size=8192 + FORCE INDEX"
    assert "given: 1 rows: 9,5" in told.details
    assert "right (InnoDB without indexes): 1 rows: 10,5" in told.details
    assert told.script.startswith("CREATE TABLE t (id INT NOT NULL")
    assert "FORCE INDEX (k0, k1)" in told.script.splitlines()[-1]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (
            "1 SIMPLE a ~ index_merge k0 k1 k0 k1 5 5 ~ 12 Using sort_union(k0 k1); Using where",
            "index_merge sort_union",
        ),
        (
            "1 SIMPLE a range k0 k0 5 ~ 3 Using index condition; Rowid-ordered scan",
            "range index condition Rowid-ordered",
        ),
        ("1 PRIMARY a index k0 k0 5 ~ 3 Using where; Using index", "index covering"),
        ("1 SIMPLE a ~ ~ ~ ~ ~ ~ ~ Impossible WHERE", "-"),
    ],
)
def test_plans_are_told_apart_by_how_they_read(plan, expected):
    assert signature([plan]) == expected


def test_the_indexes_of_a_merge_are_forced():
    plan = "1 SIMPLE a index_merge k1 k3 k4 k1 k3 9 8 ~ 207 Using union(k1 k3); Using where"
    nested = "1 SIMPLE t index_merge k0 k1 ~ 9 Using union(intersect(k0 k1) k2); Using where"
    assert case.forcing([plan]) == {"a": "FORCE INDEX (k1, k3)"}
    assert case.forcing([nested]) == {"t": "FORCE INDEX (k0, k1, k2)"}
    assert case.forcing(["1 SIMPLE a ALL k0 ~ ~ Using where"]) == {}


def test_the_indexes_of_a_plan_are_forced():
    plan = [
        "1 PRIMARY <subquery3> ALL distinct_key ~ ~ ~ 1 ",
        "1 PRIMARY a ref k2 k2 7 r_small.b.c1 1 Using where",
        "3 MATERIALIZED b range k1 k3 k3 4 ~ 1 Using index condition; Using where",
        "3 MATERIALIZED c ALL k1 ~ ~ ~ 9 Using where",
        "3 MATERIALIZED d index_merge k1 k3 k1 k3 5 9 ~ 207 Using union(k1 k3); Using where",
    ]
    assert case.choosing(plan) == {
        "a": "FORCE INDEX (k2)",
        "b": "FORCE INDEX (k3)",
        "d": "FORCE INDEX (k1, k3)",
    }


def test_a_plan_of_a_large_table_is_kept_while_rows_are_left_out():
    def by_size(statement):
        large = whole_rows["now"] >= 900 or "FORCE INDEX (k0, k1)" in statement
        return Answer(("9,5",)) if large and " OR " in statement else right(0)

    whole_rows = {"now": 1000}
    made = rig(by_size, right)

    def fails(candidate):
        whole_rows["now"] = candidate.tables[0].rows
        return made.judge(candidate).kind == "rows are missing"

    whole = Case((table(),), (), query(MERGING), Path())
    hints = {"a": "FORCE INDEX (k0, k1)"}
    small = shrink.shrink_case(whole, hints, shrink.smaller_cases, fails, 30)
    assert small.tables[0].rows == 1
    assert shrink.shrink_case(whole, {}, shrink.smaller_cases, lambda _: False, 30) is None


def test_rows_of_a_cursor_come_one_by_one():
    drawn = query(term("a.c0 = 1"))
    script = Path(way="cursor").script(drawn)
    assert script.is_collected
    assert script.expected == 2
    assert "FETCH c INTO v0, v1" in script.statements[0]
    assert Script(("a", "b")).expected == 2
    assert case.without_indexes(drawn).hints == {"a": "USE INDEX ()"}

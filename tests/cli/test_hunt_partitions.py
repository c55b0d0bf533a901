"""What the part partitions expects of tables, and what it reports, without a server."""

import io
import random
import re

import pytest

from tests.hunt.partitions import load, memory_group, rig
from tests.hunt.partitions.maintainer import LEAST, MOST, SHARED, Maintainer, Promise, Table


def maintainer(seed=1):
    promise = Promise(0)
    promise.create()
    return Maintainer(promise, None, io.StringIO(), random.Random(seed))


def steps(seed, count):
    """Tables before and after each of so many statements, and the statements."""
    client = maintainer(seed)
    name = client.promise.name
    for _ in range(count):
        before = client.promise.tables
        after = dict(before)
        statement = client.choose(after)
        client.promise.tables = after
        yield before[name], after[name], statement


def test_the_tables_begin_with_a_hundred_partitions():
    promise = Promise(3)
    create, side = promise.create()
    assert create.startswith("CREATE TABLE parts.t3 ")
    assert create.count("VALUES LESS THAN") == 100
    assert side.startswith("CREATE TABLE parts.t3_side ")


def test_all_kinds_of_maintenance_happen_and_the_bounds_stay_in_order():
    seen = set()
    for _, after, statement in steps(5, 600):
        seen.add(re.sub(r"^ALTER TABLE \S+ ", "", statement).split(" ")[0])
        bounds = [bound for _, bound in after.partitions]
        names = [name for name, _ in after.partitions]
        assert bounds == sorted(set(bounds))
        assert len(set(names)) == len(names)
        assert SHARED in bounds, "the writers' zones end where a partition ends"
        assert LEAST - 12 <= len(bounds) <= MOST + 12
    assert seen == {
        *("INSERT", "ADD", "DROP", "TRUNCATE", "REORGANIZE", "EXCHANGE", "CONVERT", "UPDATE")
    }


def test_a_convert_that_was_killed_may_lose_a_file(tmp_path):
    (tmp_path / "t0.par").touch()
    convert = "ALTER TABLE parts.t0 CONVERT PARTITION p1 TO TABLE parts.t0_conv"
    drop = "ALTER TABLE parts.t0 DROP PARTITION p1"
    assert not rig.lost_by_convert(convert, "t0", {"t0"}, tmp_path)
    assert rig.lost_by_convert(convert, "t0", set(), tmp_path)
    assert not rig.lost_by_convert(drop, "t0", set(), tmp_path)
    (tmp_path / "t0.par").unlink()
    assert rig.lost_by_convert(convert, "t0", {"t0"}, tmp_path)
    assert not rig.lost_by_convert(drop, "t0", {"t0"}, tmp_path)


def test_only_own_rows_are_dropped():
    for before, after, statement in steps(6, 600):
        if "DROP PARTITION" in statement or "TRUNCATE PARTITION" in statement:
            assert before.partitions[:50] == after.partitions[:50]
            assert after.rows <= before.rows
            assert all(zone >= SHARED for zone, _ in before.rows - after.rows)
        else:
            together = after.rows | after.side | (after.conv or frozenset())
            numbers = {number for _, number in together}
            assert numbers >= {number for _, number in before.rows | before.side}


def test_what_is_out_is_exchanged_with_no_other_partition():
    for before, after, statement in steps(7, 600):
        if "EXCHANGE" in statement and before.out:
            assert f"PARTITION {before.out} " in statement
        assert after.out is None or after.out in [name for name, _ in after.partitions]
        zones = {zone for zone, _ in after.side}
        assert not zones or zones <= set(after.within(after.out))


def test_the_same_seed_gives_the_same_statements():
    first = [statement for *_, statement in steps(8, 50)]
    assert first == [statement for *_, statement in steps(8, 50)]
    assert first != [statement for *_, statement in steps(9, 50)]


def test_the_tables_of_before_and_after_are_right_and_no_others():
    client = maintainer()
    promise = client.promise
    before = promise.tables
    after = dict(before)
    promise.statement, promise.pending = client.choose(after), after
    assert promise.settle(dict(after)) == []
    promise.tables, promise.pending = before, after
    short = Table(before[promise.name].partitions[1:])
    assert promise.settle({promise.name: short})


class Rows:
    """A cursor over (writer, id, zone) of tables, and (writer, id) beside."""

    def __init__(self, tables, beside):
        self.tables, self.beside, self._answer = tables, beside, []

    def execute(self, statement):
        if load.BESIDE in statement:
            self._answer = self.beside
        else:
            name, index = re.search(r"FROM (\S+) FORCE INDEX \((\w+)\)", statement).groups()
            rows = self.tables[name]
            self._answer = rows.get(index, []) if isinstance(rows, dict) else rows

    def fetchall(self):
        return self._answer


def check(tables, beside, done=(), pending=()):
    promise = load.Promise(1, 9, set(done), frozenset(pending))
    return load.check([promise], list(tables), Rows(tables, [(1, n) for n in beside]))


def test_rows_may_be_in_any_of_the_tables():
    assert check({"t": [(1, 1, 5)], "side": [(1, 2, 6)]}, [1, 2], done=[1, 2]) == []


def test_a_lost_row_is_reported():
    assert check({"t": []}, [1], done=[1]) == ["writer 1 lost acknowledged rows 1"]
    assert check({"t": [(1, 1, 5)]}, [], done=[1]) == [
        "writer 1 lost acknowledged rows of InnoDB 1"
    ]


def test_a_row_in_two_tables_is_reported():
    wrong = check({"t": [(1, 1, 5)], "side": [(1, 1, 5)]}, [1], done=[1])
    assert wrong == ["writer 1 has rows twice: 1"]


@pytest.mark.parametrize("there", [[], [1, 2]])
def test_what_was_under_way_is_there_whole_or_not_at_all(there):
    assert check({"t": [(1, n, 5) for n in there]}, there, pending=[1, 2]) == []


@pytest.mark.parametrize(("rocks", "inno"), [([1], [1]), ([1, 2], []), ([], [1, 2])])
def test_a_part_of_what_was_under_way_is_reported(rocks, inno):
    wrong = check({"t": [(1, n, 5) for n in rocks]}, inno, pending=[1, 2])
    assert any("only a part" in text for text in wrong)


def test_an_index_that_differs_is_reported():
    tables = {"t": {"PRIMARY": [(1, 1, 5)], "writer": []}}
    assert any("index writer" in text for text in check(tables, [1], done=[1]))


def test_a_memory_group_counts_its_kills_and_goes():
    try:
        group = memory_group.MemoryGroup()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    with group:
        assert group.kills() == 0
        assert group.path.is_dir()
    assert not group.path.exists()


@pytest.mark.parametrize("twice", [False, True])
def test_a_list_of_ddl_is_unreadable_after_a_second_kill_alone(twice):
    lines = [
        "0 [ERROR] DDL_LOG: Failed to read ddl log file './ddl_recovery.log' during recovery",
        "0 [ERROR] RocksDB: index 260 is missing",
    ]
    found = rig.complaints([*lines, "0 [ERROR] mariadbd: something"], was_killed_twice=twice)
    assert found == lines[1 if twice else 0 :]

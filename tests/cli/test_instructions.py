"""./cairn instructions: reading what callgrind wrote, and the table."""

from __future__ import annotations

import random

import pytest

from cairn.errors import CairnError
from cairn.instructions import callgrind, cases, command

PROFILE = """\
version: 1
events: Ir
ob=(1) /usr/sbin/mariadbd
fl=(1) ???
fn=(1) dispatch_command
10 5
+3 7
cob=(2) /x/ha_rocksdb.so
cfn=(2) index_next
calls=4 0
* 4000
ob=(2)
fn=(2)
0 1000
-1 20
ob=(1)
fn=(1)
* 1
"""


def test_costs_of_calls_belong_to_what_is_called():
    counts = callgrind.instructions_by_object(PROFILE.splitlines(keepends=True))
    assert counts == {"mariadbd": 13, "ha_rocksdb.so": 1020}


def test_functions_that_the_linker_has_ordered_are_the_plug_ins():
    ordered = PROFILE.replace("ob=(2) /x/ha_rocksdb.so", "ob=(2) ???")
    assert callgrind.instructions_by_object(ordered.splitlines(keepends=True)) == {
        "mariadbd": 13,
        "ha_rocksdb.so": 1020,
    }


def test_the_busiest_thread_is_the_connection(tmp_path):
    (tmp_path / "callgrind.out.1-01").write_text("ob=(1) /a\nfn=(1) f\n0 5\n")
    (tmp_path / "callgrind.out.1-02").write_text("ob=(1) /b\nfn=(1) f\n0 500\n")
    counts, path = callgrind.of_busiest_thread(tmp_path)
    assert (counts["b"], path.name) == (500, "callgrind.out.1-02")


def test_nothing_counted_is_an_error(tmp_path):
    (tmp_path / "callgrind.out.1-01").write_text("version: 1\n")
    with pytest.raises(CairnError, match="counted nothing"):
        callgrind.of_busiest_thread(tmp_path)


def test_the_table_has_a_column_for_what_lies_in_a_plugin():
    counts = [
        command.Count("scan", "cairn", 1900.4, 1200.0),
        command.Count("scan", "innodb", 1650.0, 0.0),
    ]
    assert command.table(counts) == [
        "| statement | cairn | innodb | in cairn |",
        "| --- | ---: | ---: | ---: |",
        "| scan | 1,900 | 1,650 | 1,200 |",
    ]


def test_what_an_engine_cannot_run_leaves_its_cell_empty():
    names = [case.name for case in cases.chosen((), references=False)]
    assert "insert" in names and "insert-child" not in names
    assert [case.name for case in cases.chosen(("insert-child",))] == ["insert-child"]
    counts = [
        command.Count("scan", "cairn", 1900.4, 1200.0),
        command.Count("scan", "stock", 2650.0, 2000.0),
        command.Count("insert-child", "cairn", 77.0, 30.0),
    ]
    assert command.table(counts)[-1] == "| insert-child | 77 |  | 30 |  |"


def test_an_unknown_statement_is_refused_with_those_that_there_are():
    with pytest.raises(CairnError, match=r"no statement nosuch.*point-read"):
        command.run(("nosuch",), ())


def test_statements_are_the_same_in_every_run():
    for case in cases.CASES:
        first = [case.statement(random.Random(case.name), i) for i in range(5)]
        assert first == [case.statement(random.Random(case.name), i) for i in range(5)]


def test_statements_that_write_are_known_as_such():
    for case in cases.CASES:
        statement = case.statement(random.Random(case.name), 0)
        assert case.writes == (not statement.startswith("SELECT")), case.name

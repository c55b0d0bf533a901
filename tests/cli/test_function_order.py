"""The order of the plug-in's functions: from what callgrind counted to what the linker reads."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from cairn.commands.development import instructions
from cairn.instructions import function_order

# Ten statements. `write` calls `lock` ten times and `put` twenty times, which call `copy`; `fold`
# calls itself; `rare` ran once; `dispatch` is the server's.
COUNTED = """\
version: 1
events: Ir
ob=(1) /usr/sbin/mariadbd
fn=(1) dispatch
10 500
cob=(2) /x/ha_rocksdb.so
cfn=(2) write
calls=10 0
* 4000
ob=(2)
fn=(2)
0 100
cfn=(3) lock
calls=10 0
+1 300
cfn=(4) put
calls=20 0
+1 700
cfn=(6) rare
calls=1 0
+1 3
fn=(3)
0 200
cfn=(5) copy
calls=10 0
+2 90
fn=(4)
0 300
cfn=(5)
calls=20 0
+2 180
fn=(5)
0 270
fn=(6)
0 3
fn=(7) fold
0 40
cfn=(8) fold'2
calls=2 0
+1 20
fn=(8)
0 20
"""


def _calls(text: str = COUNTED) -> function_order.Calls:
    return function_order.calls(text.splitlines(keepends=True))


def test_functions_of_the_server_are_not_ours_to_order() -> None:
    assert "dispatch" not in _calls().own
    assert _calls().own["write"] == 100


def test_a_function_lies_in_front_of_what_it_calls_most_often_first() -> None:
    assert function_order.order([(_calls(), 10)]) == ["write", "put", "copy", "lock", "fold"]


def test_what_other_statements_have_besides_comes_behind() -> None:
    other = (
        "ob=(1) /x/ha_rocksdb.so\nfn=(1) read\n0 90\ncfn=(2) copy\ncalls=9 0\n0 9\nfn=(2)\n0 9\n"
    )
    names = function_order.order([(_calls(), 10), (_calls(other), 9)])
    assert names == ["write", "put", "copy", "lock", "fold", "read"]


def test_the_linker_reads_each_name_in_both_sections_of_the_compiler() -> None:
    text = function_order.script(["_ZN1a1bEv", "_ZN1a1cEv.part.0"])
    assert "*(.text.hot._ZN1a1bEv .text._ZN1a1bEv)" in text
    assert text.index("_ZN1a1bEv") < text.index("_ZN1a1cEv.part.0") < text.index("INSERT")


def test_the_checkout_has_an_order_of_reads_and_writes() -> None:
    names = re.findall(r" \.text\.(\S+)\)", function_order.SCRIPT.read_text(encoding="utf-8"))
    assert len(names) == len(set(names)) > 500
    assert {"_ZN10ha_rocksdb9write_rowEPKh", "_ZN10ha_rocksdb9index_endEv"} <= set(names)


@pytest.mark.parametrize(
    "arguments", [["insert", "--write-order"], ["--engine=innodb", "--write-order"]]
)
def test_an_order_is_of_all_statements(arguments: list[str]) -> None:
    result = CliRunner().invoke(instructions, arguments)
    assert result.exit_code == 2
    assert "takes all statements" in result.output

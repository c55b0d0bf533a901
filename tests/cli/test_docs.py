"""Pages that are made from tables in the source."""

import re
from pathlib import Path

import pytest

from cairn import docs
from cairn.errors import CairnError

TABLE = """// What the table is about.
//
//   SWITCH(name, mutability, default, on_set, description)   a comment
//   COUNT(name, ticker)
#ifndef SWITCH
#define SWITCH(...)
#endif

// First things.
SWITCH(one, FIXED, true, NONE,
       "Does this, "
       "and (that); \\"quoted\\"")

// Second things.
COUNT(two, TWO_THINGS)
#undef SWITCH
"""


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.def"
    path.write_text(text, encoding="utf-8")
    return path


def test_arguments_get_the_names_of_the_opening_comment(tmp_path):
    one, two = docs.read_table(table(tmp_path, TABLE))
    assert one.get("name") == "one"
    assert one.get("description") == 'Does this, and (that); "quoted"'
    assert one.section == "First things."
    assert (two.macro, two.get("ticker"), two.section) == ("COUNT", "TWO_THINGS", "Second things.")


def test_a_macro_that_nobody_explained_is_an_error(tmp_path):
    with pytest.raises(CairnError, match="OTHER"):
        docs.read_table(table(tmp_path, TABLE + "OTHER(three)\n"))


def test_a_call_with_other_arguments_is_an_error(tmp_path):
    with pytest.raises(CairnError, match="3 arguments"):
        docs.read_table(table(tmp_path, TABLE + "COUNT(three, THREE, 3)\n"))


VARIABLES = {"rocksdb": "variables.def", "cairn": "cairn_variables.def"}


def variables(plugin: str) -> str:
    return (docs.ROOT / "mariadb" / VARIABLES[plugin]).read_text(encoding="utf-8")


@pytest.mark.parametrize("plugin", VARIABLES)
def test_every_variable_of_the_source_is_on_the_page(plugin):
    call = re.compile(r"^\s*(?:GLOBAL|SESSION)_[A-Z]+\(\s*(\w+),", re.MULTILINE)
    names = call.findall(variables(plugin))
    page = docs.variables_page()
    assert names
    assert [name for name in names if f"| `{plugin}_{name}` |" not in page] == []


def test_every_variable_of_the_source_stands_in_a_table():
    declared = re.compile(r"\bMYSQL_(?:SYS|THD)VAR_")
    sources = [p for p in (docs.ROOT / "mariadb").rglob("*") if p.suffix in (".cc", ".h")]
    expand_tables = {"variables.cc", "cairn_variables.cc"}
    assert {p.name for p in sources if declared.search(p.read_text("utf-8"))} == expand_tables


@pytest.mark.parametrize("plugin", VARIABLES)
def test_a_malformed_variable_is_an_error(plugin, tmp_path):
    text = variables(plugin)
    with pytest.raises(CairnError, match=r"GLOBAL_BOOL\(odd, \.\.\.\) has 4 arguments"):
        docs.read_table(table(tmp_path, text + 'GLOBAL_BOOL(odd, FIXED, true, "No function")\n'))
    with pytest.raises(CairnError, match=r"does not explain GLOBAL_ODD"):
        docs.read_table(table(tmp_path, text + 'GLOBAL_ODD(odd, "No such macro")\n'))
    with pytest.raises(CairnError, match="closing bracket"):
        docs.read_table(table(tmp_path, text + 'GLOBAL_BOOL(odd, FIXED, true, NONE, "No end"\n'))


def test_variables_of_cairn_have_a_section_with_the_columns_of_the_others():
    page = docs.variables_page()
    head, others = (
        next(line for line in part.splitlines() if line.startswith("| variable "))
        for part in reversed(page.split("## Variables of Cairn\n"))
    )
    assert head == others
    assert "| `cairn_format` | global | `cairn` | `stock`, `cairn` | What new tables" in page
    assert "| `cairn_range_locks` | start | OFF | ON, OFF | Locking reads" in page
    assert (
        "| `cairn_backup_expire_seconds` | global | `86400` | 1 to 18446744073709551615 | " in page
    )


def test_the_pages_are_current():
    assert docs.out_of_date() == []

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


def test_every_variable_of_the_source_is_on_the_page():
    text = (docs.ROOT / "mariadb" / "variables.def").read_text(encoding="utf-8")
    names = re.findall(r"^(?:GLOBAL|SESSION)_[A-Z]+\((\w+),", text, re.MULTILINE)
    page = docs.variables_page()
    assert names
    assert [name for name in names if f"| `rocksdb_{name}` |" not in page] == []


def test_the_pages_are_current():
    assert docs.out_of_date() == []

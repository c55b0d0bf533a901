"""What ./cairn crash ddl takes for a whole table and for a leftover."""

import io
import random
import re

from tests.crash import ddl_cases, ddl_random, ddl_state, ddl_tables
from tests.crash.ddl_state import Dictionary, difference

OLD = {"a.t": "CREATE old", "a.t/": "rows"}
NEW = {"a.t": "CREATE new", "a.t/": "more rows"}


def test_before_and_after_are_right():
    assert difference(OLD, OLD, NEW, piecewise=False) == ""
    assert difference(NEW, OLD, NEW, piecewise=False) == ""


def test_the_new_definition_with_the_old_rows_is_a_mixture():
    mixed = {"a.t": "CREATE new", "a.t/": "rows"}
    assert "mixture" in difference(mixed, OLD, NEW, piecewise=False)


def test_a_table_that_is_neither_is_shown():
    text = difference({"a.t": "CREATE other", "a.t/": "rows"}, OLD, NEW, piecewise=False)
    assert "CREATE other" in text
    assert "CREATE old" in text


def test_a_missing_table_is_wrong_unless_the_server_drops_it_first():
    assert difference({}, OLD, NEW, piecewise=False)
    assert difference({}, OLD, NEW, piecewise=True) == ""


def test_half_of_several_tables_is_right_only_piece_by_piece():
    old = {"a.t": "1", "a.u": "2"}
    assert "mixture" in difference({"a.u": "2"}, old, {}, piecewise=False)
    assert difference({"a.u": "2"}, old, {}, piecewise=True) == ""


def test_records_without_owner_are_found():
    dictionary = Dictionary._parse(
        "table\ta.t#P#p0\t0:1\nindex\t0:1\nindex\t0:2\nindex\t0:3\ndropped\t0:3\n"
        "auto_increment\t0:1\nauto_increment\t0:9\nversion\t./a/t\nversion\t./a/gone\n"
    )
    assert dictionary.inconsistencies() == [
        "index 0:2 without owner or drop mark",
        "auto_increment record of index 0:9, which does not exist",
        "version record of no table: ./a/gone",
    ]


def test_foreign_keys_that_are_not_whole_are_found():
    dictionary = Dictionary._parse(
        "table\ta.c\t0:1\nindex\t0:1\nforeign key\t0\ta.c\ta.p\tone\n"
        "foreign key\t1\ta.c\ta.p\ttwo\nforeign key\t0\ta.gone\ta.p\tthree\n"
    )
    assert dictionary.inconsistencies() == [
        "foreign key two is left in state 1",
        "foreign key three of a.gone, which does not exist",
    ]


def test_random_foreign_keys_stay_possible():
    definer = ddl_random.Definer(
        ddl_random.Promise(0), lambda: None, io.StringIO(), random.Random(5)
    )
    tables: ddl_tables.Tables = {}
    seen = set()
    for _ in range(3000):
        statement = definer.choose(tables)
        for name, table in tables.items():
            if table.reference is None:
                continue
            parent = table.reference.parent
            assert table.fits, statement
            assert parent not in tables or tables[parent].fits, statement
            seen.add((bool(table.reference.name), parent in tables, parent == name))
        if "ADD FOREIGN KEY" in statement and not statement.startswith(ddl_tables.UNCHECKED):
            changed = tables[statement.split()[2]]
            assert changed.reference is not None
            assert changed.rows <= tables[changed.reference.parent].rows
    assert len(seen) == 6, "all of named, present and own but for an absent one that is its own"


def test_a_foreign_key_follows_its_tables_names():
    child = ddl_tables.Table(reference=ddl_tables.Reference("a.p"))
    tables = {"a.p": ddl_tables.Table(rows=frozenset({1})), "a.c": child}
    ddl_tables.rename(tables, {"a.p": "a.c", "a.c": "a.p"})
    assert tables["a.p"].reference == ddl_tables.Reference("a.c")
    assert tables["a.c"].rows == {1}
    assert child.reference.shown_name("a.c") == "c_ibfk_1"


def test_random_changes_keep_a_table_that_can_be_looked_at():
    definer = ddl_random.Definer(
        ddl_random.Promise(0), lambda: None, io.StringIO(), random.Random(3)
    )
    table = ddl_tables.Table()
    changes = set()
    for _ in range(500):
        table, change = definer._alter(table)
        changes.add(re.sub(r"\W.*", "", change))
        names = [each.split()[0] for each in table.columns]
        assert len(set(names)) == len(names) <= ddl_random.MOST_COLUMNS
        assert {"id", "k"} | set(table.added) == set(names)
        assert "k" not in table.primary or ddl_tables.K_NOT_NULL in table.columns
        assert re.search(r", ALGORITHM=\w+$", change)
    assert changes == {"ADD", "DROP", "FORCE", "MODIFY"}


def test_only_innodb_may_forget_its_counter():
    assert "AUTO_INCREMENT=5" in ddl_state._definition("... ENGINE=ROCKSDB AUTO_INCREMENT=5")
    assert ddl_state._definition("... ENGINE=InnoDB AUTO_INCREMENT=5 x") == "... ENGINE=InnoDB x"


def test_names_of_cases_are_unique_and_plain():
    names = [case.name for case in ddl_cases.CASES]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z-]+", name) for name in names)


def test_copies_that_count_are_those_of_the_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "t.frm").write_bytes(b"frm")
    (tmp_path / "a" / "p.frm").write_bytes(b"frm")
    (tmp_path / "a" / "p.par").write_bytes(b"par")
    dictionary = Dictionary._parse(
        "table\ta.t\t0:1\ntable\ta.p#P#p0\t0:2\n"
        f"definition\ta.t\t01\t{b'frm'.hex()}\t\n"
        f"definition\ta.p\t02\t{b'frm'.hex()}\t{b'par'.hex()}\n"
        "mark\ta.t\t01\tcounts\nmark\ta.p\t02\toutdated\n"
    )
    assert ddl_state.strange_copies(tmp_path, dictionary, opened=False) == []
    assert ddl_state.strange_copies(tmp_path, dictionary, opened=True) == [
        "no copy of the definition of a.p that counts"
    ]
    dictionary.marks["a.p"] = True
    assert ddl_state.strange_copies(tmp_path, dictionary, opened=True) == []
    (tmp_path / "a" / "p.par").write_bytes(b"other")
    (tmp_path / "a" / "t.frm").unlink()
    assert ddl_state.strange_copies(tmp_path, dictionary, opened=False) == [
        "the copy of a/p.par is another than the file",
        "the copy of a/t.frm is another than the file",
    ]


def test_copies_of_definitions_belong_to_tables():
    dictionary = Dictionary._parse(
        "table\ta.p#P#p0\t0:2\ndefinition\ta.p\t\t66\t66\nmark\ta.p\t\tcounts\n"
        "index\t0:2\ndefinition\ta.gone\t\t66\t\nmark\ta.gone\t\toutdated\n"
    )
    assert dictionary.inconsistencies() == ["copy of a definition of no table: a.gone"]
    del dictionary.marks["a.gone"]
    assert dictionary.inconsistencies() == [
        "copies ['a.gone', 'a.p'] of definitions, marks ['a.p']"
    ]

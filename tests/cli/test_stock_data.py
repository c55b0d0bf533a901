"""The walk over a stock data directory: it says what is missing, and sees what differs."""

from __future__ import annotations

import re

from tests.acceptance.stock_data import changes, command, table
from tests.acceptance.stock_data.table import Column, Index, Part, Table

ID = Column("id", "int")
TEXT = Column("a", "varchar", "latin1_swedish_ci")
PRIMARY = Index("PRIMARY", True, False, [Part(ID)])
KEY = Index("k", False, False, [Part(TEXT)])
TABLE = Table("fmt", "t", [ID, TEXT], [PRIMARY, KEY])


class Server:
    """Two rows; `by_index` stands for what an index gives instead of them."""

    def __init__(self, by_index=None):
        self.rows = [("31", "61"), ("32", "62")]
        self.by_index = by_index
        self.spoil = False

    def __call__(self, statement):
        if statement.startswith("EXPLAIN"):
            forced = re.findall(r"FORCE INDEX \(`(\w+)`\)", statement)
            return [(1, "", "a", "", "", None), (1, "", "b", "", "", forced[-1])]
        if statement.startswith("SELECT COUNT"):
            by_index = "FORCE INDEX (`k`)" in statement and self.by_index
            return [by_index or (2, 99)]
        if statement.startswith("SELECT COALESCE"):
            return list(self.rows)
        if statement.startswith("UPDATE"):
            self.rows[0] = ("31", "7A")
            if self.spoil:
                self.rows[1] = ("32", "7A")
        return []


def test_without_the_archive_there_is_a_message_and_status_2(tmp_path, capsys):
    assert command.run(tmp_path / "none.tar.zst") == 2
    assert "none.tar.zst is not there" in capsys.readouterr().err


def test_checksums_are_read_by_table_name(tmp_path):
    listed = tmp_path / "checksums.tsv"
    listed.write_text("fmt.we-ird tbl#\t0\nwe-ird.db.t.1\t12\n")
    assert command.read_checksums(listed) == {"fmt.we-ird tbl#": 0, "we-ird.db.t.1": 12}


def test_an_index_that_gives_other_rows_is_told():
    assert not list(table.differing_indexes(Server(), TABLE))
    found = list(table.differing_indexes(Server(by_index=(1, 50)), TABLE))
    assert len(found) == 3
    assert all(re.search(r"\bk\b", line) for line in found)


def test_an_update_may_change_one_column_of_one_row_only():
    good, bad = Server(), Server()
    bad.spoil = True
    assert not list(changes.Changes(TABLE, good)._update(KEY, 0, TEXT))
    assert "UPDATE of a by k" in next(changes.Changes(TABLE, bad)._update(KEY, 0, TEXT))


def test_a_delete_that_deletes_nothing_is_told():
    assert list(changes.Changes(TABLE, Server())._delete(KEY, 0)) == ["DELETE by k finds no row"]


def test_attempts_bring_several_values():
    for kind in ("int", "varchar", "time", "datetime", "uuid", "inet6", "year", "bit"):
        values = {changes.new_value(Column("c", kind), n) for n in range(changes.ATTEMPTS)}
        assert len(values) >= 3


def test_what_gains_by_the_cairn_format_in_its_rows():
    def gains(column, key_column=ID):
        key = Index("PRIMARY", True, False, [Part(key_column)])
        return Table("fmt", "t", [ID, column], [key]).gains_by_the_cairn_format()

    assert gains(Column("c", "char", "utf8mb4_general_ci")) is True
    assert gains(Column("c", "char", "latin1_bin")) is None
    assert gains(Column("c", "varchar", "utf8mb4_general_ci")) is False
    in_key = Column("c", "char", "latin1_bin")
    assert gains(in_key, in_key) is None


def test_what_gains_by_the_cairn_format():
    def gains(column, prefix=0):
        key = Index("k", False, False, [Part(column, prefix)])
        return Table("fmt", "t", [column], [key]).gains_by_the_cairn_format()

    assert gains(ID) is False
    assert gains(TEXT) is None
    assert gains(Column("u", "uuid")) is True
    assert gains(Column("b", "blob"), 4) is True
    assert gains(Column("d", "datetime")) is False
    assert gains(Column("d", "datetime", is_old_temporal=True)) is True

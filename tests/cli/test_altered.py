"""What ./cairn acceptance damage asks of its tables."""

import pytest

from tests.acceptance.altered import reads
from tests.acceptance.altered_tables import PRIMARY, TABLES


def _table(name):
    return next(table for table in TABLES if table.name == name)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_index_is_read_for_rows_and_for_entries(table):
    statements = reads(table)
    assert statements[f"SELECT * FROM {table.path} USE INDEX ()"] == ""
    for index, columns in table.indexes.items():
        order = ", ".join(columns)
        tail = f"FROM {table.path} FORCE INDEX ({index}) ORDER BY {order}"
        assert statements[f"SELECT * {tail}"] == index
        assert statements[f"SELECT {order} {tail}"] == index


def test_an_index_covers_a_table_with_the_primary_key():
    parts, plain = _table("parts"), _table("plain")
    assert parts.is_covered_by("a", 2)
    assert not parts.is_covered_by(PRIMARY, 2)
    assert not parts.is_covered_by("", 2)
    assert not plain.is_covered_by("a", 5)

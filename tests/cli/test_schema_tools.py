"""What ./cairn acceptance schema-tools expects of rows, and what it tells the tools to do."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from cairn.errors import CairnError
from tests.acceptance.schema_tools import clients, command, tools
from tests.acceptance.schema_tools.table import (
    ARCHIVED_BEFORE,
    COLUMNS,
    PURGED_BEFORE,
    SHARED_ROWS,
    client_of,
    differences,
    first_rows,
    with_values,
)

ROWS = {row[0]: row for row in first_rows(200, 4, Random(1))}
SHARED = {key: row for key, row in ROWS.items() if client_of(row[1]) < 0}
OWN = {key: row for key, row in ROWS.items() if key not in SHARED}


def client(rows=OWN, number=0):
    return clients.Client(number, lambda: None, "1", dict(rows), list(SHARED), "ROCKSDB")


class Answers:
    """A cursor that gives every statement the same number of rows."""

    def __init__(self, count=1, row=None):
        self.lastrowid = 10**9
        self.count = count
        self.row = row
        self.said = []

    def execute(self, text, values=None):
        self.said.append(text)
        self.lastrowid += 1
        return self.count

    def fetchone(self):
        return self.row


def test_every_first_row_has_one_owner_and_some_are_shared():
    assert {client_of(row[1]) for row in OWN.values()} == {0, 1, 2, 3}
    assert len(SHARED) == SHARED_ROWS


def test_first_rows_are_of_all_ages():
    ages = [row[COLUMNS.index("ordered")] for row in OWN.values()]
    assert min(ages) < PURGED_BEFORE < ARCHIVED_BEFORE < max(ages)
    assert any(PURGED_BEFORE <= age < ARCHIVED_BEFORE for age in ages)


def test_a_missing_a_strange_a_double_and_a_changed_row_are_differences():
    first, second, third, *_ = OWN.values()
    changed = with_values(second, note="changed")
    strange = with_values(first, id=-1)
    wanted = {row[0]: row for row in (first, second, third)}
    texts = differences(wanted, [first, first, changed, strange])
    assert len(texts) == 4
    for key, said in ((first[0], "twice"), (second[0], "note"), (third[0], "missing")):
        assert any(f"row {key}" in text and said in text for text in texts), texts
    assert any("row -1 must not be there" in text for text in texts)


def test_the_same_rows_have_no_differences():
    assert differences(ROWS, ROWS.values()) == []


def test_many_differences_are_counted():
    assert differences(ROWS, [])[-1] == f"and {len(ROWS) - 5} more rows"


def test_fresh_keys_are_those_of_no_row_and_not_behind_the_last():
    one = client()
    keys = [one.fresh_key() for _ in range(1000)]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set(ROWS)
    assert max(keys) < max(OWN)


def test_what_clients_add_to_shared_rows_is_wanted():
    one, other = client(), client({}, 1)
    key = next(iter(SHARED))
    one.added, other.added = Counter({key: 5}), Counter({key: 120})
    kept, archived = command.wanted([one, other], SHARED, archives=False)
    amount = COLUMNS.index("amount")
    assert kept[key][amount] == SHARED[key][amount] + Decimal("1.25")
    assert len(kept) == len(ROWS)
    assert archived == {}


def test_old_rows_are_wanted_in_the_archive_and_older_ones_nowhere():
    kept, archived = command.wanted([client()], SHARED, archives=True)
    age = COLUMNS.index("ordered")
    assert archived and all(
        PURGED_BEFORE <= row[age] < ARCHIVED_BEFORE for row in archived.values()
    )
    assert all(row[age] >= ARCHIVED_BEFORE for row in kept.values())
    purged = [row for row in ROWS.values() if row[age] < PURGED_BEFORE]
    assert len(kept) + len(archived) + len(purged) == len(ROWS)


def test_a_statement_that_misses_a_row_is_wrong():
    recent = {key: row for key, row in OWN.items() if not clients.is_old(row)}
    transaction = clients.Transaction(client(recent), Answers(count=0), Random(1))
    with pytest.raises(clients.Wrong, match="matches 0 rows"):
        transaction._delete()


def test_an_old_row_may_be_gone_and_then_stays_as_it_was():
    old = {key: row for key, row in OWN.items() if clients.is_old(row)}
    one = client(old)
    transaction = clients.Transaction(one, Answers(count=0), Random(1))
    transaction._delete()
    transaction._update()
    assert transaction._changes == {}


def test_a_read_that_gives_another_row_is_wrong():
    first, *_ = OWN.values()
    changed = with_values(first, note="changed")
    one = client({first[0]: first})
    with pytest.raises(clients.Wrong, match="gives"):
        clients.Transaction(one, Answers(row=changed), Random(1))._read()


def test_a_transaction_that_is_rolled_back_changes_nothing():
    """Whatever a transaction does, only COMMIT and single statements count."""
    for seed in range(60):
        one = client({key: row for key, row in OWN.items() if not clients.is_old(row)})
        before = dict(one.rows)
        cursor = Answers()
        transaction = clients.Transaction(one, cursor, Random(seed))
        transaction._require = lambda found, wanted: None
        transaction.run()
        if "ROLLBACK" in cursor.said:
            assert one.rows == before and not one.added
            return
    pytest.fail("no seed rolls back")


@pytest.mark.parametrize("tool", tools.TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_told_the_server_and_the_table(tool):
    place = tools.Place(Path("/a/socket"), 4711, Path("/a"))
    for change in tool.changes:
        said = " ".join(change.arguments(place))
        assert "/a/socket" in said or "--port=4711" in said
        assert tools.TABLE in said
        assert "rocksdb" not in said.lower()
        assert ("isolation" in said.lower()) == (tool.name == "pt-archiver")


def test_a_tool_that_is_not_there_has_no_program(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert all(tool.program() is None for tool in tools.TOOLS)


def test_an_unknown_tool_is_refused_by_name():
    with pytest.raises(CairnError, match="gh-ost"):
        command.chosen("spirit")


def test_what_is_left_behind_is_named():
    answers = iter([[("table _orders_new",)], [("trigger pt_osc_tools_orders_del",)]])
    server = SimpleNamespace(query=lambda text: next(answers))
    assert tools.leftovers(server) == ["table _orders_new", "trigger pt_osc_tools_orders_del"]

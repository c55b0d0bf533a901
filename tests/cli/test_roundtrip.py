"""The round trips between the plug-ins: their tables are repeatable, and differences are seen."""

from random import Random

from tests.acceptance.rounds import seed_of
from tests.acceptance.roundtrip import picture
from tests.acceptance.roundtrip.alters import random_alter
from tests.acceptance.roundtrip.picture import Picture
from tests.acceptance.roundtrip.tables import WRONG_IN_STOCK_KEYS, random_table


def test_a_seed_makes_the_same_table_and_rows_again():
    def made(seed):
        chance = Random(seed)
        table = random_table(chance, "t")
        return table.definition, table.insert(chance, 5)

    assert made("7.1") == made("7.1")
    assert made("7.1") != made("7.2")


def test_the_seed_of_a_round_repeats_that_round_alone():
    assert seed_of("7", 3) == "7.3"
    assert seed_of(seed_of("7", 3), 1) == "7.3"


def test_no_key_has_a_collation_that_the_stock_plugin_cannot_read():
    for number in range(200):
        table = random_table(Random(number), "t")
        columns = [column for key in table.keys for column, _ in key.parts]
        assert not any(column.collation in WRONG_IN_STOCK_KEYS for column in columns)


def test_a_seed_makes_the_same_alter_again():
    def made(seed):
        chance = Random(seed)
        table = random_table(chance, "t")
        alters = [random_alter(chance, table, number) for number in range(20)]
        return [each and each.statement("") for each in alters]

    assert made("7.1") == made("7.1")
    assert made("7.1") != made("7.2")


def test_tables_stay_whole_over_many_alters():
    for number in range(100):
        chance = Random(number)
        table = random_table(chance, "t")
        for step in range(20):
            before = repr(table)
            alter = random_alter(chance, table, step)
            assert repr(table) == before, "a refused statement must leave the table as it was"
            table = table if alter is None else alter.after
            names = [column.name for column in table.columns]
            assert len(set(names)) == len(names) >= 2
            for key in table.keys:
                assert all(any(part is each for each in table.columns) for part, _ in key.parts)
                assert not any(part.collation in WRONG_IN_STOCK_KEYS for part, _ in key.parts)
            if table.primary is not None:
                assert not any(column.nullable for column, _ in table.primary.parts)
            for column in table.columns:
                if column.auto_increment:
                    firsts = [key.parts[0][0] for key in table.keys]
                    assert any(first is column for first in firsts), "the server refuses that"


def test_a_fact_that_changed_is_a_difference_and_an_unknown_one_is_none():
    before = Picture({"t: rows": 3, "t: checksum": 9, "t, k: look-ups": 1})
    after = Picture({"t: rows": 4, "t: checksum": 9})
    assert picture.differences(before, after) == ["t: rows: was 3, is 4"]

"""The round trips between the plug-ins: their tables are repeatable, and differences are seen."""

from random import Random

from tests.acceptance.rounds import seed_of
from tests.acceptance.roundtrip import picture
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


def test_a_fact_that_changed_is_a_difference_and_an_unknown_one_is_none():
    before = Picture({"t: rows": 3, "t: checksum": 9, "t, k: look-ups": 1})
    after = Picture({"t: rows": 4, "t: checksum": 9})
    assert picture.differences(before, after) == ["t: rows: was 3, is 4"]

"""The file of flights that the bench loads."""

import hashlib
from collections import Counter

from cairn.bench import flights
from cairn.bench.flights import NULL, Flights

ROWS = [row.rstrip("\n").split("\t") for row in Flights(7).rows(3000)]
NAMES = [line.split()[0] for line in flights.COLUMNS.strip().splitlines()]


def column(name: str) -> list[str]:
    return [row[NAMES.index(name)] for row in ROWS]


def test_there_are_29_columns():
    assert len(NAMES) == 29
    assert {len(row) for row in ROWS} == {29}


def test_the_same_seed_gives_the_same_rows():
    assert list(Flights(7).rows(100)) == list(Flights(7).rows(100))
    assert list(Flights(7).rows(100)) != list(Flights(8).rows(100))


def test_columns_that_may_not_be_null_are_not():
    lines = [line.strip() for line in flights.COLUMNS.strip().splitlines()]
    for name, line in zip(NAMES, lines, strict=True):
        if "NOT NULL" in line:
            assert NULL not in column(name), name


def test_airports_are_skewed_and_causes_mostly_null():
    origins = Counter(column("Origin"))
    assert origins.most_common(1)[0][1] > 10 * 3000 / flights.AIRPORTS
    causes = column("CarrierDelay")
    assert 0.6 < causes.count(NULL) / len(causes) < 0.95
    assert "0" in causes


def test_the_causes_of_a_delay_add_up():
    first = NAMES.index("CarrierDelay")
    for row in ROWS:
        if row[first] != NULL:
            assert sum(map(int, row[first:])) == int(row[NAMES.index("ArrDelay")])


def test_a_file_holds_no_more_rows_than_it_may(tmp_path):
    paths = flights.write(tmp_path, 250, 100, 7)
    counts = [len(path.read_text().splitlines()) for path in paths]
    assert counts == [100, 100, 50]
    whole = "".join(path.read_text() for path in paths)
    expected = "".join(Flights(7).rows(250))
    assert hashlib.sha256(whole.encode()).digest() == hashlib.sha256(expected.encode()).digest()

"""Reading CAIRN_MEMORY and comparing a loaded server with an idle one."""

from __future__ import annotations

import pytest

from cairn.errors import CairnError
from tests.acceptance.memory import growth, parse

TOTALS = [
    ("total", "allocator: in use", 90),
    ("total", "allocator: free", 10),
    ("total", "process: resident", 100),
]


def test_parts_are_summed_and_totals_kept_apart():
    reading = parse(
        [("part", "a", 30), ("part", "b", 12), ("total", "sum of the parts", 42)] + TOTALS
    )
    assert reading.sum == 42
    assert (reading.used, reading.free, reading.resident) == (90, 10, 100)


def test_a_sum_that_is_not_that_of_the_parts_is_an_error():
    with pytest.raises(CairnError, match="not that of its parts"):
        parse([("part", "a", 30), ("total", "sum of the parts", 31)] + TOTALS)


def test_a_missing_total_is_an_error():
    with pytest.raises(CairnError, match="process: resident"):
        parse([("total", "sum of the parts", 0)] + TOTALS[:2])


def test_error_is_the_share_of_the_growth_that_is_not_named():
    idle = parse([("part", "a", 10), ("total", "sum of the parts", 10)] + TOTALS)
    loaded = parse(
        [("part", "a", 100), ("total", "sum of the parts", 100)]
        + [(kind, role, count + 100) for kind, role, count in TOTALS]
    )
    assert growth(loaded, idle).error == pytest.approx(-0.1)

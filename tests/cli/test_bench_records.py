"""What was kept of every request, and the series made of it."""

import pytest

from cairn.bench import records
from cairn.bench.records import Request
from cairn.errors import CairnError


def request(ended_s: float, duration_s: float = 0.0, rows: int = 1) -> Request:
    return Request(round(ended_s * 1e6), "insert", round(duration_s * 1e6), rows, "ok")


def test_requests_of_all_threads_come_by_their_ends(tmp_path):
    (tmp_path / "thread-0.tsv").write_text("300\tpayment\t50\t1\tok\n100\tpayment\t40\t1\tok\n")
    (tmp_path / "thread-1.tsv").write_text("200\tdelivery\t150\t0\terror 1213\n")
    found = records.read(tmp_path)
    assert [each.ended_us for each in found] == [100, 200, 300]
    assert found[1] == Request(200, "delivery", 150, 0, "error 1213")
    assert records.begin_us(found) == 50


def test_a_file_that_is_cut_short_is_an_error(tmp_path):
    (tmp_path / "thread-0.tsv").write_text("300\tpayment\t50\n")
    with pytest.raises(CairnError, match="cut short"):
        records.read(tmp_path)


def test_rows_count_in_the_step_in_which_their_request_ended():
    requests = [request(9.0, rows=5), request(10.0), request(10.9), request(12.0, rows=7)]
    assert records.rows_per_step(requests, 10e6, 3, 1.0) == [2, 0, 7]
    assert records.rows_per_step(requests, 10e6, 1, 2.0) == [2]


def test_a_request_that_takes_seconds_is_the_longest_of_each_of_them():
    requests = [request(13.5, duration_s=2.2), request(10.5, duration_s=0.1)]
    assert records.longest_per_step(requests, 10e6, 5, 1.0) == [100.0, 2200.0, 2200.0, 2200.0, 0.0]


def test_a_percentile_is_the_time_of_a_request():
    requests = [request(20, duration_s=number / 1000) for number in range(1, 101)]
    assert records.percentile_ms(requests, 95) == 95.0
    assert records.percentile_ms(requests, 100) == 100.0
    assert records.percentile_ms(requests[:1], 50) == 1.0
    assert records.percentile_ms([], 50) == 0.0


@pytest.mark.parametrize(
    ("rates", "count"),
    [([], 0), ([100, 100, 9, 100], 1), ([100, 100, 10, 0], 1), ([0, 0, 0], 3)],
)
def test_a_stall_has_nothing_or_less_than_a_tenth_of_the_median(rates, count):
    assert records.stalls(rates) == count

"""Reading the report of a run of sysbench."""

from cairn.acceptance.sysbench import parse

REPORT = """SQL statistics:
    transactions:                        500    (249.95 per sec.)
    ignored errors:                      3      (1.50 per sec.)
General statistics:
    total number of events:              500
Latency (ms):
         min:                                    1.00
         avg:                                    4.00
         max:                                   12.00
         95th percentile:                        5.18
"""


def test_a_report_is_read():
    result = parse("oltp_read_write", 4, 0, REPORT)
    assert (result.per_second, result.average_ms, result.p95_ms) == (249.95, 4.0, 5.18)
    assert result.conflicts == 3
    assert result.errors == ()


def test_an_error_fails_the_run():
    text = "FATAL: mysql_drv_query() returned error 1296 (Got error 189) for query 'COMMIT'\n"
    assert parse("oltp_insert", 1, 1, text + REPORT).errors == (text.strip(), "exit status 1")


def test_a_report_cut_short_fails_the_run():
    assert parse("oltp_insert", 1, 0, "Threads started!").errors

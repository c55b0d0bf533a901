"""Reading the report of a run of sysbench."""

from cairn.sysbench import read_report

REPORT = """[ 1s ] thds: 4 tps: 240.01 qps: 4800.20 (r/w/o: 1/2/3) lat (ms,95%): 5.18 err/s: 0.00
[ 2s ] thds: 4 tps: 259.90 qps: 5198.00 (r/w/o: 1/2/3) lat (ms,95%): 5.18 err/s: 0.00
SQL statistics:
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
    result = read_report("oltp_read_write", 0, REPORT)
    assert (result.per_second, result.average_ms, result.p95_ms) == (249.95, 4.0, 5.18)
    assert result.conflicts == 3
    assert result.points == ((1.0, 240.01), (2.0, 259.9))
    assert result.errors == ()


def test_an_error_fails_the_run():
    text = "FATAL: mysql_drv_query() returned error 1296 (Got error 189) for query 'COMMIT'\n"
    assert read_report("oltp_insert", 1, text + REPORT).errors == (text.strip(), "exit status 1")


def test_a_report_cut_short_fails_the_run():
    assert read_report("oltp_insert", 0, "Threads started!").errors

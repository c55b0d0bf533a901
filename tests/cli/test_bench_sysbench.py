"""What one run of sysbench tells beside its rate."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cairn.bench import sysbench
from cairn.bench.settings import Settings

OUTPUT = """General statistics:
    transactions:                        500    (250.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    total number of events:              500
Latency (ms):
         avg:                                    4.00
         95th percentile:                        5.18
"""


@pytest.mark.parametrize(
    ("workload", "case", "misses", "noted"),
    [
        ("sysbench-durable", "oltp_point_select/1", 6, True),
        ("sysbench-durable", "oltp_point_select/1", 5, False),
        ("sysbench-durable", "oltp_insert/1", 500, False),
        ("sysbench-durable-large", "oltp_point_select/1", 500, False),
    ],
)
def test_reads_of_a_cached_workload_that_miss_the_cache_are_noted(
    monkeypatch, workload, case, misses, noted
):
    monkeypatch.setattr(sysbench.program, "execute", lambda *_, **__: (0, OUTPUT))
    before_and_after = iter((100, 100 + misses))
    server = SimpleNamespace(
        engine=SimpleNamespace(sql_name="ROCKSDB", title="Cairn"),
        pid=None,
        mariadb=None,
        socket=None,
        directory=Path("/nowhere"),
        cache_misses=lambda: next(before_and_after),
    )
    (chosen,) = (each for each in sysbench.workloads(Settings()) if each.name == workload)
    (run,) = (each.run for each in chosen.cases if each.name == case)
    outcome = run(server, 1)
    (measurement,) = outcome.measurements
    assert measurement.details["cache_misses"] == misses / 500
    assert [("is not cached" in note) for note in outcome.notes] == [True] * noted

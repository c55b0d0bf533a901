"""The insert benchmark: what a step's records give, and that steps run those they need."""

import pytest

from cairn.bench import throttle
from cairn.bench.engines import Engine
from cairn.bench.insert import figures as step_figures
from cairn.bench.insert import workload
from cairn.bench.insert.steps import CHANGE, LOAD, STEPS, Scale, Step
from cairn.bench.insert.workload import Insert
from cairn.bench.records import Request
from cairn.bench.settings import Settings
from cairn.bench.slow_machine import SlowMachine, Slowness
from cairn.errors import CairnError

SCALE = Scale(tables=1, rows=1000, queries=1, seconds=4)


def request(ended_s, kind="insert", rows=50, duration_s=0.01):
    return Request(round(ended_s * 1e6), kind, round(duration_s * 1e6), rows, "ok")


def figures(step, requests):
    return {each.name: each for each in step_figures.measure(step, requests, SCALE, 1.0)}


def test_a_step_at_full_speed_lasts_until_its_last_insert():
    requests = [request(10.01, duration_s=0.01), request(11.5), request(12.5, duration_s=0.9)]
    found = figures(CHANGE, [*requests, request(12.51, kind="delete")])
    assert found["l.i1 inserts"].value == pytest.approx(150 / 2.5)
    assert found["l.i1 inserts"].points == ((1.0, 50.0), (2.0, 50.0))
    assert found["l.i1 inserts: longest"].points == ((1.0, 10.0), (2.0, 900.0))
    assert found["l.i1 inserts"].details["server_cpu_us"] == pytest.approx(1e6 / 150)


def test_a_step_with_a_rate_counts_queries_and_tells_whether_the_rate_was_kept():
    queries = [request(10.01 + i / 10, kind="query", rows=1) for i in range(10)]
    inserts = [request(10.5), request(11.5), request(12.5, duration_s=0.7)]
    found = figures(Step("q50", rate=50), [*queries, *inserts])
    assert found["q50 queries"].value == 10 / 4
    assert found["q50 queries: stalls"].value == 3
    assert found["q50 longest insert"].value == 700.0
    assert found["q50 longest insert"].details["share_of_rate"] == 150 / 4 / 50


def test_a_step_without_statements_is_an_error():
    with pytest.raises(CairnError, match=r"l\.i0"):
        step_figures.measure(LOAD, [], SCALE, 0.0)


class Recording(Insert):
    """Writes down which steps run."""

    def __init__(self, directory):
        super().__init__("insert", SCALE, 1 << 20, 0)
        self.ran = []
        place = SlowMachine(Slowness(throttle.NONE, 0), directory, None, None)
        self._machines["cairn"] = place

    def _step(self, step, server, number):
        self.ran.append(step.name)
        return []

    def _contents(self, server, *, everything):
        return {"everything": everything}


class Server:
    def __init__(self, directory):
        self.engine = Engine("cairn", "Cairn", "ROCKSDB", None)
        self.data = directory
        self.loads_plugin = False


def test_a_step_runs_those_before_it_and_a_new_round_begins_anew(tmp_path):
    steps = Recording(tmp_path)
    server = Server(tmp_path)
    cases = {case.name: case for case in steps.cases}
    cases["l.i1"].run(server, 1)
    assert steps.ran == ["l.i0", "l.x", "l.i1"]
    outcome = cases["q100"].run(server, 1)
    assert steps.ran[3:] == ["q100"]
    assert outcome.facts == {"everything": False}
    cases["l.i1"].run(server, 2)
    assert steps.ran[4:] == ["l.i0", "l.x", "l.i1"]
    assert [step.name for step in STEPS] == list(cases)


def test_the_large_one_is_held_to_its_memory():
    cached, large = workload.workloads(Settings(rows=1_000_000))
    assert not cached.slowness
    assert large.slowness.memory_bytes == 384 << 20 > large.setup.memory_bytes
    assert "1,000,000 rows" in large.title and "384 MiB" in large.title

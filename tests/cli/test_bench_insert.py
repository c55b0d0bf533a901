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
from cairn.bench.workload import Outcome
from cairn.errors import CairnError

SCALE = Scale(tables=1, rows=1000, queries=1, seconds=4)


def request(ended_s, kind="insert", rows=50, duration_s=0.01):
    return Request(round(ended_s * 1e6), kind, round(duration_s * 1e6), rows, "ok")


def figures(step, requests):
    outcome = step_figures.measure(step, requests, SCALE, 1.0)
    return {each.name: each for each in outcome.measurements}


def test_a_step_at_full_speed_lasts_until_its_last_insert():
    requests = [request(10.01, duration_s=0.01), request(11.5), request(12.5, duration_s=0.9)]
    found = figures(CHANGE, [*requests, request(12.51, kind="delete")])
    assert found["l.i1 inserts"].value == pytest.approx(150 / 2.5)
    assert found["l.i1 inserts"].points == ((1.0, 50.0), (2.0, 50.0))
    assert found["l.i1 inserts: longest"].points == ((1.0, 10.0), (2.0, 900.0))
    assert found["l.i1 inserts"].details["server_cpu_us"] == pytest.approx(1e6 / 150)


QUERIES = [request(10.01 + i / 10, kind="query", rows=1) for i in range(10)]
# Of the second one the delete takes long, the third comes too late, the fourth catches up.
WRITES = [
    request(10.1),
    request(11.1),
    request(12.0, kind="delete", duration_s=0.9),
    request(13.5, duration_s=0.4),
    request(13.6),
]


def test_a_step_with_a_rate_has_the_queries_and_what_was_written_beside_them():
    found = figures(Step("q50", rate=50), [*QUERIES, *WRITES])
    assert found["q50 queries"].value == 10 / 4
    assert found["q50 queries: stalls"].value == 3
    writes = found["q50 writes"]
    assert (writes.value, writes.unit) == (50.0, "rows/s")
    assert writes.points == ((1.0, 50.0), (2.0, 50.0), (3.0, 0.0), (4.0, 100.0))
    assert writes.details["share_of_rate"] == 1.0
    assert found["q50 writes: stalls"].value == 1
    longest = found["q50 writes: longest"]
    assert longest.value == 900.0
    assert longest.points == ((1.0, 10.0), (2.0, 900.0), (3.0, 0.0), (4.0, 400.0))


def test_a_second_with_less_than_the_rate_is_a_stall_of_the_writer():
    # More than a tenth of the usual: beside queries that would be none.
    found = figures(Step("q100", rate=100), [*QUERIES, *(request(10.1 + i / 2) for i in range(7))])
    assert found["q100 writes"].points[-1] == (4.0, 50.0)
    assert found["q100 writes: stalls"].value == 1


def test_writers_that_do_not_keep_their_pace_are_told():
    def notes(writes):
        requests = [*QUERIES, *writes]
        return step_figures.measure(Step("q50", rate=50), requests, SCALE, 1.0).notes

    assert notes(WRITES) == []
    assert notes(WRITES[:-1]) == []  # One statement that is still under way.
    assert notes(WRITES[:2]) == ["q50: 25 rows a second were written instead of 50"]
    # What comes after the time is over was not written beside the queries.
    late = [*WRITES[:2], request(14.5), request(14.6)]
    assert notes(late) == ["q50: 25 rows a second were written instead of 50"]


def test_a_step_with_a_rate_and_without_a_writer_is_an_error():
    with pytest.raises(CairnError, match="q50 writes: there are none"):
        figures(Step("q50", rate=50), QUERIES)


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
        return Outcome([], notes=[f"{step.name} was slow"])

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
    assert outcome.notes == ["q100 was slow"]
    cases["l.i1"].run(server, 2)
    assert steps.ran[4:] == ["l.i0", "l.x", "l.i1"]
    assert [step.name for step in STEPS] == list(cases)


def test_the_large_one_is_held_to_its_memory():
    cached, large = workload.workloads(Settings(rows=1_000_000))
    assert not cached.slowness
    assert large.slowness.memory_bytes == 384 << 20 > large.setup.memory_bytes
    assert "1,000,000 rows" in large.title and "384 MiB" in large.title

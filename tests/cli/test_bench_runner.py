"""The order in which a bench runs, and how it fails."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from bench_samples import ABOUT
from click.testing import CliRunner

from cairn import plugin, prefix
from cairn.bench import bench, idle, runner
from cairn.bench.engines import KEYS, Engine, Setup
from cairn.bench.idle import Work
from cairn.bench.machine import Needs
from cairn.bench.plan import Part, Plan
from cairn.bench.results import load
from cairn.bench.workload import Case, Measurement, Outcome, Workload
from cairn.errors import CairnError
from cairn.main import cli

ENGINES = tuple(Engine(key, key.upper(), "InnoDB", None) for key in ("a", "b", "c"))


class FakeServer:
    """Writes down what happens to it."""

    journal: list[str] = []

    def __init__(self, mariadb, directory, engine, options, data):
        self.engine, self.directory, self.data = engine, directory, data
        self.alive = False
        self.pid = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.alive = False

    def start(self):
        self.alive = True
        self.journal.append(f"start {self.engine.key}")

    def stop(self):
        self.alive = False
        self.journal.append(f"stop {self.engine.key}")

    def is_alive(self):
        return self.alive

    def ending(self):
        return None

    def query(self, _):
        return [("version", "10.11"), ("datadir", f"{self.directory}/data")]


class Fake(Workload):
    """Two cases whose value is the number of the round."""

    name, title, setup = "fake", "a fake", Setup(1 << 20)
    prepare_s = 1.0
    facts_of = {}
    answers_of = {}
    problems_of = {}
    notes_of = {}

    @property
    def cases(self):
        return [Case(name, 1.0, self._run_of(name)) for name in ("one", "two")]

    def _run_of(self, name):
        def run(server, number):
            FakeServer.journal.append(f"{name} {server.engine.key}")
            facts = {"answer": self.answers_of.get(server.engine.key, 42)}
            notes = self.notes_of.get(server.engine.key, [])
            return Outcome([Measurement(name, "1/s", number)], facts, notes)

        return run

    def prepare(self, server):
        FakeServer.journal.append(f"prepare {server.engine.key}")

    def facts(self, server):
        return {"rows": self.facts_of.get(server.engine.key, 1)}

    def problems(self, server):
        return self.problems_of.get(server.engine.key, [])


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "BenchServer", FakeServer)
    monkeypatch.setattr(FakeServer, "journal", [])
    monkeypatch.setattr(runner.idle, "wait", lambda pids: True)

    def run_it(workload, rounds=2):
        part = Part(workload, tuple(workload.cases))
        plan = Plan((part,), ENGINES, rounds)
        phase = SimpleNamespace(progress=lambda text: None)
        progress = runner.Progress(plan)
        logs = tmp_path / "logs"
        return runner.run(None, tmp_path, plan, part, progress, phase, lambda result: logs)

    return run_it


def measured() -> list[str]:
    return [line for line in FakeServer.journal if line.startswith(("one", "two"))]


def test_engines_take_turns_at_each_case(run):
    result = run(Fake())
    assert measured() == ["one a", "one b", "one c", "two a", "two b", "two c"] * 2
    assert result.failures == []
    assert result.series[0].values("c") == [1, 2]
    assert FakeServer.journal[-3:] == ["stop a", "stop b", "stop c"]


def test_servers_that_disturb_each_other_are_up_one_at_a_time(run):
    workload = Fake()
    workload.one_at_a_time = True
    run(workload, rounds=1)
    ups = [line.split() for line in FakeServer.journal if line.startswith(("start", "stop"))]
    for (begin, begun), (end, ended) in zip(ups[::2], ups[1::2], strict=True):
        assert (begin, end, begun) == ("start", "stop", ended)
    assert measured() == [f"{case} {engine}" for engine in "abc" for case in ("one", "two")]


def test_data_that_differ_fail_before_anything_is_measured(run):
    workload = Fake()
    workload.facts_of = {"b": 2}
    result = run(workload)
    assert "rows differs: A 1, B 2, C 1" in result.failures[0]
    assert measured() == []


def test_answers_that_differ_fail_the_round(run):
    workload = Fake()
    workload.answers_of = {"c": 41}
    result = run(workload)
    assert "after one in round 1: answer differs: A 42, B 42, C 41" in result.failures[0]


def test_problems_of_the_data_fail(run):
    workload = Fake()
    workload.problems_of = {"b": ["a row is lost"]}
    assert run(workload).failures == ["B: a row is lost"]


def test_what_was_odd_about_a_run_is_noted_and_no_failure(run):
    workload = Fake()
    workload.notes_of = {"b": ["it was slow"]}
    result = run(workload, rounds=1)
    assert result.notes == ["B in round 1: it was slow"] * 2
    assert result.failures == []


def test_a_server_that_fails_does_not_end_the_bench(run, monkeypatch):
    def fail(server):
        raise CairnError("it crashed")

    monkeypatch.setattr(FakeServer, "start", fail)
    assert run(Fake()).failures == ["it crashed"]


def test_variables_are_divided_into_common_and_different(run):
    variables = run(Fake()).variables
    assert variables["common"] == {"version": "10.11", "datadir": "…/data"}
    assert variables["different"] == {}


# ---- the command -------------------------------------------------------------------------------


class Refused(Fake):
    """No machine has what it needs."""

    name = "refused"

    def needs(self):
        return Needs(disk_bytes=1 << 60)


@pytest.fixture
def bench_run(run, monkeypatch, tmp_path):
    """Runs ./cairn bench with these workloads; gives its exit status, output and results."""
    engines = tuple(replace(engine, key=key) for engine, key in zip(ENGINES, KEYS, strict=True))
    monkeypatch.setattr(bench, "DIRECTORY", tmp_path / "bench")
    monkeypatch.setattr(bench, "_obtain", lambda wish: None)
    monkeypatch.setattr(bench.engines, "choose", lambda keys, mariadb: engines)
    monkeypatch.setattr(bench.about, "collect", lambda *_: ABOUT)

    def run_it(*workloads):
        monkeypatch.setattr(bench.catalog, "workloads", lambda settings: workloads)
        results = tmp_path / "results"
        arguments = ["bench", "run", "--rounds=1", f"--output={results}"]
        done = CliRunner().invoke(cli, arguments)
        return done.exit_code, done.output, load(results / "results.json")

    return run_it


def test_a_bench_whose_engines_agree_ends_well(bench_run):
    status, output, found = bench_run(Fake())
    assert status == 0, output
    assert "FAILED" not in output
    assert [series.name for _, series in found.figures()] == ["one", "two"]


@pytest.mark.parametrize("difference", ["facts_of", "answers_of", "problems_of"])
def test_a_bench_whose_engines_differ_fails_loudly(bench_run, difference):
    workload = Fake()
    setattr(workload, difference, {"stock": ["a row is lost"]})
    status, output, found = bench_run(workload)
    assert status == 1
    assert "fake FAILED" in output
    assert "The bench has failed: its figures mean nothing" in output
    assert found.failed


def test_a_workload_that_the_machine_cannot_run_is_told_and_the_others_run(bench_run):
    status, output, found = bench_run(Refused(), Fake())
    assert status == 0, output
    assert "refused was not run: it needs 1,099,511,627,776 MiB of disk" in output
    refused, ran = found.workloads
    assert "of disk" in refused.skipped and refused.series == []
    assert len(ran.series) == 2 and ran.skipped is None
    assert not any("refused" in line for line in FakeServer.journal)


def test_a_refusal_does_not_hide_a_failure(bench_run):
    differing = Fake()
    differing.answers_of = {"stock": 41}
    status, output, _ = bench_run(differing, Refused())
    assert status == 1
    assert "refused was not run" in output and "fake FAILED" in output


def test_a_bench_that_could_run_nothing_fails(bench_run):
    status, output, found = bench_run(Refused())
    assert status == 1
    assert "Nothing of it could be run on this machine" in output
    assert not found.failed


# ---- idle --------------------------------------------------------------------------------------


def waits(*readings: Work, pause_s: float = idle.INTERVAL_S) -> tuple[bool, int]:
    """Whether waiting for one process with these readings ends well, and after how many pauses."""
    left, pauses = list(readings), []
    quiet = idle.wait(
        [1],
        (len(readings) - 1) * pause_s,
        look=lambda _: left.pop(0),
        sleep=pauses.append,
        clock=lambda: len(pauses) * pause_s,
    )
    return quiet, len(pauses)


def test_a_process_that_does_nothing_is_idle_at_once():
    assert waits(Work(1, 0), Work(1, 0), Work(1, 0)) == (True, 1)


def test_processor_time_and_writing_are_work():
    assert waits(Work(1, 0), Work(1.2, 0), Work(1.2, 50 << 20), Work(1.2, 50 << 20)) == (True, 3)


def test_a_pause_that_took_long_allows_for_more():
    assert waits(Work(1, 0), Work(1.04, 1 << 20), pause_s=1.0) == (True, 1)
    assert waits(Work(1, 0), Work(1.04, 1 << 20)) == (False, 1)


def test_waiting_ends():
    assert waits(Work(1, 0), Work(2, 0), Work(3, 0)) == (False, 2)


# ---- with servers ------------------------------------------------------------------------------


@pytest.mark.skipif(
    prefix.current() is None
    or not plugin.library().exists()
    or not prefix.require().sysbench.is_dir(),
    reason="./cairn up has not been run here, or nothing has asked for sysbench",
)
def test_a_small_bench_runs_on_all_engines(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "DIRECTORY", tmp_path / "bench")
    wish = bench.Wish(
        names=("sysbench-durable/oltp_point_select", "sysbench-durable/join_*", "load/indexed"),
        quick=True,
        floors=False,
        lists=False,
        engines="cairn,innodb,stock",
        rounds=1,
        threads=None,
        seconds=1,
        rows=2000,
        tables=1,
        memory=32,
        iops=None,
        mb_per_s=None,
        warehouses=None,
        output=tmp_path / "results",
    )
    assert bench.run(wish) == 0
    found = load(tmp_path / "results" / "results.json")
    assert [workload.failures for workload in found.workloads] == [[], []]
    assert all(series.ratio("innodb") and series.ratio("stock") for _, series in found.figures())
    assert list(Path(tmp_path / "bench").glob("servers/*")) == []

"""Runs the workloads: A B C A B C …, each case on every engine before the next case.

All servers of a workload are up, but only the one whose turn it is has clients, and it gets them
once no server does anything in the background any more. So neighbouring figures are seconds apart,
a slow spell of the machine hits all engines, and nobody's compaction is paid by another one. What
the idle servers cost is their memory; a workload for which that matters has its servers up one at
a time.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from cairn import files
from cairn.bench import differences, idle
from cairn.bench.engines import BenchServer, Engine
from cairn.bench.plan import Part, Plan
from cairn.bench.results import Run, WorkloadResult
from cairn.bench.workload import Case, Facts, Outcome
from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.report import Phase, duration
from cairn.scratch_server import own_directory, remove


@contextmanager
def own_servers(directory: Path) -> Iterator[None]:
    """A directory for the servers, kept from other runs meanwhile and removed at the end."""
    with own_directory(directory):
        directory.mkdir(parents=True, exist_ok=True)
        try:
            yield
        finally:
            remove(directory)


class Progress:
    """How far a bench is, in the words of a phase."""

    def __init__(self, plan: Plan) -> None:
        self._left_s = plan.seconds
        self._runs = plan.runs
        self._done = 0

    def begin(self, phase: Phase, what: str) -> None:
        about = duration(max(1, round(self._left_s)))
        phase.progress(f"{what} ({self._done} of {self._runs} runs, about {about} left)")

    def end(self, seconds: float, *, runs: int = 0) -> None:
        """So many of the estimated seconds are over."""
        self._left_s -= seconds
        self._done += runs


class PartRun:
    """One workload with its servers, from the first start to the last stop."""

    def __init__(
        self, mariadb: Server, directory: Path, plan: Plan, part: Part, result: WorkloadResult
    ) -> None:
        self._mariadb = mariadb
        self._directory = directory
        self._plan = plan
        self._part = part
        self._workload = part.workload
        self._result = result
        self._servers: list[BenchServer] = []

    def run(self, phase: Phase, progress: Progress) -> None:
        """Fills the result. Errors: CairnError where a server fails or engines differ."""
        begun = time.monotonic()
        self._result.notes += [
            f"{engine.title} cannot run it"
            for engine in self._plan.engines
            if not self._workload.runs_on(engine)
        ]
        try:
            with ExitStack() as stack:
                for engine in self._part.engines(self._plan.engines):
                    self._servers.append(self._enter(stack, engine))
                try:
                    self._measure(phase, progress)
                except Exception:
                    self._result.failures += self._crashes()
                    raise
        finally:
            self._result.seconds = time.monotonic() - begun

    def keep_logs(self, target: Path) -> None:
        """Copies what explains a failure; the data directories are not kept."""
        for server in self._servers:
            for log in server.directory.glob("*.log"):
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(log, target / f"{server.engine.key}-{log.name}")

    # ---- servers --------------------------------------------------------------------------------

    def _enter(self, stack: ExitStack, engine: Engine) -> BenchServer:
        """A server that is not started; it and its place are gone when the stack ends."""
        directory = files.fresh_directory(self._directory / engine.key)
        data = stack.enter_context(self._workload.place(engine, directory))
        options = (*engine.options(self._workload.setup), *self._workload.options(engine))
        server = BenchServer(self._mariadb, directory, engine, options, data)
        self._result.options[engine.key] = list(options)
        return stack.enter_context(server)

    def _start(self, server: BenchServer) -> None:
        server.start()
        self._workload.started(server)

    @contextmanager
    def _up(self, server: BenchServer) -> Iterator[None]:
        """The server runs inside the block; where servers are up one at a time, only there."""
        if not self._workload.one_at_a_time:
            yield
            return
        self._start(server)
        yield
        self._note_size(server)
        server.stop()

    def _wait_until_idle(self, before: str) -> None:
        if not idle.wait([server.pid for server in self._servers if server.pid is not None]):
            self._result.notes.append(f"before {before} the servers were still busy")

    def _crashes(self) -> list[str]:
        """What the logs say of servers that have ended by themselves."""
        return [
            f"{server.engine.title}: the server has ended ({ending}):\n{server.excerpt()}"
            for server in self._servers
            if (ending := server.ending()) is not None
        ]

    # ---- steps ----------------------------------------------------------------------------------

    def _measure(self, phase: Phase, progress: Progress) -> None:
        self._prepare(phase, progress)
        for number in range(1, self._plan.rounds + 1):
            self._round(phase, progress, number)
        for server in self._servers:
            with self._up(server):
                found = self._workload.problems(server)
                self._result.failures += [f"{server.engine.title}: {text}" for text in found]
                self._note_size(server)
        for server in self._servers:
            if server.is_alive():
                server.stop()

    def _prepare(self, phase: Phase, progress: Progress) -> None:
        facts: dict[str, Facts] = {}
        variables: dict[str, dict[str, str]] = {}
        for server in self._servers:
            title = server.engine.title
            progress.begin(phase, f"preparing {title}")
            self._start(server)
            self._workload.prepare(server)
            variables[server.engine.key] = _variables(server)
            facts[title] = self._workload.facts(server)
            if self._workload.one_at_a_time:
                server.stop()
            progress.end(self._workload.prepare_s)
        self._result.variables = _common_and_different(variables)
        self._result.facts = dict(next(iter(facts.values())))
        self._require_equal(facts, "after preparing")
        if not self._workload.one_at_a_time:
            for server in self._servers:
                self._workload.warm_up(server)

    def _round(self, phase: Phase, progress: Progress, number: int) -> None:
        facts: dict[str, dict[str, Facts]] = {case.name: {} for case in self._part.cases}

        def measure(case: Case, server: BenchServer) -> None:
            title = server.engine.title
            progress.begin(phase, f"round {number} of {self._plan.rounds}, {case.name}, {title}")
            self._wait_until_idle(f"{case.name} on {title} in round {number}")
            outcome = case.run(server, number)
            self._record(server, outcome)
            self._result.notes += [f"{title} in round {number}: {text}" for text in outcome.notes]
            facts[case.name][title] = outcome.facts
            progress.end(case.seconds, runs=1)

        if self._workload.one_at_a_time:
            for server in self._servers:
                with self._up(server):
                    self._workload.warm_up(server)
                    for case in self._part.cases:
                        measure(case, server)
        else:
            for case in self._part.cases:
                for server in self._servers:
                    measure(case, server)
        for name, each in facts.items():
            self._require_equal(each, f"after {name} in round {number}")

    def _record(self, server: BenchServer, outcome: Outcome) -> None:
        for one in outcome.measurements:
            series = self._result.find(one.name, one.unit, higher_is_better=one.higher_is_better)
            runs = series.runs.setdefault(server.engine.key, [])
            runs.append(Run(one.value, tuple(one.points), dict(one.details)))

    def _require_equal(self, facts: dict[str, Facts], when: str) -> None:
        if wrong := differences.between(facts, when):
            raise CairnError("The engines disagree:\n" + "\n".join(f"    {text}" for text in wrong))

    def _note_size(self, server: BenchServer) -> None:
        """The most memory of all starts of the server, and its data as they are now."""
        before = self._result.peaks.get(server.engine.key, {}).get("resident_bytes", 0)
        self._result.peaks[server.engine.key] = {
            "resident_bytes": max(before, _peak_bytes(server.pid or 0)),
            "data_bytes": files.size_of(server.data),
        }


def run(
    mariadb: Server,
    directory: Path,
    plan: Plan,
    part: Part,
    progress: Progress,
    phase: Phase,
    keep: Callable[[WorkloadResult], Path],
) -> WorkloadResult:
    """Runs one part; what goes wrong is in the result, and the servers' logs where `keep` says."""
    workload = part.workload
    result = WorkloadResult(workload.name, workload.title, setup=asdict(workload.setup))
    part_run = PartRun(mariadb, directory, plan, part, result)
    try:
        part_run.run(phase, progress)
    except Exception as error:
        # A disk that is full is one workload's failure too.
        if not isinstance(error, CairnError | OSError) and not _is_of_database(error):
            raise
        result.failures.append(str(error))
    if result.failures:
        part_run.keep_logs(keep(result))
    return result


def _is_of_database(error: Exception) -> bool:
    return type(error).__module__.startswith("pymysql")


def _variables(server: BenchServer) -> dict[str, str]:
    """All variables of a server; where its own directory is, is no difference."""
    rows = server.query("SHOW GLOBAL VARIABLES")
    return {name: value.replace(str(server.directory), "…") for name, value in rows}


def _common_and_different(variables: dict[str, dict[str, str]]) -> dict[str, dict[str, object]]:
    names = sorted({name for each in variables.values() for name in each})
    common: dict[str, object] = {}
    different: dict[str, object] = {}
    for name in names:
        values = {key: each.get(name) for key, each in variables.items()}
        if len(set(values.values())) == 1:
            common[name] = next(iter(values.values()))
        else:
            different[name] = values
    return {"common": common, "different": different}


def _peak_bytes(pid: int, proc: Path = Path("/proc")) -> int:
    """The most memory that a process has had resident; 0 once it is gone."""
    try:
        text = (proc / str(pid) / "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0

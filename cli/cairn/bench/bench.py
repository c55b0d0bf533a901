"""./cairn bench run: from the user's wishes to files of results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from cairn import files, packages, plugin, prefix, sysbench
from cairn.bench import (
    about,
    catalog,
    engines,
    floors,
    machine,
    markdown,
    page,
    plots,
    results,
    runner,
    slow_volume,
)
from cairn.bench import plan as planning
from cairn.bench.plan import Part, Plan
from cairn.bench.results import Results, WorkloadResult
from cairn.bench.settings import Settings
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Reporter, duration, say

MIB = 1 << 20
DIRECTORY = VAR / "bench"


@dataclass(frozen=True)
class Wish:
    """The command line."""

    names: tuple[str, ...]
    quick: bool
    floors: bool
    lists: bool
    engines: str
    rounds: int
    threads: str | None
    seconds: int | None
    rows: int | None
    tables: int | None
    memory: int | None
    iops: int | None
    mb_per_s: int | None
    warehouses: int | None
    output: Path | None

    def cases(self) -> tuple[str, ...]:
        """What is to run; nothing: everything."""
        return (*floors.CASES, *self.names) if self.floors else self.names

    def settings(self) -> Settings:
        if self.floors and self.quick:
            raise CairnError(
                "--floors is about full sizes: leave --quick out; --rounds and --seconds shorten."
            )
        return Settings(
            quick=self.quick,
            names=self.cases(),
            threads=tuple(sysbench.thread_counts(self.threads)) if self.threads else None,
            seconds=self.seconds,
            rows=self.rows,
            tables=self.tables,
            memory_bytes=None if self.memory is None else self.memory * MIB,
            iops=self.iops,
            mb_per_s=self.mb_per_s,
            warehouses=self.warehouses,
        )

    def engine_keys(self) -> list[str]:
        keys = [key.strip() for key in self.engines.split(",") if key.strip()]
        if not keys or any(key not in engines.KEYS for key in keys):
            raise CairnError(
                f"--engines={self.engines}: write some of {', '.join(engines.KEYS)} with commas."
            )
        return keys


def run(wish: Wish) -> int:
    """Runs what is wished for; the exit status: 1 when anything fails, or nothing can run."""
    settings = wish.settings()
    parts = planning.choose(catalog.workloads(settings), wish.cases())
    if wish.lists:
        _list(parts, wish)
        return 0
    mariadb = _obtain(wish)
    plan = Plan(parts, tuple(engines.choose(wish.engine_keys(), mariadb)), wish.rounds)
    output = (wish.output or DIRECTORY / time.strftime("%Y-%m-%d-%H%M%S")).absolute()
    servers = DIRECTORY / "servers"
    with runner.own_servers(servers):
        slow_volume.remove_leftovers()
        hardware = machine.look(servers)
        say(f"  {hardware.cpu}, {hardware.cores} cores, {hardware.memory_bytes // MIB:,} MiB")
        titles = ", ".join(engine.title for engine in plan.engines)
        say(f"  {titles}: {plan.rounds} rounds, {plan.runs} runs in all")
        say(f"  This takes about {duration(round(plan.seconds))}.")
        _make_writable(output)
        found = Results(
            about.collect(mariadb, hardware, settings, plan),
            {engine.key: engine.title for engine in plan.engines},
        )
        _run_parts(mariadb, servers, plan, found, output)
    say("")
    say(markdown.summary(found))
    for path in sorted(output.glob("*.*")):
        say(f"  {shown(path)}")
    return _conclude(found)


def _list(parts: tuple[Part, ...], wish: Wish) -> None:
    count = len(wish.engine_keys())
    for part in parts:
        about_s = duration(round(part.seconds(count, wish.rounds)))
        say(f"{part.workload.name}: {part.workload.title} (about {about_s})")
        for case in part.cases:
            say(f"    {case.name}")


def _obtain(wish: Wish) -> Server:
    """The server, sysbench, and the plug-in where it is needed."""
    with Reporter().phase("Packages") as phase:
        packages.ensure((packages.SERVER, packages.SYSBENCH), phase)
    try:
        with Reporter().phase("Fonts") as phase:
            packages.ensure((packages.FONTS,), phase)
    except CairnError:
        say("  The fonts cannot be installed: the pictures will lack their texts, the page not.")
    mariadb = prefix.require()
    sysbench.ensure(mariadb)
    if "cairn" in wish.engine_keys():
        say(f"  {shown(plugin.library())}")
    return mariadb


def _make_writable(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CairnError(f"--output={output}: {error.strerror}.") from error


def _run_parts(mariadb: Server, servers: Path, plan: Plan, found: Results, output: Path) -> None:
    """Runs one workload after the other; the files are written anew after each."""
    reporter = Reporter()
    progress = runner.Progress(plan)

    def keep(result: WorkloadResult) -> Path:
        return output / "logs" / result.name

    for part in plan.parts:
        with reporter.phase(part.workload.name) as phase:
            result = _skipped(part, servers)
            if result is None:
                result = runner.run(mariadb, servers, plan, part, progress, phase, keep)
            else:
                progress.end(part.seconds(len(part.engines(plan.engines)), plan.rounds))
            phase.summary = _summary(result)
        found.workloads.append(result)
        write(found, output)


def _skipped(part: Part, servers: Path) -> WorkloadResult | None:
    """The result of a workload that this machine cannot run; None for one that it can."""
    refusal = part.workload.refusal(machine.look(servers))
    if refusal is None:
        return None
    return WorkloadResult(part.workload.name, part.workload.title, skipped=refusal)


def _summary(result: WorkloadResult) -> str:
    if result.skipped:
        return f"not run: {result.skipped}"
    if result.failures:
        return f"FAILED: {result.failures[0].splitlines()[0]}"
    return f"{len(result.series)} figures"


def write(found: Results, output: Path) -> None:
    """Writes all files of the results."""
    files.write_json(output / "results.json", results.as_json(found))
    drawn = list(plots.draw(found))
    pictures = []
    for plot in drawn:
        picture = output / f"{plot.name}.png"
        picture.write_bytes(plots.png(plot))
        pictures.append(picture.name)
    files.write_atomic(output / "results.md", markdown.page(found, pictures))
    files.write_atomic(output / "results.html", page.render(found, drawn))


def _conclude(found: Results) -> int:
    """Says what was left out and what went wrong, last of all; returns the exit status."""
    for workload in found.workloads:
        if workload.skipped:
            say(f"  {workload.name} was not run: {workload.skipped}.")
        for text in workload.failures:
            say(f"  {workload.name} FAILED: {text}")
    if found.failed:
        say("The bench has failed: its figures mean nothing until that is explained.")
        return 1
    if found.workloads and all(workload.skipped for workload in found.workloads):
        say("Nothing of it could be run on this machine.")
        return 1
    return 0

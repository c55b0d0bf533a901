"""The insert benchmark on each engine: six steps that follow each other on the same tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from cairn import files
from cairn import sysbench as program
from cairn.bench import disk_size, idle, records, slow_machine, throttle
from cairn.bench.engines import MIB, BenchServer, Durability, Engine, Setup
from cairn.bench.insert.figures import measure
from cairn.bench.insert.steps import CHANGE, INDEX, LOAD, STEPS, Scale, Step
from cairn.bench.machine import Machine, Needs
from cairn.bench.settings import Settings
from cairn.bench.slow_machine import SlowMachine, Slowness
from cairn.bench.workload import Case, Facts, Measurement, Outcome, Workload
from cairn.errors import CairnError

SCRIPT = Path(__file__).parent / "insert.lua"
SEED = 20_260_101
GRACE_S = 120.0
START_S = 5.0

INDEXES = {
    "market": "price, customerid",
    "register": "cashregisterid, price, customerid",
    "price_time": "price, dateandtime, customerid",
}
COLUMNS = "transactionid, dateandtime, cashregisterid, customerid, productid, price, data"

# How many rows a second of the slowest engine takes, about.
LOADED_PER_S = 45_000
INDEXED_PER_S = 150_000
CHANGED_PER_S = 8_000


class Insert(Workload):
    """The steps, which need each other: one that is run alone runs those before it unmeasured."""

    def __init__(self, name: str, scale: Scale, cache_bytes: int, memory_bytes: int) -> None:
        """`memory_bytes` is for the server with its page cache; 0 is no limit."""
        self.name = name
        self.scale = scale
        self.slowness = Slowness(throttle.NONE, memory_bytes)
        # As most who insert much have it, and as this benchmark is run elsewhere.
        self.setup = Setup(cache_bytes, Durability.BUFFERED)
        limit = f", {self.slowness.title()}" if self.slowness else ""
        self.title = (
            f"the insert benchmark, {scale.tables} tables of {scale.rows:,} rows, "
            f"{self.setup.durability.title()}{limit}"
        )
        self._machines: dict[str, SlowMachine] = {}
        self._done: dict[str, int] = {}  # By engine: how many steps its tables have behind them.

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def cases(self) -> list[Case]:
        return [
            Case(step.name, self._seconds(step), partial(self._run, place))
            for place, step in enumerate(STEPS)
        ]

    def _seconds(self, step: Step) -> float:
        tables = self.scale.tables
        if step is LOAD:
            return START_S + tables * self.scale.rows / LOADED_PER_S
        if step is INDEX:
            return tables * 3 * self.scale.rows / INDEXED_PER_S
        if step is CHANGE:
            return START_S + tables * self.scale.changed_rows / CHANGED_PER_S
        return self.scale.seconds + 1

    @property
    def prepare_s(self) -> float:
        return START_S

    def needs(self) -> Needs:
        return Needs(
            disk_bytes=3 * 2 * self.scale.data_bytes + 3 * 512 * MIB,
            memory_bytes=3 * (self.slowness.memory_bytes or self.setup.memory_bytes + 256 * MIB),
        )

    def refusal(self, machine: Machine) -> str | None:
        lacking = (machine.lack(self.needs()), self.slowness.refusal(machine))
        return "; ".join(text for text in lacking if text) or None

    def options(self, engine: Engine) -> tuple[str, ...]:
        return slow_machine.cache_options(engine, self.slowness.memory_bytes)

    @contextmanager
    def place(self, engine: Engine, directory: Path) -> Iterator[Path]:
        name = f"{self.name}-{engine.key}"
        with slow_machine.made(name, self.slowness, directory, 0) as machine:
            self._machines[engine.key] = machine
            yield machine.data

    def started(self, server: BenchServer) -> None:
        if server.pid is not None:
            self._machines[server.engine.key].add(server.pid)

    # ---- preparing and checking -----------------------------------------------------------------

    def prepare(self, server: BenchServer) -> None:
        server.query(f"CREATE DATABASE {program.DATABASE}")

    def problems(self, server: BenchServer) -> list[str]:
        found = []
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            for table in self._tables():
                cursor.execute(f"CHECK TABLE {table}")
                answers = [f"{kind}: {text}" for _, _, kind, text in cursor.fetchall()]
                if answers != ["status: OK"]:
                    found.append(f"CHECK TABLE {table}: {'; '.join(answers)}")
        return found

    def _contents(self, server: BenchServer, *, everything: bool) -> Facts:
        """The rows of each table by each of its indexes, with a sum over `everything` in them.

        Errors: CairnError where the indexes of a table do not agree, or rows are missing.
        """
        facts: dict[str, object] = {}
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            for table in self._tables():
                cursor.execute(f"SHOW INDEX FROM {table}")
                counts = {}
                for index in sorted({row[2] for row in cursor.fetchall()}):
                    cursor.execute(
                        f"SELECT COUNT(*), SUM(customerid) FROM {table} FORCE INDEX ({index})"
                    )
                    counts[index] = cursor.fetchone()
                if any(count[0] != self.scale.rows for count in counts.values()):
                    raise CairnError(
                        f"{server.engine.title}: {table} has {counts} (rows, sum of customerid) by "
                        f"index instead of {self.scale.rows} rows"
                    )
                if len(set(counts.values())) != 1:
                    raise CairnError(
                        f"{server.engine.title}: the indexes of {table} disagree on (rows, sum of "
                        f"customerid): {counts}"
                    )
                facts[f"rows of {table}"] = self.scale.rows
                if everything:
                    cursor.execute(f"SELECT SUM(CRC32(CONCAT_WS('|', {COLUMNS}))) FROM {table}")
                    facts[f"checksum of {table}"] = int(cursor.fetchone()[0])
        return facts

    # ---- measuring ------------------------------------------------------------------------------

    def _run(self, place: int, server: BenchServer, number: int) -> Outcome:
        key = server.engine.key
        done = self._done.get(key, 0)
        if place < done:
            done = 0
        with self._machines[key].limited():
            for earlier in STEPS[done:place]:
                self._step(earlier, server, number)
            outcome = self._step(STEPS[place], server, number)
        self._done[key] = place + 1
        # How far a step with a rate comes depends on the engine.
        facts = self._contents(server, everything=not STEPS[place].rate)
        sizes = disk_size.measure(server) if place + 1 == len(STEPS) else []
        return replace(outcome, measurements=[*outcome.measurements, *sizes], facts=facts)

    def _step(self, step: Step, server: BenchServer, number: int) -> Outcome:
        if step is INDEX:
            return Outcome([self._create_indexes(server)])
        if step is LOAD:
            self._sysbench(server, step, "tables", limit_s=GRACE_S)
        directory = files.fresh_directory(server.directory / "records")
        rows = self.scale.rows if step is LOAD else self.scale.changed_rows
        length = (
            (f"--time={self.scale.seconds:g}", f"--insert-rate={step.rate}")
            if step.rate
            else ("--time=0", f"--rows-per-client={rows}")
        )
        before = idle.work_of(server.pid or 0)
        askers = self.scale.queries * self.scale.tables if step.rate else 0
        self._sysbench(
            server,
            step,
            "run",
            f"--deletes={'off' if step is LOAD else 'on'}",
            f"--records={directory}",
            f"--threads={self.scale.tables + askers}",
            *length,
            # Each step inserts other rows, and every engine the same ones.
            seed=SEED + 100 * number + STEPS.index(step),
            limit_s=GRACE_S + 20 * self._seconds(step),
        )
        used_s = idle.work_of(server.pid or 0).cpu_s - before.cpu_s
        requests = records.read(directory)
        files.remove(directory)
        return measure(step, requests, self.scale, used_s)

    def _create_indexes(self, server: BenchServer) -> Measurement:
        indexes = ", ".join(f"ADD INDEX {name} ({parts})" for name, parts in INDEXES.items())
        begun = time.monotonic()
        for table in self._tables():
            server.query(f"ALTER TABLE {program.DATABASE}.{table} {indexes}")
        seconds = time.monotonic() - begun
        return Measurement(INDEX.name, "s", seconds, higher_is_better=False)

    def _tables(self) -> list[str]:
        return [f"sales{number}" for number in range(1, self.scale.tables + 1)]

    def _sysbench(
        self,
        server: BenchServer,
        step: Step,
        command: str,
        *arguments: str,
        limit_s: float,
        seed: int = SEED,
    ) -> None:
        status, output = program.execute(
            server.mariadb,
            server.socket,
            (
                str(SCRIPT),
                f"--tables={self.scale.tables}",
                f"--engine={server.engine.sql_name}",
                f"--batch={step.batch}",
                f"--seed={seed}",
                *arguments,
                command,
            ),
            limit_s=limit_s,
            log=server.directory / "sysbench.log",
        )
        if status != 0:
            raise CairnError(
                f"{step.name} fails on {server.engine.title} (exit status {status}):\n"
                f"{output[-1500:]}"
            )


# ---- the workloads -----------------------------------------------------------------------------

FULL_SCALE = Scale(tables=1, rows=2_000_000, queries=1, seconds=30)
QUICK_SCALE = Scale(tables=1, rows=100_000, queries=1, seconds=5)
LARGE_MEMORY_BYTES = 384 * MIB


def workloads(settings: Settings) -> list[Insert]:
    """Cached, and with little memory; a quick bench has the first, only if it is asked for."""
    if settings.quick and not settings.asks_for("insert"):
        return []
    base = QUICK_SCALE if settings.quick else FULL_SCALE
    chosen = {
        "tables": settings.tables,
        "rows": settings.rows,
        "seconds": settings.seconds,
        "queries": settings.threads[0] if settings.threads else None,
    }
    scale = replace(base, **{name: value for name, value in chosen.items() if value is not None})
    roomy = settings.memory_bytes or max(512 * MIB, 2 * scale.data_bytes)
    cached = Insert("insert", scale, roomy, 0)
    if settings.quick:
        return [cached]
    limit = settings.memory_bytes or LARGE_MEMORY_BYTES
    return [cached, Insert("insert-large", scale, slow_machine.cache_bytes(limit), limit)]

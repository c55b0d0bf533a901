"""TPC-C under a slow disk and little memory, as "slow cloud disks" have it, on each engine.

The figures are no official ones: terminals neither type nor think, and warehouses are few for the
rate. They compare engines on one machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from cairn import files
from cairn import sysbench as program
from cairn.bench import disk_size, idle, records, slow_machine
from cairn.bench.engines import MIB, BenchServer, Engine, Setup
from cairn.bench.machine import Machine, Needs
from cairn.bench.records import Request
from cairn.bench.results import CPU
from cairn.bench.settings import Settings
from cairn.bench.slow_machine import SlowMachine, Slowness
from cairn.bench.throttle import Limits
from cairn.bench.tpcc import consistency, references
from cairn.bench.workload import Case, Facts, Measurement, Outcome, Workload
from cairn.errors import CairnError

SCRIPT = Path(__file__).parent / "tpcc.lua"
SEED = 20_260_101
KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")
STEP_S = 10
GRACE_S = 300.0
_S = 1_000_000  # Microseconds.

# What one warehouse takes, about: in InnoDB after some minutes, and in seconds of one core.
WAREHOUSE_BYTES = 200 * MIB
LOAD_S = 16.0
CHECK_S = 7.0
START_S = 5.0
# Logs, and space that is free inside of files.
SERVER_DISK_BYTES = 1024 * MIB
# Less than this and mariadbd itself does not fit beside its caches.
LEAST_MEMORY = 192 * MIB


@dataclass(frozen=True)
class Scale:
    """How large the data is, how many terminals work on it and how long."""

    warehouses: int
    threads: int
    warm_up_s: float
    seconds: float  # That are measured, a multiple of STEP_S.


class Tpcc(Workload):
    """TPC-C with one set of warehouses."""

    # Under the limits a second server would take its share of the disk; and so it is in RAM.
    one_at_a_time = True

    def __init__(
        self,
        name: str,
        scale: Scale,
        slowness: Slowness,
        cache_bytes: int,
        *,
        foreign_keys: bool = False,
    ) -> None:
        """`cache_bytes` is for the engine's caches; the memory of `slowness` is for everything."""
        self.name = name
        self.foreign_keys = foreign_keys
        self.scale = scale
        self.slowness = slowness
        self.setup = Setup(cache_bytes)
        with_keys = " with its foreign keys" if foreign_keys else ""
        self.title = f"TPC-C{with_keys}, {scale.warehouses} warehouses, {slowness.title()}"
        self._machines: dict[str, SlowMachine] = {}

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def cases(self) -> list[Case]:
        scale = self.scale
        seconds = scale.warm_up_s + scale.seconds + CHECK_S * scale.warehouses + START_S
        name = f"new_orders/{scale.threads}"
        return [Case(name, seconds, partial(self._run, name))]

    @property
    def prepare_s(self) -> float:
        load_s = LOAD_S * self.scale.warehouses / self._loading_threads()
        return START_S + load_s + CHECK_S * self.scale.warehouses

    def runs_on(self, engine: Engine) -> bool:
        # The stock plug-in takes no foreign keys.
        return engine.key != "stock" or not self.foreign_keys

    def needs(self) -> Needs:
        each = self.scale.warehouses * WAREHOUSE_BYTES + SERVER_DISK_BYTES
        memory = self.slowness.memory_bytes or self.setup.memory_bytes + 256 * MIB
        return Needs(disk_bytes=3 * each, memory_bytes=memory)

    def refusal(self, machine: Machine) -> str | None:
        lacking = [machine.lack(self.needs()), self.slowness.refusal(machine)]
        if 0 < self.slowness.memory_bytes < LEAST_MEMORY:
            lacking.append(f"a server needs {LEAST_MEMORY // MIB} MiB of memory at least")
        return "; ".join(text for text in lacking if text) or None

    def options(self, engine: Engine) -> tuple[str, ...]:
        return slow_machine.cache_options(engine, self.slowness.memory_bytes)

    @contextmanager
    def place(self, engine: Engine, directory: Path) -> Iterator[Path]:
        # The file of the volume is sparse: only what is written takes space.
        size = 4 * (self.scale.warehouses * WAREHOUSE_BYTES + SERVER_DISK_BYTES)
        name = f"{self.name}-{engine.key}"
        with slow_machine.made(name, self.slowness, directory, size) as machine:
            self._machines[engine.key] = machine
            yield machine.data

    def started(self, server: BenchServer) -> None:
        if server.pid is not None:
            self._machines[server.engine.key].add(server.pid)

    # ---- preparing and checking -----------------------------------------------------------------

    def prepare(self, server: BenchServer) -> None:
        server.query(f"CREATE DATABASE {program.DATABASE}")
        self._sysbench(server, "tables", limit_s=GRACE_S)
        self._sysbench(
            server,
            "prepare",
            f"--threads={self._loading_threads()}",
            limit_s=GRACE_S + 20 * LOAD_S * self.scale.warehouses,
        )
        if self.foreign_keys:
            with server.connect(database=program.DATABASE) as connection:
                for statement in references.statements():
                    connection.cursor().execute(statement)
        disk_size.compact(server)
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            for table in consistency.TABLES:
                cursor.execute(f"ANALYZE TABLE {table}")
                cursor.fetchall()
        self._require_consistency(server, "the load", loaded=True)

    def facts(self, server: BenchServer) -> Facts:
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            contents = consistency.contents(cursor)
        if wrong := list(consistency.wrong_counts(contents, self.scale.warehouses)):
            raise CairnError(f"{server.engine.title}: {'; '.join(wrong)}")
        return {
            f"{what} of {table}": value
            for table, (rows, total) in contents.items()
            for what, value in (("rows", rows), ("checksum", total))
        }

    def _require_consistency(self, server: BenchServer, after: str, *, loaded: bool) -> None:
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            found = list(consistency.violations(cursor, self.scale.warehouses, loaded=loaded))
            if self.foreign_keys:
                found += references.violations(cursor)
        if found:
            raise CairnError(
                f"{server.engine.title} is inconsistent after {after}:\n"
                + "\n".join(f"    {text}" for text in found)
            )

    # ---- measuring ------------------------------------------------------------------------------

    def _run(self, name: str, server: BenchServer, number: int) -> Outcome:
        scale = self.scale
        directory = files.fresh_directory(server.directory / "records")
        run_s = scale.warm_up_s + scale.seconds
        before = idle.work_of(server.pid or 0)
        with self._machines[server.engine.key].limited():
            self._sysbench(
                server,
                "run",
                f"--threads={scale.threads}",
                f"--time={run_s:g}",
                f"--records={directory}",
                seed=SEED + number,
                limit_s=run_s + GRACE_S,
            )
        used_s = idle.work_of(server.pid or 0).cpu_s - before.cpu_s
        requests = records.read(directory)
        files.remove(directory)
        measurements = measure(name, requests, scale, used_s)
        self._require_consistency(server, f"round {number}", loaded=False)
        return Outcome([*measurements, *disk_size.measure(server)])

    # ---- sysbench -------------------------------------------------------------------------------

    def _loading_threads(self) -> int:
        return min(self.scale.warehouses, len(os.sched_getaffinity(0)))

    def _sysbench(
        self, server: BenchServer, command: str, *arguments: str, limit_s: float, seed: int = SEED
    ) -> None:
        status, output = program.execute(
            server.mariadb,
            server.socket,
            (
                str(SCRIPT),
                f"--warehouses={self.scale.warehouses}",
                f"--engine={server.engine.sql_name}",
                f"--seed={seed}",
                *arguments,
                command,
            ),
            limit_s=limit_s,
            log=server.directory / "sysbench.log",
        )
        if status != 0:
            alive = "" if server.is_alive() else f"\n  The server has ended:\n{server.excerpt()}"
            raise CairnError(
                f"TPC-C ({command}) fails on {server.engine.title} (exit status {status}):\n"
                f"{output[-1500:]}{alive}"
            )


def measure(
    name: str, requests: Sequence[Request], scale: Scale, cpu_s: float
) -> list[Measurement]:
    """The figures of one run, without its warm-up: rates are per minute, times in milliseconds.

    `cpu_s` is the processor time that the server has used for all of `requests`.
    """
    if not requests:
        raise CairnError("TPC-C has run without a single transaction.")
    begin = records.begin_us(requests) + scale.warm_up_s * _S
    measured = records.between(requests, begin, begin + scale.seconds * _S)
    done = [request for request in measured if request.outcome in ("ok", "skipped")]
    steps = max(1, int(scale.seconds // STEP_S))
    step_s = scale.seconds / steps
    new_orders = [request for request in done if request.kind == "new_order"]
    counts = records.rows_per_step(new_orders, begin, steps, step_s)
    rates = [count * 60 / step_s for count in counts]
    points = tuple((step_s * (step + 1), rate) for step, rate in enumerate(rates))
    outcomes = Counter(f"{request.kind} {request.outcome}" for request in measured)
    usual = median(rates)
    worst = Measurement(
        f"worst {step_s:g} s by the median",
        "share",
        min(rates) / usual if usual else 0.0,
        details={"worst_per_min": min(rates), "median_per_min": usual},
    )
    return [
        Measurement(
            name,
            "1/min",
            len(new_orders) * 60 / scale.seconds,
            points=points,
            details={key: float(count) for key, count in sorted(outcomes.items())}
            | {CPU: 1e6 * cpu_s / len(requests)},
        ),
        worst,
        *(_response_times(kind, done) for kind in KINDS),
    ]


def _response_times(kind: str, done: Sequence[Request]) -> Measurement:
    of_kind = [request for request in done if request.kind == kind]
    return Measurement(
        f"{kind} 95%",
        "ms",
        records.percentile_ms(of_kind, 95),
        higher_is_better=False,
        details={
            "max_ms": records.percentile_ms(of_kind, 100),
            "median_ms": records.percentile_ms(of_kind, 50),
            "count": float(len(of_kind)),
        },
    )


# ---- the workloads -----------------------------------------------------------------------------

FULL_SCALE = Scale(warehouses=10, threads=16, warm_up_s=60, seconds=300)
QUICK_SCALE = Scale(warehouses=1, threads=4, warm_up_s=10, seconds=30)
# With everything in memory a run is settled soon.
CACHED_SCALE = Scale(warehouses=4, threads=4, warm_up_s=20, seconds=120)
IOPS = 1000
MB_PER_S = 16
MEMORY_BYTES = 320 * MIB
# Where nothing limits memory.
ROOMY_CACHE_BYTES = 1024 * MIB
NO_LIMITS = Slowness(Limits(0, 0), 0)


def workloads(settings: Settings) -> list[Tpcc]:
    """Those on a slow disk, and those in memory, which run only when they are asked for by name.

    A quick bench has none of them unless it is named.
    """
    slowness = Slowness(
        Limits(
            IOPS if settings.iops is None else settings.iops,
            (MB_PER_S if settings.mb_per_s is None else settings.mb_per_s) * 1_000_000,
        ),
        MEMORY_BYTES if settings.memory_bytes is None else settings.memory_bytes,
    )
    cache = slow_machine.cache_bytes(slowness.memory_bytes) or ROOMY_CACHE_BYTES
    slow = _scale(FULL_SCALE, settings)
    cached = _scale(CACHED_SCALE, settings)
    known = [
        Tpcc("tpcc", slow, slowness, cache),
        Tpcc("tpcc-foreign-keys", slow, slowness, cache, foreign_keys=True),
        Tpcc("tpcc-cached", cached, NO_LIMITS, ROOMY_CACHE_BYTES),
        Tpcc("tpcc-cached-foreign-keys", cached, NO_LIMITS, ROOMY_CACHE_BYTES, foreign_keys=True),
    ]
    return [
        each
        for each in known
        if settings.asks_for(each.name) or (not settings.quick and each.slowness == slowness)
    ]


def _scale(full: Scale, settings: Settings) -> Scale:
    base = QUICK_SCALE if settings.quick else full
    chosen = {
        "warehouses": settings.warehouses,
        "threads": settings.threads[0] if settings.threads else None,
        "seconds": _whole_steps(settings.seconds),
    }
    return replace(base, **{name: value for name, value in chosen.items() if value is not None})


def _whole_steps(seconds: float | None) -> float | None:
    return None if seconds is None else max(STEP_S, seconds // STEP_S * STEP_S)

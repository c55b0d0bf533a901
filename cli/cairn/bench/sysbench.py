"""sysbench's bundled scripts, and statements of ours run by it, on each engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cairn import sysbench as program
from cairn.bench import idle, memory_group, queries
from cairn.bench.engines import MIB, BenchServer, Durability, Engine, Setup
from cairn.bench.machine import Needs
from cairn.bench.memory_group import MemoryGroup
from cairn.bench.queries import Query
from cairn.bench.results import CPU
from cairn.bench.settings import Settings
from cairn.bench.workload import Case, Facts, Measurement, Outcome, Workload
from cairn.errors import CairnError

# Those that only read, and those whose tables keep their rows, come first.
READING = (
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
)
WRITING = (
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_insert",
    "oltp_delete",
    "bulk_insert",
)
QUICK = (
    *READING,
    "full_scan",
    *(script for script in WRITING if script not in ("oltp_delete", "bulk_insert")),
)

STATEMENT = Path(__file__).parent / "lua" / "statement.lua"
TABLES = Path(__file__).parent / "lua" / "tables.lua"
SEED = 20_260_101
GRACE_S = 120.0
# Between runs: starting sysbench, and waiting until the servers are idle.
OVERHEAD_S = 0.7
# What one row of sysbench's tables takes in InnoDB, its secondary index included.
ROW_BYTES = 240
# The same in the cache of the stock plug-in, where a CHAR has four bytes a character of utf8mb4.
WIDEST_ROW_BYTES = 800
# More blocks a statement that were not in the cache, and a cached workload is no such thing.
CACHED_MISSES = 0.01
ROWS_PREPARED_PER_S = 40_000
ROWS_SCANNED_PER_S = 2_000_000  # By all clients together, for the estimate only.
START_S = 5.0
# Under a limit, RocksDB's memtables together.
MEMTABLE_BYTES = 64 * MIB
# What a server needs beyond the cache under test.
SERVER_BYTES = 640 * MIB


@dataclass(frozen=True)
class Scale:
    """How large the tables are, how long and with how many clients a run is."""

    tables: int
    rows: int
    seconds: float
    threads: tuple[int, ...]
    # Statements of ours read one table: it has the rows of so many.
    permuted_tables: int = 1

    @property
    def permuted_rows(self) -> int:
        return self.permuted_tables * self.rows

    @property
    def all_rows(self) -> int:
        return self.tables * self.rows + self.permuted_rows

    @property
    def data_bytes(self) -> int:
        """What the tables take in InnoDB, about."""
        return self.all_rows * ROW_BYTES

    @property
    def widest_bytes(self) -> int:
        """What they take in the cache that holds them least densely, about."""
        return self.all_rows * WIDEST_ROW_BYTES


QUICK_SCALE = Scale(tables=4, rows=50_000, seconds=2, threads=(2,))
CACHED_SCALE = Scale(tables=4, rows=250_000, seconds=10, threads=(1, 2, 4, 8, 16))
LARGE_SCALE = Scale(tables=4, rows=2_500_000, seconds=10, threads=(1, 4, 16))


class Sysbench(Workload):
    """One set of tables under one setup.

    With `limited` a control group holds each server, its page cache included, to the cache under
    test and SERVER_BYTES; the tables are larger than that, and accesses spread evenly over them.
    """

    def __init__(
        self,
        name: str,
        title: str,
        setup: Setup,
        scale: Scale,
        names: Sequence[str],
        *,
        limited: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.setup = setup
        self.scale = scale
        self.limited = limited
        self._names = names
        self._groups: dict[str, MemoryGroup] = {}

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def cases(self) -> list[Case]:
        made = []
        for name in self._names:
            query = next((each for each in queries.QUERIES if each.name == name), None)
            run = partial(self._run_query, query) if query else partial(self._run_script, name)
            for count in self.scale.threads:
                seconds = self.scale.seconds + OVERHEAD_S + self._late_s(query, count)
                made.append(Case(f"{name}/{count}", seconds, partial(run, count)))
        return made

    def _late_s(self, query: Query | None, threads: int) -> float:
        """How long what runs when the time is over goes on, about; nothing but for full scans."""
        scanned = threads * self.scale.permuted_rows if query is not None and query.reads_all else 0
        return scanned / ROWS_SCANNED_PER_S

    @property
    def prepare_s(self) -> float:
        return START_S + self.scale.all_rows / ROWS_PREPARED_PER_S

    def needs(self) -> Needs:
        data = self.scale.data_bytes
        memory = self.setup.memory_bytes
        if not self.limited:
            memory = min(memory, self.scale.widest_bytes)
        return Needs(
            # Logs and files that wait for their removal take as much again.
            disk_bytes=3 * 2 * data,
            memory_bytes=3 * (memory + SERVER_BYTES),
            memory_groups=self.limited,
        )

    def options(self, engine: Engine) -> tuple[str, ...]:
        if not self.limited or engine.library is None:
            return ()
        # InnoDB's changed pages are in its pool; RocksDB's memtables come beside its cache.
        return (f"--rocksdb-db-write-buffer-size={MEMTABLE_BYTES}",)

    @contextmanager
    def place(self, engine: Engine, directory: Path) -> Iterator[Path]:
        if not self.limited:
            yield directory / "data"
            return
        limit = self.setup.memory_bytes + SERVER_BYTES
        with memory_group.limited(memory_group.name_of(f"sysbench-{engine.key}"), limit) as group:
            self._groups[engine.key] = group
            yield directory / "data"

    def started(self, server: BenchServer) -> None:
        if self.limited and server.pid is not None:
            self._groups[server.engine.key].add(server.pid)

    # ---- preparing and checking -----------------------------------------------------------------

    def prepare(self, server: BenchServer) -> None:
        server.query(f"CREATE DATABASE {program.DATABASE}")
        seeded = ("--threads=1", "--events=1", "--time=0", f"--rand-seed={SEED}", "run")
        self._sysbench(server, (str(TABLES), *self._size(), *seeded), 60 + 20 * self.prepare_s)
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            scale = self.scale
            queries.create(cursor, scale.permuted_tables, scale.rows, server.engine.sql_name)
            for table in self._tables():
                cursor.execute(f"ANALYZE TABLE {table}")
                cursor.fetchall()
            if server.loads_plugin:
                # A table of this size is in files wherever a server is older than minutes.
                cursor.execute("SET GLOBAL rocksdb_force_flush_memtable_now = ON")

    def warm_up(self, server: BenchServer) -> None:
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            for table in self._tables():
                cursor.execute(f"SELECT SUM(LENGTH(c)) FROM {table} FORCE INDEX (PRIMARY)")
                cursor.execute(f"SELECT SUM(k) FROM {table} FORCE INDEX ({_key(table)})")

    def facts(self, server: BenchServer) -> Facts:
        found: dict[str, Any] = {}
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            for table in self._tables():
                cursor.execute(f"SELECT COUNT(*) FROM {table}")
                found[f"rows of {table}"] = cursor.fetchone()[0]
                cursor.execute(f"CHECKSUM TABLE {table}")
                found[f"checksum of {table}"] = cursor.fetchone()[1]
            for query in queries.QUERIES:
                if query.name in self._names:
                    answer = query.sample(cursor, self.scale.permuted_rows)
                    found[f"answers of {query.name}"] = answer
        return found

    def problems(self, server: BenchServer) -> list[str]:
        with server.connect() as connection, connection.cursor() as cursor:
            return list(program.problems_of_tables(cursor, engine=server.engine.sql_name))

    # ---- measuring ------------------------------------------------------------------------------

    def _run_script(self, script: str, threads: int, server: BenchServer, number: int) -> Outcome:
        arguments: tuple[str, ...] = self._length(threads, number)
        if script == "bulk_insert":
            # It makes tables of its own, by the names of the others', and cannot use them twice.
            database = f"{program.DATABASE}_bulk"
            server.query(f"CREATE OR REPLACE DATABASE {database}")
            arguments = (f"--mysql-db={database}", *arguments)
            self._sysbench(server, (script, *arguments, "prepare"), GRACE_S)
        else:
            arguments = (*self._size(), *arguments)
        if self.limited or script == "oltp_delete":
            arguments = (*arguments, "--rand-type=uniform")
        outcome = self._measure(server, script, threads, (script, *arguments, "run"))
        if script == "oltp_delete":
            self._put_back(server)
        return outcome

    def _run_query(self, query: Query, threads: int, server: BenchServer, number: int) -> Outcome:
        arguments = (
            str(STATEMENT),
            f"--statement={query.text}",
            f"--rows={self.scale.permuted_rows}",
            f"--span={query.span}",
            *self._length(threads, number),
            "run",
        )
        grace_s = GRACE_S + 20 * self._late_s(query, threads)
        return self._measure(server, query.name, threads, arguments, grace_s)

    def _measure(
        self,
        server: BenchServer,
        name: str,
        threads: int,
        arguments: tuple[str, ...],
        grace_s: float = GRACE_S,
    ) -> Outcome:
        missed = server.cache_misses()
        before = idle.work_of(server.pid or 0)
        output = self._sysbench(server, arguments, self.scale.seconds + grace_s)
        used_s = idle.work_of(server.pid or 0).cpu_s - before.cpu_s
        missed = server.cache_misses() - missed
        report = program.read_report(name, 0, output)
        if report.errors or report.events == 0:
            errors = "; ".join(report.errors) or "it has done nothing"
            raise CairnError(f"{name} on {server.engine.title}: {errors}")
        return Outcome(
            [
                Measurement(
                    f"{name}/{threads}",
                    "rows/s" if name == "bulk_insert" else "1/s",
                    report.per_second,
                    points=report.points,
                    details={
                        "average_ms": report.average_ms,
                        "p95_ms": report.p95_ms,
                        "conflicts": report.conflicts,
                        CPU: 1e6 * used_s / report.events,
                        "cache_misses": missed / report.events,
                    },
                )
            ],
            notes=self._notes(name, missed / report.events),
        )

    def _notes(self, name: str, misses: float) -> tuple[str, ...]:
        # Compactions of what was written miss the cache by design.
        if self.limited or name in WRITING or misses <= CACHED_MISSES:
            return ()
        return (f"{name} is not cached: {misses:.2g} blocks or pages a statement were not there",)

    def _put_back(self, server: BenchServer) -> None:
        """Inserts what oltp_delete has taken, so that the next round meets full tables."""
        rows = self.scale.rows
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            for table in self._tables()[:-1]:
                cursor.execute(
                    f"INSERT INTO {table} (id, k, c, pad) "
                    f"SELECT p.id, 1 + p.k MOD {rows}, p.c, p.pad FROM {queries.TABLE} p "
                    f"LEFT JOIN {table} t ON t.id = p.id WHERE t.id IS NULL AND p.id <= {rows}"
                )

    # ---- sysbench -------------------------------------------------------------------------------

    def _tables(self) -> list[str]:
        return [*(f"sbtest{n}" for n in range(1, self.scale.tables + 1)), queries.TABLE]

    def _size(self) -> tuple[str, ...]:
        return (f"--tables={self.scale.tables}", f"--table-size={self.scale.rows}")

    def _length(self, threads: int, number: int) -> tuple[str, ...]:
        # Each round chooses other rows, and every engine the same ones.
        seed = SEED + number
        return (
            f"--threads={threads}",
            f"--time={self.scale.seconds:g}",
            f"--rand-seed={seed}",
            "--report-interval=1",
        )

    def _sysbench(self, server: BenchServer, arguments: tuple[str, ...], limit_s: float) -> str:
        """The program's output; an exit status other than 0 is an error."""
        script, *rest = arguments
        engine = (
            (f"--mysql_storage_engine={server.engine.sql_name}",)
            if script.startswith(("oltp", "select")) or script == str(TABLES)
            else ()
        )
        status, output = program.execute(
            server.mariadb,
            server.socket,
            (script, *engine, *rest),
            limit_s=limit_s,
            log=server.directory / "sysbench.log",
        )
        if status != 0:
            raise CairnError(
                f"sysbench {Path(script).stem} fails on {server.engine.title} "
                f"(exit status {status}):\n{output[-1500:]}"
            )
        return output


def _key(table: str) -> str:
    """The name of a table's secondary index."""
    return "k" if table == queries.TABLE else f"k_{table.removeprefix('sbtest')}"


# ---- the workloads -----------------------------------------------------------------------------


def workloads(settings: Settings) -> list[Sysbench]:
    """Combinations of durability, binary log and size.

    Reading does not depend on the first two and is measured on one of them, which is also the one
    of quick runs, unless the user names others. What lies between the ends, commits that are
    written but not synced, is measured once: the stock plug-in cannot do it.
    """
    made = [
        _workload(settings, durability, binary_log=binary_log, large=large)
        for large in (False, True)
        for durability in (Durability.SYNCED, Durability.BUFFERED)
        for binary_log in (False, True)
    ]
    made.append(_workload(settings, Durability.WRITTEN, binary_log=False, large=False))
    if not settings.quick:
        return made
    return [made[0], *(each for each in made[1:] if settings.asks_for(each.name))]


# What the names of workloads say of commits.
_WORDS = {
    Durability.SYNCED: "durable",
    Durability.WRITTEN: "written",
    Durability.BUFFERED: "relaxed",
}


def _workload(
    settings: Settings, durability: Durability, *, binary_log: bool, large: bool
) -> Sysbench:
    scale = _scale(settings, large=large)
    only_writing = binary_log or durability is not Durability.SYNCED
    if large and not only_writing:
        # One table alone would fit into memory.
        scale = replace(scale, permuted_tables=scale.tables)
    memory = settings.memory_bytes or (512 * MIB if large else _roomy(scale))
    words = [
        _WORDS[durability],
        *(["binlog"] if binary_log else []),
        *(["large"] if large else []),
    ]
    all_reading = (*READING, *(query.name for query in queries.QUERIES))
    names = WRITING if only_writing else (*all_reading, *WRITING)
    if settings.quick and not settings.names:
        names = tuple(name for name in names if name in QUICK)
    return Sysbench(
        f"sysbench-{'-'.join(words)}",
        f"{scale.tables} tables of {scale.rows:,} rows, "
        f"{'larger than memory' if large else 'cached'}, "
        f"{durability.title()}, "
        f"binary log {'on' if binary_log else 'off'}",
        Setup(memory, durability, binary_log),
        scale,
        names,
        limited=large,
    )


def _scale(settings: Settings, *, large: bool) -> Scale:
    base = LARGE_SCALE if large else QUICK_SCALE if settings.quick else CACHED_SCALE
    if settings.quick:
        base = replace(base, seconds=QUICK_SCALE.seconds, threads=QUICK_SCALE.threads)
    chosen = {
        "tables": settings.tables,
        "rows": settings.rows,
        "seconds": settings.seconds,
        "threads": settings.threads,
    }
    return replace(base, **{name: value for name, value in chosen.items() if value is not None})


def _roomy(scale: Scale) -> int:
    """A cache that holds the tables of any engine with room to spare, in whole MiB."""
    return max(512 * MIB, -(-scale.widest_bytes * 3 // 2 // MIB) * MIB)

"""What foreign keys cost: children that look for their parent, parents that take theirs along."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cairn import sysbench as program
from cairn.bench import idle, one_processor
from cairn.bench.engines import MIB, BenchServer, Durability, Engine, Setup
from cairn.bench.results import CPU
from cairn.bench.settings import Settings
from cairn.bench.workload import Case, Measurement, Outcome, Workload
from cairn.errors import CairnError

SCRIPT = Path(__file__).parent / "lua" / "foreign_keys.lua"
SEED = 20_260_101
PARENTS = 10_000
CHILDREN_OF_ONE = 1000
CASCADES = 50  # Parents that are deleted, each with so many children.
GRACE_S = 300.0
_START_S = 5.0
_CHILDREN_LOADED_PER_S = 20_000


@dataclass(frozen=True)
class Insert:
    """Clients that insert children of so many parents; with `own`, each of one."""

    name: str
    threads: int
    parents: int
    own: bool
    one_processor: bool = False  # For client and server.


INSERTS = (
    Insert("insert_child", 1, PARENTS, own=False),
    Insert("insert_child_one_processor", 1, PARENTS, own=False, one_processor=True),
    Insert("insert_child", 16, PARENTS, own=False),
    Insert("insert_one_parent", 64, 1, own=True),
    Insert("insert_64_parents", 64, 64, own=True),
)


class ForeignKeys(Workload):
    """Two tables, of which one references the other."""

    name = "foreign-keys"
    title = "one foreign key: inserts of children, deletes that cascade"

    def __init__(self, seconds: float, inserts: tuple[Insert, ...] = INSERTS) -> None:
        self.setup = Setup(512 * MIB, Durability.BUFFERED)
        self._seconds = seconds
        self._inserts = inserts

    @property
    def cases(self) -> list[Case]:
        made = [
            Case(f"{each.name}/{each.threads}", self._seconds + 1, partial(self._insert, each))
            for each in self._inserts
        ]
        cascade_s = 2 * CASCADES * CHILDREN_OF_ONE / _CHILDREN_LOADED_PER_S
        return [*made, Case("cascade_1000/1", cascade_s, self._cascade)]

    @property
    def prepare_s(self) -> float:
        return _START_S

    def runs_on(self, engine: Engine) -> bool:
        # The stock plug-in takes no foreign keys.
        return engine.key != "stock"

    def prepare(self, server: BenchServer) -> None:
        server.query(f"CREATE DATABASE {program.DATABASE}")
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE parent (id INT PRIMARY KEY, pad VARCHAR(100))")
            cursor.execute(
                "CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, "
                "pad VARCHAR(100), KEY (parent), "
                "FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)"
            )
            cursor.execute(
                f"INSERT INTO parent SELECT seq, REPEAT('p', 50) FROM seq_1_to_{PARENTS}"
            )

    def problems(self, server: BenchServer) -> list[str]:
        ((orphans,),) = server.query(
            f"SELECT COUNT(*) FROM {program.DATABASE}.child AS c "
            f"LEFT JOIN {program.DATABASE}.parent AS p ON c.parent = p.id WHERE p.id IS NULL"
        )
        return [f"{orphans} children have no parent"] if orphans else []

    def _insert(self, insert: Insert, server: BenchServer, number: int) -> Outcome:
        server.query(f"TRUNCATE {program.DATABASE}.child")
        before = idle.work_of(server.pid or 0)
        with one_processor.together(server.pid or 0) if insert.one_processor else nullcontext():
            status, output = program.execute(
                server.mariadb,
                server.socket,
                (
                    str(SCRIPT),
                    f"--parents={insert.parents}",
                    f"--own={int(insert.own)}",
                    f"--threads={insert.threads}",
                    f"--time={self._seconds:g}",
                    f"--rand-seed={SEED + number}",
                    "--report-interval=1",
                    "run",
                ),
                limit_s=self._seconds + GRACE_S,
                log=server.directory / "sysbench.log",
            )
        used_s = idle.work_of(server.pid or 0).cpu_s - before.cpu_s
        name = f"{insert.name}/{insert.threads}"
        report = program.read_report(name, status, output)
        if status != 0 or report.errors or report.events == 0:
            errors = "; ".join(report.errors) or output[-500:]
            raise CairnError(f"{name} on {server.engine.title}: {errors}")
        details = {"p95_ms": report.p95_ms, CPU: 1e6 * used_s / report.events}
        return Outcome([Measurement(name, "1/s", report.per_second, details=details)])

    def _cascade(self, server: BenchServer, number: int) -> Outcome:
        """Deletes parents with their children; the time of the load does not count."""
        first = PARENTS + 1
        last = PARENTS + CASCADES
        with server.connect(database=program.DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute("TRUNCATE child")
            cursor.execute(f"INSERT INTO parent SELECT seq, 'p' FROM seq_{first}_to_{last}")
            for parent in range(first, last + 1):
                cursor.execute(
                    "INSERT INTO child (parent, pad) "
                    f"SELECT {parent}, 'some text' FROM seq_1_to_{CHILDREN_OF_ONE}"
                )
            before = idle.work_of(server.pid or 0)
            begun = time.monotonic()
            for parent in range(first, last + 1):
                cursor.execute(f"DELETE FROM parent WHERE id = {parent}")
            seconds = time.monotonic() - begun
            used_s = idle.work_of(server.pid or 0).cpu_s - before.cpu_s
            cursor.execute("SELECT COUNT(*) FROM child")
            ((left,),) = cursor.fetchall()
        if left:
            raise CairnError(f"{server.engine.title}: {left} children are left without parent")
        details = {CPU: 1e6 * used_s / CASCADES}
        return Outcome([Measurement("cascade_1000/1", "1/s", CASCADES / seconds, details=details)])


def workloads(settings: Settings) -> list[ForeignKeys]:
    """The one workload; a quick bench has it only when it is asked for by name."""
    if settings.quick and not settings.asks_for(ForeignKeys.name):
        return []
    return [ForeignKeys(settings.seconds or (2 if settings.quick else 10))]

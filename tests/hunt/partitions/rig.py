"""A server with partitioned tables that is killed, and what it has promised its clients."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cairn import files
from cairn.prefix import Server
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, remove
from tests.crash import writer
from tests.crash.command import OPTIONS
from tests.crash.writer import Writer
from tests.hunt.partitions import load, maintainer
from tests.hunt.partitions.maintainer import SCHEMA
from tests.hunt.partitions.memory_group import MemoryGroup

MAINTAINERS = 3
WRITERS = 8
SPARE_BYTES = 16 << 20
HOG_BYTES = 500_000_000
OUT_OF_MEMORY_S = 20
SETTLED_S = 5
START_S = 300
UNREADABLE_DDL_LOG = "DDL_LOG: Failed to read ddl log file"


class ServerGap(Exception):
    """The server's own recovery lost a definition, as it does with every engine."""


@dataclass(frozen=True)
class Plan:
    """One kill; follows from the random numbers of a round."""

    load_s: float
    out_of_memory: bool
    seed: int
    # When the restart is killed as well, so many seconds after its begin.
    second_kill_s: float | None

    @staticmethod
    def of(chance: random.Random) -> Plan:
        return Plan(
            load_s=chance.uniform(0.3, 2.0),
            out_of_memory=chance.random() < 0.3,
            seed=chance.randrange(1 << 32),
            second_kill_s=chance.uniform(0.02, 0.5) if chance.random() < 0.2 else None,
        )


class Rig:
    """One data directory with one server, up to the first thing that is wrong."""

    def __init__(
        self,
        mariadb: Server,
        directory: Path,
        *,
        group: MemoryGroup | None,
        library: Path | None = None,
    ) -> None:
        """Without a `group` no kill is by memory; `library`: in place of the plug-in under test."""
        # The stock plug-in refuses EXCHANGE PARTITION and CONVERT TABLE with 1736.
        self.exchanges = library is None
        self.directory = directory
        self.group = group
        self.server = ScratchServer(
            mariadb,
            directory,
            (
                *(*OPTIONS, "--max-allowed-packet=1G", "--table-cache=2000"),
                # Without a binary log MariaDB 10.11 decides by tc.log, and rolls back all that is
                # prepared in one of two engines, also what was acknowledged (xarecover_handlerton).
                *("--log-bin=binlog", "--server-id=1", "--sync-binlog=1"),
                # Without the engine, recovery by the binary log would leave its part open.
                "--rocksdb=FORCE",
            ),
        )
        self.server.library = library
        self.server.start_s = START_S
        if group is not None:
            self.server.wrapper = group.wrapper()
        self.maintainers = [maintainer.Promise(number) for number in range(MAINTAINERS)]
        self.writers = [load.Promise(number) for number in range(WRITERS)]
        self.tables = [each.name for each in self.maintainers]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.server)
            journal = self.directory / "acknowledged.log"
            self.journal = stack.enter_context(journal.open("a", encoding="utf-8"))
            self.server.start()
            self.server.execute(
                f"CREATE DATABASE {SCHEMA}",
                *(statement for each in self.maintainers for statement in each.create()),
                load.CREATE,
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def remove(self) -> None:
        """Removes its files; the server is not there any more."""
        remove(self.directory)

    # ---- a kill ---------------------------------------------------------------------------------

    def kill(self, plan: Plan) -> tuple[int, list[str]]:
        """Load, kill, restart, check; how much was acknowledged and what is wrong.

        Raises ServerGap when the rest cannot be checked, which is not our doing.
        """
        self.journal.write(f"{plan}\n")
        clients = self._clients(random.Random(plan.seed))
        wrong = writer.kill_under_load(
            self.server, clients, plan.load_s, self._exhaust if plan.out_of_memory else None
        )
        if self.group is not None:
            self.group.loosen()
        acknowledged = sum(each.acknowledged for each in clients)
        if wrong:
            return acknowledged, wrong
        copy = self.directory / "before-restart"
        files.remove(copy)
        shutil.copytree(self.server.data / ENGINE_DIRECTORY, copy / ENGINE_DIRECTORY)
        shutil.copytree(self.server.data / SCHEMA, copy / SCHEMA)
        if plan.second_kill_s is not None:
            self.server.launch()
            time.sleep(plan.second_kill_s)
            self.server.kill()
        self.server.start()
        return acknowledged, self._check(was_killed_twice=plan.second_kill_s is not None)

    def _clients(self, chance: random.Random) -> list[Writer]:
        def numbers() -> random.Random:
            return random.Random(chance.random())

        connect, journal = self.server.connect, self.journal
        return [
            *(
                # One table each: to open a hundred partitions takes a while.
                load.PartitionWriter(
                    each, self.tables[each.writer % MAINTAINERS], connect, journal, numbers()
                )
                for each in self.writers
            ),
            *(
                maintainer.Maintainer(each, connect, journal, numbers(), exchanges=self.exchanges)
                for each in self.maintainers
            ),
        ]

    def _exhaust(self) -> list[str]:
        """Takes memory in the server until the kernel kills it, where there is a group for that."""
        import pymysql

        group = self.group
        if group is None:
            return []
        before = group.kills()
        group.tighten(SPARE_BYTES)
        limit = time.monotonic() + OUT_OF_MEMORY_S
        answer = "it still takes memory"
        try:
            with self.server.connect() as connection, connection.cursor() as cursor:
                number = 0
                while time.monotonic() < limit:
                    cursor.execute(f"SET @hog{number} = REPEAT('x', {HOG_BYTES})")
                    number += 1
        except (pymysql.MySQLError, OSError) as error:
            answer = str(error)
        while self.server.is_alive() and time.monotonic() < limit:
            time.sleep(0.01)
        if self.server.ending() != "SIGKILL" or group.kills() == before:
            how = self.server.ending() or f"it lives, and the last answer was: {answer}"
            return [f"The kernel did not kill the server: {how}\n{self.server.excerpt()}"]
        return []

    # ---- checks ---------------------------------------------------------------------------------

    def _check(self, *, was_killed_twice: bool) -> list[str]:
        with self.server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}'"
            )
            listed = {name for (name,) in cursor.fetchall()}
            self._notice_gaps(listed)
            wrong = complaints(self.server.errors(), was_killed_twice=was_killed_twice)
            wrong += definitions(cursor, self.server.data / SCHEMA, listed)
            for each in self.maintainers:
                wrong += maintainer.settle(each, cursor)
            rows_in = [f"{SCHEMA}.{name}" for name in sorted(listed) if name.startswith("t")]
            wrong += load.check(self.writers, rows_in, cursor)
            names = [f"{SCHEMA}.`{name}`" for name in sorted(listed)]
            wrong += writer.check_tables(cursor, names, extended=True)
        return wrong

    def _notice_gaps(self, listed: set[str]) -> None:
        for each in self.maintainers:
            name = each.name.partition(".")[2]
            is_pending = each.pending is not None
            if is_pending and lost_by_convert(
                each.statement, name, listed, self.server.data / SCHEMA
            ):
                raise ServerGap(each.statement)


def lost_by_convert(statement: str, name: str, listed: set[str], folder: Path) -> bool:
    """Whether a kill between two renames of CONVERT has left a table without one of its files.

    Recovery does not look where the definition is then, or takes it back and removes the list of
    partitions, which had not been renamed yet.
    """
    return " CONVERT " in statement and (
        name not in listed or not (folder / f"{name}.par").is_file()
    )


def complaints(lines: Sequence[str], *, was_killed_twice: bool) -> list[str]:
    """The errors of the server's log since its start that a kill does not explain.

    Once DDL is recovered the server begins its log anew. Killed then, it leaves a file without a
    header, says at the next start that it cannot read it, and begins it anew once more.
    """
    wrong = [line for line in lines if "RocksDB" in line or "DDL_LOG" in line]
    return [line for line in wrong if not (was_killed_twice and UNREADABLE_DDL_LOG in line)]


def definitions(cursor: Any, folder: Path, listed: set[str]) -> list[str]:
    """Differences between the server's tables, the engine's dictionary and the files."""
    import pymysql

    wrong = []
    for name in sorted(listed):
        try:
            cursor.execute(f"SHOW CREATE TABLE {SCHEMA}.`{name}`")
            cursor.execute(f"SELECT COUNT(*) FROM {SCHEMA}.`{name}`")
        except pymysql.MySQLError as error:
            wrong.append(f"{SCHEMA}.{name} is listed but does not open: {error}")
    cursor.execute(
        "SELECT p.table_name, COALESCE(p.partition_name, '') FROM information_schema.partitions p "
        "JOIN information_schema.tables t USING (table_schema, table_name) "
        f"WHERE p.table_schema = '{SCHEMA}' AND t.engine = 'ROCKSDB'"
    )
    expected = set(cursor.fetchall())
    known = _known(cursor)
    limit = time.monotonic() + SETTLED_S
    while known != expected and time.monotonic() < limit:
        # What a statement left that was cut off goes soon after the start.
        time.sleep(0.1)
        known = _known(cursor)
    wrong += [f"in the engine's dictionary only: {each}" for each in sorted(known - expected)]
    wrong += [f"not in the engine's dictionary: {each}" for each in sorted(expected - known)]
    for path in sorted(folder.iterdir()):
        table = path.name.partition(".")[0].partition("#P#")[0]
        if path.name != "db.opt" and (table not in listed or "#sql" in path.name.lower()):
            wrong.append(f"a file is left over: {path.name}")
    wrong += [f"a file is left over: {path.name}" for path in sorted(folder.parent.glob("#sql*"))]
    return wrong


def _known(cursor: Any) -> set[tuple[str, str]]:
    cursor.execute(
        "SELECT DISTINCT table_name, COALESCE(partition_name, '') FROM "
        f"information_schema.rocksdb_ddl WHERE table_schema = '{SCHEMA}'"
    )
    return set(cursor.fetchall())

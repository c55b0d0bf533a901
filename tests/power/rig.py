"""A server on a disk whose power is cut, and what it has promised its clients."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer
from tests.crash import bank, definitions, inserts, mixed, registers, writer
from tests.crash.command import OPTIONS
from tests.crash.writer import Writer
from tests.power import log, xa
from tests.power.disk import LOSSES, Disk

MIXED_CLIENTS = 3
XA_CLIENTS = 2
START_S = 300
_NOT_IN_ENGINE = 1815
_ASKED_MODE = "start once with rocksdb_wal_recovery_mode=2 to go back to before the damage"
# What the server says of a binary log that ends within an event, as it may.
TORN_LOG = ("Error in Log_event::read_log_event()",)
# Rows of these are only ever inserted, so that the binary log has them all.
LOGGED = {
    "crash.rocks_line": "client, id",
    "crash.inno_line": "client, id",
    inserts.TABLE: "writer, id",
    **dict.fromkeys(xa.TABLES, "client, id"),
}


@dataclass(frozen=True)
class Plan:
    """One cut; follows from the random numbers of a round."""

    load_s: float
    sync_us: int
    loss: str
    sector: int
    seed: int
    # When the power goes again, so many seconds after the restart began.
    second_cut_s: float | None

    @staticmethod
    def of(chance: random.Random) -> Plan:
        return Plan(
            load_s=chance.uniform(0.1, 0.9),
            sync_us=chance.choice((0, 200, 1000, 3000)),
            loss=chance.choice(LOSSES),
            sector=chance.choice((512, 4096)),
            seed=chance.randrange(1 << 32),
            second_cut_s=chance.uniform(0.02, 0.5) if chance.random() < 0.2 else None,
        )


def durable(durability: int) -> tuple[str, ...]:
    """The server's options for acknowledged changes to be durable (1), or not yet (2)."""
    return (
        f"--rocksdb-flush-log-at-trx-commit={durability}",
        f"--innodb-flush-log-at-trx-commit={durability}",
        f"--sync-binlog={1 if durability == 1 else 0}",
    )


class Rig:
    """One disk with one server, from its first start up to the first thing that is wrong."""

    def __init__(self, mariadb: Server, directory: Path, durability: int = 1) -> None:
        self.mariadb = mariadb
        self.directory = directory
        self.durability = durability
        self.disk = Disk(directory / "disk")
        self.mixed = [mixed.Promise(number) for number in range(MIXED_CLIENTS)]
        self.xa = [xa.Promise(number) for number in range(XA_CLIENTS)]
        self.inserts = inserts.Promise(0)
        self.register = registers.Promise(0)
        self.clerk = bank.Promise(0)
        self.definitions = definitions.Promise()
        self.inserted = log.Inserted()
        self.logs_read: set[str] = set()
        self.last_cut = ""
        # What the cut brought back by no fault of the engine: definitions of dropped tables, and
        # transactions that InnoDB had rolled back.
        self.gaps = 0
        # Starts that were refused until an operator chose another recovery mode.
        self.refused = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.disk)
            self.server = stack.enter_context(
                ScratchServer(
                    self.mariadb,
                    self.directory / "server",
                    (
                        *OPTIONS,
                        *durable(self.durability),
                        *("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"),
                        # Without the engine, recovery by the binary log would leave its part open.
                        "--rocksdb=FORCE",
                        # Files end often, and each end asks the engines for what is durable.
                        "--max-binlog-size=256k",
                    ),
                    data=self.disk.path / "data",
                )
            )
            self.server.start_s = START_S
            journal = self.directory / "acknowledged.log"
            self.journal = stack.enter_context(journal.open("a", encoding="utf-8"))
            self._prepare()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _prepare(self) -> None:
        self.server.start()
        self.server.execute(
            *(f"CREATE DATABASE {schema}" for schema in ("crash", definitions.SCHEMA)),
            *(*mixed.CREATE, *mixed.FILL, *xa.CREATE),
            *(inserts.CREATE, registers.CREATE, *bank.CREATE),
        )
        self.disk.sync()
        # The server renames and removes definitions without a sync of their directory, and relies
        # on the order that the journals of file systems keep. The engine must not.
        self.disk.name_rule("journal")
        self.disk.name_rule("directory", f"data/{ENGINE_DIRECTORY}")

    # ---- a cut ----------------------------------------------------------------------------------

    def cut(self, plan: Plan) -> tuple[int, list[str]]:
        """Load, cut, restart, check; how much was acknowledged and what is wrong."""
        self.journal.write(f"{plan}\n")
        self.disk.delay(plan.sync_us)
        writers = self._writers(random.Random(plan.seed))
        wrong = writer.kill_under_load(self.server, writers, plan.load_s)
        acknowledged = sum(each.acknowledged for each in writers)
        if wrong:
            return acknowledged, wrong
        self._lose(plan, plan.seed)
        if plan.second_cut_s is not None:
            self.server.launch()
            time.sleep(plan.second_cut_s)
            self.server.kill()
            self._lose(plan, plan.seed + 1)
        self.disk.delay(0)
        self._restart()
        return acknowledged, self._check()

    def _restart(self) -> None:
        """Starts the server, with the recovery mode that it asks for where it does.

        A log whose unsynced end is there in parts is refused, and mode 2 goes back to before them.
        What was acknowledged must then be there all the same.
        """
        try:
            self.server.start()
        except CairnError as error:
            if _ASKED_MODE not in str(error):
                raise
            self.server.kill()
            self.refused += 1
            self.server.start("--rocksdb-wal-recovery-mode=2")

    def _lose(self, plan: Plan, seed: int) -> None:
        self.last_cut = self.disk.cut(plan.loss, plan.sector, seed)

    def _writers(self, chance: random.Random) -> list[Writer]:
        def numbers() -> random.Random:
            return random.Random(chance.random())

        connect, journal = self.server.connect, self.journal
        return [
            *(mixed.MixedWriter(each, connect, journal, numbers()) for each in self.mixed),
            *(xa.XaWriter(each, connect, journal, numbers()) for each in self.xa),
            inserts.InsertWriter(self.inserts, connect, journal, numbers()),
            registers.RegisterWriter(self.register, connect, journal, numbers()),
            bank.Clerk(self.clerk, connect, journal, numbers()),
            definitions.Definer(self.definitions, connect, journal, numbers()),
        ]

    # ---- checks ---------------------------------------------------------------------------------

    def _check(self) -> list[str]:
        with self.server.connect() as connection, connection.cursor() as cursor:
            wrong = [
                f"The error log: {line}"
                for line in self.server.errors()
                if not any(text in line for text in TORN_LOG)
            ]
            self._read_logs(cursor)
            wrong += mixed.check(self.mixed, cursor)
            wrong += inserts.check(self.inserts, cursor)
            wrong += registers.check(self.register, cursor)
            wrong += bank.check([self.clerk], cursor)
            # What it decides now, the next file of the binary log has.
            undecided = {(each.client, each.current) for each in self.xa}
            found_xa, listed_again = xa.check(self.xa, cursor, self.server.log())
            wrong += found_xa
            self.gaps += listed_again
            wrong += self._compare_logs(cursor, undecided)
            self.gaps += _remove_dropped(self.definitions, cursor)
            found = definitions.check(self.definitions, cursor)
            wrong += found.wrong + found.left_over
            tables = writer.listed(cursor, f"table_schema IN ('crash', '{definitions.SCHEMA}')")
            wrong += writer.check_tables(cursor, tables, extended=True)
        return wrong

    def _read_logs(self, cursor: Any) -> None:
        """Takes in the files before the one that the last start opened."""
        cursor.execute("SHOW BINARY LOGS")
        names = [row[0] for row in cursor.fetchall()][:-1]
        new = [name for name in names if name not in self.logs_read]
        log.read_files(self.mariadb, (self.server.data / name for name in new), self.inserted)
        self.logs_read.update(new)

    def _compare_logs(self, cursor: Any, undecided: set[tuple[int, int | None]]) -> list[str]:
        """Rows that a table has and the binary log does not, or the other way round."""
        wrong = []
        for table, columns in LOGGED.items():
            cursor.execute(f"SELECT {columns} FROM {table}")
            found = set(cursor.fetchall())
            logged = self.inserted.rows[table]
            if table in xa.TABLES:
                found -= undecided
                logged = logged - undecided
            if extra := found - logged:
                wrong.append(f"{table} has rows that the binary log lacks: {writer.brief(extra)}")
            if lost := logged - found:
                wrong.append(f"the binary log has rows that {table} lacks: {writer.brief(lost)}")
        return wrong


def _remove_dropped(promise: definitions.Promise, cursor: Any) -> int:
    """Drops again what was dropped and came back; returns how many tables that were.

    The server removes the definition of a dropped table last and does not sync the directory, so
    that a power cut brings it back without the table. It does the same with every engine.
    """
    import pymysql

    cursor.execute(
        "SELECT table_name FROM information_schema.tables "
        f"WHERE table_schema = '{definitions.SCHEMA}'"
    )
    after = promise.tables if promise.pending is None else promise.pending
    gone = [n for (n,) in cursor.fetchall() if n not in promise.tables or n not in after]
    count = 0
    for name in gone:
        try:
            cursor.execute(f"SELECT COUNT(*) FROM {definitions.SCHEMA}.{name}")
        except pymysql.MySQLError as error:
            if error.args[0] == _NOT_IN_ENGINE:
                with suppress(pymysql.MySQLError):
                    cursor.execute(f"DROP TABLE {definitions.SCHEMA}.{name}")
                count += 1
    return count

"""./cairn acceptance migrate: tables go from InnoDB to ROCKSDB and back under load and kills.

Clients write all the while and know their rows. The command, the server and both are killed in each
phase and at random; what is resumed ends with every table converted, every row as its client was
told, foreign keys in force and nothing left over.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs
from tests.acceptance.migrate import checks, replica, tables
from tests.acceptance.migrate.clients import Client
from tests.acceptance.migrate.kills import Kills
from tests.acceptance.migrate.tool import Tool, ended, kill

HOME = VAR / "acceptance" / "migrate"
OPTIONS = (
    "--innodb-buffer-pool-size=256M",
    "--innodb-log-file-size=96M",
    "--innodb-lock-wait-timeout=10",
    "--max-connections=200",
)
BINARY_LOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
CLIENTS = 3
STATEMENT_S = 1800
SLOW_S = 6


def run(
    rows: int, seed: int | None, random_kills: int, *, binary_log: bool, with_replica: bool
) -> int:
    """The exit status: 0 when nothing was wrong."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    seed = runs.chosen_seed(seed)
    say(f"  Seed {seed}")
    options = OPTIONS + (BINARY_LOG if binary_log else ())
    with own_directory(HOME):
        with ScratchServer(mariadb, HOME, options=options) as server:
            wrong = _Run(server, reporter, Random(seed), binary_log).all(rows, random_kills)
        if with_replica:
            wrong += replica.run(mariadb, HOME / "replica", reporter, Random(seed))
        for text in wrong:
            say(f"  {text}")
        runs.leave(HOME, wrong, f"; again with --seed {seed}")
    say("")
    say(f"failed: {len(wrong)}" if wrong else "passed")
    return 1 if wrong else 0


class _Run:
    """The server, the clients and what was found wrong."""

    def __init__(
        self, server: ScratchServer, reporter: Reporter, chance: Random, binary_log: bool
    ) -> None:
        self.binary_log = binary_log
        self.server, self.reporter, self.chance = server, reporter, chance
        self.tool = Tool(server.socket, HOME / "migrate.log")
        self.clients: list[Client] = []
        self.before: checks.Sums = {}
        self.wrong: list[str] = []

    def all(self, rows: int, random_kills: int) -> list[str]:
        self._load(rows)
        try:
            with self._clients():
                self._plan()
                if self.binary_log:
                    self._refusals_and_pauses()
                    self._bad_copies(rows)
                    self._slow_copies()
                with self.reporter.phase("Each phase") as phase:
                    kills = self._kills(phase, ("--tables-at-a-time", "2"))
                    kills.each_phase()
                    phase.summary = f"{len(kills.done)} kills"
                    self._compare(kills.target)
                    kills.migrate_to("innodb")
                with self.reporter.phase("Random moments") as phase:
                    kills = self._kills(phase, ())
                    kills.at_random(random_kills)
                    phase.summary = f"{len(kills.done)} kills"
                    self._compare(kills.target)
                for target in ("innodb", "rocksdb", "innodb"):
                    self._undisturbed(target)
        except CairnError as error:
            self.wrong.append(str(error))
        return self.wrong

    def _kills(self, phase: Phase, options: tuple[str, ...]) -> Kills:
        return Kills(self.server, self.tool, self.chance, options, phase)

    def _load(self, rows: int) -> None:
        with self.reporter.phase("Tables") as phase:
            self.server.start()
            self.server.execute(
                *tables.create(), *tables.load(rows), read_timeout=STATEMENT_S, write_timeout=60
            )
            self.before = checks.loaded_sums(self.server)
            total = sum(int(sums[0]) for sums in self.before.values())
            phase.summary = f"{len(tables.MIGRATED)} tables, {total:,} rows"

    @contextmanager
    def _clients(self) -> Iterator[None]:
        for number in range(1, CLIENTS + 1):
            client = Client(number, self._connect, Random(self.chance.random()))
            client.start()
            self.clients.append(client)
        try:
            yield
        finally:
            for client in self.clients:
                client.ended = True
                client.go_on()
            for client in self.clients:
                client.join(60)
        committed = sum(client.committed for client in self.clients)
        refused = sum(client.refused for client in self.clients)
        say(
            f"  Clients: {committed:,} transactions, {refused:,} to be repeated, longest "
            f"{max(client.longest_s for client in self.clients):.1f} s, "
            f"{sum(client.lost for client in self.clients):,} connections lost or refused"
        )

    def _connect(self):  # type: ignore[no-untyped-def]
        return self.server.connect(
            database=tables.SCHEMA, read_timeout=STATEMENT_S, write_timeout=60
        )

    def _plan(self) -> None:
        with self.reporter.phase("Plan") as phase:
            before = self._schema()
            text = self.tool.run("plan", "--schema", tables.SCHEMA, "--json")
            self.wrong += checks.plan_is_as_expected(json.loads(text), self.binary_log)
            if self._schema() != before:
                self.wrong.append("the plan has changed something")
            phase.summary = "each class of tables; nothing is changed"

    def _schema(self) -> list[tuple]:
        return self.server.query(
            "SELECT table_schema, table_name, engine, create_time FROM information_schema.tables "
            "WHERE table_schema NOT IN ('information_schema', 'performance_schema') ORDER BY 1, 2"
        )

    def _refusals_and_pauses(self) -> None:
        """A second command, pause, an interrupt, and abandon after a kill."""
        arguments = ("run", "--table", f"{tables.SCHEMA}.events", "--rows-per-second", "500")
        with self.reporter.phase("Pause, abandon") as phase:
            running = self.tool.launch(*arguments)
            self._until_copying()
            self.tool.run("run", "--schema", tables.SCHEMA, expect=1)
            self.tool.run("abandon", expect=1)
            self.tool.run("pause")
            time.sleep(1.0)
            copied = self._copied()
            time.sleep(1.0)
            if self._copied() != copied:
                self.wrong.append("a paused migration goes on copying")
            self.tool.run("resume")
            self._until(lambda: self._copied() > copied, "a resumed migration does not go on")
            running.send_signal(signal.SIGINT)
            if not ended(running, 30):
                raise CairnError("An interrupted command does not end.")
            copied = self._copied()
            self.tool.run("pause")  # What resumes a migration ends its pause.
            running = self.tool.launch("run", "--resume")
            self._until(lambda: self._copied() > copied, "--resume does not go on")
            kill(running)
            self.tool.run("abandon")
            self._compare("innodb")
            phase.summary = "a second command is refused, nothing is left"

    def _bad_copies(self, rows: int) -> None:
        """A copy that differs, and one of a table that was altered, must not take its place."""
        events = f"{tables.SCHEMA}.events"
        with self.reporter.phase("Bad copies") as phase:
            self._spoil(
                rows,
                f"DELETE FROM {tables.SCHEMA}._cairn_migrate_1 WHERE owner = 0 LIMIT 1",
                "the copy differs",
            )
            self._spoil(rows, f"ALTER TABLE {events} ADD COLUMN extra INT", "was altered")
            self.server.execute(f"ALTER TABLE {events} DROP COLUMN extra")
            phase.summary = "are found and removed"

    def _slow_copies(self) -> None:
        """Online copies that take some seconds there and back, so that clients change much."""
        names = [table for table, (way, _) in tables.SINGLE.items() if way == "online"]
        loaded = sum(int(self.before[table][0]) for table in names)
        chosen = [word for table in names for word in ("--table", f"{tables.SCHEMA}.{table}")]
        limit = ("--rows-per-second", str(loaded // SLOW_S), "--tables-at-a-time", "3")
        with self.reporter.phase("Slow copies") as phase:
            self.tool.run("run", *chosen, *limit)
            self.tool.run("run", "--to", "innodb", *chosen, *limit)
            self._compare("innodb")
            phase.summary = f"{', '.join(names)}: there and back, equal"

    def _spoil(self, rows: int, statement: str, expected: str) -> None:
        """Runs a statement while events are copied; the command has to say what is expected."""
        limit = str(tables.event_rows(rows) // 4)
        events = f"{tables.SCHEMA}.events"
        running = self.tool.launch("run", "--table", events, "--rows-per-second", limit)
        self._until_copying()
        self.server.execute(statement)
        if not ended(running, 120) or running.returncode != 1:
            raise CairnError(f"{statement}: the command ended with {running.returncode}, not 1")
        if expected not in self.tool.log.read_text(encoding="utf-8").rpartition("== run")[2]:
            self.wrong.append(f"{statement}: the command does not say that {expected}")
        left = self.server.query(
            "SELECT table_name FROM information_schema.tables WHERE table_name LIKE "
            "'\\_cairn\\_migrate%' UNION SELECT trigger_name FROM information_schema.triggers "
            "WHERE trigger_name LIKE '\\_cairn%'"
        )
        if left:
            self.wrong.append(f"{statement}: left are {left}")
        self.tool.run("abandon")
        self._compare("innodb")

    def _until_copying(self) -> None:
        self._until(lambda: self._copied() > 0, "the migration does not begin to copy")

    def _copied(self) -> int:
        import pymysql

        try:
            return int(self.server.query("SELECT SUM(rows_copied) FROM cairn_migrate.tables")[0][0])
        except (pymysql.MySQLError, TypeError):  # There is no migration yet.
            return -1

    @staticmethod
    def _until(condition, text: str) -> None:  # type: ignore[no-untyped-def]
        limit = time.monotonic() + 60
        while not condition():
            if time.monotonic() > limit:
                raise CairnError(text)
            time.sleep(0.02)

    def _undisturbed(self, target: str) -> None:
        found = self.server.query(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = "
            f"'{tables.SCHEMA}' AND engine = '{target}' AND table_name = 'items'"
        )
        if found[0][0]:
            return
        with self.reporter.phase(f"To {target.upper()}") as phase:
            kills = self._kills(phase, ())
            kills.migrate_to(target)
            self._compare(target)
            phase.summary = "equal"

    def _compare(self, target: str) -> None:
        """Lets the clients rest, and compares everything."""
        for client in self.clients:
            client.rest()
        found = checks.wrong(self.server, target, self.before, self.clients)
        self.wrong += found
        if found:
            raise CairnError(f"Wrong after a migration to {target}; log: {shown(self.tool.log)}")
        for client in self.clients:
            client.go_on()

"""./cairn crash binlog: the engines, the binary log and a replica agree after every crash."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from cairn import plugin
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, free_port, own_directory
from tests import replication, runs
from tests.crash import mixed, writer
from tests.crash.command import OPTIONS

CLIENTS = 6
CATCH_UP_S = 120
# InnoDB 10.11.18 came back from one kill of some five hundred with a page of its own damaged, or
# did not come back: an assertion of trx0purge.cc failed when the binary log had it commit, or it
# left out a record of its log and committed a transaction in place of another. Such a
# run shows nothing about ROCKSDB and begins anew; more of them than this are a failure.
MOST_DAMAGED_INNODB = 1
# A record of its log that it leaves out, as the page is damaged, and with it rows.
LEFT_OUT_BY_INNODB = "InnoDB: Not applying"
DURABLE = (
    "--log-bin=binlog",
    "--binlog-format=ROW",
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    # Files end often, and each end asks the engines for what is durable.
    "--max-binlog-size=256k",
)
# Every transaction, as all are prepared.
BYPASS = ("--cairn-bypass-memtable-bytes=1",)
# As the package's options have it: no start without the engine.
WITH_ENGINE_ONLY = "--rocksdb=FORCE_PLUS_PERMANENT"
REPLICA = (
    *replication.REPLICA,
    "--relay-log-recovery=ON",
    "--slave-parallel-threads=8",
)


@dataclass(frozen=True)
class Plan:
    """What happens in one round; follows from the seed and the number of the round."""

    load_s: float
    # When the replica is killed, so many seconds after the load began; None: it is not.
    replica_kill_s: float | None
    # When the restart is killed as well, so many seconds after its begin.
    second_kill_s: float | None
    parallel_mode: str
    # The first start after the kill has no library to load, as after an upgrade that went wrong.
    without_engine: bool

    @staticmethod
    def of(seed: int, number: int) -> Plan:
        chance = random.Random(f"{seed} binlog {number}")
        load_s = chance.uniform(0.2, 2.0)
        return Plan(
            load_s=load_s,
            replica_kill_s=chance.uniform(0.1, load_s) if chance.random() < 0.6 else None,
            second_kill_s=chance.uniform(0.02, 0.4) if chance.random() < 0.25 else None,
            parallel_mode=chance.choice(("conservative", "optimistic", "aggressive")),
            without_engine=random.Random(f"{seed} engine {number}").random() < 0.5,
        )


@dataclass
class Tally:
    """What all rounds together did."""

    passed: int = 0
    failed: int = 0
    acknowledged: int = 0
    kills: int = 0
    # Runs that ended because InnoDB had damaged its own tables.
    damaged_innodb: int = 0


class Rig:
    """A primary, its replica, a server that replays the binary log, and the promises."""

    def __init__(
        self, mariadb: Server, directory: Path, seed: int, options: tuple[str, ...]
    ) -> None:
        """`options`: of the primary and the replica, further ones."""
        self.mariadb = mariadb
        self.seed = seed
        self.directory = directory
        self.port = free_port()
        network = replication.network(self.port)
        self.primary = ScratchServer(
            mariadb,
            directory / "primary",
            (*OPTIONS, *DURABLE, *options, *network, "--server-id=1"),
        )
        self.replica = ScratchServer(
            mariadb,
            directory / "replica",
            (*OPTIONS, *DURABLE, *options, *REPLICA, "--server-id=2"),
        )
        self.replay = ScratchServer(mariadb, directory / "replay", OPTIONS)
        self.servers = (self.primary, self.replica, self.replay)
        self.promises = [mixed.Promise(number) for number in range(CLIENTS)]
        self.replayed: set[str] = set()
        self.journal = (directory / "acknowledged.log").open("a", encoding="utf-8")

    def prepare(self) -> None:
        for server in self.servers:
            server.start()
        self.primary.execute("CREATE DATABASE crash", *mixed.CREATE, *mixed.FILL)
        replication.introduce(self.primary, self.replica, self.port)
        self.replica.stop()

    # ---- load and kills -------------------------------------------------------------------------

    def load(self, number: int, plan: Plan, tally: Tally) -> list[str]:
        """Writes until the kill; returns what went wrong."""
        self.journal.write(f"round {number}\n")
        self._start_replica(plan)
        writers = [
            mixed.MixedWriter(
                promise,
                self.primary.connect,
                self.journal,
                random.Random(f"{self.seed} {number} {promise.client}"),
            )
            for promise in self.promises
        ]
        if late := writer.start(writers):
            return [late]
        if plan.replica_kill_s is not None:
            time.sleep(plan.replica_kill_s)
            self.replica.kill()
            tally.kills += 1
        time.sleep(plan.load_s - (plan.replica_kill_s or 0.0))
        wrong = []
        if not self.primary.is_alive():
            wrong.append(f"The primary ended by itself:\n{self.primary.excerpt()}")
        self.primary.kill()
        tally.kills += 1
        wrong += writer.end(writers)
        tally.acknowledged += sum(each.acknowledged for each in writers)
        return wrong

    def restart(self, plan: Plan, tally: Tally) -> list[str]:
        """Starts what was killed; returns what went wrong."""
        wrong = []
        if plan.without_engine:
            wrong = self._start_without_engine() + self._damaged_innodb()
        if plan.second_kill_s is not None:
            self.primary.launch()
            time.sleep(plan.second_kill_s)
            self.primary.kill()
            tally.kills += 1
            wrong += self._damaged_innodb()
        self.primary.start()
        if not self.replica.is_alive():
            self._start_replica(plan)
        return wrong

    def _damaged_innodb(self) -> list[str]:
        """What InnoDB says of damage at a start that is not the last."""
        return [
            f"The primary: {line}" for line in self.primary.errors() if LEFT_OUT_BY_INNODB in line
        ]

    def _start_without_engine(self) -> list[str]:
        """With rocksdb=FORCE_PLUS_PERMANENT a start without the library decides no transaction."""
        self.primary.loads_plugin = False
        try:
            self.primary.start(
                "--plugin-load-add=ha_missing.so", WITH_ENGINE_ONLY, needs_engine=False
            )
        except CairnError as error:
            ending = self.primary.ending() or ""
            if ending.startswith("exit status ") and ending != "exit status 0":
                return []
            return [f"A start without the engine does not end by itself: {error}"]
        finally:
            self.primary.kill()
            self.primary.loads_plugin = True
        return ["The server starts without the engine."]

    def _start_replica(self, plan: Plan) -> None:
        if not self.replica.is_alive():
            self.replica.start(f"--slave-parallel-mode={plan.parallel_mode}")
        self.replica.execute("START SLAVE")

    # ---- checks ---------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Compares the primary with what was acknowledged, and the others with the primary."""
        with self.primary.connect() as connection, connection.cursor() as cursor:
            wrong = mixed.check(self.promises, cursor)
            wrong += writer.check_tables(cursor, mixed.TABLES)
        wrong += [f"The primary: {line}" for line in self.primary.errors()]
        self._replay()
        expected = checksums(self.primary)
        wrong += differences("the replay of the binary log", expected, checksums(self.replay))
        if problem := replication.catch_up(self.primary, self.replica, CATCH_UP_S):
            return [*wrong, f"The replica does not catch up: {problem}\n{self.replica.excerpt()}"]
        return wrong + differences("the replica", expected, checksums(self.replica))

    def _replay(self) -> None:
        """Applies the binary log up to the file that the last start opened."""
        names = [row[0] for row in self.primary.query("SHOW BINARY LOGS")]
        new = [name for name in names[:-1] if name not in self.replayed]
        if not new:
            return
        log = self.directory / "mariadb-binlog.log"
        replication.replay(self.mariadb, new, self.primary, self.replay, log)
        self.replayed.update(new)

    def close(self) -> None:
        for server in self.servers:
            server.kill()
        self.journal.close()


def checksums(server: ScratchServer) -> dict[str, int]:
    return dict(server.query(f"CHECKSUM TABLE {', '.join(mixed.TABLES)}"))  # type: ignore[arg-type]


def differences(what: str, expected: dict[str, int], found: dict[str, int]) -> list[str]:
    return [
        f"{table} differs in {what}" for table in expected if expected[table] != found.get(table)
    ]


# ---- the command --------------------------------------------------------------------------------


def run(rounds: int, seed: int | None, *, bypass_memtable: bool) -> int:
    """Runs the rounds up to the first failure; returns the exit status."""
    reporter = Reporter()
    tally = crash(reporter, rounds, seed, BYPASS if bypass_memtable else ())
    say("")
    say(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


def crash(
    reporter: Reporter, rounds: int, seed: int | None, options: tuple[str, ...] = ()
) -> Tally:
    seed = runs.chosen_seed(seed)
    mariadb = runs.prepare(reporter)
    directory = VAR / "crash" / f"binlog-{seed}"
    say(
        f"  {shown(plugin.library())}; again with: "
        f"./cairn crash binlog --rounds {rounds} --seed {seed}"
        f"{' --bypass-memtable' if options else ''}"
    )
    tally = Tally()
    with own_directory(directory):
        while tally.passed < rounds and not tally.failed:
            directory.mkdir(parents=True, exist_ok=True)
            _crash(reporter, Rig(mariadb, directory, seed, options), rounds, tally)
            runs.leave(directory, tally.failed)
    return tally


def _crash(reporter: Reporter, rig: Rig, rounds: int, tally: Tally) -> None:
    try:
        with reporter.phase("Prepare") as phase:
            rig.prepare()
            phase.summary = f"three servers in {shown(rig.directory)}"
        with reporter.phase("Rounds") as phase:
            _rounds(rig, rounds, tally, phase)
            phase.summary = f"{tally.acknowledged:,} transactions acknowledged, {tally.kills} kills"
            if tally.damaged_innodb:
                phase.summary += f", {tally.damaged_innodb} times InnoDB damaged its own tables"
    finally:
        rig.close()


def only_innodb_is_damaged(wrong: list[str]) -> bool:
    """Whether InnoDB alone has failed: it says so of a table or of itself, and nothing else does.

    That is one of its tables that it calls corrupt, a record of its log that it leaves out, or an
    assertion of its own at a start.
    """
    if len(wrong) == 1 and runs.innodb_aborted(wrong[0]):
        return True
    return any(
        LEFT_OUT_BY_INNODB in text
        or (text.startswith("CHECK TABLE crash.inno_") and text.endswith("error: Corrupt"))
        for text in wrong
    ) and all("crash.inno_" in text or "InnoDB: " in text for text in wrong)


def _rounds(rig: Rig, rounds: int, tally: Tally, phase: Phase) -> None:
    for number in range(tally.passed + 1, rounds + 1):
        plan = Plan.of(rig.seed, number)
        try:
            wrong = rig.load(number, plan, tally)
            if not wrong:
                wrong = rig.restart(plan, tally)
                wrong += rig.check()
        except Exception as error:
            # Whatever a check stumbles over is what this program looks for.
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            phase.note(f"round {number} failed ({plan}):")
            for text in wrong:
                phase.note(text)
            if only_innodb_is_damaged(wrong) and tally.damaged_innodb < MOST_DAMAGED_INNODB:
                tally.damaged_innodb += 1
            else:
                tally.failed += 1
            return
        tally.passed += 1
        phase.progress(f"{number} of {rounds}, {tally.acknowledged:,} transactions acknowledged")

"""./cairn crash: rounds of load, kill, restart and checks."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from cairn import files, packages, plugin, sysbench
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, own_directory
from tests import runs
from tests.crash import bank, definitions, inserts, registers, traffic, writer
from tests.crash.writer import Writer

OPTIONS = (
    "--rocksdb-flush-log-at-trx-commit=1",
    "--rocksdb-block-cache-size=32M",
    # Small memtables and files, so that a crash meets flushes and compactions.
    "--rocksdb-default-cf-options=write_buffer_size=256k;target_file_size_base=256k;"
    "max_bytes_for_level_base=1m",
)
INSERT_WRITERS = 3
REGISTER_WRITERS = 2
CLERKS = 2


@dataclass(frozen=True)
class Plan:
    """What happens in one round; follows from the seed and the number of the round."""

    load_s: float
    defines: bool
    # When the restart is killed as well, so many seconds after its begin.
    second_kill_s: float | None

    @staticmethod
    def of(seed: int, number: int) -> Plan:
        chance = random.Random(f"{seed} plan {number}")
        return Plan(
            load_s=chance.uniform(0.2, 2.0),
            defines=chance.random() < 0.5,
            second_kill_s=chance.uniform(0.02, 0.4) if chance.random() < 0.25 else None,
        )


@dataclass
class Tally:
    """What all rounds together did."""

    passed: int = 0
    failed: int = 0
    acknowledged: int = 0
    left_over: int = 0
    slowest_start_s: float = 0.0


class Rig:
    """The server, the promises it made, and the clients of a round."""

    def __init__(self, mariadb: Server, directory: Path, seed: int, binlog: bool) -> None:
        self.seed = seed
        self.directory = directory
        # With two engines or a binary log a commit has two phases, which recovery must finish.
        binary_log = ("--log-bin=binlog", "--server-id=1", "--sync-binlog=1") if binlog else ()
        self.server = ScratchServer(mariadb, directory, (*OPTIONS, *binary_log))
        self.traffic = traffic.Traffic(self.server, mariadb, directory / "sysbench.log")
        self.inserts = [inserts.Promise(number) for number in range(INSERT_WRITERS)]
        self.registers = [registers.Promise(number) for number in range(REGISTER_WRITERS)]
        self.clerks = [bank.Promise(number) for number in range(CLERKS)]
        self.definitions = definitions.Promise()
        self.journal = (directory / "acknowledged.log").open("a", encoding="utf-8")

    def prepare(self) -> None:
        self.server.start()
        schemas = ("crash", definitions.SCHEMA, sysbench.DATABASE)
        self.server.execute(
            *(f"CREATE DATABASE {schema}" for schema in schemas),
            *(inserts.CREATE, registers.CREATE, *bank.CREATE),
        )
        self.traffic.prepare()

    def load(self, number: int, plan: Plan) -> tuple[int, list[str]]:
        """Writes until the kill; returns how much was acknowledged and what went wrong."""
        self.journal.write(f"round {number}\n")
        writers = self._writers(number, plan)
        self.traffic.start(number)
        wrong = writer.kill_under_load(self.server, writers, plan.load_s, self.traffic.ended_early)
        self.traffic.stop()
        return sum(each.acknowledged for each in writers), wrong

    def _writers(self, number: int, plan: Plan) -> list[Writer]:
        def chance(name: str) -> random.Random:
            return random.Random(f"{self.seed} {number} {name}")

        connect, journal = self.server.connect, self.journal
        writers: list[Writer] = []
        for each in self.inserts:
            writers.append(
                inserts.InsertWriter(each, connect, journal, chance(f"insert {each.writer}"))
            )
        for own in self.registers:
            writers.append(
                registers.RegisterWriter(own, connect, journal, chance(f"register {own.writer}"))
            )
        for clerk in self.clerks:
            writers.append(bank.Clerk(clerk, connect, journal, chance(f"clerk {clerk.clerk}")))
        if plan.defines:
            writers.append(
                definitions.Definer(self.definitions, connect, journal, chance("definer"))
            )
        return writers

    def restart(self, plan: Plan) -> float:
        """Brings the server up again; keeps a copy of the engine's files as the kill left them."""
        copy = self.directory / "before-restart"
        files.remove(copy)
        shutil.copytree(self.server.data / ENGINE_DIRECTORY, copy)
        if plan.second_kill_s is not None:
            self.server.launch()
            time.sleep(plan.second_kill_s)
            self.server.kill()
        return self.server.start()

    def check(self, *, thorough: bool = False) -> definitions.Findings:
        """Compares everything with what was promised."""
        wrong: list[str] = []
        with self.server.connect() as connection, connection.cursor() as cursor:
            found = definitions.check(self.definitions, cursor)
            wrong += found.wrong
            for each in self.inserts:
                wrong += inserts.check(each, cursor)
                if thorough:
                    wrong += inserts.check_all_payloads(each, cursor)
            for own in self.registers:
                wrong += registers.check(own, cursor)
            wrong += bank.check(self.clerks, cursor)
            wrong += traffic.check(cursor)
            wrong += writer.check_tables(cursor, writer.listed(cursor, "engine = 'ROCKSDB'"))
        return definitions.Findings(wrong, found.left_over)

    def close(self) -> None:
        self.traffic.stop()
        self.server.kill()
        self.journal.close()


def run(rounds: int, seed: int | None, *, binlog: bool) -> int:
    """Runs the rounds up to the first failure; returns the exit status."""
    seed = runs.chosen_seed(seed)
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.SYSBENCH)
    directory = VAR / "crash" / f"seed-{seed}"
    options = " --binlog" if binlog else ""
    say(
        f"  {shown(plugin.library())}; again with: ./cairn crash --rounds {rounds} --seed {seed}"
        + options
    )
    with own_directory(directory):
        tally = _crash(reporter, Rig(mariadb, directory, seed, binlog), rounds)
        if tally.left_over:
            say(f"  {tally.left_over} things were left over by interrupted statements: see above.")
        runs.leave(directory, tally.failed)
    say("")
    say(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


def _crash(reporter: Reporter, rig: Rig, rounds: int) -> Tally:
    """Prepares the tables and runs the rounds, up to the first failure."""
    tally = Tally()
    try:
        with reporter.phase("Prepare") as phase:
            rig.prepare()
            phase.summary = f"tables in {shown(rig.directory)}"
        with reporter.phase("Rounds") as phase:
            _rounds(rig, rounds, tally, phase)
            phase.summary = (
                f"{tally.acknowledged:,} transactions acknowledged, slowest start "
                f"{tally.slowest_start_s:.1f} s"
            )
        if not tally.failed:
            _shut_down(rig, reporter, tally)
    finally:
        rig.close()
    return tally


def _rounds(rig: Rig, rounds: int, tally: Tally, phase: Phase) -> None:
    for number in range(1, rounds + 1):
        plan = Plan.of(rig.seed, number)
        acknowledged, wrong = rig.load(number, plan)
        tally.acknowledged += acknowledged
        found = definitions.Findings([], [])
        if not wrong:
            try:
                tally.slowest_start_s = max(tally.slowest_start_s, rig.restart(plan))
                found = rig.check()
            except Exception as error:
                # Whatever a check stumbles over is what this program looks for.
                alive = "" if rig.server.is_alive() else f"\n{rig.server.excerpt()}"
                wrong = [f"{type(error).__name__}: {error}{alive}"]
        wrong += found.wrong
        for text in found.left_over:
            tally.left_over += 1
            phase.note(f"round {number}: left over: {text}")
        if wrong:
            tally.failed += 1
            phase.note(f"round {number} failed ({plan}):")
            for text in wrong:
                phase.note(text)
            return
        tally.passed += 1
        phase.progress(f"{number} of {rounds}, {tally.acknowledged:,} transactions acknowledged")


def _shut_down(rig: Rig, reporter: Reporter, tally: Tally) -> None:
    """What survived the crashes survives an orderly stop as well; every row is looked at."""
    with reporter.phase("Orderly restart") as phase:
        rig.server.stop()
        rig.server.start()
        wrong = rig.check(thorough=True).wrong
        rows = sum(promise.rows for promise in rig.inserts)
        phase.summary = f"{rows:,} inserted rows compared"
    for text in wrong:
        say(f"    {text}")
    tally.failed += bool(wrong)

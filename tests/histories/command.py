"""./cairn histories: rounds of concurrent transactions on a server, each checked afterwards."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cairn import plugin
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove
from tests import runs
from tests.histories import definitions, history
from tests.histories.check import Verdict, check
from tests.histories.client import CONFLICTS, Client, Shared, open_session, read_everything
from tests.histories.definitions import DEFINITION_CHANGED, Definer
from tests.histories.finding import LOST_UPDATE, Finding
from tests.histories.foreign_keys import rounds as foreign_keys
from tests.histories.history import History, Transaction
from tests.histories.plan import MOST_CLIENTS, ROUND_S, Plan, server_options
from tests.histories.workload import Objects, tables

CONNECT_S = 30
END_S = 60
# Lines of a finding on the screen; the file beside the history has all of them.
SHOWN_LINES = 20
SHOWN_FINDINGS = 3
# The form that ./cairn test runs.
SHORT_S = 20
# SERIALIZABLE shows phantoms without range locks, as docs/transactions.md says.
SHORT_LEVELS = tuple(level for level in history.LEVELS if level != history.SERIALIZABLE)
SHORT_RANGE_LEVELS = (history.REPEATABLE_READ, history.SERIALIZABLE)
SHORT_KILLS = 2
CHANGING_S = 10
FOREIGN_KEYS_S = 8
PLANTED_S = 5
PLANTED = {
    "plain reads before writes": Plan(
        (history.READ_COMMITTED,), PLANTED_S, 0, 8, check_as=history.SERIALIZABLE
    ),
    "no row locks": Plan(
        (history.READ_COMMITTED,), PLANTED_S, 0, 8, settings=("rocksdb_master_skip_tx_api=ON",)
    ),
}


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    transactions: int = 0
    committed: int = 0
    conflicts: int = 0
    reads: int = 0
    dependencies: int = 0
    kills: int = 0
    unanswered: int = 0
    survived: int = 0
    # Changes of definitions, by the number of their error, 0 for success.
    changes: Counter[int] = field(default_factory=Counter)
    # Statements that a transaction with an older snapshot could not run any more.
    outdated: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        killed = f", {self.kills} kills" if self.kills else ""
        return f"{self.transactions:,} transactions, {sum(self.kinds.values())} anomalies{killed}"


class NotSupported(Exception):
    """The engine refuses the isolation level; the text says how."""


class Rig:
    """The server and the rounds at one isolation level."""

    def __init__(self, mariadb: Server, directory: Path, plan: Plan, level: str) -> None:
        self.server = ScratchServer(mariadb, directory, server_options(plan))
        self.directory = directory
        self.plan = plan
        self.level = level
        self.check_as = plan.check_as or level
        self.tally = Tally()
        self._savepoints = plan.savepoints
        self._pins_snapshots = False
        self._values = itertools.count(1)
        self._numbers = itertools.count(1)
        # What the last reading of each round's objects gave: no later round may change it.
        self._left: list[tuple[Objects, Transaction]] = []

    def prepare(self, phase: Phase) -> None:
        import pymysql

        self.server.start()
        for statement in tables(self.plan.engine):
            self.server.query(statement)
        cursor = open_session(self.server.connect, self.level, self.plan.settings)
        try:
            cursor.execute("START TRANSACTION")
            cursor.execute("SELECT * FROM lists")
        except pymysql.MySQLError as error:
            raise NotSupported(f"{self.plan.engine} refuses it: {error.args[-1]}") from None
        cursor.execute("ROLLBACK")
        self._pins_snapshots = self._can_pin_snapshots()
        if self._savepoints and (refusal := _refuses_savepoints(cursor)):
            self._savepoints = False
            phase.note(f"without savepoints, which the engine refuses: {refusal}")
        cursor.connection.close()

    def _can_pin_snapshots(self) -> bool:
        """Elsewhere WITH CONSISTENT SNAPSHOT has no effect."""
        levels = [history.REPEATABLE_READ]
        if self.plan.engine == "ROCKSDB":
            levels.append(history.SERIALIZABLE)
        return self.level in levels

    def round(self, number: int, seconds: float, *, kill: bool) -> History:
        """Runs clients for a while, with an end by kill -9 or an orderly one, and reads all."""
        chance = random.Random(f"{self.plan.seed} {self.level} {number}")
        objects = Objects(number, self._values, moving_scans=self.plan.moving_scans)
        self._create(objects)
        shared = Shared(
            objects,
            self._numbers,
            self.level,
            self.plan.settings,
            self._savepoints,
            self._pins_snapshots,
            (*CONFLICTS, DEFINITION_CHANGED) if self.plan.definitions else CONFLICTS,
            deque(
                (
                    history.Insert(group, member)
                    for group, members in objects.groups.items()
                    for member in members
                ),
                maxlen=30,
            ),
        )
        clients = [
            Client(i, self.server.connect, shared, random.Random(chance.random()))
            for i in range(1, (self.plan.clients or chance.randint(2, MOST_CLIENTS)) + 1)
        ]
        definer = Definer(self.server.connect, random.Random(chance.random()))
        self._load(clients, definer if self.plan.definitions else None, seconds, kill=kill)
        recorded = History(
            self.level,
            self.plan.engine,
            objects.lists,
            objects.registers,
            objects.groups,
            [t for client in clients for t in client.transactions],
            latest=self.plan.latest,
        )
        if kill:
            self.tally.kills += 1
            self.server.start()
        if self.plan.definitions:
            self._note_changes(clients, definer)
        recorded.final = self._read(objects)
        self._left.append((objects, recorded.final))
        self.tally.conflicts += sum(client.conflicts for client in clients)
        return recorded

    def _create(self, objects: Objects) -> None:
        cursor = open_session(self.server.connect, self.level, ())
        for statement in objects.create():
            cursor.execute(statement)
        cursor.connection.close()

    def _read(self, objects: Objects) -> Transaction:
        return read_everything(self.server.connect, objects, self.level, next(self._numbers))

    def _note_changes(self, clients: list[Client], definer: Definer) -> None:
        if text := definitions.check(self.server.connect):
            raise CairnError(text)
        self.tally.changes += definer.outcomes
        self.tally.outdated += sum(
            statement.error == DEFINITION_CHANGED
            for client in clients
            for transaction in client.transactions
            for statement in transaction.statements
        )

    def _load(
        self, clients: list[Client], definer: Definer | None, seconds: float, *, kill: bool
    ) -> None:
        sessions = [*clients, *([definer] if definer else [])]
        for client in sessions:
            client.start()
        limit = time.monotonic() + CONNECT_S
        for client in sessions:
            if not client.ready.wait(max(0.0, limit - time.monotonic())):
                raise CairnError(f"{client.name} could not connect within {CONNECT_S} s.")
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.server.is_alive():
            time.sleep(min(0.1, max(0.0, until - time.monotonic())))
        if not self.server.is_alive():
            raise CairnError(f"The server ended by itself:\n{self.server.excerpt()}")
        if kill:
            self.server.kill()
        for client in sessions:
            client.end()
        limit = time.monotonic() + END_S
        for client in sessions:
            client.join(max(0.0, limit - time.monotonic()))
            if client.is_alive():
                raise CairnError(f"{client.name} did not end within {END_S} s.")
            if client.error:
                raise CairnError(client.error)
        if not kill and any(t.end_got is None for c in clients for t in c.transactions):
            raise CairnError(f"A client lost its connection:\n{self.server.excerpt()}")

    def judge(self, recorded: History) -> Verdict:
        verdict = check(recorded, self.check_as)
        tally = self.tally
        tally.transactions += verdict.transactions
        tally.committed += sum(t.outcome == history.COMMITTED for t in recorded.transactions)
        tally.reads += verdict.reads
        tally.dependencies += verdict.dependencies
        tally.unanswered += verdict.unanswered
        tally.survived += verdict.survived
        for finding in verdict.findings:
            tally.kinds[finding.kind] = tally.kinds.get(finding.kind, 0) + 1
        if verdict.findings:
            tally.failed += 1
        else:
            tally.passed += 1
        return verdict

    def changed_later(self) -> list[str]:
        """What rounds left and is not as it was, after an orderly restart."""
        self.server.stop()
        self.server.start()
        changed = []
        for number, (objects, before) in enumerate(self._left, 1):
            now = self._read(objects)
            for old, new in zip(before.statements, now.statements, strict=True):
                # Another plan may give the same rows in another order.
                same_rows = sorted(map(repr, old.reads)) == sorted(map(repr, new.reads))
                if not same_rows or old.wrong != new.wrong:
                    changed.append(
                        f"round {number}: {new.text}: {new.reads} {new.wrong}, "
                        f"was {old.reads} {old.wrong}"
                    )
        return changed


def _refuses_savepoints(cursor: Any) -> str:
    """Why the engine does not undo changes to a savepoint; empty when it does."""
    import pymysql

    cursor.execute("START TRANSACTION")
    cursor.execute("INSERT INTO registers VALUES (-1, -1, 0)")
    cursor.execute("SAVEPOINT s1")
    cursor.execute("INSERT INTO registers VALUES (-2, -2, 0)")
    try:
        cursor.execute("ROLLBACK TO SAVEPOINT s1")
        return ""
    except pymysql.MySQLError as error:
        return str(error.args[-1])
    finally:
        cursor.execute("ROLLBACK")


# ---- the commands --------------------------------------------------------------------------------


def run(plan: Plan) -> int:
    """Runs all levels of the plan; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    say(f"  {shown(plugin.library())}, engine {plan.engine}, seed {plan.seed}")
    tallies = run_levels(reporter, mariadb, plan)
    passed, failed = sum(t.passed for t in tallies), sum(t.failed for t in tallies)
    say("")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def run_levels(reporter: Reporter, mariadb: Server, plan: Plan) -> list[Tally | foreign_keys.Tally]:
    """Each level on a server of its own; what was found is kept below var/histories/."""
    tallies: list[Tally | foreign_keys.Tally] = []
    for level in plan.levels:
        kind = "-range-locks" if plan.range_locks else ""
        kind += "-latest" if plan.latest else ""
        kind += "-definitions" if plan.definitions else ""
        kind += "-foreign-keys" if plan.foreign_keys else ""
        name = f"{level.lower().replace(' ', '-')}{kind}-{plan.seed}"
        directory = VAR / "histories" / name
        with own_directory(directory):
            if plan.foreign_keys:
                rig = foreign_keys.Rig(mariadb, directory, plan, level)
                tallies.append(_run_foreign_keys(reporter, rig))
            else:
                tallies.append(_run_level(reporter, Rig(mariadb, directory, plan, level)))
            runs.leave(directory, tallies[-1].failed)
    return tallies


def run_short(reporter: Reporter, mariadb: Server, seed: int) -> tuple[int, int]:
    """Each level for a while, and planted anomalies; how many passed and how many failed."""
    say(f"  Histories with seed {seed}")
    plan = Plan(SHORT_LEVELS, SHORT_S, seed, kills=SHORT_KILLS, moving_scans=False)
    ranges = Plan(SHORT_RANGE_LEVELS, SHORT_S, seed, kills=SHORT_KILLS, range_locks=True)
    changing = replace(
        plan, levels=(history.REPEATABLE_READ,), seconds=CHANGING_S, kills=1, definitions=True
    )
    latest = replace(plan, levels=(history.REPEATABLE_READ,), latest=True)
    tallies = [
        *run_levels(reporter, mariadb, plan),
        *run_levels(reporter, mariadb, latest),
        *run_levels(reporter, mariadb, ranges),
        *run_levels(reporter, mariadb, changing),
        *run_levels(reporter, mariadb, replace(changing, range_locks=True)),
        *run_levels(
            reporter, mariadb, replace(changing, foreign_keys=True, seconds=FOREIGN_KEYS_S)
        ),
    ]
    passed, failed = sum(t.passed for t in tallies), sum(t.failed for t in tallies)
    for name, planted in PLANTED.items():
        found = _finds(reporter, mariadb, replace(planted, seed=seed), name)
        passed, failed = passed + found, failed + (not found)
    found = foreign_keys.finds_orphans(reporter, mariadb, seed)
    return passed + found, failed + (not found)


def _finds(reporter: Reporter, mariadb: Server, plan: Plan, name: str) -> bool:
    """Whether a rule that is weakened for real shows as lost updates."""
    directory = VAR / "histories" / f"planted-{plan.seed}"
    with own_directory(directory), reporter.phase("Planted anomalies") as phase:
        rig = Rig(mariadb, directory, plan, plan.levels[0])
        with rig.server:
            rig.prepare(phase)
            rig.judge(rig.round(1, plan.seconds, kill=False))
        found = LOST_UPDATE in rig.tally.kinds
        phase.summary = f"{name}: {'' if found else 'not '}found"
        remove(directory)
    return found


def _phase_name(plan: Plan, level: str) -> str:
    kind = ", foreign keys" if plan.foreign_keys else ""
    kind += ", range locks" if plan.range_locks else ""
    kind += ", the latest rows" if plan.latest else ""
    kind += ", definitions" if plan.definitions else ""
    return f"{level.capitalize()}{kind}"


def _run_foreign_keys(reporter: Reporter, rig: foreign_keys.Rig) -> foreign_keys.Tally:
    with reporter.phase(_phase_name(rig.plan, rig.level)) as phase:
        foreign_keys.run_level(phase, rig)
    foreign_keys.report(rig.tally)
    return rig.tally


def _run_level(reporter: Reporter, rig: Rig) -> Tally:
    plan, tally = rig.plan, rig.tally
    with reporter.phase(_phase_name(plan, rig.level)) as phase, rig.server:
        try:
            rig.prepare(phase)
        except NotSupported as refusal:
            phase.summary = f"not run: {refusal}"
            return tally
        rounds = max(round(plan.seconds / ROUND_S), plan.kills, 1)
        killed = {(i + 1) * rounds // plan.kills for i in range(plan.kills)} if plan.kills else {}
        try:
            for number in range(1, rounds + 1):
                recorded = rig.round(number, plan.seconds / rounds, kill=number in killed)
                phase.progress(f"checking round {number} of {rounds}")
                verdict = rig.judge(recorded)
                if verdict.findings:
                    _tell(phase, rig, number, recorded, verdict)
                phase.progress(f"round {number} of {rounds}, {tally}")
            changed = rig.changed_later()
        except CairnError as error:
            # The server or a statement failed in a way that nothing here provokes.
            changed = [str(error)]
        for text in changed:
            tally.failed += 1
            phase.note(text)
        phase.summary = str(tally)
    say(
        f"    {tally.committed:,} committed, {tally.conflicts:,} conflicts, {tally.reads:,} "
        f"readings of an object, {tally.dependencies:,} dependencies"
    )
    if tally.kills:
        say(
            f"    {tally.unanswered:,} without an answer when the server was killed, of which "
            f"{tally.survived:,} took effect"
        )
    if tally.changes:
        say(
            f"    {tally.changes[0]:,} changes of definitions, "
            f"{tally.changes.total() - tally.changes[0]:,} refused; {tally.outdated:,} statements "
            "had a snapshot from before one"
        )
    for kind, count in sorted(tally.kinds.items()):
        say(f"    {count} × {kind}")
    return tally


def _tell(phase: Phase, rig: Rig, number: int, recorded: History, verdict: Verdict) -> None:
    file = rig.directory / f"round-{number}.history"
    history.save(recorded, file)
    findings = verdict.findings
    explained = file.with_suffix(".txt")
    text = "\n\n".join("\n".join(finding.lines()) for finding in findings)
    explained.write_text(f"{text}\n", encoding="utf-8")
    phase.note(f"round {number}: {len(findings)} anomalies; all of them: {shown(explained)}")
    phase.note(f"again: ./cairn histories --check {shown(file)} --check-as '{rig.check_as}'")
    if rig.tally.failed == 1:
        _show(phase, verdict)


def _show(phase: Phase, verdict: Verdict) -> None:
    """The shortest finding of each kind, up to a screen."""
    shortest: dict[str, Finding] = {}
    for found in sorted(verdict.findings, key=lambda each: len(each.lines())):
        shortest.setdefault(found.kind, found)
    for found in list(shortest.values())[:SHOWN_FINDINGS]:
        lines = found.lines()
        for line in lines[:SHOWN_LINES]:
            phase.note(f"  {line}")
        if len(lines) > SHOWN_LINES:
            phase.note(f"  … {len(lines) - SHOWN_LINES} lines more")


def check_file(file: Path, level: str | None) -> int:
    """Checks a saved history again; returns the exit status."""
    recorded = history.load(file)
    level = level or recorded.level
    if history.LEVELS.index(level) < history.LEVELS.index(recorded.level):
        raise CairnError(f"{level} is less strict than {recorded.level}, which {file} was run at.")
    with Reporter().phase("Check") as phase:
        verdict = check(recorded, level)
        _show(phase, verdict)
        phase.summary = (
            f"{verdict.transactions:,} transactions of {recorded.engine} at {recorded.level}, as "
            f"{level}: {len(verdict.findings)} anomalies"
        )
    say("")
    say(f"{int(not verdict.findings)} passed, {int(bool(verdict.findings))} failed")
    return 1 if verdict.findings else 0

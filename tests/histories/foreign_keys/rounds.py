"""The rounds of ./cairn histories --foreign-keys at one isolation level."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove
from tests.histories import history
from tests.histories.client import open_session
from tests.histories.foreign_keys import judge
from tests.histories.foreign_keys.acting import ACTING_TABLES
from tests.histories.foreign_keys.client import EXPECTED, Client, Settings, Wrong
from tests.histories.foreign_keys.copier import Copier
from tests.histories.foreign_keys.definer import AWAY, Definer
from tests.histories.foreign_keys.promise import Promise, State
from tests.histories.foreign_keys.tables import ALL_TABLES, OWNED, create, own_rows, steady_rows
from tests.histories.foreign_keys.watcher import Watcher
from tests.histories.plan import MOST_CLIENTS, ROUND_S, Plan, server_options
from tests.histories.workload import SCHEMA

CONNECT_S = 30
END_S = 90
PLANTED_S = 3

Actor = Client | Definer | Watcher


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    transactions: int = 0
    committed: int = 0
    looks: int = 0
    kills: int = 0
    prepared: int = 0  # Over a kill.
    # Statements of clients, and changes of definitions, by the number of their error.
    outcomes: Counter[int] = field(default_factory=Counter)
    changes: Counter[int] = field(default_factory=Counter)

    def __str__(self) -> str:
        killed = f", {self.kills} kills" if self.kills else ""
        return f"{self.transactions:,} transactions, {self.failed} rounds failed{killed}"


class Rig:
    """The server and the rounds at one isolation level."""

    def __init__(self, mariadb: Server, directory: Path, plan: Plan, level: str) -> None:
        self.server = ScratchServer(mariadb, directory, server_options(plan))
        self.directory = directory
        self.plan = plan
        self.level = level
        self.tally = Tally()
        self._marks = itertools.count(1)
        self._promises = {writer: Promise(writer) for writer in range(1, MOST_CLIENTS + 1)}

    def prepare(self) -> None:
        self.server.start()
        self.server.query(f"CREATE DATABASE {SCHEMA}")
        cursor = open_session(self.server.connect, self.level, ())
        # A child that takes no NULL, of a parent that may have one.
        cursor.execute("SET SESSION sql_mode = ''")
        for table in ALL_TABLES:
            cursor.execute(create(table, self.plan.engine))
        for statement in steady_rows():
            cursor.execute(statement)
        cursor.connection.close()

    def round(self, number: int, seconds: float, *, kill: bool) -> list[str]:
        """Runs clients for a while, with an end by kill -9 or an orderly one; what is wrong."""
        chance = random.Random(f"{self.plan.seed} {self.level} {number} foreign keys")
        settings = Settings(
            self.server.connect,
            self.level,
            self.plan.settings,
            self.plan.savepoints,
            self._pins_snapshots(),
            self.plan.definitions,
            seconds / 2,
        )
        count = self.plan.clients or chance.randint(2, MOST_CLIENTS)
        self._give_away(count)
        clients = [
            Client(promise, settings, self._marks, random.Random(chance.random()))
            for promise in self._promises.values()
            if promise.writer <= count or promise.is_prepared
        ]
        actors: list[Actor] = [*clients, Watcher(settings)]
        if self.plan.definitions:
            for kind in (Definer, Copier):
                actors.append(kind(settings, self.plan.engine, random.Random(chance.random())))
        wrong = self._load(actors, seconds, kill=kill)
        self._count(actors)
        if not self.server.is_alive():
            self.server.start()
            if chance.random() < 0.5:
                # What is prepared outlives an orderly restart as well, and another kill.
                chance.choice((self.server.stop, self.server.kill))()
                self.server.start()
            self._repair(settings)
            wrong += self._settle()
        wrong += judge.check(self.server.connect)
        wrong += self._compare()
        if wrong:
            wrong.append(self._tell(number, actors, wrong))
        return wrong

    def _pins_snapshots(self) -> bool:
        return self.level in (history.REPEATABLE_READ, history.SERIALIZABLE)

    def _give_away(self, count: int) -> None:
        """Rows of clients that are not in the next round become nobody's.

        Or they go, where actions of others would touch them otherwise.
        """
        import pymysql

        cursor = open_session(self.server.connect, history.READ_COMMITTED, ())
        for promise in self._promises.values():
            if promise.writer <= count or promise.is_prepared or not promise.rows:
                continue
            mine = f"WHERE writer = {promise.writer}"
            for statement in (
                *(f"DELETE FROM {table.name} {mine}" for table in reversed(ACTING_TABLES)),
                *(f"UPDATE {table.name} SET writer = 0 {mine}" for table in OWNED),
            ):
                try:
                    cursor.execute(statement)
                except pymysql.MySQLError as error:
                    if error.args[0] not in EXPECTED:
                        raise
            promise.rows = _rows(cursor, promise.writer)
        cursor.connection.close()

    def _load(self, actors: Sequence[Actor], seconds: float, *, kill: bool) -> list[str]:
        for actor in actors:
            actor.start()
        limit = time.monotonic() + CONNECT_S
        for actor in actors:
            if not actor.ready.wait(max(0.0, limit - time.monotonic())):
                raise CairnError(f"{actor.name} could not connect within {CONNECT_S} s.")
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.server.is_alive():
            if any(actor.error for actor in actors):
                break
            time.sleep(min(0.05, max(0.0, until - time.monotonic())))
        wrong = []
        if not self.server.is_alive():
            wrong.append(f"The server ended by itself:\n{self.server.excerpt()}")
        elif kill:
            self.tally.kills += 1
            self.server.kill()
        for actor in actors:
            actor.end()
        limit = time.monotonic() + END_S
        for actor in actors:
            actor.join(max(0.0, limit - time.monotonic()))
            if actor.is_alive():
                wrong.append(f"{actor.name} did not end within {END_S} s.")
        wrong += [actor.error for actor in actors if actor.error]
        if not kill and any(isinstance(actor, Client) and actor.lost for actor in actors):
            wrong.append(f"A client lost its connection:\n{self.server.excerpt()}")
        return wrong

    def _count(self, actors: Sequence[Actor]) -> None:
        for actor in actors:
            if isinstance(actor, Client):
                self.tally.transactions += actor.transactions
                self.tally.committed += actor.committed
                self.tally.outcomes += actor.session.outcomes
            elif isinstance(actor, Definer):
                self.tally.changes += actor.session.outcomes
            else:
                self.tally.looks += actor.looks

    def _repair(self, settings: Settings) -> None:
        """A kill may have left a table or a column under another name, or a table missing."""
        definer = Definer(settings, self.plan.engine, random.Random(0))
        definer.session.open()
        if self.server.query(f"SHOW TABLES IN {SCHEMA} LIKE '{AWAY}'"):
            definer.bring_back()
        if self.server.query(f"SHOW COLUMNS FROM {SCHEMA}.middle LIKE 'batch_away'"):
            definer.bring_back_column()
        if not self.server.query(f"SHOW TABLES IN {SCHEMA} LIKE 'loose'"):
            definer.make_again()
        definer.session.close()

    def _settle(self) -> list[str]:
        """Compares what is there after a crash with what was promised."""
        prepared = {
            data.decode() if isinstance(data, bytes) else data
            for _, _, _, data in self.server.query("XA RECOVER")
        }
        wrong = []
        cursor = open_session(self.server.connect, history.READ_COMMITTED, ())
        for promise in self._promises.values():
            is_prepared = promise.xid in prepared
            prepared.discard(promise.xid)
            self.tally.prepared += is_prepared
            found = _rows(cursor, promise.writer)
            if text := promise.settle(found, prepared=is_prepared):
                wrong.append(f"after the crash: {text}")
        cursor.connection.close()
        return wrong + [f"after the crash: {xid} is prepared" for xid in sorted(prepared)]

    def _compare(self) -> list[str]:
        """What clients were promised, by two ways to the rows."""
        wrong = []
        cursor = open_session(self.server.connect, history.READ_COMMITTED, ())
        for promise in self._promises.values():
            for hint in ("FORCE INDEX (owner)", "IGNORE INDEX (owner)"):
                text = promise.compare(_rows(cursor, promise.writer, hint), promise.rows)
                if text:
                    wrong.append(f"{hint}: {text}")
        cursor.connection.close()
        return wrong

    def restart(self) -> list[str]:
        """What an orderly restart changes."""
        self.server.stop()
        self.server.start()
        return [f"after a restart: {text}" for text in judge.check(self.server.connect)] + [
            f"after a restart: {text}" for text in self._compare()
        ]

    def _tell(self, number: int, actors: Sequence[Actor], wrong: list[str]) -> str:
        """Writes what everybody did in a round; returns where."""
        lines = sorted((line for actor in actors for line in actor.session.record), key=_when)
        file = self.directory / f"round-{number}.txt"
        rows = [
            f"{name}: {self.server.query(f'SELECT * FROM {SCHEMA}.{name}')}"
            for (name,) in self.server.query(f"SHOW TABLES IN {SCHEMA}")
        ]
        text = "\n".join([*wrong, "", *rows, "", *map(str, lines)])
        file.write_text(f"{text}\n", encoding="utf-8")
        return f"what everybody did: {shown(file)}"


def _when(line: object) -> float:
    return float(getattr(line, "sent", 0))


def _rows(cursor: object, writer: int, hint: str = "") -> State:
    cursor.execute(own_rows(writer, hint))  # type: ignore[attr-defined]
    return tuple(sorted(cursor.fetchall()))  # type: ignore[attr-defined]


def run_level(phase: Phase, rig: Rig) -> Tally:
    """All rounds; what was found is told."""
    plan, tally = rig.plan, rig.tally
    rounds = max(round(plan.seconds / ROUND_S), plan.kills, 1)
    killed = {(i + 1) * rounds // plan.kills for i in range(plan.kills)} if plan.kills else {}
    with rig.server:
        try:
            rig.prepare()
            for number in range(1, rounds + 1):
                wrong = rig.round(number, plan.seconds / rounds, kill=number in killed)
                tally.failed += bool(wrong)
                tally.passed += not wrong
                for text in wrong:
                    phase.note(f"round {number}: {text}")
                if wrong:
                    break
                phase.progress(f"round {number} of {rounds}, {tally}")
            else:
                wrong = rig.restart()
        except (CairnError, Wrong) as error:
            # The server or a statement failed in a way that nothing here provokes.
            wrong = [str(error)]
            phase.note(str(error))
            tally.failed += 1
        else:
            if not tally.failed and wrong:
                tally.failed += 1
                for text in wrong:
                    phase.note(text)
    phase.summary = str(tally)
    return tally


def finds_orphans(reporter: Reporter, mariadb: Server, seed: int) -> bool:
    """Whether orphans show that clients make without checks."""
    plan = Plan((history.READ_COMMITTED,), PLANTED_S, seed, 8, settings=("foreign_key_checks=0",))
    directory = VAR / "histories" / f"planted-foreign-keys-{seed}"
    with own_directory(directory), reporter.phase("Planted orphans") as phase:
        rig = Rig(mariadb, directory, plan, plan.levels[0])
        with rig.server:
            rig.prepare()
            wrong = rig.round(1, plan.seconds, kill=False)
        found = any(judge.ORPHANS in text for text in wrong)
        phase.summary = f"foreign_key_checks=0: {'' if found else 'not '}found"
        remove(directory)
    return found


def report(tally: Tally) -> None:
    """Two lines: how much was tried, and how it ended."""
    refused = ", ".join(
        f"{n:,} × {number}" for number, n in sorted(tally.outcomes.items()) if number
    )
    say(
        f"    {tally.committed:,} committed, {tally.outcomes[0]:,} statements, {tally.looks:,} "
        f"looks for orphans beside them, {tally.prepared:,} prepared when the server was killed"
    )
    say(f"    refused: {refused or 'none'}")
    if tally.changes:
        refused = ", ".join(
            f"{n:,} × {number}" for number, n in sorted(tally.changes.items()) if number
        )
        say(f"    {tally.changes[0]:,} statements of definitions; refused: {refused or 'none'}")

"""./cairn acceptance prepared: a crash, a start without the engine, and cairn-store.

Each round writes to ROCKSDB and InnoDB with the binary log on and kills the server. A start without
the engine recovers and closes the binary log, so that the next one with it refuses. cairn-store
then decides what the engine has prepared, is killed itself meanwhile, and the server has to start
with both engines, the binary log and the promises to the clients in agreement. In some rounds there
are users' XA transactions, which nobody but a person decides.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

from cairn import packages, plugin, rocksdb
from cairn.errors import CairnError
from cairn.paths import BUILD, VAR
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, own_directory
from tests import replication, runs
from tests.acceptance import rounds
from tests.acceptance.case import prints
from tests.acceptance.rounds import Wrong
from tests.crash import mixed, writer
from tests.crash.binlog import DURABLE, checksums, differences
from tests.crash.command import OPTIONS

PROGRAM = BUILD / "release" / "tools" / "cairn-store"
CLIENTS = 6
XA_CLIENTS = 2
XA_TABLE = "CREATE TABLE crash.xa (id VARCHAR(20) NOT NULL PRIMARY KEY) ENGINE=ROCKSDB"
STORE_S = 120  # For one call of cairn-store.
REFUSAL = "tc-heuristic-recover"


class _XaClient(threading.Thread):
    """Prepares transactions of one row each, and decides most of them."""

    def __init__(self, server: ScratchServer, number: int, chance: Random) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.chance = chance
        # By the name of a transaction, which is its row too: what was last asked for, and whether
        # the server has said that it is done.
        self.asked: dict[str, tuple[str, bool]] = {}
        self.error = ""

    def run(self) -> None:
        import pymysql

        try:
            for count in range(1_000_000):
                with self.server.connect() as connection, connection.cursor() as cursor:
                    self._step(cursor, f"{self.number}-{count}")
        except pymysql.MySQLError as error:
            if not (error.args and error.args[0] in writer.LOST):
                self.error = str(error)

    def _step(self, cursor: Any, name: str) -> None:
        cursor.execute(f"XA START '{name}'")
        cursor.execute(f"INSERT INTO crash.xa VALUES ('{name}')")
        cursor.execute(f"XA END '{name}'")
        self._ask(cursor, name, "PREPARE")
        if self.chance.random() < 0.9:
            self._ask(cursor, name, self.chance.choice(("COMMIT", "ROLLBACK")))

    def _ask(self, cursor: Any, name: str, what: str) -> None:
        self.asked[name] = (what, False)
        cursor.execute(f"XA {what} '{name}'")
        self.asked[name] = (what, True)


class Round:
    """One crash, and what cairn-store makes of it."""

    def __init__(self, server: ScratchServer, seed: str) -> None:
        self.server = server
        self.chance = Random(seed)
        self.what = ""
        self.details: list[str] = []
        self.has_xa = self.chance.random() < 0.4
        self.write_prepared = self.chance.random() < 0.3
        # The start without the engine ends with a kill as well: the server would then take the
        # binary log of that start for all there is, and roll back what the one before committed.
        self.kills_again = self.chance.random() < 0.25
        self.rotates = self.chance.random() < 0.5
        self.promises = [mixed.Promise(number) for number in range(CLIENTS)]
        self.xa: list[_XaClient] = []
        self.store_kills = 0
        if self.write_prepared:
            server.options += ("--rocksdb-write-policy=write_prepared",)

    @property
    def engine(self) -> Path:
        return self.server.data / ENGINE_DIRECTORY

    def run(self) -> None:
        self._load()
        self._start_without_engine()
        listed = self._list()
        own = [each for each in listed if each["own"]]
        if own and not self.kills_again:
            self._require_refusal()
        if not own and self.kills_again:
            self.what = "nothing was prepared"
            return
        self._decide(own)
        users = [each["xid"] for each in listed if not each["own"]]
        chosen = self._decide_users(users)
        self.server.start()
        self._check(chosen)
        self.what = self._described(own, users)

    def _described(self, own: list[dict[str, Any]], users: list[str]) -> str:
        acknowledged = sum(len(promise.done) for promise in self.promises)
        parts = [f"{acknowledged} transactions", f"{len(own)} to decide"]
        parts += [f"{len(users)} of users"] if self.has_xa else []
        parts += ["write_prepared"] if self.write_prepared else []
        parts += ["killed twice"] if self.kills_again else []
        parts += [f"{self.store_kills} kills of cairn-store"] if self.store_kills else []
        return ", ".join(parts)

    # ---- the crash ------------------------------------------------------------------------------

    def _load(self) -> None:
        self.server.start()
        self.server.execute("CREATE DATABASE crash", *mixed.CREATE, *mixed.FILL, XA_TABLE)
        # An earlier run whose numbers are those of this one.
        if self.chance.random() < 0.5:
            self._write(0.3)
            self.server.stop()
            self.server.start()
        if self.has_xa:
            self.xa = [
                _XaClient(self.server, number, Random(self.chance.random()))
                for number in range(XA_CLIENTS)
            ]
            for client in self.xa:
                client.start()
        self._write(self.chance.uniform(0.3, 2.0), kill=True)
        for client in self.xa:
            client.join(writer.JOIN_S)
            if client.error:
                raise Wrong(f"an XA client was refused: {client.error}")

    def _write(self, load_s: float, *, kill: bool = False) -> None:
        with (self.server.directory / "acknowledged.log").open("a", encoding="utf-8") as journal:
            writers = [
                mixed.MixedWriter(
                    promise, self.server.connect, journal, Random(self.chance.random())
                )
                for promise in self.promises
            ]
            if kill:
                wrong = writer.kill_under_load(self.server, writers, load_s)
            else:
                late = writer.start(writers)
                time.sleep(load_s)
                wrong = [late] if late else writer.end(writers)
        if wrong:
            raise Wrong("\n".join(wrong))

    def _start_without_engine(self) -> None:
        self.server.loads_plugin = False
        options, self.server.options = self.server.options, DURABLE
        try:
            self.server.start(needs_engine=False)
            if self.rotates:
                self.server.execute("FLUSH BINARY LOGS")
            if self.kills_again:
                self.server.kill()
            else:
                self.server.stop()
        finally:
            self.server.loads_plugin = True
            self.server.options = options

    def _require_refusal(self) -> None:
        try:
            self.server.start()
        except CairnError:
            said = "\n".join(self.server.errors())
            if REFUSAL not in said:
                raise Wrong(f"the server does not say why it does not start:\n{said}") from None
            self.details.append(next(line for line in said.splitlines() if REFUSAL in line))
            self.server.kill()
            return
        raise Wrong("the server starts although transactions are prepared")

    # ---- cairn-store ----------------------------------------------------------------------------

    def _command(self, *arguments: str) -> list[str]:
        return [
            str(PROGRAM),
            "prepared",
            str(self.engine),
            "--json",
            f"--mariadb-binlog={self.server.mariadb.tool('mariadb-binlog')}",
            *arguments,
        ]

    def _logs(self) -> list[str]:
        return ["--binlog", *map(str, sorted(self.server.data.glob("binlog.0*")))]

    def _store(self, *arguments: str) -> list[dict[str, Any]]:
        """The transactions that a call of cairn-store lists; it has to succeed."""
        called = subprocess.run(
            self._command(*arguments),
            env=self.server.mariadb.environment(),
            capture_output=True,
            text=True,
            timeout=STORE_S,
            check=False,
        )
        if called.returncode != 0:
            raise Wrong(
                f"cairn-store {' '.join(arguments)}: exit status {called.returncode}\n"
                f"{called.stderr}{called.stdout}"
            )
        return list(json.loads(called.stdout)["transactions"])

    def _list(self) -> list[dict[str, Any]]:
        before = prints(self.engine)
        listed = self._store()
        if prints(self.engine) != before:
            raise Wrong("a list has changed files")
        return listed

    def _decide(self, own: list[dict[str, Any]]) -> None:
        """With kills in between; a last call decides what is left."""
        for _ in range(self.chance.randrange(3)):
            child = subprocess.Popen(
                self._command(*self._logs(), "--decide"),
                env=self.server.mariadb.environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                child.wait(self.chance.uniform(0.05, 0.6))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                self.store_kills += 1
        decided = [each for each in self._store(*self._logs(), "--decide") if each["own"]]
        self.details += [f"{each['decision']}: {each['why']}" for each in decided]
        known = {each["xid"] for each in own}
        if strange := {each["xid"] for each in decided} - known:
            raise Wrong(f"transactions that were not prepared before: {strange}")
        if left := [each for each in self._list() if each["own"]]:
            raise Wrong(f"still prepared after a decision: {left}")

    def _decide_users(self, users: list[str]) -> dict[str, str]:
        """Decides some; returns what, by name."""
        chosen = {
            xid: self.chance.choice(("commit", "rollback"))
            for xid in users
            if self.chance.random() < 0.5
        }
        if chosen:
            words = [word for xid, what in chosen.items() for word in (f"--{what}", xid)]
            self._store(*words)
        return {xid.split("'")[1]: what for xid, what in chosen.items()}

    # ---- checks ---------------------------------------------------------------------------------

    def _check(self, chosen: dict[str, str]) -> None:
        tables = (*mixed.TABLES, "crash.xa")
        with self.server.connect() as connection, connection.cursor() as cursor:
            wrong = mixed.check(self.promises, cursor)
            wrong += writer.check_tables(cursor, tables)
        wrong += [f"the server says: {line}" for line in self.server.errors()]
        wrong += self._wrong_users(chosen)
        if not self.has_xa:
            # A client's session could not go on behind XA PREPARE.
            wrong += self._wrong_replay()
        if wrong:
            raise Wrong("\n".join(wrong))

    def _wrong_users(self, chosen: dict[str, str]) -> list[str]:
        """XA transactions that are neither as their clients were told nor as was decided."""
        rows = {name for (name,) in self.server.query("SELECT id FROM crash.xa")}
        names = [row[3] for row in self.server.query("XA RECOVER")]
        prepared = {name if isinstance(name, str) else bytes(name).decode() for name in names}
        wrong = []
        for client in self.xa:
            for name, (asked, done) in client.asked.items():
                states = _states(asked, done=done, chosen=chosen.get(name))
                found = "prepared" if name in prepared else "row" if name in rows else "nothing"
                if found not in states or (name in rows and name in prepared):
                    wrong.append(f"XA '{name}', {asked}, {chosen.get(name)}: {found}")
        return wrong

    def _wrong_replay(self) -> list[str]:
        """Tables that differ from those that the binary log makes."""
        home = self.server.directory / "replay"
        names = [row[0] for row in self.server.query("SHOW BINARY LOGS")][:-1]
        with ScratchServer(self.server.mariadb, home, OPTIONS) as replay:
            replay.start()
            log = self.server.directory / "mariadb-binlog.log"
            replication.replay(self.server.mariadb, names, self.server, replay, log)
            replayed = checksums(replay)
        return differences("a replay of the binary log", checksums(self.server), replayed)


def _states(asked: str, *, done: bool, chosen: str | None) -> set[str]:
    """What may have become of a user's transaction."""
    if chosen is not None:
        return {"row" if chosen == "commit" else "nothing"}
    states = {{"PREPARE": "prepared", "COMMIT": "row", "ROLLBACK": "nothing"}[asked]}
    if not done:
        states.add("nothing" if asked == "PREPARE" else "prepared")
    return states


def run(count: int, seed: str | None) -> int:
    """Runs the rounds; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.BUILD, packages.COMPRESSION)
    base = rounds.announced_seed(seed)
    return rounds.concluded(count, run_rounds(reporter, mariadb, count, base))


def run_rounds(reporter: Reporter, mariadb: Server, count: int, seed: str) -> int:
    """How many rounds failed."""
    with reporter.phase("Build (cairn-store)") as phase:
        library = rocksdb.ensure(phase, plugin.sanitizer_of("release"))
        plugin.build(phase, "release", mariadb, library, "tools/cairn-store")
    directory = VAR / "acceptance" / "prepared"

    def make(home: Path, own: str) -> Round:
        return Round(ScratchServer(mariadb, home, (*OPTIONS, *DURABLE)), own)

    with own_directory(directory):
        return rounds.run(reporter, directory, count, seed, make, innodb_may_abort=True)

"""./cairn acceptance django, alembic, knex, gorm: a suite of others is the judge.

It runs as it comes, at the same time on two servers that differ in the default engine alone. What
passes on InnoDB and not on ROCKSDB runs once more by itself on both; what is worse again fails,
unless the ledger says why.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from cairn import files, packages, plugin, process
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove
from tests import runs
from tests.acceptance.frameworks.alembic import Alembic
from tests.acceptance.frameworks.django import Django
from tests.acceptance.frameworks.gorm import Gorm
from tests.acceptance.frameworks.knex import Knex
from tests.acceptance.frameworks.outcomes import (
    ENGINES,
    LEDGER,
    PASS,
    Outcomes,
    Pair,
    Verdict,
    judge,
    load,
    load_ledger,
    pair_up,
)
from tests.acceptance.frameworks.suite import Command, Place, Suite

SUITES: dict[str, type[Suite]] = {one.name: one for one in (Django, Alembic, Knex, Gorm)}
OPTIONS = (
    "--character-set-server=utf8mb4",
    "--max-connections=300",
    "--innodb-buffer-pool-size=256M",
    # What a crash of the machine would lose is no question here.
    "--rocksdb-flush-log-at-trx-commit=2",
    "--innodb-flush-log-at-trx-commit=2",
)
# A suite that ends no test for so long hangs.
STALL_S = 1200
STOP_S = 30
_TEXT_LINES = 12


class Run:
    """One run of a suite on one server; `wrong` is what is the matter besides its tests."""

    def __init__(
        self, server: ScratchServer, place: Place, commands: list[Command], name: str
    ) -> None:
        self.engine = name
        self.wrong: list[str] = []
        self._server = server
        self._place = place
        self._commands = commands
        self._log = place.outcomes.with_suffix(".log")

    def run(self) -> None:
        """Ends when the suite does, or when it has ended no test for a long time."""
        try:
            with self._log.open("w", encoding="utf-8") as out:
                for command in self._commands:
                    before = self.count()
                    self._run_one(command, out)
                    if self.count() == before:
                        self.wrong.append(f"no test has run on {self.engine}:\n{self._tail()}")
                    if self.wrong:
                        break
        except Exception as error:  # In a thread of its own: told by the one that waits for it.
            self.wrong.append(f"the suite could not be run on {self.engine}: {error}")
        if (ending := self._server.ending()) is not None:
            self.wrong.append(f"the server has ended ({ending}):\n{self._server.excerpt()}")

    def _run_one(self, command: Command, out: TextIO) -> None:
        child = subprocess.Popen(
            [str(part) for part in command.arguments],
            cwd=command.directory,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            preexec_fn=process.end_with_parent,
        )
        reader = threading.Thread(target=_read, args=(child, command, out), daemon=True)
        reader.start()
        try:
            self._wait(child)
        finally:
            _end(child)
            reader.join(STOP_S)

    def count(self) -> int:
        """How many outcomes there are so far."""
        if not self._place.outcomes.exists():
            return 0
        return self._place.outcomes.read_bytes().count(b"\n")

    def _wait(self, child: subprocess.Popen[str]) -> None:
        seen, since = 0, time.monotonic()
        while child.poll() is None:
            time.sleep(0.2)
            count = self.count()
            if count != seen:
                seen, since = count, time.monotonic()
            if time.monotonic() - since > STALL_S:
                self.wrong.append(
                    f"no test has ended for {STALL_S} s; the server is busy with:\n{self._busy()}"
                )
                return
            if not self._server.is_alive():
                return

    def _busy(self) -> str:
        rows = self._server.query(
            "SELECT id, time, state, info FROM information_schema.processlist "
            "WHERE command <> 'Daemon'"
        )
        return "\n".join(f"      {row}" for row in rows)

    def _tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"      {line[:300]}" for line in lines[-_TEXT_LINES:])


def _read(child: subprocess.Popen[str], command: Command, out: TextIO) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        out.write(line)
        out.flush()
        if command.on_line:
            command.on_line(line)


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class Session:
    """The two servers, and what runs on them."""

    def __init__(self, mariadb: Server, suite: Suite, directory: Path, data: Path | None) -> None:
        self.wrong: list[str] = []
        self._mariadb = mariadb
        self._suite = suite
        self._directory = directory
        self._servers = {
            engine: _server(mariadb, directory / engine.lower(), engine, data) for engine in ENGINES
        }

    def start(self, options: tuple[str, ...]) -> None:
        for server in self._servers.values():
            server.start(*options)
            load_time_zones(server)
            for database in self._suite.databases:
                server.execute(f"CREATE DATABASE {database}")

    def both(
        self, phase: Phase, name: str, commands: Callable[[Place], list[Command]]
    ) -> dict[str, Outcomes]:
        """Runs the suite on both servers at once; the outcomes of each engine."""
        places = {engine: self._place(engine, name) for engine in ENGINES}
        every = [
            Run(self._servers[engine], place, commands(place), engine)
            for engine, place in places.items()
        ]
        threads = [threading.Thread(target=one.run, daemon=True) for one in every]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            phase.progress(", ".join(f"{one.count()} tests on {one.engine}" for one in every))
            time.sleep(0.5)
        for one in every:
            self.wrong += one.wrong
        found = {engine: load(place.outcomes) for engine, place in places.items()}
        phase.summary = "; ".join(f"{engine} {_counts(found[engine])}" for engine in ENGINES)
        return found

    def stop(self) -> None:
        """Ends the servers; errors that ours has logged are no less wrong than a failed test."""
        for engine, server in self._servers.items():
            if engine == "ROCKSDB":
                self.wrong += server.errors()
            if server.is_alive():
                server.stop()

    def kill(self) -> None:
        for server in self._servers.values():
            server.kill()

    def _place(self, engine: str, name: str) -> Place:
        directory = files.fresh_directory(self._directory / engine.lower() / "suite")
        outcomes = self._directory / f"{name}-{engine}.jsonl"
        return Place(self._mariadb, self._servers[engine].socket, outcomes, directory)


def _server(mariadb: Server, home: Path, engine: str, data: Path | None) -> ScratchServer:
    options = (*OPTIONS, f"--default-storage-engine={engine}")
    if data:
        (data / engine.lower()).mkdir(parents=True, exist_ok=True)
    place = data / engine.lower() / "data" if data else None
    server = ScratchServer(mariadb, home, options, place)
    server.lock_wait_s = 50  # As long as InnoDB waits.
    return server


def load_time_zones(server: ScratchServer) -> None:
    """Tests of time zones need the server's tables of them."""
    zones = Path("/usr/share/zoneinfo")
    environment = dict(os.environ, **server.mariadb.environment())
    with subprocess.Popen(
        [str(server.mariadb.tool("mariadb-tzinfo-to-sql")), str(zones)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as statements:
        client = subprocess.run(
            [
                str(server.mariadb.tool("mariadb")),
                *("--no-defaults", "--user=root", f"--socket={server.socket}", "mysql"),
            ],
            stdin=statements.stdout,
            env=environment,
            capture_output=True,
            check=False,
        )
    if client.returncode != 0:
        raise CairnError(
            f"Loading {zones} into the server failed: {client.stderr.decode(errors='replace')}"
        )


def run(
    name: str,
    only: tuple[str, ...],
    *,
    source: Path | None = None,
    data: Path | None = None,
    latest: bool = False,
) -> int:
    """Runs a suite on both engines and compares; returns the exit status."""
    suite = SUITES[name](source)
    ledger = load_ledger(LEDGER, name)
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.BUILD, packages.SAMPLE)
    lock = files.exclusive(suite.home.with_name(f".{name}.lock"), f"obtaining {name}")
    with lock, reporter.phase(name) as phase:
        suite.prepare(phase, mariadb)
    say(f"  {shown(plugin.library())}")
    directory = VAR / "acceptance" / name
    with own_directory(directory):
        directory.mkdir(parents=True)
        session = Session(mariadb, suite, directory, data.absolute() / name if data else None)
        options = ("--cairn-snapshot-conflicts=LATEST",) if latest else ()
        try:
            verdict = _judge(reporter, suite, session, only, ledger, options)
            session.stop()
        finally:
            session.kill()
            for engine in ENGINES:
                if data:
                    files.remove(data.absolute() / name / engine.lower())
                if not session.wrong:
                    remove(directory / engine.lower())
        return _conclude(directory, verdict, session.wrong, ledger)


def _judge(
    reporter: Reporter,
    suite: Suite,
    session: Session,
    only: tuple[str, ...],
    ledger: Mapping[str, str],
    options: tuple[str, ...],
) -> Verdict:
    with reporter.phase("Servers") as phase:
        session.start(options)
        phase.summary = "ready"
    with reporter.phase("The suite") as phase:
        pairs = pair_up(session.both(phase, "first", lambda place: suite.commands(place, only)))
    verdict = judge(pairs, ledger)
    if verdict.worse and not session.wrong:
        tests = [pair.test for pair in verdict.worse]
        with reporter.phase("Once more, alone") as phase:
            second = session.both(phase, "second", lambda place: suite.again(place, tests))
        pairs = after_second(pairs, second)
        for pair in verdict.worse:
            if second["ROCKSDB"].get(pair.test, pair.rocksdb).state == PASS:
                say(f"    not again: {pair.test}")
    return judge(pairs, ledger)


def after_second(pairs: list[Pair], second: Mapping[str, Outcomes]) -> list[Pair]:
    """The pairs with what a second run gave on ROCKSDB.

    On InnoDB the first run counts: a test that needs others before it fails alone on both.
    """
    again = second["ROCKSDB"]
    return [Pair(pair.test, pair.innodb, again.get(pair.test, pair.rocksdb)) for pair in pairs]


def _counts(outcomes: Outcomes) -> str:
    counted = Counter(outcome.state for outcome in outcomes.values())
    return ", ".join(f"{count} {state}" for state, count in sorted(counted.items())) or "nothing"


def _conclude(
    directory: Path, verdict: Verdict, wrong: list[str], ledger: Mapping[str, str]
) -> int:
    """Says what has come of it, writes it down, and returns the exit status."""
    for pair in verdict.known:
        say(f"    as the ledger says: {pair.test}  {ledger[pair.test]}")
    for test in verdict.needless:
        say(f"    in the ledger without need: {test}")
    for pair in verdict.worse:
        say(f"    passes on InnoDB alone: {pair.test}")
        for line in [pair.rocksdb.state, *pair.rocksdb.said.splitlines()][-_TEXT_LINES:]:
            say(f"      {line[:300]}")
    for text in wrong:
        say(f"    {text}")
    report = "".join(
        f"==== {pair.test}\n{pair.rocksdb.state}\n{pair.rocksdb.said}\n" for pair in verdict.worse
    )
    files.write_atomic(directory / "worse.txt", report)
    failed = len(verdict.worse) + len(verdict.needless) + len(wrong)
    say(f"  the outcomes: {shown(directory)}")
    say("")
    say(f"{len(verdict.known)} known, {failed} failed")
    return 1 if failed else 0

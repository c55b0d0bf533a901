"""./cairn acceptance install: Cairn into servers that run, and out again, with faults at each step.

A server with the stock plug-in, and one without, have plug-in and option directories of their own.
The command is run as people run it, in a process of its own; its restart command asks the test to
restart the server.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cairn import files, packages, plugin, prefix
from cairn.errors import CairnError
from cairn.paths import BUILD, ROOT, VAR
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs

TABLES = 12
# Asks the test to restart the server, and ends as that did.
RESTART = (
    '--restart-command=touch "$ASKED"; while [ ! -e "$ANSWERED" ]; do sleep 0.05; done; '
    'status=$(cat "$ANSWERED"); rm "$ANSWERED"; exit "$status"'
)
# Runs the command, and ends it as kill -9 would when the N-th file has been put in place.
_KILLED = """
import os, sys
from cairn.install import journal
place, count, end = journal.Journal.place, 0, int(sys.argv.pop(1))
def counted(self, *arguments):
    global count
    place(self, *arguments)
    count += 1
    if count == end:
        os.kill(os.getpid(), 9)
journal.Journal.place = counted
from cairn.main import main
main()
"""


class Site:
    """A server with its own places for plug-ins and options, below `directory`."""

    def __init__(self, mariadb: prefix.Server, directory: Path, *, stock: bool) -> None:
        self.directory = directory
        self.options = directory / "conf.d"
        self.options.mkdir(parents=True)
        main = directory / "my.cnf"
        main.write_text(f"!includedir {self.options}\n", encoding="utf-8")
        # plugin_dir is DIRECTORY/server/plugin, so that builds go to DIRECTORY/cairn.
        self.server = ScratchServer(mariadb, directory / "server")
        self.server.loads_plugin = False
        self.server.configuration = main
        self.plugins = directory / "server" / "plugin"
        self.plugins.mkdir()
        self.asked, self.answered = directory / "asked", directory / "answered"
        self.stock = stock
        if stock:
            library = self.plugins / plugin.LIBRARY
            library.write_bytes(mariadb.stock_plugin.read_bytes())
            (self.options / "rocksdb.cnf").write_text(
                f"[mariadbd]\nplugin-load-add={plugin.LIBRARY}\n", encoding="ascii"
            )

    def files(self) -> dict[str, bytes]:
        """All files but the server's own."""
        places = (self.plugins, self.options, self.directory / "cairn")
        return {
            str(path.relative_to(self.directory)): path.read_bytes()
            for place in places
            for path in sorted(place.rglob("*"))
            if path.is_file()
        }

    def author(self) -> str:
        rows = self.server.query(
            "SELECT PLUGIN_AUTHOR FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'ROCKSDB' "
            "AND PLUGIN_STATUS = 'ACTIVE'"
        )
        return str(rows[0][0]) if rows else ""

    def command(
        self, *arguments: str, kill_at: int = 0, spoil: Callable[[], None] | None = None
    ) -> tuple[int, str]:
        """Runs ./cairn with these arguments; its exit status and what it printed.

        Restarts the server whenever the command asks for that (RESTART), and calls `spoil` once,
        while the server is down for the first time.
        """
        program = ["-c", _KILLED, str(kill_at)] if kill_at else ["-m", "cairn"]
        child = subprocess.Popen(
            [sys.executable, "-P", *program, *arguments, f"--socket={self.server.socket}"],
            env=dict(
                os.environ,
                PYTHONPATH=f"{ROOT / 'cli'}:{ROOT}",
                ASKED=str(self.asked),
                ANSWERED=str(self.answered),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        spoilers = [spoil] if spoil else []
        # In this thread: a server ends with the thread that has started it.
        while child.poll() is None:
            if self.asked.exists():
                self.asked.unlink()
                files.write_atomic(self.answered, self._restart(spoilers))
            time.sleep(0.02)
        return child.returncode, child.stdout.read() if child.stdout else ""

    def install(
        self, *arguments: str, kill_at: int = 0, spoil: Callable[[], None] | None = None
    ) -> tuple[int, str]:
        options = f"--options-directory={self.options}"
        return self.command("install", options, *arguments, kill_at=kill_at, spoil=spoil)

    def _restart(self, spoilers: list[Callable[[], None]]) -> str:
        if self.server.is_alive():
            self.server.stop()
        else:
            self.server.kill()
        while spoilers:
            spoilers.pop()()
        try:
            self.server.start(needs_engine=False)
        except CairnError:
            return "1\n"
        return "0\n"


class Trial:
    """A site, and what was found wrong."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.wrong: list[str] = []
        self.before: dict[str, bytes] = {}
        self.checksums: list[tuple[object, ...]] = []

    def require(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def sums(self) -> list[tuple[object, ...]]:
        names = ", ".join(f"shop.t{number}" for number in range(TABLES))
        return self.site.server.query(f"CHECKSUM TABLE {names}")

    def require_untouched(self, when: str) -> None:
        after = self.site.files()
        differing = sorted(
            name
            for name in after.keys() | self.before.keys()
            if after.get(name) != self.before.get(name)
        )
        self.require(not differing, f"{when}: {', '.join(differing)} are not as before")
        if self.site.stock:
            author = self.site.author()
            self.require(author not in ("Cairn", ""), f"{when}: the plug-in is of {author!r}")
            self.require(self.sums() == self.checksums, f"{when}: tables have other contents")


def _stock(trial: Trial, phase: Phase) -> None:
    server = trial.site.server
    server.start()
    server.execute("CREATE DATABASE shop")
    for number in range(TABLES):
        server.execute(
            f"CREATE TABLE shop.t{number} (id INT PRIMARY KEY, a INT, KEY (a)) ENGINE=ROCKSDB",
            f"INSERT INTO shop.t{number} SELECT seq, seq % 7 FROM shop.seq_1_to_{100 + number}",
        )
    trial.before = trial.site.files()
    trial.checksums = trial.sums()
    phase.summary = f"{TABLES} tables"


def _refused(trial: Trial, phase: Phase) -> None:
    site = trial.site
    site.server.execute(
        "XA START 'left'",
        "INSERT INTO shop.t0 VALUES (-1, 1)",
        "XA END 'left'",
        "XA PREPARE 'left'",
    )
    status, output = site.install()
    trial.require(status == 1 and "XA PREPARE has left 1" in output, f"prepared: {output}")
    site.server.execute("XA ROLLBACK 'left'")
    status, output = site.install("--user=nobody")
    trial.require(status == 1 and "nobody" in output, f"an unknown user: {output}")
    site.server.execute("CREATE USER weak@localhost", "GRANT SUPER ON *.* TO weak@localhost")
    status, output = site.install("--user=weak")
    trial.require(status == 1 and "does not see all tables" in output, f"few rights: {output}")
    status, output = site.command("install", f"--options-directory={site.directory / 'none'}")
    trial.require(status == 1 and "no directory" in output, f"no options directory: {output}")
    damage = site.server.data / "#rocksdb" / "ROCKSDB_CORRUPTED"
    damage.touch()
    status, output = site.install()
    trial.require(status == 1 and "there is damage" in output, f"damage: {output}")
    damage.unlink()
    status, output = site.install("--check")
    trial.require(status == 0 and "can be installed" in output, f"--check: {output}")
    status, output = site.command("uninstall")
    trial.require(status == 1 and "has put nothing" in output, f"uninstall: {output}")
    trial.require_untouched("after what was refused")
    phase.summary = "prepared transactions, users, directories, damage; --check"


def _killed(trial: Trial, phase: Phase) -> None:
    site = trial.site
    step = 0
    for step in range(1, 20):
        status, output = site.install(kill_at=step)
        if status == 0:
            break
        trial.require(status == -signal.SIGKILL, f"killed at {step}: {status}: {output}")
        # The next command takes back what was left, and ends at its first file.
        site.install(kill_at=1)
        status, output = site.install("--restart", "--restart-command=exit 3")
        trial.require(status == 1 and "exit status 3" in output, f"no restart: {output}")
        trial.require_untouched(f"killed at file {step}, and taken back")
    trial.require(step > 3, "the command was not killed at each file")
    status, output = site.command("uninstall")
    trial.require(status == 0, f"uninstall without a restart: {output}")
    trial.require_untouched("installed, and taken out before a restart")
    phase.summary = f"at each of {step - 1} files, taken back by the next command"


def _spoiled(trial: Trial, phase: Phase) -> None:
    """What was installed does not work: all is put back, and the server runs as before."""
    site = trial.site

    def cut_off() -> None:
        (library,) = (site.directory / "cairn").glob("*/adapter.so")
        os.truncate(library, library.stat().st_size // 2)

    def unknown_option() -> None:
        with (site.options / "cairn.cnf").open("a", encoding="ascii") as file:
            file.write("rocksdb_no_such_option = 1\n")

    for name, spoil in (("a library that is cut off", cut_off), ("an option", unknown_option)):
        status, output = site.install("--restart", RESTART, spoil=spoil)
        trial.require(status == 1 and "runs as before" in output, f"{name}: {output}")
        trial.require_untouched(name)
    phase.summary = "a library that is cut off, an unknown option: put back, restarted"


def _installed(trial: Trial, phase: Phase) -> None:
    site = trial.site
    status, output = site.install("--restart", RESTART)
    trial.require(status == 0 and "tables compared" in output, f"install: {output}")
    trial.require(site.author() == "Cairn", f"the plug-in is of {site.author()!r}")
    trial.require(trial.sums() == trial.checksums, "tables have other contents")
    status, output = site.install()
    trial.require(status == 1 and "Cairn is installed" in output, f"install again: {output}")
    phase.summary = f"{TABLES} tables as they were"


def _taken_out(trial: Trial, phase: Phase) -> None:
    site = trial.site
    site.server.execute(
        "SET GLOBAL cairn_format = 'cairn'",
        "CREATE TABLE shop.parent (id INT PRIMARY KEY) ENGINE=ROCKSDB",
        "CREATE TABLE shop.child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES "
        "shop.parent (id)) ENGINE=ROCKSDB",
    )
    status, output = site.command("uninstall")
    trial.require(
        status == 1 and "cannot read shop.child" in output and "shop.parent" in output,
        f"uninstall with a foreign key: {output}",
    )
    site.server.execute("DROP TABLE shop.child, shop.parent", "SET GLOBAL cairn_format = 'stock'")
    status, output = site.command("uninstall", "--restart", RESTART)
    trial.require(status == 0, f"uninstall: {output}")
    trial.require_untouched("taken out")
    site.server.stop()
    phase.summary = "refused with a foreign key; then the stock plug-in has its tables again"


def _fresh(trial: Trial, phase: Phase) -> None:
    """A server that never had the engine."""
    site = trial.site
    site.server.start(needs_engine=False)
    trial.before = site.files()
    status, output = site.install("--restart", RESTART)
    trial.require(status == 0 and site.author() == "Cairn", f"install: {output}")
    site.server.execute(
        "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT PRIMARY KEY) ENGINE=ROCKSDB"
    )
    status, output = site.command("uninstall", "--check")
    trial.require(status == 1 and "shop.t" in output, f"uninstall with a table: {output}")
    definition = site.server.data / "shop" / "t.frm"
    definition.rename(definition.with_suffix(".away"))
    site.server.execute("FLUSH TABLES")
    status, output = site.command("uninstall", "--check")
    trial.require(status == 1 and "shop.t" in output, f"without a definition: {output}")
    definition.with_suffix(".away").rename(definition)
    status, output = site.command("uninstall", "--leave-tables", "--restart", RESTART)
    trial.require(status == 0, f"uninstall: {output}")
    trial.require_untouched("taken out")
    trial.require(site.author() == "", "the engine is still there")
    site.server.stop()
    phase.summary = "installed, refused to go with a table, taken out"


_SITES: tuple[tuple[str, tuple[tuple[str, Callable[[Trial, Phase], None]], ...]], ...] = (
    (
        "stock",
        (
            ("Stock plug-in", _stock),
            ("Refused", _refused),
            ("Killed", _killed),
            ("Spoiled", _spoiled),
            ("Installed", _installed),
            ("Taken out", _taken_out),
        ),
    ),
    ("none", (("Fresh server", _fresh),)),
)


def check(reporter: Reporter, mariadb: prefix.Server) -> tuple[int, int]:
    """Runs all steps; how many went as they should, and how many did not."""
    directory = VAR / "acceptance" / "install"
    passed = failed = 0
    with own_directory(directory):
        for name, steps in _SITES:
            trial = Trial(Site(mariadb, directory / name, stock=name == "stock"))
            with trial.site.server:
                for title, step in steps:
                    before = len(trial.wrong)
                    with reporter.phase(title) as phase:
                        step(trial, phase)
                    for text in trial.wrong[before:]:
                        say(f"    {text}")
                    passed += len(trial.wrong) == before
                    failed += len(trial.wrong) != before
        runs.leave(directory, failed)
    return passed, failed


def run() -> int:
    """Runs all; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.BUILD)
    if not (BUILD / "release" / "chooser" / plugin.LIBRARY).is_file():
        raise CairnError("There is no library that chooses yet: run ./cairn build.")
    passed, failed = check(reporter, mariadb)
    say("")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0

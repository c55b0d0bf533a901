"""./cairn acceptance release-upgrade: a whole Debian 12 becomes 13, with Cairn in its server.

The package has builds for the servers of both. Where Debian 13's archive has a server that it has
no build for, apt keeps that of Debian 12, with Cairn; the one that it has a build for then comes
from packages in the cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from cairn import prefix, server_versions, versions
from cairn.errors import CairnError
from cairn.package import build, tree
from cairn.package.tree import NAME
from cairn.paths import VAR
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import own_directory
from tests import runs
from tests.acceptance.other_server_system import VERSION as VERSION
from tests.acceptance.package import clean_system, rehearsal, tables
from tests.acceptance.package.clean_system import SUITES, CleanSystem
from tests.acceptance.package.trial import Trial, only_package, run_steps

_DIRECTORY = VAR / "acceptance" / "release-upgrade"
# Besides those of tables.py: what is Cairn's alone.
_MORE = (
    "CREATE TABLE parent (id INT PRIMARY KEY, a INT) ENGINE=ROCKSDB",
    "INSERT INTO parent SELECT seq, seq FROM seq_1_to_500",
    "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id)) "
    "ENGINE=ROCKSDB",
    "INSERT INTO child SELECT seq, seq FROM seq_1_to_500",
    "ALTER TABLE parent ADD COLUMN more INT DEFAULT 7, ALGORITHM=INSTANT",
    "CREATE TABLE made (id INT PRIMARY KEY, a INT, v INT AS (a + 1) VIRTUAL, KEY (v)) "
    "ENGINE=ROCKSDB",
    "INSERT INTO made (id, a) SELECT seq, seq FROM seq_1_to_500",
    "CREATE TABLE beside (id INT PRIMARY KEY, a INT) ENGINE=InnoDB",
    "INSERT INTO beside SELECT seq, seq FROM seq_1_to_500",
)
_ORPHAN = "INSERT INTO child VALUES (1000, 1000)"
_NO_PARENT = 1452
_COMPLAINT = re.compile(r"(error|warning|fatal)\b", re.IGNORECASE)


class ReleaseUpgrade:
    """The steps; each goes on from where the one before has left the system."""

    def __init__(self, trial: Trial, old: str, new: str, debs: Path) -> None:
        """`old` and `new` are versions of the server's packages; `debs` has those of `new`."""
        self.trial = trial
        self.system: CleanSystem = trial.system
        self.old = old
        self.new = new
        self.debs = debs

    def steps(self) -> tuple[tuple[str, Callable[[Phase], None]], ...]:
        return (
            ("Debian 12", self._before),
            ("Debian 13", self._release),
            ("Its server", self._server),
            ("mariadb-upgrade", self._upgraded),
        )

    def _before(self, phase: Phase) -> None:
        phase.progress("installing")
        self.system.install_exactly(self.old, *server_versions.INSTALLED_PACKAGES)
        self.system.apt("install", "--no-install-recommends", self.trial.package)
        self.system.start()
        tables.make(self.system)
        self.system.query(f"USE {tables.SCHEMA}", *_MORE)
        self.trial.checksums = tables.checksums(self.system)
        self._require(self.old, "before")
        phase.summary = f"MariaDB {versions.bare(self.old)}, {len(self.trial.checksums)} tables"

    def _release(self, phase: Phase) -> None:
        self.system.stop()
        phase.progress("upgrading")
        self.system.write("etc/apt/sources.list", f"deb {clean_system.MIRROR} {SUITES[13]} main\n")
        self.system.apt("update")
        candidate = self.system.package_version("Candidate")
        self._apt("dist-upgrade")
        state = self.system.package_state(NAME)
        self.trial.require(state == "installed", f"dist-upgrade leaves the package {state}")
        release = (self.system.root / "etc/debian_version").read_text(encoding="ascii").strip()
        self.trial.require(release.startswith("13"), f"dist-upgrade leaves Debian {release}")
        wanted = self.new if candidate == self.new else self.old
        self.system.start()
        self._require(wanted, "after dist-upgrade")
        phase.summary = f"{release}, whose archive has {candidate}; runs {versions.bare(wanted)}"

    def _server(self, phase: Phase) -> None:
        self.system.stop()
        self.system.add_archive("newer", self.debs)
        self._apt(
            *("install", "--no-install-recommends", "--allow-downgrades"),
            *(f"{name}={self.new}" for name in server_versions.INSTALLED_PACKAGES),
        )
        self.system.start()
        self._require(self.new, "with its server")
        phase.summary = f"MariaDB {versions.bare(self.new)}"

    def _upgraded(self, phase: Phase) -> None:
        output = self.system.run("mariadb-upgrade")
        for line in output.splitlines():
            self.trial.require(not _COMPLAINT.match(line), f"mariadb-upgrade: {line}")
        self._require(self.new, "after mariadb-upgrade")
        names = ", ".join(sorted(self.trial.checksums))
        for name, _, kind, text in self.system.query(f"CHECK TABLE {names} EXTENDED"):
            self.trial.require((kind, text) == ("status", "OK"), f"{name}: {kind}: {text}")
        self.system.stop()
        phase.summary = f"{len(self.trial.checksums)} tables as they were"

    def _apt(self, *arguments: str) -> None:
        """Keeps the files of options that are there, as people do who do not want to be asked."""
        self.system.apt("--option", "Dpkg::Options::=--force-confold", *arguments)

    def _require(self, version: str, when: str) -> None:
        """The server has this version and Cairn for it, and all rows; a foreign key holds."""
        ((said,),) = self.system.query("SELECT VERSION()")
        text = versions.server_text(version)
        self.trial.require(said.startswith(text), f"{when}: runs {said}")
        self.trial.require(
            self.trial.plugins() == {("Cairn", "ACTIVE", "FORCE_PLUS_PERMANENT")},
            f"{when}: the plug-in is {self.trial.plugins()}",
        )
        builds = rehearsal.mapped(self.system)
        self.trial.require(builds == {text}, f"{when}: the server has loaded {builds}")
        self.trial.require_tables(when)
        errors = [line for line in self.system.log_lines() if "[ERROR]" in line]
        self.trial.require(not errors, f"{when}: {errors[:5]}")
        with self.system.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"USE {tables.SCHEMA}")
            try:
                cursor.execute(_ORPHAN)
                self.trial.wrong.append(f"{when}: a child comes without its parent")
            except connection.Error as error:
                self.trial.require(error.args[0] == _NO_PARENT, f"{when}: {error}")


def run(version: str, packages: Path | None) -> int:
    """Upgrades; the exit status. `packages`: has the package with both builds; None: it is made."""
    reporter = Reporter()
    clean_system.unmount(_DIRECTORY)  # What a killed run has left, before it is removed.
    with own_directory(_DIRECTORY):
        package = (
            build.make(reporter, _DIRECTORY / "packages", (version,)).package
            if packages is None
            else only_package(packages, tree.NAME)
        )
        old = prefix.require().version
        with reporter.phase("Packages of MariaDB") as phase:
            debs = server_versions.ensure_packages(phase, version)
        with (
            reporter.phase("Clean system") as phase,
            clean_system.made(phase, _DIRECTORY / "root") as system,
        ):
            if not system.offers(old):
                raise CairnError(
                    f"The archive has no mariadb-server {old} any more: ./cairn clean --cache "
                    "chooses the server anew."
                )
            phase.summary = SUITES[12]
            trial = Trial(system, package, old)
            passed, failed = run_steps(
                reporter, trial, ReleaseUpgrade(trial, old, version, debs).steps()
            )
        runs.leave(_DIRECTORY, failed)
    say("")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0

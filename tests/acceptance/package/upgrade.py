"""./cairn acceptance upgrade: a real upgrade of the server, with builds of Cairn for both sides.

A clean Debian 12 has an older server, from an archive of its own. Its server is killed under load,
upgraded by apt to the distribution's, started, checked, and taken back again.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from cairn import server_versions, versions
from cairn.errors import CairnError
from cairn.package import build
from cairn.package.tree import NAME
from cairn.package.version import current
from cairn.paths import VAR
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import own_directory
from tests import runs
from tests.acceptance.package import clean_system, rehearsal
from tests.acceptance.package.steps import LIBRARY
from tests.acceptance.package.trial import WAYS, Trial, run_steps
from tests.crash import mixed

FROM = "1:10.11.14-0+deb12u2"
_OPTIONS = "etc/mysql/mariadb.conf.d/zz-upgrade.cnf"


@dataclass(frozen=True)
class Side:
    """A server, and the package of Cairn that has a build for it alone."""

    version: str  # Of its packages.
    text: str  # What it calls itself.
    package: Path


@dataclass(frozen=True)
class Plan:
    """What happens in one round; follows from the seed and the number of the round."""

    load_s: float
    upgrade: tuple[str, ...]  # Arguments of apt-get.
    # Whether the server is killed, not shut down, before it goes back as well.
    kill_before_return: bool

    @staticmethod
    def of(seed: int, number: int) -> Plan:
        chance = random.Random(f"{seed} upgrade {number}")
        return Plan(
            load_s=chance.uniform(0.5, 3.0),
            upgrade=chance.choice(WAYS[1:]),
            kill_before_return=chance.random() < 0.5,
        )


class Upgrade:
    """The steps; each goes on from where the one before has left the system."""

    def __init__(
        self, trial: Trial, old: Side, new: Side, load: rehearsal.Rehearsal, debs: Path
    ) -> None:
        """The package of `trial` has builds for both; `debs` has the old server's packages."""
        self.trial = trial
        self.system = trial.system
        self.old = old
        self.new = new
        self.rehearsal = load
        self.debs = debs
        self.plugins = 0

    def steps(self, seed: int, rounds: int) -> tuple[tuple[str, Callable[[Phase], None]], ...]:
        plans = [Plan.of(seed, number) for number in range(1, rounds + 1)]
        return (
            ("Older server", self._server),
            ("No build for it", self._refused),
            ("A build for it", self._installed),
            ("Newer server", self._kept),
            ("Builds for both", self._both),
            ("Upgrades", lambda phase: self._rounds(phase, plans)),
            ("Back without build", self._back_without_build),
            ("Both at once", self._together),
        )

    # ---- before the upgrade ---------------------------------------------------------------------

    def _server(self, phase: Phase) -> None:
        phase.progress("installing")
        self.system.add_archive("older", self.debs)
        self._install_server(self.old)
        self.system.start()
        self.system.stop()
        phase.summary = self.old.version

    def _refused(self, phase: Phase) -> None:
        """A package without a build for this server does not come beside it."""
        package = self._inside(self.new.package)
        status, output = self.system.attempt("dpkg", "--install", package)
        self.trial.require(status != 0, "dpkg installs a package without a build for the server")
        self.trial.require(
            f"the installed server is {self.old.text};" in output
            and f"builds for: {self.new.text}." in output,
            f"dpkg: {output[-500:]}",
        )
        self.trial.require(not (self.system.root / LIBRARY).exists(), "it leaves a library")
        held = f"mariadb-server-core={self.old.version}"
        status, output = self.system.attempt("apt-get", "--yes", "install", package, held)
        self.trial.require(status != 0, "apt installs it beside the older server")
        self.trial.require(
            f"mariadb-server-core (= {self.new.version})" in output, f"apt: {output[-500:]}"
        )
        self._require_server(self.old, "after what was refused")
        phase.summary = "refused by dpkg and by apt"

    def _installed(self, phase: Phase) -> None:
        self._install(self._inside(self.old.package))
        (self.system.root / _OPTIONS).write_text(rehearsal.OPTIONS, encoding="ascii")
        self.system.start()
        self._require_engine(self.old, "after the installation")
        self.rehearsal.prepare()
        self.trial.wrong += self.rehearsal.check()
        phase.summary = f"{self.plugins} plug-ins"

    def _kept(self, phase: Phase) -> None:
        candidate = self.system.package_version("Candidate")
        self.trial.require(candidate == self.new.version, f"the archive has {candidate}")
        self.trial.require_server_kept(candidate)
        phase.summary = f"{self.old.version} stays with {candidate} in the archive"

    def _both(self, phase: Phase) -> None:
        output = self._install(self.trial.package)
        self.trial.require("Restart MariaDB" in output, "it does not say what to do")
        self._require_server(self.old, "after the package with both builds")
        self.trial.require_server_upgraded(self.new.version)
        self.system.stop()
        self.system.start()
        self._require_engine(self.old, "with both builds")
        phase.summary = "each way of apt upgrades the server"

    # ---- upgrades under load --------------------------------------------------------------------

    def _rounds(self, phase: Phase, plans: list[Plan]) -> None:
        for number, plan in enumerate(plans, 1):
            self._there(plan)
            if not self.trial.wrong:
                self._and_back(plan)
            if self.trial.wrong:
                phase.note(f"round {number}: {plan}")
                return
            phase.progress(f"{number} of {len(plans)}")
        phase.summary = (
            f"{len(plans)} and back, {self.rehearsal.kills} kills, "
            f"{self.rehearsal.acknowledged:,} transactions acknowledged"
        )

    def _there(self, plan: Plan) -> None:
        """A kill under load, the upgrade, a start, and mariadb-upgrade."""
        self.trial.wrong += self.rehearsal.load(plan.load_s, kill=True)
        self.system.apt(*plan.upgrade)
        what = f"after apt-get {' '.join(plan.upgrade)}"
        self._require_server(self.new, what)
        self.system.start()
        self._require_engine(self.new, what)
        self._require_data(what)
        status, output = self.system.attempt("mariadb-upgrade", "--force")
        fine = set(re.findall(r"^(\S+) +OK$", output, re.MULTILINE))
        self.trial.require(
            status == 0 and fine >= {*mixed.TABLES}, f"mariadb-upgrade: {output[-1000:]}"
        )
        self._require_data("after mariadb-upgrade")

    def _and_back(self, plan: Plan) -> None:
        """The newer server writes as well; then the older one comes again."""
        self.trial.wrong += self.rehearsal.load(plan.load_s, kill=plan.kill_before_return)
        self._install_server(self.old)
        self.system.start()
        self._require_engine(self.old, "with the older server again")
        self._require_data("with the older server again")

    # ---- ways back ------------------------------------------------------------------------------

    def _back_without_build(self, phase: Phase) -> None:
        """A package whose build for the older server is gone keeps the newer one."""
        self._install_server(self.new)
        self.system.start()
        self.trial.wrong += self.rehearsal.load(1.0, kill=True)
        self._install(self._inside(self.new.package))
        self._require_server(self.new, "after a package for it alone")
        self.system.start()
        self._require_engine(self.new, "with a package for it alone")
        self._require_data("with a package for it alone")
        self.trial.wrong += self.rehearsal.load(1.0, kill=True)
        names = [f"{n}={self.old.version}" for n in server_versions.INSTALLED_PACKAGES]
        arguments = ("apt-get", "--yes", "--allow-downgrades", "install", *names)
        status, output = self.system.attempt(*arguments)
        self.trial.require(status != 0, "apt takes the server back to one without a build")
        self.trial.require(NAME in output, f"apt does not say why: {output[-500:]}")
        self._require_server(self.new, "after the way back that was refused")
        # By hand; what lies in the archive of the older server is all of it.
        self.system.attempt("sh", "-c", "dpkg --install /srv/older/*.deb")
        self.trial.require_no_start(
            "a server that was taken back by dpkg", "no build for server", self.old.text,
            self.new.text,
        )  # fmt: skip
        # apt would rather bring the newer server again.
        _, output = self.system.attempt("apt-get", "--simulate", "--fix-broken", "install")
        self.trial.require(
            f"Inst mariadb-server-core [{self.old.version}] ({self.new.version} " in output,
            f"apt-get --fix-broken install does not bring the newer server: {output[-500:]}",
        )
        self.system.run("dpkg", "--install", self.trial.package)
        self.system.start()
        self._require_engine(self.old, "after the package that has its build")
        self._require_data("after the package that has its build")
        phase.summary = "refused by apt; forced by dpkg no start, and no transaction lost"

    def _together(self, phase: Phase) -> None:
        """Cairn for the newer server brings it along; the data waits meanwhile."""
        self.trial.wrong += self.rehearsal.load(1.0, kill=True)
        self.system.apt("remove", "--allow-remove-essential", NAME, CAIRN_REMOVE="1")
        self.trial.require_no_start("the package is removed", "unknown variable")
        self._install(self._inside(self.new.package))
        self._require_server(self.new, "with Cairn for the newer server")
        self.system.start()
        self._require_engine(self.new, "with Cairn for the newer server")
        self._require_data("with Cairn for the newer server")
        self.system.stop()
        phase.summary = f"apt-get install of a package for {self.new.version} upgrades the server"

    # ---- checks ---------------------------------------------------------------------------------

    def _install_server(self, side: Side) -> None:
        self.system.install_exactly(side.version, *server_versions.INSTALLED_PACKAGES)

    def _install(self, package: str) -> str:
        """What apt says when it installs a package that lies in the system."""
        return self.system.apt("install", "--no-install-recommends", package)

    def _inside(self, package: Path) -> str:
        """Where a package lies in the system."""
        place = self.system.root / "root" / package.name
        if not place.is_file():
            place.write_bytes(package.read_bytes())
        return f"/root/{package.name}"

    def _require_server(self, side: Side, when: str) -> None:
        names = ("mariadb-server", "mariadb-server-core", "mariadb-client")
        found = {self.system.package_version("Installed", name) for name in names}
        self.trial.require(found == {side.version}, f"{when}: the server is {found}")

    def _require_engine(self, side: Side, when: str) -> None:
        """All plug-ins are there, of the build for this server."""
        builds = rehearsal.mapped(self.system)
        self.trial.require(builds == {side.text}, f"{when}: the server has loaded {builds}")
        self.trial.require(
            self.trial.plugins() == {("Cairn", "ACTIVE", "FORCE_PLUS_PERMANENT")},
            f"{when}: the plug-in is {self.trial.plugins()}",
        )
        ((count, version),) = self.system.query(
            "SELECT COUNT(*), VERSION() FROM information_schema.PLUGINS "
            "WHERE PLUGIN_LIBRARY = 'ha_rocksdb.so' AND PLUGIN_STATUS = 'ACTIVE'"
        )
        self.plugins = self.plugins or count
        self.trial.require(count == self.plugins > 1, f"{when}: {count} plug-ins of {self.plugins}")
        self.trial.require(side.text in version, f"{when}: the server is {version}")

    def _require_data(self, when: str) -> None:
        self.trial.wrong += [f"{when}: {text}" for text in self.rehearsal.check()]


# ---- the command --------------------------------------------------------------------------------


def run(old_version: str, rounds: int, seed: int | None) -> int:
    """Returns the exit status."""
    reporter = Reporter()
    seed = runs.chosen_seed(seed)
    directory = VAR / "acceptance" / "upgrade"
    say(
        f"  again with: ./cairn acceptance upgrade --from {old_version} --rounds {rounds} "
        f"--seed {seed}"
    )
    clean_system.unmount(directory)  # What a killed run has left, before it is removed.
    with own_directory(directory):
        old, new, both = _packages(reporter, old_version, directory / "packages")
        with reporter.phase("Older server") as phase:
            debs = server_versions.ensure_packages(phase, old_version)
        with ExitStack() as stack:
            with reporter.phase("Clean system") as phase:
                system = stack.enter_context(clean_system.made(phase, directory / "root"))
                trial = Trial(system, both, new.version)
                phase.summary = clean_system.SUITE
            if not system.offers(new.version):
                raise CairnError(
                    f"The archive has no mariadb-server {new.version} any more: ./cairn clean "
                    "--cache chooses the server anew."
                )
            journal = stack.enter_context(
                (directory / "acknowledged.log").open("w", encoding="utf-8")
            )
            upgrade = Upgrade(trial, old, new, rehearsal.Rehearsal(system, seed, journal), debs)
            stack.callback(upgrade.rehearsal.kill)
            passed, failed = run_steps(reporter, trial, upgrade.steps(seed, rounds))
        runs.leave(directory, failed)
    say("")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _packages(reporter: Reporter, old_version: str, directory: Path) -> tuple[Side, Side, Path]:
    """Two packages with a build for one server each, and one with both, in this order of time."""
    adapters = build.adapters(reporter, (old_version,))
    if len(adapters) != 2:
        raise CairnError(f"{old_version} is the chosen server: name an older one.")
    sides = []
    for adapter, suffix in zip(reversed(adapters), ("~old", "+new"), strict=True):
        version = current()
        version = replace(version, text=version.text + suffix)
        made = build.pack(reporter, (adapter,), version, directory / suffix[1:], debug=False)
        sides.append(Side(adapter.package_version, adapter.server_text, made.package))
    both = build.pack(reporter, adapters, current(), directory / "both", debug=False).package
    if versions.compare(sides[0].version, sides[1].version) >= 0:
        raise CairnError(f"{old_version} is newer than {sides[1].version}: name an older one.")
    return sides[0], sides[1], both

"""What a person does whose server has no build of Cairn, and what must hold after each step."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from cairn import process
from cairn.adapters.place import LOCAL_PACKAGE
from cairn.adapters.place import PLUGIN_PACKAGE as PLUGIN
from cairn.package.adapter_sources import NAME as PROGRAM
from cairn.paths import LOG
from cairn.report import Phase
from tests.acceptance.adapters import archive
from tests.acceptance.package import clean_system, tables
from tests.acceptance.package.clean_system import CleanSystem

_LOG = LOG / "adapters-test.log"
_LIST = "etc/apt/sources.list.d/archive.list"
_SOURCES = "[trusted=yes] file:/srv/archive ./"
# While it is there, no newer server is.
_PIN = "etc/apt/preferences.d/server"
_WORK = "var/tmp"


class Trial:
    """The system under test, and what was found wrong."""

    def __init__(self, system: CleanSystem, packages: dict[str, str]) -> None:
        """`packages` are the files of the packages in the system, by their names."""
        self.system = system
        self.packages = packages
        self.wrong: list[str] = []
        self.checksums: dict[str, int] = {}
        self.made = ""  # The package that cairn-adapters has made.
        self.later_server = ""  # The version that PLUGIN has a build for.

    def require(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def require_tables(self, when: str) -> None:
        found = tables.checksums(self.system)
        self.require(found == self.checksums, f"{when}: other tables or rows")

    def require_plugin(self, when: str) -> None:
        rows = self.system.query(
            "SELECT PLUGIN_AUTHOR, PLUGIN_STATUS FROM information_schema.PLUGINS "
            "WHERE PLUGIN_NAME = 'ROCKSDB'"
        )
        self.require(rows == [("Cairn", "ACTIVE")], f"{when}: the engine is {rows}")

    def require_failure(self, status: int, text: str, *arguments: str, **variables: str) -> None:
        """cairn-adapters ends with `status` and says `text`."""
        ended, output = self.system.attempt(PROGRAM, *arguments, **variables)
        what = f"{PROGRAM} {' '.join(arguments)}"
        self.require(ended == status, f"{what}: exit status {ended}: {output[-600:]}")
        self.require(text in output, f"{what} says {output[-600:]}")
        self.require("Traceback" not in output, f"{what}: {output[-600:]}")

    def left(self, directory: str) -> list[str]:
        return [path.name for path in (self.system.root / directory).iterdir()]


def _install(trial: Trial, phase: Phase) -> None:
    """A server that there is no build for: apt refuses the package, and takes the program."""
    system = trial.system
    system.write(_LIST, f"deb {_SOURCES}\n")
    pin = f"Pin: release n={clean_system.SUITE}\nPin-Priority: -1\n"
    system.write(_PIN, f"Package: src:mariadb:any\n{pin}")
    system.apt("update")
    phase.progress("installing the server")
    system.install_server(archive.VERSION)
    status, output = system.attempt("apt-get", "--yes", "install", trial.packages[PLUGIN])
    trial.require(status != 0, "apt installs Cairn where there is no build for the server")
    trial.require("cairn-adapter" in output, f"apt does not name what is lacking: {output[-600:]}")
    phase.progress("installing the program and the compiler")
    system.apt("install", "--no-install-recommends", trial.packages[PROGRAM])
    listed = json.loads(system.run(PROGRAM, "list", "--json"))
    trial.require(listed["plugin"] is None and not listed["adapters"], f"list: {listed}")
    installed = listed["installed"]
    trial.require(
        installed["version"] == archive.VERSION
        and installed["text"] == archive.TEXT
        and not installed["fits"],
        f"list: the installed server is {installed}",
    )
    phase.summary = f"{archive.VERSION}: no build"


def _errors(trial: Trial, phase: Phase) -> None:
    """Each thing that can be amiss is told before much is done, and leaves nothing."""
    system = trial.system
    trial.require_failure(2, "usage:", "build", "--no-such-option")
    trial.require_failure(2, "is no directory", "build", "--source", "/nowhere")
    trial.require_failure(1, "apt's sources have no source packages", "build")
    system.write(_LIST, f"deb {_SOURCES}\ndeb-src {_SOURCES}\n")
    system.apt("update")
    trial.require_failure(1, "There is no mariadb-server-core 1:10.11.99", "build", "1:10.11.99")
    trial.require_failure(1, "/proc/x cannot be written to", "build", "--output", "/proc/x")
    with system.full("mnt"):
        trial.require_failure(1, "a build needs", "build", "--output=/mnt")
        trial.require_failure(1, "Name another directory with TMPDIR", "build", TMPDIR="/mnt")
    tarball = system.root / "srv/archive" / archive.TARBALL
    tarball.rename(tarball.with_suffix(".away"))
    trial.require_failure(1, "apt-mark hold mariadb-server", "build", "--output=/root/none")
    (system.root / "root/none/cairn-adapters.log").unlink()
    tarball.write_bytes(b"no tarball")
    trial.require_failure(1, "could not download the source", "build", "--output=/root/none")
    (system.root / "root/none/cairn-adapters.log").unlink()
    tarball.with_suffix(".away").replace(tarball)
    compiler = system.root / "usr/bin/g++"
    compiler.rename(compiler.with_suffix(".away"))
    trial.require_failure(1, "A build needs g++: apt-get install g++", "build")
    compiler.with_suffix(".away").rename(compiler)
    trial.require(not trial.left(_WORK), f"left behind: {trial.left(_WORK)}")
    trial.require(not trial.left("root/none"), f"made: {trial.left('root/none')}")
    phase.summary = "11, each told"


def _interruption(trial: Trial, phase: Phase) -> None:
    """A build that is interrupted while it compiles leaves nothing."""
    root = trial.system.root
    child = subprocess.Popen(
        ["chroot", str(root), PROGRAM, "build", "--output=/root/none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    log = root / "root/none/cairn-adapters.log"
    deadline = time.monotonic() + 600
    while child.poll() is None and time.monotonic() < deadline:
        if log.is_file() and "Building CXX object" in log.read_text("utf-8", "replace"):
            break
        time.sleep(0.2)
    phase.progress("interrupting it")
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=120)
    trial.require(child.returncode == 128 + signal.SIGTERM, f"{child.returncode}: {output[-600:]}")
    trial.require("interrupted; nothing was made" in output, f"it says {output[-600:]}")
    trial.require(not trial.left(_WORK), f"left behind: {trial.left(_WORK)}")
    trial.require(not trial.left("root/none"), f"made: {trial.left('root/none')}")
    phase.summary = "while it compiled; nothing is left"


def _build(trial: Trial, phase: Phase) -> None:
    system = trial.system
    begun = time.monotonic()
    output = system.run(PROGRAM, "build", "--output=/root/made")
    seconds = time.monotonic() - begun
    (trial.made,) = (f"/root/made/{name}" for name in trial.left("root/made"))
    trial.require(f"apt-get install {trial.made} ./{PLUGIN}_" in output, output[-600:])
    trial.require(not trial.left(_WORK), f"left behind: {trial.left(_WORK)}")
    trial.require(not (system.root / "usr/lib/cairn").exists(), "it writes where dpkg does")
    process.run(
        ["lintian", "--fail-on", "error", "--allow-root", system.root / trial.made[1:]],
        log=_LOG,
        what="lintian, which looks for errors,",
    )
    size = (system.root / trial.made[1:]).stat().st_size
    phase.summary = f"{Path(trial.made).name}, {size >> 10:,} KiB, in {seconds:.0f} s"


def _use(trial: Trial, phase: Phase) -> None:
    """Both packages in one command of apt; then the engine is there."""
    system = trial.system
    system.apt("install", "--no-install-recommends", trial.packages[PLUGIN], trial.made)
    listed = json.loads(system.run(PROGRAM, "list", "--json"))
    trial.require(listed["installed"]["fits"], f"list: {listed}")
    system.start()
    trial.require_plugin("after the installation")
    tables.make(system)
    trial.checksums = tables.checksums(system)
    system.kill()
    system.start()
    trial.require_tables("after a crash")
    output = system.run(PROGRAM, "build", archive.VERSION, "--source=/srv/archive", "--help")
    trial.require("--source" in output, "build --help")
    phase.summary = f"{len(trial.checksums)} tables, there after a crash too"


def _hold(trial: Trial, phase: Phase) -> None:
    """Neither a newer server nor a newer Cairn without a build comes in, by apt or by dpkg."""
    system = trial.system
    (system.root / _PIN).unlink()
    for arguments in (
        ("upgrade",),
        ("dist-upgrade",),
        ("install", "mariadb-server"),
        ("remove", LOCAL_PACKAGE),
    ):
        _, output = system.attempt("apt-get", "--yes", "--simulate", *arguments)
        what = f"apt-get {' '.join(arguments)}"
        trial.require("Remv " not in output, f"{what} removes something: {output[-400:]}")
        trial.require("Inst mariadb-server-core " not in output, f"{what} upgrades the server")
        told = "kept back" in output or "unmet dependencies" in output or "essential" in output
        trial.require(told, f"{what} does not say that it holds: {output[-400:]}")
    newer = _with_version(system, trial.packages[PLUGIN], "+later")
    for command in (("apt-get", "--yes", "install"), ("dpkg", "--install")):
        status, output = system.attempt(*command, newer)
        trial.require(status != 0, f"{' '.join(command)} takes a Cairn without a build")
    trial.require("It was not installed" in output, f"dpkg says {output[-600:]}")
    trial.require(system.attempt("apt-get", "check")[0] == 0, "packages are left broken")
    status, _ = system.attempt("dpkg", "--remove", LOCAL_PACKAGE)
    trial.require(status != 0, "dpkg removes the build")
    trial.require_tables("after all that")
    phase.summary = "the server, the package and the build stay"


def _with_version(system: CleanSystem, package: str, suffix: str) -> str:
    """The package, as one of a later version."""
    directory = system.root / "root/later"
    system.run("dpkg-deb", "--raw-extract", package, "/root/later")
    for name in ("control", "preinst"):
        path = directory / "DEBIAN" / name
        text = path.read_text("utf-8")
        version = package.split("_")[1]
        path.write_text(text.replace(version, version + suffix), "utf-8")
    system.run("dpkg-deb", "--build", "-Zgzip", "-z1", "/root/later", "/root/later.deb")
    shutil.rmtree(directory)
    return "/root/later.deb"


def _later_server(trial: Trial, phase: Phase) -> None:
    """A server that the package has a build for; the local one goes away in the same command."""
    system = trial.system
    version = trial.later_server
    if not system.offers(version):
        phase.summary = f"not tried: the archive has no mariadb-server {version} any more"
        return
    names = ("server", "server-core", "client", "client-core")
    output = system.apt(
        "install",
        *(f"mariadb-{name}={version}" for name in names),
        trial.packages[LOCAL_PACKAGE],
    )
    trial.require("REMOVED" not in output, f"something is removed: {output[-600:]}")
    builds = trial.left("usr/lib/cairn")
    trial.require(len(builds) == 1 and archive.TEXT not in builds, f"there are builds {builds}")
    system.stop()
    system.start()
    trial.require_plugin("with the later server")
    trial.require_tables("with the later server")
    system.apt("remove", LOCAL_PACKAGE)
    listed = json.loads(system.run(PROGRAM, "list", "--json"))
    trial.require(listed["installed"]["fits"], f"list: {listed}")
    output = system.run(PROGRAM, "build", version)
    trial.require("Nothing to build" in output, f"build says {output}")
    system.stop()
    system.start()
    trial.require_tables("after the empty package was removed")
    system.stop()
    phase.summary = f"{version}: {len(trial.checksums)} tables as they were"


STEPS: tuple[tuple[str, Callable[[Trial, Phase], None]], ...] = (
    ("No build", _install),
    ("Errors", _errors),
    ("Interrupted", _interruption),
    ("Build", _build),
    ("Install", _use),
    ("Held", _hold),
    ("Later server", _later_server),
)

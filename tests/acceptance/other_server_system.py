"""The clean system of ./cairn acceptance other-server, and the test framework of its server.

A clean Debian of the release that the other server is of, with that server and the package, which
has a build for it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cairn import files, mtr, process, server_versions, versions
from cairn.errors import CairnError
from cairn.mtr import Outcome
from cairn.package import build, tree
from cairn.paths import ROOT, VAR
from cairn.report import Phase, Reporter
from tests.acceptance.package import clean_system
from tests.acceptance.package.clean_system import CleanSystem
from tests.acceptance.package.trial import only_package

VERSION = "1:11.8.6-0+deb13u1"
DIRECTORY = VAR / "acceptance" / "other-server"
# In the clean system.
CHECKOUT = "srv/checkout"
_PACKAGES = (*server_versions.INSTALLED_PACKAGES, "mariadb-test", "mariadb-test-data")
# What the framework and the tests run besides the server.
_TOOLS = ("patch", "python3")


@dataclass(frozen=True)
class Request:
    """What is to be run."""

    version: str = VERSION  # Of the server's packages.
    packages: Path | None = None  # Has the package, with a build for it; None: it is made.
    tests: tuple[str, ...] = ()  # Names; none: all.
    update_ledger: bool = False


@dataclass(frozen=True)
class Installed:
    """A clean system with the other server and the package, and the package outside of it."""

    system: CleanSystem
    package: Path


def check(request: Request) -> None:
    """Raises if there can be no build for the wanted server; removes what a killed run mounted."""
    server_versions.require_version(request.version)
    clean_system.unmount(DIRECTORY)


@contextmanager
def installed(reporter: Reporter, request: Request) -> Iterator[Installed]:
    """The system, below DIRECTORY, which the caller has made; nothing runs in it afterwards."""
    package = _package(reporter, request)
    with reporter.phase("Packages of MariaDB") as phase:
        archive = server_versions.ensure_packages(phase, request.version, _PACKAGES)
    suite = clean_system.SUITES[versions.release_of(request.version)]
    with (
        reporter.phase("Clean system") as phase,
        clean_system.made(phase, DIRECTORY / "root", suite) as system,
    ):
        system.add_archive("server", archive)
        phase.progress("installing MariaDB and the package")
        _install(system, request.version, package)
        phase.summary = f"{suite}, MariaDB {versions.bare(request.version)}"
        yield Installed(system, package)


def _package(reporter: Reporter, request: Request) -> Path:
    if request.packages is None:
        return build.make(reporter, DIRECTORY / "packages", (request.version,)).package
    return only_package(request.packages, tree.NAME)


def _install(system: CleanSystem, version: str, package: Path) -> None:
    shutil.copy(package, system.root / "root")
    system.install_exactly(version, *_PACKAGES)
    system.apt("install", "--no-install-recommends", f"/root/{package.name}", *_TOOLS)
    # Tests of damage use what other tests have for it.
    for path in (*(ROOT / "tests").rglob("*"), *(ROOT / "cli").rglob("*.py")):
        if path.is_file() and "__pycache__" not in path.parts:
            files.place(path, system.root / CHECKOUT / path.relative_to(ROOT))


def leave_options_to_framework(system: CleanSystem) -> None:
    """Removes the package's options: the framework's servers say themselves what they load."""
    (system.root / "etc/mysql/mariadb.conf.d/cairn.cnf").unlink()


def framework(system: CleanSystem) -> Path:
    """The directory of the server's test framework, which has the packaged tests too."""
    scripts = sorted(system.root.glob("usr/share/*/*-test/mariadb-test-run.pl"))
    if len(scripts) != 1:
        raise CairnError("mariadb-test has not one mariadb-test-run.pl: please report this.")
    return scripts[0].parent


def run_framework(
    system: CleanSystem,
    arguments: Iterable[str],
    log: Path,
    on_outcome: Callable[[Outcome], None],
) -> list[Outcome]:
    """How the tests ended. Raises if the framework did not get to them. Appends to `log`."""
    reader = mtr.Reader(on_outcome)
    directory = framework(system).relative_to(system.root)
    process.run(
        [
            *("chroot", system.root, "env", "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"),
            *("sh", "-c", f'cd /{directory} && exec perl mariadb-test-run.pl "$@"', "mtr"),
            *("--vardir=/srv/var", "--parallel=2", "--max-test-fail=0", "--retry=0", "--force"),
            *arguments,
        ],
        log=log,
        what="The test framework",
        on_line=reader.read,
        accept=tuple(range(-64, 256)),
    )
    outcomes = reader.finish()
    if not outcomes:
        raise CairnError(f"The framework has run no test. Log: {log}")
    return outcomes


def progress(phase: Phase) -> Callable[[Outcome], None]:
    """Lets a phase say how far the framework is."""
    seen = 0

    def on_outcome(outcome: Outcome) -> None:
        nonlocal seen
        seen += 1
        phase.progress(f"{seen} done, last {outcome.key}: {outcome.state}")

    return on_outcome

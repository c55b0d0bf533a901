"""A system in which the package is tried, and what was found wrong."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql

from cairn.errors import CairnError
from cairn.package.tree import NAME
from cairn.report import Phase, Reporter, say
from tests.acceptance.package import tables
from tests.acceptance.package.clean_system import CleanSystem

ADAPTERS = "usr/lib/cairn"
# How people upgrade a server; the second is what `apt upgrade` does.
WAYS = (
    ("upgrade",),
    ("upgrade", "--with-new-pkgs"),
    ("dist-upgrade",),
    ("install", "mariadb-server"),
)


def only_package(directory: Path, name: str) -> Path:
    """The one package of this name in a directory. Raises if there are others, or none."""
    found = sorted(directory.glob(f"{name}_*.deb"))
    if len(found) != 1:
        raise CairnError(f"{directory} has {len(found)} packages {name}: one is wanted.")
    return found[0]


class Trial:
    """The system under test, and what was found wrong."""

    def __init__(self, system: CleanSystem, package: Path, version: str) -> None:
        """`version` is that of the server's packages, which `package` has a build for."""
        self.system = system
        self.version = version
        self.wrong: list[str] = []
        self.checksums: dict[str, int] = {}
        shutil.copy(package, system.root / "root")
        self.package = f"/root/{package.name}"

    def require(self, condition: object, text: str) -> None:
        if not condition:
            self.wrong.append(text)

    def require_tables(self, when: str) -> None:
        found = tables.checksums(self.system)
        differing = sorted(
            name
            for name in self.checksums.keys() | found.keys()
            if self.checksums.get(name) != found.get(name)
        )
        self.require(not differing, f"{when}: other rows in {', '.join(differing)}")

    def simulated(self) -> Iterator[tuple[str, str]]:
        """What apt would do, by each way in which people upgrade a server."""
        for arguments in WAYS:
            _, output = self.system.attempt("apt-get", "--yes", "--simulate", *arguments)
            yield f"apt-get {' '.join(arguments)}", output

    def require_server_kept(self, candidate: str) -> str:
        """apt neither upgrades the server nor removes the package; what the last way has said."""
        output = ""
        for what, output in self.simulated():
            what += f" with {candidate} in the archive"
            self.require(f"Remv {NAME} " not in output, f"{what} removes the package")
            self.require("Inst mariadb-server-core " not in output, f"{what} upgrades the server")
            self.require("mariadb-server-core" in output, f"{what} does not name it: {output}")
        return output

    def require_server_upgraded(self, version: str) -> None:
        """apt upgrades the server and does not remove the package."""
        for what, output in self.simulated():
            self.require(f"Remv {NAME} " not in output, f"{what} removes the package")
            # A version may need a package that the one before did not.
            kept = what == "apt-get upgrade" and "kept back" in output
            self.require(
                kept
                or re.search(
                    rf"^Inst mariadb-server-core \S+ \({re.escape(version)} ", output, re.M
                ),
                f"{what} does not upgrade the server to {version}: {output[-500:]}",
            )

    def adapter(self) -> Path:
        """The directory of the build for the server that is installed."""
        said = self.system.run("mariadbd", "--no-defaults", "--version")
        return self.system.root / ADAPTERS / said.split(" Ver ")[1].split()[0]

    def plugins(self) -> set[tuple[str, str, str]]:
        """Author, status and load option of the plug-ins of our library's name."""
        return {
            (author, status, option)
            for author, status, option in self.system.query(
                "SELECT PLUGIN_AUTHOR, PLUGIN_STATUS, LOAD_OPTION FROM information_schema.PLUGINS "
                "WHERE PLUGIN_LIBRARY = 'ha_rocksdb.so' AND PLUGIN_NAME = 'ROCKSDB'"
            )
        }

    def require_no_start(self, cause: str, *texts: str) -> None:
        """The server does not start, and its log has one line with all of `texts`."""
        if self.system.try_to_start():
            self.system.stop()
            self.wrong.append(f"{cause}: the server starts without the engine")
            return
        lines = self.system.log_lines()
        if not any(all(text in line for text in texts) for line in lines):
            self.wrong.append(f"{cause}: no line of the log says {texts}: {lines[-6:]}")


def run_steps(
    reporter: Reporter, trial: Trial, steps: tuple[tuple[str, Callable[[Phase], None]], ...]
) -> tuple[int, int]:
    """Runs steps up to the first that fails; how many passed, and how many failed."""
    for number, (name, step) in enumerate(steps):
        with reporter.phase(name) as phase:
            try:
                step(phase)
            except (CairnError, pymysql.Error) as error:
                trial.wrong.append(str(error))
            if trial.wrong:
                phase.summary = "failed"
        if trial.wrong:
            for text in trial.wrong:
                say(f"    {text}")
            return number, 1
    return len(steps), 0

"""What a suite of others is to the command: how it is obtained, and how its tests are run."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cairn import files, process
from cairn.errors import CairnError
from cairn.paths import LOG, cache, shown
from cairn.prefix import Server
from cairn.report import Phase

HERE = Path(__file__).parent
# Modules that the suites load into their own interpreters: they write down the outcomes.
INSIDE = HERE / "inside"
PINS = HERE / "pins"


@dataclass(frozen=True)
class Place:
    """The server that a run of a suite works on, and the file that outcomes go to."""

    mariadb: Server
    socket: Path
    outcomes: Path
    directory: Path  # For files of the suite; of this run alone.


@dataclass(frozen=True)
class Command:
    """A program to run, and what it needs."""

    arguments: Sequence[str | Path]
    directory: Path
    environment: dict[str, str] = field(default_factory=dict)
    on_line: Callable[[str], None] | None = None  # Told each line that it prints.


class Suite(ABC):
    """One suite; `prepare` comes before everything else."""

    name = ""
    databases: tuple[str, ...] = ()  # Which a server has before the suite begins.

    def __init__(self, source: Path | None = None) -> None:
        self.source = source  # A checkout to use, of those that come with git.

    @property
    def home(self) -> Path:
        return cache() / "frameworks" / self.name

    @abstractmethod
    def prepare(self, phase: Phase, mariadb: Server) -> None:
        """Downloads and installs what lacks; the summary names the version."""

    @abstractmethod
    def commands(self, place: Place, only: tuple[str, ...]) -> list[Command]:
        """Run one after another: all tests, or those that people have named."""

    @abstractmethod
    def again(self, place: Place, tests: list[str]) -> list[Command]:
        """Run just these tests, given as their outcomes name them."""


def environment(place: Place) -> dict[str, str]:
    """What every suite finds: the server, the client programs, where outcomes go."""
    tools = place.mariadb.tool("mariadb").parent
    return {
        **place.mariadb.environment(),
        "PATH": f"{tools}:{os.environ.get('PATH', '')}",
        "CAIRN_SOCKET": str(place.socket),
        "CAIRN_OUTCOMES": str(place.outcomes),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(place.directory),
    }


def own_copy(source: Path, place: Place, *linked: str) -> Path:
    """A copy of the source for one run, since suites write beside their tests.

    What is `linked` is shared: large directories that no test writes into.
    """
    copy = place.directory / "source"
    shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", *linked))
    for name in linked:
        (copy / name).symlink_to(source / name)
    return copy


# ---- obtaining -------------------------------------------------------------------------------


def is_made(directory: Path, of: Sequence[str]) -> bool:
    """Whether a directory was finished from these ingredients."""
    stamp = directory / "cairn-stamp"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _digest(of)


def note_made(directory: Path, of: Sequence[str]) -> None:
    files.write_atomic(directory / "cairn-stamp", _digest(of))


def _digest(of: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(of).encode()).hexdigest()


def fetch(command: Sequence[str | Path], what: str, **options: object) -> None:
    """Runs a client of a package registry or git; an error says what could not be had."""
    try:
        process.run(command, log=LOG / "frameworks.log", what=what, **options)  # type: ignore[arg-type]
    except CairnError as error:
        raise CairnError(f"{error}\n  Check the network, then run this again.") from error


def make_environment(
    directory: Path,
    phase: Phase,
    requirements: Sequence[Path],
    env: dict[str, str] | None = None,
) -> Path:
    """A virtual environment with what each file of requirements pins, in turn; its interpreter."""
    python = directory / "bin" / "python"
    of = [sys.version, *(path.read_text(encoding="utf-8") for path in requirements)]
    if is_made(directory, of):
        return python
    files.remove(directory)
    phase.progress("making a virtual environment")
    fetch([sys.executable, "-m", "venv", directory], "Making a virtual environment")
    for path in requirements:
        phase.progress(f"installing {path.stem}")
        options = ("--quiet", "--disable-pip-version-check", "--no-build-isolation")
        fetch(
            [
                python,
                "-m",
                "pip",
                "install",
                *options,
                "--require-hashes",
                "--requirement",
                path,
            ],
            f"Installing {path.name}",
            env=env,
        )
    note_made(directory, of)
    return python


def unpack_source(home: Path, phase: Phase, python: Path, pin: Path) -> Path:
    """The source package that `pin` names, from PyPI, unpacked; it is pinned by its checksum."""
    directory = home / "source"
    of = [pin.read_text(encoding="utf-8")]
    if not is_made(directory, of):
        phase.progress("downloading the source package")
        download = files.fresh_directory(home / "download")
        fetch(
            [
                *(
                    python,
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--disable-pip-version-check",
                ),
                *(
                    "--no-deps",
                    "--no-binary",
                    ":all:",
                    "--no-build-isolation",
                    "--require-hashes",
                ),
                *("--dest", download, "--requirement", pin),
            ],
            f"Downloading the source package of {pin.name}",
        )
        (archive,) = download.glob("*.tar.gz")
        partial = files.fresh_directory(home / "source.partial")
        process.run(
            [
                "tar",
                "--extract",
                "--file",
                archive,
                "--directory",
                partial,
                "--strip-components=1",
            ],
            log=LOG / "frameworks.log",
            what=f"Unpacking {archive.name}",
        )
        files.install_directory(partial, directory)
        files.remove(download)
        note_made(directory, of)
    return directory


def check_out(home: Path, phase: Phase, where: str, commit: str, source: Path | None) -> Path:
    """A checkout of one commit, from git or from a checkout that is there; tests may write in it.

    For suites whose packages come without their tests.
    """
    directory = home / "source"
    of = [where, commit]
    if is_made(directory, of):
        return directory
    phase.progress(f"fetching {source or where}")
    partial = files.fresh_directory(home / "source.partial")
    try:
        for arguments in (
            ("init", "--quiet", "."),
            (
                "fetch",
                "--quiet",
                "--depth=1",
                str(source.absolute() if source else where),
                commit,
            ),
            ("checkout", "--quiet", commit),
        ):
            fetch(["git", *arguments], f"git {arguments[0]}", cwd=partial)
    except CairnError as error:
        raise CairnError(
            f"{error}\n  Its package has no tests, so they come from {where}, commit {commit}. "
            "Where that cannot be reached, name a clone of it: --source DIRECTORY."
        ) from error
    files.install_directory(partial, directory)
    note_made(directory, of)
    return directory


def require_program(name: str, how: str) -> None:
    """An error that says how to get a program that is not there."""
    if not process.output([name, "version" if name == "go" else "--version"]):
        raise CairnError(f"{name} is not on this machine: {how}, then run this again.")


def described(directory: Path, version: str) -> str:
    return f"{version}, {shown(directory)}"

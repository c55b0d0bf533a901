"""A clean Debian below a directory, with the archive's MariaDB, entered by chroot.

It has no init system: its server is started and stopped here, by process id, and listens on its
socket alone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from cairn import files, packages, process
from cairn.errors import CairnError
from cairn.paths import LOG, cache
from cairn.report import Phase

SUITES = {12: "bookworm", 13: "trixie"}
SUITE = SUITES[12]
MIRROR = "http://deb.debian.org/debian"
SECURITY = "http://deb.debian.org/debian-security"
# What the commands in clean systems print.
OUTPUT = LOG / "package-test.log"
_START_S = 120


@dataclass(frozen=True)
class Places:
    """Where a server of the system has its files, from its root, and its first options."""

    options: tuple[str, ...] = ()
    socket: str = "run/mysqld/mysqld.sock"
    data: str = "var/lib/mysql"
    error_log: str = "var/log/mysql/error.log"


class CleanSystem:
    """One Debian below `root`, and its server; for one thread."""

    def __init__(self, root: Path, places: Places | None = None, suite: str = SUITE) -> None:
        """`places`: of a server of its own, beside that of the system."""
        self.root = root
        self.suite = suite
        self.places = places or Places()
        self.daemon: subprocess.Popen[bytes] | None = None

    # ---- commands -------------------------------------------------------------------------------

    def attempt(self, *command: str, **variables: str) -> tuple[int, str]:
        """Runs a command inside; its exit status and all that it printed."""
        ran = subprocess.run(
            ["chroot", str(self.root), *command],
            env={
                "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "DEBIAN_FRONTEND": "noninteractive",
                "LC_ALL": "C.UTF-8",
                "HOME": "/root",
                **variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        with OUTPUT.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n{ran.stdout}\nexit status {ran.returncode}\n")
        return ran.returncode, ran.stdout

    def run(self, *command: str, **variables: str) -> str:
        """Runs a command inside that must succeed; what it printed."""
        status, output = self.attempt(*command, **variables)
        if status != 0:
            raise CairnError(
                f"In the clean system {' '.join(command)} failed (exit status {status}):\n"
                + "\n".join(f"    {line}" for line in output.splitlines()[-15:])
            )
        return output

    def apt(self, *arguments: str, **variables: str) -> str:
        return self.run("apt-get", "--yes", "--quiet", *arguments, **variables)

    def write(self, name: str, text: str) -> None:
        """Makes a file inside."""
        (self.root / name).write_text(text, encoding="utf-8")

    def offers(self, version: str) -> bool:
        """Whether the archive has this version of the server still; reads its lists anew."""
        self.apt("update")
        listed = self.run("apt-cache", "madison", "mariadb-server")
        return any(line.split("|")[1].strip() == version for line in listed.splitlines())

    def install_server(self, version: str, *others: str) -> None:
        """Installs this version of the server, and other packages of it."""
        names = ("server", "server-core", "client", "client-core", *others)
        self.install_exactly(version, *(f"mariadb-{name}" for name in names))

    def install_exactly(self, version: str, *names: str, **variables: str) -> None:
        """Installs packages of this version of the server, be they newer or older than before."""
        self.apt(
            *("install", "--no-install-recommends", "--allow-downgrades"),
            *(f"{name}={version}" for name in names),
            **variables,
        )
        # Its server listens on the socket alone.
        options = self.root / "etc/mysql/mariadb.conf.d/zz-test.cnf"
        options.write_text("[mariadbd]\nskip-networking\n", encoding="ascii")

    def package_version(self, which: str, name: str = "mariadb-server-core") -> str:
        """The "Installed" or "Candidate" version of a package, as apt has it."""
        policy = self.run("apt-cache", "policy", name)
        return policy.split(f"{which}: ")[1].split()[0]

    def package_state(self, name: str) -> str:
        """What dpkg says of a package: "installed", "unpacked", "config-files", …"""
        status, state = self.attempt(
            "dpkg-query", "--show", "--showformat=${db:Status-Status}", name
        )
        return state.strip() if status == 0 else "not-installed"

    def add_archive(self, name: str, directory: Path) -> None:
        """Adds an archive of the packages in `directory` to apt's sources."""
        place = self.root / "srv" / name
        shutil.copytree(directory, place)
        listing = process.output(["dpkg-scanpackages", "--multiversion", str(place)])
        if not listing:
            raise CairnError(f"{directory} has no packages.")
        # Paths count from the archive's own directory.
        text = listing.replace(f"Filename: {place}/", "Filename: ./")
        (place / "Packages").write_text(text, encoding="utf-8")
        source = self.root / f"etc/apt/sources.list.d/{name}.list"
        source.write_text(f"deb [trusted=yes] file:/srv/{name} ./\n", encoding="ascii")
        self.apt("update")

    def use_security_archive(self, *, use: bool) -> None:
        """Adds the archive of security updates to apt's sources, or takes it away."""
        source = self.root / "etc/apt/sources.list.d/security.list"
        if use:
            source.write_text(f"deb {SECURITY} {self.suite}-security main\n", encoding="utf-8")
        else:
            source.unlink(missing_ok=True)
        self.apt("update")

    @contextmanager
    def full(self, name: str) -> Iterator[None]:
        """A directory below the root is on a disk of its own, of 5 MiB."""
        place = self.root / name
        place.mkdir(parents=True, exist_ok=True)
        process.run(
            ["mount", "--types", "tmpfs", "--options", "size=5m", "tmpfs", place],
            log=OUTPUT,
            what="Mounting a small disk",
        )
        try:
            yield
        finally:
            process.run(["umount", place], log=OUTPUT, what=f"Unmounting {place}")

    # ---- the server -----------------------------------------------------------------------------

    @property
    def data(self) -> Path:
        return self.root / self.places.data

    @property
    def error_log(self) -> Path:
        return self.root / self.places.error_log

    def start(self) -> None:
        """Starts the server with the system's own options. Raises if it does not come up."""
        if not self.try_to_start():
            raise CairnError("The server does not start:\n" + "\n".join(self.log_lines()[-15:]))

    def try_to_start(self) -> bool:
        """Whether the server starts; its log is that of this start alone."""
        self.stop()  # One that runs still would be nobody's then.
        # As the server's unit does.
        self.run("install", "--directory", "--owner=mysql", "/run/mysqld")
        self.error_log.parent.mkdir(parents=True, exist_ok=True)
        with self.error_log.open("wb") as log:
            self.daemon = subprocess.Popen(
                [
                    *("chroot", str(self.root), "/usr/sbin/mariadbd"),
                    *self.places.options,
                    "--user=mysql",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if self.daemon.poll() is not None:
                self.daemon = None
                return False
            try:
                self.connect().close()
                return True
            except (OSError, pymysql.Error):
                time.sleep(0.1)
        self.kill()
        return False

    def stop(self) -> None:
        """Shuts the server down."""
        if self.daemon is None:
            return
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(timeout=_START_S)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise CairnError("The server of the clean system did not stop.") from error
        self.daemon = None

    def kill(self) -> None:
        """Ends the server as a crash would."""
        if self.daemon is not None:
            os.killpg(self.daemon.pid, signal.SIGKILL)
            self.daemon.wait()
            self.daemon = None

    def log_lines(self) -> list[str]:
        return self.error_log.read_text(encoding="utf-8", errors="replace").splitlines()

    def connect(self) -> Any:
        """A session of root, who comes by the socket."""
        return pymysql.connect(
            unix_socket=str(self.root / self.places.socket),
            user="root",
            autocommit=True,
            read_timeout=300,
        )

    def query(self, *statements: str) -> list[tuple[Any, ...]]:
        """Executes statements in one session; the rows of the last."""
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())


@contextmanager
def made(phase: Phase, root: Path, suite: str = SUITE) -> Iterator[CleanSystem]:
    """A clean system; what runs in it is ended, and what is mounted unmounted, at the end.

    `suite` is the release of Debian.
    """
    if os.geteuid() != 0:
        raise CairnError("A clean system is entered by chroot: run this as root.")
    packages.ensure((packages.CHROOT,), phase)
    base = cache() / "chroot" / f"{suite}.tar"
    with files.exclusive(base.with_suffix(".lock"), "making a clean system"):
        if not base.is_file():
            _bootstrap(phase, base, suite)
    unmount(root)
    files.fresh_directory(root)
    process.run(
        ["tar", "--extract", "--file", base, "--directory", root],
        log=OUTPUT,
        what="Unpacking the clean system",
    )
    system = CleanSystem(root, suite=suite)
    process.run(
        ["mount", "--types", "proc", "proc", root / "proc"], log=OUTPUT, what="Mounting /proc"
    )
    try:
        yield system
    finally:
        system.kill()
        unmount(root)


def _bootstrap(phase: Phase, archive: Path, suite: str) -> None:
    phase.progress(f"making a clean {suite}, once")
    partial = files.fresh_directory(archive.with_suffix(".partial"))
    process.run(
        ["debootstrap", "--variant=minbase", suite, partial, MIRROR],
        log=OUTPUT,
        what=f"Making a clean {suite}",
    )
    # Services are not started: there is nothing that would end them.
    policy = partial / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    policy.chmod(0o755)
    (partial / "etc/apt/sources.list").write_text(f"deb {MIRROR} {suite} main\n", encoding="ascii")
    process.run(
        ["tar", "--create", "--file", archive.with_suffix(".new"), "--directory", partial, "."],
        log=OUTPUT,
        what="Packing the clean system",
    )
    archive.with_suffix(".new").replace(archive)
    files.remove(partial)


def unmount(root: Path) -> None:
    """Unmounts what an earlier run may have left mounted."""
    mounted = Path("/proc/mounts").read_text(encoding="utf-8")
    for place in re.findall(rf"^\S+ ({re.escape(str(root))}/\S+) ", mounted, re.MULTILINE):
        process.run(["umount", place], log=OUTPUT, what=f"Unmounting {place}")

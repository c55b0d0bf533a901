"""The distribution's packages that Cairn needs, and installing the missing ones."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass

from cairn import process, rocksdb
from cairn.errors import CairnError
from cairn.paths import LOG
from cairn.report import Phase


@dataclass(frozen=True)
class Group:
    """Packages that serve one purpose."""

    purpose: str
    names: tuple[str, ...]


BUILD = Group("compiling", ("cmake", "ninja-build", "g++", "git", "ccache"))
COMPRESSION = Group(
    "compression inside RocksDB", ("liblz4-dev", "libzstd-dev", "libsnappy-dev", "zlib1g-dev")
)
UNIT_TESTS = Group("unit tests", ("libgtest-dev", "libgmock-dev"))
SERVER = Group(
    "libraries of the MariaDB server",
    (
        "libaio1",
        "libbz2-1.0",
        "libedit2",
        "libgflags2.2",
        "libncurses6",
        "libnuma1",
        "libpam0g",
        "libpcre2-8-0",
        "libpcre2-posix3",
        "libssl3",
        "libsystemd0",
        "liburing2",
    ),
)
SQL_TESTS = Group("the server's test framework", ("perl", "libdbi-perl", "patch", "procps"))
SAMPLE = Group("the sample database", ("unicode-data", "wamerican", "tzdata"))
UNPACKING = Group("unpacking archives", ("xz-utils", "zstd", "ca-certificates"))
SYSBENCH = Group("libraries of sysbench", ("libaio1", "libgssapi-krb5-2", "libldap-2.5-0"))
FUZZING = Group("fuzzing", ("clang-14", "libclang-rt-14-dev"))
FONTS = Group("texts in pictures", ("fonts-dejavu-core",))
COUNTING = Group("counting instructions", ("valgrind",))
BROWSER = Group("looking at reports", ("chromium-headless-shell", "fonts-dejavu-core"))
FUSE = Group("cutting the power of a file system", ("fuse3", "libfuse3-dev", "pkg-config"))
SCHEMA_TOOLS = Group("changing tables online", ("percona-toolkit",))
PACKAGING = Group("making packages", ("debhelper", "dpkg-dev", "lintian"))
CHROOT = Group("testing packages in a clean system", ("debootstrap",))
LINT = Group("checking the code", ("clang-format", "clang-tidy-14", "shellcheck"))

# Stands for whichever package has a cargo that is new enough.
CARGO = "cargo"

FOR_UP = (BUILD, COMPRESSION, UNIT_TESTS, SERVER, SQL_TESTS, SAMPLE, UNPACKING)


def missing(groups: tuple[Group, ...]) -> list[Group]:
    """The groups reduced to the packages that are not installed."""
    names = [name for group in groups for name in group.names]
    if shutil.which("dpkg-query") is None:
        raise CairnError(
            "Cairn builds on Debian 12 (bookworm): this machine has no dpkg. Use a Debian 12 "
            "machine or container."
        )
    # A library may be installed for several architectures, so each line names its own state.
    lines = process.output(
        ["sh", "-c", 'dpkg-query -W -f "\\${Package} \\${db:Status-Status}\\n" "$@" || true', "sh"]
        + names
    ).splitlines()
    installed = {line.split()[0] for line in lines if line.endswith(" installed")}
    result = []
    for group in groups:
        lacking = tuple(name for name in group.names if name not in installed)
        if lacking:
            result.append(Group(group.purpose, lacking))
    if BUILD in groups and not rocksdb.crate().is_dir() and not _has_cargo():
        result.append(Group("fetching the pinned RocksDB", (CARGO,)))
    return result


def install(groups: list[Group], phase: Phase) -> None:
    """Installs what `missing` found; says first what and why. Needs root or sudo."""
    names = [name for group in groups for name in group.names]
    for group in groups:
        phase.note(f"installing for {group.purpose}: {' '.join(group.names)}")
    as_root: list[str] = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise CairnError(
                "Some packages are missing and there is no sudo. Run this as root, then try "
                f"again:\n    apt-get install {' '.join(names)}"
            )
        phase.note("sudo may ask for your password")
        as_root = ["sudo"]
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    log = LOG / "packages.log"
    # One broken repository of the machine's own must not stop us: what matters is the install.
    process.run([*as_root, *quiet, "update"], log=log, what="apt-get update", accept=(0, 100))
    # Which cargo there is, apt knows only now: on a fresh machine its lists were empty before.
    names = [_cargo_package() if name == CARGO else name for name in names]
    done = 0

    def count(line: str) -> None:
        nonlocal done
        if line.startswith("Setting up "):
            done += 1
            phase.progress(f"{done} packages set up")

    process.run(
        [*as_root, *quiet, "install", "--yes", "--no-install-recommends", *names],
        log=log,
        what="Installing packages",
        on_line=count,
    )


def ensure(groups: tuple[Group, ...], phase: Phase) -> None:
    """Installs those packages of `groups` that are not there."""
    lacking = missing(groups)
    if lacking:
        install(lacking, phase)
        count = sum(len(group.names) for group in lacking)
        phase.summary = f"{count} installed"
    else:
        phase.summary = "all present"


def _has_cargo() -> bool:
    """Whether there is a cargo that reads the registry over HTTPS; older ones clone it with git."""
    found = re.match(r"cargo (\d+)\.(\d+)", process.output(["cargo", "--version"]))
    return found is not None and (int(found[1]), int(found[2])) >= (1, 70)


def _cargo_package() -> str:
    """The package with a recent cargo.

    Debian 12 has an old one as `cargo`, and a current one, kept for building browsers, as
    `cargo-web`.
    """
    policy = process.output(["apt-cache", "policy", "cargo-web"])
    return "cargo-web" if re.search(r"Candidate: \d", policy) else CARGO

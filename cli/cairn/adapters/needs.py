"""What a build needs of the machine, looked at before anything is begun."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from cairn import process
from cairn.adapters.place import ARCHITECTURE, Place
from cairn.errors import CairnError

# The programs, and the packages that they are of.
_TOOLS = {
    "g++": "g++",
    "cmake": "cmake",
    "ninja": "ninja-build",
    "dpkg-deb": "dpkg",
    "dpkg-shlibdeps": "dpkg-dev",
    "readelf": "binutils",
    "strip": "binutils",
    "ldd": "libc-bin",
    "tar": "tar",
    "xz": "xz-utils",
    "apt-get": "apt",
}
# 10.11.14 takes 600 MB, two thirds of which are what the compiler makes.
WORK_BYTES = 1 << 30
OUTPUT_BYTES = 64 << 20
# A compiler that reads the server's headers.
_JOB_BYTES = 1 << 30


def check(place: Place, work_parent: Path, output: Path) -> None:
    """Raises, with what to do, if a build cannot succeed here."""
    _check_architecture()
    _check_tools()
    for path in (place.sources / "CMakeLists.txt", place.libraries / "engine"):
        if not path.exists():
            raise CairnError(
                f"{path} is missing: apt-get install --reinstall cairn-adapters as root."
            )
    _check_writable(output, "--output")
    _check_writable(work_parent, "TMPDIR")
    if os.statvfs(work_parent).f_flag & os.ST_NOEXEC:
        raise CairnError(
            f"No program can be run in {work_parent} (mounted with noexec), and the build is tried "
            "there: name another directory with TMPDIR."
        )
    _check_space(work_parent, WORK_BYTES, "TMPDIR")
    _check_space(output, OUTPUT_BYTES, "--output")


def jobs() -> int:
    """How many compilers run side by side: as many as there are processors and memory for."""
    processors = len(os.sched_getaffinity(0))
    available = 0
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) << 10
    return max(1, min(processors, available // _JOB_BYTES))


def _check_architecture() -> None:
    found = process.output(["dpkg", "--print-architecture"]).strip()
    if not found:
        raise CairnError("This is no Debian: there is no dpkg, and no package could be made.")
    if found != ARCHITECTURE:
        raise CairnError(f"Cairn is compiled for {ARCHITECTURE}; this system is {found}.")


def _check_tools() -> None:
    lacking = sorted({name for tool, name in _TOOLS.items() if shutil.which(tool) is None})
    if lacking:
        raise CairnError(
            f"A build needs {' '.join(lacking)}: apt-get install {' '.join(lacking)} as root."
        )


def _check_writable(directory: Path, option: str) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise CairnError(
            f"{directory} cannot be written to: {error.strerror}. Name another directory with "
            f"{option}."
        ) from error


def _check_space(directory: Path, needed: int, option: str) -> None:
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise CairnError(
            f"{directory} has {free >> 20:,} MiB free; a build needs {needed >> 20:,}. Name "
            f"another directory with {option}."
        )

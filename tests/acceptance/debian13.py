"""./cairn acceptance debian13: the engine and its unit tests with the next Debian's compiler.

RocksDB and this checkout's sources are compiled in a clean Debian 13, and the engine's tests run
there. The plug-in is left out: Debian 13 has another MariaDB.
"""

from __future__ import annotations

import os
import re
import shutil

from cairn import files, packages, process, rocksdb
from cairn.errors import CairnError
from cairn.paths import ROOT, VAR, shown
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import own_directory
from cairn.testing import FAILED_UNIT, SEED
from tests import runs
from tests.acceptance.package import clean_system
from tests.acceptance.package.clean_system import CleanSystem

SUITE = "trixie"
_DIRECTORY = VAR / "acceptance" / "debian13"
# In the clean system.
_SOURCES, _CRATE, _ROCKSDB, _BUILD = "root/cairn", "root/crate", "root/rocksdb", "root/build"
_GROUPS = (packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS)
# Tests of the sources are written in Python.
_NEEDS = ("python3", *(name for group in _GROUPS for name in group.names))


def run() -> int:
    """Compiles and tests; the exit status."""
    reporter = Reporter()
    clean_system.unmount(_DIRECTORY)  # What a killed run has left, before it is removed.
    failed: list[str] = []
    with own_directory(_DIRECTORY):
        with (
            reporter.phase("Clean system") as phase,
            clean_system.made(phase, _DIRECTORY / "root", SUITE) as system,
        ):
            phase.progress("installing a compiler")
            system.apt("update")
            system.apt("install", "--no-install-recommends", *_NEEDS)
            compiler = system.run("c++", "--version").splitlines()[0]
            phase.summary = f"{SUITE}, {compiler}"
            with reporter.phase("Sources") as its_phase:
                _lay_out(its_phase, system)
            with reporter.phase("RocksDB") as its_phase:
                _compile_rocksdb(its_phase, system)
            with reporter.phase("Engine") as its_phase:
                _compile_engine(its_phase, system)
            with reporter.phase("Unit tests") as its_phase:
                count, failed = _test(system)
                its_phase.summary = f"{count - len(failed)} programs passed, {len(failed)} failed"
        runs.leave(_DIRECTORY, len(failed))
    for name in failed:
        say(f"    failed  {name}")
    if failed:
        say(f"    Log: {shown(clean_system.OUTPUT)}")
    return 1 if failed else 0


def _lay_out(phase: Phase, system: CleanSystem) -> None:
    """Copies the checkout's files, as they are now, and the sources of the pinned RocksDB."""
    listed = process.output(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    ).splitlines()
    if not listed:
        raise CairnError(f"{ROOT} is no checkout: git lists no files.")
    for name in listed:
        if (ROOT / name).is_file():
            files.place(ROOT / name, system.root / _SOURCES / name)
    rocksdb.sources(phase)  # Fetches them where the cache lacks them.
    shutil.copytree(rocksdb.crate(), system.root / _CRATE, symlinks=True)
    phase.summary = f"{len(listed)} files"


def _compile_rocksdb(phase: Phase, system: CleanSystem) -> None:
    """Without the profile: another compiler has made that."""
    phase.progress("compiling")
    scratch = "root/rocksdb.build"
    system.run(
        *("cmake", "-G", "Ninja", "-S", f"/{_SOURCES}/cmake/rocksdb", "-B", f"/{scratch}"),
        *("-DCMAKE_BUILD_TYPE=", f"-DROCKSDB_CRATE=/{_CRATE}"),
        f"-DCMAKE_INSTALL_PREFIX=/{_ROCKSDB}",
    )
    system.run("ninja", "-C", f"/{scratch}", "install")
    phase.summary = rocksdb.pin().rocksdb_version


def _compile_engine(phase: Phase, system: CleanSystem) -> None:
    phase.progress("compiling")
    system.run(
        *("cmake", "-G", "Ninja", "-S", f"/{_SOURCES}", "-B", f"/{_BUILD}"),
        *("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCAIRN_PLUGIN=OFF", "-DCAIRN_TOOLS=OFF"),
        # As elsewhere; tests of the flags read the commands.
        *("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCAIRN_WERROR=ON"),
        f"-DCAIRN_ROCKSDB_ROOT=/{_ROCKSDB}",
        f"-DCAIRN_ROCKSDB_SOURCES=/{_CRATE}/{rocksdb.sources(phase).name}",
    )
    system.run("ninja", "-C", f"/{_BUILD}")
    phase.summary = "compiled without warnings"


def _test(system: CleanSystem) -> tuple[int, list[str]]:
    """How many test programs there are, and which failed."""
    status, output = system.attempt(
        *("ctest", "--test-dir", f"/{_BUILD}", "--output-on-failure", "--no-tests=error"),
        *("--parallel", str(os.cpu_count() or 2)),
        CAIRN_SEED=str(SEED),
    )
    ended = re.search(r"(\d+) tests failed out of (\d+)", output)
    if ended is None:
        raise CairnError(f"ctest ended with {status}; log: {clean_system.OUTPUT}")
    failed = [name[1] for line in output.splitlines() if (name := FAILED_UNIT.match(line))]
    if (status or int(ended[1])) and not failed:
        failed = [f"ctest: exit status {status}"]
    return int(ended[2]), failed

"""The pinned RocksDB: fetched by cargo, built once, kept in the cache.

The library's directory in the cache is named after everything that decides its bytes, so that a
change of any of it builds a new library beside the old one and never mixes the two.
"""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cairn import files, process
from cairn.errors import CairnError
from cairn.paths import LOG, ROCKSDB_RECIPE, cache
from cairn.report import Phase

CRATE = "librocksdb-sys"


@dataclass(frozen=True)
class Pin:
    """What Cargo.lock says about the crate: `0.19.0+11.8.1` carries RocksDB 11.8.1."""

    crate_version: str
    checksum: str

    @property
    def rocksdb_version(self) -> str:
        return self.crate_version.partition("+")[2]


def pin() -> Pin:
    """The crate that the lock file names."""
    lock = tomllib.loads((ROCKSDB_RECIPE / "Cargo.lock").read_text(encoding="utf-8"))
    for package in lock["package"]:
        if package["name"] == CRATE:
            return Pin(package["version"], package["checksum"])
    raise CairnError(f"cmake/rocksdb/Cargo.lock does not pin {CRATE}: restore it from git.")


def library(sanitizer: str = "") -> Path:
    """Where in the cache the library for this compiler, recipe and sanitizer is or will be."""
    return cache() / "rocksdb" / f"{pin().rocksdb_version}-{_key(sanitizer)}"


def crate() -> Path:
    """Where in the cache the unpacked crate is or will be."""
    wanted = pin()
    name = f"{CRATE}-{wanted.crate_version}-{wanted.checksum[:12]}"
    return cache() / "rocksdb" / "crates" / name


def sources(phase: Phase) -> Path:
    """RocksDB's own sources, fetched first when the cache has the library alone."""
    if not crate().is_dir():
        with files.exclusive(cache() / "rocksdb" / ".lock", "fetching RocksDB"):
            _fetch(phase)
    return crate() / "rocksdb"


def is_built(directory: Path) -> bool:
    """Directories appear in the cache only complete; build.json is what makes one ours."""
    return (directory / "build.json").is_file()


def ensure(phase: Phase, sanitizer: str = "") -> Path:
    """The library's directory, built first when the cache lacks it."""
    directory = library(sanitizer)
    version = pin().rocksdb_version
    flavour = f", {sanitizer} sanitizer" if sanitizer else ""
    if is_built(directory):
        phase.summary = f"{version}{flavour}: in the cache"
        return directory
    with files.exclusive(cache() / "rocksdb" / ".lock", "building RocksDB"):
        if not is_built(directory):
            _fetch(phase)
            _build(phase, directory, sanitizer)
    phase.summary = f"{version}{flavour}: built into the cache"
    return directory


def _compiler() -> str:
    """The line by which the compiler names itself and its version."""
    text = process.output([os.environ.get("CXX", "c++"), "--version"])
    if not text:
        raise CairnError("There is no C++ compiler: run ./cairn up, which installs g++.")
    return text.splitlines()[0]


def _key(sanitizer: str) -> str:
    recipe = (ROCKSDB_RECIPE / "CMakeLists.txt").read_text(encoding="utf-8")
    parts = (
        pin().crate_version,
        pin().checksum,
        _compiler(),
        os.uname().machine,
        recipe,
        sanitizer,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _fetch(phase: Phase) -> None:
    """Unpacks the crate; cargo compares it with the checksum in Cargo.lock."""
    if crate().is_dir():
        return
    phase.progress("fetching its sources with cargo")
    vendor = files.fresh_directory(cache() / "rocksdb" / "crates" / ".vendor")
    process.run(
        ["cargo", "vendor", "--locked", "--versioned-dirs", vendor],
        cwd=ROCKSDB_RECIPE,
        log=LOG / "rocksdb.log",
        what="Fetching the RocksDB crate with cargo",
    )
    # Cargo vendors what the crate's build script would use as well; only the sources are wanted.
    files.install_directory(vendor / f"{CRATE}-{pin().crate_version}", crate())
    files.remove(vendor)


def _build(phase: Phase, directory: Path, sanitizer: str) -> None:
    """Compiles in a directory of the cache that survives an interruption, then installs."""
    scratch = directory.with_name(f"{directory.name}.build")
    partial = files.fresh_directory(directory.with_name(f"{directory.name}.partial"))
    log = LOG / "rocksdb.log"
    phase.note(f"compiling RocksDB {pin().rocksdb_version}: about ten minutes on two cores, once")
    process.run(
        [
            *("cmake", "-G", "Ninja", "-S", ROCKSDB_RECIPE, "-B", scratch),
            "-DCMAKE_BUILD_TYPE=",
            f"-DROCKSDB_CRATE={crate()}",
            f"-DROCKSDB_SANITIZE={sanitizer}",
            f"-DCMAKE_INSTALL_PREFIX={partial}",
        ],
        log=log,
        what="Configuring RocksDB",
    )
    process.run(
        ["ninja", "-C", scratch],
        log=log,
        what="Compiling RocksDB",
        on_line=ninja_progress(phase),
    )
    process.run(["cmake", "--install", scratch], log=log, what="Installing RocksDB")
    files.write_json(
        partial / "build.json",
        {
            "rocksdb": pin().rocksdb_version,
            "crate": pin().crate_version,
            "checksum": pin().checksum,
            "compiler": _compiler(),
            "sanitizer": sanitizer,
        },
    )
    files.install_directory(partial, directory)
    files.remove(scratch)


def ninja_progress(phase: Phase):
    """A line handler that turns ninja's `[3/27] Building …` into the phase's progress."""
    step = re.compile(r"^\[(\d+)/(\d+)\] (.*)")

    def on_line(line: str) -> None:
        if found := step.match(line):
            done, total, what = found.groups()
            phase.progress(f"step {done} of {total} ({what.split('/')[-1][:40]})")

    return on_line

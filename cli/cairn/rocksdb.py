"""The pinned RocksDB: fetched by cargo, built once, kept in the cache.

The library's directory in the cache is named after everything that decides its bytes, so that a
change of any of it builds a new library beside the old one and never mixes the two.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cairn import files, process, profiles
from cairn.errors import CairnError
from cairn.paths import LOG, ROCKSDB_RECIPE, cache
from cairn.report import Phase, ninja_progress

CRATE = "librocksdb-sys"
# How often the branches of its code are taken, by a training run (./cairn train --rocksdb).
PROFILE = ROCKSDB_RECIPE / "profile.tar.xz"
# Where the compiler looks for it and where a process leaves it, below the build directory.
_OBJECTS = Path("CMakeFiles", "rocksdb.dir", "Unity")
# Of the plug-in's code: see cmake/CairnTargets.cmake.
_PLUGIN_FLAGS = "-ffunction-sections -fno-plt"


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
            scratch = directory.with_name(f"{directory.name}.build")
            profile = _profile(sanitizer)
            _build(
                phase,
                directory,
                scratch,
                f"-DROCKSDB_SANITIZE={sanitizer}",
                *(f"-DCMAKE_CXX_FLAGS={flags}" for flags in _flags(sanitizer)),
                *([f"-DROCKSDB_PROFILE={profile}"] if profile else []),
            )
            files.remove(scratch)
    phase.summary = f"{version}{flavour}: built into the cache"
    return directory


def _training_directories(directory: Path) -> tuple[Path, Path]:
    """The library's and its build directory; others after a change of what decides its bytes."""
    own = directory / _key("training")
    return own / "rocksdb", own / "rocksdb.build"


def ensure_training(phase: Phase, directory: Path) -> Path:
    """Below `directory`, a library that notes how often which branch is taken.

    The process that uses it leaves its counts in the library's build directory, which stays.
    """
    library_dir, scratch = _training_directories(directory)
    if not is_built(library_dir):
        with files.exclusive(cache() / "rocksdb" / ".lock", "fetching RocksDB"):
            _fetch(phase)
        _build(phase, library_dir, scratch, "-DROCKSDB_TRAINING=ON")
    profiles.remove_counts(scratch / _OBJECTS)
    phase.summary = f"{pin().rocksdb_version}, counting branches"
    return library_dir


def save_profile(directory: Path) -> None:
    """Packs what processes have left below `directory`, see ensure_training()."""
    _, scratch = _training_directories(directory)
    profiles.save(profiles.of_folder(scratch / _OBJECTS), PROFILE)


def _compiler() -> str:
    """The line by which the compiler names itself and its version."""
    text = process.output([os.environ.get("CXX", "c++"), "--version"])
    if not text:
        raise CairnError("There is no C++ compiler: run ./cairn up, which installs g++.")
    return text.splitlines()[0]


def _profile(sanitizer: str) -> Path | None:
    """The profile to compile with: sanitizers make other code."""
    return PROFILE if not sanitizer and PROFILE.is_file() else None


def _flags(sanitizer: str) -> tuple[str, ...]:
    """What the compiler is told besides: the plug-in has no sanitizers."""
    return () if sanitizer else (_PLUGIN_FLAGS,)


def _key(sanitizer: str) -> str:
    recipe = "".join(
        (ROCKSDB_RECIPE / name).read_text(encoding="utf-8")
        for name in ("CMakeLists.txt", "definitions.cmake")
    )
    profile = _profile(sanitizer)
    parts = (
        pin().crate_version,
        pin().checksum,
        _compiler(),
        os.uname().machine,
        recipe,
        sanitizer,
        hashlib.sha256(profile.read_bytes()).hexdigest() if profile else "",
        *_flags(sanitizer),
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


def _build(phase: Phase, directory: Path, scratch: Path, *options: str) -> None:
    """Compiles in a directory that survives an interruption, then installs."""
    partial = files.fresh_directory(directory.with_name(f"{directory.name}.partial"))
    log = LOG / "rocksdb.log"
    phase.note(f"compiling RocksDB {pin().rocksdb_version}: seven to fifteen minutes, once")
    _configure(
        scratch,
        log,
        ROCKSDB_RECIPE,
        "-DCMAKE_BUILD_TYPE=",
        f"-DROCKSDB_CRATE={crate()}",
        *options,
        f"-DCMAKE_INSTALL_PREFIX={partial}",
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
            "options": options,
        },
    )
    files.install_directory(partial, directory)


def _configure(scratch: Path, log: Path, recipe: Path, *options: str) -> None:
    """CMake's part. What has been compiled in `scratch` stays, whichever checkout began it."""
    # CMake refuses a directory that was configured for a recipe elsewhere.
    (scratch / "CMakeCache.txt").unlink(missing_ok=True)
    process.run(
        ["cmake", "-G", "Ninja", "-S", recipe, "-B", scratch, *options],
        log=log,
        what="Configuring RocksDB",
    )

"""Compiles the adapter for the server whose headers are there, and links it with the engine."""

from __future__ import annotations

import os
from pathlib import Path

from cairn import process
from cairn.adapters.place import Place
from cairn.errors import CairnError
from cairn.report import Phase, ninja_progress

LIBRARY = "ha_rocksdb.so"
# What a person has set would make other code.
_UNSET = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "MAKEFLAGS")


def library(
    phase: Phase, place: Place, headers: Path, directory: Path, log: Path, *, jobs: int
) -> Path:
    """The library, without debug information. Raises if it does not compile."""
    phase.progress("configuring")
    configure(place, headers, directory, log)
    process.run(
        ["ninja", "-C", directory, "-j", str(jobs), "ha_rocksdb"],
        log=log,
        what="Compiling Cairn for this server",
        on_line=ninja_progress(phase),
    )
    built = directory / LIBRARY
    if not built.is_file():
        raise CairnError(f"The compiler has made no {LIBRARY}. Log: {log}")
    process.run(["strip", "--strip-unneeded", built], log=log, what="Removing symbols")
    return built


def configure(place: Place, headers: Path, directory: Path, log: Path) -> None:
    """Makes the build directory. Raises if sources are missing, or the compiler is no good."""
    for name in _UNSET:
        os.environ.pop(name, None)
    process.run(
        [
            *("cmake", "-G", "Ninja", "-S", place.sources, "-B", directory),
            "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
            # As the package's own, without the debug information, which takes half of the time.
            "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG",
            "-DCAIRN_WERROR=OFF",
            "-DBUILD_TESTING=OFF",
            f"-DCAIRN_ENGINE_ROOT={place.libraries / 'engine'}",
            f"-DCAIRN_ROCKSDB_ROOT={place.libraries / 'rocksdb'}",
            f"-DCAIRN_SERVER_ROOT={headers}",
        ],
        log=log,
        what="Configuring Cairn",
    )

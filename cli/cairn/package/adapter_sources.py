"""The files of the package cairn-adapters: what a build for another server takes, and its program.

Of the engine and of RocksDB it has the compiled libraries, and the headers that the adapter
includes; of the adapter the sources. The names are those that cairn/adapters/place.py knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cairn import files
from cairn.adapters.place import LOCAL_PACKAGE
from cairn.errors import CairnError
from cairn.package.version import Version
from cairn.paths import ROOT

NAME = "cairn-adapters"
# It, and the empty package that takes the place of what it makes.
PACKAGES = (NAME, LOCAL_PACKAGE)
# The modules that need no more than Python's own, and each other.
MODULES = (
    "__init__.py",
    "errors.py",
    "files.py",
    "package/__init__.py",
    "package/abi.py",
    "paths.py",
    "process.py",
    "report.py",
    "server_headers.py",
    "versions.py",
)
_RECIPE = ROOT / "packaging" / "adapters"
_SOURCES = {
    "cmake": ("*.cmake", "relative_source.sh"),
    "cmake/rocksdb": ("definitions.cmake",),
    "engine": ("**/*.h", "**/*.def", "**/CMakeLists.txt"),
    "mariadb": ("**/*.h", "**/*.cc", "**/*.def", "**/CMakeLists.txt", "exports.map", "*.ld"),
}


@dataclass(frozen=True)
class Engine:
    """What has been compiled."""

    directory: Path  # That CMake has built engine/ in.
    rocksdb: Path  # lib/librocksdb.a, include/


def stage(root: Path, engine: Engine, version: Version) -> None:
    """Lays the files out below `root`. Raises if something is not there."""
    for path in sources():
        files.place(path, root / "usr/src/cairn" / path.relative_to(ROOT))
    compiled = root / "usr/lib/cairn-adapters"
    for library in libraries(engine):
        files.place(library, compiled / "engine" / library.name)
    for path in sorted(engine.rocksdb.glob("include/**/*.h")):
        files.place(path, compiled / "rocksdb" / path.relative_to(engine.rocksdb))
    files.place(engine.rocksdb / "lib/librocksdb.a", compiled / "rocksdb/lib/librocksdb.a")
    share = root / "usr/share/cairn-adapters"
    for path in programs():
        files.place(path, share / "python" / path.relative_to(ROOT / "cli"))
    files.place(_RECIPE / "control.in", share / "control.in")
    files.place(ROOT / "packaging/debian/copyright", share / "copyright")
    files.write_atomic(share / "version", f"{version.text} {version.epoch}\n")
    (share / "version").chmod(0o644)
    files.place(_RECIPE / "program", root / "usr/bin" / NAME, 0o755)


def sources() -> list[Path]:
    """What is compiled, and what it includes."""
    found = [ROOT / "CMakeLists.txt"]
    for folder, patterns in _SOURCES.items():
        for pattern in patterns:
            found += sorted((ROOT / folder).glob(pattern))
    return found


def programs() -> list[Path]:
    """The sources of the program."""
    package = ROOT / "cli" / "cairn"
    return [*(package / name for name in MODULES), *sorted((package / "adapters").glob("*.py"))]


def libraries(engine: Engine) -> list[Path]:
    """The library of each folder of the engine."""
    folders = [path.parent.name for path in sorted((ROOT / "engine").glob("*/CMakeLists.txt"))]
    found = [engine.directory / folder / f"libcairn_{folder}.a" for folder in folders]
    lacking = [path.name for path in found if not path.is_file()]
    if lacking or not found:
        raise CairnError(f"{engine.directory} lacks {', '.join(lacking)}: run ./cairn build.")
    return found

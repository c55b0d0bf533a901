"""Building the plug-in and its unit tests through the presets of CMakePresets.json."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cairn import files, prefix, process, rocksdb, versions
from cairn.errors import CairnError
from cairn.paths import BUILD, LOG, ROOT, cache
from cairn.report import Phase, ninja_progress

PRESETS = ("release", "debug", "asan", "tsan")
LIBRARY = "ha_rocksdb.so"
LIBRARY_TARGET = "ha_rocksdb"
# All checkouts share what they compile: paths count from the checkout's root, not from /.
_CCACHE = {
    "CCACHE_BASEDIR": str(ROOT),
    "CCACHE_NOHASHDIR": "true",
    "CCACHE_MAXSIZE": "4G",
}


def library() -> Path:
    """The plug-in that our server loads.

    CAIRN_PLUGIN, a switch for developers, names another one: any build, or the stock plug-in.
    """
    if named := os.environ.get("CAIRN_PLUGIN"):
        path = Path(named).absolute()
        if path.name != LIBRARY or not path.is_file():
            raise CairnError(f"CAIRN_PLUGIN={named}: name an existing file called {LIBRARY}.")
        return path
    return BUILD / "release" / LIBRARY


def adapter_target(server: prefix.Server) -> str:
    """The target of the plug-in for a server other than the chosen one: a word of CMake's."""
    return "adapter-" + re.sub(r"[^0-9A-Za-z.+-]", "_", versions.bare(server.version))


def adapter(server: prefix.Server) -> Path:
    """The plug-in for that server, once its target is built."""
    return BUILD / "release" / adapter_target(server) / LIBRARY


def is_replaced() -> bool:
    """Whether CAIRN_PLUGIN takes the place of the plug-in that this checkout builds."""
    return bool(os.environ.get("CAIRN_PLUGIN"))


def sanitizer_of(preset: str) -> str:
    """The sanitizer that RocksDB itself must be built with for a preset.

    The thread sanitizer must see every lock, RocksDB's too; the address sanitizer works on our
    code alone, so its preset shares the ordinary library.
    """
    return "thread" if preset == "tsan" else ""


def build(
    phase: Phase,
    preset: str,
    server: prefix.Server,
    library_dir: Path,
    target: str | None = None,
    others: tuple[prefix.Server, ...] = (),
) -> None:
    """Configures when something it depends on changed, then builds one target or everything.

    `others` are servers that adapter_target() is to name a target for. Ninja knows what is stale.
    """
    directory = BUILD / preset
    log = LOG / f"build-{preset}.log"
    arguments = [
        f"-DCAIRN_ROCKSDB_ROOT={library_dir}",
        f"-DCAIRN_ROCKSDB_SOURCES={rocksdb.sources(phase)}",
        f"-DCAIRN_SERVER_ROOT={server.headers}",
        "-DCAIRN_OTHER_SERVERS="
        + ";".join(f"{adapter_target(other)}={other.headers}" for other in others),
        f"-DCAIRN_TOOLS={'ON' if preset == 'release' else 'OFF'}",
        "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache",
        # CMakeLists.txt chooses it by the compiler; a directory may have another choice of before.
        "-UCAIRN_WERROR",
    ]
    stamp = directory / "cairn-arguments"
    configured = stamp.is_file() and stamp.read_text(encoding="utf-8") == "\n".join(arguments)
    if not configured or not (directory / "build.ninja").is_file():
        phase.progress("configuring")
        process.run(
            ["cmake", "--preset", preset, *arguments], cwd=ROOT, log=log, what="Configuring Cairn"
        )
        files.write_atomic(stamp, "\n".join(arguments))
    compiled = 0
    ninja = ninja_progress(phase)

    def on_line(line: str) -> None:
        nonlocal compiled
        compiled += bool(re.match(r"^\[\d+/\d+\] Building", line))
        ninja(line)

    process.run(
        ["cmake", "--build", "--preset", preset, *(["--target", target] if target else [])],
        cwd=ROOT,
        env={"CCACHE_DIR": str(cache() / "ccache"), **_CCACHE},
        log=log,
        what=f"Building Cairn ({preset})",
        on_line=on_line,
    )
    phase.summary = f"{preset}: {compiled} files compiled" if compiled else f"{preset}: up to date"

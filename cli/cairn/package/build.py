"""Makes the package: builds Cairn, lays the files out, and has Debian's tools pack them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cairn import files, packages, plugin, prefix, process, rocksdb, server_versions
from cairn.errors import CairnError
from cairn.package import abi, adapter_sources, tree
from cairn.package.version import Version, current
from cairn.paths import BUILD, LOG, ROOT, VAR, shown
from cairn.report import Phase, Reporter
from cairn.versions import server_text

DIST = ROOT / "dist"
_DEBUG = f"{tree.NAME}-dbgsym"
_ALWAYS = frozenset((tree.NAME, f"{tree.NAME}-adapter", adapter_sources.NAME))
_LOG = LOG / "package.log"
# Beside the adapters.
_TARGETS = ("cairn_chooser", "ldb", "sst_dump", "tools/cairn-store")
# What lintian finds beyond errors is told, and ends nothing.
_LINTIAN = ("lintian", "--fail-on", "error", "--info", "--allow-root")


@dataclass(frozen=True)
class Package:
    """What was made."""

    package: Path
    debug: Path | None
    others: tuple[Path, ...]  # mariadb-plugin-cairn-adapter, which is empty, and cairn-adapters.
    version: Version


def make(reporter: Reporter, output: Path, versions: tuple[str, ...] = ()) -> Package:
    """Makes the package, in `output`.

    It has a build for the chosen server, and for each of `versions` of mariadb-server-core.
    """
    made = pack(reporter, adapters(reporter, versions), current(), output)
    with reporter.phase("lintian") as phase:
        process.run(
            [*_LINTIAN, made.package, *_linted(made.others)],
            log=_LOG,
            what="lintian, which looks for errors,",
        )
        phase.summary = "no errors"
    return made


def adapters(reporter: Reporter, versions: tuple[str, ...] = ()) -> tuple[tree.Adapter, ...]:
    """Builds all that goes into the package; the adapters, of which the chosen server's is first.

    Raises when a version of the server cannot be had whole.
    """
    for named in versions:
        server_versions.require_version(named)
    with reporter.phase("Packages") as phase:
        groups = (packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS, packages.PACKAGING)
        packages.ensure((*groups, packages.SERVER), phase)
    with reporter.phase("MariaDB server") as phase:
        mariadb = prefix.ensure(phase)
    with reporter.phase("Server headers") as phase:
        prefix.ensure_headers(phase, mariadb)
    others = []
    for named in sorted({*versions} - {mariadb.version}):
        with reporter.phase("Another server") as phase:
            others.append(server_versions.ensure(phase, named))
    with reporter.phase("RocksDB") as phase:
        library = rocksdb.ensure(phase, "")
    with reporter.phase("Build") as phase:
        return _build(phase, library, mariadb, tuple(others))


def pack(
    reporter: Reporter,
    built: tuple[tree.Adapter, ...],
    version: Version,
    output: Path,
    *,
    debug: bool = True,
) -> Package:
    """Packs what adapters() has built, in `output`; the debug information unless `debug` is off."""
    with reporter.phase("Package") as phase:
        made = _pack(phase, built, version, debug=debug)
        package = _deliver(made, output, version, _ALWAYS | ({_DEBUG} if debug else set()))
        phase.summary = f"{shown(package.package)}, {package.package.stat().st_size >> 10:,} KiB"
    return package


def _build(
    phase: Phase, library: Path, mariadb: prefix.Server, others: tuple[prefix.Server, ...]
) -> tuple[tree.Adapter, ...]:
    targets = (*_TARGETS, plugin.LIBRARY_TARGET, *map(plugin.adapter_target, others))
    for target in targets:
        plugin.build(phase, "release", mariadb, library, target, others)
    phase.summary = f"for {1 + len(others)} of the server's versions"
    chosen = adapter_of(mariadb, BUILD / "release" / plugin.LIBRARY)
    return (chosen, *(adapter_of(other, plugin.adapter(other)) for other in others))


def adapter_of(server: prefix.Server, library: Path) -> tree.Adapter:
    """Describes a build of Cairn for a server."""
    text = server_text(server.version)
    if server.version == prefix.require().version:  # Others may not run on this machine.
        said = abi.version_of(server.daemon, server.environment())
        if said != text:
            raise CairnError(f"The server of {server.version} calls itself {said}, not {text}.")
    return tree.Adapter(library, server.daemon, text, server.version)


def _pack(
    phase: Phase, built: tuple[tree.Adapter, ...], version: Version, *, debug: bool
) -> list[Path]:
    release = BUILD / "release"
    engine = adapter_sources.Engine(release / "engine", rocksdb.library())
    content = tree.Built(release / "chooser" / plugin.LIBRARY, built, release / "tools", engine)
    directory = files.fresh_directory(VAR / "package" / "packing")
    source = directory / "source"
    source.mkdir()
    tree.lay_out(source, content, version)
    phase.progress("packing")
    process.run(
        ["dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps"],
        cwd=source,
        env={
            "SOURCE_DATE_EPOCH": str(version.epoch),
            # What a person has set would make other bytes.
            "DEB_BUILD_OPTIONS": "" if debug else "noautodbgsym",
            "DEB_BUILD_PROFILES": "",
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
        },
        log=_LOG,
        what="Packing",
    )
    files.remove(source)
    return sorted(directory.glob("*.deb"))


def _deliver(made: list[Path], output: Path, version: Version, expected: frozenset[str]) -> Package:
    """Moves the packages to `output`, and their SHA-256 beside them."""
    output.mkdir(parents=True, exist_ok=True)
    targets = {}
    for path in made:
        target = output / path.name
        path.replace(target)
        targets[path.name.partition("_")[0]] = target
    if targets.keys() != expected:
        raise CairnError(f"Packing made {', '.join(sorted(targets)) or 'nothing'}. Log: {_LOG}")
    sums = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for _, path in sorted(targets.items())
    )
    files.write_atomic(output / "SHA256SUMS", sums)
    others = tuple(targets[name] for name in sorted(_ALWAYS - {tree.NAME}))
    return Package(targets[tree.NAME], targets.get(_DEBUG), others, version)


def _linted(others: tuple[Path, ...]) -> list[Path]:
    """Without cairn-adapters: lintian takes longer than an hour for RocksDB's static library."""
    return [path for path in others if not path.name.startswith(f"{adapter_sources.NAME}_")]

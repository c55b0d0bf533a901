"""Makes the package: builds Cairn, lays the files out, and has Debian's tools pack them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cairn import files, packages, plugin, prefix, process, rocksdb
from cairn.errors import CairnError
from cairn.package import abi, tree
from cairn.package.version import Version, current
from cairn.paths import BUILD, LOG, ROOT, VAR, shown
from cairn.report import Phase, Reporter

DIST = ROOT / "dist"
_LOG = LOG / "package.log"
_TARGETS = ("ha_rocksdb", "cairn_chooser", "ldb", "sst_dump")
# What lintian finds beyond errors is told, and ends nothing.
_LINTIAN = ("lintian", "--fail-on", "error", "--info", "--allow-root")


@dataclass(frozen=True)
class Package:
    """What was made."""

    package: Path
    debug: Path
    version: Version


def make(reporter: Reporter, output: Path) -> Package:
    """Makes the package, in `output`."""
    version = current()
    with reporter.phase("Packages") as phase:
        groups = (packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS, packages.PACKAGING)
        packages.ensure(groups, phase)
    with reporter.phase("MariaDB server") as phase:
        mariadb = prefix.ensure(phase)
    with reporter.phase("Server headers") as phase:
        prefix.ensure_headers(phase, mariadb)
    with reporter.phase("RocksDB") as phase:
        library = rocksdb.ensure(phase, "")
    with reporter.phase("Build") as phase:
        for target in _TARGETS:
            plugin.build(phase, "release", mariadb, library, target)
    with reporter.phase("Package") as phase:
        made = _pack(phase, mariadb, version)
        package = _deliver(made, output, version)
        phase.summary = f"{shown(package.package)}, {package.package.stat().st_size >> 10:,} KiB"
    with reporter.phase("lintian") as phase:
        process.run([*_LINTIAN, package.package], log=_LOG, what="lintian, which looks for errors,")
        phase.summary = "no errors"
    return package


def _pack(phase: Phase, mariadb: prefix.Server, version: Version) -> list[Path]:
    release = BUILD / "release"
    adapter = tree.Adapter(
        library=release / plugin.LIBRARY,
        daemon=mariadb.daemon,
        server_text=abi.version_of(mariadb.daemon, mariadb.environment()),
        package_version=mariadb.version,
    )
    built = tree.Built(release / "chooser" / plugin.LIBRARY, (adapter,), release / "tools")
    directory = files.fresh_directory(VAR / "package" / "packing")
    source = directory / "source"
    source.mkdir()
    tree.lay_out(source, built, version)
    phase.progress("packing")
    process.run(
        ["dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps"],
        cwd=source,
        env={
            "SOURCE_DATE_EPOCH": str(version.epoch),
            # What a person has set would make other bytes.
            "DEB_BUILD_OPTIONS": "",
            "DEB_BUILD_PROFILES": "",
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
        },
        log=_LOG,
        what="Packing",
    )
    files.remove(source)
    return sorted(directory.glob("*.deb"))


def _deliver(made: list[Path], output: Path, version: Version) -> Package:
    """Moves the packages to `output`, and their SHA-256 beside them."""
    output.mkdir(parents=True, exist_ok=True)
    targets = {}
    for path in made:
        target = output / path.name
        path.replace(target)
        targets[path.name.partition("_")[0]] = target
    if sorted(targets) != [tree.NAME, f"{tree.NAME}-dbgsym"]:
        raise CairnError(f"Packing made {', '.join(sorted(targets)) or 'nothing'}. Log: {_LOG}")
    sums = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for _, path in sorted(targets.items())
    )
    files.write_atomic(output / "SHA256SUMS", sums)
    return Package(targets[tree.NAME], targets[f"{tree.NAME}-dbgsym"], version)

"""The distribution's server in other versions than the chosen one, for builds and upgrades.

The package lists say where the files of a version are; of one that they name no more, the pools of
the archive have them for a while (pool.py).
"""

from __future__ import annotations

import re
from pathlib import Path

from cairn import files, pool, prefix, process, versions
from cairn.errors import CairnError
from cairn.paths import LOG, cache
from cairn.report import Phase

# What a build of Cairn needs of a server: its program, and its headers.
BUILD_PACKAGES = ("mariadb-server-core", *prefix.HEADER_PACKAGES)
# What a server is installed of, and what Cairn's package recommends of it.
INSTALLED_PACKAGES = (
    "libmariadb3",
    "mariadb-common",
    "mariadb-client-core",
    "mariadb-client",
    "mariadb-server-core",
    "mariadb-server",
    "mariadb-backup",
)
_LOG = LOG / "server.log"


def require_version(version: str) -> None:
    """Raises unless it is a version of the distribution's packages that Cairn can be built for."""
    if not re.fullmatch(r"\d+:\d+(\.\d+)+-[0-9A-Za-z.+~]+", version):
        raise CairnError(
            f"{version!r} is no version of Debian's packages of MariaDB: 1:10.11.18-0+deb12u1 is "
            "one; `apt-cache madison mariadb-server-core` lists those of your sources."
        )
    versions.server_text(version)


def ensure(phase: Phase, version: str) -> prefix.Server:
    """The program of the server and its headers, in the cache; fetched first where it lacks them.

    Raises when the version cannot be had whole, and says what is missing; the cache is then as it
    was.
    """
    require_version(version)
    server = prefix.of_version(version)
    phase.summary = f"{versions.bare(version)}: in the cache"
    if server.daemon.is_file() and server.headers.is_dir():
        return server
    with prefix.locked():
        downloads = files.fresh_directory(cache() / "server" / "other" / versions.bare(version))
        try:
            whence = _download(phase, version, BUILD_PACKAGES, downloads, with_source=True)
            if not server.daemon.is_file():
                core = prefix.packages_in(downloads)["mariadb-server-core"]
                prefix.unpack([core], server.prefix)
            if not server.headers.is_dir():
                prefix.make_headers(phase, server, downloads)
        finally:
            files.remove(downloads)
    phase.summary = f"{versions.bare(version)}: from {whence}"
    return server


def ensure_packages(
    phase: Phase, version: str, names: tuple[str, ...] = INSTALLED_PACKAGES
) -> Path:
    """A directory with packages of this version; fetched first where it lacks one of them."""
    require_version(version)
    directory = cache() / "server" / "packages" / versions.bare(version)
    phase.summary = f"{versions.bare(version)}: in the cache"
    there = prefix.packages_in(directory).keys()
    if there >= {*names}:
        return directory
    names = tuple(sorted({*names} | there))
    with prefix.locked():
        partial = files.fresh_directory(directory.with_name(f"{directory.name}.partial"))
        try:
            whence = _download(phase, version, names, partial, with_source=False)
            files.install_directory(partial, directory)
        finally:
            files.remove(partial)
    phase.summary = f"{versions.bare(version)}: from {whence}"
    return directory


def _download(
    phase: Phase, version: str, names: tuple[str, ...], directory: Path, *, with_source: bool
) -> str:
    """Fetches packages of a version, and its source; where they came from."""
    prefix.refresh_lists(phase)
    listed = process.output(prefix.apt("apt-cache", "madison", names[0]))
    is_listed = any(offer.version == version for offer in versions.parse_madison(listed))
    lacking: list[str] = []
    pooled = False
    if with_source and not (is_listed and _listed_source(phase, version, directory)):
        pooled = True
        lacking += pool.source(phase, version, directory, _keyrings(phase))
    if not (is_listed and _listed_packages(phase, version, names, directory)):
        pooled = True
        lacking += pool.packages(phase, version, names, directory)
        phase.note("no list vouches for packages of a pool: HTTPS does, and their own sums")
    if lacking:
        known = "although the package lists name it" if is_listed else "no package list names it"
        raise CairnError(
            f"mariadb {version} cannot be had whole ({known}): the pools of the archive lack "
            f"{', '.join(lacking)}. Name another version, or wait until the archive has it."
        )
    return "the archive's pools" if pooled else "the archive"


def _listed_source(phase: Phase, version: str, directory: Path) -> bool:
    phase.progress(f"{versions.bare(version)}: source")
    return _apt_get(
        ("source", "--download-only", "--tar-only", f"{prefix.SOURCE_PACKAGE}={version}"),
        f"Downloading the source of MariaDB {version}",
        directory,
    )


def _listed_packages(phase: Phase, version: str, names: tuple[str, ...], directory: Path) -> bool:
    phase.progress(f"{versions.bare(version)}: packages")
    return _apt_get(
        ("download", *(f"{name}={version}" for name in names)),
        f"Downloading the packages of MariaDB {version}",
        directory,
    )


def _apt_get(arguments: tuple[str, ...], what: str, directory: Path) -> bool:
    """Whether apt can fetch it; an archive may list what it does not have."""
    before = set(directory.iterdir())
    try:
        process.run(prefix.apt("apt-get", *arguments), cwd=directory, log=_LOG, what=what)
    except CairnError:
        for path in set(directory.iterdir()) - before:
            files.remove(path)
        return False
    return True


def _keyrings(phase: Phase) -> Path:
    """The directory with the keys of Debian's uploaders; empty when they cannot be had."""
    directory = cache() / "server" / "keyrings"
    keyrings = directory / "usr" / "share" / "keyrings"
    if not keyrings.is_dir():
        phase.progress("the keys of Debian's uploaders")
        downloads = files.fresh_directory(directory.with_name("keyrings.download"))
        if _apt_get(("download", "debian-keyring"), "Downloading debian-keyring", downloads):
            prefix.unpack(list(downloads.glob("*.deb")), directory)
        files.remove(downloads)
    return keyrings

"""The server's source and packages of one version: by apt, or from a directory."""

from __future__ import annotations

import os
import pwd
import re
from dataclasses import dataclass
from pathlib import Path

from cairn import process, server_headers, versions
from cairn.adapters.facts import known_versions
from cairn.adapters.place import SERVER_PACKAGE, SOURCE_PACKAGE
from cairn.errors import CairnError
from cairn.report import Phase
from cairn.versions import bare

_PACKAGES = (*server_headers.PACKAGES, SERVER_PACKAGE)
# As apt is told to be silent about what people could be asked.
_APT_GET = ("apt-get", "--quiet", "--yes", "-o", "Acquire::Retries=2")
_NO_NETWORK = re.compile(
    r"could not resolve|temporary failure|could not connect|unable to connect|connection (failed|"
    r"refused|timed out)|network is unreachable|cannot initiate the connection",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Obtained:
    """Files of one version of the server."""

    tarball: Path  # Of the authors.
    development: tuple[Path, ...]  # The packages with the headers that a configured tree has.
    core: Path  # The package of the server itself.


def by_apt(phase: Phase, version: str, directory: Path, log: Path) -> Obtained:
    """Downloads into `directory`, with apt's own sources and lists. Raises and says what to do."""
    _require_source(version)
    _share_with_apt(directory)
    phase.progress("the source package")
    _download(
        ["source", "--download-only", "--tar-only", f"{SOURCE_PACKAGE}={version}"],
        directory,
        log,
        f"the source of MariaDB {bare(version)}",
        _no_source_yet(version),
    )
    phase.progress("packages")
    _download(
        ["download", *(f"{name}={version}" for name in _PACKAGES)],
        directory,
        log,
        f"the packages of MariaDB {bare(version)}",
        f"The archive does not have {' '.join(_PACKAGES)} {version} any more, though apt's lists "
        "name them: run 'apt-get update' as root, and look with 'cairn-adapters list'.",
    )
    return from_directory(directory, version)


def from_directory(directory: Path, version: str) -> Obtained:
    """The files of this version in a directory. Raises if some are missing, or of another one."""
    upstream = bare(version).partition("-")[0]
    tarballs = [
        path
        for path in sorted(directory.glob(f"{SOURCE_PACKAGE}_{upstream}.orig.tar.*"))
        if path.suffix in (".gz", ".xz", ".bz2")
    ]
    found = {name: _package(directory, name, version) for name in _PACKAGES}
    lacking = [f"{name}_{bare(version)}_amd64.deb" for name, path in found.items() if path is None]
    if not tarballs:
        lacking.insert(0, f"{SOURCE_PACKAGE}_{upstream}.orig.tar.gz")
    if lacking:
        raise CairnError(f"{directory} lacks {', '.join(lacking)}.")
    paths = {name: path for name, path in found.items() if path is not None}
    return Obtained(
        tarballs[0],
        tuple(paths[name] for name in server_headers.PACKAGES),
        paths[SERVER_PACKAGE],
    )


def versions_in(directory: Path) -> list[str]:
    """The versions of the server whose package is in a directory."""
    found = {_field(path, "Version") for path in directory.glob(f"{SERVER_PACKAGE}_*.deb")}
    return versions.newest_first(version for version in found if version)


def _package(directory: Path, name: str, version: str) -> Path | None:
    for path in sorted(directory.glob(f"{name}_*.deb")):
        if _field(path, "Package") == name and _field(path, "Version") == version:
            return path
    return None


def _field(package: Path, name: str) -> str:
    return process.output(["dpkg-deb", "--field", package, name]).strip()


# ---- apt ----------------------------------------------------------------------------------------


def _require_source(version: str) -> None:
    """Raises if apt's lists do not name the source, and says which line would."""
    listed = source_versions(process.output(["apt-cache", "showsrc", "--only-source", "mariadb"]))
    if version in listed:
        return
    if version not in known_versions():
        raise CairnError(_not_in_lists(version))
    lines = _source_lines(version)
    if not listed:
        raise CairnError(
            "apt's sources have no source packages: add\n"
            + "\n".join(f"    {line}" for line in lines)
            + "\nto a file /etc/apt/sources.list.d/source.list (in a file *.sources: deb-src "
            "beside deb behind Types:), run 'apt-get update' as root, and try again."
        )
    raise CairnError(
        f"apt knows mariadb-server-core {version}, but of its source only "
        f"{', '.join(listed)}. If apt's sources lack one of these lines, add it, run "
        "'apt-get update' as root, and try again; else the archive has no source for it yet.\n"
        + "\n".join(f"    {line}" for line in lines)
    )


def source_versions(text: str) -> list[str]:
    """The versions of the source package in what `apt-cache showsrc` prints."""
    found = []
    for stanza in text.split("\n\n"):
        fields = dict(
            (key, value.strip())
            for line in stanza.splitlines()
            if not line.startswith(" ")
            for key, colon, value in [line.partition(":")]
            if colon
        )
        if fields.get("Package") == SOURCE_PACKAGE and "Version" in fields:
            found.append(fields["Version"])
    return versions.newest_first(set(found))


def _source_lines(version: str) -> list[str]:
    """What would name the source of a version: a line for each archive that has its packages."""
    offers = versions.parse_madison(process.output(["apt-cache", "madison", SERVER_PACKAGE]))
    lines = {
        f"deb-src {offer.site} {offer.suite} {offer.component}"
        for offer in offers
        if offer.version == version
    }
    return sorted(lines) or ["deb-src for the archive that has mariadb-server-core"]


def _not_in_lists(version: str) -> str:
    known = known_versions()
    return (
        f"apt knows no mariadb-server-core {version}"
        + (f"; it knows {', '.join(known)}" if known else "")
        + ". Run 'apt-get update' as root; or put the source and the packages of that version into "
        "a directory, and name it with --source."
    )


def _no_source_yet(version: str) -> str:
    return (
        f"The archive lists the source of MariaDB {version} and does not have it. Without it "
        "there is no build: leave the server as it is until the source is there, or a "
        "mariadb-plugin-cairn with a build for it. apt keeps the server back meanwhile; where it "
        "does not:\n    apt-mark hold mariadb-server mariadb-server-core\n"
        "If apt's lists are old, 'apt-get update' as root may help. Files that you have from "
        "elsewhere are taken by --source."
    )


def _download(arguments: list[str], directory: Path, log: Path, what: str, gone: str) -> None:
    lines: list[str] = []
    status = process.run(
        [*_APT_GET, *arguments],
        cwd=directory,
        log=log,
        what=f"Downloading {what}",
        env={"LC_ALL": "C.UTF-8"},
        on_line=lines.append,
        accept=tuple(range(256)),
    )
    if status == 0:
        return
    text = "\n".join(lines)
    if re.search(r"\b404\b|File not found", text):
        raise CairnError(gone)
    if _NO_NETWORK.search(text):
        raise CairnError(
            f"The network does not reach the archive for {what}:\n{_indented(lines)}\n"
            "Try again when it does; or fetch the files on another machine and name their "
            "directory with --source."
        )
    raise CairnError(f"apt could not download {what}:\n{_indented(lines)}\nLog: {log}")


def _indented(lines: list[str]) -> str:
    wanted = [line for line in lines if line.startswith(("E:", "W:", "Err:"))] or lines[-5:]
    return "\n".join(f"    {line}" for line in wanted[:10])


def _share_with_apt(directory: Path) -> None:
    """apt downloads as a user of its own when it runs as root."""
    if os.geteuid() != 0:
        return
    try:
        user = pwd.getpwnam("_apt")
    except KeyError:
        return
    os.chown(directory, user.pw_uid, -1)

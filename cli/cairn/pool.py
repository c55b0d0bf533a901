"""Files of a version of MariaDB that no package list names, from the pools of the archive.

A pool keeps a version for a while after the lists have gone on to the next one. What a list would
vouch for is checked as far as it can be: the source by the signature and the sums of its .dsc, a
package by HTTPS, by what it says of itself and by its sums of its own files.
"""

from __future__ import annotations

from pathlib import Path

from cairn import files, prefix, process, versions
from cairn.errors import CairnError
from cairn.paths import LOG
from cairn.report import Phase

POOLS = (
    "https://deb.debian.org/debian/pool/main/m/mariadb",
    "https://deb.debian.org/debian-security/pool/updates/main/m/mariadb",
)
# Of the package debian-keyring: who may upload to Debian.
KEYRINGS = ("debian-keyring.gpg", "debian-maintainers.gpg")
_APT_HELPER = "/usr/lib/apt/apt-helper"
_LOG = LOG / "server.log"


def source(phase: Phase, version: str, directory: Path, keyrings: Path) -> list[str]:
    """Fetches a version's .dsc and the tarballs of the authors into `directory`.

    `keyrings` is a directory with KEYRINGS, or without them; then a note of the phase says that the
    signature was not checked. Returns the names of those files that no pool has. Raises when the
    signature or a sum is wrong, or a pool cannot be reached.
    """
    name = f"{prefix.SOURCE_PACKAGE}_{versions.bare(version)}.dsc"
    if not _fetch(phase, name, directory):
        return [name]
    text, unchecked = signed_text(directory / name, keyrings)
    if unchecked:
        phase.note(f"the signature of {name} was not checked: {unchecked}")
    if field(text, "Source") != prefix.SOURCE_PACKAGE or field(text, "Version") != version:
        raise CairnError(
            f"{name} is not of {prefix.SOURCE_PACKAGE} {version}: its pool is damaged."
        )
    tarballs = {n: s for n, s in sums(text).items() if ".orig.tar." in n and not n.endswith(".asc")}
    if not tarballs:
        raise CairnError(f"{name} names no tarball of the authors: its pool is damaged.")
    return [n for n, s in tarballs.items() if not _fetch(phase, n, directory, f"SHA256:{s}")]


def packages(phase: Phase, version: str, names: tuple[str, ...], directory: Path) -> list[str]:
    """Fetches packages of a version; the names of those files that no pool has.

    Raises when a package is damaged or is another one than its name says, or when a pool cannot be
    reached.
    """
    architecture = process.output(["dpkg", "--print-architecture"]).strip() or "amd64"
    lacking = []
    for name in names:
        candidates = [
            f"{name}_{versions.bare(version)}_{built}.deb" for built in (architecture, "all")
        ]
        found = next((file for file in candidates if _fetch(phase, file, directory)), None)
        if found is None:
            lacking.append(candidates[0])
        else:
            check_package(directory / found, name, version)
    return lacking


def signed_text(description: Path, keyrings: Path) -> tuple[str, str]:
    """What the signature of a .dsc covers; all of it, and why, if the signature cannot be checked.

    Raises if the signature is wrong.
    """
    text = description.read_text(encoding="utf-8")
    present = [keyrings / name for name in KEYRINGS if (keyrings / name).is_file()]
    if not present:
        return text, "the keys of Debian's uploaders (package debian-keyring) could not be had"
    covered = description.with_suffix(".covered")
    options = [part for path in present for part in ("--keyring", str(path))]
    said: list[str] = []
    files.remove(covered)
    status = process.run(
        ["gpgv", "--status-fd=1", f"--output={covered}", *options, description],
        log=_LOG,
        what="Checking a signature",
        on_line=said.append,
        accept=(0, 1, 2),
    )
    kinds = {line.split()[1] for line in said if line.startswith("[GNUPG:] ")}
    if status == 0 and "VALIDSIG" in kinds:
        return covered.read_text(encoding="utf-8"), ""
    if "NO_PUBKEY" in kinds and not kinds & {"BADSIG", "VALIDSIG"}:
        return text, "the key that made it is not among those of Debian's uploaders"
    raise CairnError(
        f"{description.name} is not what its signature was made of:\n"
        + "\n".join(f"    {line}" for line in said)
    )


def check_package(package: Path, name: str, version: str) -> None:
    """Raises unless it is that package, and its files are those that it has sums of."""
    described = process.output(["dpkg-deb", "--field", package, "Package", "Version"])
    if (field(described, "Package"), field(described, "Version")) != (name, version):
        raise CairnError(f"{package.name} is damaged, or is not {name} {version}.")
    directory = files.fresh_directory(package.with_suffix(".check"))
    try:
        process.run(
            ["dpkg-deb", "--raw-extract", package, directory / "files"],
            log=_LOG,
            what=f"Unpacking {package.name}",
        )
        process.run(
            ["md5sum", "--check", "--quiet", "--strict", "DEBIAN/md5sums"],
            cwd=directory / "files",
            log=_LOG,
            what=f"Comparing the files of {package.name} with its sums",
        )
    finally:
        files.remove(directory)


def field(text: str, name: str) -> str:
    """The value of a field that has one line; empty if there is none."""
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key == name:
            return value.strip()
    return ""


def sums(description: str) -> dict[str, str]:
    """The SHA-256 of each file that a .dsc names."""
    found = {}
    inside = False
    for line in description.splitlines():
        if not line.startswith(" "):
            inside = line.strip() == "Checksums-Sha256:"
        elif inside:
            digest, _, name = line.split()
            found[name] = digest
    return found


def _fetch(phase: Phase, name: str, directory: Path, digest: str = "") -> bool:
    """Whether a pool has the file, which then is in `directory`."""
    phase.progress(name)
    for pool in POOLS:
        # A plus is a space to some servers.
        address = f"{pool}/{name.replace('+', '%2B')}"
        arguments = [address, str(directory / name), *([digest] if digest else [])]
        try:
            process.run(
                [_APT_HELPER, "-oAPT::Sandbox::User=root", "download-file", *arguments],
                log=_LOG,
                what=f"Downloading {name}",
            )
            return True
        except CairnError as error:
            files.remove(directory / name)
            files.remove(directory / f"{name}.FAILED")
            if " 404 " not in str(error):
                raise
    return False

"""An archive with MariaDB 10.11.14: Debian's pool still has it, though no list names it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cairn import files, process
from cairn.errors import CairnError
from cairn.paths import LOG, cache
from cairn.report import Phase

VERSION = "1:10.11.14-0+deb12u2"
TEXT = "10.11.14-MariaDB-0+deb12u2"
_POOL = "https://deb.debian.org/debian/pool/main/m/mariadb"
_LOG = LOG / "adapters-test.log"
_BARE = VERSION.partition(":")[2]
TARBALL = "mariadb_10.11.14.orig.tar.gz"
# No list vouches for them: these are the SHA-256 of what the pool had in November 2026, where the
# sources are as their signed description has them.
_SUMS = {
    f"mariadb_{_BARE}.dsc": "7826fd76e0f7aaf2caec3086b688feceeaed4f048556cd781f86870de4303e7a",
    TARBALL: "8a571cb14fb1d4e3663d8e98f3d4200c042fc8b2a4aaaab495860dea8b7d052f",
    f"{TARBALL}.asc": "63440758a8b9ced1ef3ec0e0947e6b060cc67c9919cd75a7386493016552b022",
    f"mariadb_{_BARE}.debian.tar.xz": (
        "1bc5dfaa787596ecc469e5448080a2d16507ba534cf3e39418c296dc66bed16c"
    ),
    f"libmariadb-dev_{_BARE}_amd64.deb": (
        "c06286e2bcf2cea836dc992925df57b5ac71ac47ec9bf124523f6b46d363098a"
    ),
    f"libmariadb3_{_BARE}_amd64.deb": (
        "aa87d5811fc656fd12117eadf8781c8c36b6ebd4049b77cba5bf4abaabc3df3f"
    ),
    f"libmariadbd-dev_{_BARE}_amd64.deb": (
        "c269c9f941084e2dafb6ae5cff04733b604a420998791b25a4e3f9628be89c4d"
    ),
    f"libmariadbd19_{_BARE}_amd64.deb": (
        "cd3422a04a34bb0e97b6725dbd6dc726cdd71a81fee3478c8c887a3b8d96bc71"
    ),
    f"mariadb-client-core_{_BARE}_amd64.deb": (
        "2f4ec9d822d4700a311714a671f81a03160139fa63dc05ab03ee05313c2beffd"
    ),
    f"mariadb-client_{_BARE}_amd64.deb": (
        "379c10cbbb4d5f697473789f5b41c79b15ed4e0028a1198bc1a12925f27d42e9"
    ),
    f"mariadb-common_{_BARE}_all.deb": (
        "9d7183f22f94a5687972dca267d77cad5065417051c90dcd5213402daa058ef5"
    ),
    f"mariadb-server-core_{_BARE}_amd64.deb": (
        "8d7ac7a136148bbcd1dc7dfe2e61b464ef17fe2470fdca7841645832f51e3166"
    ),
    f"mariadb-server_{_BARE}_amd64.deb": (
        "246d9cc4f0b5c274616c02d3005657149eed6771a51cb434d78bcb11349d3cb6"
    ),
}


def make(phase: Phase, directory: Path) -> None:
    """Lays the archive out in `directory`, with the lists that apt reads."""
    kept = cache() / "server" / "pool" / _BARE
    kept.mkdir(parents=True, exist_ok=True)
    directory.mkdir(parents=True)
    for name, digest in _SUMS.items():
        phase.progress(name)
        _fetch(kept / name, digest)
        files.place(kept / name, directory / name)
    for command, target in (
        ("dpkg-scanpackages --multiversion .", "Packages"),
        ("dpkg-scansources .", "Sources"),
    ):
        process.run(
            ["sh", "-c", f"{command} > {target}"],
            cwd=directory,
            log=_LOG,
            what=f"Listing the archive's {target.lower()}",
        )


def _fetch(path: Path, digest: str) -> None:
    if path.is_file() and _sum(path) == digest:
        return
    # A plus is a space to some servers.
    address = f"{_POOL}/{path.name.replace('+', '%2B')}"
    process.run(
        [
            "/usr/lib/apt/apt-helper",
            "-oAPT::Sandbox::User=root",
            "download-file",
            address,
            path,
        ],
        log=_LOG,
        what=f"Downloading {path.name}",
    )
    if _sum(path) != digest:
        path.unlink()
        raise CairnError(f"{address} is not the file that it was.")


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

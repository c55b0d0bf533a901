"""Packs an adapter as a package, by which dpkg and apt keep the server that it is for."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from cairn import files, process
from cairn.adapters.place import ARCHITECTURE, LOCAL_PACKAGE, MAINTAINER, Own, Place
from cairn.errors import CairnError
from cairn.versions import bare

_LEFT_OPEN = re.compile(r"@[A-Z]+@")


@dataclass(frozen=True)
class Result:
    """What was compiled, and for which server."""

    library: Path
    abi: str
    server_version: str  # Of the server's packages.
    server_text: str  # What it calls itself.


def package_version(own: Own, server_version: str) -> str:
    """Before the version of the empty package that comes with the same Cairn, which replaces it."""
    return f"{own.version}~server{bare(server_version).replace('-', '.')}"


def file_name(own: Own, server_version: str) -> str:
    return f"{LOCAL_PACKAGE}_{package_version(own, server_version)}_{ARCHITECTURE}.deb"


def control(template: str, own: Own, result: Result, libraries: str, kibibytes: int) -> str:
    """DEBIAN/control. Raises if the template has a place that nothing fills."""
    values = {
        "PACKAGE": LOCAL_PACKAGE,
        "MAINTAINER": MAINTAINER,
        "VERSION": package_version(own, result.server_version),
        "ARCHITECTURE": ARCHITECTURE,
        "CAIRN": own.version,
        "SERVER": result.server_version,
        "TEXT": result.server_text,
        "LIBRARIES": libraries,
        "SIZE": str(kibibytes),
    }
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    if left := _LEFT_OPEN.findall(template):
        raise CairnError(f"The description of the package has no value for {', '.join(left)}.")
    return template


def pack(place: Place, own: Own, result: Result, work: Path, output: Path, log: Path) -> Path:
    """Makes the package in `output`, where it appears when it is complete."""
    root = files.fresh_directory(work / "package")
    directory = root / "usr/lib/cairn" / result.server_text
    files.place(result.library, directory / "adapter.so")
    _write(directory / "abi", result.abi)
    documents = root / "usr/share/doc" / LOCAL_PACKAGE
    files.place(place.recipe / "copyright", documents / "copyright")
    changes = documents / "changelog.gz"
    changes.write_bytes(gzip.compress(_changelog(own, result).encode(), mtime=0))
    changes.chmod(0o644)
    sums = "".join(
        f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n"
        for path in sorted(root.rglob("*"))
        if path.is_file()
    )
    kibibytes = files.size_of(root) // 1024 + 1
    template = (place.recipe / "control.in").read_text(encoding="utf-8")
    text = control(template, own, result, _libraries(result.library, work), kibibytes)
    _write(root / "DEBIAN/control", text)
    _write(root / "DEBIAN/md5sums", sums)
    for path in root.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    root.chmod(0o755)
    target = output / file_name(own, result.server_version)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        process.run(
            ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", root, partial],
            log=log,
            what="Packing",
            env={"SOURCE_DATE_EPOCH": str(own.epoch)},
        )
        partial.replace(target)
    except OSError as error:
        raise CairnError(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def _libraries(library: Path, work: Path) -> str:
    """The packages of the libraries that it is linked with, as a dependency names them."""
    directory = files.fresh_directory(work / "dependencies")
    (directory / "debian").mkdir()
    _write(
        directory / "debian/control",
        f"Source: {LOCAL_PACKAGE}\n\nPackage: {LOCAL_PACKAGE}\nArchitecture: {ARCHITECTURE}\n",
    )
    lines: list[str] = []
    process.run(
        ["dpkg-shlibdeps", "-O", library],
        cwd=directory,
        log=work / "dependencies.log",
        what="Looking for the packages of its libraries",
        on_line=lines.append,
    )
    for line in lines:
        if line.startswith("shlibs:Depends="):
            return line.partition("=")[2]
    raise CairnError(f"dpkg-shlibdeps names no packages of the libraries of {library.name}.")


def _changelog(own: Own, result: Result) -> str:
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(own.epoch))
    return (
        f"{LOCAL_PACKAGE} ({package_version(own, result.server_version)}) unstable; urgency=medium"
        f"\n\n  * Made for {result.server_text}.\n\n -- {MAINTAINER}  {date}\n"
    )


def _write(path: Path, text: str) -> None:
    files.write_atomic(path, text)
    path.chmod(0o644)

"""Archives of how often the branches of compiled sources are taken; training.py makes them.

Processes of code that counts leave a file beside each object file, of the name that the compiler
looks for when it compiles that source again.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

from cairn.errors import CairnError
from cairn.paths import ROOT

# Of engine/ and mariadb/; cmake/Profile.cmake.
OWN = ROOT / "cmake" / "profile.tar.xz"
_COUNTS = ".gcda"
# CMake's folder for a target's object files, of ours in the folder of the target's sources.
_OF_TARGET = re.compile(r"CMakeFiles/[^/]+\.dir/")
_OWN_FOLDERS = ("engine", "mariadb")


def remove_counts(objects: Path) -> None:
    """Forgets what earlier processes have left below a directory."""
    for counts in objects.rglob(f"*{_COUNTS}"):
        counts.unlink()


def of_folder(objects: Path) -> dict[str, Path]:
    """What processes have left in a directory, by its name there."""
    return {counts.name: counts for counts in objects.glob(f"*{_COUNTS}")}


def of_sources(build: Path) -> dict[str, Path]:
    """What processes have left in a build directory of ours, by the path of its source."""
    return {
        _OF_TARGET.sub("", counts.relative_to(build).as_posix()): counts
        for folder in _OWN_FOLDERS
        for counts in (build / folder).rglob(f"*{_COUNTS}")
    }


def save(found: dict[str, Path], archive: Path) -> None:
    """Packs files by the given names.

    The same counts make the same bytes. The archive is replaced whole, or not at all.
    """
    if not found:
        raise CairnError("The server has left no counts: it did not end by itself.")
    partial = archive.with_name(f".{archive.name}.partial")
    with tarfile.open(partial, "w:xz", preset=9) as packed:
        for name in sorted(found):
            packed.add(found[name], name, filter=_plain)
    shutil.move(partial, archive)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member

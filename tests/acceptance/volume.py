"""Small and read-only volumes, which only root can mount."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cairn import files, process
from cairn.errors import CairnError
from cairn.paths import LOG

_LOG = LOG / "acceptance.log"


class Skip(Exception):
    """The machine does not allow what a case needs; the text says what that is."""


@contextmanager
def limited(directory: Path, size_mib: int) -> Iterator[Path]:
    """A volume in memory of so many MiB, mounted at `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    _mount(["-t", "tmpfs", "-o", f"size={size_mib}m", "cairn-acceptance", str(directory)])
    try:
        yield directory
    except Exception:
        # The volume's content goes with it, and is what explains a failure.
        kept = directory.with_name(f"{directory.name}-kept")
        files.remove(kept)
        shutil.copytree(directory, kept, ignore=shutil.ignore_patterns("ballast", "*.sock"))
        raise
    finally:
        unmount(directory)


@contextmanager
def read_only(directory: Path) -> Iterator[Path]:
    """`directory` as it is, but nobody can write there, not even root."""
    _mount(["--bind", str(directory), str(directory)])
    try:
        _mount(["-o", "remount,bind,ro", str(directory)])
        yield directory
    finally:
        unmount(directory)


def unmount(directory: Path) -> None:
    """Takes a volume away, also one that an interrupted run has left."""
    # Path.is_mount does not see a directory that is mounted onto itself.
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    for _ in [line for line in mounts if line.split()[4] == str(directory).replace(" ", "\\040")]:
        process.run(["umount", "--lazy", directory], log=_LOG, what=f"Unmounting {directory}")


def _mount(arguments: list[str]) -> None:
    if os.geteuid() != 0:
        raise Skip("only root can mount a volume")
    try:
        process.run(["mount", *arguments], log=_LOG, what="mount")
    except CairnError as error:
        raise Skip(f"this machine does not let root mount a volume ({error})") from None

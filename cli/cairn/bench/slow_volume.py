"""A volume of its own for a server: a file, a loop device over it, and ext4, mounted.

A block device that nothing else uses can be limited alone. A run that was killed leaves its volume
mounted; the next one that wants a volume takes it away first.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cairn import files, process
from cairn.bench import throttle
from cairn.errors import CairnError
from cairn.paths import LOG, VAR

DIRECTORY = VAR / "bench-volumes"
_LOG = LOG / "bench-volumes.log"
UNMOUNT_S = 60.0
_TOOLS = ("losetup", "mount", "umount", "mkfs.ext4")


@dataclass(frozen=True)
class Volume:
    """A mounted volume."""

    mount_point: Path
    device: str  # "major:minor", as control groups want it.

    def used_bytes(self) -> int:
        """What the file system has given out, its own structures included."""
        usage = os.statvfs(self.mount_point)
        return (usage.f_blocks - usage.f_bfree) * usage.f_frsize


def lacking() -> str | None:
    """What this machine has not that a volume needs, in words."""
    if os.geteuid() != 0:
        return "it needs root, to mount a volume"
    tools = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if tools:
        return f"it needs {' and '.join(tools)}, to make a volume"
    if not Path("/dev/loop-control").exists():
        return "it needs loop devices (/dev/loop-control), to make a volume"
    return None


@contextmanager
def mounted(name: str, size_bytes: int, directory: Path = DIRECTORY) -> Iterator[Volume]:
    """An empty volume; its file grows with what is written, up to `size_bytes`.

    Errors: CairnError where another run uses it, or a tool fails.
    """
    remove_leftovers(directory)
    with files.exclusive(_lock(directory, name), f"using the volume {name}"):
        image = directory / f"{name}.image"
        try:
            yield _make(image, size_bytes)
        finally:
            _remove(image)


def remove_leftovers(directory: Path = DIRECTORY) -> None:
    """Takes away the volumes of runs that have ended without doing so."""
    for image in sorted(directory.glob("*.image")):
        # A volume that is in use, or another user's, is none of ours to remove.
        with (
            suppress(CairnError, PermissionError),
            files.exclusive(_lock(directory, image.stem), "using a volume"),
        ):
            _remove(image)


def _lock(directory: Path, name: str) -> Path:
    return directory / f".{name}.lock"


def _make(image: Path, size_bytes: int) -> Volume:
    with image.open("wb") as file:
        file.truncate(size_bytes)
    # Inodes and journal are written now, or the kernel would do it during the first minutes.
    _tool("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
    # Without direct I/O the file's pages would be cached beside the volume's.
    _tool("losetup", "--find", "--direct-io=on", image)
    (loop,) = _loops(image)
    mount_point = image.with_suffix("")
    mount_point.mkdir(exist_ok=True)
    _tool("mount", "-o", "noatime", loop, mount_point)
    return Volume(mount_point, _number(loop))


def _remove(image: Path) -> None:
    """Undoes what of `_make` there is."""
    for loop in _loops(image):
        device = _number(loop)
        _lift_limits(device)  # First, since unmounting writes.
        _unmount(device)
        _tool("losetup", "--detach", loop)
    with suppress(OSError):
        image.with_suffix("").rmdir()
    image.unlink(missing_ok=True)


def _loops(image: Path) -> list[str]:
    """The loop devices over a file, such as "/dev/loop0"."""
    return process.output(
        ["losetup", "--associated", image, "--noheadings", "--output", "NAME"]
    ).split()


def _number(loop: str) -> str:
    status = Path(loop).stat()
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def _lift_limits(device: str) -> None:
    with suppress(CairnError, OSError):
        interface = throttle.interface()
        if isinstance(interface, throttle.Version1):  # Those of version 2 go with their group.
            interface.apply(device, throttle.NONE, throttle.ROOT)


def _unmount(device: str) -> None:
    """Takes a device's mounts away; a server of a killed run may still be writing its last."""
    begun = time.monotonic()
    for place in _mount_points(device):
        while True:
            try:
                _tool("umount", place)
                break
            except CairnError:
                if time.monotonic() - begun > UNMOUNT_S:
                    raise
            time.sleep(0.5)


def _mount_points(device: str) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines]
    return [each[4].replace("\\040", " ") for each in fields if each[2] == device]


def _tool(*command: str | Path) -> None:
    process.run(command, log=_LOG, what=str(command[0]))

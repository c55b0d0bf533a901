"""Limits on what a block device does each second, by the block-I/O control groups of the kernel.

Both versions of the kernel's interface are known. Version 1 limits whatever its root group does
with the device: writes that leave the page cache later belong to that group, whoever wrote. Version
2 knows whose they are and limits the group of a server; its root group has no limits.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cairn.errors import CairnError

ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Limits:
    """For reads and for writes each; 0 is no limit."""

    iops: int
    bytes_per_s: int

    def __bool__(self) -> bool:
        return bool(self.iops or self.bytes_per_s)


NONE = Limits(0, 0)


@dataclass(frozen=True)
class Version1:
    """The group `blkio`, for all processes of its root group."""

    directory: Path

    def apply(self, device: str, limits: Limits, group: Path) -> None:
        """Limits `device` ("major:minor"); a limit of 0 lifts it. `group` does not matter."""
        for what in ("read", "write"):
            for unit, value in (("iops", limits.iops), ("bps", limits.bytes_per_s)):
                file = self.directory / f"blkio.throttle.{what}_{unit}_device"
                file.write_text(f"{device} {value}\n", encoding="ascii")


@dataclass(frozen=True)
class Version2:
    """The controller `io` of the one tree, for the processes of a group."""

    directory: Path

    def apply(self, device: str, limits: Limits, group: Path) -> None:
        """Limits `device` ("major:minor") for `group`; a limit of 0 lifts it."""
        iops, bytes_per_s = limits.iops or "max", limits.bytes_per_s or "max"
        text = f"{device} riops={iops} wiops={iops} rbps={bytes_per_s} wbps={bytes_per_s}\n"
        with suppress(OSError):  # It may be enabled already, by somebody who keeps us from it.
            (self.directory / "cgroup.subtree_control").write_text("+io\n", encoding="ascii")
        (group / "io.max").write_text(text, encoding="ascii")


def interface(root: Path = ROOT) -> Version1 | Version2:
    """How this machine limits a device.

    Errors: CairnError where it cannot.
    """
    if (root / "blkio" / "blkio.throttle.write_iops_device").exists():
        return Version1(root / "blkio")
    controllers = root / "cgroup.controllers"
    if controllers.exists() and "io" in controllers.read_text(encoding="ascii").split():
        return Version2(root)
    raise CairnError("the kernel offers no control groups that limit block devices")


def lacking(root: Path = ROOT) -> str | None:
    """What this machine has not that limits need, in words."""
    try:
        interface(root)
    except CairnError:
        return "it needs control groups that limit block devices"
    return None

"""The machine that a bench runs on: what results say about it, and what it cannot do."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

from cairn import process
from cairn.bench import memory_group

MIB = 1 << 20


@dataclass(frozen=True)
class Needs:
    """What a workload asks of the machine, for all engines together."""

    disk_bytes: int = 0
    memory_bytes: int = 0
    root: bool = False
    memory_groups: bool = False  # Control groups that limit memory.


@dataclass(frozen=True)
class Machine:
    """Facts about the hardware and the system; sizes in bytes."""

    cpu: str
    cores: int
    memory_bytes: int
    memory_available_bytes: int
    kernel: str
    system: str
    disk: str
    disk_free_bytes: int
    load: float  # The system's load average over the last minute: what else is going on.
    is_root: bool
    has_memory_groups: bool

    def lack(self, needs: Needs) -> str | None:
        """What of `needs` the machine does not have, in words; None when it has everything."""
        lacking = []
        if needs.root and not self.is_root:
            lacking.append("it needs root")
        if needs.memory_groups and not self.has_memory_groups:
            lacking.append("it needs control groups for memory that this user may make")
        for what, wanted, available in (
            ("disk", needs.disk_bytes, self.disk_free_bytes),
            ("memory", needs.memory_bytes, self.memory_available_bytes),
        ):
            if wanted > available:
                lacking.append(f"it needs {_mib(wanted)} of {what}, {_mib(available)} are free")
        return "; ".join(lacking) or None


def look(directory: Path) -> Machine:
    """The machine as it is now; the disk is that of `directory`, which exists."""
    memory = _memory()
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory.get("MemTotal", 0),
        memory_available_bytes=memory.get("MemAvailable", 0),
        kernel=platform.release(),
        system=_system(),
        disk=_disk(directory),
        disk_free_bytes=shutil.disk_usage(directory).free,
        load=os.getloadavg()[0],
        is_root=os.geteuid() == 0,
        has_memory_groups=memory_group.can_be_made(),
    )


def _mib(count: int) -> str:
    return f"{count / MIB:,.0f} MiB"


def _memory(file: Path = Path("/proc/meminfo")) -> dict[str, int]:
    """The fields of the kernel's account of memory, in bytes."""
    lines = file.read_text(encoding="ascii").splitlines()
    pairs = (line.split() for line in lines)
    return {name.rstrip(":"): int(value) * 1024 for name, value, *_ in pairs}


def _cpu(file: Path = Path("/proc/cpuinfo")) -> str:
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _disk(directory: Path) -> str:
    """The volume and its file system, such as "/dev/vda (ext4)"."""
    fields = process.output(
        ["findmnt", "--noheadings", "--output=SOURCE,FSTYPE", "--target", directory]
    )
    source, _, kind = fields.strip().partition(" ")
    return f"{source} ({kind.strip()})" if source else "unknown"

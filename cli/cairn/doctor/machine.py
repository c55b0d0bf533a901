"""What the machine tells of a server's process and files: /proc, control groups, directories.

Paths are looked at through /proc/PID/root, so that a server in a container is seen as it sees
itself. What may not be read raises an OSError; the callers turn it into a missing source.
"""

from __future__ import annotations

import mmap
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from cairn.doctor.facts import Checkpoint, Library, Place, Process

PROC = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")
SERVERS = ("mariadbd", "mysqld")
LIBRARY = "ha_rocksdb.so"
ADAPTER = "adapter.so"
LOG_BYTES = 4 << 20
# What a clock and a copy that keeps no fractions of seconds may be off.
SLACK_S = 2.0
_ENGINE = re.compile(r"/ha_rocksdb[^/]*\.so$|/cairn/[^/]+/adapter\.so$")
_LOGGED = re.compile(r"\[(ERROR|Warning)\].*(rocksdb|myrocks|cairn)", re.IGNORECASE)


@dataclass(frozen=True)
class Machine:
    """One process; the directories are parameters for the tests."""

    pid: int
    proc: Path = PROC
    groups: Path = GROUPS

    @property
    def own(self) -> Path:
        return self.proc / str(self.pid)

    def outside(self, path: str | Path) -> Path:
        """Where we see what the server calls `path`, which is absolute."""
        return self.own / "root" / str(path).lstrip("/")

    def is_server(self) -> bool:
        return (self.own / "comm").read_text().strip() in SERVERS


def process(machine: Machine, plugin_dir: str) -> Process:
    """Limits, memory and the libraries of the process."""
    status = _fields(machine.own / "status")
    memory, of = memory_limit(machine)
    return Process(
        pid=machine.pid,
        open_files=sum(1 for _ in (machine.own / "fd").iterdir()),
        open_files_limit=_open_files_limit(machine.own / "limits"),
        resident=status.get("VmRSS", 0),
        swapped=status.get("VmSwap", 0),
        memory=memory,
        memory_of=of,
        libraries=tuple(libraries(machine, plugin_dir)),
    )


def _fields(path: Path) -> dict[str, int]:
    """The lines `Name: 123 kB` of a file, in bytes."""
    found = re.findall(r"^(\w+):\s+(\d+) kB$", path.read_text(), re.MULTILINE)
    return {name: int(value) << 10 for name, value in found}


def _open_files_limit(limits: Path) -> int | None:
    match = re.search(r"^Max open files\s+(\d+|unlimited)", limits.read_text(), re.MULTILINE)
    return int(match[1]) if match and match[1].isdigit() else None


def memory_limit(machine: Machine) -> tuple[int, str]:
    """The least of the machine's memory and of the limits of the process's control groups."""
    least, of = _fields(machine.proc / "meminfo")["MemTotal"], "the machine"
    for line in (machine.own / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, name = machine.groups, "memory.max"
        elif "memory" in controllers.split(","):
            base, name = machine.groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        for directory in (group, *group.parents):
            if not directory.is_relative_to(base):
                break
            try:
                text = (directory / name).read_text().strip()
            except OSError:  # The root group has no limit; a group may lie beyond our view.
                continue
            if text.isdigit() and int(text) < least:
                least, of = int(text), f"the control group /{directory.relative_to(base)}"
    return least, of


def libraries(machine: Machine, plugin_dir: str) -> list[Library]:
    """The engine's libraries that the process has mapped, compared with those on disk."""
    mapped: dict[tuple[str, bool], int] = {}
    for line in (machine.own / "maps").read_text().splitlines():
        fields = line.split(None, 5)
        if len(fields) < 6:
            continue
        path = fields[5].removesuffix(" (deleted)")
        if _ENGINE.search(path):
            mapped[path, path != fields[5]] = int(fields[4])
    return [
        _library(machine, path, deleted, inode, plugin_dir)
        for (path, deleted), inode in mapped.items()
    ]


def _library(machine: Machine, path: str, deleted: bool, inode: int, plugin_dir: str) -> Library:
    # The kernel shows where links lead; a start goes by the name in plugin_dir.
    named = path if Path(path).name == ADAPTER else f"{plugin_dir.rstrip('/')}/{LIBRARY}"
    try:
        on_disk = machine.outside(named).stat()
    except FileNotFoundError:
        return Library(named, True, False, False)
    replaced = deleted or on_disk.st_ino != inode
    rewritten = not replaced and on_disk.st_mtime > _began(machine) + SLACK_S
    stock = is_stock(machine.outside(named)) if replaced or rewritten else None
    return Library(named, deleted, replaced, rewritten, stock)


def is_stock(library: Path) -> bool | None:
    """Whether a file is the stock plug-in; None when it is neither that nor Cairn."""
    with library.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(b"cairn_format") >= 0:
                return False
            return True if content.find(b"Monty Program Ab") >= 0 else None


def _began(machine: Machine) -> float:
    """When the process began, in seconds since 1970."""
    match = re.search(r"^btime (\d+)$", (machine.proc / "stat").read_text(), re.MULTILINE)
    ticks = (machine.own / "stat").read_text().rpartition(")")[2].split()[19]
    return (int(match[1]) if match else 0) + int(ticks) / os.sysconf("SC_CLK_TCK")


# ---- directories and files ---------------------------------------------------------------------


def absolute(path: str, datadir: str) -> str:
    """A path of the server's, which it takes relative to its data directory."""
    return os.path.normpath(Path(datadir) / path)


def places(machine: Machine, datadir: str, data: str, log: str) -> list[Place]:
    """The directories of data and log; `log` is empty where it has none of its own."""
    found = [_place(machine, "data", absolute(data, datadir))]
    if log:
        found.append(_place(machine, "log", absolute(log, datadir)))
    return found


def _place(machine: Machine, what: str, path: str) -> Place:
    outside = machine.outside(path)
    room = os.statvfs(outside)
    kind = file_system((machine.own / "mountinfo").read_text(), path, outside.stat().st_dev)
    return Place(what, path, kind, room.f_blocks * room.f_frsize, room.f_bavail * room.f_frsize)


def file_system(mounts: str, path: str, device: int) -> str:
    """The type of the file system of `path`, by its device, else by the nearest mount above it."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    nearest, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        if fields[2] == wanted:
            return after.split()[0]
        point = fields[4]
        is_above = path == point or path.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(nearest):
            nearest, kind = point, after.split()[0]
    return kind


def checkpoints(machine: Machine, directory: str) -> list[Checkpoint]:
    """The copies of the database that lie in its own directory."""
    found = []
    for entry in machine.outside(directory).iterdir():
        if not entry.is_symlink() and (entry / "CURRENT").exists():
            age = time.time() - entry.stat().st_mtime
            found.append(Checkpoint(f"{directory}/{entry.name}", max(0.0, age)))
    return found


def corrupted_marker(machine: Machine, directory: str) -> str:
    """The file by which the engine remembers damage; empty when it is not there."""
    path = f"{directory}/ROCKSDB_CORRUPTED"
    return path if machine.outside(path).exists() else ""


def logged(machine: Machine, log: str) -> list[str]:
    """Errors and warnings of the engine since the last start, as far as the log's end has them."""
    with machine.outside(log).open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    begun = max((n for n, line in enumerate(lines) if "Starting MariaDB" in line), default=0)
    return [line.strip() for line in lines[begun:] if _LOGGED.search(line)]

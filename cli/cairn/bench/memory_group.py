"""A control group that limits the memory of a server, its share of the page cache included.

Both versions of the kernel's interface are known. Making a group needs root, or a part of the tree
that the user owns.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cairn.errors import CairnError
from cairn.paths import VAR

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryGroup:
    """A group; processes are put into it one by one, those that they start follow."""

    directory: Path

    def limit(self, limit_bytes: int) -> None:
        """Sets the limit; 0 lifts it. What is over it in the page cache is dropped.

        Errors: OSError where the rest is over it as well.
        """
        base, name = _interface()
        nothing = "-1" if base == _V1 else "max"
        (self.directory / name).write_text(f"{limit_bytes or nothing}\n", encoding="ascii")

    def add(self, pid: int) -> None:
        (self.directory / "cgroup.procs").write_text(f"{pid}\n", encoding="ascii")

    def peak_bytes(self) -> int | None:
        """The most that the group has used; None where the kernel does not say."""
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            with suppress(OSError, ValueError):
                return int((self.directory / name).read_text(encoding="ascii"))
        return None


def name_of(server: str) -> str:
    """The name of a server's group, which no other checkout uses; a killed run may have left it."""
    return f"cairn-bench-{server}-{zlib.crc32(os.fsencode(VAR)):08x}"


def can_be_made() -> bool:
    try:
        with limited(f"cairn-probe-{os.getpid()}", 64 << 20):
            return True
    except CairnError:
        return False


@contextmanager
def limited(name: str, limit_bytes: int) -> Iterator[MemoryGroup]:
    """A group with a limit, or with none yet if that is 0.

    Its processes must have ended when the block does. Errors: CairnError where this machine or user
    has no control groups for memory.
    """
    base, _ = _interface()
    directory = base / name
    group = MemoryGroup(directory)
    try:
        directory.mkdir(exist_ok=True)
        group.limit(limit_bytes)
    except OSError as error:
        with suppress(OSError):
            directory.rmdir()
        raise CairnError(f"Control groups for memory cannot be made here: {error}.") from error
    try:
        yield group
    finally:
        with suppress(OSError):
            directory.rmdir()


def _interface() -> tuple[Path, str]:
    """Where groups are made, and the name of the file with the limit."""
    if (_V1 / "memory.limit_in_bytes").exists():
        return _V1, "memory.limit_in_bytes"
    with suppress(OSError):
        if "memory" in (_V2 / "cgroup.subtree_control").read_text(encoding="ascii").split():
            return _V2, "memory.max"
    raise CairnError("Control groups for memory cannot be made here: the kernel offers none.")

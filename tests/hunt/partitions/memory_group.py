"""A control group with a limit of memory, beyond which the kernel kills what is in it."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path("/sys/fs/cgroup")
PREFIX = "cairn-hunt-"


class MemoryGroup:
    """A group below the one of this process, of either version; it goes when the object closes."""

    def __init__(self) -> None:
        """Without a limit at first. Raises OSError where no group can be made."""
        parent, is_second = _own_group()
        _remove_stale(parent)
        self.path = parent / f"{PREFIX}{os.getpid()}-{time.monotonic_ns()}"
        self._events = self.path / ("memory.events" if is_second else "memory.oom_control")
        self._limit = self.path / ("memory.max" if is_second else "memory.limit_in_bytes")
        self._usage = self.path / ("memory.current" if is_second else "memory.usage_in_bytes")
        self._none = "max" if is_second else "-1"
        self.path.mkdir()
        try:
            self.loosen()
            self.kills()
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def tighten(self, spare: int) -> None:
        """Lets the group take so many bytes more than it has now, and no more."""
        usage = int(self._usage.read_text(encoding="ascii"))
        self._limit.write_text(str(usage + spare), encoding="ascii")

    def loosen(self) -> None:
        """Takes the limit away."""
        self._limit.write_text(self._none, encoding="ascii")

    def wrapper(self) -> tuple[str, ...]:
        """What runs a program in the group."""
        return ("sh", "-c", f'echo $$ > "{self.path}/cgroup.procs" && exec "$@"', "sh")

    def kills(self) -> int:
        """How many processes of the group the kernel has killed."""
        for line in self._events.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
        raise OSError(f"{self._events} does not count kills")

    def close(self) -> None:
        """Removes the group, whose processes have ended."""
        for _ in range(50):
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02)
            else:
                return


def _own_group() -> tuple[Path, bool]:
    """The group of this process that limits memory, and whether it is of the second version."""
    lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    groups = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    if "memory" in groups:
        return ROOT / "memory" / groups["memory"].lstrip("/"), False
    if "" in groups:
        return ROOT / groups[""].lstrip("/"), True
    raise OSError("this process is in no control group")


def _remove_stale(parent: Path) -> None:
    """Groups of processes that have ended without removing theirs."""
    for path in parent.glob(f"{PREFIX}*"):
        owner = path.name.removeprefix(PREFIX).partition("-")[0]
        if not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                path.rmdir()

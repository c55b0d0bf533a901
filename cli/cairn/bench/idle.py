"""Waiting until servers have nothing left to do: flushes, compactions, purge.

Any server's background work is seen from outside, as the processor time and the bytes written of
its process; so all engines are held to one measure.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

INTERVAL_S = 0.25
LIMIT_S = 60.0
# Of each server: a twentieth of a core, and what a statistics thread may log.
QUIET_CPU_SHARE = 0.05
QUIET_BYTES_PER_S = 4 << 20

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Work:
    """What a process has done since its begin."""

    cpu_s: float
    written_bytes: int

    def is_quiet_since(self, before: Work, seconds: float) -> bool:
        """Whether less than the bounds was done in the seconds since `before`."""
        # The kernel counts whole ticks: one of them is no work.
        cpu_s = max(QUIET_CPU_SHARE * seconds, 1.5 / _TICKS_PER_S)
        return (
            self.cpu_s - before.cpu_s <= cpu_s
            and self.written_bytes - before.written_bytes <= QUIET_BYTES_PER_S * seconds
        )


def work_of(pid: int, proc: Path = Path("/proc")) -> Work:
    """Reads what a process has done; a process that is gone has done nothing."""
    try:
        fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        counts = dict(
            line.split(": ") for line in (proc / str(pid) / "io").read_text().splitlines()
        )
    except OSError:
        return Work(0.0, 0)
    cpu_s = (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    return Work(cpu_s, int(counts.get("write_bytes", 0)))


def wait(
    pids: Sequence[int],
    limit_s: float = LIMIT_S,
    *,
    look: Callable[[int], Work] = work_of,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Returns once all processes have been quiet for an interval; False: they were not in time."""
    begun = last = clock()
    before = [look(pid) for pid in pids]
    while last - begun < limit_s:
        sleep(INTERVAL_S)
        now, at = [look(pid) for pid in pids], clock()
        # On a busy machine the pause may have been much longer than asked for.
        pairs = zip(now, before, strict=True)
        if all(new.is_quiet_since(old, at - last) for new, old in pairs):
            return True
        before, last = now, at
    return False

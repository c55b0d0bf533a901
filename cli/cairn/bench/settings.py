"""What the user asks of a bench; None leaves a value to each workload."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Settings:
    """The options of ./cairn bench that workloads look at."""

    quick: bool = False
    names: tuple[str, ...] = ()  # What is to run; nothing of it is left out for being slow.
    threads: tuple[int, ...] | None = None
    seconds: float | None = None  # Of one measured run, where its length is chosen.
    rows: int | None = None
    tables: int | None = None
    memory_bytes: int | None = None  # The cache, or all that a server has where that is limited.
    # Of workloads on a slow disk; 0 is no limit.
    iops: int | None = None
    mb_per_s: int | None = None
    warehouses: int | None = None  # Of TPC-C.

    def asks_for(self, workload: str) -> bool:
        """Whether the user has named this very workload, alone or with a case."""
        return any(fnmatchcase(workload, name.partition("/")[0]) for name in self.names)

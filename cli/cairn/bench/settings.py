"""What the user asks of a bench; None leaves a value to each workload."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The options of ./cairn bench that workloads look at."""

    quick: bool = False
    named: bool = False  # The user names what is to run: nothing is left out for being slow.
    threads: tuple[int, ...] | None = None
    seconds: float | None = None  # Of one measured run, where its length is chosen.
    rows: int | None = None
    tables: int | None = None
    memory_bytes: int | None = None  # The cache of the engine under test.
    # Of workloads on a slow disk; 0 is no limit.
    iops: int | None = None
    mb_per_s: int | None = None
    warehouses: int | None = None  # Of TPC-C.

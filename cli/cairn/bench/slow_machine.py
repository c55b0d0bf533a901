"""A slow disk and little memory for one server, on a machine that has better ones.

The server's data is on a volume of its own and its process in a control group. The limits hold only
while something is measured: loading and checking under them would take hours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cairn.bench import memory_group, slow_volume, throttle
from cairn.bench.engines import Engine
from cairn.bench.machine import Machine, Needs
from cairn.bench.memory_group import MemoryGroup
from cairn.bench.slow_volume import Volume
from cairn.bench.throttle import Limits
from cairn.errors import CairnError

MIB = 1 << 20


@dataclass(frozen=True)
class Slowness:
    """How slow the disk is and how small the memory; 0 is no limit."""

    disk: Limits
    memory_bytes: int

    def __bool__(self) -> bool:
        return bool(self.disk or self.memory_bytes)

    def title(self) -> str:
        """The limits in words."""
        words = []
        if self.disk.iops:
            words.append(f"{self.disk.iops} IOPS")
        if self.disk.bytes_per_s:
            words.append(f"{self.disk.bytes_per_s / 1e6:.4g} MB/s")
        if self.memory_bytes:
            words.append(f"{self.memory_bytes // MIB} MiB of memory")
        return ", ".join(words) or "no limits"

    def refusal(self, machine: Machine) -> str | None:
        """What `machine` lacks for it, in words."""
        lacking = [machine.lack(Needs(root=bool(self.disk), memory_groups=bool(self)))]
        if self.disk and machine.is_root:
            lacking.append(slow_volume.lacking())
            lacking.append(throttle.lacking())
        return "; ".join(text for text in lacking if text) or None


@dataclass(frozen=True)
class SlowMachine:
    """Where one server lives."""

    slowness: Slowness
    data: Path
    volume: Volume | None
    group: MemoryGroup | None

    def add(self, pid: int) -> None:
        """Puts a server under the limits, once they hold."""
        if self.group is not None:
            self.group.add(pid)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """The limits hold inside the block. Errors: CairnError when the server is too large."""
        try:
            # The other way round, what is in the page cache would leave it at the slow disk's pace.
            self._limit_memory(self.slowness.memory_bytes)
            if self.slowness.memory_bytes:
                drop_cached(self.data)
            self._limit_disk(self.slowness.disk)
            yield
        finally:
            self._limit_disk(throttle.NONE)
            self._limit_memory(0)

    def _limit_memory(self, limit_bytes: int) -> None:
        if self.group is None or not self.slowness.memory_bytes:
            return
        try:
            self.group.limit(limit_bytes)
        except OSError as error:
            raise CairnError(
                f"The server cannot be held to {limit_bytes // MIB} MiB ({error.strerror}): "
                "give it more with --memory."
            ) from error

    def _limit_disk(self, limits: Limits) -> None:
        if self.volume is not None and self.group is not None:
            throttle.interface().apply(self.volume.device, limits, self.group.directory)


@contextmanager
def made(name: str, slowness: Slowness, directory: Path, size_bytes: int) -> Iterator[SlowMachine]:
    """A place for the server `name`; its data is in `directory` unless the disk is to be slow.

    Errors: CairnError where the machine cannot do it, which `Slowness.refusal` tells before.
    """
    with ExitStack() as stack:
        volume = group = None
        data = directory / "data"
        if slowness:
            group = stack.enter_context(memory_group.limited(memory_group.name_of(name), 0))
        if slowness.disk:
            volume = stack.enter_context(slow_volume.mounted(name, size_bytes))
            data = volume.mount_point / "data"
        yield SlowMachine(slowness, data, volume, group)


def drop_cached(data: Path) -> None:
    """Takes what is written of the files below `data` out of the page cache.

    Pages that a process outside of the group has brought there would be memory without a limit.
    """
    for path in data.rglob("*"):
        with suppress(OSError):
            if not path.is_file():
                continue
            file = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def cache_bytes(memory_bytes: int) -> int:
    """InnoDB's buffer pool in a server that has `memory_bytes` in all."""
    return memory_bytes * 5 // 8


def cache_options(engine: Engine, memory_bytes: int) -> tuple[str, ...]:
    """Options that bound all caches of a server that has `memory_bytes` in all; 0: none.

    Each engine has the better one of the splits that were tried with TPC-C: InnoDB, which goes past
    the page cache, a large buffer pool; RocksDB a block cache beside the page cache, which holds
    blocks compressed: Cairn a small one, the stock plug-in one of twice that.
    """
    if not memory_bytes:
        return ()
    if engine.library is None:
        return (f"--innodb-buffer-pool-size={cache_bytes(memory_bytes)}",)
    memtables = memory_bytes // 5
    block_cache = memory_bytes * (6 if engine.key == "stock" else 3) // 20
    return (
        f"--rocksdb-block-cache-size={block_cache}",
        f"--rocksdb-db-write-buffer-size={memtables}",
        f"--rocksdb-default-cf-options=write_buffer_size={memtables // 2}",
    )

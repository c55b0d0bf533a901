"""The file by which a test tells the plug-in of tests/faults which call is to fail."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

# As struct Plan of tests/faults/faults.cc.
_FIELDS = ("thread", "outcome", "only", "skip", "calls", "due", "pause", "paused")
_NAME_BYTES = 64
# Which calls count, as kAnyCall and so on there: the adapter's, those of them that may wait for a
# lock, RocksDB's reads of files.
CALLS, LOCKS, FILE_READS = range(3)
_BYTES = 4 * len(_FIELDS) + _NAME_BYTES


class FaultPlan:
    """Which call is due, and what has come of it. One thread arms it at a time."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(_BYTES))
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), _BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._map.close()
        self._file.close()

    def arm(
        self, thread: int, outcome: int, skip: int, *, only: int = CALLS, pause: bool = False
    ) -> None:
        """The call after `skip` others, by the thread with this number of the kernel's, is due.

        `only`: which calls count. `pause`: the call waits until `go_on`.
        """
        self._set("thread", 0)
        for field, value in (
            ("outcome", outcome),
            ("only", only),
            ("skip", skip),
            ("calls", 0),
            ("due", 0),
            ("paused", 0),
            ("pause", int(pause)),
        ):
            self._set(field, value)
        self._map[4 * len(_FIELDS) :] = bytes(_NAME_BYTES)
        self._set("thread", thread)

    def disarm(self) -> str | None:
        """The call that was due and has happened; None: there were fewer calls."""
        self._set("thread", 0)
        return self.call if self._get("due") else None

    def go_on(self) -> None:
        self._set("pause", 0)

    @property
    def paused(self) -> bool:
        return bool(self._get("paused"))

    @property
    def call(self) -> str:
        return self._map[4 * len(_FIELDS) :].split(b"\0", 1)[0].decode("ascii")

    def _set(self, field: str, value: int) -> None:
        struct.pack_into("=i", self._map, 4 * _FIELDS.index(field), value)

    def _get(self, field: str) -> int:
        return int(struct.unpack_from("=i", self._map, 4 * _FIELDS.index(field))[0])

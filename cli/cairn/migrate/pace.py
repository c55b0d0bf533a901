"""How fast a copy goes: rows for each second, and the size of the pieces."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PIECE_S = 0.3  # What a piece is to take: rows stay locked for so long.
SMALLEST, LARGEST = 50, 20_000


class Pace:
    """A limit that several copies share; each tells what it has copied. For any thread."""

    def __init__(
        self,
        rows_per_second: int | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.rows_per_second = rows_per_second
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._free_at = 0.0  # Guarded by _lock: when the next piece may begin.

    def copied(self, rows: int) -> None:
        """Waits for as long as these rows may take at the limit."""
        if self.rows_per_second is None:
            return
        with self._lock:
            now = self._clock()
            self._free_at = max(self._free_at, now) + rows / self.rows_per_second
            wait = self._free_at - now
        self._sleep(wait)

    def largest_piece(self) -> int:
        """A piece is no more than what half a second has at the limit."""
        if self.rows_per_second is None:
            return LARGEST
        return max(1, min(LARGEST, self.rows_per_second // 2))


def next_piece(rows: int, seconds: float, largest: int = LARGEST) -> int:
    """The rows of the next piece, after `rows` in `seconds`; at most twice as many."""
    wanted = int(rows * min(2.0, max(0.25, PIECE_S / max(seconds, 1e-6))))
    return min(largest, max(min(SMALLEST, largest), wanted))

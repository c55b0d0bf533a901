"""How far a migration is: workers tell, the command shows."""

from __future__ import annotations

import threading
import time

from cairn.migrate.schema import text_of
from cairn.migrate.state import Entry


class Progress:
    """What workers do now, and the lines that stay. For any thread."""

    def __init__(self, entries: list[Entry]) -> None:
        self._lock = threading.Lock()
        self._entries = entries
        self._now: dict[int, str] = {}  # Guarded by _lock, as are all below.
        self._notes: list[str] = []
        self._copied = sum(entry.rows_copied for entry in entries)
        self._begun = time.monotonic()
        self._at_begin = self._copied

    def does(self, entry: Entry, text: str) -> None:
        """A set does something now; empty: it has ended."""
        with self._lock:
            if text:
                self._now[entry.set_number] = f"{text_of(entry.table)} {text}"
            else:
                self._now.pop(entry.set_number, None)

    def note(self, text: str) -> None:
        with self._lock:
            self._notes.append(text)

    def copied(self, rows: int) -> None:
        with self._lock:
            self._copied += rows

    def take_notes(self) -> list[str]:
        with self._lock:
            notes, self._notes = self._notes, []
        return notes

    def text(self) -> str:
        """One line: rows, speed, the rest of the time, and what is done now."""
        with self._lock:
            expected = max(1, sum(entry.rows_expected for entry in self._entries))
            seconds = max(0.001, time.monotonic() - self._begun)
            speed = (self._copied - self._at_begin) / seconds
            share = min(1.0, self._copied / expected)
            left = max(0, expected - self._copied) / speed if speed > 0 else None
            now = "; ".join(self._now.values())
        parts = [f"{self._copied:,} of about {expected:,} rows ({share:.0%})"]
        if speed > 0:
            parts.append(f"{speed:,.0f} rows/s")
        if left is not None:
            parts.append(f"about {left:,.0f} s left")
        return ", ".join(parts) + (f": {now}" if now else "")

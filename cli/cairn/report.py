"""Progress on a terminal, plain lines elsewhere.

Every command that takes time is a list of phases; each says what it does, how far it is and, at its
end, how long it took.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def say(text: str) -> None:
    """One line for people, on standard output."""
    print(text, flush=True)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


class Phase:
    """One step of a command while it runs."""

    # Plain output shows progress at most this often: a log must stay readable.
    PLAIN_INTERVAL_S = 15.0

    def __init__(self, name: str, status: Any | None) -> None:
        self.name = name
        self.summary = ""
        self._status = status
        self._begun = time.monotonic()
        self._shown = self._begun

    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def progress(self, text: str) -> None:
        """Replaces what the phase says about how far it is; may be called often."""
        if self._status is not None:
            self._status.update(f"{self.name}: {text}")
        elif time.monotonic() - self._shown >= self.PLAIN_INTERVAL_S:
            self._shown = time.monotonic()
            say(f"    {self.name}: {text}")

    def note(self, text: str) -> None:
        """A line that stays."""
        self._shown = time.monotonic()
        if self._status is not None:
            self._status.console.print(f"    {text}", markup=False, highlight=False)
        else:
            say(f"    {text}")


class Reporter:
    """Runs phases and prints their outcome."""

    def __init__(self) -> None:
        self._console = _console() if sys.stdout.isatty() else None

    @contextmanager
    def phase(self, name: str) -> Iterator[Phase]:
        """A phase; its `summary` is shown with the time once the block ends."""
        if self._console is not None:
            with self._console.status(name) as status:
                phase = Phase(name, status)
                yield phase
            self._console.print(f"[green]✓[/green] {self._line(phase)}", highlight=False)
        else:
            phase = Phase(name, None)
            yield phase
            say(f"  {self._line(phase)}")

    @staticmethod
    def _line(phase: Phase) -> str:
        return f"{phase.name:<19} {phase.summary or 'done':<56} {duration(phase.seconds()):>12}"


def _console() -> Any | None:
    """What writes to a terminal; none where there is no rich, as beside cairn-adapters."""
    try:
        from rich.console import Console  # Costs time to import, so only for terminals.
    except ImportError:
        return None
    return Console()


def ninja_progress(phase: Phase) -> Callable[[str], None]:
    """A line handler that turns ninja's `[3/27] Building …` into the phase's progress."""
    step = re.compile(r"^\[(\d+)/(\d+)\] (.*)")

    def on_line(line: str) -> None:
        if found := step.match(line):
            done, total, what = found.groups()
            phase.progress(f"step {done} of {total} ({what.split('/')[-1][:40]})")

    return on_line

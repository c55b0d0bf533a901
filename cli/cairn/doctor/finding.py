"""What a check may find: its kind, the figures, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from cairn.doctor.facts import Facts, Source


class Severity(IntEnum):
    """The worst first. A note never changes the exit status."""

    ERROR = 0
    WARNING = 1
    NOTE = 2

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with one server."""

    kind: Kind
    found: str  # One sentence with the figures.
    remedy: str  # One sentence that says what to do.
    lines: tuple[str, ...] = ()  # Statements, options or commands, exactly as they are to be used.


@dataclass(frozen=True)
class Kind:
    """One kind of finding. `code` is stable: scripts and alerts go by it."""

    code: str
    severity: Severity
    when: str  # For the documentation: when it is found, with the threshold.
    means: str  # What it leads to.
    needs: tuple[Source, ...] = ()  # Without these it cannot be checked.

    def found(self, found: str, remedy: str, *lines: str) -> Finding:
        return Finding(self, found, remedy, lines)


# A check looks at the facts and yields what it finds. It runs only when its kind's sources are
# there, and yields findings of that kind alone.
Check = Callable[[Facts], Iterable[Finding]]


class Subject:
    """The findings of one subject, in the order in which they are documented."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.checks: list[tuple[Kind, Check]] = []

    def check(
        self, code: str, severity: Severity, when: str, means: str, *needs: Source
    ) -> Callable[[Callable[[Kind, Facts], Iterable[Finding]]], Check]:
        """Registers the function below it as the check of a new kind."""
        kind = Kind(code, severity, when, means, needs)

        def register(function: Callable[[Kind, Facts], Iterable[Finding]]) -> Check:
            def run(facts: Facts) -> Iterable[Finding]:
                return function(kind, facts)

            self.checks.append((kind, run))
            return run

        return register

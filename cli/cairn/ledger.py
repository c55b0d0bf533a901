"""The ledger of packaged tests: for each what is expected, and why where that is not `pass`.

States: `pass`; `differs`, the test cannot pass as written because Cairn behaves otherwise on
purpose (the reason says how, the last column names our own test of it); `pending`, not done yet;
`cannot run`, the test is disabled or needs another kind of server, as the reason says.

A line is about all variants of a test but those that have a line of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cairn import files
from cairn.errors import CairnError
from cairn.mtr import Outcome
from cairn.paths import LEDGER

HEADER = ("test", "expected", "reason", "covered_by")
# Those that need no line of their own.
OTHER_VARIANTS = ("write_prepared",)
STATES = ("pass", "differs", "pending", "cannot run")


# What a line says that needs no change after an outcome.
_AGREES = {"pass": ("pass",), "fail": ("differs", "pending", "cannot run"), "skip": ("cannot run",)}


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    test: str
    expected: str
    reason: str = ""
    covered_by: str = ""


@dataclass(frozen=True)
class Comparison:
    """How a run relates to the ledger."""

    # Worse than the ledger says, or failed or skipped without the ledger knowing the test.
    regressions: tuple[Outcome, ...]
    # Better than the ledger says.
    surprises: tuple[Outcome, ...]
    # Failed, as the ledger says.
    known: tuple[Outcome, ...]


def load(path: Path) -> dict[str, Entry]:
    """The ledger by test; an error names the line that is wrong."""
    if not path.exists():
        return {}
    entries: dict[str, Entry] = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fields = text.split("\t")
        if not text.strip() or text.startswith("#") or tuple(fields) == HEADER:
            continue
        if len(fields) > len(HEADER) or len(fields) < 2 or fields[1] not in STATES:
            raise CairnError(
                f"{path.name}, line {number}: expected a test and one of {', '.join(STATES)}, "
                "separated by tabs."
            )
        if fields[1] != "pass" and not "".join(fields[2:3]).strip():
            raise CairnError(f"{path.name}, line {number}: '{fields[1]}' needs a reason.")
        if fields[0] in entries:
            raise CairnError(f"{path.name}, line {number}: {fields[0]} is there twice.")
        entries[fields[0]] = Entry(*fields)
    return entries


def load_with(base: dict[str, Entry], path: Path) -> dict[str, Entry]:
    """The ledger `base` with the lines of another file in place of its own.

    That file has only what is otherwise there; an error names a line that says what `base` says.
    """
    lines = load(path)
    for test, entry in lines.items():
        known = find(base, test)
        if known and (entry.expected, entry.reason) == (known.expected, known.reason):
            raise CairnError(f"{path.name}: {test} is there without need: {LEDGER.name} has it.")
    return base | lines


def differing(base: dict[str, Entry], ledger: dict[str, Entry]) -> dict[str, Entry]:
    """The lines of a ledger that are not those of `base`."""
    return {test: entry for test, entry in ledger.items() if base.get(test) != entry}


def find(ledger: dict[str, Entry], key: str) -> Entry | None:
    """The line about a test in some variant."""
    parts = [part for part in key.split(",") if part not in OTHER_VARIANTS]
    return ledger.get(key) or ledger.get(",".join(parts))


def compare(outcomes: Iterable[Outcome], ledger: dict[str, Entry]) -> Comparison:
    """Sorts the outcomes by what the ledger expects of them."""
    regressions: list[Outcome] = []
    surprises: list[Outcome] = []
    known: list[Outcome] = []
    for outcome in outcomes:
        entry = find(ledger, outcome.key)
        expected = entry.expected if entry else None
        if outcome.state == "fail":
            (known if expected in _AGREES["fail"] else regressions).append(outcome)
        elif outcome.state == "skip" and expected not in _AGREES["skip"]:
            regressions.append(outcome)
        elif outcome.state == "pass" and expected in ("differs", "pending", "cannot run"):
            surprises.append(outcome)
    return Comparison(tuple(regressions), tuple(surprises), tuple(known))


def update(ledger: dict[str, Entry], outcomes: Iterable[Outcome]) -> dict[str, Entry]:
    """The ledger after a run; what people wrote about a test stays as long as it is true."""
    result = dict(ledger)
    for outcome in outcomes:
        known = find(result, outcome.key)
        if outcome.key not in result and known and known.expected in _AGREES[outcome.state]:
            continue
        entry = result.get(outcome.key, Entry(outcome.key, "pending"))
        if outcome.state == "pass":
            result[outcome.key] = replace(entry, expected="pass", reason="")
        elif outcome.state == "fail" and (entry.expected == "pass" or not entry.reason):
            reason = " ".join(outcome.reason.split()) or "failed without a message"
            result[outcome.key] = replace(entry, expected="pending", reason=reason)
        elif outcome.state == "skip" and not known:
            reason = " ".join(outcome.reason.split()) or "without a message"
            result[outcome.key] = Entry(outcome.key, "cannot run", f"Skipped: {reason}")
    return result


def save(path: Path, ledger: dict[str, Entry]) -> None:
    """Writes the ledger, sorted, so that changes show as single lines."""
    lines = ["\t".join(HEADER)]
    for _, entry in sorted(ledger.items()):
        fields = (entry.test, entry.expected, entry.reason, entry.covered_by)
        lines.append("\t".join(fields).rstrip("\t"))
    files.write_atomic(path, "\n".join(lines) + "\n")

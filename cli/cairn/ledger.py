"""The ledger of packaged tests: for each what is expected, and why where that is not `pass`.

States: `pass`; `differs`, the test cannot pass as written because Cairn behaves otherwise on
purpose (the reason says how, the last column names our own test of it); `pending`, not done yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cairn import files
from cairn.errors import CairnError
from cairn.mtr import Outcome

HEADER = ("test", "expected", "reason", "covered_by")
STATES = ("pass", "differs", "pending")


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

    # Worse than the ledger says, or failed without the ledger knowing the test.
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


def compare(outcomes: Iterable[Outcome], ledger: dict[str, Entry]) -> Comparison:
    """Sorts the outcomes by what the ledger expects of them."""
    regressions: list[Outcome] = []
    surprises: list[Outcome] = []
    known: list[Outcome] = []
    for outcome in outcomes:
        entry = ledger.get(outcome.key)
        expected = entry.expected if entry else None
        if outcome.state == "fail":
            (known if expected in ("differs", "pending") else regressions).append(outcome)
        elif outcome.state == "skip" and expected == "pass":
            regressions.append(outcome)
        elif outcome.state == "pass" and expected in ("differs", "pending"):
            surprises.append(outcome)
    return Comparison(tuple(regressions), tuple(surprises), tuple(known))


def update(ledger: dict[str, Entry], outcomes: Iterable[Outcome]) -> dict[str, Entry]:
    """The ledger after a run; what people wrote about a test stays as long as it is true."""
    result = dict(ledger)
    for outcome in outcomes:
        entry = result.get(outcome.key, Entry(outcome.key, "pending"))
        if outcome.state == "pass":
            result[outcome.key] = replace(entry, expected="pass", reason="")
        elif outcome.state == "fail" and (entry.expected == "pass" or not entry.reason):
            reason = " ".join(outcome.reason.split()) or "failed without a message"
            result[outcome.key] = replace(entry, expected="pending", reason=reason)
    return result


def save(path: Path, ledger: dict[str, Entry]) -> None:
    """Writes the ledger, sorted, so that changes show as single lines."""
    lines = ["\t".join(HEADER)]
    for _, entry in sorted(ledger.items()):
        fields = (entry.test, entry.expected, entry.reason, entry.covered_by)
        lines.append("\t".join(fields).rstrip("\t"))
    files.write_atomic(path, "\n".join(lines) + "\n")

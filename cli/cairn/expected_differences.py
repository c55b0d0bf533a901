"""Differences of tests' results from those of the packages, and the ledger that explains them.

A difference is known by a digest of its lines. The ledger has a reason for each that is meant; one
that it does not know is a failure.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cairn import files
from cairn.errors import CairnError
from cairn.mtr import Outcome
from cairn.paths import shown
from cairn.report import say

HEADER = ("test", "differences", "reason", "covered_by")
PASS, CANNOT_RUN = "pass", "cannot run"
# The reason that --update-ledger writes; the run fails until a better one is there.
UNEXPLAINED = "To be explained."
_MISMATCH = re.compile(r"Result (?:content|length) mismatch")

# ---- differences -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Neighbouring lines of a result that are not as expected, and the line before them."""

    before: str
    lines: tuple[str, ...]

    @property
    def digest(self) -> str:
        """What the ledger knows it by: the same for each line of the test it may move to."""
        text = "\n".join((self.before, *self.lines))
        return hashlib.sha256(re.sub(r"At line \d+", "At line", text).encode()).hexdigest()[:8]

    def __str__(self) -> str:
        return "\n".join((f"{self.digest}:", f"   {self.before}", *(f"  {x}" for x in self.lines)))


def differences(report: Iterable[str]) -> list[Difference]:
    """The differences in what the framework printed of a test, a unified one among other lines."""
    found: list[Difference] = []
    before, changed = "", []
    left = right = 0  # Lines of both sides that the current piece has yet to come.
    for line in report:
        if left <= 0 and right <= 0:
            if piece := re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line):
                left, right = (int(piece[side] or 1) for side in (1, 2))
                before = ""
            continue
        if line.startswith("\\"):
            continue
        left -= not line.startswith("+")
        right -= not line.startswith("-")
        if line.startswith(("+", "-")):
            changed.append(line)
        if changed and (not line.startswith(("+", "-")) or (left <= 0 and right <= 0)):
            found.append(Difference(before, tuple(changed)))
            changed = []
        if not line.startswith(("+", "-")):
            before = line.strip()
    return found


# ---- the ledger --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One line of the ledger: a test, in one variant or all, and differences of one reason."""

    test: str
    differences: str  # PASS, CANNOT_RUN or digests.
    reason: str = ""
    covered_by: str = ""

    @property
    def digests(self) -> tuple[str, ...]:
        return () if self.differences in (PASS, CANNOT_RUN) else tuple(self.differences.split())


def load_ledger(path: Path) -> list[Line]:
    """The ledger; an error names the line that is wrong."""
    lines: list[Line] = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fields = tuple(field.strip() for field in text.split("\t"))
        if not text.strip() or fields[0] == HEADER[0]:
            continue
        if not 2 <= len(fields) <= len(HEADER) or not all(fields[:2]):
            raise CairnError(
                f"{path.name}, line {number}: expected a test, 'pass', 'cannot run' or digests, "
                "and then a reason and perhaps our own test, separated by tabs."
            )
        line = Line(*fields)
        if not all(re.fullmatch("[0-9a-f]{8}", digest) for digest in line.digests):
            raise CairnError(f"{path.name}, line {number}: a digest has 8 hexadecimal digits.")
        if line.differences != PASS and not line.reason:
            raise CairnError(f"{path.name}, line {number}: '{line.differences}' needs a reason.")
        lines.append(line)
    return lines


def save_ledger(path: Path, lines: Iterable[Line]) -> None:
    """Writes the ledger; the lines of a test stay in their order."""
    rows = ["\t".join(HEADER)]
    for line in sorted(lines, key=lambda each: each.test):
        fields = (line.test, line.differences, line.reason, line.covered_by)
        rows.append("\t".join(fields).rstrip("\t"))
    files.write_atomic(path, "\n".join(rows) + "\n")


@dataclass(frozen=True)
class Verdict:
    """How the outcome of a test relates to the ledger."""

    test: str
    known: int = 0
    # Differences that the ledger does not know, or cannot explain.
    unknown: tuple[Difference, ...] = ()
    # Digests of the ledger that did not occur.
    gone: tuple[str, ...] = ()
    # Why there is no result to compare.
    failure: str = ""

    @property
    def holds(self) -> bool:
        return not self.unknown and not self.failure


def judge(outcome: Outcome, ledger: Iterable[Line]) -> Verdict:
    """Compares a test's differences with those that the ledger explains."""
    expected: Counter[str] = Counter()
    for line in ledger:
        if line.test in (outcome.key, outcome.test) and line.reason != UNEXPLAINED:
            expected.update(line.digests)
    if outcome.state == "skip" or (
        outcome.state == "fail" and not _MISMATCH.search(outcome.reason)
    ):
        return Verdict(outcome.key, failure=outcome.reason or "it failed without a message")
    found = differences(outcome.report)
    if outcome.state == "fail" and not found:
        return Verdict(outcome.key, failure="the framework showed no difference")
    unknown = []
    for each in found:
        if expected[each.digest] > 0:
            expected[each.digest] -= 1
        else:
            unknown.append(each)
    gone = tuple(sorted(expected.elements()))
    return Verdict(outcome.key, len(found) - len(unknown), tuple(unknown), gone)


def update(ledger: list[Line], verdicts: Iterable[Verdict]) -> list[Line]:
    """The ledger after a run: what is new is there to be explained, what is gone is not."""
    lines = [line for line in ledger if line.reason != UNEXPLAINED]
    for verdict in verdicts:
        gone = Counter(verdict.gone)
        changed = []
        for line in lines:
            if line.test == verdict.test and line.digests:
                kept = [digest for digest in line.digests if not gone[digest] > 0]
                gone.subtract(digest for digest in line.digests if gone[digest] > 0)
                if not kept:
                    continue
                line = replace(line, differences=" ".join(kept))
            changed.append(line)
        lines = changed
        if verdict.unknown:
            digests = " ".join(each.digest for each in verdict.unknown)
            lines.append(Line(verdict.test, digests, UNEXPLAINED))
        lines = _settle(lines, verdict)
    return lines


def _settle(lines: list[Line], verdict: Verdict) -> list[Line]:
    """A test without differences has one line that says so, and no other test has it."""
    own = [line for line in lines if line.test in (verdict.test, verdict.test.partition(",")[0])]
    if verdict.failure or (own and all(line.differences == PASS for line in own)):
        return lines
    if any(line.digests for line in own):
        return [each for each in lines if each.test != verdict.test or each.differences != PASS]
    return [*lines, Line(verdict.test, PASS)] if not own else lines


# ---- what people read --------------------------------------------------------------------------


def explain(verdicts: Iterable[Verdict], directory: Path) -> None:
    """Says of each test what the ledger does not; write() has filled `directory`."""
    for verdict in verdicts:
        if verdict.failure:
            say(f"  no result: {verdict.test}  {verdict.failure[:100]}")
        if verdict.unknown:
            digests = " ".join(each.digest for each in verdict.unknown[:8])
            say(f"  {len(verdict.unknown)} new in {verdict.test}: {digests}")
        if verdict.gone:
            say(f"  in the ledger without need: {verdict.test}  {' '.join(verdict.gone)}")
    say(f"  all differences, with their digests: {shown(directory)}")


def write(directory: Path, verdicts: Iterable[Verdict], outcomes: Iterable[Outcome]) -> None:
    """The differences of each test with their digests, for people to read; empties `directory`."""
    files.fresh_directory(directory)
    new = {verdict.test: {each.digest for each in verdict.unknown} for verdict in verdicts}
    for outcome in outcomes:
        if outcome.state == "pass":
            continue
        parts = [outcome.reason]
        for each in differences(outcome.report):
            parts.append(("NEW " if each.digest in new.get(outcome.key, ()) else "") + str(each))
        (directory / f"{outcome.key}.txt").write_text("\n".join(parts) + "\n", encoding="utf-8")

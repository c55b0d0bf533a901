"""./cairn conformance --foreign-keys: the server's tests of InnoDB's foreign keys, with ROCKSDB.

They are read from the packages when they run, and changed by the rules below; their results, too.
What ROCKSDB then gives otherwise is a set of differences. The ledger knows each of them by a
digest, with its reason: one that it does not know is a failure.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cairn import engine_suites, files, mtr, packages, plugin, prefix
from cairn.errors import CairnError
from cairn.mtr import Outcome
from cairn.paths import FOREIGN_KEYS_LEDGER, VAR, shown
from cairn.report import Reporter, say

ENGINE = "ROCKSDB"
# Waits for rows are to end by what a test does, unless it sets a time itself.
LOAD = ("--mysqld=--plugin-load-add=ha_rocksdb.so", "--mysqld=--loose-rocksdb-lock-wait-timeout=10")
HEADER = ("test", "differences", "reason", "covered_by")
PASS, CANNOT_RUN = "pass", "cannot run"
DIRECTORY = VAR / "conformance" / "foreign-keys"
# The reason that --update-ledger writes; the run fails until a better one is there.
UNEXPLAINED = "To be explained."
# Tests in one run of the framework, each of which first makes a data directory.
BATCH = 50
_MISMATCH = re.compile(r"Result (?:content|length) mismatch")

# ---- the rules ---------------------------------------------------------------------------------

_RULES = (
    # Our time-out is a whole second or more.
    (re.compile(r"(innodb[-_]lock[-_]wait[-_]timeout\s*=\s*)0\b", re.I), r"\g<1>1"),
    (re.compile(r"innodb([-_])lock([-_])wait([-_])timeout", re.I), r"rocksdb\1lock\2wait\3timeout"),
    (re.compile(r"\bfrom InnoDB\b"), f"from {ENGINE}"),
    # What SHOW PROCESSLIST says of a session that waits for a row.
    (re.compile(r"(state\s*=\s*)'(?:update|updating)'", re.I), r"\1'Waiting for row lock'"),
)
_NEEDS_DEBUG = re.compile(
    r"^-*\s*source\s+include/have_debug(?:_sync)?\.inc[ \t]*;?[ \t]*\n",
    re.IGNORECASE | re.MULTILINE,
)
# A fault of InnoDB that a debug server is told to make, up to where that ends.
_FAULT = re.compile(
    r"^set\s+debug_dbug\s*=\s*'\+d.*?^set\s+debug_dbug\s*=\s*@.*?\n",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
# The parts of a test begin with a comment after an empty line.
_PART = re.compile(r"(?<=\n\n)(?=(?:--\s*echo )?#)")
_DEBUG = re.compile(r"debug_sync|debug_dbug", re.IGNORECASE)


def substitute(text: str) -> str:
    """The text of a test, its options or its result, with our engine in place of InnoDB."""
    text = engine_suites.translate(text, ENGINE)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def leave_out_debugging(test: str) -> str:
    """What of a test for a debug server can run without one; other tests stay as they are."""
    if not _NEEDS_DEBUG.search(test):
        return test
    rest = _FAULT.sub("", _NEEDS_DEBUG.sub("", test))
    return "".join(part for part in _PART.split(rest) if not _DEBUG.search(part))


def lay_out(suites: Path, packaged: Path, names: Iterable[str]) -> None:
    """Puts changed copies of the named suites into `suites`, a directory of links."""
    for name in sorted(set(names)):
        # The suite of the server itself lies beside the others.
        link, source = (
            (suites.parent / name, packaged / name)
            if name == "main"
            else (suites / name, packaged / "suite" / name)
        )
        if not link.is_symlink():
            raise CairnError(f"There is no packaged suite '{name}'.")
        link.unlink()
        shutil.copytree(source, link, copy_function=_copy)


def _copy(source: str, copy: str) -> None:
    """A changed copy of a file of the packages, or a link to it where nothing changes."""
    path = Path(source)
    # Tests wait for InnoDB's own threads with what lies in the suite innodb's include.
    if path.suffix in engine_suites.TEXT_FILES and path.parent.parts[-2:] != ("innodb", "include"):
        # Tests are in several encodings; this one keeps every byte.
        text = path.read_text(encoding="latin-1")
        changed = substitute(leave_out_debugging(text) if path.suffix == ".test" else text)
        if changed != text:
            with Path(copy).open("w", encoding="latin-1", newline="") as out:
                out.write(changed)
            return
    Path(copy).symlink_to(path)


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


# ---- running -----------------------------------------------------------------------------------


def run(wanted: tuple[str, ...], parallel: int, *, update_ledger: bool = False) -> int:
    """Runs the ledger's tests, or those that are named; returns the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.SERVER, packages.SQL_TESTS), phase)
    ledger = load_ledger(FOREIGN_KEYS_LEDGER)
    verdicts = check(reporter, wanted or runnable(ledger), ledger, parallel)
    if update_ledger:
        save_ledger(FOREIGN_KEYS_LEDGER, update(ledger, verdicts))
        say(f"  {shown(FOREIGN_KEYS_LEDGER)} has the differences; explain the new ones.")
    explain(verdicts)
    known = sum(verdict.known for verdict in verdicts)
    failed = sum(not verdict.holds for verdict in verdicts)
    say(f"  {known} differences as the ledger says")
    say(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


def runnable(ledger: Iterable[Line]) -> tuple[str, ...]:
    """The tests of the ledger, without their variants, but for those that cannot run."""
    names = {line.test.partition(",")[0] for line in ledger if line.differences != CANNOT_RUN}
    return tuple(sorted(names))


def check(
    reporter: Reporter, tests: tuple[str, ...], ledger: list[Line], parallel: int = 2
) -> list[Verdict]:
    """Runs tests and judges how each of their variants ended."""
    server = prefix.require()
    library = plugin.library()
    if not library.exists():
        raise CairnError("The plug-in is not built yet: run ./cairn build.")
    packaged = mtr.packaged_tests(server)
    outcomes: list[Outcome] = []
    with reporter.phase("Foreign keys") as phase:
        for start in range(0, len(tests), BATCH):
            batch = tests[start : start + BATCH]
            suites = {test.partition(".")[0] for test in batch}
            outcomes += mtr.run(
                server,
                library,
                "foreign-keys",
                # The second --force makes a test go on after an error: the rest of it counts too.
                ["--force", *LOAD, *batch],
                parallel=parallel,
                on_outcome=lambda each: phase.progress(f"{each.key}: {each.state}"),
                own_suites=partial(lay_out, packaged=packaged, names=suites),
            )
        verdicts = [judge(outcome, ledger) for outcome in outcomes]
        ran = {outcome.test for outcome in outcomes}
        verdicts += [Verdict(test, failure="did not run") for test in tests if test not in ran]
        failed = sum(not verdict.holds for verdict in verdicts)
        phase.summary = f"{len(verdicts) - failed} passed, {failed} failed"
    write(DIRECTORY, verdicts, outcomes)
    return verdicts


def explain(verdicts: Iterable[Verdict], directory: Path = DIRECTORY) -> None:
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

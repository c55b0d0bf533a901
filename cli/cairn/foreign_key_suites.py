"""./cairn conformance --foreign-keys: the server's tests of InnoDB's foreign keys, with ROCKSDB.

They are read from the packages when they run, and changed by the rules below; their results, too.
What ROCKSDB then gives otherwise must be in the ledger (expected_differences.py).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from cairn import engine_suites, mtr, packages, plugin, prefix
from cairn.errors import CairnError
from cairn.expected_differences import (
    CANNOT_RUN,
    Line,
    Verdict,
    explain,
    judge,
    load_ledger,
    save_ledger,
    update,
    write,
)
from cairn.mtr import Outcome
from cairn.paths import FOREIGN_KEYS_LEDGER, VAR, shown
from cairn.report import Reporter, say

ENGINE = "ROCKSDB"
# Waits for rows are to end by what a test does, unless it sets a time itself.
LOAD = ("--mysqld=--plugin-load-add=ha_rocksdb.so", "--mysqld=--loose-rocksdb-lock-wait-timeout=10")
DIRECTORY = VAR / "conformance" / "foreign-keys"
# Tests in one run of the framework, each of which first makes a data directory.
BATCH = 50

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
    explain(verdicts, DIRECTORY)
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

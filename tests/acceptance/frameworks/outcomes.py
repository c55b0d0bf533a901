"""How each test ended on both engines, what is worse on ours, and which of it is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cairn.errors import CairnError

ENGINES = ("InnoDB", "ROCKSDB")
LEDGER = Path(__file__).with_name("ledger.tsv")
HEADER = ("suite", "test", "reason")
PASS = "pass"
MISSING = "did not run"


@dataclass(frozen=True)
class Outcome:
    """How a test ended: `pass`, `fail`, `skip` or another word of its suite."""

    state: str
    said: str = ""


Outcomes = dict[str, Outcome]
_NONE = Outcome(MISSING)


@dataclass(frozen=True)
class Pair:
    """One test on both engines."""

    test: str
    innodb: Outcome
    rocksdb: Outcome

    @property
    def is_worse(self) -> bool:
        """Whether it passes on InnoDB and not on ROCKSDB; to be skipped is not to pass."""
        return self.innodb.state == PASS and self.rocksdb.state != PASS

    @property
    def is_better(self) -> bool:
        return self.innodb.state != PASS and self.rocksdb.state == PASS


@dataclass(frozen=True)
class Verdict:
    """What the tests that are worse come to."""

    worse: tuple[Pair, ...]  # Not in the ledger.
    known: tuple[Pair, ...]
    needless: tuple[str, ...]  # In the ledger, and yet as good as on InnoDB.


def load(path: Path) -> Outcomes:
    """The outcomes that a suite has written, one a line.

    A test may have several lines, such as one for each of its parts: one that failed has failed.
    """
    found: Outcomes = {}
    if not path.exists():
        return found
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # The last line of a suite that was ended.
        known = found.get(entry["test"])
        if known is None or (known.state != "fail" and entry["state"] != PASS):
            found[entry["test"]] = Outcome(entry["state"], entry.get("said") or "")
    return found


def pair_up(outcomes: Mapping[str, Outcomes]) -> list[Pair]:
    """All tests in order; one that ran on one engine alone is there too."""
    innodb, rocksdb = (outcomes[engine] for engine in ENGINES)
    return [
        Pair(test, innodb.get(test, _NONE), rocksdb.get(test, _NONE))
        for test in sorted(innodb.keys() | rocksdb.keys())
    ]


def load_ledger(path: Path, suite: str) -> dict[str, str]:
    """The reason for each test of a suite that may be worse; an error names the wrong line."""
    reasons: dict[str, str] = {}
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fields = tuple(field.strip() for field in text.split("\t"))
        if not text.strip() or fields == HEADER:
            continue
        if len(fields) != len(HEADER) or not all(fields):
            raise CairnError(
                f"{path.name}, line {number}: expected a suite, a test and a reason, separated by "
                "tabs."
            )
        if fields[0] != suite:
            continue
        if fields[1] in reasons:
            raise CairnError(f"{path.name}, line {number}: {fields[1]} is there twice.")
        reasons[fields[1]] = fields[2]
    return reasons


def judge(pairs: Iterable[Pair], ledger: Mapping[str, str]) -> Verdict:
    """Sorts what is worse by the ledger; an entry about a test that did not run stays."""
    by_test = {pair.test: pair for pair in pairs}
    worse = [pair for pair in by_test.values() if pair.is_worse]
    return Verdict(
        tuple(pair for pair in worse if pair.test not in ledger),
        tuple(pair for pair in worse if pair.test in ledger),
        tuple(
            test
            for test in sorted(ledger)
            if test in by_test and by_test[test].rocksdb.state == PASS
        ),
    )

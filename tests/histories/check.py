"""Whether a history is possible at an isolation level."""

from __future__ import annotations

from dataclasses import dataclass

from tests.histories import cycles, moments
from tests.histories.finding import Finding
from tests.histories.history import LEVELS, READ_UNCOMMITTED, UNKNOWN, History
from tests.histories.versions import Versions


@dataclass
class Verdict:
    """What was looked at, and what is wrong with it."""

    transactions: int
    reads: int
    dependencies: int
    # Transactions whose COMMIT got no answer, and how many of them took effect.
    unanswered: int
    survived: int
    findings: list[Finding]


def check(recorded: History, level: str) -> Verdict:
    """Looks for everything that `level` forbids."""
    assert level in LEVELS
    versions = Versions(recorded, dirty_reads_allowed=level == READ_UNCOMMITTED)
    graph = moments.build(versions, level)
    unanswered = [each for each in recorded.transactions if each.outcome == UNKNOWN]
    return Verdict(
        transactions=len(recorded.transactions),
        reads=len(versions.observations),
        dependencies=sum(1 for *_, kind in graph.graph.edges(data="kind") if kind != moments.RT),
        unanswered=len(unanswered),
        survived=sum(versions.takes_effect(each) for each in unanswered),
        findings=[*versions.findings, *cycles.find(graph, versions)],
    )

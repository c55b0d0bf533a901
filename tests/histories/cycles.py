"""Cycles in the graph of moments, named and told in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx

from tests.histories import finding
from tests.histories.finding import Finding
from tests.histories.history import Transaction
from tests.histories.moments import RT, RW, WITHIN, WR, WW, Moment, Moments
from tests.histories.values import Object, name
from tests.histories.versions import Versions

# An edge that closes a cycle, and the kinds of edges that the rest may have: what says most about
# the cycle comes first.
_SEARCHES = (
    (WW, (WW, WITHIN)),
    (WR, (WW, WR, WITHIN)),
    (RW, (WW, WR, WITHIN)),
    (RW, (WW, WR, RW, WITHIN)),
    (WR, (WW, WR, WITHIN, RT)),
    (WW, (WW, WITHIN, RT)),
    (RW, (WW, WR, WITHIN, RT)),
    (RW, (WW, WR, RW, WITHIN, RT)),
)
# How many edges are tried, and how many cycles are told, for each search in one group.
_TRIES = 40
_TOLD = 3
# Along the clock a path has many steps that mean one.
_CLOCK_STEP = 0.001


def find(found: Moments, versions: Versions) -> list[Finding]:
    """Short cycles; each transaction is in one of each kind at most.

    The clock closes a longer cycle of the same transactions where they depend on each other as
    well; that one is not told.
    """
    told: set[tuple[str, int]] = set()
    findings: list[Finding] = []
    for group in networkx.strongly_connected_components(found.graph):
        if len(group) == 1:
            continue
        graph = found.graph.subgraph(group)
        for closing, kinds in _SEARCHES:
            count = 0
            for cycle in _cycles(graph, closing, kinds):
                made = _Telling(found, versions, cycle).finding()
                numbers = {each.number for each in made.transactions}
                kinds_told = {kind for kind, number in told if number in numbers}
                if made.kind not in kinds_told and not (RT in kinds and kinds_told):
                    told |= {(made.kind, number) for number in numbers}
                    findings.append(made)
                    count += 1
                    if count == _TOLD:
                        break
    return findings


def _cycles(graph: networkx.DiGraph, closing: str, kinds: tuple[str, ...]) -> Iterator[list[Any]]:
    """Cycles through edges of one kind, each closed by the shortest way of the other kinds."""
    way = networkx.DiGraph()
    way.add_nodes_from(graph)
    way.add_edges_from(edge for edge in graph.edges(data=True) if edge[2]["kind"] in kinds)
    edges = [edge[:2] for edge in graph.edges(data="kind") if edge[2] == closing]
    for source, target in edges[:: max(1, len(edges) // _TRIES)]:
        try:
            _, path = networkx.bidirectional_dijkstra(way, target, source, weight=_weight)
        except networkx.NetworkXNoPath:
            continue
        yield path


def _weight(source: Any, target: Any, _: Any) -> float:
    return _CLOCK_STEP if isinstance(source, tuple) and isinstance(target, tuple) else 1.0


class _Telling:
    """One cycle in words."""

    def __init__(self, found: Moments, versions: Versions, cycle: list[Any]) -> None:
        self._versions = versions
        # From moment to moment: kind, object and version of the edge between.
        self._steps: list[tuple[Moment, Moment, str, Object, int]] = []
        start = next(i for i, node in enumerate(cycle) if not isinstance(node, tuple))
        nodes = [*cycle[start:], *cycle[:start], cycle[start]]
        source = nodes[0]
        for before, node in pairwise(nodes):
            if isinstance(node, tuple):
                continue
            if isinstance(before, tuple):
                kind, thing, version = RT, (), 0
            else:
                edge = found.graph.edges[before, node]
                kind, thing, version = edge["kind"], edge["thing"], edge["version"]
            step = (found.moments[source], found.moments[node], kind, thing, version)
            if step[0].transaction is not step[1].transaction:
                self._steps.append(step)
            source = node

    def finding(self) -> Finding:
        transactions: dict[int, Transaction] = {}
        for source, target, *_ in self._steps:
            transactions[source.transaction.number] = source.transaction
            transactions[target.transaction.number] = target.transaction
        text = "; ".join(self._tell(*step) for step in self._steps)
        return Finding(self._kind(), text, list(transactions.values()))

    def _kind(self) -> str:
        kinds = [step[2] for step in self._steps]
        antis = [step for step in self._steps if step[2] == RW]
        if not antis:
            # What was committed after the snapshot was read or overwritten.
            past = any(step[0].what == "snapshot" for step in self._steps if step[2] == RT)
            if past:
                return finding.READ_SKEW if WR in kinds else finding.LOST_UPDATE
            if WR not in kinds:
                return finding.DIRTY_WRITE
            return finding.DIRTY_READ if RT in kinds else finding.INFORMATION_FLOW
        if len(antis) > 1:
            absent = any(thing[0] == "member" and version == 1 for *_, thing, version in antis)
            return finding.PHANTOM if absent else finding.WRITE_SKEW
        overwritten = antis[0][3]
        if any(kind == WW and thing == overwritten for *_, kind, thing, _ in self._steps):
            return finding.LOST_UPDATE
        return finding.STALE_READ if WR not in kinds and RT in kinds else finding.READ_SKEW

    def _tell(self, source: Moment, target: Moment, kind: str, thing: Object, version: int) -> str:
        first, second = f"T{source.transaction.number}", f"T{target.transaction.number}"
        if kind == WW:
            return f"{second} wrote {self._version(thing, version)} after {first} had written to it"
        if kind == WR:
            return f"{second} read {self._version(thing, version)} as {first} wrote it"
        if kind == RW:
            what = self._what(thing, version)
            return f"{first} read or held {name(thing)} without {what} of {second}"
        return (
            f"the {source.what} of {first} was answered before the {target.what} of {second} "
            "was sent"
        )

    def _version(self, thing: Object, version: int) -> str:
        what = self._what(thing, version)
        return name(thing) if thing[0] == "member" else f"{what} of {name(thing)}"

    def _what(self, thing: Object, version: int) -> str:
        if thing[0] == "member":
            return "the insertion" if version == 1 else "the deletion"
        if thing[0] == "register":
            return f"version {version}"
        return f"element {version} ({self._versions.element(thing, version)})"

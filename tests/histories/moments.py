"""The graph of moments: what must have come before what.

Each isolation level says at which moments a transaction reads and commits:

    READ COMMITTED    a plain SELECT reads at a moment of its own; rows that are read with a lock
                      belong to the moment of the commit, until which nobody else changes them
    REPEATABLE READ   a transaction reads at one moment, its snapshot, and commits at another; who
                      overwrites a version has the commit of its writer before the snapshot. A
                      statement in autocommit has nothing to repeat: as READ COMMITTED. Where rows
                      are locked and changed as they are now (History.latest), plain reads alone
                      read at the snapshot, except of what the transaction has changed itself
    SERIALIZABLE      everything happens at one moment

A reader's moment comes after the commit whose version it read (wr) and before the commit of the
next version (rw); the commit of a version comes after that of the version before (ww). Each moment
lies between the sending of a statement and its answer, so that moments which do not overlap are in
the order of the clock (rt). The history is possible exactly when nothing comes before itself.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from typing import Any

import networkx

from tests.histories.history import (
    READ_UNCOMMITTED,
    REPEATABLE_READ,
    SERIALIZABLE,
    GroupRead,
    Statement,
    Transaction,
)
from tests.histories.values import Object
from tests.histories.versions import Observation, Versions

WW, WR, RW, RT, WITHIN = "ww", "wr", "rw", "rt", "within"


@dataclass(frozen=True)
class Moment:
    """When something of a transaction happened, as far as its client can tell."""

    transaction: Transaction
    what: str
    earliest: float
    latest: float


@dataclass
class Moments:
    """The graph; its nodes are positions in `moments`, or ("time", n) for points of the clock."""

    graph: networkx.DiGraph = field(default_factory=networkx.DiGraph)
    moments: list[Moment] = field(default_factory=list)


def build(versions: Versions, level: str) -> Moments:
    return _Builder(versions, level).build()


class _Builder:
    def __init__(self, versions: Versions, level: str) -> None:
        self._versions = versions
        self._level = level
        self._latest = versions.history.latest and level == REPEATABLE_READ
        # InnoDB takes the snapshot at the first plain read; what locks before sees the latest.
        self._locks_see_latest = self._latest or versions.history.engine != "ROCKSDB"
        self._moments: list[Moment] = []
        self._nodes: dict[tuple[Any, ...], int] = {}
        self._graph = networkx.DiGraph()
        self._ordered = {thing: sorted(own) for thing, own in versions.writers.items()}

    def build(self) -> Moments:
        for thing in self._ordered:
            self._order_writers(thing)
        if self._level != READ_UNCOMMITTED:
            for observation in self._versions.observations:
                self._place(observation)
        self._add_clock()
        return Moments(self._graph, self._moments)

    # ---- moments --------------------------------------------------------------------------------

    def _node(self, key: tuple[Any, ...], moment: Moment) -> int:
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = len(self._moments)
            self._moments.append(moment)
            self._graph.add_node(node)
        return node

    def _commit(self, transaction: Transaction) -> int:
        key = ("commit", transaction.number)
        if key in self._nodes:
            return self._nodes[key]
        latest = math.inf if transaction.end_got is None else transaction.end_got
        whole = self._level == SERIALIZABLE
        earliest = transaction.begin_sent if whole else transaction.end_sent
        return self._node(key, Moment(transaction, "commit", earliest, latest))

    def _snapshot(self, transaction: Transaction) -> int:
        key = ("snapshot", transaction.number)
        if key in self._nodes:
            return self._nodes[key]
        if transaction.pinned:
            earliest, latest = transaction.begin_sent, transaction.begin_got
        else:
            first = self._first_at_snapshot(transaction)
            assert first is not None
            # A statement that only writes, or fails, may have taken it before; where locks see the
            # latest, one that has found nothing may.
            begin = _first_plain(transaction, first) if self._locks_see_latest else 0
            earliest = transaction.statements[begin].sent
            # One that locks a key and finds no row need not have taken it.
            sure = (each for each in transaction.statements[first:] if _takes_snapshot(each))
            taken = next(sure, None)
            latest = math.inf if taken is None or taken.got is None else taken.got
        node = self._node(key, Moment(transaction, "snapshot", earliest, latest))
        if self._versions.takes_effect(transaction):
            self._edge(node, self._commit(transaction), WITHIN)
        return node

    def _statement(self, observation: Observation, *, one_row: bool) -> int:
        """The moment of a statement, or of one row of it, when it reads the latest of each."""
        transaction, position = observation.transaction, observation.position
        key: tuple[Any, ...] = ("statement", transaction.number, position)
        if one_row:
            key += observation.thing
        if key in self._nodes:
            return self._nodes[key]
        statement = transaction.statements[position]
        latest = math.inf if statement.got is None else statement.got
        node = self._node(key, Moment(transaction, "statement", statement.sent, latest))
        lasts = statement.undone_by is None
        if lasts and not transaction.autocommit and self._versions.takes_effect(transaction):
            self._edge(node, self._commit(transaction), WITHIN)
        return node

    def _first_at_snapshot(self, transaction: Transaction) -> int | None:
        """The position of the first statement that reads at the snapshot, if there is one."""
        if self._level == SERIALIZABLE:
            return None
        if transaction.pinned:
            return 0
        if transaction.autocommit or self._level != REPEATABLE_READ:
            return None
        for position, statement in enumerate(transaction.statements):
            if statement.reads and not (statement.locking and self._locks_see_latest):
                return position
        return None

    def _reading(self, observation: Observation) -> tuple[int, int]:
        """The moment that the version was there, and the one until which it stayed the newest."""
        transaction = observation.transaction
        statement = transaction.statements[observation.position]
        holds = (
            statement.locking
            and statement.undone_by is None
            and self._versions.takes_effect(transaction)
        )
        if self._level == SERIALIZABLE:
            if statement.undone_by is not None:
                node = self._statement(observation, one_row=True)
            else:
                node = self._commit(transaction)
            return node, node
        # The row need not be there, and then nothing need be locked.
        absent = observation.version == 0 and observation.thing[0] != "register"
        first = self._first_at_snapshot(transaction)
        if self._latest and observation.holds:
            # Its row is locked until the end, and is seen as it was when it was changed.
            if self._versions.takes_effect(transaction):
                commit = self._commit(transaction)
                return commit, commit
            node = self._statement(observation, one_row=True)
            return node, node
        at_snapshot = not (self._latest and statement.locking)
        if first is not None and first <= observation.position and at_snapshot:
            snapshot = self._snapshot(transaction)
            until = self._commit(transaction) if holds and not absent else snapshot
            return snapshot, until
        if holds and not absent:
            commit = self._commit(transaction)
            return commit, commit
        node = self._statement(observation, one_row=statement.locking)
        return node, node

    # ---- edges ----------------------------------------------------------------------------------

    def _edge(
        self, source: int, target: int, kind: str, thing: Object = (), version: int = 0
    ) -> None:
        if source != target and not self._graph.has_edge(source, target):
            self._graph.add_edge(source, target, kind=kind, thing=thing, version=version)

    def _order_writers(self, thing: Object) -> None:
        writers = self._versions.writers[thing]
        order = self._ordered[thing]
        for before, after in zip(order, order[1:], strict=False):
            first, second = writers[before], writers[after]
            if first is second:
                continue
            target = self._commit(second)
            if self._first_at_snapshot(second) is not None and not self._latest:
                target = self._snapshot(second)
            self._edge(self._commit(first), target, WW, thing, after)

    def _place(self, observation: Observation) -> None:
        transaction, thing = observation.transaction, observation.thing
        writers, order = self._versions.writers[thing], self._ordered.get(thing, [])
        writer = writers.get(observation.version)
        at = bisect.bisect_right(order, observation.version)
        following = next((v for v in order[at:] if writers[v] is not transaction), None)
        if writer is None and following is None:
            return
        there, until = self._reading(observation)
        if writer is not None and writer is not transaction:
            self._edge(self._commit(writer), there, WR, thing, observation.version)
        if following is not None:
            self._edge(until, self._commit(writers[following]), RW, thing, following)

    def _add_clock(self) -> None:
        """A point of the clock behind each moment; a moment comes after the points before it."""
        ends = sorted({moment.latest for moment in self._moments if moment.latest != math.inf})
        points = {end: ("time", number) for number, end in enumerate(ends)}
        for number in range(1, len(ends)):
            self._graph.add_edge(("time", number - 1), ("time", number), kind=RT)
        for node, moment in enumerate(self._moments):
            if moment.latest in points:
                self._graph.add_edge(node, points[moment.latest], kind=RT)
            before = bisect.bisect_left(ends, moment.earliest)
            if before > 0:
                self._graph.add_edge(("time", before - 1), node, kind=RT)


def _first_plain(transaction: Transaction, last: int) -> int:
    """The position of the first statement up to `last` that neither locks nor writes."""
    statements = enumerate(transaction.statements[:last])
    return next((i for i, each in statements if not each.locking and not each.writes), last)


def _takes_snapshot(statement: Statement) -> bool:
    return any(
        not statement.locking or (read.members if isinstance(read, GroupRead) else read[1])
        for read in statement.reads
    )

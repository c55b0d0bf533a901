"""The order of the versions of each object, and what is wrong without looking at cycles.

A list tells its order by itself, a register by its version, a member is absent, present, absent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.histories import finding, history
from tests.histories.finding import Finding
from tests.histories.history import (
    GroupRead,
    History,
    ListRead,
    RegisterRead,
    TailRead,
    Transaction,
)
from tests.histories.values import (
    GONE,
    PRESENT,
    Object,
    brief,
    name,
    reads_with_own_writes,
    shown,
    values_read,
    why_undone,
    without_own,
    written,
)


@dataclass(frozen=True)
class Written:
    transaction: Transaction
    position: int  # Of the statement.

    @property
    def lasts(self) -> bool:
        return self.transaction.statements[self.position].undone_by is None


@dataclass(frozen=True)
class Observation:
    """A statement saw a version of an object that others wrote."""

    transaction: Transaction
    position: int
    thing: Object
    version: int
    # It had changed the object before, and so held it.
    holds: bool = False


class Versions:
    """Who wrote what, which transactions took effect, and who saw which version.

    Version 0 of an object is its first one. `writers[thing]` has the transaction that made each
    known later one.
    """

    def __init__(self, recorded: History, *, dirty_reads_allowed: bool = False) -> None:
        self.history = recorded
        self.findings: list[Finding] = []
        self.observations: list[Observation] = []
        self.writers: dict[Object, dict[int, Transaction]] = defaultdict(dict)
        self.inserters: dict[Object, Transaction] = {}
        # Members that somebody deleted, or may have.
        self.deleted: set[Object] = set()
        self._dirty_reads_allowed = dirty_reads_allowed
        self._wrote: dict[tuple[Object, Any], list[Written]] = defaultdict(list)
        self._values: dict[Object, list[Any]] = {}
        self._versions: dict[Object, dict[int, int]] = {}
        self._members: dict[int, list[int]] = {}
        self.effective: set[int] = set()
        self._index_writes()
        self._settle_outcomes()
        self._order_lists()
        self._order_registers()
        self._order_members()
        for transaction in self._everybody():
            self._observe(transaction)
        self._check_what_lasts()

    # ---- who wrote what -------------------------------------------------------------------------

    def _everybody(self) -> Iterator[Transaction]:
        yield from self.history.transactions
        if self.history.final is not None:
            yield self.history.final

    def _tells(self, transaction: Transaction) -> bool:
        """Whether what a transaction saw of others must make sense."""
        return not self._dirty_reads_allowed or transaction is self.history.final

    def _index_writes(self) -> None:
        for transaction in self.history.transactions:
            for position, statement in enumerate(transaction.statements):
                for write in statement.writes:
                    self._wrote[written(write)].append(Written(transaction, position))
                if statement.wrong:
                    self._add(
                        finding.WRONG_ROWS, f"{statement.text}: {statement.wrong}", transaction
                    )
        for statement in self.history.final.statements if self.history.final else ():
            if statement.wrong:
                self._add(finding.WRONG_ROWS, f"{statement.text}: {statement.wrong}")

    def _settle_outcomes(self) -> None:
        """A transaction without an answer took effect if anybody saw something of it."""
        self.effective = {
            transaction.number
            for transaction in self._everybody()
            if transaction.outcome == history.COMMITTED
        }
        unknown = [t for t in self.history.transactions if t.outcome == history.UNKNOWN]
        if not unknown:
            return
        seen = self._seen_by_others()
        for transaction in unknown:
            if any(
                written(write) in seen
                for statement in transaction.lasting()
                for write in statement.writes
            ):
                self.effective.add(transaction.number)

    def _seen_by_others(self) -> set[tuple[Object, Any]]:
        seen: set[tuple[Object, Any]] = set()
        final_members: dict[int, set[int]] = defaultdict(set)
        for transaction in filter(self._tells, self._everybody()):
            for value in values_read(transaction):
                if all(each.transaction is not transaction for each in self._wrote.get(value, ())):
                    seen.add(value)
                if transaction is self.history.final and value[0][0] == "member":
                    final_members[value[0][1]].add(value[0][2])
        if self.history.final is not None:
            self._add_seen_deletions(seen, final_members)
        return seen

    def _add_seen_deletions(
        self, seen: set[tuple[Object, Any]], final_members: dict[int, set[int]]
    ) -> None:
        """A member that was there and is not, and that nobody deleted for sure."""
        for (thing, value), writes in self._wrote.items():
            if value != GONE or thing[2] in final_members[thing[1]]:
                continue
            if any(w.lasts and w.transaction.number in self.effective for w in writes):
                continue
            inserted = self._wrote.get((thing, PRESENT))
            if inserted is None or inserted[0].transaction.number in self.effective:
                seen.add((thing, GONE))

    def element(self, thing: Object, version: int) -> Any:
        """What made the list as long as `version`."""
        return self._values[thing][version - 1]

    def takes_effect(self, transaction: Transaction) -> bool:
        return transaction.number in self.effective

    def _lasts(self, write: Written) -> bool:
        return write.lasts and self.takes_effect(write.transaction)

    # ---- the order of versions ------------------------------------------------------------------

    def _order_lists(self) -> None:
        for key in self.history.lists:
            self._values[("list", key)] = []
        for transaction in filter(self._tells, self._everybody()):
            for _, read, own in reads_with_own_writes(transaction):
                if isinstance(read, ListRead):
                    thing = ("list", read.key)
                    others = without_own(read.elements, own.get(thing, []))
                    if len(others) > len(self._values[thing]):
                        self._values[thing] = list(others)
        for thing, values in self._values.items():
            self._versions[thing] = {}
            for version, value in enumerate(values, 1):
                self._versions[thing].setdefault(value, version)
                writes = self._wrote.get((thing, value))
                if writes and self._lasts(writes[0]):
                    self.writers[thing][version] = writes[0].transaction

    def _order_registers(self) -> None:
        for key, first in self.history.registers.items():
            self._versions[("register", key)] = {first: 0}
        held: dict[tuple[Object, int], int] = {
            (("register", key), 0): first for key, first in self.history.registers.items()
        }
        for transaction in filter(self._tells, self._everybody()):
            for position, read, own in reads_with_own_writes(transaction):
                if not isinstance(read, RegisterRead):
                    continue
                thing = ("register", read.key)
                undone = transaction.statements[position].undone_by is not None
                if own.get(thing) and (undone or not self.takes_effect(transaction)):
                    continue
                writes = self._wrote.get((thing, read.value))
                if writes and not self._lasts(writes[0]):
                    continue  # An aborted read, or one's own write that was undone later.
                before = held.setdefault((thing, read.version), read.value)
                if before != read.value:
                    self._add(
                        finding.LOST_UPDATE,
                        f"{name(thing)} was {before} in version {read.version} and, in the same "
                        f"version, {read.value}: one assignment did not see the other",
                        transaction,
                        *(w.transaction for w in self._wrote.get((thing, before), ())),
                        *(w.transaction for w in self._wrote.get((thing, read.value), ())),
                    )
                    continue
                self._versions[thing].setdefault(read.value, read.version)
                if writes:
                    self.writers[thing][read.version] = writes[0].transaction

    def _order_members(self) -> None:
        for group, first in self.history.groups.items():
            self._members[group] = list(first)
        for (thing, value), writes in self._wrote.items():
            if thing[0] != "member":
                continue
            if value == PRESENT:
                self._members[thing[1]].append(thing[2])
                if self._lasts(writes[0]):
                    self.writers[thing][1] = self.inserters[thing] = writes[0].transaction
                continue
            deleters = [w.transaction for w in writes if self._lasts(w)]
            if deleters or any(w.transaction.outcome == history.UNKNOWN for w in writes):
                self.deleted.add(thing)
            if len(deleters) > 1:
                self._add(
                    finding.LOST_UPDATE,
                    f"{name(thing)} was deleted by two transactions that committed",
                    *deleters,
                )
            elif deleters:
                self.writers[thing][2] = deleters[0]

    # ---- what each transaction saw --------------------------------------------------------------

    def _observe(self, transaction: Transaction) -> None:
        for position, read, own in reads_with_own_writes(transaction):
            match read:
                case ListRead():
                    self._observe_list(transaction, position, read, own)
                case TailRead():
                    self._observe_tail(transaction, position, read, own)
                case RegisterRead():
                    self._observe_register(transaction, position, read, own)
                case GroupRead():
                    self._observe_group(transaction, position, read, own)

    def _observe_list(
        self, transaction: Transaction, position: int, read: ListRead, own: dict[Object, list[Any]]
    ) -> None:
        thing = ("list", read.key)
        mine = own.get(thing, [])
        others = without_own(read.elements, mine)
        if len(read.elements) != len(others) + len(mine):
            self._add(
                finding.INTERNAL,
                f"T{transaction.number} appended {brief(mine)} to {name(thing)} and then read "
                f"{brief(read.elements)}",
                transaction,
            )
            return
        if len(set(read.elements)) != len(read.elements):
            twice = [e for e, count in Counter(read.elements).items() if count > 1]
            self._add(
                finding.WRONG_ROWS, f"{name(thing)} has {brief(twice)} more than once", transaction
            )
            return
        if not self._tells(transaction):
            return
        if not all(self._may_see(transaction, position, thing, value) for value in others):
            return
        values = self._values[thing]
        if list(others) != values[: len(others)]:
            at = next(i for i, each in enumerate(others) if each != values[i])
            self._add(
                finding.LOST_UPDATE,
                f"{name(thing)} has {others[at]} as element {at + 1} in what T{transaction.number} "
                f"read, and {values[at]} in what others read: one of these appends was overwritten",
                transaction,
                *(w.transaction for w in self._wrote.get((thing, others[at]), ())),
                *(w.transaction for w in self._wrote.get((thing, values[at]), ())),
            )
            return
        if others and not self._is_last_of_writer(transaction, thing, others[-1]):
            return
        self._saw(transaction, position, thing, len(others), holds=bool(mine))

    def _observe_tail(
        self, transaction: Transaction, position: int, read: TailRead, own: dict[Object, list[Any]]
    ) -> None:
        thing = ("list", read.key)
        mine = own.get(thing, [])
        if mine:
            if read.last != mine[-1]:
                self._add(
                    finding.INTERNAL,
                    f"T{transaction.number} appended {brief(mine)} to {name(thing)} and then read "
                    f"{read.last} as its last element",
                    transaction,
                )
            return
        if not self._tells(transaction):
            return
        if read.last is None:
            self._saw(transaction, position, thing, 0)
            return
        if not self._may_see(transaction, position, thing, read.last):
            return
        version = self._versions[thing].get(read.last)
        if version is None:
            self._add(
                finding.LOST_UPDATE,
                f"T{transaction.number} read {read.last} as the last element of {name(thing)}, "
                "which no reading of the list has",
                transaction,
                *(w.transaction for w in self._wrote.get((thing, read.last), ())),
            )
        elif self._is_last_of_writer(transaction, thing, read.last):
            self._saw(transaction, position, thing, version)

    def _observe_register(
        self,
        transaction: Transaction,
        position: int,
        read: RegisterRead,
        own: dict[Object, list[Any]],
    ) -> None:
        thing = ("register", read.key)
        mine = own.get(thing, [])
        if mine:
            if read.value != mine[-1]:
                self._add(
                    finding.INTERNAL,
                    f"T{transaction.number} assigned {mine[-1]} to {name(thing)} and then read "
                    f"{read.value}",
                    transaction,
                )
            return
        if not self._tells(transaction):
            return
        if read.value != self.history.registers[read.key]:
            if not self._may_see(transaction, position, thing, read.value):
                return
            if not self._is_last_of_writer(transaction, thing, read.value):
                return
        if self._versions[thing].get(read.value, read.version) != read.version:
            self._add(
                finding.WRONG_ROWS,
                f"T{transaction.number} read {read.value} as version {read.version} of "
                f"{name(thing)}; it is version {self._versions[thing][read.value]}",
                transaction,
            )
            return
        self._saw(transaction, position, thing, read.version)

    def _observe_group(
        self, transaction: Transaction, position: int, read: GroupRead, own: dict[Object, list[Any]]
    ) -> None:
        found = set(read.members)
        known = self._members[read.group]
        for member in sorted(found.difference(known)):
            self._add(
                finding.FOREIGN_VALUE,
                f"T{transaction.number} read {name(('member', read.group, member))}",
                transaction,
            )
        for member in known:
            if not read.covers(member):
                if member in found:
                    self._add(
                        finding.WRONG_ROWS,
                        f"T{transaction.number} read member {member} of group {read.group} in a "
                        f"range of {read.column} from {read.low} to {read.high}",
                        transaction,
                    )
                continue
            thing = ("member", read.group, member)
            if mine := own.get(thing):
                if (mine[-1] == PRESENT) != (member in found):
                    self._add(
                        finding.INTERNAL,
                        f"T{transaction.number} left {name(thing)} {mine[-1]} and then read that "
                        f"it is {PRESENT if member in found else GONE}",
                        transaction,
                    )
            elif not self._tells(transaction):
                continue
            elif member in found:
                first = (thing, PRESENT) not in self._wrote
                if first or self._may_see(transaction, position, thing, PRESENT):
                    self._saw(transaction, position, thing, 1)
            elif thing in self.inserters and thing not in self.deleted:
                self._saw(transaction, position, thing, 0)
            elif (thing, PRESENT) not in self._wrote:
                self._saw_first_member_gone(transaction, position, thing)

    def _saw_first_member_gone(
        self, transaction: Transaction, position: int, thing: Object
    ) -> None:
        if 2 in self.writers[thing]:
            self._saw(transaction, position, thing, 2)
        elif thing not in self.deleted:
            self._add(
                finding.LOST_UPDATE,
                f"T{transaction.number} read that {name(thing)} is not there; nobody deleted it",
                transaction,
            )

    def _may_see(self, transaction: Transaction, position: int, thing: Object, value: Any) -> bool:
        """Whether somebody wrote a value and took effect; a finding otherwise."""
        writes = self._wrote.get((thing, value))
        if not writes:
            self._add(
                finding.FOREIGN_VALUE,
                f"T{transaction.number} read {value} in {name(thing)}",
                transaction,
            )
            return False
        write = writes[0]
        if write.transaction is transaction:
            self._add(
                finding.INTERNAL,
                f"T{transaction.number} read {shown(thing, value)}, its own write, which was "
                "undone before or out of its order",
                transaction,
            )
            return False
        if self._lasts(write):
            return True
        why = (
            "was rolled back"
            if write.lasts
            else f"undid this by {why_undone(write.transaction, write.position)}"
        )
        self._add(
            finding.ABORTED_READ,
            f"T{transaction.number} read {shown(thing, value)} of T{write.transaction.number}, "
            f"which {why}",
            transaction,
            write.transaction,
        )
        return False

    def _is_last_of_writer(self, transaction: Transaction, thing: Object, value: Any) -> bool:
        writer = self._wrote[(thing, value)][0].transaction
        last = [
            written(write)[1]
            for statement in writer.lasting()
            for write in statement.writes
            if written(write)[0] == thing
        ][-1]
        if value == last:
            return True
        self._add(
            finding.INTERMEDIATE_READ,
            f"T{transaction.number} read {value} as the newest of {name(thing)}, after which "
            f"T{writer.number} wrote {last} to it in the same transaction",
            transaction,
            writer,
        )
        return False

    def _saw(
        self,
        transaction: Transaction,
        position: int,
        thing: Object,
        version: int,
        *,
        holds: bool = False,
    ) -> None:
        self.observations.append(Observation(transaction, position, thing, version, holds))

    # ---- what must be there at the end ----------------------------------------------------------

    def _check_what_lasts(self) -> None:
        if self.history.final is None:
            return
        there = set(values_read(self.history.final))
        assigned: Counter[Object] = Counter()
        undecided: Counter[Object] = Counter()
        for (thing, value), writes in self._wrote.items():
            for write in writes:
                if not write.lasts:
                    continue
                if value == GONE:
                    self._check_deletion(thing, write, there)
                elif thing[0] == "register":
                    assigned[thing] += self.takes_effect(write.transaction)
                    undecided[thing] += (
                        write.transaction.outcome == history.UNKNOWN
                        and not self.takes_effect(write.transaction)
                    )
                elif (
                    self.takes_effect(write.transaction)
                    and (thing, value) not in there
                    and thing not in self.deleted
                ):
                    self._add_lost(thing, value, write.transaction)
        self._check_counts(assigned, undecided)

    def _check_deletion(
        self, thing: Object, write: Written, there: set[tuple[Object, Any]]
    ) -> None:
        if (thing, PRESENT) in there and write.transaction.outcome == history.COMMITTED:
            self._add(
                finding.LOST_UPDATE,
                f"T{write.transaction.number} deleted {name(thing)} and was acknowledged; it is "
                "there",
                write.transaction,
            )

    def _add_lost(self, thing: Object, value: Any, transaction: Transaction) -> None:
        if transaction.outcome == history.UNKNOWN:
            self._add(
                finding.PARTIAL,
                f"T{transaction.number}, whose COMMIT got no answer, is there in part: without "
                f"{shown(thing, value)}",
                transaction,
            )
            return
        self._add(
            finding.LOST_UPDATE,
            f"T{transaction.number} wrote {shown(thing, value)} and was acknowledged; it is not "
            "there",
            transaction,
        )

    def _check_counts(self, assigned: Counter[Object], undecided: Counter[Object]) -> None:
        assert self.history.final is not None
        reads = (read for statement in self.history.final.statements for read in statement.reads)
        counts = {read.key: read.version for read in reads if isinstance(read, RegisterRead)}
        for key, version in counts.items():
            thing = ("register", key)
            if not assigned[thing] <= version <= assigned[thing] + undecided[thing]:
                self._add(
                    finding.LOST_UPDATE,
                    f"{name(thing)} was assigned {assigned[thing]} times and counts {version}",
                )

    def _add(self, kind: str, text: str, *transactions: Transaction) -> None:
        distinct = {each.number: each for each in transactions}
        self.findings.append(Finding(kind, text, list(distinct.values())))

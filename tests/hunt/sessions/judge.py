"""What a session was told must be what the tables show: the judge of one engine's record.

It needs no other engine. Each row's `log` has the mark of every statement that made or changed it,
so that the marks at the end tell what lasted; what each session was told says what must have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.hunt.sessions import script, triggers, xa
from tests.hunt.sessions.script import Event, Record

LASTING = "lasting"
UNDONE = "undone"
UNKNOWN = "unknown"  # The connection ended before the answer.

DUPLICATE = 1062
TIMED_OUT = 1205
DEADLOCK = 1213
# Never ours: of a transaction that was rolled back without the server's knowledge.
ROLLBACK_ONLY = 4060
CHANGED = 1020
INTERRUPTED = 1317
KILLED = 1927
NO_SAVEPOINT = 1305
SIGNALLED = 1644
_FIRST_LOGS = re.compile(r"'(\d+\.\d+)'\)")
_MERGED = re.compile(r"FORCE INDEX \([^)]*,")
# What a statement of a script may fail with; anything else is a fault.
ALLOWED = {DUPLICATE, TIMED_OUT, DEADLOCK, CHANGED, INTERRUPTED, KILLED, NO_SAVEPOINT} | xa.ERRORS


@dataclass(frozen=True)
class Complaint:
    """Something that a session was told and the tables do not show, or the other way round."""

    # What kind of fault, without what differs from one script to the next.
    kind: str
    text: str


def judge(record: Record) -> list[Complaint]:
    """All that is wrong with a record."""
    fates = fates_of(record)
    complaints = [Complaint("damaged table", text) for text in record.damage]
    complaints += _errors(record)
    complaints += _looks(record)
    complaints += Ledger(record, fates).complaints()
    return complaints


def verb(event: Event) -> str:
    """The kind of statement, for the title of a finding."""
    text = event.step.text
    first = text.split()[0]
    if first == "XA":
        return f"XA {xa.parts(text).verb}"
    if first in ("INSERT", "UPDATE", "DELETE", "SELECT"):
        for part in ("ON DUPLICATE KEY", "IGNORE INTO", "JOIN", "SELECT", "SKIP LOCKED", "NOWAIT"):
            if part in text and part != first:
                first = f"{first} … {part}"
                break
    return f"{first} by merged indexes" if _MERGED.search(text) else first


# ---- what lasted --------------------------------------------------------------------------------


def fates_of(record: Record) -> dict[int, str]:
    """By position in the script: what became of each statement with an effect."""
    fates: dict[int, str] = {}
    branches: dict[str, list[int]] = {}
    for name in record.script.sessions:
        _Transactions(fates, branches).read(
            (position, event)
            for position, event in enumerate(record.events)
            if event.step.session == name
        )
    for branch, positions in branches.items():
        fate = _fate_of_branch(record, branch)
        fates.update(dict.fromkeys(positions, fate))
    return fates


def _fate_of_branch(record: Record, branch: str) -> str:
    """Of a prepared branch whose session has gone: others end it, at last the player, by COMMIT."""
    for event in record.events:
        done = xa.parts(event.step.text)
        if done.branch == branch and done.verb in ("COMMIT", "ROLLBACK") and event.ended_at >= 0:
            if event.answer.is_lost:
                return UNKNOWN
            if not event.answer.error:
                return LASTING if done.verb == "COMMIT" else UNDONE
    return LASTING


@dataclass
class _Transactions:
    """Follows the transactions of one session."""

    fates: dict[int, str]
    # The statements of prepared XA transactions whose sessions have gone.
    branches: dict[str, list[int]]
    # Statements of the open transaction, and of which there were so many at a savepoint.
    open: list[int] | None = None
    saved: dict[str, int] = field(default_factory=dict)
    # The open XA transaction, and whether it is prepared.
    branch: str = ""
    is_prepared: bool = False

    def read(self, events: Iterable[tuple[int, Event]]) -> None:
        for position, event in events:
            if event.sent_at < 0:
                continue
            if event.step.text.startswith("!"):
                if event.applied and event.step.text in script.LEAVES:
                    self._leave()
            else:
                self._statement(position, event)
        self._leave()

    def _end(self, fate: str) -> None:
        for position in self.open or ():
            self.fates[position] = fate
        self.open, self.saved = None, {}
        self.branch, self.is_prepared = "", False

    def _leave(self) -> None:
        if self.is_prepared and self.open:
            self.branches[self.branch], self.open = self.open, None
        self._end(UNDONE)

    def _undo(self, name: str) -> None:
        if self.open is not None and name in self.saved:
            for position in self.open[self.saved[name] :]:
                self.fates[position] = UNDONE
            del self.open[self.saved[name] :]

    def _statement(self, position: int, event: Event) -> None:
        text, answer = event.step.text, event.answer
        if answer.is_lost:
            self.fates[position] = UNKNOWN if event.step.effect and self.open is None else UNDONE
            ends = text == "COMMIT" or xa.parts(text).verb in ("PREPARE", "COMMIT")
            self._end(UNKNOWN if ends else UNDONE)
        elif answer.error:
            if event.step.effect:
                self.fates[position] = UNDONE
            if self.open is not None and event.in_transaction is not True:
                self._end(UNDONE)
        elif text in ("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"):
            self._end(LASTING)
            self.open = []
        elif text in ("COMMIT", "ROLLBACK"):
            self._end(LASTING if text == "COMMIT" else UNDONE)
        elif xa.parts(text).verb:
            self._branch(xa.parts(text))
        elif text.startswith("SAVEPOINT ") and self.open is not None:
            self.saved[text.split()[-1]] = len(self.open)
        elif text.startswith("ROLLBACK TO "):
            self._undo(text.split()[-1])
        elif event.step.effect:
            if self.open is None:
                self.fates[position] = LASTING
            else:
                self.open.append(position)

    def _branch(self, done: xa.Parts) -> None:
        if done.verb == "START":
            self._end(LASTING)
            self.open, self.branch = [], done.branch
        elif done.branch == self.branch and done.verb == "PREPARE":
            self.is_prepared = True
        elif done.branch == self.branch and done.verb in ("COMMIT", "ROLLBACK"):
            self._end(LASTING if done.verb == "COMMIT" else UNDONE)


# ---- marks -------------------------------------------------------------------------------------


class Ledger:
    """Counts marks and rows at the end, and compares them with what was told."""

    def __init__(self, record: Record, fates: dict[int, str]) -> None:
        self._record = record
        self._fates = fates
        self._gone = [log for event in self._of(script.DELETE) for log in _returned(event)]
        self._left = [log for logs in record.logs.values() for log in logs]
        self._births: Counter[int] = Counter()
        self._marks: Counter[int] = Counter()
        for log in (*self._left, *self._gone):
            birth, *marks = log.split(",")
            self._births[int(birth.split(".")[0])] += 1
            self._marks.update(int(mark) for mark in marks)

    def _of(self, *kinds: str) -> list[Event]:
        """Lasting statements with such effects."""
        return [
            self._record.events[position]
            for position, fate in self._fates.items()
            if fate == LASTING
            and (effect := self._record.events[position].step.effect)
            and effect.kind in kinds
        ]

    def complaints(self) -> list[Complaint]:
        found = [*self._double_rows(), *self._double_marks(), *self._undone()]
        if self._record.script.triggers:
            found += self._seen()
        # Whoever was cut off in the middle has done all or nothing of what cannot be counted.
        if UNKNOWN not in self._fates.values():
            found += [*self._rows(), *self._lasting()]
        return found

    def _double_rows(self) -> Iterable[Complaint]:
        births = Counter(log.split(",")[0] for log in (*self._left, *self._gone))
        for birth, count in births.items():
            if count > 1:
                yield Complaint(
                    "a row is there twice, or there and deleted", f"row {birth}: {count} times"
                )

    def _double_marks(self) -> Iterable[Complaint]:
        upserts = {
            event.step.effect.mark
            for event in self._record.events
            if event.step.effect and event.step.effect.kind == script.UPSERT
        }
        for log in self._left:
            for mark, count in Counter(log.split(",")[1:]).items():
                if count > 1 and int(mark) not in upserts:
                    yield Complaint("a statement changed a row twice", f"{mark} in {log}")

    def _undone(self) -> Iterable[Complaint]:
        left = Counter(int(mark.split(".")[0]) for log in self._left for mark in log.split(","))
        for position, fate in self._fates.items():
            event = self._record.events[position]
            if fate == UNDONE and event.step.effect and left[event.step.effect.mark]:
                yield Complaint(
                    f"what was undone is there: {verb(event)}",
                    f"{event.step}: {event.answer}; {left[event.step.effect.mark]} rows have it",
                )

    def _seen(self) -> Iterable[Complaint]:
        """What triggers wrote is what the rows of t have seen, whatever became of a statement."""
        played = self._record.script
        first = [
            log
            for text in played.tables
            if text.startswith("INSERT INTO t ")
            for log in _FIRST_LOGS.findall(text)
        ]
        is_tried = triggers.tries(played.triggers)
        for text in triggers.differ(
            self._record.logs["t"], self._record.seen, first=first, is_tried=is_tried
        ):
            yield Complaint("what a trigger wrote is not what the rows have seen", text)
        tried = Counter(
            int(log.split(".")[0]) for what, log in self._record.seen if what == triggers.TRY
        )
        for position, fate in self._fates.items():
            event = self._record.events[position]
            if fate == UNDONE and event.step.effect and tried[event.step.effect.mark]:
                yield Complaint(
                    f"what a trigger wrote was not undone: {verb(event)}",
                    f"{event.step}: {event.answer}",
                )

    def _rows(self) -> Iterable[Complaint]:
        expected = self._record.script.rows
        for event in self._of(*_GIVES):
            assert event.step.effect
            expected += _GIVES[event.step.effect.kind](event.step.effect.rows, _told(event))
        if expected != len(self._left):
            yield Complaint(
                "rows are lost or too many",
                f"there are {len(self._left)}, and by what sessions were told {expected}",
            )

    def _lasting(self) -> Iterable[Complaint]:
        """Whether each mark is there as often as its statement said."""
        replaced = any(_told(e) > e.step.effect.rows for e in self._of(script.REPLACE))  # type: ignore[union-attr]
        unseen = replaced or any(_told(event) for event in self._of(script.DELETE_UNSEEN))
        for event in self._of(script.UPDATE, script.INSERT, script.IGNORE, script.COPY):
            effect = event.step.effect
            assert effect
            seen = (self._marks if effect.kind == script.UPDATE else self._births)[effect.mark]
            wanted = effect.rows if effect.kind == script.INSERT else _told(event)
            if seen > wanted or (seen < wanted and not unseen):
                yield _not_as_told(event, seen)
        for event in self._of(script.UPSERT):
            effect = event.step.effect
            assert effect
            seen = self._births[effect.mark] + self._marks[effect.mark]
            if seen > effect.rows or (seen < effect.rows and not unseen):
                yield _not_as_told(event, seen)


# How many rows a statement adds, by the rows that it names and what it said.
_GIVES = {
    script.INSERT: lambda rows, told: rows,
    script.IGNORE: lambda rows, told: told,
    script.COPY: lambda rows, told: told,
    # A row that is updated counts twice, one that is inserted once.
    script.UPSERT: lambda rows, told: 2 * rows - told,
    script.REPLACE: lambda rows, told: 2 * rows - told,
    script.DELETE: lambda rows, told: -told,
    script.DELETE_UNSEEN: lambda rows, told: -told,
}


def _told(event: Event) -> int:
    """How many rows the session was told of."""
    rows = event.answer.rows
    return event.answer.changed if rows is None else len(rows)


def _returned(event: Event) -> list[str]:
    return [str(row[0]) for row in event.answer.rows or ()]


def _not_as_told(event: Event, seen: int) -> Complaint:
    return Complaint(
        f"an acknowledged change is not as told: {verb(event)}",
        f"{event.step}: {event.answer}; {seen} rows have it",
    )


# ---- errors, and looks before statements --------------------------------------------------------


def _errors(record: Record) -> Iterable[Complaint]:
    for position, event in enumerate(record.events):
        answer = event.answer
        if event.sent_at >= 0 and answer.is_lost and not _was_ended(record, event):
            yield Complaint(
                f"a connection was lost that nobody had ended: {verb(event)}",
                f"{event.step}: {answer}",
            )
        if event.sent_at < 0 or not answer.error or answer.is_lost:
            continue
        if reason := _error_is_wrong(record, position, event):
            yield Complaint(
                f"error {answer.error} {reason}: {verb(event)}", f"{event.step}: {answer}"
            )
    for event, state in xa.misplaced_errors(record):
        error = event.answer.error
        yield Complaint(
            f"error {error}, the session's state being {state}: {verb(event)}",
            f"{event.step}: {event.answer}",
        )


def _was_ended(record: Record, event: Event) -> bool:
    """Whether somebody has killed or left the session of an event."""
    return any(
        each.applied and each.step.text in (script.KILL, script.DISCONNECT)
        for each in record.of(event.step.session)
    )


def _error_is_wrong(record: Record, position: int, event: Event) -> str:
    """What is wrong with an error that a session was told; nothing when it may be."""
    error = event.answer.error
    level, text = record.script.level, event.step.text
    alone = not event.waited and not any(
        other.waited and other.sent_at <= position and other.ended_at >= event.sent_at
        for other in record.events
    )
    refuses = any("SIGNAL" in trigger for trigger in record.script.triggers)
    if error not in ALLOWED and not (refuses and error == SIGNALLED and event.step.effect):
        return "is none that sessions may meet"
    if error == TIMED_OUT and not event.waited and "WAIT" not in text:
        return "without a wait"
    if error == DEADLOCK and event.in_transaction:
        if level == "READ COMMITTED":
            return "(conflict) at READ COMMITTED"
        if record.script.latest and not (event.waited and event.step.reads_one_state):
            return "(conflict) where the latest row is taken"
    if error == DEADLOCK and not event.in_transaction and alone:
        return "where nobody waits"
    if error == INTERRUPTED and not any(
        other.applied and other.step.text == script.KILL_QUERY
        for other in record.of(event.step.session)
    ):
        return "and nobody has killed it"
    return ""


def _looks(record: Record) -> Iterable[Complaint]:
    if record.script.latest:  # The looks are plain reads, at the snapshot.
        return
    for position, (look, event) in enumerate(zip(record.events, record.events[1:], strict=False)):
        if not look.step.looks or look.step.session != event.step.session:
            continue
        if event.step.text.startswith("!"):
            continue
        if look.waited or event.waited or look.answer.error or event.answer.error:
            continue
        if (look.ended_at, event.sent_at, event.ended_at) != (position, position + 1, position + 1):
            continue
        if any(other.ended_at == position + 1 for other in record.events if other is not event):
            continue
        if not look.answer.rows:
            continue
        seen, told = int(look.answer.rows[0][0]), _told(event)
        if told > seen or (told < seen and not event.step.may_skip):
            yield Complaint(
                f"rows that are there are passed over, without an error: {verb(event)}"
                if told < seen
                else f"more rows than there are: {verb(event)}",
                f"{event.step}: {event.answer}; just before, SELECT COUNT(*) gave {seen}",
            )

"""Compares what two engines made of a script, and knows where they differ on purpose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.hunt.sessions import script, xa
from tests.hunt.sessions.judge import (
    CHANGED,
    DEADLOCK,
    DUPLICATE,
    ROLLBACK_ONLY,
    SIGNALLED,
    TIMED_OUT,
    verb,
)
from tests.hunt.sessions.script import Event, Record

# A session's state after a step.
WAITS = "waits"
_MERGED_WITH_VIRTUAL = re.compile(r"FORCE INDEX \((w, \w+|\w+, (\w+, )*w\b)")


@dataclass(frozen=True)
class Difference:
    """The first place where the engines went apart. What follows cannot be compared."""

    position: int
    ours: Event
    theirs: Event
    # WAITS, an error's number, or what came out.
    our_state: str
    their_state: str
    level: str
    # Whether a unique key is too long for an index, so that the server looks for duplicates.
    has_long_key: bool = False
    # Whether an UPDATE of g can give one row the unique value that another one gives up.
    has_key_of_g: bool = False
    # Whether the transaction had its first read with a statement that changes or locks rows.
    began_with_change: bool = False
    # Whether rows are locked and changed as they are now.
    latest: bool = False

    @property
    def title(self) -> str:
        """One line without what differs from one script to the next."""
        states = [
            state if state == WAITS or state.startswith("error") else "succeeds"
            for state in (self.our_state, self.their_state)
        ]
        if states == ["succeeds", "succeeds"]:
            return f"another result than InnoDB's: {verb(self.ours)}"
        return f"{states[0]}, with InnoDB {states[1]}: {verb(self.ours)}"

    def text(self) -> str:
        return (
            f"after step {self.position + 1}: {self.ours.step}\n"
            f"ROCKSDB: {self.our_state}\nInnoDB: {self.their_state}"
        )


@dataclass(frozen=True)
class Reason:
    """A difference on purpose."""

    name: str
    # For people; what is on purpose is in docs/transactions.md.
    why: str
    explains: Callable[[Difference], bool]


def _changes(event: Event) -> bool:
    """Whether the step changes or locks rows, and does not merely read them."""
    text = event.step.text
    return not text.startswith(("SELECT", "XA ")) or any(
        word in text for word in ("FOR UPDATE", "LOCK IN SHARE MODE")
    )


def _locks(difference: Difference) -> bool:
    """Whether the statement locks what it reads; at SERIALIZABLE all do."""
    return difference.level == "SERIALIZABLE" or _changes(difference.ours)


def _is_error(state: str, number: int) -> bool:
    return state == f"error {number}"


def _scans(event: Event) -> bool:
    """Whether the rows that the step changes are those that it finds."""
    text = event.step.text
    return text.startswith("UPDATE") or " SELECT " in text


def _would_wait(state: str) -> bool:
    """Whether a session waits, or has waited in vain, or was told not to."""
    return state == WAITS or _is_error(state, TIMED_OUT)


def _is_told(state: str) -> bool:
    """Whether a session has a result, or was told of a duplicate."""
    return state.startswith("ok") or _is_error(state, DUPLICATE)


REASONS = (
    Reason(
        "conflict",
        "REPEATABLE READ and SERIALIZABLE: a row that changed since the snapshot is error 1213 for "
        "the statement; InnoDB rolls the transaction back with 1020, waits first, or takes the row",
        lambda d: d.level != "READ COMMITTED" and not d.latest and _is_error(d.our_state, DEADLOCK),
    ),
    Reason(
        "row of another moment",
        "with LATEST, what is read to be written elsewhere is of one moment: a row that changed "
        "while the statement waited is error 1213; InnoDB has gap locks for that",
        lambda d: d.latest and d.ours.step.reads_one_state and _is_error(d.our_state, DEADLOCK),
    ),
    Reason(
        "late conflict",
        "InnoDB finds a change since the snapshot by entries of secondary indexes, in rows that do "
        "not belong to the result, and where INSERT ... SELECT has waited at READ COMMITTED",
        lambda d: _is_error(d.their_state, CHANGED),
    ),
    Reason(
        "gaps",
        "InnoDB waits for gaps between rows, for rows that it only looks at and for rows that are "
        "not committed; we lock the rows that belong to the result. That none of those is passed "
        "over, the looks before statements tell",
        lambda d: (
            _would_wait(d.their_state)
            and not _would_wait(d.our_state)
            and _locks(d)
            # What a trigger refuses, it refuses at the first row.
            and (not d.our_state.startswith("error") or _is_error(d.our_state, SIGNALLED))
        ),
    ),
    Reason(
        "duplicate beside a lock",
        "a duplicate of a row that others have locked is told at once, or waits for them, "
        "by what holds the lock: we wait for the key's value and the row, InnoDB for the entry",
        lambda d: (
            WAITS in (d.our_state, d.their_state) and "error 1062" in (d.our_state, d.their_state)
        ),
    ),
    Reason(
        "row locks",
        "we lock a row by its primary key before we look at it, and keys that are not there; "
        "InnoDB looks first at READ COMMITTED, and locks entries of the index that it reads",
        lambda d: _would_wait(d.our_state) and _locks(d),
    ),
    Reason(
        "victim",
        "of a deadlock we roll back the session that closes the circle, InnoDB the one that has "
        "changed least; and with gaps InnoDB has circles where we have none",
        lambda d: (
            DEADLOCK in (d.ours.answer.error, d.theirs.answer.error)
            and (d.our_state == f"error {DEADLOCK}") != (d.their_state == f"error {DEADLOCK}")
        ),
    ),
    Reason(
        "when the snapshot is taken",
        "at a transaction's first read; InnoDB takes it at the first read that locks nothing, "
        "which at SERIALIZABLE none is",
        lambda d: (
            d.level != "READ COMMITTED"
            and not d.latest
            and d.began_with_change
            and d.our_state.startswith("ok")
            and d.their_state.startswith("ok")
        ),
    ),
    Reason(
        "what is skipped",
        "SKIP LOCKED shows which rows others have locked: those that a statement met before it "
        "failed, or gaps, are not the same ones",
        lambda d: "SKIP LOCKED" in d.ours.step.text and "ok" in d.our_state,
    ),
    Reason(
        "long unique keys",
        "the server looks for a duplicate of a long unique key by a plain read, in which InnoDB "
        "may miss what was committed since the transaction began",
        lambda d: d.has_long_key and all(_is_told(state) for state in (d.our_state, d.their_state)),
    ),
    Reason(
        "victim beside a long unique key",
        "InnoDB rolls back a transaction as a deadlock's victim while the server looks for a "
        "duplicate of its long unique key; the server goes on as if the read had found nothing, "
        "and only its next change is told, by error 4060",
        lambda d: d.has_long_key and _is_error(d.their_state, ROLLBACK_ONLY),
    ),
    Reason(
        "what a scan meets after a wait",
        "which rows a scan meets is decided when it begins; InnoDB goes on from where it waited "
        "and meets what others have put there meanwhile",
        lambda d: (
            d.ours.waited
            and d.theirs.waited
            and not (d.latest and d.ours.step.reads_one_state)
            and all(
                state.startswith("ok") or (_is_error(state, DUPLICATE) and _scans(d.ours))
                for state in (d.our_state, d.their_state)
            )
        ),
    ),
    Reason(
        "which row comes first",
        "one row takes a unique value that another one gives up in the same UPDATE: whether it is "
        "still taken is a matter of the order, and so of the index, which the optimizer chooses",
        lambda d: (
            d.has_key_of_g
            and d.ours.step.text.startswith("UPDATE")
            and "SET g = " in d.ours.step.text
            and "FORCE INDEX" not in d.ours.step.text
            and all(_is_told(state) for state in (d.our_state, d.their_state))
        ),
    ),
    Reason(
        "sorted without values",
        "where merged indexes have virtual columns, a sort of InnoDB's rows finds them without "
        "values: the server has cleared the list of the columns to read",
        lambda d: (
            bool(_MERGED_WITH_VIRTUAL.search(d.ours.step.text))
            and " ORDER BY " in d.ours.step.text
            and d.our_state.startswith("ok")
            and d.their_state.startswith("ok")
        ),
    ),
)


def state_at(event: Event, position: int) -> str:
    """What an event's session shows after a step of the script: waiting, or the answer."""
    if event.sent_at < 0 or event.sent_at > position:
        return "not sent"
    if event.ended_at < 0 or event.ended_at > position:
        return WAITS
    answer = event.answer
    if answer.is_lost:
        return "lost"
    if answer.error:
        return f"error {answer.error}"
    if answer.rows is None:
        return f"ok, {answer.changed} rows"
    return f"ok, {len(answer.rows)} rows: {sorted(answer.rows, key=repr)}"


def first_race(record: Record) -> int:
    """The first step that frees two sessions, whose outcome is a matter of luck.

    len(record.events) is the end, where the sessions leave; one more when there is no such step.
    """
    end = len(record.events)
    return next((at for at in range(end + 1) if len(freed(record, at)) > 1), end + 1)


def freed(record: Record, position: int) -> set[str]:
    """The sessions that waited before a step and go on at the same time behind it."""
    found = set()
    for event in record.events:
        name = event.step.session
        if not 0 <= event.sent_at < position == event.ended_at or event.answer.is_lost:
            continue
        # Whoever was told an error and has no more to say frees others, but does nothing.
        if event.answer.error and all(each.sent_at < position for each in record.of(name)):
            continue
        found.add(name)
    return found


def lucky_sessions(ours: Record, theirs: Record, race: int) -> set[str]:
    """Those that the first race has freed together, with either engine."""
    return freed(ours, race) | freed(theirs, race)


def first_difference(ours: Record, theirs: Record) -> Difference | None:
    """Where the two playings of one script went apart; None when they never did."""
    level = ours.script.level
    has_long_key = any("u TEXT" in statement for statement in ours.script.tables)
    has_key_of_g = any("UNIQUE KEY u (u, g)" in statement for statement in ours.script.tables)
    race = min(first_race(ours), first_race(theirs))
    for position in range(min(race, len(ours.events)) + 1):
        lucky = lucky_sessions(ours, theirs, race) if position == race else set()
        for our_event, their_event in zip(ours.events, theirs.events, strict=True):
            if our_event.step.session in lucky:
                continue
            our_state = state_at(our_event, position)
            their_state = state_at(their_event, position)
            if our_state != their_state:
                return Difference(
                    position,
                    our_event,
                    their_event,
                    our_state,
                    their_state,
                    level,
                    has_long_key,
                    has_key_of_g,
                    began_with_change(ours, our_event),
                    ours.script.latest,
                )
    return None


def began_with_change(record: Record, event: Event) -> bool:
    """Whether the event's transaction began with a statement that locks what it reads.

    At SERIALIZABLE each one does. And somebody else has changed something since.
    """
    is_open = False
    first: Event | None = None
    for each in record.of(event.step.session):
        text = each.step.text
        verb_of_branch = xa.parts(text).verb
        if text in ("BEGIN", "COMMIT", "ROLLBACK", script.RESET) or verb_of_branch in (
            "START",
            "COMMIT",
        ):
            is_open, first = text == "BEGIN" or verb_of_branch == "START", None
        elif is_open and first is None and not text.startswith(("SAVEPOINT", "XA ", "!")):
            first = each
        if each is event:
            break
    if first is None or first is event:
        return False
    others_changed = any(
        first.sent_at <= each.ended_at <= event.ended_at
        and (_changes(each) or each.step.text == "COMMIT" or xa.parts(each.step.text).verb)
        for each in record.events
        if each.step.session != event.step.session
    )
    return others_changed and (record.script.level == "SERIALIZABLE" or _changes(first))


def reason_of(difference: Difference) -> Reason | None:
    """Why the engines may differ so; None when nothing explains it."""
    return next((reason for reason in REASONS if reason.explains(difference)), None)


def first_choice_apart(ours: Record, theirs: Record) -> int:
    """The step behind which a scan that had to wait has changed other rows in each playing.

    It may have told the same of them: that shows in what follows, for the reason "what a scan meets
    after a wait". One more than there are positions when there is none.
    """
    apart = [
        max(our.ended_at, their.ended_at)
        for our, their in zip(ours.events, theirs.events, strict=True)
        if our.step.effect
        and (our.waited and their.waited and _scans(our))
        and _changed_by(ours, our.step.effect.mark) != _changed_by(theirs, our.step.effect.mark)
    ]
    return min(apart, default=len(ours.events) + 2)


def _changed_by(record: Record, mark: int) -> set[str]:
    """The rows with the mark of a statement that changed them, or made them of others."""
    logs = [log.split(",") for logs in record.logs.values() for log in logs]
    return {log[0] for log in logs if str(mark) in (log[0].split(".")[0], *log[1:])}


def rows_differ(ours: Record, theirs: Record) -> str:
    """How the tables differ at the end, of playings without a difference."""
    if min(first_race(ours), first_race(theirs)) <= len(ours.events):
        return ""
    for table in ours.rows:
        mine, other = ours.rows[table], theirs.rows[table]
        only = [row for row in mine if row not in other]
        lacking = [row for row in other if row not in mine]
        if mine != other and not _copied_from_snapshots(ours, only, lacking):
            return f"{table}: only with ROCKSDB {only}, only with InnoDB {lacking}"
    return ""


def _copied_from_snapshots(
    record: Record, only: Sequence[tuple[object, ...]], lacking: Sequence[tuple[object, ...]]
) -> bool:
    """Whether all of these rows are copies that INSERT ... SELECT has made of others.

    As many in both, and by statements that read snapshots of different times, for the reason "when
    the snapshot is taken". The log is a row's last column.
    """
    consistent = record.script.level != "READ COMMITTED" and not record.script.latest
    if not consistent or not only or len(only) != len(lacking):
        return False
    copied = {
        str(event.step.effect.mark)
        for event in record.events
        if event.step.effect
        and event.step.effect.kind == script.COPY
        and began_with_change(record, event)
    }
    births = [str(row[-1]).split(",")[0] for row in (*only, *lacking)]
    return sorted(births[: len(only)]) == sorted(births[len(only) :]) and all(
        birth.split(".")[0] in copied for birth in births
    )

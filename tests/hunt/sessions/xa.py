"""XA transactions in scripts: their statements, and which of their errors are for a reason.

A branch is named by the schema and a word of the script's own, so that scripts that are played at
the same time do not meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.hunt.sessions import script, triggers
from tests.hunt.sessions.script import Event, Record

NO_BRANCH = 1397
WRONG_STATE = 1399
OUTSIDE = 1400
ROLLED_BACK = 1402
# The answer to COMMIT after a time-out or a deadlock, with which the branch is gone.
ROLLED_BACK_FOR = {1613, 1614}
# What XA statements are told, and others within a branch, where they have no place.
ERRORS = {NO_BRANCH, 1398, WRONG_STATE, OUTSIDE, ROLLED_BACK, 1440} | ROLLED_BACK_FOR


def statement(verb: str, branch: str, tail: str = "") -> str:
    """An XA statement about a branch."""
    return f"XA {verb} '{{schema}}','{branch}'{tail and f' {tail}'}"


@dataclass(frozen=True)
class Parts:
    """An XA statement, taken apart; without a verb it is another statement."""

    verb: str = ""
    branch: str = ""
    is_one_phase: bool = False


def parts(text: str) -> Parts:
    """What a statement says."""
    words = text.split()
    if words[0] != "XA":
        return Parts()
    return Parts(words[1], words[2].split(",")[-1].strip("'"), words[-1] == "PHASE")


def left_prepared(record: Record, branch: str, before: int) -> bool:
    """Whether the session of a branch has gone and left it prepared, before a step of the script.

    Whoever names it then is to find it, unless others have ended it.
    """
    owner = ""
    is_left = False
    for event in record.events:
        text = event.step.text
        if not 0 <= event.ended_at < before:
            continue
        done = parts(text)
        if done.branch == branch and not event.answer.error:
            owner = event.step.session if done.verb == "PREPARE" else ""
            is_left = False
        elif event.step.session == owner and event.applied:
            is_left = is_left or text in script.LEAVES
    return is_left


@dataclass
class _Session:
    """Follows the state of one session: none, open, active, idle, prepared or rolled back."""

    record: Record
    state: str = "none"
    branch: str = ""
    # The step by which its latest statement had ended.
    ended_at: int = -1

    def allows(self, event: Event) -> bool:
        """Whether a statement has its place in the state."""
        done = parts(event.step.text)
        is_own = done.branch == self.branch
        if done.verb == "START":
            return self.state == "none"
        if done.verb in ("END", "PREPARE"):
            return is_own and self.state == {"END": "active", "PREPARE": "idle"}[done.verb]
        if done.verb and self.state == "none":
            # What had to wait for its turn may come after the player has ended the branch.
            is_late = done.branch in self.record.ended and self.ended_at >= event.sent_at
            return (
                not done.is_one_phase
                and not is_late
                and left_prepared(self.record, done.branch, event.sent_at)
            )
        if done.verb == "COMMIT":
            return is_own and self.state == ("idle" if done.is_one_phase else "prepared")
        if done.verb == "ROLLBACK":
            return is_own and self.state in ("idle", "prepared", "rolled back")
        if event.step.text in ("BEGIN", "COMMIT", "ROLLBACK") or "START" in event.step.text:
            return self.state in ("none", "open")
        return self.state in ("none", "open", "active")

    def go_on(self, event: Event) -> None:
        """The state after a statement."""
        text, done = event.step.text, parts(event.step.text)
        self.ended_at = event.ended_at
        if event.answer.error:
            if event.answer.error in ROLLED_BACK_FOR and done.branch == self.branch:
                self.state = "none"
            elif event.in_transaction is False and self.state != "none":
                self.state = "rolled back" if self.state in _UNDER_WAY else "none"
        elif done.verb in _THEN:
            self.state, self.branch = _THEN[done.verb], done.branch
        elif done.verb:
            self.state = self.state if done.branch != self.branch else "none"
        elif text == "BEGIN" or text.startswith("START TRANSACTION"):
            self.state = "open"
        elif text in ("COMMIT", "ROLLBACK"):
            self.state = "none"


_UNDER_WAY = ("active", "idle", "rolled back")
_THEN = {"START": "active", "END": "idle", "PREPARE": "prepared"}


def misplaced_errors(record: Record) -> Iterator[tuple[Event, str]]:
    """Errors of XA in states that allow the statement, with the state."""
    for name in record.script.sessions:
        session = _Session(record)
        for event in record.of(name):
            if event.applied and event.step.text == script.RESET:
                session.state, session.branch = "none", ""
            if event.sent_at < 0 or event.ended_at < 0 or event.step.text.startswith("!"):
                continue
            if event.answer.error in ERRORS and not _is_right(record, session, event):
                yield event, session.state
            session.go_on(event)


def _is_right(record: Record, session: _Session, event: Event) -> bool:
    """Whether an error of XA is the answer to a statement in the session's state."""
    error, done = event.answer.error, parts(event.step.text)
    if error in ROLLED_BACK_FOR:
        return session.state == "rolled back" and done.branch == session.branch
    # Of a branch that has changed nothing there is nothing to commit, or to undo.
    ends = done.verb in ("COMMIT", "ROLLBACK")
    if error == ROLLED_BACK and ends and not _changes(record, done.branch):
        return True
    return not session.allows(event)


def _changes(record: Record, branch: str) -> bool:
    """Whether statements of a branch have changed rows, and no savepoint has undone that."""
    inside = ""
    changes = saved = 0
    for event in record.events:
        text, done, rows = event.step.text, parts(event.step.text), event.answer.rows
        if done.branch == branch and done.verb in ("START", "END"):
            inside = event.step.session if done.verb == "START" else ""
        elif event.step.session != inside or event.answer.error:
            continue
        elif text.startswith("SAVEPOINT "):
            saved = changes
        elif text.startswith("ROLLBACK TO "):
            changes = saved
        elif event.step.effect:
            changes += event.answer.changed if rows is None else len(rows)
            if text.startswith("INSERT IGNORE INTO t ") and triggers.tries(record.script.triggers):
                # Its trigger also wrote about rows that were not inserted.
                changes += 1
    return changes > 0

"""A script: the steps of several sessions in one order, and what was told at each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.hunt.actors import Answer

# What becomes of the rows that a statement names, as far as the judge of a record must know.
UPDATE = "update"  # Each changed row gets the statement's mark.
INSERT = "insert"  # `rows` new rows; all of them, or an error.
IGNORE = "ignore"  # Up to `rows` new rows.
COPY = "copy"  # INSERT ... SELECT: as many new rows as it says.
UPSERT = "upsert"  # `rows` rows, each inserted or updated.
REPLACE = "replace"  # `rows` new rows, which may take the place of others.
DELETE = "delete"  # With RETURNING log: what is gone.
DELETE_UNSEEN = "delete unseen"  # As many rows as it says are gone.

# Steps that are no statements of the session itself.
KILL_QUERY = "!kill query"
KILL = "!kill"
DISCONNECT = "!disconnect"
RESET = "!reset"  # COM_RESET_CONNECTION: a pool gives the connection to somebody else.
# With these a session's transaction is over; a prepared one is left to others.
LEAVES = (KILL, DISCONNECT, RESET)
AWAIT = "!await"  # Until the session's statement has ended, by a time-out for instance.


@dataclass(frozen=True)
class Effect:
    """What a statement does when it succeeds."""

    kind: str
    # In the column `log` of each row that it changes or makes.
    mark: int
    rows: int = 0


@dataclass(frozen=True)
class Step:
    """A statement of a session, or a step that begins with `!` and is done to the session."""

    session: str
    text: str
    effect: Effect | None = None
    # A plain SELECT COUNT(*): so many rows must the next statement of the session change or give,
    # if it does not wait and nothing comes between.
    looks: bool = False
    # Of a statement after a look: it may leave rows out (SKIP LOCKED).
    may_skip: bool = False
    # What another part's judge must know of it.
    role: object = None

    def __str__(self) -> str:
        return f"{self.session}: {self.text}"

    @property
    def reads_one_state(self) -> bool:
        """Whether it locks rows in shared mode, for the client or for what it writes elsewhere.

        These are of one moment, also where rows are taken as they are now.
        """
        if "LOCK IN SHARE MODE" in self.text:
            return True
        changes = not self.text.startswith(("SELECT", "XA "))
        return changes and ("SELECT " in self.text or " JOIN " in self.text)


@dataclass(frozen=True)
class Script:
    """Tables, and steps of sessions."""

    level: str
    # Statements that make and fill the tables, without ENGINE. In these and in the steps {engine}
    # stands for the engine, and {schema} for the name of the schema.
    tables: tuple[str, ...]
    steps: tuple[Step, ...]
    # Seconds that a wait for a row may take.
    lock_wait_s: int
    # Tables that have `log`, each with its indexes, which must all give the same rows.
    indexes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # How many rows `tables` makes in all.
    rows: int = 0
    # Seconds that a wait for a table may take.
    table_wait_s: int = 60
    # At REPEATABLE READ, rows are locked and changed as they are now, whatever the snapshot shows.
    latest: bool = False

    @property
    def sessions(self) -> list[str]:
        return sorted({step.session for step in self.steps})

    @property
    def triggers(self) -> list[str]:
        """The statements that make triggers."""
        return [text for text in self.tables if text.startswith("CREATE TRIGGER")]

    def text(self) -> str:
        """As people read it."""
        latest = " (the latest rows)" if self.latest else ""
        head = [f"-- Isolation level {self.level}{latest}, lock wait time-out {self.lock_wait_s} s"]
        used = " ".join([*(step.text for step in self.steps), *self.triggers])
        tables = [f"{statement};" for statement in self.tables if _is_used(statement, used)]
        steps = [
            f"-- {step.session}: {step.text[1:]}"
            if step.text.startswith("!")
            else f"/* {step.session} */ {step.text};"
            for step in self.steps
        ]
        return "\n".join([*head, *tables, *steps])


def _is_used(statement: str, used: str) -> bool:
    """Whether the table or routine that a statement makes or fills is named in a text.

    Triggers have their own names there, as they are part of the text.
    """
    found = re.match(r"(?:CREATE \w+|INSERT INTO) (\w+)", statement)
    return found is None or bool(re.search(rf"\b{found[1]}\b", used))


@dataclass
class Event:
    """What came of one step."""

    step: Step
    # The positions in the script after which it was sent, and after which its answer was there: one
    # behind the last where it came once other sessions had left.
    sent_at: int = -1
    ended_at: int = -1
    waited: bool = False
    # Of a step with `!`: whether there was something to do it to.
    applied: bool = False
    answer: Answer = field(default_factory=Answer)
    # After an error: whether the session said that it is still in a transaction.
    in_transaction: bool | None = None


@dataclass
class Record:
    """What one engine made of a script."""

    engine: str
    script: Script
    events: list[Event]
    # By table: the column `log` of each row at the end, read without an index.
    logs: dict[str, list[str]] = field(default_factory=dict)
    # Further things that are wrong at the end: CHECK TABLE, indexes that disagree.
    damage: list[str] = field(default_factory=list)
    # By table: all rows at the end, for the comparison of engines.
    rows: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    # What the triggers wrote down: `what` and `log`.
    seen: list[tuple[str, str]] = field(default_factory=list)
    # The prepared XA transactions that nobody but the player ended, at the end.
    ended: set[str] = field(default_factory=set)

    def of(self, session: str) -> Iterator[Event]:
        """The events of a session, in its order."""
        return (event for event in self.events if event.step.session == session)

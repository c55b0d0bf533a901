"""What a client knows of its rows: what the server has acknowledged, and what is under way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum

# Each row: table, id, other columns, mark.
Row = tuple[str, int, str, int]
State = tuple[Row, ...]


class Sent(Enum):
    """How far the client is with the end of its transaction."""

    NOTHING = "nothing"
    COMMIT = "COMMIT"  # Also XA COMMIT ... ONE PHASE.
    PREPARE = "XA PREPARE"
    PREPARED = "XA PREPARE, answered"
    COMMIT_PREPARED = "XA COMMIT"
    ROLLBACK_PREPARED = "XA ROLLBACK"


@dataclass
class Promise:
    """The rows of one writer."""

    writer: int
    rows: State = ()
    # The rows if what is under way is committed.
    pending: State = ()
    sent: Sent = Sent.NOTHING
    xid: str = ""

    def begin(self, sent: Sent, pending: State, xid: str = "") -> None:
        self.sent, self.pending, self.xid = sent, pending, xid

    def end(self, *, committed: bool) -> None:
        """What was under way is known to be committed or rolled back."""
        if committed:
            self.rows = self.pending
        self.begin(Sent.NOTHING, ())

    @property
    def is_prepared(self) -> bool:
        return self.sent is Sent.PREPARED

    def settle(self, found: State, *, prepared: bool) -> str:
        """Takes what is there after the connection was lost; says what is wrong with it.

        `prepared`: the server lists the transaction in XA RECOVER.
        """
        sent = self.sent
        if prepared:
            if sent not in (Sent.PREPARE, Sent.PREPARED, *_DECISIONS):
                return f"{self.xid or 'a transaction'} is prepared, after {sent.value} was sent"
            self.sent = Sent.PREPARED
            return self.compare(found, self.rows)
        if sent is Sent.COMMIT and found == self.pending:
            self.end(committed=True)
            return ""
        if sent is Sent.PREPARED and self.pending != self.rows:
            return f"{self.xid} was prepared and is not any more"
        self.end(committed=sent is Sent.COMMIT_PREPARED)
        return self.compare(found, self.rows)

    def compare(self, found: State, expected: State) -> str:
        """In which rows what is there differs from what is to be there."""
        if found == expected:
            return ""
        there, wanted = Counter(found), Counter(expected)
        return (
            f"rows of client {self.writer}: {list((there - wanted).elements())} instead of "
            f"{list((wanted - there).elements())}"
        )


_DECISIONS = (Sent.COMMIT_PREPARED, Sent.ROLLBACK_PREPARED)

"""An anomaly that was found, in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.histories.history import COMMITTED, Statement, Transaction

DIRTY_WRITE = "dirty write (G0)"
ABORTED_READ = "aborted read (G1a)"
INTERMEDIATE_READ = "intermediate read (G1b)"
INFORMATION_FLOW = "circular information flow (G1c)"
DIRTY_READ = "dirty read"
LOST_UPDATE = "lost update"
READ_SKEW = "read skew (G-single)"
STALE_READ = "stale read"
WRITE_SKEW = "write skew (G2-item)"
PHANTOM = "phantom (G2)"
INTERNAL = "internal inconsistency"
PARTIAL = "transaction in part"
WRONG_ROWS = "wrong or missing rows"
FOREIGN_VALUE = "value that nobody wrote"

_SHOWN_CHARACTERS = 160


@dataclass
class Finding:
    kind: str
    text: str
    transactions: list[Transaction] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The finding and what its transactions did."""
        lines = [f"{self.kind}: {self.text}"]
        for transaction in self.transactions:
            lines.append(f"  {describe(transaction)}")
            lines += [f"    {_line(statement)}" for statement in transaction.statements]
        return lines


def describe(transaction: Transaction) -> str:
    how = "autocommit, " if transaction.autocommit else ""
    how += "with consistent snapshot, " if transaction.pinned else ""
    end = f"{transaction.end_got:.6f}" if transaction.end_got is not None else "the connection lost"
    verb = "COMMIT" if transaction.outcome == COMMITTED else "end"
    return (
        f"T{transaction.number} of client {transaction.client} ({how}{transaction.outcome}; "
        f"first statement sent at {transaction.begin_sent:.6f}, {verb} sent at "
        f"{transaction.end_sent:.6f}, answered at {end})"
    )


def _line(statement: Statement) -> str:
    outcome = ""
    if statement.error:
        outcome = f" -> error {statement.error}"
    elif statement.got is None:
        outcome = " -> no answer"
    elif statement.reads:
        reads = "; ".join(" ".join(map(str, read)) for read in statement.reads)
        outcome = f" -> {reads}"
    if len(outcome) > _SHOWN_CHARACTERS:
        outcome = f"{outcome[: _SHOWN_CHARACTERS // 2]} … {outcome[-_SHOWN_CHARACTERS // 2 :]}"
    undone = " (undone)" if statement.undone_by is not None and not statement.error else ""
    return f"{statement.sent:.6f} {statement.text}{undone}{outcome}"

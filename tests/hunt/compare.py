"""What makes two answers different, and what a difference is called."""

from __future__ import annotations

from tests.hunt.session import Answer


def difference(right: Answer, given: Answer) -> str:
    """The kind of difference; empty when there is none. A shrinker must keep the kind."""
    if right.is_limited or given.is_limited:
        return ""
    if right.error and given.error:
        return "" if right.error == given.error else f"error {given.error}, not {right.error}"
    if given.error:
        return f"error {given.error} in place of an answer"
    if right.error:
        return f"an answer in place of error {right.error}"
    if right.rows == given.rows:
        return ""
    wanted, found = _size(right), _size(given)
    if wanted == found:
        return "other rows" if sorted(right.rows) != sorted(given.rows) else "another order of rows"
    return "rows are missing" if found < wanted else "rows too many"


def _size(answer: Answer) -> int:
    """The rows that an answer is made of: those it counts, if it is one row that begins so."""
    if len(answer.rows) == 1:
        first = answer.rows[0].partition(",")[0]
        if first.isdigit():
            return int(first)
    return len(answer.rows)

"""Triggers that write each change of the table `t` down in a second table, and their judge.

What they wrote must be what the rows have seen: a statement that fails undoes both, and nobody is
told of one without the other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

# The second table: what happened to a row, and the row's `log` after it, or before a DELETE.
SEEN = "seen"
_INSERT, _UPDATE, _DELETE = "insert", "update", "delete"
# Before a row is inserted; it need not be inserted then.
TRY = "try"
_REFUSE = "IF NEW.n > 1 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF"


def create(chance: random.Random) -> list[str]:
    """The statements that make the second table and the triggers, once `t` has its first rows."""
    keys = chance.choice(("", ", KEY what (what)", ", PRIMARY KEY (what, log(200))"))
    update, delete = (chance.choice(("BEFORE", "AFTER")) for _ in range(2))
    made = [
        f"CREATE TABLE {SEEN} (what VARCHAR(10) NOT NULL, log VARCHAR(500) NOT NULL{keys})",
        _trigger("inserted", "AFTER INSERT", _write(_INSERT, "NEW")),
        _trigger("updated", f"{update} UPDATE", _write(_UPDATE, "NEW")),
        _trigger("deleted", f"{delete} DELETE", _write(_DELETE, "OLD")),
    ]
    # With a primary key a row could not be tried twice.
    if "PRIMARY" not in keys and chance.random() < 0.5:
        made.append(_trigger("tried", "BEFORE INSERT", _write(TRY, "NEW")))
    if chance.random() < 0.5:
        # By then the statement has written down some rows and changed them.
        made.append(_trigger("refused", "AFTER UPDATE", _REFUSE))
    return made


def tries(made: Iterable[str]) -> bool:
    """Whether one of the triggers writes of each row that is to be inserted."""
    return any(f"'{TRY}'" in text for text in made)


def _trigger(name: str, event: str, body: str) -> str:
    return f"CREATE TRIGGER {name} {event} ON t FOR EACH ROW {body}"


def _write(what: str, row: str) -> str:
    return f"INSERT INTO {SEEN} VALUES ('{what}', {row}.log)"


def differ(
    logs: Iterable[str],
    seen: Collection[tuple[str, str]],
    first: Iterable[str] = (),
    *,
    is_tried: bool = False,
) -> Iterator[str]:
    """Where what the triggers wrote is not what the rows have seen.

    A row that is there, or was deleted, has its birth and each of its changes written down once,
    and nothing else is. Each of the `first` rows is there or was deleted; with `is_tried`
    whatever was inserted was tried before.
    """
    written = Counter((what, log) for what, log in seen if what != TRY)
    rows = [*logs, *(log for (what, log), count in written.items() if what == _DELETE)]
    expected = Counter({key: count for key, count in written.items() if key[0] == _DELETE})
    for row in rows:
        birth, *marks = row.split(",")
        if not birth.startswith("0."):
            expected[_INSERT, birth] += 1
        for number in range(1, len(marks) + 1):
            expected[_UPDATE, ",".join([birth, *marks[:number]])] += 1
    for what, log in sorted(set(written) | set(expected)):
        found, wanted = written[what, log], expected[what, log]
        if found != wanted:
            yield f"{what} of {log}: written {found} times, by what the rows have seen {wanted}"
    for (what, log), count in written.items():
        if what == _DELETE and count > 1:
            yield f"{what} of {log}: written {count} times"
    births = Counter(row.split(",")[0] for row in rows)
    for birth in first:
        if births[birth] != 1:
            yield f"{birth} is there or was deleted {births[birth]} times"
    tried = {log for what, log in seen if what == TRY}
    for what, log in written:
        if is_tried and what == _INSERT and log not in tried:
            yield f"{log} was inserted, and not tried before"

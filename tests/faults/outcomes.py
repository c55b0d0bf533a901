"""What a call of the engine may meet, and what the client must be told of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from cairn.errors import CairnError
from cairn.paths import ROOT
from tests.faults.plan import CALLS, FILE_READS, LOCKS

_STATUS = ROOT / "engine" / "base" / "status.h"
ENGINE_ERROR = 1296  # "Got error N '...' from ROCKSDB"
COMMIT_FAILED = 1180
KILLED = 1317


@dataclass(frozen=True)
class Outcome:
    """What a call may meet, and the numbers of the errors that a client may get for it."""

    name: str
    numbers: frozenset[int]
    only: int = CALLS  # Which calls meet it.
    ends_transaction: bool = False


OUTCOMES = (
    Outcome("LockTimeout", frozenset({1205}), only=LOCKS),
    Outcome("Deadlock", frozenset({1213}), only=LOCKS, ends_transaction=True),
    Outcome("SnapshotConflict", frozenset({1213}), only=LOCKS),
    Outcome("LockLimit", frozenset({ENGINE_ERROR}), only=LOCKS),
    Outcome("IoError", frozenset({ENGINE_ERROR})),
    Outcome("Corruption", frozenset({ENGINE_ERROR})),
    Outcome("NoSpace", frozenset({1021})),
    Outcome("Aborted", frozenset({ENGINE_ERROR})),
    Outcome("Internal", frozenset({ENGINE_ERROR})),
)
# What the engine meets below, in reads of files, iterators among them.
FILE_OUTCOMES = (
    Outcome("IoError", frozenset({ENGINE_ERROR}), only=FILE_READS),
    Outcome("Corruption", frozenset({ENGINE_ERROR}), only=FILE_READS),
)
IN_SHORT = ("LockTimeout", "Deadlock", "IoError", "Corruption")
KILL = Outcome("a kill", frozenset({KILLED}))


@cache
def engine_outcomes() -> dict[str, int]:
    """The numbers of the engine's outcomes, by their names without the k ("LockTimeout")."""
    text = _STATUS.read_text(encoding="utf-8")
    body = re.search(r"enum class StatusCode \{(.*?)\};", text, re.DOTALL)
    if body is None:
        raise CairnError(f"{_STATUS} has no StatusCode.")
    names = re.findall(r"^\s*k(\w+),", body[1], re.MULTILINE)
    return {name: number for number, name in enumerate(names)}

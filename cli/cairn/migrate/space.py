"""Room on the volume that the copies come to."""

from __future__ import annotations

import os
from pathlib import Path

from cairn.errors import CairnError
from cairn.migrate.link import Session

# What stays free beside the expected size, for logs, compactions and other tables.
RESERVE_BYTES = 1 << 30


def directory(session: Session, target: str) -> Path:
    """Where the tables of the engine are."""
    data = Path(str(session.value("SELECT @@datadir")))
    if target != "rocksdb":
        return data
    return data / str(session.value("SELECT @@rocksdb_datadir"))


def free_bytes(session: Session, target: str) -> int | None:
    """Free bytes of that volume; None where we may not look."""
    try:
        found = os.statvfs(directory(session, target))
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def require(session: Session, target: str, expected_bytes: int, what: str) -> None:
    """Refuses to begin what may not fit. Where free space is unknown the plan has said so."""
    free = free_bytes(session, target)
    if free is not None and free < expected_bytes + RESERVE_BYTES:
        raise CairnError(
            f"{what}: {free >> 20:,} MiB are free in {directory(session, target)}, and the copy "
            f"takes about {expected_bytes >> 20:,} MiB beside a reserve of {RESERVE_BYTES >> 20:,} "
            "MiB. Make room, then --resume."
        )

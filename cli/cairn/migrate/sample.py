"""What the target says to a table, and a sample of its rows: size and speed to expect.

A temporary table of the same definition is made and dropped in our own session. Nobody else sees
it, and nothing of it stays.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from typing import Any

from cairn.migrate import definition
from cairn.migrate.link import ACCESS_DENIED, Session, name
from cairn.migrate.schema import Table, sql_of

SPEED_ROWS = 20_000
SIZE_ROWS = 2_000
SIZE_BYTES = 8 << 20
ROW_BYTES = 16  # What an engine adds to a row: versions, lengths.
# Keys of secondary indexes share prefixes and compress; what is left of them, roughly.
INDEX_SHARE = 0.5
# How much of a compressed block's size a whole file has more, with filters and indexes.
FILES_SHARE = 1.1
PROBE = "cairn_migrate_probe"


@dataclass(frozen=True)
class Sample:
    """What was seen. Speeds are rows a second; None: not measured."""

    answer: str  # What the server said to the definition.
    accepted: bool | None  # None: it was not asked.
    rows_per_second: float | None = None
    checksums_per_second: float | None = None
    row_bytes: float | None = None


def take(session: Session, table: Table, target: str) -> Sample:
    """Asks the server and copies some rows. The session is one without a binary log, if it may."""
    import pymysql

    if table.kind != "BASE TABLE":
        return Sample("not asked: there is no such temporary table", None)
    parsed = definition.parse(table.definition)
    probe = f"{name(table.id[0])}.{name(PROBE)}"
    text = definition.create(parsed, probe, target, temporary=True)
    try:
        session.execute(f"USE {name(table.id[0])}")
        session.execute(text)
    except pymysql.MySQLError as error:
        number, said = error.args[0], error.args[-1]
        if number in ACCESS_DENIED:
            return Sample(f"not asked: {said}", None)
        return Sample(f"{number}: {said}", False)
    try:
        warnings = session.rows("SHOW WARNINGS")
        said = "; ".join(str(row[2]) for row in warnings) or "accepted"
        copied, checked = _speeds(session, table, probe)
        return Sample(said, True, copied, checked, _row_bytes(session, table))
    finally:
        session.execute(f"DROP TEMPORARY TABLE IF EXISTS {probe}")


def _speeds(session: Session, table: Table, probe: str) -> tuple[float | None, float | None]:
    """Rows a second of a copy and of CHECKSUM TABLE; None where there are too few to tell."""
    columns = ", ".join(map(name, table.stored))
    begun = time.monotonic()
    rows = session.execute(
        f"INSERT INTO {probe} ({columns}) SELECT {columns} FROM {sql_of(table.id)} "
        f"LIMIT {SPEED_ROWS}"
    )
    copied = time.monotonic() - begun
    if rows < 100:
        return None, None
    begun = time.monotonic()
    session.rows(f"CHECKSUM TABLE {probe}")
    return rows / copied, rows / max(1e-6, time.monotonic() - begun)


def _row_bytes(session: Session, table: Table) -> float | None:
    """The bytes of a row on the target with its index entries, from values that we compress."""
    average = table.data_bytes / table.rows if table.rows else 100
    limit = int(max(20, min(SIZE_ROWS, SIZE_BYTES / max(1.0, average))))
    columns = ", ".join(map(name, table.stored))
    rows = session.rows(f"SELECT {columns} FROM {sql_of(table.id)} LIMIT {limit}")
    if not rows:
        return None
    encoded = [b"".join(_bytes(value) for value in row) for row in rows]
    blocks = b"".join(encoded)
    whole = len(blocks) + ROW_BYTES * len(rows)
    ratio = len(zlib.compress(blocks, 1)) / max(1, len(blocks))
    indexes = sum(
        line.lstrip().startswith(("KEY ", "UNIQUE KEY "))
        for line in definition.parse(table.definition).body
    )
    entry = min(24.0, whole / len(rows)) * INDEX_SHARE
    return (whole * ratio * FILES_SHARE) / len(rows) + indexes * entry


def _bytes(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, int):
        return value.to_bytes(8, "big", signed=True) if -(2**63) <= value < 2**63 else b"\0" * 9
    return str(value).encode("utf-8", "surrogateescape")

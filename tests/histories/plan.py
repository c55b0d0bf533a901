"""What ./cairn histories is to run, and the server for it."""

from __future__ import annotations

from dataclasses import dataclass

ROUND_S = 5.0
MOST_CLIENTS = 16
OPTIONS = (
    "--rocksdb-flush-log-at-trx-commit=1",
    "--rocksdb-block-cache-size=32M",
    # Small memtables and files, so that transactions meet flushes and compactions.
    "--rocksdb-default-cf-options=write_buffer_size=256k;target_file_size_base=256k;"
    "max_bytes_for_level_base=1m",
    "--innodb-lock-wait-timeout=1",
)


@dataclass(frozen=True)
class Plan:
    """What to run, at one isolation level or several."""

    levels: tuple[str, ...]
    seconds: float
    seed: int
    clients: int | None = None  # None: each round has another number, up to MOST_CLIENTS.
    kills: int = 0
    engine: str = "ROCKSDB"
    check_as: str | None = None
    savepoints: bool = True
    moving_scans: bool = True
    binlog: bool = False
    range_locks: bool = False
    latest: bool = False  # What conflicts with a snapshot is taken as it is now.
    definitions: bool = False  # Another session changes them.
    foreign_keys: bool = False  # Parents and children instead of histories.
    settings: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # Of the server, as NAME=VALUE.


# Repeatable reads of InnoDB are those of a snapshot only with this.
REFUSES_CONFLICTS = ("--loose-innodb-snapshot-isolation=ON", "--cairn-snapshot-conflicts=ERROR")
TAKES_LATEST = ("--loose-innodb-snapshot-isolation=OFF", "--cairn-snapshot-conflicts=LATEST")
BINARY_LOG = ("--log-bin=binlog", "--server-id=1", "--binlog-format=ROW")


def server_options(plan: Plan) -> tuple[str, ...]:
    """The options of a server for a plan."""
    return (
        *OPTIONS,
        *(TAKES_LATEST if plan.latest else REFUSES_CONFLICTS),
        *(BINARY_LOG if plan.binlog else ()),
        *(("--cairn-range-locks=ON",) if plan.range_locks else ()),
        *(f"--{option}" for option in plan.options),
    )

"""Which way a set of tables goes, and why. Decisions only: nothing here asks the server."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from cairn.migrate.definition import parse
from cairn.migrate.schema import Id, Table, text_of

# Primary keys of these types are read in pieces: comparing with a literal orders them as the key
# does. ENUM and SET compare as strings but are ordered by number, FLOAT is not exact.
NUMBERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "decimal"})
TIMES = frozenset({"date", "datetime", "timestamp"})
STRINGS = frozenset({"char", "varchar", "binary", "varbinary"})
PIECES = NUMBERS | TIMES | STRINGS


class Way(Enum):
    """How tables are converted."""

    ONLINE = "online"  # A shadow is filled beside writers, whose changes triggers carry.
    HELD = "held"  # A shadow is filled while writers wait; reads go on.
    ALTER = "alter"  # ALTER TABLE … ENGINE; clients wait.
    NONE = "none"  # Not converted.


@dataclass(frozen=True)
class Circumstances:
    """What the server is like, as far as it decides about ways."""

    target: str  # rocksdb or innodb
    binary_log: bool = False
    statement_format: bool = False  # binlog_format=STATEMENT, and no range locks
    without_binary_log: bool = False  # --no-binlog
    replicating: bool = False  # A replica that applies changes now
    cluster: bool = False  # Galera
    verify: str = "checksum"


@dataclass(frozen=True)
class Decision:
    """A way, why it is not a better one, and what the user has to know."""

    way: Way
    reasons: tuple[str, ...] = ()


def source_engine(target: str) -> str:
    return "innodb" if target == "rocksdb" else "rocksdb"


def readable_in_pieces(table: Table) -> bool:
    """Whether the rows can be read in pieces by primary key."""
    columns = [table.column(name) for name in table.primary_key]
    return bool(columns) and all(
        column.type in PIECES and not column.generated and not column.nullable for column in columns
    )


def obstacles(table: Table, circumstances: Circumstances) -> list[str]:
    """What keeps a table from being converted at all, as sentences."""
    found = []
    if circumstances.statement_format and circumstances.target == "rocksdb":
        found.append(
            "binlog_format=STATEMENT: ROCKSDB refuses changes in that format. Set it to ROW or "
            "MIXED, also for clients, or cairn_range_locks=ON."
        )
    if circumstances.cluster:
        found.append("a Galera cluster does not keep the locks that a migration needs.")
    if circumstances.replicating:
        found.append(
            "the server applies changes as a replica, and those run no triggers: STOP SLAVE "
            "SQL_THREAD until the migration is done."
        )
    if table.kind == "SEQUENCE":
        found.append("a sequence stays as it is: its engine makes no difference.")
        return found
    if table.kind == "SYSTEM VERSIONED":
        found.append(
            "it has system versions: the server does not change the engine of such a table, and a "
            "copy would have other times. Drop the versioning first, or leave the table."
        )
    elif table.kind == "BASE TABLE":
        options = parse(table.definition).options
        if circumstances.target == "rocksdb" and re.search(
            r"`?encrypted`?='?(yes|on|1)", options, re.IGNORECASE
        ):
            found.append(
                "its file is encrypted, and ROCKSDB does not encrypt. If that is acceptable: "
                f"ALTER TABLE {text_of(table.id)} ENCRYPTED=NO."
            )
    else:
        found.append(f"it is a {table.kind}, which is not converted.")
    return found


def differences(table: Table, target: str) -> list[str]:
    """What is otherwise on the other engine, as far as the definition tells."""
    if target != "rocksdb":
        return []
    parts = parse(table.definition)
    found = []
    for attribute in re.findall(
        r"(ROW_FORMAT|KEY_BLOCK_SIZE|`?PAGE_COMPRESSED`?|`?ENCRYPTED`?|STATS_\w+)=",
        parts.options,
        re.IGNORECASE,
    ):
        found.append(f"{attribute.strip('`').upper()} stays in the definition without effect")
    if "DIRECTORY" in parts.options or " DIRECTORY = " in parts.partitions:
        found.append("DATA DIRECTORY is dropped: rocksdb_datadir has all tables")
    if any("AUTO_INCREMENT" in line for line in parts.body):
        found.append("AUTO_INCREMENT goes on with the next value")
    if not table.primary_key:
        found.append("no primary key: ROCKSDB adds a hidden one, as InnoDB does")
    return found


def of_set(
    tables: list[Table], circumstances: Circumstances, outside: Iterable[Id] = ()
) -> Decision:
    """The way of a connected set; `outside` are tables tied to it that are not selected."""
    blocked = [
        f"{text_of(table.id)}: {text}"
        for table in tables
        for text in obstacles(table, circumstances)
    ]
    if others := sorted(outside):
        blocked.append(
            f"foreign keys tie it to {', '.join(map(text_of, others))}: they go together or not at "
            "all. Select them too, with --table or --schema."
        )
    tied = len(tables) > 1 or any(table.foreign_keys for table in tables)
    special = [reason for table in tables for reason in _needs_alter(table)]
    if tied and special:
        blocked.extend(
            f"{reason} and foreign keys: ALTER TABLE … ENGINE refuses tables with foreign keys, "
            "and triggers do not go along with a copy. Drop the triggers (SHOW CREATE TRIGGER "
            "has them), migrate, and make them again."
            for reason in special
        )
    if blocked:
        return Decision(Way.NONE, tuple(blocked))
    if special:
        return Decision(Way.ALTER, (*special, *_waits_of_alter(circumstances)))
    if tied:
        return Decision(
            Way.HELD,
            (
                "foreign keys: actions of the engine on children run no triggers, so changes "
                "cannot be carried",
            ),
        )
    return _of_one(tables[0], circumstances)


def _needs_alter(table: Table) -> list[str]:
    found = []
    if table.triggers:
        found.append(f"{text_of(table.id)} has triggers ({', '.join(table.triggers)})")
    return found


def _waits_of_alter(circumstances: Circumstances) -> tuple[str, ...]:
    if circumstances.verify == "none":
        return ("writers wait, reads go on",)
    return ("reads wait as well, because both checksums are taken under one lock",)


def _of_one(table: Table, circumstances: Circumstances) -> Decision:
    if not table.primary_key:
        return Decision(Way.HELD, ("no primary key",))
    if not readable_in_pieces(table):
        return Decision(Way.HELD, ("rows cannot be read in pieces by this primary key",))
    if not circumstances.binary_log:
        return Decision(
            Way.HELD,
            (
                "no binary log: with triggers clients' transactions would change both engines, and "
                "without the log a crash of the server loses such transactions",
            ),
        )
    if circumstances.without_binary_log:
        return Decision(
            Way.HELD, ("--no-binlog: triggers would log changes of a table that replicas lack",)
        )
    return Decision(Way.ONLINE)

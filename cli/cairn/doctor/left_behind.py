"""Findings about what was left behind: transactions, snapshots, copies, builds, deletions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.texts import count, quoted, several, share, size, span

LEFT = Subject("Left behind")

# Where an alert of packaging/monitoring/alerts.yml asks the same, these are its thresholds.
SNAPSHOT_S = 3600
FILES_FACTOR = 1.5
FILES_BYTES = 1e9
CHECKPOINT_S = 6 * 3600
BUILD_WAITS_S = 3600
DROPPED_INDEXES = 100
TOMBSTONES = 1_000_000


@LEFT.check(
    "index-builds-wait",
    Severity.WARNING,
    "an ALTER TABLE that builds indexes has been waiting for its table for an hour",
    "Transactions that use the table keep it from ending; its changes and temporary files pile up.",
    Source.ENGINE,
    Source.CAIRN,
    Source.PRIVILEGED,
)
def builds_wait(kind: Kind, facts: Facts) -> Iterator[Finding]:
    waiting = [
        b
        for b in facts.builds
        if b.stage.startswith("waiting for the table") and b.seconds > BUILD_WAITS_S
    ]
    if waiting:
        longest = max(waiting, key=lambda build: build.seconds)
        yield kind.found(
            f"{count(len(waiting), 'index build')} waiting; {longest.index} began "
            f"{span(longest.seconds)} ago.",
            "End the transactions that use the table, or the ALTER TABLE.",
            "SELECT * FROM information_schema.ROCKSDB_TRX;",
            "SHOW FULL PROCESSLIST;",
        )


@LEFT.check(
    "dropped-indexes-left",
    Severity.WARNING,
    f"{DROPPED_INDEXES} dropped indexes, or any while background work is paused, still have "
    f"entries",
    "Their space is not free yet.",
    Source.ENGINE,
    Source.DROPPED,
)
def dropped_left(kind: Kind, facts: Facts) -> Iterator[Finding]:
    paused = facts.is_on("rocksdb_pause_background_work")
    if facts.dropped_indexes >= DROPPED_INDEXES or (paused and facts.dropped_indexes):
        yield kind.found(
            f"{count(facts.dropped_indexes, 'dropped index', 'dropped indexes')} to be removed"
            f"{'; background work is paused' if paused else ''}.",
            "Let background work go on, and remove them now.",
            *(("SET GLOBAL rocksdb_pause_background_work = OFF;",) if paused else ()),
            "SET GLOBAL rocksdb_signal_drop_index_thread = ON;",
        )


@LEFT.check(
    "prepared-transactions",
    Severity.WARNING,
    "XA RECOVER lists the same prepared transaction at two looks, a second apart",
    "Nobody decides it: it keeps its row locks over restarts, and going back to the stock plug-in "
    "is not possible. MariaDB does not tell its age.",
    Source.ENGINE,
    Source.TRANSACTIONS,
)
def prepared(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.prepared:
        yield kind.found(
            f"{count(len(facts.prepared), 'prepared transaction')}, undecided for at least "
            f"{facts.prepared_seconds:.0f} s: {several(facts.prepared)}.",
            "Ask the transaction manager that prepared it what was decided, and say it to the "
            "server: commit or roll back.",
            "XA RECOVER FORMAT='SQL';",
            *(f"XA COMMIT {name};  -- or: XA ROLLBACK {name};" for name in facts.prepared[:3]),
        )


@LEFT.check(
    "snapshot-old",
    Severity.WARNING,
    "the oldest snapshot is more than an hour old (alert CairnOldSnapshot)",
    "Compaction keeps every version of rows that it might read: files grow and scans get slower.",
    Source.ENGINE,
    Source.SNAPSHOTS,
)
def snapshot_old(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.oldest_snapshot_s > SNAPSHOT_S:
        yield kind.found(
            f"A snapshot has been held for {span(facts.oldest_snapshot_s)}.",
            "Find the session and end it, if it is forgotten: KILL with its ID.",
            "SELECT p.ID, p.USER, p.HOST, p.TIME, p.COMMAND, p.INFO FROM "
            "information_schema.PROCESSLIST p JOIN information_schema.ROCKSDB_TRX t "
            "ON t.THREAD_ID = p.ID ORDER BY p.TIME DESC;",
        )


@LEFT.check(
    "files-kept",
    Severity.WARNING,
    "data files take 1.5 times the live data, and 1 GB more (alert CairnFilesKept)",
    "A long read, a checkpoint or a backup keeps files that compactions have replaced.",
    Source.ENGINE,
    Source.CAIRN,
)
def files_kept(kind: Kind, facts: Facts) -> Iterator[Finding]:
    files, data = facts.status("cairn_file_bytes"), facts.status("cairn_data_bytes")
    if files > FILES_FACTOR * data and files - data > FILES_BYTES:
        yield kind.found(
            f"{size(files)} in data files, {size(data)} of them live.",
            "End long transactions, and remove checkpoints that are not needed.",
            "SELECT * FROM information_schema.ROCKSDB_TRX;",
            "SET GLOBAL rocksdb_remove_mariabackup_checkpoint = ON;",
        )


@LEFT.check(
    "checkpoint-left",
    Severity.WARNING,
    "a copy of the database in rocksdb_datadir is six hours old (alert CairnCheckpointLeft), or "
    "mariadb-backup's is there while no backup holds its lock",
    "It keeps files that compactions have replaced; the disk fills.",
    Source.ENGINE,
    Source.PLACES,
)
def checkpoint_left(kind: Kind, facts: Facts) -> Iterator[Finding]:
    for found in facts.checkpoints:
        of_tool = found.path.endswith("/mariabackup-checkpoint")
        in_use = of_tool and facts.backup_lock_held
        if found.age_s > CHECKPOINT_S or (of_tool and not in_use):
            held = facts.status("cairn_checkpoint_bytes_held") if of_tool else 0
            yield kind.found(
                f"{found.path} is {span(found.age_s)} old"
                f"{f' and holds {size(held)}' if held else ''}"
                f"{'; a backup still holds its lock' if in_use else ''}.",
                "If no backup runs, and nobody needs the copy, remove it.",
                "SET GLOBAL rocksdb_remove_mariabackup_checkpoint = ON;"
                if of_tool
                else f"rm -r {shlex.quote(found.path)}",
            )


@LEFT.check(
    "tombstones",
    Severity.WARNING,
    "a table has more than a million deletions in its files, and more than rows",
    "Scans read past all of them.",
    Source.ENGINE,
    Source.CAIRN,
    Source.PRIVILEGED,
)
def tombstones(kind: Kind, facts: Facts) -> Iterator[Finding]:
    full = [t for t in facts.tables if t.tombstones > max(TOMBSTONES, t.rows)]
    if full:
        worst = max(full, key=lambda table: table.tombstones)
        yield kind.found(
            f"{count(len(full), 'table')}; {worst.name} has {worst.tombstones:,} deletions beside "
            f"{worst.rows:,} rows ({share(worst.tombstones, worst.rows + worst.tombstones)}).",
            "Compact the table at a quiet time; a snapshot that is held keeps them.",
            f"OPTIMIZE TABLE {quoted(worst.name)};",
        )

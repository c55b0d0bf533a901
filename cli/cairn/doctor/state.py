"""Findings about what the engine is doing, and about damage."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.limits import data_files
from cairn.doctor.texts import count, quoted, several, share, size, span

STATE = Subject("State and damage")

# Where an alert of packaging/monitoring/alerts.yml asks the same, these are its thresholds.
STOPS = 5
SLOWED_S = 300
LEVEL0_PERCENT = 80
PENDING_PERCENT = 50
MEMTABLES_WAITING = 3
MEMTABLE_FACTOR = 1.5
SNAPSHOT_S = 3600
FILES_FACTOR = 1.5
FILES_BYTES = 1e9
CHECKPOINT_S = 6 * 3600
BUILD_WAITS_S = 3600
DROPPED_INDEXES = 100
TOMBSTONES = 1_000_000


@STATE.check(
    "writes-stopped",
    Severity.ERROR,
    "Cairn_write_stopped is 1 (alert CairnWritesStopped)",
    "All writes wait.",
    Source.ENGINE,
    Source.CAIRN,
)
def writes_stopped(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.status("cairn_write_stopped"):
        yield _stalled(kind, facts, "stopped", "RocksDB holds back all writes")


@STATE.check(
    "writes-slowed",
    Severity.WARNING,
    "Cairn_write_delayed_bytes_per_second is above 0 (alert CairnWritesSlowed)",
    "Compaction does not keep up; if that goes on, writes stop.",
    Source.ENGINE,
    Source.CAIRN,
)
def writes_slowed(kind: Kind, facts: Facts) -> Iterator[Finding]:
    rate = facts.status("cairn_write_delayed_bytes_per_second")
    if rate and not facts.status("cairn_write_stopped"):
        yield _stalled(kind, facts, "slowed", f"Writes are slowed to {size(rate)} a second")


def _stalled(kind: Kind, facts: Facts, state: str, text: str) -> Finding:
    now = [stall for stall in facts.stalls if stall.goes_on and stall.state == state]
    causes = several([f"{s.cause} in {s.family}" if s.family else s.cause for s in now])
    remedy = now[0].remedy if now and now[0].remedy else "CAIRN_STALLS says what would end it."
    return kind.found(
        f"{text}{f': {causes}' if causes else ''}.",
        remedy,
        "SELECT * FROM information_schema.CAIRN_STALLS WHERE ENDED IS NULL;",
    )


@STATE.check(
    "stalls-lately",
    Severity.WARNING,
    f"in the last hour writes were stopped more than {STOPS} times, or slowed or stopped for more "
    f"than {SLOWED_S // 60} minutes together",
    "The load is at the limit of what flushes and compactions can do.",
    Source.ENGINE,
    Source.CAIRN,
)
def stalls_lately(kind: Kind, facts: Facts) -> Iterator[Finding]:
    past = [s for s in facts.stalls if not s.goes_on and s.state in ("slowed", "stopped")]
    stops = sum(s.state == "stopped" for s in past)
    seconds = sum(s.seconds or 0 for s in past)
    if stops > STOPS or seconds > SLOWED_S:
        causes = sorted({s.cause for s in past})
        yield kind.found(
            f"In the last hour {count(len(past), 'stall')}, {count(stops, 'stop')} among them, "
            f"{span(seconds)} together: {several(causes)}.",
            "docs/tuning.md says which settings move which limit.",
            "SELECT * FROM information_schema.CAIRN_STALLS;",
        )


def _gauge(code: str, status: str, threshold: int, alert: str, text: str, remedy: str) -> None:
    """Registers a finding about a status that has reached a threshold."""

    @STATE.check(
        code,
        Severity.WARNING,
        f"{status.capitalize()} is {'at least' if status.endswith('tables') else 'above'} "
        f"{threshold} (alert {alert})",
        "Writes will be slowed down soon.",
        Source.ENGINE,
        Source.CAIRN,
    )
    def check(kind: Kind, facts: Facts) -> Iterator[Finding]:
        value = facts.status(status)
        if value >= threshold if status.endswith("tables") else value > threshold:
            jobs = facts.number("rocksdb_max_background_jobs")
            line = f"SET GLOBAL rocksdb_max_background_jobs = {max(4, 2 * jobs)};"
            yield kind.found(f"{text.format(value)}.", remedy, line)


_gauge(
    "level0-fills",
    "cairn_level0_slowdown_percent",
    LEVEL0_PERCENT,
    "CairnLevel0Fills",
    "Level 0 has {:.0f} % of the files at which writes are slowed down",
    "Allow more background jobs, or larger write buffers.",
)
_gauge(
    "compaction-behind",
    "cairn_pending_compaction_slowdown_percent",
    PENDING_PERCENT,
    "CairnCompactionBehind",
    "{:.0f} % of what slows writes down waits for compaction",
    "Allow more background jobs, give the disk more, or load less.",
)
_gauge(
    "memtables-wait",
    "cairn_immutable_memtables",
    MEMTABLES_WAITING,
    "CairnMemtablesWait",
    "{:.0f} full memtables wait to be flushed",
    "The disk is slow or busy with compaction; allow more background jobs if it is not.",
)


@STATE.check(
    "memtables-too-large",
    Severity.WARNING,
    "memtables hold more than 1.5 times rocksdb_db_write_buffer_size (alert "
    "CairnMemtablesTooLarge)",
    "The server takes more memory than was planned.",
    Source.ENGINE,
)
def memtables_too_large(kind: Kind, facts: Facts) -> Iterator[Finding]:
    bound, held = (
        facts.number("rocksdb_db_write_buffer_size"),
        facts.status("rocksdb_memtable_total"),
    )
    if bound and held > MEMTABLE_FACTOR * bound:
        yield kind.found(
            f"Memtables hold {size(held)}, rocksdb_db_write_buffer_size is {size(bound)}.",
            "Flushes are slow, or a reader pins old memtables: look for long statements.",
            "SELECT * FROM information_schema.ROCKSDB_TRX;",
        )


@STATE.check(
    "background-error",
    Severity.ERROR,
    "a flush or a compaction has failed since the start (alert CairnBackgroundError)",
    "Unless RocksDB has recovered by itself, writes fail.",
    Source.ENGINE,
    Source.CAIRN,
)
def background_error(kind: Kind, facts: Facts) -> Iterator[Finding]:
    errors = facts.status("cairn_background_errors")
    if errors:
        yield kind.found(
            f"{count(errors, 'flush or compaction', 'flushes and compactions')} failed since the "
            "start.",
            "The error log says why. Remove the cause. If the log does not say that writes go on, "
            "restart the server.",
            "SHOW GLOBAL VARIABLES LIKE 'log_error';",
        )


@STATE.check(
    "files-damaged",
    Severity.ERROR,
    "a compaction has met a damaged or missing file (alert CairnFileDamaged)",
    "Rows in the damaged blocks cannot be read, and compactions fail on the file.",
    Source.ENGINE,
    Source.CAIRN,
)
def files_damaged(kind: Kind, facts: Facts) -> Iterator[Finding]:
    files = facts.status("cairn_damaged_files")
    if files:
        now = [s for s in facts.stalls if s.state == "damaged" and s.remedy]
        yield kind.found(
            f"{count(files, 'damaged file')} of {data_files(facts):,}.",
            now[0].remedy if now else "CAIRN_STALLS names file and tables. Check disk and memory.",
            "SELECT * FROM information_schema.CAIRN_STALLS WHERE STATE = 'damaged';",
        )


@STATE.check(
    "tables-quarantined",
    Severity.ERROR,
    "a table's own records are damaged or do not fit its definition (alert CairnTableQuarantined)",
    "The table cannot be used; the others can.",
    Source.ENGINE,
    Source.CAIRN,
)
def tables_quarantined(kind: Kind, facts: Facts) -> Iterator[Finding]:
    tables = [t for t in facts.tables if t.state == "quarantined"]
    number = max(len(tables), int(facts.status("cairn_quarantined_tables")))
    if number:
        named = several([f"{t.name} ({t.reason})" if t.reason else t.name for t in tables], 3)
        yield kind.found(
            f"{count(number, 'table is', 'tables are')} quarantined"
            f"{f': {named}' if named else ''}.",
            "Restore each from a backup under another name, or drop it (docs/going-back.md).",
            "SELECT * FROM information_schema.CAIRN_TABLES WHERE STATE = 'quarantined';",
        )


@STATE.check(
    "reads-differed",
    Severity.ERROR,
    "cairn_verify_reads has found an answer that differs from RocksDB's own",
    "Statements may have returned wrong rows.",
    Source.ENGINE,
    Source.CAIRN,
)
def reads_differed(kind: Kind, facts: Facts) -> Iterator[Finding]:
    differing = facts.status("cairn_differing_reads")
    if differing:
        yield kind.found(
            f"{differing:.0f} of {facts.status('cairn_verified_reads'):.0f} reads differed.",
            "Report them with the lines of the error log, which has both answers.",
            "SHOW GLOBAL VARIABLES LIKE 'log_error';",
        )


@STATE.check(
    "marked-corrupted",
    Severity.ERROR,
    "the file ROCKSDB_CORRUPTED is in rocksdb_datadir",
    "The engine has found damage; the next start is refused while the file is there.",
    Source.ENGINE,
    Source.PLACES,
)
def marked_corrupted(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.corrupted_marker:
        yield kind.found(
            f"{facts.corrupted_marker} is there.",
            "Read the error log, check disk and memory, and restore from a backup; remove the file "
            "only when every table is checked.",
            "mariadb-check --all-databases --extended",
        )


@STATE.check(
    "tables-without-definition",
    Severity.WARNING,
    "the engine has a table that the server does not know",
    "Its .frm file is gone, as after DROP TABLE without the engine: its rows take space and cannot "
    "be reached, and no table of that name can be created.",
    Source.ENGINE,
    Source.DEFINITIONS,
)
def undefined(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.undefined_tables:
        yield kind.found(
            f"{count(len(facts.undefined_tables), 'table')} without definition: "
            f"{several(facts.undefined_tables)}.",
            "Copy the .frm file of each from a backup into the directory of its database, then run "
            "FLUSH TABLES. Where the rows are not needed, drop the table: that works without the "
            "file.",
            *(f"DROP TABLE {quoted(name)};" for name in facts.undefined_tables[:3]),
        )


@STATE.check(
    "foreign-keys-dangling",
    Severity.WARNING,
    "a foreign key's parent table is not there or does not fit",
    "Rows of the child that need a parent are refused.",
    Source.ENGINE,
    Source.CAIRN,
    Source.PRIVILEGED,
)
def dangling(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.dangling_keys:
        yield kind.found(
            f"{count(len(facts.dangling_keys), 'foreign key')} without parent: "
            f"{several(facts.dangling_keys)}.",
            "Create the parent with an index on the referenced columns, or drop the foreign key.",
            "SELECT * FROM information_schema.CAIRN_FOREIGN_KEYS WHERE STATE = 'dangling';",
        )


@STATE.check(
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


@STATE.check(
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


@STATE.check(
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


@STATE.check(
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


@STATE.check(
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


@STATE.check(
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


@STATE.check(
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

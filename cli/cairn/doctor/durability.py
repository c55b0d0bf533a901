"""Findings about options by which a crash, or the binary log, loses what was acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.texts import several

DURABILITY = Subject("Durability and the binary log")


def set_where(facts: Facts, name: str) -> str:
    """Who has set a variable, as a clause to add to a sentence; empty when unknown."""
    setting = facts.settings.get(name)
    if setting is None or setting.origin == "COMPILE-TIME":
        return ""
    if setting.file:
        return f", set in {setting.file}"
    words = {"SQL": "SET GLOBAL", "COMMAND-LINE": "the command line", "CONFIG": "an option file"}
    return f", set by {words[setting.origin]}" if setting.origin in words else ""


def now_and_later(name: str, value: str) -> tuple[str, ...]:
    """A variable that can be set while the server runs: the statement, and the option."""
    return f"SET GLOBAL {name} = {value};", "[mariadbd]", f"{name} = {value}"


@DURABILITY.check(
    "log-not-synced",
    Severity.WARNING,
    "rocksdb_flush_log_at_trx_commit is not 1",
    "A crash of the machine (with 0 also one of the server) loses about the last second of "
    "acknowledged transactions. Where the binary log has them, replicas have them and this server "
    "does not.",
    Source.ENGINE,
)
def log_not_synced(kind: Kind, facts: Facts) -> Iterator[Finding]:
    name = "rocksdb_flush_log_at_trx_commit"
    value = facts.value(name)
    if value in ("0", "2"):
        binlog = ""
        if facts.is_on("log_bin"):
            binlog = f"; the binary log is on, sync_binlog = {facts.value('sync_binlog')}"
        yield kind.found(
            f"{name} = {value}{set_where(facts, name)}{binlog}.",
            "Sync the log at each commit, now and in the option file.",
            *now_and_later(name, "1"),
        )


@DURABILITY.check(
    "binlog-not-synced",
    Severity.WARNING,
    "the binary log is on, rocksdb_flush_log_at_trx_commit is 1 and sync_binlog is not",
    "After a crash of the machine the binary log decides which prepared transactions are "
    "committed; "
    "those that had not reached the disk are rolled back although they were acknowledged. The "
    "syncs "
    "of the engine's log are then paid for nothing.",
    Source.ENGINE,
)
def binlog_not_synced(kind: Kind, facts: Facts) -> Iterator[Finding]:
    value = facts.value("sync_binlog")
    synced = facts.value("rocksdb_flush_log_at_trx_commit") == "1"
    if facts.is_on("log_bin") and synced and value != "1":
        yield kind.found(
            f"rocksdb_flush_log_at_trx_commit = 1, but sync_binlog = {value}"
            f"{set_where(facts, 'sync_binlog')}.",
            "Sync the binary log at each commit, now and in the option file.",
            *now_and_later("sync_binlog", "1"),
        )


@DURABILITY.check(
    "two-phase-commit-off",
    Severity.WARNING,
    "the binary log is on and rocksdb_enable_2pc is OFF",
    "After a crash the engine and the binary log may disagree, and so do replicas.",
    Source.ENGINE,
)
def two_phase_off(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.is_on("log_bin") and facts.value("rocksdb_enable_2pc") == "OFF":
        yield kind.found(
            f"rocksdb_enable_2pc = OFF{set_where(facts, 'rocksdb_enable_2pc')}; the binary log is "
            "on.",
            "Turn it on, now and in the option file.",
            *now_and_later("rocksdb_enable_2pc", "ON"),
        )


@DURABILITY.check(
    "statements-refused",
    Severity.WARNING,
    "the binary log is on, binlog_format is STATEMENT, and neither cairn_range_locks nor "
    "rocksdb_unsafe_for_binlog is ON",
    "Every statement that changes a table of the engine fails with error 1665.",
    Source.ENGINE,
)
def statements_refused(kind: Kind, facts: Facts) -> Iterator[Finding]:
    allowed = facts.is_on("cairn_range_locks") or facts.is_on("rocksdb_unsafe_for_binlog")
    if facts.is_on("log_bin") and facts.value("binlog_format") == "STATEMENT" and not allowed:
        ranges = " (or cairn_range_locks = ON)" if facts.is_cairn else ""
        yield kind.found(
            f"binlog_format = STATEMENT{set_where(facts, 'binlog_format')}.",
            f"Log rows, now and in the option file{ranges}; open connections keep their format.",
            *now_and_later("binlog_format", "ROW"),
        )


@DURABILITY.check(
    "unsafe-for-binlog",
    Severity.WARNING,
    "the binary log is on, rocksdb_unsafe_for_binlog is ON globally, binlog_format is not ROW, and "
    "cairn_range_locks is OFF",
    "Statements may be logged in an order in which a replica gets other rows.",
    Source.ENGINE,
)
def unsafe_for_binlog(kind: Kind, facts: Facts) -> Iterator[Finding]:
    name = "rocksdb_unsafe_for_binlog"
    rows = facts.value("binlog_format") == "ROW"
    if (
        facts.is_on("log_bin")
        and facts.is_on(name)
        and not rows
        and not facts.is_on("cairn_range_locks")
    ):
        yield kind.found(
            f"{name} = ON{set_where(facts, name)}, binlog_format = {facts.value('binlog_format')}.",
            "Turn it off and log rows, now and in the option file.",
            f"SET GLOBAL {name} = OFF;",
            *now_and_later("binlog_format", "ROW"),
        )


@DURABILITY.check(
    "log-disabled",
    Severity.ERROR,
    "rocksdb_write_disable_wal is ON globally",
    "New sessions write past the log: a crash loses all that is not in data files yet.",
    Source.ENGINE,
)
def log_disabled(kind: Kind, facts: Facts) -> Iterator[Finding]:
    name = "rocksdb_write_disable_wal"
    if facts.is_on(name):
        yield kind.found(
            f"{name} = ON{set_where(facts, name)}.",
            "Turn it off, let sessions that have it reconnect, and write the memtables to files.",
            f"SET GLOBAL {name} = OFF;",
            "SET GLOBAL rocksdb_force_flush_memtable_now = ON;",
        )


@DURABILITY.check(
    "recovery-mode-lossy",
    Severity.WARNING,
    "rocksdb_wal_recovery_mode is 2 or 3",
    "A start leaves out what is damaged in the log, and all after it with 2, instead of refusing: "
    "acknowledged transactions may be gone with no more than a line in the error log.",
    Source.ENGINE,
)
def recovery_mode_lossy(kind: Kind, facts: Facts) -> Iterator[Finding]:
    name = "rocksdb_wal_recovery_mode"
    if facts.value(name) in ("2", "3"):
        yield kind.found(
            f"{name} = {facts.value(name)}{set_where(facts, name)}.",
            "These modes are for one start after a damage (docs/replication.md). Set the mode "
            "back, "
            "now and in the option file.",
            *now_and_later(name, "0" if facts.is_cairn else "1"),
        )


@DURABILITY.check(
    "checksums-off",
    Severity.WARNING,
    "a column family writes its blocks without checksums (kNoChecksum), or rocksdb_paranoid_checks "
    "is OFF",
    "Damage on the disk is not noticed, or does not stop writes, and goes on into new files, "
    "backups and replicas.",
    Source.ENGINE,
    Source.FAMILIES,
)
def checksums_off(kind: Kind, facts: Facts) -> Iterator[Finding]:
    plain = [
        name
        for name, options in facts.families.items()
        if options.get("TABLE_FACTORY::CHECKSUM") == "0"
    ]
    if plain:
        yield kind.found(
            f"checksum=kNoChecksum in {several(plain)}.",
            "Take it out of the options of column families, in the option file, and restart; new "
            "files then have checksums. For example:",
            "[mariadbd]",
            'rocksdb_default_cf_options = "block_based_table_factory={checksum=kCRC32c}"',
        )
    if facts.value("rocksdb_paranoid_checks") == "OFF":
        yield kind.found(
            f"rocksdb_paranoid_checks = OFF{set_where(facts, 'rocksdb_paranoid_checks')}.",
            "Turn it on in the option file and restart.",
            "[mariadbd]",
            "rocksdb_paranoid_checks = ON",
        )


@DURABILITY.check(
    "replica-position-not-transactional",
    Severity.WARNING,
    "a replica that applies in parallel keeps its position in an Aria or MyISAM table",
    "The position of a transaction that is rolled back to be applied again stays; replication "
    "stops "
    "with 1062 in mysql.gtid_slave_pos.",
    Source.ENGINE,
    Source.DEFINITIONS,
)
def replica_position(kind: Kind, facts: Facts) -> Iterator[Finding]:
    engine = facts.replica_position_engine
    if engine.lower() in ("aria", "myisam") and facts.number("slave_parallel_threads") > 0:
        yield kind.found(
            f"mysql.gtid_slave_pos is a table of {engine}; slave_parallel_threads = "
            f"{facts.value('slave_parallel_threads')}.",
            "Move the position into the engine (docs/replication.md).",
            "STOP SLAVE;",
            "SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_slave_pos;",
            "ALTER TABLE mysql.gtid_slave_pos ENGINE = ROCKSDB;",
            "START SLAVE;",
        )

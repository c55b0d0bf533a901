"""Facts of a healthy server, for the tests of ./cairn doctor, and how to change them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from cairn.doctor.facts import Backup, Facts, Library, Place, Plugin, Process, Setting
from cairn.doctor.versions import OWN_PLUGINS

GIB = 1 << 30
HOUR = 3600.0

SETTINGS = {
    "binlog_format": "ROW",
    "cairn_bypass_memtable_bytes": "0",
    "cairn_format": "cairn",
    "cairn_range_locks": "OFF",
    "cairn_verify_reads": "OFF",
    "default_storage_engine": "ROCKSDB",
    "innodb_buffer_pool_size": str(GIB // 8),
    "log_bin": "ON",
    "open_files_limit": "32768",
    "plugin_maturity": "gamma",
    "rocksdb_allow_to_start_after_corruption": "OFF",
    "rocksdb_blind_delete_primary_key": "OFF",
    "rocksdb_block_cache_size": str(GIB // 2),
    "rocksdb_bulk_load": "OFF",
    "rocksdb_collect_sst_properties": "ON",
    "rocksdb_commit_in_the_middle": "OFF",
    "rocksdb_db_write_buffer_size": "0",
    "rocksdb_deadlock_detect": "ON",
    "rocksdb_enable_2pc": "ON",
    "rocksdb_enable_ttl": "ON",
    "rocksdb_flush_log_at_trx_commit": "1",
    "rocksdb_master_skip_tx_api": "OFF",
    "rocksdb_max_open_files": "16384",
    "rocksdb_no_block_cache": "OFF",
    "rocksdb_paranoid_checks": "ON",
    "rocksdb_pause_background_work": "OFF",
    "rocksdb_stats_level": "1",
    "rocksdb_unsafe_for_binlog": "OFF",
    "rocksdb_wal_recovery_mode": "0",
    "rocksdb_write_disable_wal": "OFF",
    "rocksdb_write_policy": "write_committed",
    "slave_parallel_threads": "0",
    "sync_binlog": "1",
}
FAMILY = {
    "WRITE_BUFFER_SIZE": str(64 << 20),
    "MAX_WRITE_BUFFER_NUMBER": "2",
    "TARGET_FILE_SIZE_BASE": str(64 << 20),
    "COMPACTION_STYLE": "kCompactionStyleLevel",
    "TABLE_FACTORY::CHECKSUM": "1",
}
STATUSES = {
    "cairn_data_bytes": str(10 * GIB),
    "cairn_disk_bytes": str(100 * GIB),
    "cairn_disk_free_bytes": str(50 * GIB),
    "cairn_file_bytes": str(11 * GIB),
    "cairn_level0_files": "4",
    "cairn_level6_files": "150",
    "cairn_write_stopped": "0",
    "rocksdb_memtable_total": str(GIB // 8),
    "uptime": "1000",
}
LIBRARY = Library("/usr/lib/mysql/plugin/ha_rocksdb.so", False, False, False)
PROCESS = Process(4711, 500, 32768, 2 * GIB, 0, 4 * GIB, "the machine", (LIBRARY,))
PLACE = Place("data", "/var/lib/mysql/#rocksdb", "ext4", 100 * GIB, 50 * GIB)
BACKUP = Backup(datetime(2026, 11, 27, 3, 0), 30 * HOUR, "mysql.mariadb_backup_history")


def plugin(name: str, author: str = "Cairn", **changes: str) -> Plugin:
    made = Plugin(name, "1.0", "ACTIVE", "ha_rocksdb.so", author, "Stable", "FORCE_PLUS_PERMANENT")
    return replace(made, **changes)


PLUGINS = tuple(plugin(name) for name in ("ROCKSDB", *OWN_PLUGINS))


def healthy() -> Facts:
    """A server with nothing to find."""
    return Facts(
        socket="/run/mysqld/mysqld.sock",
        settings={name: Setting(value) for name, value in SETTINGS.items()},
        statuses=dict(STATUSES),
        plugins=PLUGINS,
        families={"default": dict(FAMILY), "__system__": dict(FAMILY)},
        process=PROCESS,
        places=(PLACE,),
        log_file="/var/log/mysql/error.log",
        backups=(BACKUP,),
        backup_max_age_s=48 * HOUR,
    )


def altered(
    settings: dict[str, str | Setting] | None = None,
    statuses: dict[str, float] | None = None,
    family: dict[str, str] | None = None,
    process: dict[str, Any] | None = None,
    **changes: Any,
) -> Facts:
    """The healthy server but for these variables, statuses, options and other facts."""
    facts = healthy()
    new = {n: v if isinstance(v, Setting) else Setting(v) for n, v in (settings or {}).items()}
    return replace(
        facts,
        settings=facts.settings | new,
        statuses=facts.statuses | {n: str(v) for n, v in (statuses or {}).items()},
        families=facts.families | {"default": facts.families["default"] | (family or {})},
        process=replace(PROCESS, **(process or {})),
        **changes,
    )

"""./cairn doctor: each finding, with facts that provoke it and with facts that just do not."""

import re
from dataclasses import replace

import pytest

from cairn.doctor import catalogue, left_behind, writes
from cairn.doctor.backups import skips_engine
from cairn.doctor.facts import Build, Checkpoint, Missing, Setting, Source, Stall, Table
from cairn.doctor.texts import restoring
from cairn.doctor.versions import OWN_PLUGINS
from cairn.paths import ROOT
from tests.cli.doctor_facts import (
    BACKUP,
    GIB,
    HOUR,
    LIBRARY,
    PLACE,
    PLUGINS,
    altered,
    healthy,
    plugin,
)

STATEMENT = {"binlog_format": "STATEMENT"}
STALL = Stall("stopped", "memtables", "default", 1.0, False, "")
RETIRED = Setting("OFF", "CONFIG", "/etc/my.cnf", "Accepted for compatibility: does nothing")
TABLE = Table("shop.orders", "ok", rows=5000)
MADE = "/var/lib/mysql/#rocksdb/copy"
BY_TOOL = "/var/lib/mysql/#rocksdb/mariabackup-checkpoint"
WARNED = "2026-11-28 14:00:00 0 [Warning] RocksDB: something"


def libraries(**changes):
    return {"process": {"libraries": (replace(LIBRARY, **changes),)}}


def engine(**changes):
    return {"plugins": (plugin("ROCKSDB", **changes), *PLUGINS[1:])}


def kept_memtables(value):
    return {
        "cairn_bypass_memtable_bytes": "1000000",
        "rocksdb_default_cf_options": f"a=1;max_write_buffer_size_to_maintain={value}",
    }


def switch(name, bad, good):
    return {"settings": {name: bad}}, {"settings": {name: good}}


def gauge(name, bad, good):
    return {"statuses": {name: bad}}, {"statuses": {name: good}}


# For each code: what provokes it, and what is the nearest that does not.
CASES = {
    "not-forced": (engine(load="FORCE"), engine(load="FORCE_PLUS_PERMANENT")),
    "maturity-too-low": (
        engine(maturity="Beta"),
        engine(maturity="Gamma"),
    ),
    "plugins-mixed": (
        {"plugins": (*PLUGINS, plugin("ROCKSDB_OTHER", "Facebook"))},
        {"plugins": (*PLUGINS, plugin("ROCKSDB_OTHER"))},
    ),
    "plugins-incomplete": (
        {"plugins": (*PLUGINS[:-1], replace(PLUGINS[-1], status="DISABLED"))},
        {"plugins": PLUGINS},
    ),
    "library-replaced": (libraries(replaced=True, deleted=True), libraries()),
    "open-files-nearly-used": (
        {"process": {"open_files": 800, "open_files_limit": 1000}},
        {"process": {"open_files": 799, "open_files_limit": 1000}},
    ),
    "open-files-unbounded": (
        {
            "settings": {"rocksdb_max_open_files": "-1"},
            "process": {"open_files": 1, "open_files_limit": 307},
        },
        {
            "settings": {"rocksdb_max_open_files": "-1"},
            "process": {"open_files": 1, "open_files_limit": 308},
        },
    ),
    "open-files-few": switch("rocksdb_max_open_files", "153", "154"),
    # 512 MiB of block cache, 256 MiB of memtables and 128 MiB of InnoDB.
    "memory-beyond-machine": (
        {"process": {"memory": (896 << 20) - 1}},
        {"process": {"memory": 1120 << 20}},
    ),
    "memory-nearly-all": (
        {"process": {"memory": 896 << 20}},
        {"process": {"memory": 1121 << 20}},
    ),
    "swapped-out": (
        {"process": {"resident": 950 << 20, "swapped": 50 << 20}},
        {"process": {"resident": 951 << 20, "swapped": 49 << 20}},
    ),
    "disk-nearly-full": (
        {"places": (replace(PLACE, free=10 * GIB - 1),)},
        {"places": (replace(PLACE, free=10 * GIB),)},
    ),
    # One compaction of 25 files of 64 MiB, and 256 MiB of memtables.
    "disk-too-small-for-compaction": gauge(
        "cairn_disk_free_bytes", (25 * 64 + 256 << 20) - 1, 25 * 64 + 256 << 20
    ),
    "data-in-memory": (
        {"places": (PLACE, replace(PLACE, what="log", file_system="tmpfs"))},
        {"places": (PLACE, replace(PLACE, what="log", file_system="xfs"))},
    ),
    "log-not-synced": switch("rocksdb_flush_log_at_trx_commit", "2", "1"),
    "binlog-not-synced": (
        {"settings": {"sync_binlog": "0"}},
        {"settings": {"sync_binlog": "0", "log_bin": "OFF"}},
    ),
    "two-phase-commit-off": (
        {"settings": {"rocksdb_enable_2pc": "OFF"}},
        {"settings": {"rocksdb_enable_2pc": "OFF", "log_bin": "OFF"}},
    ),
    "statements-refused": (
        {"settings": STATEMENT},
        {"settings": STATEMENT | {"cairn_range_locks": "ON"}},
    ),
    "unsafe-for-binlog": (
        {"settings": STATEMENT | {"rocksdb_unsafe_for_binlog": "ON"}},
        {"settings": {"rocksdb_unsafe_for_binlog": "ON"}},
    ),
    "log-disabled": switch("rocksdb_write_disable_wal", "ON", "OFF"),
    "recovery-mode-lossy": switch("rocksdb_wal_recovery_mode", "2", "1"),
    "checksums-off": (
        {"family": {"TABLE_FACTORY::CHECKSUM": "0"}},
        {"family": {"TABLE_FACTORY::CHECKSUM": "4"}},
    ),
    "replica-position-not-transactional": (
        {"replica_position_engine": "Aria", "settings": {"slave_parallel_threads": "4"}},
        {"replica_position_engine": "InnoDB", "settings": {"slave_parallel_threads": "4"}},
    ),
    "bulk-load-left-on": switch("rocksdb_bulk_load", "ON", "OFF"),
    "locks-skipped": switch("rocksdb_master_skip_tx_api", "ON", "OFF"),
    "background-work-paused": switch("rocksdb_pause_background_work", "ON", "OFF"),
    "deadlocks-not-detected": switch("rocksdb_deadlock_detect", "OFF", "ON"),
    "statements-not-atomic": switch("rocksdb_commit_in_the_middle", "ON", "OFF"),
    "corruption-ignored": switch("rocksdb_allow_to_start_after_corruption", "ON", "OFF"),
    "expired-rows-kept": switch("rocksdb_enable_ttl", "OFF", "ON"),
    "reads-verified": switch("cairn_verify_reads", "ON", "OFF"),
    "file-counts-off": switch("rocksdb_collect_sst_properties", "OFF", "ON"),
    "blind-deletes-replicated": (
        {"settings": {"rocksdb_blind_delete_primary_key": "ON"}},
        {"settings": {"rocksdb_blind_delete_primary_key": "ON", "log_bin": "OFF"}},
    ),
    "stock-format-broken": (
        {
            "settings": {"cairn_format": "stock"},
            "tables": (replace(TABLE, obstacles="PRIMARY: exact order"),),
        },
        {"settings": {"cairn_format": "stock"}, "tables": (TABLE,)},
    ),
    "options-without-effect": (
        {"settings": {"rocksdb_strict_collation_check": RETIRED}},
        {"settings": {"rocksdb_strict_collation_check": replace(RETIRED, origin="COMPILE-TIME")}},
    ),
    "memtables-kept-twice": (
        {"settings": kept_memtables(1000)},
        {"settings": kept_memtables(0)},
    ),
    "write-policy": switch("rocksdb_write_policy", "write_prepared", "write_committed"),
    "statistics-off": switch("rocksdb_stats_level", "0", "1"),
    "problems-logged": (
        {"logged": (WARNED,)},
        {"logged": (f"{WARNED} has no effect: RocksDB has no such option any more",)},
    ),
    "writes-stopped": gauge("cairn_write_stopped", 1, 0),
    "writes-slowed": (
        {"statuses": {"cairn_write_delayed_bytes_per_second": 1 << 20}},
        {"statuses": {"cairn_write_delayed_bytes_per_second": 0}},
    ),
    "stalls-lately": ({"stalls": (STALL,) * 6}, {"stalls": (STALL,) * 5}),
    "level0-fills": gauge("cairn_level0_slowdown_percent", 81, 80),
    "compaction-behind": gauge("cairn_pending_compaction_slowdown_percent", 51, 50),
    "memtables-wait": gauge("cairn_immutable_memtables", 3, 2),
    "memtables-too-large": (
        {
            "settings": {"rocksdb_db_write_buffer_size": "1000"},
            "statuses": {"rocksdb_memtable_total": 1501},
        },
        {
            "settings": {"rocksdb_db_write_buffer_size": "1000"},
            "statuses": {"rocksdb_memtable_total": 1500},
        },
    ),
    "background-error": gauge("cairn_background_errors", 1, 0),
    "files-damaged": gauge("cairn_damaged_files", 1, 0),
    "tables-quarantined": (
        {"tables": (replace(TABLE, state="quarantined", reason="damaged"),)},
        {"tables": (TABLE,)},
    ),
    "reads-differed": gauge("cairn_differing_reads", 1, 0),
    "marked-corrupted": (
        {"corrupted_marker": "/var/lib/mysql/#rocksdb/ROCKSDB_CORRUPTED"},
        {"corrupted_marker": ""},
    ),
    "tables-without-definition": (
        {"undefined_tables": ("shop.orders",)},
        {"undefined_tables": ()},
    ),
    "foreign-keys-dangling": ({"dangling_keys": ("shop.orders.fk",)}, {"dangling_keys": ()}),
    "index-builds-wait": (
        {"builds": (Build("shop.orders.k", "waiting for the table", HOUR + 1),)},
        {"builds": (Build("shop.orders.k", "reading rows", HOUR + 1),)},
    ),
    "dropped-indexes-left": ({"dropped_indexes": 100}, {"dropped_indexes": 99}),
    "prepared-transactions": (
        {"prepared": ("'x'",), "prepared_seconds": 1.0},
        {"prepared": (), "prepared_seconds": 1.0},
    ),
    "snapshot-old": ({"oldest_snapshot_s": HOUR + 1}, {"oldest_snapshot_s": HOUR}),
    "files-kept": gauge("cairn_file_bytes", 15 * GIB + 1, 15 * GIB),
    "checkpoint-left": (
        {"checkpoints": (Checkpoint(MADE, 6 * HOUR + 1), Checkpoint(BY_TOOL, 60))},
        {
            "checkpoints": (Checkpoint(MADE, 6 * HOUR), Checkpoint(BY_TOOL, 60)),
            "backup_lock_held": True,
        },
    ),
    "tombstones": (
        {"tables": (replace(TABLE, tombstones=1_000_001),)},
        {"tables": (replace(TABLE, tombstones=1_000_000),)},
    ),
    "backup-old": (
        {"backups": (replace(BACKUP, age_s=48 * HOUR + 1),)},
        {"backups": (replace(BACKUP, age_s=99 * HOUR), BACKUP)},
    ),
    "backup-incomplete": (
        {"backups": (replace(BACKUP, command="--backup --skip-rocksdb-backup"),)},
        {"backups": (replace(BACKUP, command="--backup --rocksdb-backup"),)},
    ),
}
# These come with others or need another server, so they have tests of their own.
ALONE = {"engine-missing", "stock-plugin", "default-engine-not-forced"}


def codes(facts):
    return [finding.kind.code for finding in catalogue.diagnose(facts).findings]


def test_a_healthy_server_has_no_findings():
    diagnosis = catalogue.diagnose(healthy())
    assert diagnosis.findings == () and diagnosis.not_checked == ()
    assert diagnosis.checked == len(catalogue.kinds())


def test_each_finding_has_a_case_and_a_code_of_its_own():
    known = [kind.code for kind in catalogue.kinds()]
    assert sorted(known) == sorted(CASES.keys() | ALONE)


@pytest.mark.parametrize("code", CASES)
def test_it_is_found_when_it_is_there(code):
    assert set(codes(altered(**CASES[code][0]))) == {code}


@pytest.mark.parametrize("code", CASES)
def test_it_is_not_found_when_it_is_just_not_there(code):
    # Memory that is not exceeded may still be nearly all: nothing else may be found.
    assert codes(altered(**CASES[code][1])) == []


@pytest.mark.parametrize("code", CASES)
def test_a_finding_has_its_figures_a_remedy_and_something_to_copy(code):
    for finding in catalogue.diagnose(altered(**CASES[code][0])).findings:
        for text in (finding.found, finding.kind.means, finding.remedy):
            assert re.match(r"[A-Z0-9/a-z].*[.:!0-9a-z]$", text), text
        assert finding.found and finding.remedy and finding.lines


def test_the_engine_that_is_missing_is_an_error_and_the_rest_is_not_checked():
    facts = altered(plugins=(plugin("ROCKSDB", status="DISABLED"),))
    facts = replace(facts, missing={Source.ENGINE: Missing("not active")})
    diagnosis = catalogue.diagnose(facts)
    assert [finding.kind.code for finding in diagnosis.findings] == ["engine-missing"]
    assert "disabled" in diagnosis.findings[0].found
    assert "bulk-load-left-on" in diagnosis.not_checked[0].codes


def test_the_stock_plugin_is_a_note():
    facts = altered(plugins=(plugin("ROCKSDB", "Monty Program Ab"),))
    assert codes(facts) == ["stock-plugin"]


def test_a_default_engine_that_is_not_forced_is_found_beside_the_plugin_itself():
    assert codes(altered(**engine(load="ON"))) == ["not-forced", "default-engine-not-forced"]
    assert codes(altered(**engine(load="FORCE"))) == ["not-forced"]
    innodb = {"default_storage_engine": "InnoDB"}
    assert codes(altered(settings=innodb, **engine(load="ON"))) == ["not-forced"]


def test_findings_come_worst_first():
    facts = altered(
        settings={"rocksdb_deadlock_detect": "OFF", "rocksdb_bulk_load": "ON"},
        plugins=(plugin("ROCKSDB", "Monty Program Ab"),),
    )
    assert codes(facts) == ["bulk-load-left-on", "deadlocks-not-detected", "stock-plugin"]


def test_more_ways_to_find_the_same():
    assert codes(altered(settings={"rocksdb_paranoid_checks": "OFF"})) == ["checksums-off"]
    assert codes(altered(stalls=(replace(STALL, state="slowed", seconds=301),))) == [
        "stalls-lately"
    ]
    most = {"settings": {"rocksdb_max_open_files": "241"}}
    few = {"open_files": 1, "open_files_limit": 300}
    assert codes(altered(**most, process=few)) == ["open-files-unbounded"]
    assert codes(altered(settings={"rocksdb_max_open_files": "240"}, process=few)) == []
    assert codes(altered(**libraries(deleted=True))) == ["library-replaced"]
    assert codes(altered(**libraries(rewritten=True))) == ["library-replaced"]
    assert codes(altered(backups=(replace(BACKUP, partial=True),))) == ["backup-incomplete"]
    assert codes(altered(checkpoints=(Checkpoint(BY_TOOL, 60),))) == ["checkpoint-left"]
    paused = {"settings": {"rocksdb_pause_background_work": "ON"}, "dropped_indexes": 1}
    assert codes(altered(**paused)) == ["background-work-paused", "dropped-indexes-left"]


def test_a_bound_for_all_memtables_counts_instead_of_the_families():
    bound = {"rocksdb_db_write_buffer_size": str(64 << 20)}
    memory = {"memory": 881 << 20}  # 704 MiB are less than 80 % of it.
    small = {"rocksdb_memtable_total": 1}
    assert codes(altered(settings=bound, process=memory, statuses=small)) == []
    assert codes(altered(process=memory, statuses=small)) == ["memory-beyond-machine"]


def test_a_remedy_names_who_has_set_the_option():
    setting = Setting("ON", "CONFIG", "/etc/mysql/my.cnf")
    found = catalogue.diagnose(altered(settings={"rocksdb_bulk_load": setting})).findings[0]
    assert found.found == "rocksdb_bulk_load = ON, set in /etc/mysql/my.cnf."
    assert found.lines == (
        "SET GLOBAL rocksdb_bulk_load = OFF;",
        "[mariadbd]",
        "rocksdb_bulk_load = OFF",
    )


@pytest.mark.parametrize(
    ("command", "skips"),
    [
        ("--backup --skip-rocksdb-backup", True),
        ("--backup --rocksdb_backup=0", True),
        ("--backup --rocksdb-backup=OFF --rocksdb-backup", False),
        ("--backup --target-dir=/skip-rocksdb-backup", False),
        ("", False),
    ],
)
def test_the_last_argument_says_whether_a_backup_has_the_engine(command, skips):
    assert skips_engine(command) is skips


@pytest.mark.parametrize(
    ("alert", "threshold"),
    [
        ("CairnLevel0Fills", f"> {writes.LEVEL0_PERCENT}"),
        ("CairnCompactionBehind", f"> {writes.PENDING_PERCENT}"),
        ("CairnMemtablesWait", f">= {writes.MEMTABLES_WAITING}"),
        ("CairnMemtablesTooLarge", f"> {writes.MEMTABLE_FACTOR} *"),
        ("CairnWritesStopOften", f"> {writes.STOPS}"),
        ("CairnOldSnapshot", f"> {left_behind.SNAPSHOT_S}"),
        ("CairnFilesKept", f"> {left_behind.FILES_FACTOR} *"),
        ("CairnFilesKept", "> 1e9"),
        ("CairnDiskNearlyFull", "< 0.1"),
    ],
)
def test_thresholds_are_those_of_the_alerts(alert, threshold):
    text = (ROOT / "packaging/monitoring/alerts.yml").read_text(encoding="utf-8")
    rule = text.partition(f"- alert: {alert}\n")[2].partition("- alert:")[0]
    assert threshold in rule
    assert left_behind.FILES_BYTES == 1e9


def test_alerts_that_are_named_exist():
    alerts = (ROOT / "packaging/monitoring/alerts.yml").read_text(encoding="utf-8")
    named = {a for kind in catalogue.kinds() for a in re.findall(r"alert (\w+)", kind.when)}
    assert len(named) >= 10
    assert all(f"- alert: {name}\n" in alerts for name in named)


def test_the_page_has_the_table_of_all_findings():
    page = (ROOT / "docs/doctor.md").read_text(encoding="utf-8")
    assert catalogue.documentation().strip() in page


def test_the_plugins_that_are_expected_are_those_of_the_library():
    tables = (ROOT / "mariadb/information_schema/tables.def").read_text(encoding="utf-8")
    declared = set(re.findall(r"\b(?:ROCKSDB|CAIRN)_[A-Z_]+\b", tables))
    assert declared == set(OWN_PLUGINS) - {"CAIRN"}


def test_a_lost_definition_is_brought_back_by_its_quoted_name():
    assert restoring("shop.it's") == "SET GLOBAL cairn_restore_definition = '`shop`.`it''s`';"
    assert restoring("shop.a`b") == "SET GLOBAL cairn_restore_definition = '`shop`.`a``b`';"

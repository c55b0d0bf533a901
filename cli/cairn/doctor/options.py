"""Findings about options that were left on, contradict each other or do nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cairn.doctor.durability import now_and_later, set_where
from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.texts import count, quoted, several
from cairn.doctor.versions import FORCED

OPTIONS = Subject("Options")

RETIRED = "Accepted for compatibility"


def _switch(
    code: str, severity: Severity, name: str, bad: str, means: str, *, restart: bool = False
) -> None:
    """Registers a finding about one variable that is ON or OFF and should not be."""
    good = "OFF" if bad == "ON" else "ON"

    @OPTIONS.check(code, severity, f"{name} is {bad} globally", means, Source.ENGINE)
    def check(kind: Kind, facts: Facts) -> Iterator[Finding]:
        if facts.value(name).upper() == bad:
            yield kind.found(
                f"{name} = {bad}{set_where(facts, name)}.",
                f"Turn it {good.lower()} in the option file and restart the server."
                if restart
                else f"Turn it {good.lower()}, now and in the option file.",
                *(("[mariadbd]", f"{name} = {good}") if restart else now_and_later(name, good)),
            )


_switch(
    "bulk-load-left-on",
    Severity.ERROR,
    "rocksdb_bulk_load",
    "ON",
    "Every new session loads in bulk: nothing is checked for uniqueness, so duplicate keys come "
    "in, and rows appear only when the load is finished.",
)
_switch(
    "locks-skipped",
    Severity.ERROR,
    "rocksdb_master_skip_tx_api",
    "ON",
    "New transactions lock no rows and see no conflicts: they overwrite each other's changes.",
)
_switch(
    "background-work-paused",
    Severity.ERROR,
    "rocksdb_pause_background_work",
    "ON",
    "Nothing is flushed or compacted; writes stop when the memtables are full.",
)
_switch(
    "deadlocks-not-detected",
    Severity.WARNING,
    "rocksdb_deadlock_detect",
    "OFF",
    "Sessions that wait for each other do so until rocksdb_lock_wait_timeout.",
)
_switch(
    "statements-not-atomic",
    Severity.WARNING,
    "rocksdb_commit_in_the_middle",
    "ON",
    "Statements commit in pieces: one that fails, or is killed, stays done in part.",
)
_switch(
    "corruption-ignored",
    Severity.WARNING,
    "rocksdb_allow_to_start_after_corruption",
    "ON",
    "The server starts on a database that the engine has marked as damaged.",
    restart=True,
)
_switch(
    "expired-rows-kept",
    Severity.WARNING,
    "rocksdb_enable_ttl",
    "OFF",
    "Rows that have expired are shown and never removed.",
)
_switch(
    "reads-verified",
    Severity.WARNING,
    "cairn_verify_reads",
    "ON",
    "Each read is made twice; scans take about three times as long. It is for the search of a "
    "mistake.",
)
_switch(
    "file-counts-off",
    Severity.WARNING,
    "rocksdb_collect_sst_properties",
    "OFF",
    "New files carry no counts: the optimizer and CAIRN_TABLES know nothing of them.",
    restart=True,
)


@OPTIONS.check(
    "blind-deletes-replicated",
    Severity.WARNING,
    "the binary log is on and rocksdb_blind_delete_primary_key is ON globally",
    "DELETE logs rows that it has not read; a replica stops at one that does not exist (1032).",
    Source.ENGINE,
)
def blind_deletes(kind: Kind, facts: Facts) -> Iterator[Finding]:
    name = "rocksdb_blind_delete_primary_key"
    if facts.is_on("log_bin") and facts.is_on(name):
        yield kind.found(
            f"{name} = ON{set_where(facts, name)}; the binary log is on.",
            "Turn it off, now and in the option file.",
            *now_and_later(name, "OFF"),
        )


@OPTIONS.check(
    "default-engine-not-forced",
    Severity.WARNING,
    "default_storage_engine is ROCKSDB and the plug-in is loaded without FORCE",
    "Where the engine fails at a start, the server does not start either because of the default, "
    "or "
    "it makes new tables in another engine if the default is set later.",
    Source.ENGINE,
)
def default_engine(kind: Kind, facts: Facts) -> Iterator[Finding]:
    is_default = facts.value("default_storage_engine").upper() == "ROCKSDB"
    if is_default and facts.engine and not facts.engine.load.upper().startswith("FORCE"):
        yield kind.found(
            "default_storage_engine = ROCKSDB"
            f"{set_where(facts, 'default_storage_engine')}; the plug-in is loaded with the option "
            f"{facts.engine.load}.",
            "Make the engine obligatory, in the option file.",
            *FORCED,
        )


@OPTIONS.check(
    "stock-format-broken",
    Severity.WARNING,
    "cairn_format is stock and there are tables that the stock plug-in cannot read",
    "The stock plug-in refuses to start on this directory, although the option promises it.",
    Source.ENGINE,
    Source.CAIRN,
    Source.PRIVILEGED,
)
def stock_format(kind: Kind, facts: Facts) -> Iterator[Finding]:
    tables = [table for table in facts.tables if table.obstacles]
    if facts.value("cairn_format") == "stock" and tables:
        yield kind.found(
            f"cairn_format = stock, but {count(len(tables), 'table')} "
            f"{'needs' if len(tables) == 1 else 'need'} Cairn: "
            f"{several([f'{table.name} ({table.obstacles})' for table in tables], 3)}.",
            "Remove the obstacles (docs/going-back.md), or, if there is no need to go back, say "
            "so.",
            *(f"ALTER TABLE {quoted(table.name)} FORCE;" for table in tables[:3]),
            "SET GLOBAL cairn_format = 'cairn';",
        )


@OPTIONS.check(
    "options-without-effect",
    Severity.WARNING,
    "a variable is set that is only accepted for compatibility",
    "The option does nothing; whoever set it expects something that does not happen.",
    Source.ENGINE,
    Source.CAIRN,
)
def without_effect(kind: Kind, facts: Facts) -> Iterator[Finding]:
    retired = {
        name: setting
        for name, setting in sorted(facts.settings.items())
        if setting.comment.startswith(RETIRED) and setting.origin in ("CONFIG", "COMMAND-LINE")
    }
    if retired:
        files = sorted({setting.file for setting in retired.values() if setting.file})
        yield kind.found(
            "; ".join(
                f"{name} = {setting.value}{set_where(facts, name)} "
                f"({setting.comment.partition(': ')[2] or RETIRED})"
                for name, setting in list(retired.items())[:5]
            )
            + ".",
            f"Take {'it' if len(retired) == 1 else 'them'} out of "
            f"{several(files) if files else 'the option file or the command line'}.",
            *(f"# {name}" for name in retired),
        )


@OPTIONS.check(
    "memtables-kept-twice",
    Severity.WARNING,
    "cairn_bypass_memtable_bytes is set together with max_write_buffer_size_to_maintain",
    "The memtables of large transactions count as empty and are all kept: memory grows without "
    "end.",
    Source.ENGINE,
    Source.CAIRN,
)
def kept_twice(kind: Kind, facts: Facts) -> Iterator[Finding]:
    bypass = facts.number("cairn_bypass_memtable_bytes")
    names = ("rocksdb_default_cf_options", "rocksdb_override_cf_options")
    keeping = [name for name in names if _keeps_memtables(facts.value(name))]
    if bypass and keeping:
        yield kind.found(
            f"cairn_bypass_memtable_bytes = {bypass}, and {keeping[0]} has "
            "max_write_buffer_size_to_maintain.",
            "Take one of the two out of the option file and restart the server. For example:",
            "[mariadbd]",
            "cairn_bypass_memtable_bytes = 0",
        )


def _keeps_memtables(options: str) -> bool:
    for option in options.replace("{", ";").replace("}", ";").split(";"):
        name, _, value = option.partition("=")
        if name.strip() == "max_write_buffer_size_to_maintain":
            return value.strip() not in ("", "0")
    return False


@OPTIONS.check(
    "write-policy",
    Severity.WARNING,
    "rocksdb_write_policy is not write_committed",
    "Statements that take a snapshot wait while files of a bulk load or a new index become "
    "visible.",
    Source.ENGINE,
)
def write_policy(kind: Kind, facts: Facts) -> Iterator[Finding]:
    name = "rocksdb_write_policy"
    if facts.value(name) not in ("", "write_committed"):
        yield kind.found(
            f"{name} = {facts.value(name)}{set_where(facts, name)}.",
            "Use the default unless you have measured a gain: shut down cleanly, change the option "
            "file, start.",
            "[mariadbd]",
            f"{name} = write_committed",
        )


@OPTIONS.check(
    "statistics-off",
    Severity.WARNING,
    "rocksdb_stats_level is 0",
    "RocksDB counts nothing: the rates of monitoring and the alerts on them stay at 0.",
    Source.ENGINE,
)
def statistics_off(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.value("rocksdb_stats_level") == "0":
        yield kind.found(
            f"rocksdb_stats_level = 0{set_where(facts, 'rocksdb_stats_level')}.",
            "Count events, now and in the option file.",
            *now_and_later("rocksdb_stats_level", "1"),
        )


@OPTIONS.check(
    "problems-logged",
    Severity.WARNING,
    "the error log has errors or warnings of the engine since the last start, up to 4 MiB back",
    "The engine has said what is wrong; nobody may have read it.",
    Source.LOG,
)
def problems_logged(kind: Kind, facts: Facts) -> Iterator[Finding]:
    # Of these, options-without-effect tells.
    lines = [line for line in facts.logged if "has no effect: RocksDB has no such" not in line]
    if lines:
        yield kind.found(
            f"{count(len(lines), 'line')} in {facts.log_file} since the start; the last: "
            f"{lines[-1]}",
            "Read them. docs/monitoring.md says what the important ones mean.",
            r"grep -E '\[(ERROR|Warning)\].*(RocksDB|MyRocks|ROCKSDB)' "
            + shlex.quote(facts.log_file),
        )

"""Findings about damage, and about tables that are not whole."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.limits import data_files
from cairn.doctor.texts import count, quoted, restoring, several

DAMAGE = Subject("Damage")


@DAMAGE.check(
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


@DAMAGE.check(
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


@DAMAGE.check(
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


@DAMAGE.check(
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


@DAMAGE.check(
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


@DAMAGE.check(
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
            "Cairn keeps copies of definitions, which bring the tables back. Where there is no "
            "copy, copy the .frm file from a backup into the directory of the database, then run "
            "FLUSH TABLES. Where the rows are not needed, drop the table: that works without the "
            "file.",
            *(restoring(name) for name in facts.undefined_tables[:3] if facts.is_cairn),
            *(f"DROP TABLE {quoted(name)};" for name in facts.undefined_tables[:3]),
        )


@DAMAGE.check(
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

"""Findings about what the machine gives: open files, memory and disk."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.doctor.facts import Facts, Place, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.texts import count, several, share, size

LIMITS = Subject("Limits")

LEVELS = 7
FILES_SHARE = 0.8
MEMORY_SHARE = 0.8
SWAP_SHARE = 0.05
SWAP_BYTES = 16 << 20
FREE_SHARE = 0.1  # As the alert CairnDiskNearlyFull.
# RocksDB's bound for the input of one compaction, in files of the target size.
COMPACTION_FILES = 25
IN_MEMORY = ("tmpfs", "ramfs")
UNIT = ("systemctl edit mariadb", "[Service]")


def data_files(facts: Facts) -> int:
    """Table files of all levels; 0 without Cairn's statuses."""
    return int(sum(facts.status(f"cairn_level{level}_files") for level in range(LEVELS)))


def memtable_bytes(facts: Facts) -> int:
    """What all memtables may grow to."""
    bound = facts.number("rocksdb_db_write_buffer_size")
    families = sum(
        int(options.get("WRITE_BUFFER_SIZE", "0"))
        * int(options.get("MAX_WRITE_BUFFER_NUMBER", "0"))
        for options in facts.families.values()
    )
    return min(bound, families) if bound and families else bound or families


def memory_parts(facts: Facts) -> dict[str, int]:
    """What the server may fill by its options alone, without connections."""
    cache = 0 if facts.is_on("rocksdb_no_block_cache") else facts.number("rocksdb_block_cache_size")
    return {
        "rocksdb_block_cache_size": cache,
        "memtables": memtable_bytes(facts),
        "innodb_buffer_pool_size": facts.number("innodb_buffer_pool_size"),
        "aria_pagecache_buffer_size": facts.number("aria_pagecache_buffer_size"),
        "key_buffer_size": facts.number("key_buffer_size"),
    }


@LIMITS.check(
    "open-files-nearly-used",
    Severity.ERROR,
    "the process has 80 % of the files open that it may",
    "At the limit flushes, compactions and connections fail with error 24 (too many open files).",
    Source.PROCESS,
)
def open_files_nearly_used(kind: Kind, facts: Facts) -> Iterator[Finding]:
    process = facts.process
    if (
        process
        and process.open_files_limit
        and process.open_files >= FILES_SHARE * process.open_files_limit
    ):
        yield kind.found(
            f"{count(process.open_files, 'file')} open of {process.open_files_limit:,} "
            f"({share(process.open_files, process.open_files_limit)}).",
            "Raise the limit in the service's unit and restart the server; until then lower "
            "table_open_cache or close connections.",
            *UNIT,
            f"LimitNOFILE={max(1048576, 2 * process.open_files_limit)}",
        )


@LIMITS.check(
    "open-files-unbounded",
    Severity.WARNING,
    "rocksdb_max_open_files is -1, or more than 80 % of the files that the process may open, and "
    "there are more table files than half of these",
    "RocksDB keeps every table file open; as the data grows it takes all that the process may "
    "open.",
    Source.ENGINE,
    Source.CAIRN,
)
def open_files_unbounded(kind: Kind, facts: Facts) -> Iterator[Finding]:
    limit = open_files_limit(facts)
    files = data_files(facts)
    most = facts.number("rocksdb_max_open_files")
    if (most == -1 or most > FILES_SHARE * limit) and limit and files > limit / 2:
        yield kind.found(
            f"rocksdb_max_open_files is {most}; {count(files, 'table file')}, the process may open "
            f"{limit:,} files.",
            "Raise the limit in the service's unit and restart the server.",
            *UNIT,
            f"LimitNOFILE={max(1048576, 4 * files)}",
        )


@LIMITS.check(
    "open-files-few",
    Severity.WARNING,
    "there are more table files than rocksdb_max_open_files",
    "Files are closed and opened again and again; each time index and filter are read anew.",
    Source.ENGINE,
    Source.CAIRN,
)
def open_files_few(kind: Kind, facts: Facts) -> Iterator[Finding]:
    most, files = facts.number("rocksdb_max_open_files"), data_files(facts)
    if most == -2:
        most = open_files_limit(facts) // 2
    if 0 <= most < files:
        limit = open_files_limit(facts)
        unit = (*UNIT, f"LimitNOFILE={max(1048576, 4 * files)}") if limit < 2 * files else ()
        yield kind.found(
            f"{count(files, 'table file')}; RocksDB keeps {most:,} open, the process may open "
            f"{limit:,} files.",
            "Allow more open files, in the option file"
            + (" and in the service's unit" if unit else "")
            + ", and restart the server.",
            "[mariadbd]",
            f"rocksdb_max_open_files = {2 * files}",
            *unit,
        )


def open_files_limit(facts: Facts) -> int:
    """Of the process where it can be seen, else what the server says."""
    if facts.process and facts.process.open_files_limit:
        return facts.process.open_files_limit
    return facts.number("open_files_limit")


@LIMITS.check(
    "memory-beyond-machine",
    Severity.ERROR,
    "block cache, memtables and the caches of the other engines may exceed the memory of the "
    "machine "
    "or of the control group",
    "Once they are full the kernel may kill the server.",
    Source.ENGINE,
    Source.FAMILIES,
    Source.PROCESS,
)
def memory_beyond_machine(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.process and sum(memory_parts(facts).values()) > facts.process.memory:
        yield _memory(kind, facts)


@LIMITS.check(
    "memory-nearly-all",
    Severity.WARNING,
    "they may take more than 80 % of it",
    "Connections, sorts and open transactions need the rest, so the server may swap or be killed.",
    Source.ENGINE,
    Source.FAMILIES,
    Source.PROCESS,
)
def memory_nearly_all(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if not facts.process:
        return
    total = sum(memory_parts(facts).values())
    if MEMORY_SHARE * facts.process.memory < total <= facts.process.memory:
        yield _memory(kind, facts)


def _memory(kind: Kind, facts: Facts) -> Finding:
    assert facts.process
    parts = memory_parts(facts)
    memory = facts.process.memory
    named = ", ".join(f"{name} {size(value)}" for name, value in parts.items() if value)
    others = sum(parts.values()) - parts["rocksdb_block_cache_size"]
    cache = max(64 << 20, int(0.6 * memory) - others)
    lines = [f"SET GLOBAL rocksdb_block_cache_size = {cache};"]
    lines += ["[mariadbd]", f"rocksdb_block_cache_size = {cache}"]
    if not facts.number("rocksdb_db_write_buffer_size"):
        lines.append(f"rocksdb_db_write_buffer_size = {max(64 << 20, memory // 16)}")
    return kind.found(
        f"{size(sum(parts.values()))} of {size(memory)} ({facts.process.memory_of}): {named}.",
        "Make the caches smaller, now and in the option file.",
        *lines,
    )


@LIMITS.check(
    "swapped-out",
    Severity.WARNING,
    "5 % of the process's memory and at least 16 MiB are swapped out",
    "Rows that should come from memory come from the disk, and locks are held meanwhile.",
    Source.PROCESS,
)
def swapped_out(kind: Kind, facts: Facts) -> Iterator[Finding]:
    process = facts.process
    if process is None:
        return
    whole = process.resident + process.swapped
    if process.swapped >= max(SWAP_BYTES, SWAP_SHARE * whole):
        yield kind.found(
            f"{size(process.swapped)} of the server's {size(whole)} are swapped out.",
            "Make the caches smaller (docs/tuning.md), or keep the kernel from swapping.",
            "sysctl vm.swappiness=1",
        )


@LIMITS.check(
    "disk-nearly-full",
    Severity.ERROR,
    "less than a tenth of the file system of data or log is free (alert CairnDiskNearlyFull)",
    "A full disk stops all writes; after a failed write to the log they need a restart.",
    Source.ENGINE,
    Source.DISK,
)
def disk_nearly_full(kind: Kind, facts: Facts) -> Iterator[Finding]:
    low = [p for p in facts.places if p.total and p.free / p.total < FREE_SHARE]
    for place in _by_file_system(low):
        yield kind.found(
            f"{place.path} ({place.what}): {size(place.free)} of {size(place.total)} free "
            f"({share(place.free, place.total)}).",
            "Make room: remove old binary logs and dropped data, or enlarge the file system.",
            "SHOW BINARY LOGS;",
            "PURGE BINARY LOGS BEFORE NOW() - INTERVAL 3 DAY;",
        )


def _by_file_system(places: list[Place]) -> list[Place]:
    """One place for each file system, which its sizes tell apart."""
    return list({(place.total, place.free): place for place in reversed(places)}.values())


@LIMITS.check(
    "disk-too-small-for-compaction",
    Severity.WARNING,
    "less is free than the memtables and one large compaction write before old files can go",
    "The compaction fails, and with it all writes until there is space.",
    Source.ENGINE,
    Source.CAIRN,
    Source.FAMILIES,
)
def disk_too_small(kind: Kind, facts: Facts) -> Iterator[Finding]:
    data, free = facts.status("cairn_data_bytes"), facts.status("cairn_disk_free_bytes")
    target = max(
        (int(o.get("TARGET_FILE_SIZE_BASE", "0")) for o in facts.families.values()), default=0
    )
    styles = {o.get("COMPACTION_STYLE", "") for o in facts.families.values()}
    whole = "kCompactionStyleUniversal" in styles
    compaction = data if whole else min(data, COMPACTION_FILES * target)
    needed = compaction + memtable_bytes(facts)
    if facts.has_status("cairn_disk_free_bytes") and data and free < needed:
        yield kind.found(
            f"{size(free)} free; memtables may take {size(memtable_bytes(facts))} and one "
            f"compaction {size(compaction)} of {size(data)} data.",
            "Enlarge the file system, or make the memtables smaller in the option file.",
            "[mariadbd]",
            f"rocksdb_db_write_buffer_size = {max(64 << 20, int(free / 4))}",
        )


@LIMITS.check(
    "data-in-memory",
    Severity.ERROR,
    "rocksdb_datadir or rocksdb_wal_dir lies on a tmpfs or ramfs",
    "A restart of the machine loses it: with the log all that is not in data files yet, and "
    "prepared transactions.",
    Source.ENGINE,
    Source.PLACES,
)
def data_in_memory(kind: Kind, facts: Facts) -> Iterator[Finding]:
    places = [p for p in facts.places if p.file_system in IN_MEMORY]
    if places:
        yield kind.found(
            f"On {places[0].file_system}: {several([f'{p.path} ({p.what})' for p in places])}.",
            "Shut the server down cleanly, move the directory with all its files to a disk, name "
            "it in the option file, and start. For example:",
            "[mariadbd]",
            *(
                "rocksdb_wal_dir = /var/lib/rocksdb-logs"
                if place.what == "log"
                else "rocksdb_datadir = /var/lib/rocksdb"
                for place in places
            ),
        )

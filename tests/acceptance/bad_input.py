"""./cairn acceptance bad-input: what a machine, a disk or a person can do to the engine."""

from __future__ import annotations

from pathlib import Path

from cairn import files, plugin
from cairn.errors import CairnError
from cairn.paths import VAR, shown
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.scratch_server import remove
from tests import runs
from tests.acceptance import (
    configurations,
    damage,
    disk_full,
    disk_full_commit,
    disk_full_index,
    variables,
    volume,
)
from tests.acceptance.case import Case, Context, Failed

CASES = (
    Case("disk-full", "A full disk is an error, and freeing it ends the error", disk_full.check),
    Case(
        "disk-full-server",
        "The same with all of the server's files on that disk",
        disk_full.check_whole,
    ),
    Case(
        "disk-full-restart",
        "A restart on a full disk loses nothing and says what is wrong",
        disk_full.check_restart,
    ),
    Case(
        "disk-full-index",
        "A disk that ADD INDEX fills is an error, and the table stays as it was",
        disk_full_index.check,
    ),
    Case(
        "disk-full-sort",
        "The same when rocksdb_tmpdir alone is full",
        disk_full_index.check_sort_directory,
    ),
    Case(
        "disk-full-commit",
        "Clients that commit on a full disk are told what became of their transactions",
        disk_full_commit.check_one_phase,
    ),
    Case(
        "disk-full-two-phases",
        "The same with the binary log and two engines, which agree",
        disk_full_commit.check_two_phases,
    ),
    Case("read-only", "A read-only directory is refused", damage.read_only),
    Case("locked", "A directory that another server uses is refused", damage.locked),
    Case("path-is-a-file", "A file in place of the directory is refused", damage.path_is_a_file),
    Case(
        "current-names-nothing",
        "A CURRENT file that names no manifest is refused",
        damage.current_names_nothing,
    ),
    Case("current-is-empty", "An empty CURRENT file is refused", damage.current_is_empty),
    Case(
        "current-is-missing",
        "A directory that lacks CURRENT is refused and kept",
        damage.current_is_missing,
    ),
    Case(
        "logs-in-data-directory",
        "Logs that a restore has put where rocksdb_wal_dir does not point are refused",
        damage.logs_in_data_directory,
    ),
    Case(
        "table-file-missing",
        "A directory that lacks a table file is refused",
        damage.table_file_is_missing,
    ),
    Case("other-comparator", "The database of another program is refused", damage.other_comparator),
    Case("newer-rocksdb", "Files of a newer RocksDB are refused", damage.newer_rocksdb),
    Case(
        "newer-dictionary",
        "A dictionary of a newer engine is refused",
        damage.dictionary_of_newer_engine,
    ),
    Case(
        "newer-cairn",
        "A directory of a newer Cairn is refused before anything is written",
        damage.directory_of_newer_cairn,
    ),
    Case("unknown-option", "Options that do not exist are refused", damage.unknown_option),
    Case(
        "variables",
        "Every variable refuses bad values while a load runs",
        variables.bad_values,
    ),
    Case(
        "variables-at-start",
        "Misspelled variables and bad values end or adjust the start",
        variables.bad_values_at_start,
    ),
    Case("paths", "Every path may point at nothing, at a file, at what is locked", variables.paths),
    Case("family-options", "Options of column families are refused by name", variables.families),
    Case("combinations", "Options that exclude each other are refused", variables.combinations),
    Case("configuration-sample", "The stock package's sample starts", configurations.sample),
    Case("configuration-slow-disk", "slow-disk.cnf starts and holds", configurations.slow_disk),
    Case(
        "configuration-bulk-and-mixed",
        "bulk-and-mixed.cnf starts and holds",
        configurations.bulk_and_mixed,
    ),
    Case(
        "configuration-insert-benchmark",
        "insert-benchmark.cnf starts and holds",
        configurations.insert_benchmark,
    ),
)


def run(wanted: tuple[str, ...], *, list_cases: bool) -> int:
    """Runs cases by name, or all; returns the exit status."""
    if list_cases:
        for case in CASES:
            say(f"  {case.name:<24}{case.title}")
        return 0
    known = {case.name: case for case in CASES}
    if unknown := [name for name in wanted if name not in known]:
        raise CairnError(
            f"There is no case {unknown[0]}: ./cairn acceptance bad-input --list names them."
        )
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    say(f"  {shown(plugin.library())}")
    counts = run_cases(reporter, mariadb, tuple(known[name] for name in wanted) or CASES)
    say("")
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    say(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return 1 if counts["failed"] else 0


def run_cases(reporter: Reporter, mariadb: Server, cases: tuple[Case, ...]) -> dict[str, int]:
    """Runs cases; returns how many passed, failed and were skipped."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with files.exclusive(VAR / "acceptance" / ".bad-input.lock", "running these cases"):
        for case in cases:
            counts[_run(reporter, mariadb, case)] += 1
    return counts


def _run(reporter: Reporter, mariadb: Server, case: Case) -> str:
    """Runs one case, prints what it found, and says how it ended."""
    directory = VAR / "acceptance" / case.name
    _clear(directory)
    context = Context(mariadb, directory)
    outcome, reason = "passed", ""
    with reporter.phase(case.name) as phase:
        try:
            case.check(context)
        except volume.Skip as skip:
            outcome, reason = "skipped", str(skip)
        except Failed as failure:
            outcome, reason = "failed", str(failure)
        except Exception as error:
            # Whatever a case stumbles over is what it looks for: a lost server, a refused start.
            crashed = [server.excerpt() for server in context.servers if not server.is_alive()]
            outcome = "failed"
            reason = "\n".join([f"{type(error).__name__}: {error}", *crashed])
        finally:
            context.close()
        phase.summary = case.title if outcome == "passed" else f"{outcome}: {case.title}"
    for note in context.notes:
        say(f"      {note}")
    if reason:
        say(f"    {outcome}: {reason}")
    if outcome == "failed":
        say(f"    Kept for a look: {shown(directory)}")
    else:
        _clear(directory)
    return outcome


def _clear(directory: Path) -> None:
    """Removes a case's directory, after the volumes of a run that was cut off."""
    for mount in (directory / "volume" / "rocksdb", directory / "volume"):
        volume.unmount(mount)
    remove(directory)

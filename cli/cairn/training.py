"""./cairn train: notes how often branches are taken, for the compiler to lay the code out by.

The code that reads and writes run through lies all over the library, between branches that are
hardly ever taken; it is larger than a processor's first cache. The compiler puts what runs together
when it knows what runs. Our own code changes daily: a function that has changed is compiled as
without, until the next training. RocksDB's sources are pinned, so that what was noted of it stays
true until the pin, the compiler or the flags change.
"""

from __future__ import annotations

from pathlib import Path

from cairn import files, packages, plugin, prefix, profiles, rocksdb, sysbench
from cairn.bench import foreign_keys
from cairn.errors import CairnError
from cairn.paths import BUILD, LOG, VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory

DIRECTORY = VAR / "training"
PRESET = "training"
_LOG = LOG / "training.log"
_TABLES = 4
_ROWS = 20_000
_PARENTS = 10_000
_DELETED_PARENTS = 200
_CLIENTS = 2
# Code that counts runs two to three times as long, so that few seconds are few statements.
_SECONDS = 5
_GRACE_S = 300
# Small enough for several flushes and compactions.
_OPTIONS = (
    "--rocksdb-flush-log-at-trx-commit=2",
    "--rocksdb-default-cf-options=write_buffer_size=16m;target_file_size_base=8m",
)
_READS = ("oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges")
_WRITES = (
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "oltp_write_only",
    "oltp_read_write",
)
_REFERENCES = (
    "CREATE TABLE parent (id INT PRIMARY KEY, pad VARCHAR(100))",
    "CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, pad VARCHAR(100), "
    "KEY (parent), FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)",
    f"INSERT INTO parent SELECT seq, REPEAT('p', 50) FROM seq_1_to_{_PARENTS}",
)
_STATEMENTS = (
    "CREATE TABLE copy LIKE sbtest1",
    "INSERT INTO copy SELECT * FROM sbtest1",
    "ALTER TABLE copy ADD INDEX (pad)",
    "UPDATE copy SET k = k + 1",
    "DELETE FROM copy",
    "DROP TABLE copy",
)


def run(*, with_rocksdb: bool) -> int:
    """Builds, trains and replaces profiles in the checkout; returns the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.BUILD, packages.COMPRESSION, packages.SYSBENCH), phase)
    with reporter.phase("MariaDB server") as phase:
        mariadb = prefix.ensure(phase)
        prefix.ensure_headers(phase, mariadb)
    sysbench.ensure(mariadb)
    with own_directory(DIRECTORY):
        with reporter.phase("RocksDB") as phase:
            library = (
                rocksdb.ensure_training(phase, DIRECTORY) if with_rocksdb else rocksdb.ensure(phase)
            )
        with reporter.phase("Build") as phase:
            plugin.build(phase, PRESET, mariadb, library, "ha_rocksdb")
            profiles.remove_counts(BUILD / PRESET)
        with reporter.phase("Training") as phase:
            _train(phase, mariadb)
        with reporter.phase("Profile") as phase:
            own = profiles.of_sources(BUILD / PRESET)
            profiles.save(own, profiles.OWN)
            phase.summary = f"{shown(profiles.OWN)}, of {len(own)} sources"
            if with_rocksdb:
                rocksdb.save_profile(DIRECTORY)
                phase.summary += f"; {shown(rocksdb.PROFILE)}"
    say("  ./cairn build compiles by it, once; then: ./cairn instructions --write-order")
    return 0


def _train(phase: Phase, mariadb: Server) -> None:
    directory = DIRECTORY / "server"
    files.remove(directory)
    _LOG.unlink(missing_ok=True)
    with ScratchServer(mariadb, directory, _OPTIONS) as server:
        server.library = BUILD / PRESET / plugin.LIBRARY
        server.start()
        server.query(f"CREATE DATABASE {sysbench.DATABASE}")
        _sysbench(phase, server, "oltp_read_only", "prepare")
        _read(phase, server)
        for script in _WRITES:
            _sysbench(phase, server, script, "run")
        _reference(phase, server)
        _read(phase, server)
        server.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
        _read(phase, server)
        server.query("SET GLOBAL rocksdb_compact_cf = 'default'")
        _read(phase, server)
        for statement in _STATEMENTS:
            phase.progress(statement)
            server.query(statement, database=sysbench.DATABASE)
        # It notes what it has counted when it ends by itself.
        server.stop()
    phase.summary = f"{len(_READS) * 4 + len(_WRITES)} runs of {_SECONDS} s"


def _reference(phase: Phase, server: ScratchServer) -> None:
    for statement in _REFERENCES:
        server.query(statement, database=sysbench.DATABASE)
    _sysbench(phase, server, str(foreign_keys.SCRIPT), "run", f"--parents={_PARENTS}")
    phase.progress("deletes that cascade")
    for parent in range(1, _DELETED_PARENTS + 1):
        server.query(f"DELETE FROM parent WHERE id = {parent}", database=sysbench.DATABASE)


def _read(phase: Phase, server: ScratchServer) -> None:
    for script in _READS:
        _sysbench(phase, server, script, "run")
    for number in range(1, _TABLES + 1):
        table = f"{sysbench.DATABASE}.sbtest{number}"
        server.query(f"SELECT SUM(LENGTH(pad)) FROM {table} FORCE INDEX (PRIMARY)")
        server.query(f"SELECT pad FROM {table} FORCE INDEX (k_{number}) ORDER BY k DESC LIMIT 5000")


def _sysbench(
    phase: Phase, server: ScratchServer, script: str, command: str, *options: str
) -> None:
    """Runs a script: one of sysbench's own over its tables, or of ours with `options`."""
    phase.progress(f"{Path(script).stem} {command}")
    status, output = sysbench.execute(
        server.mariadb,
        server.socket,
        (
            script,
            *(options or (f"--tables={_TABLES}", f"--table-size={_ROWS}")),
            f"--threads={_CLIENTS}",
            f"--time={_SECONDS}",
            # Two clients of oltp_write_only meet.
            "--mysql-ignore-errors=1213,1205",
            command,
        ),
        limit_s=_GRACE_S,
        log=_LOG,
    )
    if status != 0:
        raise CairnError(f"sysbench {script} {command} failed: see {shown(_LOG)}.")

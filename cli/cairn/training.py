"""./cairn train: notes how often branches of RocksDB are taken, for the compiler to lay it out by.

The code that reads and writes run through lies all over the library, between branches that are
hardly ever taken; it is larger than a processor's first cache. The compiler puts what runs together
when it knows what runs. RocksDB alone is trained: its sources are pinned, so that what was noted
stays true until the pin, the compiler or the flags change.
"""

from __future__ import annotations

from cairn import files, packages, plugin, prefix, rocksdb, sysbench
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
_STATEMENTS = (
    "CREATE TABLE copy LIKE sbtest1",
    "INSERT INTO copy SELECT * FROM sbtest1",
    "ALTER TABLE copy ADD INDEX (pad)",
    "UPDATE copy SET k = k + 1",
    "DELETE FROM copy",
    "DROP TABLE copy",
)


def run() -> int:
    """Builds, trains and replaces the profile in the checkout; returns the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.BUILD, packages.COMPRESSION, packages.SYSBENCH), phase)
    with reporter.phase("MariaDB server") as phase:
        mariadb = prefix.ensure(phase)
        prefix.ensure_headers(phase, mariadb)
    sysbench.ensure(mariadb)
    with own_directory(DIRECTORY):
        with reporter.phase("RocksDB") as phase:
            library = rocksdb.ensure_training(phase, DIRECTORY)
        with reporter.phase("Build") as phase:
            plugin.build(phase, PRESET, mariadb, library, "ha_rocksdb")
        with reporter.phase("Training") as phase:
            _train(phase, mariadb)
        with reporter.phase("Profile") as phase:
            count = rocksdb.save_profile(DIRECTORY)
            phase.summary = f"{shown(rocksdb.PROFILE)}, of {count} files"
    say("  ./cairn build compiles RocksDB with it, once.")
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


def _read(phase: Phase, server: ScratchServer) -> None:
    for script in _READS:
        _sysbench(phase, server, script, "run")
    for number in range(1, _TABLES + 1):
        table = f"{sysbench.DATABASE}.sbtest{number}"
        server.query(f"SELECT SUM(LENGTH(pad)) FROM {table} FORCE INDEX (PRIMARY)")
        server.query(f"SELECT pad FROM {table} FORCE INDEX (k_{number}) ORDER BY k DESC LIMIT 5000")


def _sysbench(phase: Phase, server: ScratchServer, script: str, command: str) -> None:
    phase.progress(f"{script} {command}")
    status, output = sysbench.execute(
        server.mariadb,
        server.socket,
        (
            script,
            f"--tables={_TABLES}",
            f"--table-size={_ROWS}",
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

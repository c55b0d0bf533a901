"""What an engine's data takes on the disk, as it is and after compaction."""

from __future__ import annotations

from pathlib import Path

from cairn import files
from cairn.bench.engines import BenchServer
from cairn.bench.workload import Measurement


def compact(server: BenchServer) -> None:
    """Brings the data into the form that it has after a long time without writes."""
    if not server.loads_plugin:
        return  # InnoDB's pages stay as they are.
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        cursor.execute(
            "SELECT DISTINCT cf_name FROM information_schema.rocksdb_cf_options "
            "WHERE cf_name <> '__system__'"
        )
        for (family,) in cursor.fetchall():
            cursor.execute("SET GLOBAL rocksdb_compact_cf = %s", (family,))


def measure(server: BenchServer) -> list[Measurement]:
    """The bytes without logs before and after a compaction; with them they are in the details."""
    before = _measurement("size on disk", server.data)
    compact(server)
    return [before, _measurement("size on disk after compaction", server.data)]


def _measurement(name: str, data: Path) -> Measurement:
    everything = files.size_of(data)
    logs = sum(files.size_of(path) for path in data.rglob("*") if is_log(path))
    return Measurement(
        name,
        "bytes",
        float(everything - logs),
        higher_is_better=False,
        details={"with_logs": float(everything)},
    )


def is_log(path: Path) -> bool:
    """Whether a file of a data directory is a redo log, whose size is a setting, or RocksDB's."""
    return path.name.startswith("ib_logfile") or (
        path.suffix == ".log" and path.stem.isdigit() and path.parent.name == "#rocksdb"
    )

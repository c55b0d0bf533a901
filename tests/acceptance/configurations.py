"""Configuration files that people use start the server as they are, and mean what they say.

They stand in tests/acceptance/configurations, but for the stock package's sample, which comes from
that package.
"""

from __future__ import annotations

import os
from pathlib import Path

from cairn.paths import ROOT
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer
from tests.acceptance import volume
from tests.acceptance.case import Context, fill, require, require_kept

FILES = ROOT / "tests" / "acceptance" / "configurations"
_MIB = 1 << 20


def sample(context: Context) -> None:
    """The only option of the stock package's sample loads the plug-in."""
    found = sorted((context.mariadb.root / "stock" / "etc").rglob("*.cnf"))
    require(found, "the stock package has no sample configuration")
    for path in found:
        server = _started(context, path)
        require(server.query("SELECT @@rocksdb_datadir") == [("./#rocksdb",)], "not the default")
        _work(server)


def slow_disk(context: Context) -> None:
    server = _started(context, FILES / "slow-disk.cnf")
    _require_variables(
        server,
        {
            "rocksdb_block_cache_size": 64 * _MIB,
            "rocksdb_rate_limiter_bytes_per_sec": 64 * _MIB,
            "rocksdb_max_background_jobs": 4,
        },
    )
    _require_options(
        server,
        {
            "COMPRESSION_PER_LEVEL": "kLZ4Compression",
            "BOTTOMMOST_COMPRESSION": "kZSTD",
            "COMPRESSION_OPTS": "-14:1:0",
        },
    )
    server.query(f"SET GLOBAL rocksdb_rate_limiter_bytes_per_sec = {16 * _MIB}")
    _require_variables(server, {"rocksdb_rate_limiter_bytes_per_sec": 16 * _MIB})
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL rocksdb_rate_limiter_bytes_per_sec = 0")
        cursor.execute("SHOW WARNINGS")
        warnings = cursor.fetchall()
    require(len(warnings) == 1 and warnings[0][1] == 1210, f"no warning 1210, but {warnings}")
    _require_variables(server, {"rocksdb_rate_limiter_bytes_per_sec": 16 * _MIB})
    _work(server)


def bulk_and_mixed(context: Context) -> None:
    _require_direct_io(context.directory)
    server = _started(context, FILES / "bulk-and-mixed.cnf")
    _require_variables(
        server,
        {
            "rocksdb_max_open_files": -1,
            "rocksdb_max_background_jobs": 8,
            "rocksdb_max_total_wal_size": 4096 * _MIB,
            "rocksdb_block_size": 16384,
            "rocksdb_table_cache_numshardbits": 6,
            "rocksdb_compaction_sequential_deletes": 49999,
            "rocksdb_compaction_sequential_deletes_window": 50000,
            "rocksdb_compaction_sequential_deletes_file_size": 128 * _MIB,
            "rocksdb_compaction_sequential_deletes_count_sd": 1,
            "rocksdb_max_subcompactions": 4,
            "rocksdb_use_direct_reads": 1,
            "rocksdb_use_direct_io_for_flush_and_compaction": 1,
        },
    )
    _require_options(
        server,
        {
            "WRITE_BUFFER_SIZE": str(4 * _MIB),
            "TARGET_FILE_SIZE_BASE": str(8 * _MIB),
            "MAX_BYTES_FOR_LEVEL_BASE": str(4 * _MIB),
            "LEVEL0_FILE_NUM_COMPACTION_TRIGGER": "4",
            "LEVEL0_SLOWDOWN_WRITES_TRIGGER": "10",
            "MAX_WRITE_BUFFER_NUMBER": "8",
            "COMPRESSION_TYPE": "kLZ4Compression",
            "BOTTOMMOST_COMPRESSION": "kLZ4Compression",
            "COMPRESSION_OPTS": "-14:4:0",
            "LEVEL_COMPACTION_DYNAMIC_LEVEL_BYTES": "ON",
            "OPTIMIZE_FILTERS_FOR_HITS": "ON",
        },
    )
    _require_in_log(
        server,
        "prefix_extractor: rocksdb.CappedPrefix.12",
        "whole_key_filtering: 0",
        "block_size: 16384",
        "cache_index_and_filter_blocks: 1",
        "Options.compaction_pri: kMinOverlappingRatio",
        "Options.memtable_prefix_bloom_size_ratio: 0.05",
        "Options.use_direct_reads: 1",
        "Options.use_direct_io_for_flush_and_compaction: 1",
    )
    _work(server)


def insert_benchmark(context: Context) -> None:
    server = _started(context, FILES / "insert-benchmark.cnf")
    _require_variables(
        server,
        {
            "rocksdb_block_cache_size": 64 * _MIB,
            "rocksdb_max_subcompactions": 4,
            "rocksdb_merge_combine_read_size": 64 * _MIB,
        },
    )
    listed = server.query("SHOW VARIABLES LIKE 'rocksdb_use_hyper_clock_cache'")
    require(not listed, "SHOW VARIABLES lists a name that the stock plug-in lacks")
    _require_options(
        server,
        {
            "LEVEL0_SLOWDOWN_WRITES_TRIGGER": "20",
            "LEVEL0_STOP_WRITES_TRIGGER": "36",
            "COMPRESSION_PER_LEVEL": "kNoCompression:kNoCompression:kLZ4Compression",
        },
    )
    _require_in_log(server, "HyperClockCache", "num_shard_bits : 4")
    _work(server)


def _require_direct_io(directory: Path) -> None:
    """The file system must let programs read past its cache, which those in memory do not."""
    directory.mkdir(parents=True, exist_ok=True)
    probe = directory / "direct"
    try:
        os.close(os.open(probe, os.O_RDWR | os.O_CREAT | os.O_DIRECT))
    except OSError as error:
        raise volume.Skip(f"{directory} does not support direct reads: {error.strerror}") from None


def _started(context: Context, configuration: Path) -> ScratchServer:
    server = context.server(configuration.stem)
    server.configuration = configuration
    # At this level RocksDB's own log lists the options that it was opened with.
    server.start("--rocksdb-info-log-level=info_level")
    refused = [line for line in server.log() if "unknown variable" in line or "[ERROR]" in line]
    require(not refused, "\n".join(refused))
    return server


def _work(server: ScratchServer) -> None:
    """Rows go through memtable, files and a restart; all is there afterwards."""
    fill(server)
    server.query("SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1")
    server.query("UPDATE bad.kept SET k = k + 1")
    server.query("UPDATE bad.kept SET k = k - 1")
    require_kept(server)
    server.stop()
    server.start()
    require_kept(server)
    server.stop()


def _require_variables(server: ScratchServer, wanted: dict[str, int]) -> None:
    for name, value in wanted.items():
        found = server.query(f"SELECT @@global.{name}")[0][0]
        require(found == value, f"{name} is {found}, the configuration says {value}")


def _options(server: ScratchServer) -> dict[str, str]:
    return dict(
        server.query(
            "SELECT OPTION_TYPE, VALUE FROM information_schema.ROCKSDB_CF_OPTIONS "
            "WHERE CF_NAME = 'default'"
        )
    )


def _require_options(server: ScratchServer, wanted: dict[str, str]) -> None:
    options = _options(server)
    for name, value in wanted.items():
        found = options.get(name)
        require(found == value, f"{name} is {found}, the configuration says {value}")


def _require_in_log(server: ScratchServer, *wanted: str) -> None:
    """RocksDB writes the options that it was opened with into its own log."""
    log = (server.data / ENGINE_DIRECTORY / "LOG").read_text(encoding="utf-8", errors="replace")
    text = " ".join(log.split())
    for part in wanted:
        require(part in text, f"RocksDB's LOG does not say: {part}")

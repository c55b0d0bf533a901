"""The engines that are compared, and identical servers for them: equal memory, equal durability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from cairn import plugin
from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.scratch_server import ScratchServer

MIB = 1 << 20

# What a server that stores nothing in InnoDB leaves to it: the least that it starts with.
_IDLE_INNODB = ("--innodb-buffer-pool-size=8M", "--innodb-log-file-size=8M")
# The server's default, which a buffer pool larger than that would outgrow.
_LEAST_INNODB_LOG = 96 * MIB


class Durability(StrEnum):
    """How safe a transaction is once its commit is acknowledged."""

    # On the disk, in the engine's log and the binary log.
    SYNCED = "synced"
    # With the operating system, which a crash of the server does not touch; synced each second.
    # The stock plug-in keeps it in the process all the same, as with BUFFERED.
    WRITTEN = "written"
    # In the server's memory; written and synced each second.
    BUFFERED = "buffered"

    @property
    def flush_log_at_commit(self) -> int:
        """The value of innodb_flush_log_at_trx_commit and of rocksdb_flush_log_at_trx_commit."""
        return {Durability.SYNCED: 1, Durability.WRITTEN: 2, Durability.BUFFERED: 0}[self]

    def title(self) -> str:
        return {
            Durability.SYNCED: "each commit is synced",
            Durability.WRITTEN: "each commit is written, synced each second",
            Durability.BUFFERED: "commits are written and synced each second",
        }[self]


@dataclass(frozen=True)
class Setup:
    """What the servers of all engines get alike."""

    # The cache of the engine under test: InnoDB's buffer pool, RocksDB's block cache. Where a
    # server is held to a limit (slow_machine.cache_options), the former alone.
    memory_bytes: int
    durability: Durability = Durability.SYNCED
    binary_log: bool = False


@dataclass(frozen=True)
class Engine:
    """One side of the comparison."""

    key: str  # In results and on the command line.
    title: str  # In reports.
    sql_name: str  # What follows ENGINE=.
    library: Path | None  # The plug-in to load; None: the server's own InnoDB.

    def options(self, setup: Setup) -> tuple[str, ...]:
        """The options of a server for this engine, the same for all but for what it is named."""
        flush = setup.durability.flush_log_at_commit
        if self.library is None:
            own: tuple[str, ...] = (
                f"--innodb-buffer-pool-size={setup.memory_bytes}",
                f"--innodb-log-file-size={max(setup.memory_bytes, _LEAST_INNODB_LOG)}",
                f"--innodb-flush-log-at-trx-commit={flush}",
            )
        else:
            own = (
                *_IDLE_INNODB,
                f"--rocksdb-block-cache-size={setup.memory_bytes}",
                f"--rocksdb-flush-log-at-trx-commit={flush}",
                # The stock plug-in indexes only binary collations unless it is told otherwise.
                "--rocksdb-strict-collation-check=OFF",
            )
        return (*_COMMON, f"--default-storage-engine={self.sql_name}", *own, *_binary_log(setup))


_COMMON = (
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    "--max-connections=300",
    "--local-infile=ON",
)


def _binary_log(setup: Setup) -> tuple[str, ...]:
    if not setup.binary_log:
        return ("--skip-log-bin",)
    return (
        "--log-bin=binlog",
        "--server-id=1",
        "--binlog-format=ROW",
        f"--sync-binlog={int(setup.durability is Durability.SYNCED)}",
    )


KEYS = ("cairn", "innodb", "stock")


def choose(keys: Sequence[str], mariadb: Server) -> list[Engine]:
    """The engines of these names, in the order that they take turns in."""
    known = {
        "cairn": Engine("cairn", "Cairn", "ROCKSDB", plugin.library()),
        "innodb": Engine("innodb", "InnoDB", "InnoDB", None),
        "stock": Engine("stock", "stock plug-in", "ROCKSDB", mariadb.stock_plugin),
    }
    chosen = [known[key] for key in KEYS if key in keys]
    for engine in chosen:
        if engine.library is not None and not engine.library.is_file():
            raise CairnError(
                "The plug-in is not built yet: run ./cairn build."
                if engine.key == "cairn"
                else "The stock plug-in is not in the cache: run ./cairn up once."
            )
    return chosen


class BenchServer(ScratchServer):
    """The server of one engine."""

    # A full cache of changed pages may go to a slow disk.
    stop_s = 900.0
    # That of all engines.
    lock_wait_s = 50

    def __init__(
        self,
        mariadb: Server,
        directory: Path,
        engine: Engine,
        options: tuple[str, ...],
        data: Path,
    ) -> None:
        super().__init__(mariadb, directory, options, data)
        self.engine = engine
        self.library = engine.library
        self.loads_plugin = engine.library is not None

    def start(self, *extra: str, needs_engine: bool = True) -> float:
        return super().start(*extra, needs_engine=needs_engine and self.loads_plugin)

    def cache_misses(self) -> int:
        """Blocks of data or pages that were not in the engine's cache since the start."""
        name = "rocksdb_block_cache_data_miss" if self.loads_plugin else "innodb_buffer_pool_reads"
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SHOW GLOBAL STATUS LIKE '{name}'")
            return int(cursor.fetchone()[1])

    def connect(self, **options: Any) -> Any:
        """A PyMySQL connection; statements of a benchmark may take long."""
        return super().connect(**({"read_timeout": 3600, "write_timeout": 3600} | options))

"""./cairn acceptance roundtrip: rounds of stock, Cairn, stock, Cairn on one directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from cairn import plugin
from cairn.errors import CairnError
from cairn.paths import VAR
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.scratch_server import ScratchServer, own_directory
from tests import runs
from tests.acceptance import rounds
from tests.acceptance.rounds import Wrong
from tests.acceptance.roundtrip import picture
from tests.acceptance.roundtrip.changes import SCHEMA, Changes
from tests.acceptance.roundtrip.definitions import Definitions
from tests.acceptance.roundtrip.guard import Guard
from tests.acceptance.roundtrip.picture import Picture

OPTIONS = (
    "--rocksdb-strict-collation-check=OFF",
    "--rocksdb-block-cache-size=32M",
    "--rocksdb-flush-log-at-trx-commit=2",
    "--sql-mode=",
    "--character-set-server=utf8mb4",
    # Small memtables and files, so that a round has several levels.
    "--rocksdb-default-cf-options=write_buffer_size=64k;target_file_size_base=64k;"
    "max_bytes_for_level_base=256k",
)
SHOWN_DIFFERENCES = 10


class Round:
    """One directory and its way from plug-in to plug-in."""

    def __init__(self, mariadb: Server, server: ScratchServer, seed: str) -> None:
        self.mariadb = mariadb
        self.server = server
        self.chance = Random(seed)
        self.connection: Any = None
        self.what = ""
        self.details: list[str] = []
        self.changes = Changes(self.chance, self.query)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def start(self, library: Path, *options: str) -> None:
        self.server.library = library
        self.changes.of_stock = library == self.mariadb.stock_plugin
        self.server.start(*options)
        self.connection = self.server.connect(database=SCHEMA if self.changes.tables else None)

    def stop(self) -> Picture:
        """The picture that the plug-in gives last; the server is then shut down."""
        seen = self._look()
        self.connection.close()
        self.server.stop()
        return seen

    def compare(self, who: str, before: Picture, *, check: bool = True) -> None:
        found = picture.differences(before, self._look())
        if check:
            found += picture.check(self.query, self.changes.tables)
        if found:
            more = (
                f"\n    and {len(found) - SHOWN_DIFFERENCES} more"
                if len(found) > SHOWN_DIFFERENCES
                else ""
            )
            raise Wrong(f"{who}:\n    " + "\n    ".join(found[:SHOWN_DIFFERENCES]) + more)

    def _look(self) -> Picture:
        seen = picture.take(self.query, self.changes.tables)
        if seen.contradictions and self.server.library != self.mariadb.stock_plugin:
            raise Wrong("Cairn contradicts itself:\n    " + "\n    ".join(seen.contradictions))
        return seen

    def run(self) -> None:
        stock, ours = self.mariadb.stock_plugin, plugin.library()
        if self.chance.random() < 0.8:
            self.start(stock)
        else:  # Cairn can make a directory for the stock plug-in, too.
            self.start(ours, "--cairn-format=stock")
        self.query(f"CREATE DATABASE {SCHEMA}")
        self.query(f"USE {SCHEMA}")
        for _ in range(self.chance.randint(3, 7)):
            self.changes.create()
        self.changes.some(self.chance.randint(0, 25))
        seen = self.stop()

        self.start(ours)
        self.compare("Cairn reads what the stock plug-in wrote", seen)
        self._require_stock_format()
        self.changes.some(self.chance.randint(5, 40))
        if problems := picture.check(self.query, self.changes.tables):
            raise Wrong(f"Cairn after its own changes: {problems}")
        self._require_no_obstacles()
        seen = self.stop()

        self.start(stock)
        self.compare("the stock plug-in reads what Cairn wrote", seen)
        self.changes.some(self.chance.randint(0, 25))
        seen = self.stop()
        self.start(stock)
        self.compare("the stock plug-in after a restart", seen, check=False)
        seen = self.stop()

        self.start(ours)
        self.compare("Cairn reads what both wrote", seen)
        self.query(f"DROP DATABASE {SCHEMA}")
        self.changes.tables.clear()
        self.stop()

    def _require_stock_format(self) -> None:
        found = self.query("SELECT @@cairn_format")[0][0]
        if found != "stock":
            raise Wrong(f"a directory of the stock plug-in has cairn_format={found}")
        self._require_no_obstacles()
        if self.chance.random() < 0.5:  # There and back leaves a record and a file behind.
            self.query("SET GLOBAL cairn_format = 'cairn'")
            self.query("SET GLOBAL cairn_format = 'stock'")

    def _require_no_obstacles(self) -> None:
        obstacles = self.query(
            "SELECT TABLE_SCHEMA, TABLE_NAME, OBSTACLES FROM information_schema.CAIRN_TABLES "
            "WHERE OBSTACLES IS NOT NULL OR STATE <> 'ok'"
        )
        if obstacles:
            raise Wrong(f"tables stand in the way of the stock plug-in: {obstacles}")


def run(count: int, seed: str | None) -> int:
    """Runs rounds, each with a seed of its own that is printed; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter)
    base = rounds.announced_seed(seed)
    failed = run_rounds(reporter, mariadb, count, base)
    failed += run_guard(reporter, mariadb) + run_definitions(reporter, mariadb)
    return rounds.concluded(count + 2, failed)


def run_rounds(reporter: Reporter, mariadb: Server, count: int, base: str) -> int:
    """Runs rounds with the seeds that follow from `base`; returns how many failed."""

    def make(home: Path, seed: str) -> Round:
        return Round(mariadb, ScratchServer(mariadb, home, OPTIONS), seed)

    return _run(reporter, mariadb, count, base, make)


def run_guard(reporter: Reporter, mariadb: Server) -> int:
    """Has the stock plug-in refuse a directory, and open it again; returns how many failed."""

    def make(home: Path, _seed: str) -> Guard:
        return Guard(mariadb, ScratchServer(mariadb, home, OPTIONS))

    return _run(reporter, mariadb, 1, "guard", make)


def run_definitions(reporter: Reporter, mariadb: Server) -> int:
    """Has the stock plug-in change tables behind their copies; returns how many failed."""

    def make(home: Path, _seed: str) -> Definitions:
        return Definitions(mariadb, ScratchServer(mariadb, home, OPTIONS))

    return _run(reporter, mariadb, 1, "definitions", make)


def _run(
    reporter: Reporter,
    mariadb: Server,
    count: int,
    base: str,
    make: Callable[[Path, str], rounds.Round],
) -> int:
    if not mariadb.stock_plugin.is_file():
        raise CairnError("The stock plug-in is not in the cache: run ./cairn up once.")
    directory = VAR / "acceptance" / "roundtrip"
    with own_directory(directory):
        return rounds.run(reporter, directory, count, base, make)

"""./cairn acceptance stock-data: everything that Cairn does to a directory of the stock plug-in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cairn import files, packages, plugin, process
from cairn.errors import CairnError
from cairn.paths import LOG, ROOT, VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove
from tests import runs
from tests.acceptance.stock_data import table as tables_of
from tests.acceptance.stock_data.changes import Changes
from tests.acceptance.stock_data.table import BLOBS, SCHEMAS, Index, Part, Table, quoted

ARCHIVE = ROOT.parent / "shared" / "data" / "stock-10.11" / "datadir.tar.zst"
OPTIONS = (
    # Rows that have expired since the archive was made must stay.
    "--rocksdb-enable-ttl=OFF",
    "--rocksdb-enable-ttl-read-filtering=OFF",
    "--rocksdb-strict-collation-check=OFF",
    "--rocksdb-block-cache-size=32M",
    "--sql-mode=",
    "--default-time-zone=+00:00",
)
NEW_TABLES = (
    (
        "cairn_new",
        "id INT AUTO_INCREMENT PRIMARY KEY, n INT, s VARCHAR(20), KEY n (n), KEY s (s)",
        "(NULL, 1, 'one'), (NULL, NULL, 'two '), (NULL, 3, NULL)",
    ),
    (
        "cairn_old_temporals",
        "id INT PRIMARY KEY, a TIME(3), b DATETIME, c TIMESTAMP(6) NULL, KEY a (a), KEY b (b), "
        "KEY c (c, a)",
        "(1, '-838:59:59', '0000-00-00', '2001-01-01 00:00:01.5'), (2, NULL, NULL, NULL), "
        "(3, '12:13:14.567', '9999-12-31 23:59:59', '2024-02-29 12:34:56.789012')",
    ),
)
ADDED = "cairn_added"


class Run:
    """One copy of the directory, and what was found wrong with its tables."""

    def __init__(self, mariadb: Server, server: ScratchServer) -> None:
        self.mariadb = mariadb
        self.server = server
        self.connection: Any = None
        self.tables: list[Table] = []
        self.checksums: dict[str, int | None] = {}
        self.failed: set[str] = set()
        self.unsound_in_stock: set[str] = set()

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def start(self, library: Path | None = None) -> None:
        self.server.library = library
        self.server.start()
        self.connection = self.server.connect(charset="utf8mb4")
        self.query("SET system_versioning_alter_history = KEEP")

    def stop(self) -> None:
        self.connection.close()
        self.server.stop()

    def problem(self, table: object, text: str) -> None:
        self.failed.add(str(table))
        say(f"    {table}: {text}")

    def each(self, check: Callable[[Table], Iterable[str]]) -> None:
        """Runs a check on every table; an error is a problem of the table, a crash ends the run."""
        import pymysql

        for table in self.tables:
            try:
                for text in check(table):
                    self.problem(table, text)
            except pymysql.MySQLError as error:
                if not self.server.is_alive() or not self.server.answers():
                    raise CairnError(
                        f"{table}: the server is gone\n{self.server.excerpt()}"
                    ) from error
                self.problem(table, f"error {error.args}")

    # ---- what must hold -------------------------------------------------------------------------

    def read_tables(self) -> None:
        self.tables = tables_of.read(self.query)

    def checksum(self, table: Table) -> int | None:
        return self.query(f"CHECKSUM TABLE {table.quoted} EXTENDED")[0][1]

    def remember(self) -> None:
        """The checksums that the next plug-in must give."""
        self.checksums = {str(table): self.checksum(table) for table in self.tables}

    def same_checksum(self, table: Table) -> Iterator[str]:
        found, wanted = self.checksum(table), self.checksums.get(str(table))
        if found != wanted:
            yield f"its checksum is {found}, not {wanted}"

    def sound(self, table: Table) -> Iterator[str]:
        answers = self.query(f"CHECK TABLE {table.quoted}")
        if answers[-1][3] != "OK":
            yield f"CHECK TABLE says {[answer[3] for answer in answers]}"

    def sound_in_stock(self, table: Table) -> Iterator[str]:
        """As sound as the stock plug-in finds what it wrote itself."""
        if str(table) not in self.unsound_in_stock:
            yield from self.sound(table)

    def all_in_stock_format(self) -> None:
        """Nothing stands in the way of the stock plug-in."""
        found = self.query("SELECT @@cairn_format")[0][0]
        if found != "stock":
            self.problem("the directory", f"has cairn_format={found}")
        seen = set()
        for schema, name, state, form, obstacles in self._format_rows():
            seen.add((schema, name))
            if (state, form, obstacles) != ("ok", "stock", None):
                self.problem(f"{schema}.{name}", f"is {state}, {form}, obstacles {obstacles}")
        for table in self.tables:
            if (table.schema, table.name) not in seen:
                self.problem(table, "is not in CAIRN_TABLES")

    def in_cairn_format_where_it_gains(self) -> int:
        """CAIRN_TABLES names the obstacles of just these tables; their number."""
        obstacles: dict[tuple[str, str], str | None] = {}
        for schema, name, state, form, text in self._format_rows():
            if state != "ok" or (form == "cairn") != (text is not None):
                self.problem(f"{schema}.{name}", f"is {state}, {form}, obstacles {text}")
            obstacles[schema, name] = text or obstacles.get((schema, name))
        for table in self.tables:
            text = obstacles.get((table.schema, table.name))
            gains = table.gains_by_the_cairn_format()
            if gains is not None and gains != (text is not None):
                self.problem(table, f"gains by the Cairn format: {gains}; obstacles {text}")
        return sum(text is not None for text in obstacles.values())

    def _format_rows(self) -> list[tuple[Any, ...]]:
        return self.query(
            "SELECT TABLE_SCHEMA, TABLE_NAME, STATE, FORMAT, OBSTACLES "
            "FROM information_schema.CAIRN_TABLES"
        )

    def right_indexes(self, table: Table) -> Iterator[str]:
        yield from tables_of.differing_indexes(self.query, table)

    def right_indexes_of_cairn(self, table: Table) -> Iterator[str]:
        """No exception for the collations that the stock plug-in reads wrongly."""
        yield from tables_of.differing_indexes(self.query, table, exact=True)

    # ---- what is done ---------------------------------------------------------------------------

    def trip(self, phase: Phase) -> None:
        """The stock plug-in gives what Cairn gave last, and Cairn does once more."""
        self.remember()
        self.stop()
        self.start(self.mariadb.stock_plugin)
        self.each(self.same_checksum)
        self.each(self.sound_in_stock)
        self.stop()
        self.start()
        self.each(self.same_checksum)
        self.all_in_stock_format()
        phase.summary = f"{len(self.tables)} tables, back at Cairn"

    def add_and_drop_an_index(self, table: Table) -> Iterator[str]:
        column = [column for column in table.columns if not column.is_compressed][-1]
        prefix_ = 4 if column.type in BLOBS else 0
        key = f"{ADDED} ({column.quoted}{f'({prefix_})' if prefix_ else ''})"
        before = self.checksum(table)
        with self._temporals_of(table):
            self.query(f"ALTER TABLE {table.quoted} ADD INDEX {key}")
        added = Index(ADDED, False, False, [Part(column, prefix_)])
        primary = [table.primary] if table.primary else []
        yield from self.right_indexes(replace(table, indexes=[*primary, added]))
        yield from self.sound(table)
        self.query(f"ALTER TABLE {table.quoted} DROP INDEX {ADDED}")
        if (after := self.checksum(table)) != before:
            yield f"adding and dropping an index turned its checksum from {before} to {after}"

    def make_tables(self) -> None:
        for name, definition, rows in NEW_TABLES:
            table = f"{quoted(SCHEMAS[0])}.{name}"
            old = "old" in name  # The archive has no columns of the old temporal types.
            self.query(f"SET GLOBAL mysql56_temporal_format = {'OFF' if old else 'ON'}")
            self.query(f"CREATE TABLE {table} ({definition}) ENGINE=ROCKSDB")
            self.query("SET GLOBAL mysql56_temporal_format = ON")
            self.query(f"INSERT INTO {table} VALUES {rows}")

    def copy_and_rename(self, table: Table) -> Iterator[str]:
        """The definition serves another table, and rows take another name and come back."""
        before = self.checksum(table)
        copy, moved = f"{quoted(table.schema)}.cairn_copy", f"{quoted(table.schema)}.cairn_moved"
        names = ", ".join(column.quoted for column in table.columns)
        with self._temporals_of(table):
            self.query(f"CREATE OR REPLACE TABLE {copy} LIKE {table.quoted}")
        self.query(f"INSERT INTO {copy} ({names}) SELECT {names} FROM {table.quoted}")
        copied = replace(table, name="cairn_copy")
        if tables_of.rows_of(self.query, copied) != tables_of.rows_of(self.query, table):
            yield "a copy of it has other rows"
        yield from self.right_indexes(copied)
        self.query(f"{'DELETE FROM' if table.is_versioned else 'TRUNCATE TABLE'} {copy}")
        if rows := tables_of.rows_of(self.query, copied):
            yield f"a copy of it has {rows.total()} rows after it was emptied"
        self.query(f"DROP TABLE {copy}")
        self.query(f"RENAME TABLE {table.quoted} TO {moved}")
        self.query(f"RENAME TABLE {moved} TO {table.quoted}")
        if (after := self.checksum(table)) != before:
            yield f"renaming it turned its checksum from {before} to {after}"

    @contextmanager
    def _temporals_of(self, table: Table) -> Iterator[None]:
        """Columns of the old temporal types stay what they are while their table is rewritten."""
        if not table.has_old_temporals:
            yield
            return
        self.query("SET GLOBAL mysql56_temporal_format = OFF")
        try:
            yield
        finally:
            self.query("SET GLOBAL mysql56_temporal_format = ON")

    def rewrite(self, table: Table) -> Iterator[str]:
        before = self.checksum(table)
        with self._temporals_of(table):
            self.query(f"ALTER TABLE {table.quoted} FORCE")
        if (after := self.checksum(table)) != before:
            yield f"ALTER TABLE FORCE turned its checksum from {before} to {after}"


def run(archive: Path | None) -> int:
    """Takes a copy of the archive's directory through all steps; the exit status."""
    archive = archive or ARCHIVE
    listed = archive.with_name("checksums.tsv")
    for path in (archive, listed):
        if not path.is_file():
            print(f"cairn: {path} is not there: name the archive with --archive.", file=sys.stderr)
            return 2
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.UNPACKING)
    if not mariadb.stock_plugin.is_file():
        raise CairnError("The stock plug-in is not in the cache: run ./cairn up once.")
    say(f"  {shown(plugin.library())}")
    directory = VAR / "acceptance" / "stock-data"
    with own_directory(directory):
        unpack(archive, directory / "data")
        with ScratchServer(mariadb, directory, OPTIONS) as server:
            run_ = Run(mariadb, server)
            run_.checksums = read_checksums(listed)
            with reporter.phase("The yardstick") as phase:
                run_.unsound_in_stock = _unsound_in_stock(mariadb, directory, archive)
                phase.summary = (
                    f"{len(run_.unsound_in_stock)} tables that stock finds corrupt itself"
                )
            _steps(reporter, run_)
            run_.stop()
        runs.leave(directory, run_.failed)
    # A problem can be one of the directory, or of a table that should not be there.
    known = {str(table) for table in run_.tables}
    passed = len(known - run_.failed)
    say(f"\n{passed} passed, {len(run_.failed)} failed")
    return 1 if run_.failed else 0


def unpack(archive: Path, data: Path) -> None:
    """The archive holds one folder, the data directory."""
    partial = files.fresh_directory(data.with_name("data.partial"))
    process.run(
        ["tar", "--zstd", "-xf", archive, "-C", partial, "--strip-components=1"]
        + ["--no-same-owner", "--no-same-permissions"],
        log=LOG / "acceptance.log",
        what=f"Unpacking {shown(archive)}",
    )
    files.install_directory(partial, data)


def read_checksums(listed: Path) -> dict[str, int | None]:
    """What the stock plug-in gave, by table."""
    lines = listed.read_text(encoding="utf-8").splitlines()
    pairs = (line.rsplit("\t", 1) for line in lines if line)
    return {name: int(checksum) for name, checksum in pairs}


def _unsound_in_stock(mariadb: Server, directory: Path, archive: Path) -> set[str]:
    """The tables of a fresh copy that the stock plug-in's own CHECK TABLE complains of.

    It cannot compare all that it writes for some collations of several levels.
    """
    home = directory / "yardstick"
    unpack(archive, home / "data")
    with ScratchServer(mariadb, home, OPTIONS) as server:
        stock = Run(mariadb, server)
        stock.start(mariadb.stock_plugin)
        stock.read_tables()
        unsound = {str(table) for table in stock.tables if any(stock.sound(table))}
        stock.stop()
    remove(home)
    return unsound


def _steps(reporter: Reporter, run_: Run) -> None:
    @contextmanager
    def step(name: str) -> Iterator[Phase]:
        before = len(run_.failed)
        with reporter.phase(name) as phase:
            yield phase
            wrong = len(run_.failed) - before
            phase.summary += f", {wrong} more tables failed" if wrong else ""

    with step("Opening") as phase:
        run_.start()
        run_.read_tables()
        for name in run_.checksums.keys() - {str(table) for table in run_.tables}:
            run_.problem(name, "is not there")
        run_.each(run_.same_checksum)
        run_.each(run_.sound)
        run_.all_in_stock_format()
        phase.summary = f"{len(run_.tables)} tables"
    with step("Indexes") as phase:
        run_.each(run_.right_indexes)
        phase.summary = f"{sum(len(table.usable_indexes) for table in run_.tables)} indexes"
    with step("Changes") as phase:
        phase.summary = f"{_change(run_)} rows inserted, updated or deleted"
    with step("Back to stock") as phase:
        run_.trip(phase)
    with step("Copies") as phase:
        run_.each(run_.copy_and_rename)
        phase.summary = f"made and dropped of {len(run_.tables)} tables"
    with step("New indexes") as phase:
        run_.each(run_.add_and_drop_an_index)
        run_.make_tables()
        run_.read_tables()
        run_.all_in_stock_format()
        phase.summary = f"added to and dropped from {len(run_.tables) - len(NEW_TABLES)} tables"
    with step("Back to stock") as phase:
        run_.trip(phase)
    with step("The Cairn format") as phase:
        run_.query("SET GLOBAL cairn_format = 'cairn'")
        run_.each(run_.rewrite)
        rewritten = run_.in_cairn_format_where_it_gains()
        run_.each(run_.right_indexes_of_cairn)
        phase.summary = f"{rewritten} tables in it; {_change(run_)} rows changed"
        run_.each(run_.right_indexes_of_cairn)
        run_.remember()
        run_.stop()
        run_.start()
        run_.each(run_.same_checksum)
        run_.in_cairn_format_where_it_gains()
    with step("The stock format") as phase:
        run_.query("SET GLOBAL cairn_format = 'stock'")
        run_.each(run_.rewrite)
        run_.all_in_stock_format()
        run_.each(run_.right_indexes)
        phase.summary = f"{len(run_.tables)} tables"
    with step("Back to stock") as phase:
        run_.trip(phase)


def _change(run_: Run) -> int:
    """Changes rows of every table through each of its indexes; how many changes were made."""
    made = 0

    def change(table: Table) -> Iterator[str]:
        nonlocal made
        changes = Changes(table, run_.query)
        yield from changes.run()
        made += changes.made
        if changes.rows and not changes.made:
            yield "no row of it could be changed"
        yield from run_.sound(table)

    run_.each(change)
    run_.each(run_.right_indexes)
    return made

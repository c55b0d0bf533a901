"""./cairn acceptance damage: bytes of stored entries change below RocksDB's checksums.

Each round alters entries of one table, or one of its records in the engine's dictionary, and looks
at what statements make of it. The other tables must not notice.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from cairn import files, packages, plugin, rocksdb
from cairn.errors import CairnError
from cairn.paths import BUILD, VAR
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer, own_directory
from tests import runs
from tests.acceptance import rounds
from tests.acceptance.altered_tables import HIDDEN, LAYOUTS, PRIMARY, SCHEMA, TABLES, Table
from tests.acceptance.rounds import Wrong
from tests.crash.ddl_state import Dictionary

PROGRAM = BUILD / "release" / "tests" / "acceptance" / "alter_entries"
OPTIONS = ("--sql-mode=", "--rocksdb-block-cache-size=16M")
CHECKSUM_OPTIONS = (
    "--rocksdb-store-row-debug-checksums=ON",
    "--rocksdb-verify-row-debug-checksums=ON",
)
_DICTIONARY_FAMILY = "__system__"
_TABLE, _INDEX, _STATISTICS, _AUTO_INCREMENT, _TABLE_VERSION = 1, 2, 6, 9, 20
_LAYOUT_HISTORY = 0x45
_COLUMN_FAMILY, _MAX_INDEX_NUMBER, _DIRECTORY_FORMAT = 3, 7, 0x43
_LOST_CONNECTION = (2006, 2013)
_GET_ERRMSG = 1296

Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Index:
    """Where the entries of an index lie."""

    name: str
    family: int
    number: int


class Statement:
    """What a statement gave: rows or an error."""

    def __init__(self, server: ScratchServer, text: str) -> None:
        import pymysql

        self.text = text
        self.rows: list[tuple[Any, ...]] = []
        self.error: tuple[int, str] | None = None
        try:
            # As bytes: an altered text may be ill-formed.
            self.rows = server.query(text, use_unicode=False, conv={})
        except pymysql.MySQLError as error:
            self.error = (error.args[0], str(error.args[-1]))
            if error.args[0] in _LOST_CONNECTION or not server.is_alive():
                raise Wrong(f"the server is gone after {text}:\n{server.excerpt()}") from error

    def counted(self) -> Rows:
        return Counter(self.rows)


class Original:
    """The directory that every round starts with, and what it holds."""

    def __init__(self, mariadb: Server, directory: Path, *, checksums: bool) -> None:
        self.mariadb = mariadb
        self.options = OPTIONS + (CHECKSUM_OPTIONS if checksums else ())
        self.data = directory / ("checksums" if checksums else "original")
        self.rows: dict[str, Rows] = {}  # By the statement that reads them.
        self.indexes: dict[str, list[Index]] = {}  # Of each table.
        server = ScratchServer(mariadb, directory / "making", self.options)
        with server:
            server.start()
            self.has_checksums = bool(
                server.query("SHOW VARIABLES LIKE 'rocksdb_verify_row_debug_checksums'")
            )
            server.query(f"CREATE DATABASE {SCHEMA}")
            for table in TABLES:
                for statement in table.statements():
                    server.query(statement)
                for statement in reads(table):
                    self.rows[statement] = Statement(server, statement).counted()
            names = {table.name: _index_names(server, table) for table in TABLES}
            server.stop()
        dictionary = Dictionary.read(server.data / ENGINE_DIRECTORY)
        for table in TABLES:
            ids = dictionary.tables[f"{table.path}{table.partition}"]
            self.indexes[table.name] = [
                Index(name, *map(int, number.split(":")))
                for name, number in zip(names[table.name], ids, strict=True)
            ]
        server.data.rename(self.data)


def _index_names(server: ScratchServer, table: Table) -> list[str]:
    """In the server's order, which is the dictionary's; a hidden primary key comes last."""
    rows = server.query(f"SHOW KEYS FROM {table.path}")
    names = list(dict.fromkeys(row[2] for row in rows))
    return names if PRIMARY in names else [*names, HIDDEN]


def reads(table: Table) -> dict[str, str]:
    """Statements that read all rows and all entries, and the index that each uses."""
    return {
        table.rows_by(""): "",
        **{table.rows_by(index): index for index in table.indexes},
        **{table.entries_of(index): index for index in table.indexes},
    }


class Round:
    """One alteration and its consequences."""

    def __init__(self, original: Original, server: ScratchServer, seed: str) -> None:
        self.original = original
        self.server = server
        self.chance = Random(seed)
        self.table = self.chance.choice(TABLES)
        self.others = [table for table in TABLES if table is not self.table]
        self.details: list[str] = []  # Entries: "key value -> key value" in hex.
        self.what = ""

    def run(self) -> None:
        self.server.data = self.server.directory / "data"
        files.remove(self.server.data)
        shutil.copytree(self.original.data, self.server.data)
        kind = self.chance.random()
        if kind < 0.55:
            self._alter_data()
        elif kind < 0.9:
            self._alter_dictionary()
        else:
            self._alter_common_record()
        self.server.stop()

    # ---- data ------------------------------------------------------------------------------------

    def _alter_data(self) -> None:
        chosen = self.chance.choice(self.original.indexes[self.table.name])
        index, family, keys = chosen.name, f"{chosen.family}", f"{chosen.number:08x}"
        part = self.chance.choice(("key", "value"))
        if not self._alter(family, keys, part, self.chance.choice((1, 1, 2, 5))):
            part = "key"  # Entries without a value.
            self._alter(family, keys, part, 1)
        self.what = f"{len(self.details)} {part}s of {self.table.path}, index {index}"
        is_row = index not in self.table.indexes or index == PRIMARY
        self.server.start(*self.original.options)
        found = self._read_all(is_row=is_row)
        self._write()
        check = self._check_table(self.table)
        sound = check == ["status: OK"]
        if sound and found:
            raise Wrong(f"CHECK TABLE sees nothing, but {found[0]}")
        if sound and not is_row:
            raise Wrong("CHECK TABLE does not see the altered entries")
        if sound and part == "key" and len(self.original.indexes[self.table.name]) > 1:
            raise Wrong("CHECK TABLE does not see that a row has another key")
        self._require_others()
        self._drop()

    def _read_all(self, *, is_row: bool) -> list[str]:
        """Reads by every index; returns the errors, and raises when a wrong row comes back."""
        errors = []
        for text, index in reads(self.table).items():
            statement = Statement(self.server, text)
            expected = self.original.rows[text]
            if statement.error is not None:
                errors.append(f"{text}: {statement.error}")
                self._require_clear(statement)
                continue
            wrong = statement.counted() - expected
            missing = expected - statement.counted()
            if self.original.has_checksums and wrong:
                raise Wrong(f"{text} gives {dict(wrong)} in spite of the row's checksums")
            allowed = len(self.details)
            column_count = len(next(iter(expected)))
            reads_rows = text.startswith("SELECT *") and not self.table.is_covered_by(
                index, column_count
            )
            if reads_rows and not is_row and set(wrong) - set(expected):
                raise Wrong(f"{text} gives rows that are not in the table: {dict(wrong)}")
            if wrong.total() > allowed or missing.total() > allowed:
                raise Wrong(
                    f"{text}: {allowed} entries were altered; {dict(wrong)} came in place of "
                    f"{dict(missing)}"
                )
        for text in self._look_ups():
            statement = Statement(self.server, text)
            if statement.error is not None:
                errors.append(f"{text}: {statement.error}")
                self._require_clear(statement)
        return errors

    def _look_ups(self) -> list[str]:
        texts = []
        for columns in self.table.indexes.values():
            joined = " AND ".join(f"l.{column} <=> r.{column}" for column in columns)
            texts.append(
                f"SELECT COUNT(*) FROM {self.table.path} l JOIN {self.table.path} r ON {joined}"
            )
        return [*texts, f"CHECKSUM TABLE {self.table.path}", f"ANALYZE TABLE {self.table.path}"]

    def _write(self) -> None:
        """Statements that change every row; the table stays as it was."""
        columns = sorted({columns[0] for columns in self.table.indexes.values()})
        path = self.table.path
        texts = [
            *(f"UPDATE {path} SET {column} = CONCAT({column}) + 0" for column in columns),
            f"DELETE FROM {path}",
            f"INSERT INTO {path} SELECT * FROM {path} LIMIT 3",
            f"REPLACE INTO {path} SELECT * FROM {path}",
        ]
        for text in texts:
            statement = Statement(
                self.server, f"BEGIN NOT ATOMIC START TRANSACTION; {text}; ROLLBACK; END"
            )
            if statement.error is not None:
                self._require_clear(statement)
        rebuilt = Statement(self.server, f"CREATE TABLE {SCHEMA}.copied AS SELECT * FROM {path}")
        if rebuilt.error is not None:
            self._require_clear(rebuilt)
        Statement(self.server, f"DROP TABLE IF EXISTS {SCHEMA}.copied")

    def _require_clear(self, statement: Statement) -> None:
        """An error of the engine's own names table, index and key."""
        number, text = statement.error or (0, "")
        if number != _GET_ERRMSG:
            return
        path = re.escape(f"{SCHEMA}.{self.table.name}")
        named = re.search(f"table {path}\\b.*, index \\S.*[: ][0-9a-f]{{8,}}", text)
        if not named:
            raise Wrong(f"{statement.text} fails with a text that does not say where: {text}")

    # ---- dictionary ------------------------------------------------------------------------------

    def _alter_dictionary(self) -> None:
        index = self.chance.choice(self.original.indexes[self.table.name])
        name, of_index = index.name, f"{index.family:08x}{index.number:08x}"
        path = f"{self.table.path}{self.table.partition}"
        records = {
            "entry": f"{_TABLE:08x}{path.encode().hex()}",
            f"record of the index {name}": f"{_INDEX:08x}{of_index}",
            f"statistics of the index {name}": f"{_STATISTICS:08x}{of_index}",
            "counter": f"{_AUTO_INCREMENT:08x}",
            "layouts": f"{_LAYOUT_HISTORY:08x}",
            "version": f"{_TABLE_VERSION:08x}"
            + f"MariaDB:table-version:./{SCHEMA}/{self.table.name}".encode().hex(),
        }
        what = self.chance.choice([*records, "entry", f"record of the index {name}"])
        part = self.chance.choice(("key", "value", "value"))
        owner = {"counter": "collated", "layouts": LAYOUTS}.get(what)
        if owner is not None:  # Only one table has such a record.
            self.table = next(table for table in TABLES if table.name == owner)
            self.others = [table for table in TABLES if table is not self.table]
        if not self._alter(_DICTIONARY_FAMILY, records[what], part, 1):
            what = "entry"
            self._alter(_DICTIONARY_FAMILY, records[what], part, 1)
        self.what = f"the {part} of {self.table.path}'s {what}"
        self.server.start(*self.original.options)
        reasons = self._quarantined()
        claimed = [table for table in self.others if "claimed more" in reasons.get(table.name, "")]
        strangers = [t.name for t in self.others if t.name in reasons and t not in claimed]
        if strangers:
            raise Wrong(f"other tables are quarantined: {strangers}: {reasons}")
        for text in (*reads(self.table), f"INSERT INTO {self.table.path} () VALUES ()"):
            statement = Statement(self.server, text)
            refused = statement.error is not None and "quarantined" in statement.error[1]
            if (self.table.name in reasons) != refused:
                raise Wrong(f"quarantined: {reasons}, but {text} gives {statement.error}")
        self._check_table(self.table)
        untouched = [table for table in self.others if table not in claimed]
        self._require_others(untouched)
        self._drop()
        self._require_others(untouched)
        for text in self.table.statements():
            self.server.query(text)
        self.server.stop()
        self.server.start(*self.original.options)
        self._require_others()
        for text in reads(self.table):
            if Statement(self.server, text).counted() != self.original.rows[text]:
                raise Wrong(f"the table that was made anew gives other rows: {text}")

    def _alter_common_record(self) -> None:
        """A record that concerns every table: the engine refuses it, or no wrong row comes back."""
        records = {
            "a column family": _COLUMN_FAMILY,
            "the largest index number": _MAX_INDEX_NUMBER,
            "the directory's format": _DIRECTORY_FORMAT,
        }
        what = self.chance.choice(list(records))
        part = self.chance.choice(("key", "value"))
        if not self._alter(_DICTIONARY_FAMILY, f"{records[what]:08x}", part, 1):
            part = "value"  # The key is the type alone.
            self._alter(_DICTIONARY_FAMILY, f"{records[what]:08x}", part, 1)
        self.what = f"the {part} of the record of {what}"
        self.server.start(*self.original.options, needs_engine=False)
        if not self.server.has_engine():
            if not any("RocksDB" in line for line in self.server.errors()):
                raise Wrong(f"the log does not say why the engine is off:\n{self.server.excerpt()}")
            return
        reasons = self._quarantined()
        for table in TABLES:
            for text in reads(table):
                statement = Statement(self.server, text)
                if table.name in reasons and statement.error is None:
                    raise Wrong(f"a quarantined table is read: {text}")
                if statement.error is None and statement.counted() != self.original.rows[text]:
                    raise Wrong(f"other rows come back: {text}")
                if table.name not in reasons and statement.error is not None:
                    raise Wrong(f"{text}: {statement.error}")
        Statement(self.server, f"CREATE TABLE {SCHEMA}.fresh (id INT PRIMARY KEY) ENGINE=ROCKSDB")
        Statement(self.server, f"INSERT INTO {SCHEMA}.fresh VALUES (1)")
        self._require_others([table for table in self.others if table.name not in reasons])
        for table in TABLES:
            self.table = table
            self._drop()

    def _quarantined(self) -> dict[str, str]:
        return {
            name: reason
            for name, reason in self.server.query(
                "SELECT TABLE_NAME, REASON FROM information_schema.CAIRN_TABLES WHERE STATE <> 'ok'"
            )
        }

    # ---- both ------------------------------------------------------------------------------------

    def _alter(self, family: str, keys: str, part: str, count: int) -> bool:
        """Alters entries whose keys begin with `keys`; false when there are none."""
        how = self.chance.choice(("flip", "any"))
        seed = f"{self.chance.getrandbits(32)}"
        directory = self.server.data / ENGINE_DIRECTORY
        done = subprocess.run(
            [PROGRAM, directory, family, keys, part, how, str(count), seed],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 and "no entry" not in done.stderr:
            raise CairnError(f"The entries cannot be altered: {done.stderr.strip()}")
        self.details = done.stdout.splitlines()
        return bool(self.details)

    def _check_table(self, table: Table) -> list[str]:
        statement = Statement(self.server, f"CHECK TABLE {table.path}")
        answers = [f"{row[2].decode()}: {row[3].decode()}" for row in statement.rows]
        return answers or [str(statement.error)]

    def _require_others(self, tables: list[Table] | None = None) -> None:
        for table in self.others if tables is None else tables:
            for text in reads(table):
                statement = Statement(self.server, text)
                if statement.error or statement.counted() != self.original.rows[text]:
                    raise Wrong(f"another table is touched: {text}: {statement.error}")
            if (answer := self._check_table(table)) != ["status: OK"]:
                raise Wrong(f"another table is touched: CHECK TABLE {table.path}: {answer}")

    def _drop(self) -> None:
        statement = Statement(self.server, f"DROP TABLE {self.table.path}")
        if statement.error is not None:
            raise Wrong(f"DROP TABLE fails: {statement.error}")
        left = self.server.query(
            f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}' "
            f"AND TABLE_NAME = '{self.table.name}'"
        )
        if left:
            raise Wrong("DROP TABLE leaves the table")


def run(count: int, seed: str | None) -> int:
    """Runs rounds, each with a seed of its own that is printed; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.BUILD, packages.COMPRESSION)
    base = rounds.announced_seed(seed)
    return rounds.concluded(count, run_rounds(reporter, mariadb, count, base))


def run_rounds(reporter: Reporter, mariadb: Server, count: int, base: str) -> int:
    """Runs rounds with the seeds that follow from `base`; returns how many failed."""
    with reporter.phase("Build (alter_entries)") as phase:
        library = rocksdb.ensure(phase, plugin.sanitizer_of("release"))
        for target in ("alter_entries", "print_dictionary"):
            plugin.build(phase, "release", mariadb, library, target)
    directory = VAR / "acceptance" / "damage"
    with own_directory(directory):
        with reporter.phase("Tables") as phase:
            originals = [Original(mariadb, directory, checksums=False)]
            if originals[0].has_checksums:
                originals[0].has_checksums = False
                originals.append(Original(mariadb, directory, checksums=True))
            phase.summary = f"{len(TABLES)} tables" + (
                ", with checksums too" if len(originals) > 1 else ""
            )

        def make(home: Path, seed: str) -> Round:
            original = Random(f"{seed} original").choice(originals)
            return Round(original, ScratchServer(mariadb, home), seed)

        return rounds.run(reporter, directory, count, base, make)

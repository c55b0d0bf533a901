"""Tables that Cairn wrote under the server it is developed with, opened by another server's build.

Keys of text hold what a collation makes of it, and a server that makes something else would not
find rows any more, without a word. So there is a table for every collation (of uca1400 in utf8mb3
and utf8mb4 alone), with words of many scripts; after the change of servers each index must give
what it gives with an InnoDB table of the other server's own, before and after further changes. (A
scan of the rows tells less: indexes of prefixes miss values that are equal at another length, with
any engine.) Then there are kinds of tables that a server's version may read otherwise.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from cairn import files
from cairn.prefix import Server
from cairn.scratch_server import ScratchServer
from tests.acceptance.package.clean_system import CleanSystem

SCHEMA = "carried_over"
_OPTIONS = ("--rocksdb-flush-log-at-trx-commit=0", "--innodb-flush-log-at-trx-commit=0")
_SEED = 2311
_WORDS = 240
_LONGEST = 20
# First and last code points of what words are made of, the common ones several times.
_SCRIPTS = (
    *((0x20, 0x7E),) * 6,
    *((0xA0, 0x24F),) * 4,
    *((0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x5D0, 0x5EA), (0x600, 0x6FF)),
    *((0x900, 0x97F), (0xE01, 0xE5B), (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x2000, 0x20CF)),
    *((0x3041, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xFB00, 0xFB4F), (0xFF01, 0xFFEF)),
    *((0x1F300, 0x1F64F), (0x10400, 0x1044F), (0x20000, 0x2A6DF)),
)
# What collations treat as one, order otherwise, pass over or expand.
_CLUSTERS = (
    *("ch", "ll", "lj", "nj", "dž", "ij", "cs", "dzs", "gy", "ae", "aa", "oe", "ß", "ẞ", "ss"),
    *("\u00ad", "\u200b", "\ufdfa", "e\u0301", "A\u030a", "เก", "ก์", " ", "  ", "\t", "\0"),
    *("中", "日本", "ア", "ｱ"),
)
# The type of the column, what of it is in the primary key, and in the other keys.
_TYPES = (
    (f"VARCHAR({_LONGEST})", "", ""),
    (f"CHAR({_LONGEST})", "", ""),
    ("TEXT", "(9)", "(5)"),
)
_FIRST = "SELECT id, s FROM words WHERE id % 4 <> 0"
_CHANGES = (
    "DELETE FROM %s WHERE id %% 5 = 1",
    "UPDATE %s SET id = id + 1000 WHERE id %% 7 = 3",
    "INSERT INTO %s SELECT id, s FROM words WHERE id %% 4 = 0",
)
# There a NUL byte counts in keys, and not where values are compared: indexes contradict scans, and
# engines each other.
_CONTRADICTORY = f"CHAR({_LONGEST}) tis620_thai_nopad_ci"
_NO_PARENT = 1452
# Ends of the names of collations that compare by several levels.
_SEVERAL_LEVELS = ("_czech_cs", "_as_cs", "_as_ci", "_ai_cs", "_w2")
_INDEXES = ("PRIMARY", "k", "p", "d")
# Each is a definition, and a source of the rows.
_KINDS = (
    ("id INT PRIMARY KEY, a INT, b BLOB, KEY (a), KEY (b(9))", "seq, seq * 7 % 101, seq * seq"),
    ("id INT, a DECIMAL(20,4), b DOUBLE, KEY (a, b)", "seq, seq / 7 - 9, -1 / seq"),
    (
        "id INT, a DATETIME(6), b TIMESTAMP(3) NULL, c TIME(2), PRIMARY KEY (a DESC, id), KEY (b), "
        "KEY (c)",
        "seq, '2024-02-29 01:02:03.4' + INTERVAL seq HOUR, '2001-01-01' + INTERVAL seq DAY, seq",
    ),
    (
        "id INT PRIMARY KEY, a UUID, b INET6, c ENUM('x', 'y'), e BIT(9), KEY (a), KEY (b, c), "
        "KEY (e)",
        "seq, MD5(seq), CONCAT('::', HEX(seq)), seq % 2 + 1, seq",
    ),
    (
        "id INT PRIMARY KEY, a INT, v INT AS (a * 3) VIRTUAL, w VARCHAR(9) AS (MD5(a)) PERSISTENT, "
        "KEY (v), KEY (w)",
        "seq, seq * 7 % 101, NULL, NULL",
    ),
    (
        "id INT, a INT, b VARCHAR(200) COMPRESSED, PRIMARY KEY (id), KEY (a) COMMENT 'rev:r'",
        "seq, seq % 13, REPEAT('text ', seq % 40)",
    ),
)
_PARTITIONED = (
    "CREATE TABLE parts (id INT, a INT, PRIMARY KEY (id), KEY (a)) ENGINE=ROCKSDB "
    "PARTITION BY HASH (id) PARTITIONS 3",
    "INSERT INTO parts SELECT seq, seq * 7 % 101 FROM seq_1_to_300",
)
_LAID_OUT_ANEW = (
    "CREATE TABLE altered (id INT PRIMARY KEY, a INT, KEY (a)) ENGINE=ROCKSDB",
    "INSERT INTO altered SELECT seq, seq % 7 FROM seq_1_to_100",
    "ALTER TABLE altered ADD COLUMN b VARCHAR(9) DEFAULT 'b' FIRST, ALGORITHM=INSTANT",
    "INSERT INTO altered SELECT 'later', seq, seq % 7 FROM seq_101_to_200",
    "ALTER TABLE altered DROP COLUMN b, ADD COLUMN c INT DEFAULT 5, ALGORITHM=INSTANT",
)
_REFERENCES = (
    "CREATE TABLE parent (id INT PRIMARY KEY) ENGINE=ROCKSDB",
    "CREATE TABLE child (id INT PRIMARY KEY, parent INT, "
    "FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE) ENGINE=ROCKSDB",
    "INSERT INTO parent SELECT seq FROM seq_1_to_20",
    "INSERT INTO child SELECT seq, seq % 20 + 1 FROM seq_1_to_100",
)
_VERSIONED = (
    "CREATE TABLE versioned (id INT PRIMARY KEY, a INT, KEY (a)) ENGINE=ROCKSDB "
    "WITH SYSTEM VERSIONING",
    "INSERT INTO versioned SELECT seq, seq % 7 FROM seq_1_to_50",
    "UPDATE versioned SET a = a + 100 WHERE id % 3 = 0",
    "CREATE TABLE versioned_parts (id INT PRIMARY KEY, a INT) ENGINE=ROCKSDB "
    "WITH SYSTEM VERSIONING PARTITION BY KEY (id) PARTITIONS 2",
    "INSERT INTO versioned_parts SELECT seq, seq % 7 FROM seq_1_to_50",
    "UPDATE versioned_parts SET a = a + 100 WHERE id % 3 = 0",
    "CREATE TABLE versioned_child (id INT PRIMARY KEY, parent INT, "
    "FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE) ENGINE=ROCKSDB "
    "WITH SYSTEM VERSIONING",
    "INSERT INTO versioned_child SELECT seq, seq % 20 + 1 FROM seq_1_to_40",
)


@dataclass(frozen=True)
class _Text:
    """A table of words."""

    name: str
    about: str
    columns: str

    def twin(self) -> tuple[str, ...]:
        """Makes `twin`, the same table with InnoDB, from the words."""
        return (
            "DROP TABLE IF EXISTS twin",
            f"CREATE TABLE twin ({self.columns}) ENGINE=InnoDB",
            f"INSERT INTO twin {_FIRST}",
        )


class CarriedOver:
    """The tables, and what the first server said of them."""

    def __init__(self, mariadb: Server, directory: Path) -> None:
        """Makes the tables with a server of its own below `directory`, which then ends."""
        self._texts: list[_Text] = []
        self._others: list[str] = []
        self._checksums: dict[str, int] = {}
        with ScratchServer(mariadb, directory, _OPTIONS) as server:
            server.start()
            with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE DATABASE {SCHEMA}")
                cursor.execute(f"USE {SCHEMA}")
                cursor.execute("SET SESSION sql_mode = ''")
                self._make_texts(cursor)
                self._make_others(cursor)
                self._checksums = self._summed(cursor)
            server.stop()
            self._data = server.data

    @property
    def tables(self) -> int:
        return len(self._checksums)

    def _make_texts(self, cursor: Any) -> None:
        cursor.execute(
            "CREATE TABLE words (id INT AUTO_INCREMENT PRIMARY KEY, "
            "s VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin) ENGINE=InnoDB"
        )
        cursor.executemany("INSERT INTO words (s) VALUES (%s)", [(word,) for word in _words()])
        cursor.execute(
            "SELECT FULL_COLLATION_NAME, CHARACTER_SET_NAME "
            "FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY "
            "WHERE CHARACTER_SET_NAME NOT IN ('binary', 'filename') AND (CHARACTER_SET_NAME IN "
            "('utf8mb3', 'utf8mb4') OR FULL_COLLATION_NAME NOT LIKE '%uca1400%') ORDER BY 1"
        )
        for collation, character_set in cursor.fetchall():
            # Those of uca1400 are many; what they share has all types.
            is_variant = "uca1400" in collation and not collation.startswith("utf8mb4_uca1400_a")
            for kind, in_primary, in_others in _TYPES[: 1 if is_variant else None]:
                columns = (
                    f"id INT, s {kind} CHARACTER SET {character_set} COLLATE {collation}, "
                    f"PRIMARY KEY (s{in_primary}, id), KEY k (s{in_others}), KEY p (s(3)), "
                    f"KEY d (s{in_others} DESC, id)"
                )
                text = _Text(f"t{len(self._texts)}", f"{kind} {collation}", columns)
                if text.about == _CONTRADICTORY:
                    continue
                self._texts.append(text)
                cursor.execute(f"CREATE TABLE {text.name} ({columns}) ENGINE=ROCKSDB")
                cursor.execute(f"INSERT INTO {text.name} {_FIRST}")

    def _make_others(self, cursor: Any) -> None:
        self._others = ["parts", "altered", "parent", "child"]
        for number, (columns, values) in enumerate(_KINDS):
            cursor.execute(f"CREATE TABLE kind{number} ({columns}) ENGINE=ROCKSDB")
            cursor.execute(f"INSERT INTO kind{number} SELECT {values} FROM seq_1_to_300")
            self._others.append(f"kind{number}")
        for statement in (*_PARTITIONED, *_LAID_OUT_ANEW, *_REFERENCES, *_VERSIONED):
            cursor.execute(statement)

    def _summed(self, cursor: Any) -> dict[str, int]:
        names = [*(text.name for text in self._texts), *self._others]
        cursor.execute(f"CHECKSUM TABLE {', '.join(names)}")
        return {str(name).partition(".")[2]: checksum for name, checksum in cursor.fetchall()}

    # ---- with the other server ------------------------------------------------------------------

    def check(self, system: CleanSystem, *, keeps_other_times: bool) -> list[str]:
        """Lets the server of the system have the tables, in place of its own; what is wrong.

        `keeps_other_times`: that server writes the end of a version otherwise. The system's own
        data is back afterwards, and its server stopped.
        """
        system.stop()
        own = system.data.with_name("own-data")
        system.data.rename(own)
        try:
            shutil.copytree(self._data, system.data)
            system.run("chown", "--recursive", "mysql:mysql", f"/{system.places.data}")
            system.start()
            # What mariadb-upgrade makes anew would hide what is wrong before.
            with self._session(system) as connection, connection.cursor() as cursor:
                wrong = self._differences(cursor)
                if keeps_other_times:
                    wrong += _acts_on_old_versions(cursor)
            system.run("mariadb-upgrade")
            with self._session(system) as connection, connection.cursor() as cursor:
                return wrong + self._wrong_after_upgrade(cursor)
        finally:
            system.stop()
            files.remove(system.data)
            own.rename(system.data)

    def _session(self, system: CleanSystem) -> Any:
        connection = system.connect()
        with connection.cursor() as cursor:
            cursor.execute("SET NAMES utf8mb4, sql_mode = ''")
            cursor.execute(f"USE {SCHEMA}")
        return connection

    def _differences(self, cursor: Any) -> list[str]:
        found = self._summed(cursor)
        wrong = [
            f"{name} has other rows"
            for name in self._checksums
            if found.get(name) != self._checksums[name]
        ]
        for text in self._texts:
            try:
                wrong += [f"{text.about}: {what}" for what in _wrong_text(cursor, text)]
            except pymysql.MySQLError as error:
                wrong.append(f"{text.about}: {error}")
        for name in self._others:
            # The parent of a table with old versions is out of reach until that is made anew.
            if name != "parent":
                wrong += _damage(cursor, name)
        return wrong

    def _wrong_after_upgrade(self, cursor: Any) -> list[str]:
        wrong = []
        for name in (*(text.name for text in self._texts), *self._others):
            wrong += _damage(cursor, name)
        try:
            return [*wrong, *_wrong_references(cursor)]
        except pymysql.MySQLError as error:
            return [*wrong, f"foreign keys and versions: {error}"]


def _words() -> list[str]:
    """Words of many scripts, in letters of both cases, each once."""
    chance = random.Random(_SEED)
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        word = "".join(
            chance.choice(_CLUSTERS)
            if chance.random() < 0.3
            else chr(chance.randint(*chance.choice(_SCRIPTS)))
            for _ in range(chance.choice((0, 1, 1, 2, 3, 3, 4, 5, 8, 12)))
        )
        words[word[:_LONGEST]] = None
        if chance.random() < 0.3:
            words[word.upper()[:_LONGEST]] = None
    return list(words)


def _wrong_text(cursor: Any, text: _Text) -> list[str]:
    """What is wrong with a table of text: as it was, and after changes of this server."""
    for statement in text.twin():
        cursor.execute(statement)
    wrong = [*_damage(cursor, text.name), *_wrong_indexes(cursor, text)]
    for change in _CHANGES:
        for table in (text.name, "twin"):
            cursor.execute(change % table)
    after = [*_damage(cursor, text.name), *_wrong_indexes(cursor, text)]
    return [*wrong, *(f"after changes: {what}" for what in after)]


def _wrong_indexes(cursor: Any, text: _Text) -> list[str]:
    # By an index of a prefix InnoDB loses rows of a range there, and ROCKSDB does not.
    loses_rows = text.about.endswith(_SEVERAL_LEVELS)
    wrong = []
    for query, is_range in (
        ("SELECT COUNT(*), SUM(id) FROM {0} {1} WHERE s >= 'a'", True),
        ("SELECT COUNT(*), SUM(id) FROM {0} {1} WHERE s < 'm'", True),
        (
            "SELECT COUNT(*), SUM(x.id * y.id) FROM {0} x STRAIGHT_JOIN {0} y {1} ON y.s = x.s",
            False,
        ),
    ):
        for index in _INDEXES:
            by_index = f"FORCE INDEX ({index})"
            by_right_way = "USE INDEX ()" if is_range and loses_rows else by_index
            cursor.execute(query.format("twin", by_right_way))
            expected = cursor.fetchone()
            asked = query.format(text.name, by_index)
            cursor.execute(asked)
            if (found := cursor.fetchone()) != expected:
                wrong.append(f"{asked}: {found} in place of {expected}")
    return wrong


def _damage(cursor: Any, name: str) -> list[str]:
    cursor.execute(f"CHECK TABLE {name} EXTENDED")
    return [
        str(row)
        for row in cursor.fetchall()
        if row[2].lower() == "error" or (row[2] == "status" and row[3] != "OK")
    ]


def _acts_on_old_versions(cursor: Any) -> list[str]:
    """Versions whose end the server writes otherwise are out of reach until FORCE.

    It would take all rows for rows of the past: none would be found, and none be a duplicate.
    """
    wrong = []
    for statement in (
        "SELECT COUNT(*) FROM versioned",
        "UPDATE versioned SET a = 1",
        "INSERT INTO versioned VALUES (1, 1)",
        "DELETE FROM versioned",
        "CREATE TABLE copied SELECT * FROM versioned",
        "SELECT COUNT(*) FROM versioned_parts",
        "ALTER TABLE versioned_parts ADD PARTITION PARTITIONS 1",
        "DELETE FROM parent WHERE id = 1",
    ):
        try:
            cursor.execute(statement)
        except pymysql.MySQLError as error:
            if "FORCE" not in str(error):
                wrong.append(f"{statement}: {error}")
        else:
            wrong.append(f"{statement}: it is done on versions that an older server wrote")
    return wrong


def _wrong_references(cursor: Any) -> list[str]:
    """Foreign keys, also of tables with versions, which mariadb-upgrade has made anew."""
    wrong = []
    cursor.execute("DELETE FROM parent WHERE id = 1")
    for name, rows in (
        *(("child", 95), ("versioned_child", 38), ("versioned", 50), ("versioned_parts", 50)),
    ):
        cursor.execute(f"SELECT COUNT(*) FROM {name}")
        if (found := cursor.fetchone()[0]) != rows:
            wrong.append(f"{name} has {found} rows, not {rows}")
        wrong += _damage(cursor, name)
    for name, versions in (("versioned_child", 40), ("versioned", 66), ("versioned_parts", 66)):
        cursor.execute(f"SELECT COUNT(*) FROM {name} FOR SYSTEM_TIME ALL")
        if (found := cursor.fetchone()[0]) != versions:
            wrong.append(f"{name} has {found} versions, not {versions}")
    try:
        cursor.execute("INSERT INTO child VALUES (1000, 1)")
    except pymysql.MySQLError as error:
        if error.args[0] != _NO_PARENT:
            wrong.append(f"a child without a parent: {error}")
    else:
        wrong.append("a child without a parent is accepted")
    return wrong

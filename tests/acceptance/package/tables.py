"""Fifty tables of every kind that the stock plug-in has, and their checksums."""

from __future__ import annotations

from tests.acceptance.package.clean_system import CleanSystem

SCHEMA = "test_cairn"
_KINDS = (
    "id INT PRIMARY KEY, a INT, b VARCHAR(100), KEY (a), KEY (b)",
    "id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(100) COLLATE utf8mb4_bin",
    "id INT, a INT, b VARCHAR(100), PRIMARY KEY (a, id), UNIQUE (id)",
    "id INT, a INT, b VARCHAR(100)",
    "id INT PRIMARY KEY, a INT NOT NULL, b BLOB, KEY (a) COMMENT 'family'",
    "id INT PRIMARY KEY, a DECIMAL(20,4), b TEXT, KEY (a), KEY (b(20))",
    "id INT PRIMARY KEY, a DATETIME(6), b CHAR(50), KEY (a)",
    "id INT PRIMARY KEY, a DOUBLE, b VARBINARY(200), c YEAR DEFAULT 2026",
    "id INT, a INT, b VARCHAR(100), PRIMARY KEY (id) COMMENT 'rev:r1', KEY (a) COMMENT 'rev:r2'",
    "id INT PRIMARY KEY, a INT, b ENUM('x', 'y', 'z'), KEY (b, a)",
)
_TABLES = 50
_ROWS = 300


def _values(kind: int) -> str:
    a = "FROM_UNIXTIME(1700000000 + seq)" if kind == 6 else "seq * 7 % 101"
    b = "ELT(seq % 3 + 1, 'x', 'y', 'z')" if kind == 9 else "CONCAT('text ', seq % 50, ' ', seq)"
    return f"seq, {a}, {b}"


def make(system: CleanSystem) -> None:
    """Makes the tables, each with some hundred rows, a part of them changed and deleted."""
    system.query(f"CREATE DATABASE {SCHEMA}")
    for number in range(_TABLES):
        kind = number % len(_KINDS)
        name = f"{SCHEMA}.t{number}"
        source = f"{SCHEMA}.seq_1_to_{_ROWS + number}"
        system.query(
            f"CREATE TABLE {name} ({_KINDS[kind]}) ENGINE=ROCKSDB "
            "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            f"INSERT INTO {name} (id, a, b) SELECT {_values(kind)} FROM {source}",
            f"UPDATE {name} SET id = id + 100000 WHERE id % 11 = 0",
            f"DELETE FROM {name} WHERE id % 13 = 0",
        )


def checksums(system: CleanSystem) -> dict[str, int]:
    """CHECKSUM TABLE of all tables of the schema."""
    names = system.query(
        f"SELECT CONCAT('{SCHEMA}.', TABLE_NAME) FROM information_schema.TABLES "
        f"WHERE TABLE_SCHEMA = '{SCHEMA}' ORDER BY 1"
    )
    rows = system.query("CHECKSUM TABLE " + ", ".join(name for (name,) in names))
    return {name: checksum for name, checksum in rows}

"""The tables whose entries ./cairn acceptance damage alters."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = "d"
ROWS = 60
PRIMARY = "PRIMARY"
# The key of a table without primary key.
HIDDEN = "the hidden key"
LAYOUTS = "layouts"


@dataclass(frozen=True)
class Table:
    """A table, its indexes with their columns, and what fills it."""

    name: str
    columns: str
    indexes: dict[str, tuple[str, ...]]
    values: str  # Of the columns, by the number n.
    options: str = ""
    partition: str = ""  # The one whose entries are altered.
    then: tuple[str, ...] = ()  # What is done with the table next.

    @property
    def path(self) -> str:
        return f"{SCHEMA}.{self.name}"

    def statements(self) -> list[str]:
        return [
            f"CREATE TABLE {self.path} ({self.columns}) ENGINE=ROCKSDB {self.options}",
            f"INSERT INTO {self.path} WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL "
            f"SELECT n + 1 FROM numbers WHERE n < {ROWS}) SELECT {self.values} FROM numbers",
            *self.then,
        ]

    def hint(self, index: str) -> str:
        return f"FORCE INDEX ({index})" if index in self.indexes else "USE INDEX ()"

    def rows_by(self, index: str) -> str:
        return f"SELECT * FROM {self.path} {self.hint(index)}" + self._range(index)

    def entries_of(self, index: str) -> str:
        columns = ", ".join(self.indexes[index])
        return f"SELECT {columns} FROM {self.path} {self.hint(index)}" + self._range(index)

    def is_covered_by(self, index: str, column_count: int) -> bool:
        """Whether rows come from the entries of a secondary index alone."""
        if index == PRIMARY or index not in self.indexes:
            return False
        return len({*self.indexes[index], *self.indexes.get(PRIMARY, ())}) == column_count

    def _range(self, index: str) -> str:
        """Makes the index worth its while to the optimizer."""
        return f" ORDER BY {', '.join(self.indexes[index])}" if index in self.indexes else ""


TABLES = (
    Table(
        "plain",
        "id INT PRIMARY KEY, a INT, v VARCHAR(40) CHARACTER SET latin1, b BLOB, f DOUBLE, "
        "KEY a (a), UNIQUE KEY v (v)",
        {PRIMARY: ("id",), "a": ("a",), "v": ("v",)},
        "n, IF(n % 9, n * 7, NULL), CONCAT('Value ', n, IF(n % 3, '  ', '')), "
        "REPEAT(CHAR(64 + n), n * 3), n / 7",
    ),
    Table(
        "hidden",
        "id INT NOT NULL, s VARCHAR(20) COLLATE utf8mb4_bin, t TEXT, KEY s (s), KEY t (t(8), id)",
        {"s": ("s",)},
        "n, CONCAT('s', n % 20), REPEAT('text ', n)",
        "DEFAULT CHARSET=utf8mb4",
    ),
    Table(
        "collated",
        "k VARCHAR(30) COLLATE utf8mb4_general_ci, n INT NOT NULL AUTO_INCREMENT, "
        "d DATETIME(3), e ENUM('x','y','z'), PRIMARY KEY (k), KEY n (n DESC, e), KEY d (d)",
        {PRIMARY: ("k",), "n": ("n", "e"), "d": ("d",)},
        "CONCAT('Key ', n), n, TIMESTAMP('2024-01-01 10:00:00.125') + INTERVAL n HOUR, n % 3 + 1",
        "DEFAULT CHARSET=utf8mb4",
    ),
    Table(
        "composite",
        "a CHAR(12) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL, b DECIMAL(12,3) NOT NULL, "
        "v VARBINARY(300), f FLOAT, PRIMARY KEY (a, b), KEY v (v), UNIQUE KEY f (f, b)",
        {PRIMARY: ("a", "b"), "v": ("v",), "f": ("f", "b")},
        "CONCAT('c', n % 7), n / 8, REPEAT(CHAR(n), n), n / 4",
    ),
    Table(
        "reversed",
        "id BIGINT UNSIGNED, w VARCHAR(50) COLLATE utf8mb4_unicode_ci, x BIT(9), "
        "PRIMARY KEY (id) COMMENT 'rev:other', KEY w (w) COMMENT 'rev:other', KEY x (x)",
        {PRIMARY: ("id",), "w": ("w",), "x": ("x",)},
        "n * 1000003, CONCAT('Wörter ', n), n * 5",
        "DEFAULT CHARSET=utf8mb4",
    ),
    Table(
        "parts",
        "id INT PRIMARY KEY, a INT, KEY a (a)",
        {PRIMARY: ("id",), "a": ("a",)},
        "n, n * 3",
        "PARTITION BY HASH (id) PARTITIONS 2",
        "#P#p0",
    ),
    # Its rows have several layouts.
    Table(
        LAYOUTS,
        "id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(20) NOT NULL, KEY a (a)",
        {PRIMARY: ("id",), "a": ("a",)},
        "n, n * 3, CONCAT('b', n)",
        then=(
            f"ALTER TABLE {SCHEMA}.{LAYOUTS} ADD z INT DEFAULT 5, DROP COLUMN b, ALGORITHM=INSTANT",
            f"UPDATE {SCHEMA}.{LAYOUTS} SET z = id WHERE id % 3 = 0",
            f"ALTER TABLE {SCHEMA}.{LAYOUTS} MODIFY z BIGINT FIRST, ADD y CHAR(5) DEFAULT 'y', "
            "ALGORITHM=INSTANT",
            f"UPDATE {SCHEMA}.{LAYOUTS} SET y = NULL WHERE id % 3 = 1",
        ),
    ),
)

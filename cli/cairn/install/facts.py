"""What has to be known of a server before Cairn goes into it, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn.errors import CairnError
from cairn.place import Place, reason

PACKAGE_LIST = Path("/var/lib/dpkg/info/mariadb-plugin-cairn.list")
# Tables whose contents are compared before and after; more would take long where they are large.
COMPARED_TABLES = 10
_SAMPLE_ROWS = 1_000_000
_DAMAGE = "ROCKSDB_CORRUPTED"
_Rows = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Facts:
    """A server that runs."""

    version: str
    pid: int
    plugin_directory: Path
    data_directory: Path
    engine_directory: Path
    author: str  # Of the plug-in ROCKSDB that is loaded; empty: none is.
    prepared: int  # Transactions that XA PREPARE has left.
    tables: tuple[str, ...]  # With ENGINE=ROCKSDB, by name.
    obstacles: tuple[str, ...]  # For the stock plug-in; of a server with Cairn.

    @property
    def adapters_directory(self) -> Path:
        """Where the library that chooses looks for builds (packaging/chooser)."""
        return self.plugin_directory.resolve().parent.parent / "cairn"

    def is_damaged(self) -> bool:
        """Whether the stock plug-in has met damage."""
        return (self.engine_directory / _DAMAGE).exists()


def read(place: Place) -> Facts:
    """Asks the server. Raises if it does not answer, or the user lacks rights."""
    with _rows(place) as rows:
        return _ask(rows)


def checksums(place: Place, names: Iterable[str] | None = None) -> dict[str, int | None]:
    """CHECKSUM TABLE of the named tables; without names, of some with ENGINE=ROCKSDB.

    None is the sum of a table that is not there. Raises as read() does.
    """
    with _rows(place) as rows:
        chosen = _sample(rows) if names is None else list(names)
        if not chosen:
            return {}
        # The server answers with names that are not quoted: one answer for each, in this order.
        sums = rows("CHECKSUM TABLE " + ", ".join(chosen))
        return {name: value for name, (_, value) in zip(chosen, sums, strict=True)}


@contextmanager
def _rows(place: Place) -> Iterator[_Rows]:
    """Asks statement by statement over one connection."""
    import pymysql

    place.require_socket()
    try:
        with closing(place.connect()) as connection:
            cursor = connection.cursor()

            def rows(statement: str) -> list[tuple[Any, ...]]:
                cursor.execute(statement)
                return list(cursor.fetchall())

            yield rows
    except (OSError, pymysql.MySQLError) as error:
        raise CairnError(f"{place.socket}: {reason(error)}") from error


def _ask(rows: _Rows) -> Facts:
    variables = dict(rows("SHOW GLOBAL VARIABLES"))
    # Only with a right that covers all tables does a list of them have all.
    if not any("ALL PRIVILEGES ON *.*" in str(grant) for (grant,) in rows("SHOW GRANTS")):
        raise CairnError("The user does not see all tables: this wants ALL PRIVILEGES ON *.*.")
    authors = rows(
        "SELECT PLUGIN_AUTHOR FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'ROCKSDB' "
        "AND PLUGIN_STATUS = 'ACTIVE'"
    )
    author = str(authors[0][0]) if authors else ""
    data = Path(variables["datadir"])
    engine = Path(variables.get("rocksdb_datadir", "#rocksdb"))
    return Facts(
        version=_version(variables),
        pid=_pid(variables),
        plugin_directory=Path(variables["plugin_dir"]),
        data_directory=data,
        engine_directory=data / engine,
        author=author,
        prepared=len(rows("XA RECOVER")),
        tables=_tables(rows, author),
        obstacles=_obstacles(rows) if author == "Cairn" else (),
    )


def _version(variables: dict[str, Any]) -> str:
    return str(variables["version"]).removesuffix("-log")


def _pid(variables: dict[str, Any]) -> int:
    path = Path(variables["datadir"]) / variables["pid_file"]
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise CairnError(
            f"{path} does not tell the server's process: run this on the server's machine, as root."
        ) from error


def _tables(rows: _Rows, author: str) -> tuple[str, ...]:
    """Tables of the engine; with Cairn also those whose definitions are missing."""
    listed = (
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES "
        "WHERE ENGINE = 'ROCKSDB' AND TABLE_TYPE <> 'TEMPORARY'"
    )
    if author == "Cairn":
        listed += (
            " UNION SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) "
            "FROM information_schema.CAIRN_TABLES"
        )
    return tuple(sorted(name for (name,) in rows(listed)))


def _obstacles(rows: _Rows) -> tuple[str, ...]:
    return tuple(
        f"{schema}.{table}: {text}"
        for schema, table, text in rows(
            "SELECT TABLE_SCHEMA, TABLE_NAME, OBSTACLES FROM information_schema.CAIRN_TABLES "
            "WHERE OBSTACLES IS NOT NULL ORDER BY 1, 2"
        )
    )


def _sample(rows: _Rows) -> list[str]:
    """Quoted names of tables with ENGINE=ROCKSDB, the largest that do not take long."""
    found = rows(
        "SELECT CONCAT('`', REPLACE(TABLE_SCHEMA, '`', '``'), '`.`', "
        "REPLACE(TABLE_NAME, '`', '``'), '`') FROM information_schema.TABLES "
        f"WHERE ENGINE = 'ROCKSDB' AND TABLE_ROWS <= {_SAMPLE_ROWS} AND TABLE_TYPE = 'BASE TABLE' "
        f"ORDER BY TABLE_ROWS DESC, 1 LIMIT {COMPARED_TABLES}"
    )
    return [str(name) for (name,) in found]


def problems(
    facts: Facts, version: str, sizes: dict[str, int], server: dict[str, int]
) -> list[str]:
    """Why Cairn cannot go into the server; none: it can.

    `version` and `sizes` are of the server that Cairn was compiled for, `server` are the sizes of
    the server's own virtual tables.
    """
    found = []
    if PACKAGE_LIST.exists() and facts.plugin_directory == Path("/usr/lib/mysql/plugin"):
        found.append("The package mariadb-plugin-cairn is installed: apt upgrades and removes it.")
    if facts.version != version:
        found.append(
            f"The server is {facts.version}, and this Cairn is compiled for {version}: a plug-in "
            "fits one version alone."
        )
    elif sizes != server:
        found.append(
            f"The server calls itself {version}, but its classes have other sizes than those of "
            "the server that this Cairn is compiled for: another make."
        )
    if facts.prepared and facts.author != "Cairn":
        found.append(
            f"XA PREPARE has left {facts.prepared} transactions: commit or roll them back first "
            "(XA RECOVER lists them)."
        )
    if facts.is_damaged():
        found.append(
            f"{facts.engine_directory / _DAMAGE} says that there is damage: restore first."
        )
    for directory in (facts.plugin_directory, facts.adapters_directory.parent):
        if not os.access(directory, os.W_OK):
            found.append(f"{directory} cannot be written: run this as root.")
    return found

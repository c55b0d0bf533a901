"""What the cases of bad input share: a server to harm, and how to tell that it copes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cairn.prefix import Server
from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer

ROWS = 500


class Failed(Exception):
    """The engine does not do what it must; the text says what it does instead."""


@dataclass
class Context:
    """One case's directory, and the facts that it wants to tell."""

    mariadb: Server
    directory: Path
    notes: list[str] = field(default_factory=list)
    servers: list[ScratchServer] = field(default_factory=list)

    def server(
        self, name: str = "server", *options: str, data: Path | None = None
    ) -> ScratchServer:
        """A server of this case, not started; it is ended with the case."""
        made = ScratchServer(self.mariadb, self.directory / name, options, data)
        self.servers.append(made)
        return made

    def note(self, text: str) -> None:
        self.notes.append(text)

    def close(self) -> None:
        for server in self.servers:
            server.kill()


@dataclass(frozen=True)
class Case:
    """One kind of bad input; the title is true when the case passes."""

    name: str
    title: str
    check: Callable[[Context], None]


def require(condition: object, text: str) -> None:
    if not condition:
        raise Failed(text)


def fill(server: ScratchServer) -> None:
    """A table with rows, by which a case sees that nothing was harmed."""
    server.query("CREATE DATABASE IF NOT EXISTS bad")
    server.query(
        "CREATE TABLE bad.kept (id INT PRIMARY KEY, k INT, text VARCHAR(100), KEY k (k)) "
        "ENGINE=ROCKSDB"
    )
    server.query(
        "INSERT INTO bad.kept SELECT seq, seq MOD 7, REPEAT('r', seq MOD 100) "
        f"FROM (WITH RECURSIVE n AS (SELECT 1 AS seq UNION ALL SELECT seq + 1 FROM n "
        f"WHERE seq < {ROWS}) SELECT seq FROM n) AS numbers"
    )


def require_kept(server: ScratchServer) -> None:
    """The rows of `fill` are all there."""
    count, total = server.query("SELECT COUNT(*), SUM(LENGTH(text)) FROM bad.kept")[0]
    wanted = (ROWS, sum(number % 100 for number in range(1, ROWS + 1)))
    require((count, int(total or 0)) == wanted, f"bad.kept has {count} rows, {total} bytes")
    by_index = server.query("SELECT COUNT(*) FROM bad.kept FORCE INDEX (k) WHERE k >= 0")[0][0]
    require(by_index == ROWS, f"bad.kept has {by_index} rows by its index k")
    require_sound(server, "bad.kept")


def require_sound(server: ScratchServer, table: str, when: str = "") -> None:
    """CHECK TABLE finds nothing."""
    answer = server.query(f"CHECK TABLE {table}")[-1][3]
    require(answer == "OK", f"{when and f'{when}: '}CHECK TABLE says {answer}")


def prints(directory: Path) -> dict[str, str]:
    """The content of an engine's directory, but for its log for people and the lock."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.iterdir())
        if path.is_file() and not path.name.startswith("LOG") and path.name != "LOCK"
    }


def require_refusal(
    context: Context,
    server: ScratchServer,
    patterns: tuple[str, ...],
    *extra: str,
    engine_directory: Path | None = None,
    untouched: bool = True,
) -> None:
    """The server starts without the engine, says why, and leaves the files alone.

    Every one of `patterns` must be in the errors that the start has logged.
    """
    directory = engine_directory or server.data / ENGINE_DIRECTORY
    before = prints(directory) if directory.is_dir() else {}
    server.start(*extra, needs_engine=False)
    require(not server.has_engine(), "the engine has started all the same")
    errors = [re.sub(r"^.*?\[ERROR\] ", "", line) for line in server.errors()]
    own = [line for line in errors if "RocksDB" in line or "ROCKSDB" in line or "rocksdb" in line]
    for line in own:
        context.note(f"error log: {line[:300]}")
    for pattern in patterns:
        require(
            re.search(pattern, "\n".join(own), re.IGNORECASE),
            f"no error in the log says /{pattern}/; it says:\n{server.excerpt()}",
        )
    _require_usable(server)
    server.stop()
    after = prints(directory) if directory.is_dir() else {}
    if untouched:
        changed = [n for n in before.keys() | after.keys() if before.get(n) != after.get(n)]
        require(not changed, f"the refused start changed {', '.join(sorted(changed))}")


def _require_usable(server: ScratchServer) -> None:
    """The rest of the server works, and a table of the missing engine is no more than an error."""
    import pymysql

    server.query("CREATE DATABASE IF NOT EXISTS other")
    server.query("CREATE OR REPLACE TABLE other.one (id INT) ENGINE=InnoDB")
    server.query("INSERT INTO other.one VALUES (1)")
    require(server.query("SELECT * FROM other.one") == [(1,)], "InnoDB does not work")
    for statement in (
        "SELECT * FROM bad.kept",
        "CREATE TABLE other.two (id INT) ENGINE=ROCKSDB",
        "SHOW STATUS LIKE 'rocksdb%'",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'bad'",
    ):
        try:
            server.query(statement)
        except pymysql.MySQLError:
            require(server.answers(), f"the server is gone after {statement}:\n{server.excerpt()}")

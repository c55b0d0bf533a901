"""The tools: where they are, what each is told to do, and what must have come of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cairn.scratch_server import ScratchServer
from tests.acceptance.schema_tools.table import (
    ARCHIVE,
    ARCHIVED_BEFORE,
    PURGED_BEFORE,
    SCHEMA,
    TABLE,
)


@dataclass(frozen=True)
class Place:
    """The server that a tool works on."""

    socket: Path
    port: int
    directory: Path  # For files of the tool.


@dataclass(frozen=True)
class Change:
    """One run of a tool; `came_about` is a statement that gives 1 afterwards."""

    name: str
    arguments: Callable[[Place], list[str]]
    came_about: str


@dataclass(frozen=True)
class Tool:
    name: str
    version: str  # The option that tells it.
    how_to_get: str
    changes: tuple[Change, ...]
    server_options: tuple[str, ...] = ()  # Without these it refuses to work.

    def program(self) -> str | None:
        return shutil.which(self.name)


def _has_column(name: str) -> str:
    return (
        "SELECT COUNT(*) FROM information_schema.columns WHERE "
        f"table_schema = '{SCHEMA}' AND table_name = '{TABLE}' AND column_name = '{name}'"
    )


def _index_is(name: str, columns: str) -> str:
    return (
        "SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index) <=> '" + columns + "' "
        "FROM information_schema.statistics WHERE "
        f"table_schema = '{SCHEMA}' AND table_name = '{TABLE}' AND index_name = '{name}'"
    )


def _percona(alter: str, *more: str) -> Callable[[Place], list[str]]:
    return lambda place: [
        f"--alter={alter}",
        "--execute",
        "--no-version-check",
        "--recursion-method=none",
        # The copy of many rows may be the victim of deadlocks with clients many times in a row.
        "--tries=copy_rows:100:0.1",
        *more,
        f"D={SCHEMA},t={TABLE},S={place.socket},u=root",
    ]


def _gh_ost(alter: str) -> Callable[[Place], list[str]]:
    return lambda place: [
        "--host=127.0.0.1",
        f"--port={place.port}",
        "--user=root",
        f"--database={SCHEMA}",
        f"--table={TABLE}",
        f"--alter={alter}",
        "--allow-on-master",
        "--assume-rbr",
        "--ok-to-drop-table",
        f"--serve-socket-file={place.directory / 'gh-ost.sock'}",
        "--execute",
    ]


def _archiver(condition: str, *more: str, archive: bool = False) -> Callable[[Place], list[str]]:
    def arguments(place: Place) -> list[str]:
        source = f"S={place.socket},u=root,D={SCHEMA},t={TABLE}"
        return [
            f"--source={source}",
            f"--where={condition}",
            *([f"--dest=t={ARCHIVE}"] if archive else ["--purge"]),
            # Bytes stay what they are, whatever the column's character set.
            "--charset=binary",
            "--no-check-charset",
            "--no-version-check",
            # It reads rows first and deletes them in the same transaction.
            "--set-vars=tx_isolation='READ-COMMITTED'",
            "--limit=100",
            "--commit-each",
            "--retries=50",
            "--why-quit",
            "--statistics",
            *more,
        ]

    return arguments


PERCONA_PACKAGE = "Debian's package percona-toolkit has it"

TOOLS = (
    Tool(
        "pt-online-schema-change",
        "--version",
        PERCONA_PACKAGE,
        (
            Change("add a column", _percona("ADD COLUMN more INT DEFAULT 7"), _has_column("more")),
            Change(
                "change an index",
                _percona("DROP KEY customer, ADD KEY customer (ordered, customer)"),
                _index_is("customer", "ordered,customer"),
            ),
            Change(
                "another primary key",
                _percona(
                    "DROP PRIMARY KEY, ADD PRIMARY KEY (customer, id), ADD UNIQUE KEY id (id)",
                    "--no-check-alter",
                ),
                _index_is("PRIMARY", "customer,id"),
            ),
        ),
    ),
    Tool(
        "gh-ost",
        "--version",
        "go install github.com/github/gh-ost/go/cmd/gh-ost@master makes it",
        (
            Change("add a column", _gh_ost("ADD COLUMN more INT DEFAULT 7"), _has_column("more")),
            Change(
                "change an index",
                _gh_ost("DROP KEY customer, ADD KEY customer (ordered, customer)"),
                _index_is("customer", "ordered,customer"),
            ),
        ),
        (
            "--performance-schema=ON",
            "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON",
        ),
    ),
    Tool(
        "pt-archiver",
        "--version",
        PERCONA_PACKAGE,
        (
            Change(
                "purge",
                _archiver(f"ordered < '{PURGED_BEFORE}'", "--bulk-delete"),
                f"SELECT COUNT(*) = 0 FROM {SCHEMA}.{TABLE} WHERE ordered < '{PURGED_BEFORE}'",
            ),
            Change(
                "archive",
                # Without the locks, what clients change meanwhile would be lost on any engine.
                _archiver(f"ordered < '{ARCHIVED_BEFORE}'", "--for-update", archive=True),
                f"SELECT COUNT(*) = 0 FROM {SCHEMA}.{TABLE} WHERE ordered < '{ARCHIVED_BEFORE}'",
            ),
        ),
    ),
)


def leftovers(server: ScratchServer) -> list[str]:
    """Tables and triggers that a tool should have removed."""
    tables = server.query(
        "SELECT CONCAT('table ', table_name) FROM information_schema.tables WHERE "
        f"table_schema = '{SCHEMA}' AND table_name NOT IN ('{TABLE}', '{ARCHIVE}')"
    )
    triggers = server.query(
        "SELECT CONCAT('trigger ', trigger_name) FROM information_schema.triggers WHERE "
        f"trigger_schema = '{SCHEMA}'"
    )
    return [name for (name,) in [*tables, *triggers]]

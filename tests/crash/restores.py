"""The case restore-definition of ./cairn crash ddl: a server dies while it brings files back.

Its outcome is not that of a statement, which is whole or not there: SET GLOBAL
cairn_restore_definition brings back table after table, and each is whole or still missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from cairn.scratch_server import ScratchServer
from tests.crash.ddl_case import SCHEMAS, Case
from tests.crash.steps import Steps

_SCHEMA = SCHEMAS[0]
_STATEMENT = f"SET GLOBAL cairn_restore_definition = '{_SCHEMA}.*'"
_TABLES = {
    "plain": "(id INT PRIMARY KEY, a VARCHAR(40), KEY (a)) ENGINE=ROCKSDB",
    "parts": "(id INT PRIMARY KEY, a VARCHAR(40), KEY (a)) ENGINE=ROCKSDB "
    "PARTITION BY HASH (id) PARTITIONS 3",
}
CASE = Case(
    "restore-definition",
    _STATEMENT,
    tuple(
        statement
        for name, definition in _TABLES.items()
        for statement in (
            f"CREATE TABLE {_SCHEMA}.{name} {definition}",
            f"INSERT INTO {_SCHEMA}.{name} SELECT seq, seq FROM {_SCHEMA}.seq_1_to_50",
        )
    ),
    short=True,
)
_SUMS = "CHECKSUM TABLE " + ", ".join(f"{_SCHEMA}.{name}" for name in _TABLES)


class Restores:
    """The tables, their files, and a server that dies on demand."""

    def __init__(
        self, server: ScratchServer, steps: Steps, await_death: Callable[[], None]
    ) -> None:
        """`server` has CASE.setup's tables, each with a copy of its definition."""
        self._server = server
        self._steps = steps
        self._await_death = await_death
        self._directory: Path = server.data / _SCHEMA
        self._files = {
            path.name: path.read_bytes()
            for path in sorted(self._directory.iterdir())
            if path.suffix in (".frm", ".par")
        }
        self._sums = server.query(_SUMS)

    def count(self) -> int:
        """How many steps a restore of all tables has."""
        self._remove()
        self._steps.arm()
        self._server.query(_STATEMENT)
        return len(self._steps.disarm())

    def cut_off(self, number: int) -> tuple[list[str], str]:
        """Kills the server before a step of a restore; what is wrong then, and where it died."""
        import pymysql

        self._remove()
        self._steps.arm(number)
        with contextlib.suppress(pymysql.OperationalError):
            self._server.query(_STATEMENT)
        self._await_death()
        where = (self._steps.disarm() or [""])[-1]
        self._server.start()
        wrong = self._wrong_files(all_of_them=False)
        self._server.query(_STATEMENT)
        wrong += self._wrong_files(all_of_them=True)
        sums = self._server.query(_SUMS)
        if sums != self._sums:
            wrong.append(f"restored, the tables have {sums}, not {self._sums}")
        return wrong, where

    def _remove(self) -> None:
        """The server does not know the tables any more."""
        for name in self._files:
            (self._directory / name).unlink(missing_ok=True)
        self._server.query("FLUSH TABLES")

    def _wrong_files(self, *, all_of_them: bool) -> list[str]:
        """Files that are not what they were; a list of partitions has its name before the .frm."""
        wrong = []
        for name, content in self._files.items():
            path = self._directory / name
            if path.exists() and path.read_bytes() != content:
                wrong.append(f"{name} is another file")
            if all_of_them and not path.exists():
                wrong.append(f"{name} was not brought back")
        for name in _TABLES:
            partitions = self._directory / f"{name}.par"
            if (
                (self._directory / f"{name}.frm").exists()
                and partitions.name in self._files
                and not partitions.exists()
            ):
                wrong.append(f"{name}.frm is there without {partitions.name}")
        if all_of_them:
            left = sorted(self._directory.glob("#sql*"))
            wrong += [f"a file is left over: {path.name}" for path in left]
        return wrong

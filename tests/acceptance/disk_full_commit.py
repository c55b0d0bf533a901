"""A disk that becomes full while several clients commit: in one phase, in two, and with XA.

Only the engine's files are on the small volume, so that it is RocksDB's log that fails, before and
behind the decision of the binary log.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from cairn.scratch_server import ScratchServer
from tests.acceptance import volume
from tests.acceptance.case import Context, require, require_sound
from tests.acceptance.disk_full import (
    BALLAST_MIB,
    RECOVER_S,
    SAYS_FULL,
    VOLUME_MIB,
    wait_for_writes,
)
from tests.crash.writer import brief

CLIENTS = 4
FILL_S = 90
ROW_BYTES = 20_000
BINARY_LOG = ("--log-bin=binlog", "--server-id=1", "--sync-binlog=1", "--binlog-format=ROW")
# With a buffer of its own, RocksDB does not go on after the log could not be written.
UNBUFFERED = ("--rocksdb-manual-wal-flush=OFF",)
# A transaction that the binary log has may be decided although its client got an error.
_STAYS_PREPARED = "stays prepared"
_LOG_IS_FULL = "may not last"


class _Client(threading.Thread):
    """Inserts rows until the server refuses; every fourth transaction is an XA transaction."""

    def __init__(self, server: ScratchServer, number: int, *, engines: int) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.tables = ("full.kept", "full.other")[:engines]
        self.acknowledged: set[int] = set()
        self.unknown: set[int] = set()  # Decided or not, by the error.
        self.prepared: set[int] = set()  # Acknowledged XA PREPARE without an answer to XA COMMIT.
        self.refusal = ""

    def run(self) -> None:
        import pymysql

        end = time.monotonic() + FILL_S
        with self.server.connect() as connection, connection.cursor() as cursor:
            row = self.number
            while time.monotonic() < end:
                row += CLIENTS
                try:
                    if row // CLIENTS % 4 == 0:
                        self._xa(cursor, row)
                    else:
                        self._plain(cursor, row)
                except pymysql.MySQLError as error:
                    self.refusal = f"{error.args[0]}: {error.args[1]}"
                    if any(text in self.refusal for text in (_STAYS_PREPARED, _LOG_IS_FULL)):
                        self.unknown.add(row)
                    return

    def _insert(self, cursor: Any, row: int) -> None:
        for table in self.tables:
            data = os.urandom(ROW_BYTES) if table == self.tables[0] else b""
            cursor.execute(f"INSERT INTO {table} VALUES (%s, %s)", (row, data))

    def _plain(self, cursor: Any, row: int) -> None:
        cursor.execute("BEGIN")
        self._insert(cursor, row)
        cursor.execute("COMMIT")
        self.acknowledged.add(row)

    def _xa(self, cursor: Any, row: int) -> None:
        cursor.execute(f"XA START '{row}'")
        self._insert(cursor, row)
        cursor.execute(f"XA END '{row}'")
        cursor.execute(f"XA PREPARE '{row}'")
        self.prepared.add(row)
        cursor.execute(f"XA COMMIT '{row}'")
        self.prepared.discard(row)
        self.acknowledged.add(row)


def check_one_phase(context: Context) -> None:
    """Without the binary log, and one engine: a commit has one phase."""
    _check(context, (), engines=1)
    context.note("rocksdb_manual_wal_flush=OFF:")
    _check(context, UNBUFFERED, engines=1)


def check_two_phases(context: Context) -> None:
    """With the binary log and InnoDB: engines and log agree about every transaction."""
    _check(context, BINARY_LOG, engines=2)
    context.note("rocksdb_manual_wal_flush=OFF:")
    _check(context, (*BINARY_LOG, *UNBUFFERED), engines=2)


def _check(context: Context, options: tuple[str, ...], *, engines: int) -> None:
    mount = context.directory / "volume"
    name = f"server-{len(context.servers)}"
    with volume.limited(mount, VOLUME_MIB):
        server = context.server(name, f"--rocksdb-datadir={mount / 'rocksdb'}", *options)
        try:
            (mount / "ballast").write_bytes(b"\0" * (BALLAST_MIB << 20))
            server.start()
            server.query("CREATE DATABASE full")
            server.query("CREATE TABLE full.kept (id INT PRIMARY KEY, data BLOB) ENGINE=ROCKSDB")
            server.query("CREATE TABLE full.other (id INT PRIMARY KEY, data BLOB) ENGINE=InnoDB")
            clients = [_Client(server, number, engines=engines) for number in range(CLIENTS)]
            _fill(context, server, clients)
            _require_rows(server, clients, "while the disk is full", exact=False)
            (mount / "ballast").unlink()
            _recover(context, server, needs_no_restart=options[-1:] == UNBUFFERED)
            server.kill()
            server.start()
            _require_rows(server, clients, "after a crash and restart", exact=True)
            _require_prepared(server, clients)
            if engines == 2:
                rows = [
                    set(server.query(f"SELECT id FROM full.{table}")) for table in ("kept", "other")
                ]
                require(
                    rows[0] == rows[1],
                    f"the engines disagree about {brief(n for (n,) in rows[0] ^ rows[1])}",
                )
            require_sound(server, "full.kept")
            server.stop()
        finally:
            server.kill()


def _fill(context: Context, server: ScratchServer, clients: list[_Client]) -> None:
    for client in clients:
        client.start()
    for client in clients:
        client.join(FILL_S + RECOVER_S)
        require(not client.is_alive(), f"client {client.number} still waits for an answer")
        require(client.refusal, f"client {client.number} was never refused")
        context.note(
            f"client {client.number}: {len(client.acknowledged)} rows, then {client.refusal[:220]}"
        )
        require(SAYS_FULL.search(client.refusal), "the error does not say that the disk is full")
    require(server.is_alive() and server.answers(), f"the server ended:\n{server.excerpt()}")


def _require_rows(server: ScratchServer, clients: list[_Client], when: str, *, exact: bool) -> None:
    """Every acknowledged row is there; of others only those whose error leaves it open."""
    found = {number for (number,) in server.query("SELECT id FROM full.kept")}
    acknowledged = set().union(*(client.acknowledged for client in clients))
    unknown = set().union(*(client.unknown | client.prepared for client in clients))
    lost, extra = acknowledged - found, found - acknowledged - unknown
    require(not lost, f"{when}: acknowledged rows are lost: {brief(lost)}")
    require(not extra, f"{when}: rows that were refused are there: {brief(extra)}")
    if exact:
        held = _held(server)
        undecided = {number for number in unknown if str(number) in held}
        require(
            not undecided & found, f"{when}: undecided rows can be seen: {brief(undecided & found)}"
        )


def _held(server: ScratchServer) -> set[str]:
    return {name.decode() for (_, _, _, name) in server.query("XA RECOVER", use_unicode=False)}


def _require_prepared(server: ScratchServer, clients: list[_Client]) -> None:
    """XA transactions that were prepared can be decided, and no other."""
    wanted = {str(number) for client in clients for number in client.prepared}
    rows = {number for (number,) in server.query("SELECT id FROM full.kept")}
    held = _held(server)
    require(held <= wanted, f"XA RECOVER has what was refused: {held - wanted}")
    gone = {name for name in wanted - held if int(name) not in rows}
    require(not gone, f"XA transactions that were prepared are gone: {gone}")
    for name in held:
        server.query(f"XA COMMIT '{name}'")
        require(
            server.query(f"SELECT id FROM full.kept WHERE id = {name}"), f"{name} is not committed"
        )


def _recover(context: Context, server: ScratchServer, *, needs_no_restart: bool) -> None:
    """Writes work again once there is space, at worst after a restart."""

    def write() -> None:
        server.query("CREATE OR REPLACE TABLE full.after (id INT PRIMARY KEY) ENGINE=ROCKSDB")
        server.query("INSERT INTO full.after VALUES (1)")

    refusal = wait_for_writes(context, server, write)
    if not refusal:
        return
    require(not needs_no_restart, f"space freed: writes are still refused: {refusal}")
    context.note(f"space freed: writes need a restart: {refusal[:200]}")

"""A disk that becomes full while rows are written."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cairn.scratch_server import ScratchServer
from tests.acceptance import volume
from tests.acceptance.case import Context, require, require_sound

VOLUME_MIB = 320
# What the server's own files take of a volume that holds them as well.
SYSTEM_TABLES_MIB = 64
BALLAST_MIB = 260
FILL_S = 90
RECOVER_S = 20
SAYS_FULL = re.compile(r"no space left|disk (is )?full|out of (disk )?space", re.IGNORECASE)
# Small enough that flushes and compactions meet the full disk as well as the log does.
MEMTABLES = "--rocksdb-default-cf-options=write_buffer_size=4m;target_file_size_base=4m"


@dataclass
class _Filler:
    """Inserts rows that do not compress, and remembers which were acknowledged."""

    server: ScratchServer
    acknowledged: set[int] = field(default_factory=set)
    next_id: int = 1

    def insert(self, cursor: Any) -> None:
        number = self.next_id
        self.next_id += 1
        cursor.execute(
            "INSERT INTO bad.filled VALUES (%s, %s, %s)", (number, number % 10, os.urandom(4000))
        )
        self.acknowledged.add(number)

    def insert_some(self) -> None:
        with self.server.connect() as connection, connection.cursor() as cursor:
            for _ in range(100):
                self.insert(cursor)

    def until_error(self, limit_s: float) -> str:
        """Inserts until the server refuses; the text of the refusal, empty when there is none."""
        import pymysql

        end = time.monotonic() + limit_s
        with self.server.connect() as connection, connection.cursor() as cursor:
            while time.monotonic() < end:
                try:
                    self.insert(cursor)
                except pymysql.MySQLError as error:
                    return f"{error.args[0]}: {error.args[1]}"
        return ""

    def require_exact(self, when: str) -> None:
        """All acknowledged rows are there and no other, by both indexes."""
        for index, condition in (("PRIMARY", "id > 0"), ("k", "k >= 0")):
            rows = self.server.query(
                f"SELECT id FROM bad.filled FORCE INDEX ({index}) WHERE {condition}"
            )
            found = {number for (number,) in rows}
            lost, extra = self.acknowledged - found, found - self.acknowledged
            require(
                not lost and not extra,
                f"{when}: index {index}: {len(lost)} acknowledged rows are lost, {len(extra)} rows "
                f"that were refused are there (first {sorted(lost | extra)[:5]})",
            )


def check(context: Context) -> None:
    """Only the engine's files are on the small volume, and small memtables: flushes fail first."""
    mount = context.directory / "volume"
    with volume.limited(mount, VOLUME_MIB):
        server = context.server("server", f"--rocksdb-datadir={mount / 'rocksdb'}", MEMTABLES)
        try:
            _fill_and_free(context, server, mount)
            _require_logged(server, "Error detected in background, Status Code: 5")
            _require_logged(server, "BackgroundErrorReason: ")
        finally:
            server.kill()


def check_whole(context: Context) -> None:
    """All files of the server are on the small volume, and large memtables: the log fails first."""
    mount = context.directory / "volume"
    with volume.limited(mount, VOLUME_MIB + SYSTEM_TABLES_MIB):
        server = context.server(data=mount / "data")
        try:
            _fill_and_free(context, server, mount)
            _require_logged(server, "failed to write to WAL, Status Code: 5")
        finally:
            server.kill()


def check_restart(context: Context) -> None:
    """The server dies and starts again while the disk is full."""
    mount = context.directory / "volume"
    with volume.limited(mount, VOLUME_MIB):
        server = context.server("server", f"--rocksdb-datadir={mount / 'rocksdb'}", MEMTABLES)
        try:
            filler = _fill(context, server, mount / "ballast")
            server.kill()
            server.start(needs_engine=False)
            if server.has_engine():
                context.note("on the full disk the engine starts")
                filler.require_exact("after a restart on a full disk")
                context.note(f"writes: {filler.until_error(2) or 'work'}")
            else:
                said = "\n".join(server.errors())
                context.note(f"on the full disk the engine does not start: {said[:400]}")
                require(SAYS_FULL.search(said), "the error log does not say that the disk is full")
            server.kill()
            (mount / "ballast").unlink()
            server.start()
            filler.require_exact("after space was freed")
            filler.insert_some()
            _require_survival(server, filler)
        finally:
            server.kill()


def _require_logged(server: ScratchServer, words: str) -> None:
    """The error log says it in the words that tools look for."""
    said = server.error_log.read_text(encoding="utf-8", errors="replace")
    require(words in said, f"the error log does not say: {words}\n{server.excerpt()}")


def _fill(context: Context, server: ScratchServer, ballast: Path) -> _Filler:
    """Writes until the volume is full; the refusal must say so and the server stay."""
    ballast.write_bytes(b"\0" * (BALLAST_MIB << 20))
    server.start()
    server.query("CREATE DATABASE bad")
    server.query(
        "CREATE TABLE bad.filled (id INT PRIMARY KEY, k INT, data BLOB, KEY k (k)) ENGINE=ROCKSDB"
    )
    filler = _Filler(server)
    refusal = filler.until_error(FILL_S)
    context.note(f"refused after {len(filler.acknowledged)} rows of 4 kB: {refusal}")
    require(refusal, f"no error within {FILL_S} s on a volume of {VOLUME_MIB} MiB")
    require(
        server.is_alive() and server.answers(), f"the server ended: {refusal}\n{server.excerpt()}"
    )
    require(SAYS_FULL.search(refusal), f"the error does not say that the disk is full: {refusal}")
    return filler


def _fill_and_free(context: Context, server: ScratchServer, mount: Path) -> None:
    filler = _fill(context, server, mount / "ballast")
    _require_steady(context, filler)
    (mount / "ballast").unlink()
    _recover(context, server, filler)
    filler.require_exact("after space was freed")
    _require_definitions(context, server)
    _require_survival(server, filler)


def _require_definitions(context: Context, server: ScratchServer) -> None:
    """Tables can be made again, at the latest when compaction has given back what it uses."""
    import pymysql

    begun = time.monotonic()
    while True:
        try:
            server.query("DROP TABLE IF EXISTS bad.extra")
            server.query("CREATE TABLE bad.extra (id INT PRIMARY KEY) ENGINE=ROCKSDB")
            break
        except pymysql.MySQLError:
            if time.monotonic() - begun > RECOVER_S:
                raise
            time.sleep(0.5)
    context.note(f"CREATE TABLE works again after {time.monotonic() - begun:.1f} s")


def _require_survival(server: ScratchServer, filler: _Filler) -> None:
    """All is there after a crash and after an orderly restart."""
    require_sound(server, "bad.filled")
    server.kill()
    server.start()
    filler.require_exact("after a crash and restart")
    server.stop()
    server.start()
    filler.require_exact("after an orderly restart")
    server.stop()


def _require_steady(context: Context, filler: _Filler) -> None:
    """While the disk is full: reads work, nothing is lost, more writes fail with an error again."""
    import pymysql

    for _ in range(3):
        filler.require_exact("while the disk is full")
        again = filler.until_error(2)
        # A small row may still find room; then there is nothing to complain about.
        if again:
            context.note(f"again: {again}")
    try:
        filler.server.query("CREATE TABLE bad.extra (id INT PRIMARY KEY) ENGINE=ROCKSDB")
        context.note("CREATE TABLE works on the full disk")
    except pymysql.MySQLError as error:
        context.note(f"CREATE TABLE: {error.args[0]}: {error.args[1]}")


def wait_for_writes(context: Context, server: ScratchServer, write: Callable[[], Any]) -> str:
    """Waits until `write` succeeds; the last refusal if it does not within RECOVER_S."""
    import pymysql

    begun = time.monotonic()
    refusal = ""
    while time.monotonic() - begun < RECOVER_S:
        try:
            write()
            waited = time.monotonic() - begun
            context.note(f"space freed: writes work again after {waited:.1f} s, without a restart")
            return ""
        except pymysql.MySQLError as error:
            refusal = f"{error.args[0]}: {error.args[1]}"
            require(server.is_alive(), f"the server ended: {refusal}\n{server.excerpt()}")
            time.sleep(0.5)
    return refusal


def _recover(context: Context, server: ScratchServer, filler: _Filler) -> None:
    """Writes work again once there is space, at worst after a restart."""
    refusal = wait_for_writes(context, server, filler.insert_some)
    if not refusal:
        return
    context.note(f"space freed: writes are still refused after {RECOVER_S} s: {refusal}")
    filler.require_exact("after space was freed, before a restart")
    try:
        server.stop()
    finally:
        server.kill()
    server.start()
    filler.insert_some()
    context.note("after a restart writes work")

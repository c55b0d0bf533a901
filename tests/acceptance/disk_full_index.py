"""A disk that becomes full while ALTER TABLE builds an index."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from cairn.scratch_server import ENGINE_DIRECTORY, ScratchServer
from tests.acceptance import volume
from tests.acceptance.case import Context, require, require_sound
from tests.acceptance.disk_full import MEMTABLES, SAYS_FULL

VOLUME_MIB = 320
ROWS = 40_000
# Of a value that does not compress: the index takes some 40 MB, as sorted runs and as files.
VALUE_BYTES = 1000
FREE_MIB = 12
SETTLE_S = 30
UNFINISHED = "*.bulk_load.tmp"
ADD_INDEX = "ALTER TABLE bad.indexed ADD KEY added (data), ALGORITHM=INPLACE"


def check(context: Context) -> None:
    """The sorted runs, then the index's files meet the full disk."""
    mount = context.directory / "volume"
    with volume.limited(mount, VOLUME_MIB):
        data = mount / "rocksdb"
        elsewhere = context.directory / "runs"
        elsewhere.mkdir()
        server = context.server("server", f"--rocksdb-datadir={data}", MEMTABLES)
        try:
            server.start()
            _fill(server)
            _fails(context, server, mount, sort_in=data, what="runs in the engine's directory")
            _fails(context, server, mount, sort_in=elsewhere, what="runs elsewhere")
        finally:
            server.kill()


def check_sort_directory(context: Context) -> None:
    """Only rocksdb_tmpdir is on the small volume."""
    mount = context.directory / "volume"
    with volume.limited(mount, VOLUME_MIB):
        server = context.server()
        try:
            server.start()
            _fill(server)
            _fails(context, server, mount, sort_in=mount, what="rocksdb_tmpdir alone is full")
            left = server.data / ENGINE_DIRECTORY / "CAIRN_SORT_DIRECTORIES"
            server.stop()
            server.start()
            require(not left.exists(), f"{left} stays after a start")
        finally:
            server.kill()


def _fill(server: ScratchServer) -> None:
    server.query("CREATE DATABASE bad")
    server.query(
        f"CREATE TABLE bad.indexed (id INT PRIMARY KEY, k INT, data VARBINARY({VALUE_BYTES}), "
        "KEY k (k)) ENGINE=ROCKSDB"
    )
    with server.connect() as connection, connection.cursor() as cursor:
        for begin in range(0, ROWS, 500):
            rows = [(i, i % 10, os.urandom(VALUE_BYTES)) for i in range(begin, begin + 500)]
            cursor.executemany("INSERT INTO bad.indexed VALUES (%s, %s, %s)", rows)
    server.query("SET GLOBAL rocksdb_force_flush_memtable_now = ON")


def _require_rows(server: ScratchServer, definition: str, when: str) -> None:
    require(_definition(server) == definition, f"{when}: the table is defined in another way")
    for index in ("PRIMARY", "k"):
        count = server.query(f"SELECT COUNT(*) FROM bad.indexed FORCE INDEX ({index}) WHERE k >= 0")
        require(count == [(ROWS,)], f"{when}: {count[0][0]} rows by {index}")
    require_sound(server, "bad.indexed", when)


def _definition(server: ScratchServer) -> str:
    return server.query("SHOW CREATE TABLE bad.indexed")[0][1]


def _fails(
    context: Context, server: ScratchServer, mount: Path, *, sort_in: Path, what: str
) -> None:
    """ADD INDEX on the full disk is an error that leaves everything as it was; then it works."""
    import pymysql

    definition = _definition(server)
    directories = {sort_in, mount, mount / "rocksdb", server.data / ENGINE_DIRECTORY}
    ballast = mount / "ballast"
    _fill_up(server, ballast)
    refusal = ""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET rocksdb_tmpdir = '{sort_in}', rocksdb_merge_buf_size = 1048576")
        try:
            cursor.execute(ADD_INDEX)
        except pymysql.MySQLError as error:
            refusal = f"{error.args[0]}: {error.args[1]}"
        cursor.execute("SHOW WARNINGS")
        said = "\n".join(f"{code}: {text}" for _, code, text in cursor.fetchall())
        context.note(f"{what}: {refusal}")
        require(refusal, f"{what}: ADD INDEX works with {FREE_MIB} MiB free")
        require(
            SAYS_FULL.search(refusal) or SAYS_FULL.search(said),
            f"{what}: neither the error nor a warning says that the disk is full: {said}",
        )
        left = [path for directory in directories for path in directory.glob(UNFINISHED)]
        require(not left, f"{what}: files are left behind: {left}")
        _require_rows(server, definition, f"{what}, while the disk is full")
        ballast.unlink()
        _require_nothing_begun(server, what)
        _write_again(cursor)
        cursor.execute(ADD_INDEX)
    require("`added`" in _definition(server), f"{what}: the index is missing after ADD INDEX")
    require_sound(server, "bad.indexed", f"{what}: with the index")
    server.query("ALTER TABLE bad.indexed DROP KEY added")
    _require_nothing_begun(server, what)


def _write_again(cursor: Any) -> None:
    """Changes a row as soon as it can be: a compaction may have met the full disk as well."""
    import pymysql

    end = time.monotonic() + SETTLE_S
    while True:
        try:
            cursor.execute("UPDATE bad.indexed SET k = k + 10 WHERE id = 0")
            cursor.execute("UPDATE bad.indexed SET k = k - 10 WHERE id = 0")
            return
        except pymysql.MySQLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def _fill_up(server: ScratchServer, ballast: Path) -> None:
    """Leaves FREE_MIB on the volume, once no compaction takes or gives room any more."""
    end = time.monotonic() + SETTLE_S
    busy = "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN"
    busy += (
        " ('Cairn_running_compactions', 'Cairn_running_flushes', 'Cairn_pending_compaction_bytes')"
    )
    while server.query(busy)[0][0] != 0 and time.monotonic() < end:
        time.sleep(0.5)
    with ballast.open("wb") as file:
        while os.statvfs(ballast).f_bavail * os.statvfs(ballast).f_frsize > FREE_MIB << 20:
            file.write(b"\0" * (1 << 20))
            file.flush()


def _require_nothing_begun(server: ScratchServer, what: str) -> None:
    """No index is being made or removed, after a while."""
    end = time.monotonic() + SETTLE_S
    begun: list[tuple[str, ...]] = []
    while time.monotonic() < end:
        begun = server.query(
            "SELECT TYPE, NAME FROM information_schema.ROCKSDB_GLOBAL_INFO "
            "WHERE TYPE LIKE 'DDL%ONGOING'"
        )
        if not begun:
            return
        server.query("SET GLOBAL rocksdb_signal_drop_index_thread = ON")
        time.sleep(0.5)
    require(False, f"{what}: after {SETTLE_S} s there is still {begun}")

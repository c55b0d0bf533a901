"""A binary log that cannot be written: what XA COMMIT and XA ROLLBACK by name then answer is true.

The server goes on to the engines after the binary log has failed, and tells the client of an error.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pymysql

from cairn.scratch_server import ScratchServer

# XA COMMIT and XA ROLLBACK are tried while the log is full, and then the other one of them.
DECISIONS = (("COMMIT", "ROLLBACK"), ("ROLLBACK", "COMMIT"))
OPTIONS = ("--log-bin=binary-log", "--server-id=1", "--binlog-format=ROW")
_BRANCH = ("XA START 'f'", "INSERT INTO xa.t VALUES ({})", "XA END 'f'")
# A write beyond the limit is an error for it, and no signal.
WRAPPER = ("sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh")


def problems(server: ScratchServer) -> list[str]:
    """What is wrong with the answers of a server that runs with OPTIONS."""
    found = []
    server.query("CREATE DATABASE xa")
    server.query("CREATE TABLE xa.t (id INT PRIMARY KEY) ENGINE=ROCKSDB")
    # The binary log is to be the longest of all files, so that a limit meets it alone.
    server.query("CREATE TABLE xa.long (b LONGBLOB) ENGINE=MyISAM")
    server.query("INSERT INTO xa.long VALUES (REPEAT('x', 6000000))")
    for letter in "yz":
        server.query(f"UPDATE xa.long SET b = REPEAT('{letter}', 6000000)")
    for number, (first, second) in enumerate(DECISIONS):
        _leave_prepared(server, number)
        with _full_binary_log(server):
            error = _error_of(server, f"XA {first} 'f'")
        if not error:
            found.append(f"XA {first} without a binary log: no error")
        if len(server.query("XA RECOVER")) != 1:
            found.append(f"XA {first} without a binary log: the branch is gone")
        if _has(server, number):
            found.append(f"XA {first} without a binary log: it is committed")
        if error := _error_of(server, f"XA {second} 'f'"):
            found.append(f"XA {second} behind it: error {error}")
        if _has(server, number) != (second == "COMMIT"):
            found.append(f"XA {second} behind it: says OK, and is not done")
    return found


def _leave_prepared(server: ScratchServer, number: int) -> None:
    with server.connect() as owner, owner.cursor() as cursor:
        for statement in (*_BRANCH, "XA PREPARE 'f'"):
            cursor.execute(statement.format(number))
    left = f"SELECT 1 FROM information_schema.processlist WHERE id = {owner.thread_id()}"
    while server.query(left):
        time.sleep(0.01)


@contextmanager
def _full_binary_log(server: ScratchServer) -> Iterator[None]:
    """No file of the server can grow beyond where its binary log is."""
    assert server.pid is not None
    limit = int(server.query("SHOW MASTER STATUS")[0][1])
    before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)


def _error_of(server: ScratchServer, statement: str) -> int:
    try:
        server.query(statement)
    except pymysql.MySQLError as error:
        return int(error.args[0])
    return 0


def _has(server: ScratchServer, number: int) -> bool:
    return bool(server.query(f"SELECT 1 FROM xa.t WHERE id = {number}"))

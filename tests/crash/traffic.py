"""sysbench's write traffic, which keeps the number of rows of its tables whenever it is stopped."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from cairn import sysbench
from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.scratch_server import ScratchServer

TABLES = 2
ROWS = 2000
THREADS = 3
WORKLOAD = ("oltp_write_only", f"--tables={TABLES}", f"--table-size={ROWS}")
PREPARE_S = 60


class Traffic:
    """oltp_write_only against one server."""

    def __init__(self, server: ScratchServer, mariadb: Server, log: Path) -> None:
        self._server = server
        self._mariadb = mariadb
        self._log = log
        self._child: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        status, output = sysbench.execute(
            self._mariadb,
            self._server.socket,
            (*WORKLOAD, "prepare"),
            limit_s=PREPARE_S,
            log=self._log,
        )
        if status != 0:
            raise CairnError(f"sysbench cannot prepare its tables:\n{output[-4000:]}")

    def start(self, number: int) -> None:
        with self._log.open("ab") as out:
            out.write(f"round {number}\n".encode())
        # It outlasts every round; it ends when the server does.
        running = (f"--threads={THREADS}", "--time=60", "run", f"--rand-seed={number}")
        self._child = sysbench.launch(
            self._mariadb, self._server.socket, (*WORKLOAD, *running), log=self._log
        )

    def ended_early(self) -> list[str]:
        """What sysbench said when it stopped although the server was there; else nothing."""
        if self._child is None or self._child.poll() is None:
            return []
        return [f"sysbench stopped under a server that runs:\n{self._tail()}"]

    def stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    def _tail(self) -> str:
        with self._log.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - 4000))
            lines = log.read().decode("utf-8", "replace").splitlines()
        return "\n".join(f"    {line}" for line in lines[-15:])


def check(cursor: Any) -> list[str]:
    """Every transaction deletes a row and inserts it anew, so that the count stays."""
    wrong = []
    for number in range(1, TABLES + 1):
        table = f"{sysbench.DATABASE}.sbtest{number}"
        sums = []
        for index, condition in (("PRIMARY", "id > 0"), (f"k_{number}", "k >= 0")):
            cursor.execute(
                f"SELECT COUNT(*), SUM(id), SUM(k) FROM {table} FORCE INDEX ({index}) "
                f"WHERE {condition}"
            )
            sums.append(tuple(int(value or 0) for value in cursor.fetchone()))
        if sums[0] != sums[1]:
            wrong.append(f"{table}: (rows, sum of id, sum of k) by primary and by k: {sums}")
        if sums[0][:2] != (ROWS, ROWS * (ROWS + 1) // 2):
            wrong.append(f"{table}: {sums[0][0]} rows with sum of id {sums[0][1]}, not {ROWS}")
    return wrong

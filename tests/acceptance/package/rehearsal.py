"""Load on the server of a clean system, kills, and what must be there afterwards.

The transactions go over ROCKSDB and InnoDB and are written to the binary log, which a second
server of the system replays.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TextIO

from tests.acceptance.package.clean_system import CleanSystem, Places
from tests.crash import mixed, writer

CLIENTS = 4
# As crash binlog has them, small memtables and files among them.
OPTIONS = """[mariadbd]
skip-networking
log_bin = binlog
binlog_format = ROW
sync_binlog = 1
max_binlog_size = 256k
server_id = 1
innodb_flush_log_at_trx_commit = 1
rocksdb_flush_log_at_trx_commit = 1
rocksdb_default_cf_options = "write_buffer_size=256k;target_file_size_base=256k"
"""
_REPLAY = Places(
    options=("--defaults-file=/root/replay.cnf",),
    socket="run/mysqld/replay.sock",
    data="var/lib/replay",
    error_log="var/log/mysql/replay.log",
)
_REPLAY_OPTIONS = f"""[mariadbd]
datadir = /{_REPLAY.data}
socket = /{_REPLAY.socket}
pid_file = /run/mysqld/replay.pid
skip-networking
plugin-load-add = ha_rocksdb.so
rocksdb = FORCE_PLUS_PERMANENT
"""


class Rehearsal:
    """The promises of clients, and the server that replays; for one thread."""

    def __init__(self, system: CleanSystem, seed: int, journal: TextIO) -> None:
        """`journal` takes what was acknowledged."""
        self.system = system
        self.replay = CleanSystem(system.root, _REPLAY)
        self.seed = seed
        self.acknowledged = 0
        self.kills = 0
        self._journal = journal
        self._promises = [mixed.Promise(number) for number in range(CLIENTS)]
        self._replayed: set[str] = set()
        self._loads = 0

    def prepare(self) -> None:
        """Makes the tables, and the data directory of the server that replays."""
        self.system.query("CREATE DATABASE crash", *mixed.CREATE, *mixed.FILL)
        root = self.system.root
        (root / "root/replay.cnf").write_text(_REPLAY_OPTIONS, encoding="ascii")
        self.system.run(
            "mariadb-install-db", "--no-defaults", f"--datadir=/{_REPLAY.data}", "--user=mysql",
            "--skip-test-db", "--force",
        )  # fmt: skip

    def load(self, load_s: float, *, kill: bool) -> list[str]:
        """Clients write for so long; then the server is killed in the middle of it, or shut down
        once they have ended. What went wrong."""
        self._loads += 1
        writers = [
            mixed.MixedWriter(
                promise,
                self.system.connect,
                self._journal,
                random.Random(f"{self.seed} {self._loads} {promise.client}"),
            )
            for promise in self._promises
        ]
        if late := writer.start(writers):
            return [late]
        time.sleep(load_s)
        wrong = []
        if self.system.daemon is None or self.system.daemon.poll() is not None:
            wrong.append("the server ended by itself: " + "\n".join(self.system.log_lines()[-15:]))
        if kill:
            self.system.kill()
            self.kills += 1
            wrong += writer.end(writers)
        else:
            wrong += writer.end(writers)
            self.system.stop()
        self.acknowledged += sum(each.acknowledged for each in writers)
        if not self.acknowledged:
            wrong.append("no transaction was acknowledged")
        return wrong

    def check(self) -> list[str]:
        """What is not as acknowledged, between the engines or in the binary log, after a start."""
        wrong = [line for line in self.system.log_lines() if "[ERROR]" in line]
        with self.system.connect() as connection, connection.cursor() as cursor:
            wrong += mixed.check(self._promises, cursor)
            wrong += writer.check_tables(cursor, mixed.TABLES)
        self.replay.start()
        try:
            wrong += self._apply()
            expected, found = _checksums(self.system), _checksums(self.replay)
        finally:
            self.replay.stop()
        differing = [name for name in mixed.TABLES if expected.get(name) != found.get(name)]
        return wrong + [f"{name} differs in the replay of the binary log" for name in differing]

    def _apply(self) -> list[str]:
        """Applies the binary log."""
        names = [row[0] for row in self.system.query("FLUSH BINARY LOGS", "SHOW BINARY LOGS")]
        new = [name for name in names[:-1] if name not in self._replayed]
        if not new:
            return []
        self._replayed.update(new)
        # One by one: a file that a kill cut off hides those that are given with it.
        status, output = self.system.attempt(
            "bash",
            "-c",
            f"set -o pipefail; cd /{self.system.places.data}; "
            f"(for log in {' '.join(new)}; do "
            "timeout 60 mariadb-binlog --no-defaults $log || exit; done) | "
            "timeout 300 mariadb --no-defaults "
            f"--socket=/{_REPLAY.socket} --user=root --binary-mode",
        )
        return [f"the binary log cannot be replayed: {output[-800:]}"] if status else []

    def kill(self) -> None:
        self.replay.kill()


def _checksums(system: CleanSystem) -> dict[str, int]:
    return dict(system.query(f"CHECKSUM TABLE {', '.join(mixed.TABLES)}"))


def mapped(system: CleanSystem) -> set[str]:
    """The builds of Cairn that the running server has loaded, by the servers that they are for."""
    assert system.daemon is not None
    maps = Path(f"/proc/{system.daemon.pid}/maps").read_text(encoding="utf-8")
    return {
        line.rsplit("/", 2)[1]
        for line in maps.splitlines()
        if "/lib/cairn/" in line and line.endswith("/adapter.so")
    }

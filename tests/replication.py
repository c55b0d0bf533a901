"""A replica on this machine, and a binary log that a client applies."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.scratch_server import ScratchServer

# How long mariadb-binlog may read one file, and a client may apply all.
READ_S = 60
REPLAY_S = 300
REPLICA = (
    "--relay-log=relay",
    "--log-slave-updates",
    "--skip-slave-start",
    # Each transaction has its position in its own engine; recovery decides by the binary log.
    "--gtid-pos-auto-engines=innodb,rocksdb",
)


def network(port: int) -> tuple[str, ...]:
    """The options of a primary, which its replica reaches by a port of the loopback."""
    return ("--skip-networking=0", f"--port={port}", "--bind-address=127.0.0.1")


def introduce(primary: ScratchServer, replica: ScratchServer, port: int) -> None:
    """Makes a user for the replica, and tells it where its primary is; START SLAVE comes later."""
    primary.execute(
        "CREATE USER replica@'127.0.0.1' IDENTIFIED BY 'replica'",
        "GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'",
    )
    replica.execute(
        "CHANGE MASTER TO master_host = '127.0.0.1', master_user = 'replica', "
        f"master_password = 'replica', master_port = {port}, master_use_gtid = slave_pos, "
        "master_connect_retry = 1"
    )


def status(replica: ScratchServer) -> dict[str, Any]:
    """What the replica says of itself, by column."""
    import pymysql

    rows = pymysql.cursors.DictCursor
    with replica.connect() as connection, connection.cursor(rows) as cursor:
        cursor.execute("SHOW ALL SLAVES STATUS")
        return dict(cursor.fetchone() or {})


def catch_up(primary: ScratchServer, replica: ScratchServer, limit_s: float) -> str:
    """Waits until the replica has applied all; returns what keeps it from that."""
    position = primary.query("SELECT @@gtid_binlog_pos")[0][0]
    limit = time.monotonic() + limit_s
    while time.monotonic() < limit:
        if replica.query(f"SELECT MASTER_GTID_WAIT('{position}', 1)")[0][0] == 0:
            return ""
        said = status(replica)
        if not said:
            return "it has no primary"
        if said["Slave_SQL_Running"] == "No":
            return str(said["Last_SQL_Error"])
        if not replica.is_alive():
            return "it has crashed"
    return f"it has not caught up after {limit_s:g} s"


def read_log(mariadb: Server, path: Path, out: IO[bytes], *options: str) -> bytes:
    """Lets mariadb-binlog print one file; returns what it complains about. Raises if it fails."""
    try:
        read = subprocess.run(
            [mariadb.tool("mariadb-binlog"), "--no-defaults", *options, path],
            env=mariadb.environment(),
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=READ_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CairnError(f"mariadb-binlog has not read {path.name} after {READ_S} s.") from None
    if read.returncode != 0:
        complaint = read.stderr.decode("utf-8", "replace")
        raise CairnError(f"The binary log cannot be read ({path.name}): {complaint}")
    return read.stderr


def _at_work(server: ScratchServer) -> str:
    import pymysql

    try:
        return str(server.query("SHOW FULL PROCESSLIST"))
    except (pymysql.MySQLError, OSError) as error:
        return f"(it does not answer: {error})"


def replay(
    mariadb: Server, files: Sequence[str], source: ScratchServer, target: ScratchServer, log: Path
) -> None:
    """Applies files of the source's binary log; `log` takes what mariadb-binlog complains about.

    A file that a crash left in use may end within an event: it counts up to there. (Given several
    files mariadb-binlog leaves out those after such a file and says that all is well; with
    --force-read it never ends there. So it gets one file at a time, without that option.)
    """
    statements = log.with_suffix(".sql")
    with statements.open("wb") as out, log.open("ab") as complaints:
        for name in files:
            complaints.write(read_log(mariadb, source.data / name, out))
    client = [mariadb.tool("mariadb"), "--no-defaults", f"--socket={target.socket}"]
    with statements.open("rb") as text:
        try:
            applied = subprocess.run(
                [*client, "--user=root", "--binary-mode"],
                env=mariadb.environment(),
                stdin=text,
                capture_output=True,
                timeout=REPLAY_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CairnError(
                f"The binary log is not replayed after {REPLAY_S} s ({', '.join(files)}); "
                f"the server is at: {_at_work(target)}"
            ) from None
    if applied.returncode != 0:
        message = applied.stderr.decode("utf-8", "replace")
        raise CairnError(f"The binary log cannot be replayed ({', '.join(files)}): {message}")
    statements.unlink()

"""A primary, its replica, and a server fed by mariadb-binlog; all made anew by each load."""

from __future__ import annotations

import re
import threading
from contextlib import ExitStack
from dataclasses import dataclass

from cairn.errors import CairnError
from cairn.scratch_server import ScratchServer, free_port
from tests import replication
from tests.hunt.part import Context
from tests.hunt.replica.load import Load, Transaction

SCHEMA = "hunt"
CATCH_UP_S = 30
COMMON = (
    "--rocksdb-flush-log-at-trx-commit=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--sync-binlog=0",
    "--rocksdb-deadlock-detect=ON",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    "--default-storage-engine=ROCKSDB",
)
BINARY_LOG = ("--log-bin=binlog", "--binlog-format=ROW")
# Nobody sees a deadlock over rows and tables (ALTER beside other sessions): it ends before the
# client, which waits for a minute, gives up.
PRIMARY = ("--innodb-lock-wait-timeout=4", "--lock-wait-timeout=10")


@dataclass(frozen=True)
class Outcome:
    """What came of a load; `title` is empty when all servers agree."""

    title: str = ""
    details: str = ""
    statements: int = 0
    refused: int = 0
    retried: int = 0


class Rig:
    """The three servers of one run."""

    def __init__(self, context: Context, stack: ExitStack) -> None:
        self._mariadb = context.mariadb
        self._directory = context.directory
        port = free_port()
        network = replication.network(port)

        def server(name: str, *options: str) -> ScratchServer:
            made = stack.enter_context(context.server(name, *COMMON, *options))
            made.start()
            return made

        self.primary = server("primary", *BINARY_LOG, *PRIMARY, *network, "--server-id=1")
        self.replica = server("replica", *BINARY_LOG, *replication.REPLICA, "--server-id=2")
        self.replay = server("replay", "--server-id=3")
        # In an Aria table the position of a transaction that is rolled back, to be applied again,
        # would stay: docs/replication.md.
        self.replica.execute("ALTER TABLE mysql.gtid_slave_pos ENGINE = ROCKSDB")
        replication.introduce(self.primary, self.replica, port)

    # ---- one load -------------------------------------------------------------------------------

    def play(self, load: Load) -> Outcome:
        """Runs the load on empty servers, and compares."""
        self._empty(load)
        statements = refused = 0
        for ran, failed in _run(self.primary, load):
            statements, refused = statements + ran, refused + failed
        # All is there when the replica begins, so that it has something to do in parallel.
        self.replica.execute("START SLAVE")
        if problem := replication.catch_up(self.primary, self.replica, CATCH_UP_S):
            details = f"{problem}\n{self.replica.excerpt()}"
            return Outcome(f"the replica stops: {_kind(problem)}", details, statements, refused)
        if problem := self._replay():
            return Outcome(
                f"mariadb-binlog into a client stops: {_kind(problem)}",
                problem,
                statements,
                refused,
            )
        retried = int(replication.status(self.replica)["Retried_transactions"])
        for name, server in (("replica", self.replica), ("replay", self.replay)):
            if differ := self._differ(name, server):
                return Outcome(*differ, statements, refused, retried)
        return Outcome("", "", statements, refused, retried)

    def _empty(self, load: Load) -> None:
        drop = f"DROP DATABASE IF EXISTS {SCHEMA}"
        self.replica.execute("STOP SLAVE", "SET sql_log_bin = 0", drop)
        self.replay.execute(drop)
        self.primary.execute(
            drop,
            "RESET MASTER",
            # Groups of transactions that a conservative replica applies in parallel.
            f"SET GLOBAL binlog_commit_wait_count = {load.sessions if load.sessions > 1 else 0}",
            "SET GLOBAL binlog_commit_wait_usec = 2000",
        )
        self.replica.execute(
            "RESET MASTER",
            "SET GLOBAL gtid_slave_pos = ''",
            f"SET GLOBAL slave_parallel_threads = {load.threads}",
            f"SET GLOBAL slave_parallel_mode = '{load.mode}'",
        )
        self.primary.execute(
            f"SET SESSION default_storage_engine = {load.engine}",
            f"CREATE DATABASE {SCHEMA}",
            f"USE {SCHEMA}",
            *(table.create() for table in load.tables),
        )

    def _replay(self) -> str:
        """Applies the whole binary log by the client; what it complains about."""
        self.primary.execute("FLUSH BINARY LOGS")
        names = [str(row[0]) for row in self.primary.query("SHOW BINARY LOGS")]
        try:
            replication.replay(
                self._mariadb,
                names[:-1],
                self.primary,
                self.replay,
                self._directory / "mariadb-binlog.log",
            )
        except CairnError as error:
            return str(error)
        return ""

    # ---- comparison -----------------------------------------------------------------------------

    def _differ(self, name: str, server: ScratchServer) -> tuple[str, str] | None:
        """How a server's tables differ from the primary's, or are damaged: a title and details."""
        tables = [f"{SCHEMA}.{row[0]}" for row in self.primary.query(f"SHOW TABLES IN {SCHEMA}")]
        there = [f"{SCHEMA}.{row[0]}" for row in server.query(f"SHOW TABLES IN {SCHEMA}")]
        if tables != there:
            return f"the {name} has other tables", f"{there}, the primary {tables}"
        checksums = f"CHECKSUM TABLE {', '.join(tables)}"
        expected, found = dict(self.primary.query(checksums)), dict(server.query(checksums))
        for table in tables:
            if expected[table] != found[table]:
                return f"rows differ: the {name}", self._rows_differ(table, name, server)
            for row in server.query(f"CHECK TABLE {table} EXTENDED"):
                if row[2] != "status" or row[3] != "OK":
                    return f"a damaged table: the {name}", f"CHECK TABLE {table} EXTENDED: {row[3]}"
        return None

    def _rows_differ(self, table: str, name: str, server: ScratchServer) -> str:
        query = f"SELECT * FROM {table}"
        ours = sorted(map(repr, self.primary.query(query)))
        theirs = sorted(map(repr, server.query(query)))
        only = [row for row in ours if row not in theirs][:3]
        more = [row for row in theirs if row not in ours][:3]
        return (
            f"{table}: {len(ours)} rows on the primary, {len(theirs)} on the {name}; "
            f"only on the primary {only}, only on the {name} {more}"
        )


def _run(primary: ScratchServer, load: Load) -> list[tuple[int, int]]:
    """Runs the load's sessions at the same time; for each the statements, and those refused."""
    results: list[tuple[int, int]] = []
    errors: list[BaseException] = []

    def session(transactions: list[Transaction]) -> None:
        try:
            results.append(_session(primary, load, transactions))
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=session, args=(list(load.transactions[i :: load.sessions]),))
        for i in range(load.sessions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def _session(
    primary: ScratchServer, load: Load, transactions: list[Transaction]
) -> tuple[int, int]:
    import pymysql

    ran = refused = 0
    with primary.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET SESSION binlog_row_image = {load.image}")
        cursor.execute(f"SET SESSION default_storage_engine = {load.engine}")
        # What does not fit is cut off, and the row stays in the load.
        cursor.execute("SET SESSION sql_mode = ''")
        for transaction in transactions:
            for statement in transaction:
                ran += 1
                try:
                    cursor.execute(statement)
                except pymysql.MySQLError:
                    if not primary.is_alive():
                        raise
                    refused += 1
            cursor.execute("ROLLBACK")
    return ran, refused


def _kind(problem: str) -> str:
    """The numbers of a problem: of the server's error, and of the handler's."""
    found = re.findall(r"Error_code: (\d+)|ERROR (\d+)|handler error (\w+)", problem)
    numbers = [next(filter(None, each)) for each in found]
    return ", ".join(dict.fromkeys(numbers)) or problem.splitlines()[0][:80]

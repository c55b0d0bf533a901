"""A migration under load that a replica follows, and one that a replica refuses to begin."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from random import Random

from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.scratch_server import ScratchServer, free_port
from tests import replication
from tests.acceptance.migrate import checks, tables
from tests.acceptance.migrate.clients import Client
from tests.acceptance.migrate.tool import Tool

ROWS = 20_000
CLIENTS = 3
CATCH_UP_S = 120
# Slow enough that clients change much while tables are copied online.
RATE = ("--rows-per-second", "5000")


def run(mariadb: Server, home: Path, reporter: Reporter, chance: Random) -> list[str]:
    """What is wrong with primary or replica, for each format of the binary log."""
    wrong = []
    for binlog_format in ("ROW", "MIXED"):
        with reporter.phase(f"Replica, {binlog_format}") as phase:
            found = _follow(mariadb, home / binlog_format.lower(), binlog_format, chance)
            wrong += [f"{binlog_format}: {text}" for text in found]
            phase.summary = f"{len(found)} differences, there and back"
    return wrong


def _follow(mariadb: Server, home: Path, binlog_format: str, chance: Random) -> list[str]:
    port = free_port()
    shared = (
        "--log-bin=binlog",
        f"--binlog-format={binlog_format}",
        "--innodb-lock-wait-timeout=10",
    )
    own = ("--server-id=1", *replication.network(port))
    with ExitStack() as stack:
        primary = stack.enter_context(ScratchServer(mariadb, home / "p", shared + own))
        replica = stack.enter_context(
            ScratchServer(mariadb, home / "r", (*shared, "--server-id=2", *replication.REPLICA))
        )
        primary.start()
        replica.start()
        replication.introduce(primary, replica, port)
        replica.execute("START SLAVE")
        primary.execute(*tables.create(), *tables.load(ROWS), read_timeout=600)
        before = checks.loaded_sums(primary)
        clients = _clients(primary, chance)
        try:
            return _there_and_back(primary, replica, before, clients)
        finally:
            for client in clients:
                client.ended = True
                client.go_on()
            for client in clients:
                client.join(60)


def _clients(primary: ScratchServer, chance: Random) -> list[Client]:
    def connect():  # type: ignore[no-untyped-def]
        return primary.connect(database=tables.SCHEMA, read_timeout=600)

    clients = [Client(number, connect, Random(chance.random())) for number in range(1, CLIENTS + 1)]
    for client in clients:
        client.start()
    return clients


def _there_and_back(
    primary: ScratchServer, replica: ScratchServer, before: checks.Sums, clients: list[Client]
) -> list[str]:
    tool = Tool(primary.socket, primary.directory / "migrate.log")
    wrong = []
    # 1: documents stays in InnoDB, and on the way back nothing is left to be converted.
    for target, status in (("rocksdb", 1), ("innodb", 0)):
        tool.run("run", "--schema", tables.SCHEMA, "--to", target, *RATE, expect=status)
        for client in clients:
            client.rest()
        if late := replication.catch_up(primary, replica, CATCH_UP_S):
            raise CairnError(f"The replica does not follow the migration to {target}: {late}")
        for name, server in (("primary", primary), ("replica", replica)):
            found = checks.wrong(server, target, before, clients)
            wrong += [f"{name}, {target}: {text}" for text in found]
        for client in clients:
            client.go_on()
    text = Tool(replica.socket, replica.directory / "migrate.log").run(
        "run", "--schema", tables.SCHEMA, expect=1
    )
    if "STOP SLAVE" not in text:
        wrong.append("a replica that applies changes begins a migration of its own")
    return wrong

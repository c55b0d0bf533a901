"""Compares the sample database with the same data in InnoDB."""

from __future__ import annotations

from cairn import server as servers
from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.sample import load
from cairn.server import Running, connect

REFERENCE = "sample_innodb"


def run(reporter: Reporter, server: Server, found: Running, *, kill: bool) -> int:
    """Compares all tables, with `kill` once more after a crash; returns the number of differences.

    The reference is loaded from the source files again, not copied from our tables.
    """
    with reporter.phase("Sample database") as phase:
        load.ensure(phase, server, found)
    with reporter.phase("InnoDB copy") as phase:
        load.ensure(phase, server, found, REFERENCE, "InnoDB")
    differences = _compare(reporter, server, found, "Compare")
    if kill:
        with reporter.phase("Kill and restart") as phase:
            servers.kill(found)
            found = servers.ensure_started(phase, server)
        differences += _compare(reporter, server, found, "Compare again")
    return differences


def _compare(reporter: Reporter, server: Server, found: Running, name: str) -> int:
    different = []
    with reporter.phase(name) as phase, connect(found) as connection:
        wanted = load.tables(server)
        with connection.cursor() as cursor:
            for table in wanted:
                phase.progress(table.name)
                sums = []
                for schema in (load.SCHEMA, REFERENCE):
                    cursor.execute(f"CHECKSUM TABLE `{schema}`.`{table.name}` EXTENDED")
                    row = cursor.fetchone()
                    if row is None or row[1] is None:
                        raise CairnError(f"CHECKSUM TABLE gives nothing for {schema}.{table.name}.")
                    sums.append(row[1])
                if sums[0] != sums[1]:
                    different.append(f"{table.name}: ROCKSDB {sums[0]}, InnoDB {sums[1]}")
        phase.summary = f"{len(wanted)} tables, {len(different)} differ"
    for text in different:
        say(f"    {text}")
    return len(different)

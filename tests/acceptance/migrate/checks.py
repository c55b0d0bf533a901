"""What has to be true of the server after a migration."""

from __future__ import annotations

from cairn.scratch_server import ScratchServer
from tests.acceptance.migrate.clients import Client, difference, read
from tests.acceptance.migrate.tables import (
    MIGRATED,
    RULES,
    SCHEMA,
    SINGLE,
    STAYING,
    TIED,
    sums,
)

Sums = dict[str, tuple]


def loaded_sums(server: ScratchServer) -> Sums:
    """Sums over nobody's rows."""
    return {table: server.query(query)[0] for table, query in sums().items()}


def wrong(server: ScratchServer, target: str, before: Sums, clients: list[Client]) -> list[str]:
    """Sentences about what is not as it has to be. The clients rest."""
    found = _engines(server, target) + _leftovers(server) + _foreign_keys(server, target)
    now = loaded_sums(server)
    found += [
        f"{table}: loaded rows are {now[table]}, were {before[table]}"
        for table in before
        if now[table] != before[table]
    ]
    with server.connect() as connection, connection.cursor() as cursor:
        for client in clients:
            if client.error:
                found.append(client.error)
            elif differs := difference(client.rows, read(cursor, client.number)):
                found.append(f"{client.name}: {differs}")
        if target == "rocksdb":  # InnoDB warns of indexes on virtual columns that clients change.
            names = ", ".join(f"{SCHEMA}.{table}" for table in MIGRATED)
            cursor.execute(f"CHECK TABLE {names} EXTENDED")
            found += [f"CHECK TABLE {row[0]}: {row[3]}" for row in cursor if row[3] != "OK"]
    return found


def _engines(server: ScratchServer, target: str) -> list[str]:
    engines = {
        row[0]: str(row[1]).lower()
        for row in server.query(
            "SELECT table_name, engine FROM information_schema.tables "
            f"WHERE table_schema = '{SCHEMA}'"
        )
    }
    expected = {table: target for table in MIGRATED} | {STAYING: "innodb"}
    return [
        f"{table} is {engines.get(table)}, not {expected.get(table)}"
        for table in sorted(engines.keys() | expected.keys())
        if engines.get(table) != expected.get(table)
    ]


def _leftovers(server: ScratchServer) -> list[str]:
    found = [
        f"{row[0]} is left"
        for row in server.query(
            "SELECT trigger_name FROM information_schema.triggers WHERE trigger_name <> 'audit' "
            f"AND trigger_schema = '{SCHEMA}' UNION ALL "
            "SELECT schema_name FROM information_schema.schemata "
            "WHERE schema_name = 'cairn_migrate' UNION ALL "
            "SELECT table_name FROM information_schema.cairn_tables "
            "WHERE table_name LIKE '%cairn_migrate%' OR table_name LIKE '#sql%'"
        )
    ]
    if not server.query("SELECT 1 FROM information_schema.triggers WHERE trigger_name = 'audit'"):
        found.append("the trigger of audited is gone")
    return found


def _foreign_keys(server: ScratchServer, target: str) -> list[str]:
    names = {
        (str(row[0]), str(row[1]), str(row[2]))
        for row in server.query(
            "SELECT table_name, constraint_name, delete_rule FROM "
            f"information_schema.referential_constraints WHERE constraint_schema = '{SCHEMA}'"
        )
    }
    expected = {(rule.child, f"{rule.child}_{rule.column}", rule.action) for rule in RULES}
    found = [f"foreign key {one} is on one side only" for one in sorted(names ^ expected)]
    if target == "rocksdb":
        bound = server.query(
            "SELECT COUNT(*) FROM information_schema.cairn_foreign_keys WHERE state = 'bound'"
        )[0][0]
        if bound != len(RULES):
            found.append(f"{bound} of {len(RULES)} foreign keys are bound")
    return found


def plan_is_as_expected(planned: dict, online: bool) -> list[str]:
    """What the plan in JSON says of each class of tables."""
    ways = {
        tuple(sorted(table["table"] for table in one["tables"])): one["way"]
        for one in planned["sets"]
    }
    expected = {tuple(sorted(TIED)): "held", (STAYING,): "none"} | {
        (table,): "held" if way == "online" and not online else way
        for table, (way, _) in SINGLE.items()
    }
    return [
        f"the plan says {ways.get(tables)} of {', '.join(tables)}, not {expected.get(tables)}"
        for tables in sorted(ways.keys() | expected.keys())
        if ways.get(tables) != expected.get(tables)
    ]

"""Asks a server for the facts. Every query is made once; none locks or changes anything."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from cairn.doctor.facts import (
    Backup,
    Build,
    Missing,
    Plugin,
    Setting,
    Source,
    Stall,
    Table,
)
from cairn.errors import CairnError

# Beside those of the engine.
SERVER_VARIABLES = (
    "aria_pagecache_buffer_size",
    "binlog_format",
    "datadir",
    "default_storage_engine",
    "innodb_buffer_pool_size",
    "key_buffer_size",
    "log_bin",
    "log_error",
    "open_files_limit",
    "plugin_dir",
    "plugin_maturity",
    "slave_parallel_threads",
    "sync_binlog",
    "version",
)
LOOK_AGAIN_S = 1.0
DENIED = (1044, 1045, 1142, 1143, 1227)
UNKNOWN_TABLE = (1049, 1109, 1146)
GONE = (2006, 2013, 2014, 2055, 0)
HISTORIES = (("mysql", "mariadb_backup_history"), ("PERCONA_SCHEMA", "xtrabackup_history"))
# With any of these on everything, information_schema.TABLES has all tables.
SEES_TABLES = ("SELECT", "SHOW VIEW", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP")
BACKUP_LOCK = "mariabackup_rocksdb_checkpoint"
NO_RECORD = (
    "unknown: the server has no history of backups. Make them with mariadb-backup --history, or "
    "name the directory that they are in with --backups"
)


class Server:
    """A connection, and what it answers. `facts` and `missing` fill up as questions are asked."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.facts: dict[str, Any] = {}
        self.missing: dict[Source, Missing] = {}
        self.account = str(self.rows("SELECT CURRENT_USER()")[0][0])
        self.privileges = global_privileges(row[0] for row in self.rows("SHOW GRANTS"))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement. Raises MySQLError for what the server refuses, a CairnError
        when it no longer answers."""
        import pymysql

        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        except (pymysql.err.InterfaceError, OSError) as error:
            raise CairnError(f"The server no longer answers: {error}") from error
        except pymysql.MySQLError as error:
            if _number(error) in GONE:
                raise CairnError(f"The server no longer answers: {_text(error)}") from error
            raise

    def may(self, privilege: str) -> bool:
        """Whether the account has a privilege on everything."""
        return "ALL PRIVILEGES" in self.privileges or privilege in self.privileges

    def grant(self, privilege: str, on: str = "*.*") -> str:
        user, _, host = self.account.rpartition("@")
        return f"GRANT {privilege} ON {on} TO '{user}'@'{host}';"

    def ask(self, source: Source, question: Callable[[], None], grant: str = "") -> None:
        """Asks a question whose answer may be refused; then the source is missing."""
        import pymysql

        if source in self.missing:
            return
        try:
            question()
        except pymysql.MySQLError as error:
            denied = _number(error) in DENIED
            self.missing[source] = Missing(_text(error), grant if denied else "")


def _number(error: Exception) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _text(error: Exception) -> str:
    return str(error.args[1] if len(error.args) > 1 else error)


def global_privileges(grants: Any) -> frozenset[str]:
    """The privileges on everything that SHOW GRANTS lists, in capitals."""
    found: set[str] = set()
    for grant in grants:
        if match := re.match(r"GRANT (.+?) ON \*\.\* TO ", str(grant)):
            found |= {privilege.strip().upper() for privilege in match[1].split(",")}
    return frozenset(found)


def ask_all(server: Server) -> None:
    """All questions."""
    facts = server.facts
    facts["settings"] = _settings(server)
    facts["statuses"] = {name.lower(): str(v) for name, v in server.rows("SHOW GLOBAL STATUS")}
    facts["plugins"] = _plugins(server)
    engine = next(
        (p for p in facts["plugins"] if p.name == "ROCKSDB" and p.status == "ACTIVE"), None
    )
    if engine is None:
        server.missing[Source.ENGINE] = Missing("the engine ROCKSDB is not active")
    elif engine.author != "Cairn":
        server.missing[Source.CAIRN] = Missing("the stock plug-in has none")
    elif "cairn_write_stopped" not in facts["statuses"]:
        server.missing[Source.CAIRN] = Missing("the plug-in CAIRN is not active")
    if engine is not None:
        _ask_engine(server, is_cairn=Source.CAIRN not in server.missing)
    _ask_backups(server)


def _settings(server: Server) -> dict[str, Setting]:
    names = ", ".join(f"'{name.upper()}'" for name in SERVER_VARIABLES)
    rows = server.rows(
        "SELECT VARIABLE_NAME, GLOBAL_VALUE, GLOBAL_VALUE_ORIGIN, GLOBAL_VALUE_PATH, "
        "VARIABLE_COMMENT FROM information_schema.SYSTEM_VARIABLES WHERE "
        f"VARIABLE_NAME LIKE 'ROCKSDB%' OR VARIABLE_NAME LIKE 'CAIRN%' OR VARIABLE_NAME IN "
        f"({names})"
    )
    return {
        name.lower(): Setting(value or "", origin or "", path or "", comment or "")
        for name, value, origin, path, comment in rows
    }


def _plugins(server: Server) -> tuple[Plugin, ...]:
    rows = server.rows(
        "SELECT PLUGIN_NAME, PLUGIN_VERSION, PLUGIN_STATUS, PLUGIN_LIBRARY, PLUGIN_AUTHOR, "
        "PLUGIN_MATURITY, LOAD_OPTION FROM information_schema.PLUGINS "
        "WHERE PLUGIN_NAME LIKE 'ROCKSDB%' OR PLUGIN_NAME LIKE 'CAIRN%' ORDER BY PLUGIN_NAME"
    )
    return tuple(Plugin(*(str(value or "") for value in row)) for row in rows)


def _ask_engine(server: Server, *, is_cairn: bool) -> None:
    server.ask(Source.FAMILIES, lambda: _families(server))
    server.ask(Source.TRANSACTIONS, lambda: _transactions(server))
    server.ask(Source.SNAPSHOTS, lambda: _snapshot(server))
    server.ask(Source.DROPPED, lambda: _dropped(server))
    lock = server.rows(f"SELECT IS_USED_LOCK('{BACKUP_LOCK}')")
    server.facts["backup_lock_held"] = lock[0][0] is not None
    if any(server.may(privilege) for privilege in SEES_TABLES):
        server.ask(Source.DEFINITIONS, lambda: _definitions(server))
    else:
        server.missing[Source.DEFINITIONS] = Missing(
            "only an account with a privilege on all tables sees all their names",
            server.grant("SHOW VIEW"),
        )
    if not is_cairn:
        return
    server.ask(Source.CAIRN, lambda: _stalls(server))
    if server.may("PROCESS"):
        server.ask(Source.PRIVILEGED, lambda: _privileged(server))
    else:
        server.missing[Source.PRIVILEGED] = Missing(
            "they are empty without the privilege PROCESS", server.grant("PROCESS")
        )


def _families(server: Server) -> None:
    families: dict[str, dict[str, str]] = {}
    for family, option, value in server.rows(
        "SELECT CF_NAME, OPTION_TYPE, VALUE FROM information_schema.ROCKSDB_CF_OPTIONS"
    ):
        families.setdefault(family, {})[option.strip()] = value
    server.facts["families"] = families


def _transactions(server: Server) -> None:
    """A transaction that is about to be decided is prepared too: only what stays counts."""
    first = _prepared(server)
    if not first:
        return
    begun = time.monotonic()
    time.sleep(LOOK_AGAIN_S)
    second = _prepared(server)
    server.facts["prepared"] = tuple(name for name in first if name in second)
    server.facts["prepared_seconds"] = time.monotonic() - begun


def _prepared(server: Server) -> list[str]:
    """The names as XA COMMIT takes them."""
    return [str(row[3]) for row in server.rows("XA RECOVER FORMAT='SQL'")]


def _snapshot(server: Server) -> None:
    """How long the oldest snapshot has been held."""
    statuses = server.facts["statuses"]
    if "cairn_oldest_snapshot_seconds" in statuses:
        server.facts["oldest_snapshot_s"] = float(statuses["cairn_oldest_snapshot_seconds"])
    else:
        rows = server.rows(
            "SELECT UNIX_TIMESTAMP() - VALUE FROM information_schema.ROCKSDB_DBSTATS "
            "WHERE STAT_TYPE = 'DB_OLDEST_SNAPSHOT_TIME' AND VALUE > 0"
        )
        server.facts["oldest_snapshot_s"] = float(rows[0][0]) if rows else 0.0


def _dropped(server: Server) -> None:
    """Dropped indexes that still have entries."""
    rows = server.rows(
        "SELECT COUNT(*) FROM information_schema.ROCKSDB_GLOBAL_INFO "
        "WHERE TYPE = 'DDL_DROP_INDEX_ONGOING'"
    )
    server.facts["dropped_indexes"] = int(rows[0][0])


def _definitions(server: Server) -> None:
    """Tables that the engine has and the server does not know, at two looks."""
    undefined = _undefined(server)
    if undefined:
        undefined &= _undefined(server)
    server.facts["undefined_tables"] = tuple(sorted(undefined))
    if float(server.facts["statuses"].get("slaves_running", "0") or 0) > 0:
        rows = server.rows(
            "SELECT ENGINE FROM information_schema.TABLES "
            "WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = 'gtid_slave_pos'"
        )
        server.facts["replica_position_engine"] = str(rows[0][0] or "") if rows else ""


def _undefined(server: Server) -> set[str]:
    """Temporary tables, and names that the stock plug-in shows encoded, are left out."""
    ours = server.rows(
        "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME FROM information_schema.ROCKSDB_DDL"
    )
    known = server.rows("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES")
    names = {f"{schema}.{table}".casefold() for schema, table in known}
    return {
        f"{schema}.{table}"
        for schema, table in ours
        if f"{schema}.{table}".casefold() not in names
        and not re.match(r"#sql|.*@[0-9a-f]{4}", table)
        and "@" not in schema
    }


def _stalls(server: Server) -> None:
    rows = server.rows(
        "SELECT STATE, CAUSE, COLUMN_FAMILY, SECONDS, ENDED IS NULL, REMEDY "
        "FROM information_schema.CAIRN_STALLS"
    )
    server.facts["stalls"] = tuple(
        Stall(state, cause, family or "", None if s is None else float(s), bool(on), remedy or "")
        for state, cause, family, s, on, remedy in rows
    )


def _privileged(server: Server) -> None:
    rows = server.rows(
        "SELECT TABLE_SCHEMA, TABLE_NAME, PARTITION_NAME, STATE, REASON, OBSTACLES, "
        "ESTIMATED_ROWS, TOMBSTONES FROM information_schema.CAIRN_TABLES"
    )
    server.facts["tables"] = tuple(
        Table(
            f"{schema}.{table}" + (f" partition {partition}" if partition else ""),
            state,
            reason or "",
            obstacles or "",
            int(count or 0),
            int(tombstones or 0),
        )
        for schema, table, partition, state, reason, obstacles, count, tombstones in rows
    )
    rows = server.rows(
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, STAGE, SECONDS "
        "FROM information_schema.CAIRN_INDEX_BUILDS"
    )
    server.facts["builds"] = tuple(
        Build(f"{schema}.{table}.{index}", stage, float(seconds or 0))
        for schema, table, index, stage, seconds in rows
    )
    rows = server.rows(
        "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME FROM "
        "information_schema.CAIRN_FOREIGN_KEYS WHERE STATE = 'dangling'"
    )
    server.facts["dangling_keys"] = tuple(".".join(map(str, row)) for row in rows)


def _ask_backups(server: Server) -> None:
    """The newest row of each history that mariadb-backup --history may have written."""
    import pymysql

    found: list[Backup] = []
    denied = ""
    for schema, table in HISTORIES:
        try:
            rows = server.rows(
                "SELECT end_time, UNIX_TIMESTAMP() - UNIX_TIMESTAMP(end_time), tool_command, "
                f"partial FROM {schema}.{table} WHERE end_time IS NOT NULL "
                "ORDER BY end_time DESC LIMIT 1"
            )
        except pymysql.MySQLError as error:
            if _number(error) in DENIED and not denied:
                denied = f"{schema}.{table}"
            elif _number(error) not in (*UNKNOWN_TABLE, *DENIED):
                server.missing[Source.BACKUPS] = Missing(f"{schema}.{table}: {_text(error)}")
                return
            continue
        found += [_backup(*row, f"{schema}.{table}") for row in rows]
    server.facts["backups"] = tuple(found)
    if not found:
        server.missing[Source.BACKUPS] = (
            Missing(
                f"unknown: {denied} may not be read, if it is there; mariadb-backup --history "
                f"makes it",
                server.grant("SELECT", denied),
            )
            if denied
            else Missing(NO_RECORD)
        )


def _backup(ended: datetime, age: Any, command: str, partial: str, where: str) -> Backup:
    return Backup(ended, float(age), where, command or "", (partial or "").upper() == "Y")

"""./cairn status: what runs, from which files, and how large it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cairn import files, plugin, prefix, rocksdb, server
from cairn.paths import shown
from cairn.report import say

# The directory below the data directory in which the engine keeps its files.
ENGINE_DIRECTORY = "#rocksdb"


def collect() -> dict[str, Any]:
    """Everything that scripts may want to know; keys are always there, unknown values are null."""
    found = server.running()
    mariadb = prefix.current()
    library = plugin.library()
    return {
        "running": found is not None,
        "pid": found.pid if found else None,
        "socket": str(found.socket) if found else None,
        "port": found.port if found else None,
        "data_directory": str(server.DATA) if server.DATA.is_dir() else None,
        "plugin": found.plugin.get("file") if found else str(library) if library.exists() else None,
        "plugin_is_current": (
            found.plugin == server.fingerprint(library) if found and library.exists() else None
        ),
        "stock_plugin": str(mariadb.stock_plugin) if mariadb else None,
        "server_prefix": str(mariadb.prefix) if mariadb else None,
        "server_headers": str(mariadb.headers) if mariadb else None,
        "configuration": str(server.CONFIGURATION),
        "error_log": str(server.ERROR_LOG),
        "versions": {
            "server": mariadb.version if mariadb else None,
            "rocksdb": rocksdb.pin().rocksdb_version,
        },
    }


def show(*, as_json: bool) -> int:
    """Prints the state; the exit status tells whether the server runs."""
    state = collect()
    if as_json:
        print(json.dumps(state, indent=2))
        return 0
    if not state["running"]:
        say("The server is not running: start it with ./cairn up.")
        if state["data_directory"]:
            size = files.size_of(server.DATA)
            say(f"  data      {shown(server.DATA)}, {_bytes(size)}")
        return 3
    found = server.require()
    say(f"The server runs: pid {found.pid}, port {found.port}, socket {found.socket}")
    say(f"  MariaDB   {state['versions']['server']}")
    current = "" if state["plugin_is_current"] else "  (rebuilt since: ./cairn up restarts with it)"
    say(f"  plug-in   {shown(Path(state['plugin']))}{current}")
    for line in _engine_lines(found):
        say(line)
    size, own = files.size_of(server.DATA), files.size_of(server.DATA / ENGINE_DIRECTORY)
    say(f"  data      {shown(server.DATA)}, {_bytes(size)}, of which RocksDB {_bytes(own)}")
    for line in _shape_lines(found):
        say(line)
    return 0


def _engine_lines(found: server.Running) -> list[str]:
    rows = _query(
        found,
        "SELECT plugin_name, plugin_auth_version, plugin_maturity, support FROM "
        "information_schema.plugins JOIN information_schema.engines ON engine = plugin_name "
        "WHERE plugin_name = 'ROCKSDB'",
    )
    if not rows:
        return ["  engine    ROCKSDB is not there: var/log/error.log says why"]
    name, version, maturity, support = rows[0]
    default = ", the default engine" if support == "DEFAULT" else ""
    return [f"  engine    {name} {version} ({maturity}){default}"]


def _shape_lines(found: server.Running) -> list[str]:
    """Files and bytes for each level of the LSM tree, over all column families."""
    properties = _query(
        found,
        "SELECT cf_name, stat_type, value FROM information_schema.rocksdb_cfstats "
        "WHERE stat_type IN ('CUR_SIZE_ALL_MEM_TABLES', 'NUM_ENTRIES_ACTIVE_MEM_TABLE')",
    )
    memory = sum(int(v) for _, kind, v in properties if kind == "CUR_SIZE_ALL_MEM_TABLES")
    status = _query(found, "SHOW ENGINE ROCKSDB STATUS")
    levels = parse_levels("\n".join(str(row[2]) for row in status))
    lines = []
    if properties:
        lines.append(f"  memtables {_bytes(memory)}")
    if levels:
        shape = ", ".join(
            f"L{level} {count} {'file' if count == 1 else 'files'} {size}"
            for level, (count, size) in sorted(levels.items())
        )
        lines.append(f"  levels    {shape}")
    else:
        tables = list((server.DATA / ENGINE_DIRECTORY).glob("*.sst"))
        size = sum(path.stat().st_size for path in tables if path.exists())
        lines.append(f"  SST files {len(tables)}, {_bytes(size)}")
    return lines


def parse_levels(status: str) -> dict[int, tuple[int, str]]:
    """Files and size of each level from RocksDB's compaction statistics.

    Its lines read `  L0      2/0    1.21 KB   0.5 …`, once for each column family.
    """
    return {level: (n, _bytes(size)) for level, (n, size) in level_totals(status).items() if n}


def level_totals(status: str) -> dict[int, tuple[int, float]]:
    """As `parse_levels`, in bytes, and with levels that have no file."""
    units = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
    totals: dict[int, tuple[int, float]] = {}
    for line in status.splitlines():
        words = line.split()
        if len(words) < 5 or words[0][:1] != "L" or not words[0][1:].isdigit():
            continue
        count, slash, _ = words[1].partition("/")
        if not slash or not count.isdigit() or words[3] not in units:
            continue
        level = int(words[0][1:])
        files_before, bytes_before = totals.get(level, (0, 0.0))
        totals[level] = (
            files_before + int(count),
            bytes_before + float(words[2]) * units[words[3]],
        )
    return totals


def _query(found: server.Running, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement; none when the server does not know what it asks for."""
    import pymysql

    try:
        with server.connect(found) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())
    except pymysql.MySQLError:
        return []


def _bytes(count: float) -> str:
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"

"""./cairn up: from whatever is there to a running server with the sample database."""

from __future__ import annotations

import textwrap

from cairn import files, packages, plugin, prefix, rocksdb, server
from cairn.paths import VAR, shown
from cairn.report import Reporter, say
from cairn.sample import load


def run(*, with_sample: bool = True) -> None:
    """Every phase does only what is missing, so an interrupted run is continued by the next."""
    VAR.mkdir(exist_ok=True)
    with files.exclusive(VAR / ".lock", "setting this checkout up"):
        found = _phases(Reporter(), with_sample)
    _tell(found, with_sample)


def _phases(reporter: Reporter, with_sample: bool) -> server.Running:
    with reporter.phase("Packages") as phase:
        packages.ensure(packages.FOR_UP, phase)
    with reporter.phase("MariaDB server") as phase:
        mariadb = prefix.ensure(phase)
    with reporter.phase("Server headers") as phase:
        prefix.ensure_headers(phase, mariadb)
    if plugin.is_replaced():
        with reporter.phase("Plug-in") as phase:
            phase.summary = f"CAIRN_PLUGIN: {shown(plugin.library())}"
    else:
        with reporter.phase("RocksDB") as phase:
            library = rocksdb.ensure(phase)
        with reporter.phase("Plug-in") as phase:
            plugin.build(phase, "release", mariadb, library, target="ha_rocksdb")
    with reporter.phase("Data directory") as phase:
        server.ensure_data_directory(phase, mariadb)
    with reporter.phase("Server") as phase:
        found = server.ensure_started(phase, mariadb)
    if with_sample:
        with reporter.phase("Sample database") as phase:
            load.ensure(phase, mariadb, found)
    return found


def _tell(found: server.Running, with_sample: bool) -> None:
    say("")
    say("The server runs; tables are made with ENGINE=ROCKSDB unless you name another engine.")
    say(f"  socket    {found.socket}")
    say(f"  TCP       127.0.0.1:{found.port}, user root without a password (loopback only)")
    say("  client    ./cairn sql")
    if not with_sample:
        return
    say("")
    say("Three queries worth trying in ./cairn sql:")
    for title, query in load.EXAMPLES:
        say("")
        say(f"  -- {title}")
        say(textwrap.indent(query, "  "))

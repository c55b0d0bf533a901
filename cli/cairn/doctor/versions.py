"""Findings about what is loaded: the engine, its plug-ins and the library that they come from."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.texts import several

VERSIONS = Subject("Versions")

FORCED = ("[mariadbd]", "plugin-load-add = ha_rocksdb.so", "rocksdb = FORCE_PLUS_PERMANENT")
MATURITIES = ("unknown", "experimental", "alpha", "beta", "gamma", "stable")
# The plug-ins of Cairn's library beside ROCKSDB itself.
OWN_PLUGINS = (
    "CAIRN",
    "CAIRN_FOREIGN_KEYS",
    "CAIRN_INDEX_BUILDS",
    "CAIRN_LSM",
    "CAIRN_MEMORY",
    "CAIRN_STALLS",
    "CAIRN_TABLES",
    "ROCKSDB_CFSTATS",
    "ROCKSDB_CF_OPTIONS",
    "ROCKSDB_COMPACTION_STATS",
    "ROCKSDB_DBSTATS",
    "ROCKSDB_DDL",
    "ROCKSDB_DEADLOCK",
    "ROCKSDB_GLOBAL_INFO",
    "ROCKSDB_INDEX_FILE_MAP",
    "ROCKSDB_LOCKS",
    "ROCKSDB_PERF_CONTEXT",
    "ROCKSDB_PERF_CONTEXT_GLOBAL",
    "ROCKSDB_SST_PROPS",
    "ROCKSDB_TRX",
)


@VERSIONS.check(
    "engine-missing",
    Severity.ERROR,
    "the plug-in ROCKSDB is not loaded or not active",
    "Its tables give error 1286. DROP TABLE removes their definition and leaves their rows in the "
    "engine, out of reach. After a crash the server may decide prepared transactions without the "
    "engine.",
)
def engine_missing(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.engine is None:
        state = next((p.status for p in facts.plugins if p.name == "ROCKSDB"), "not loaded")
        yield kind.found(
            f"The engine ROCKSDB is not available: the plug-in is {state.lower()}.",
            "Drop no table. The error log says why the engine did not start; remove the cause, "
            "make "
            "the engine obligatory in the option file and restart the server.",
            *FORCED,
        )


@VERSIONS.check(
    "not-forced",
    Severity.WARNING,
    "the plug-in ROCKSDB is loaded without FORCE_PLUS_PERMANENT",
    "Without FORCE a start at which the engine fails gives a server without it: its tables give "
    "error 1286, and after a crash the server decides prepared transactions without the engine. "
    "Without PLUS_PERMANENT, UNINSTALL SONAME unloads it.",
    Source.ENGINE,
)
def not_forced(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.engine and facts.engine.load.upper() != "FORCE_PLUS_PERMANENT":
        yield kind.found(
            f"The plug-in ROCKSDB is loaded with the option {facts.engine.load}.",
            "Put these lines into the option file; they take effect at the next start.",
            *FORCED,
        )


@VERSIONS.check(
    "maturity-too-low",
    Severity.WARNING,
    "a plug-in of the library is less mature than plugin_maturity demands",
    "The server does not load it at the next start, or the next time it is installed.",
    Source.ENGINE,
)
def maturity_too_low(kind: Kind, facts: Facts) -> Iterator[Finding]:
    wanted = facts.value("plugin_maturity").lower()
    if wanted not in MATURITIES:
        return
    low = [
        plugin
        for plugin in facts.plugins
        if plugin.maturity.lower() in MATURITIES
        and MATURITIES.index(plugin.maturity.lower()) < MATURITIES.index(wanted)
    ]
    if low:
        lowest = min(low, key=lambda plugin: MATURITIES.index(plugin.maturity.lower()))
        yield kind.found(
            f"plugin_maturity is {wanted}; {several([plugin.name for plugin in low])} "
            f"{'is' if len(low) == 1 else 'are'} {lowest.maturity.lower()}.",
            "Lower what the server demands, in the option file.",
            "[mariadbd]",
            f"plugin-maturity = {lowest.maturity.lower()}",
        )


@VERSIONS.check(
    "stock-plugin",
    Severity.NOTE,
    "the engine is the stock MyRocks plug-in",
    "There are no cairn_* variables, statuses and tables, so stalls, damage and memory are checked "
    "in part only.",
    Source.ENGINE,
)
def stock_plugin(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.engine and not facts.is_cairn:
        yield kind.found(
            f"The engine ROCKSDB is the stock plug-in {facts.engine.version} "
            f"(author {facts.engine.author}), not Cairn.",
            "If Cairn was meant to run: put its ha_rocksdb.so into the directory that this names, "
            "and restart the server.",
            "SELECT @@plugin_dir;",
        )


@VERSIONS.check(
    "plugins-mixed",
    Severity.ERROR,
    "plug-ins ROCKSDB* and CAIRN* come from Cairn and from the stock plug-in at once",
    "Two copies of the engine's code are loaded; tables of information_schema describe an engine "
    "that does not run.",
    Source.ENGINE,
)
def plugins_mixed(kind: Kind, facts: Facts) -> Iterator[Finding]:
    ours = [plugin for plugin in facts.plugins if plugin.author == "Cairn"]
    others = [plugin for plugin in facts.plugins if plugin.author != "Cairn"]
    if ours and others:
        yield kind.found(
            f"{several([p.name for p in ours], 3)} come from Cairn "
            f"({ours[0].library}), {several([p.name for p in others], 3)} from the stock plug-in "
            f"({others[0].library}).",
            "Load one library alone: remove the option or the row of mysql.plugin that loads the "
            "other, then restart the server.",
            "SELECT * FROM mysql.plugin;",
        )


@VERSIONS.check(
    "plugins-incomplete",
    Severity.WARNING,
    "the engine is Cairn, but plug-ins of its library are not active",
    "The cairn_* variables keep their defaults and options of that name are unknown; monitoring "
    "and this command are blind for what those plug-ins tell.",
    Source.ENGINE,
)
def plugins_incomplete(kind: Kind, facts: Facts) -> Iterator[Finding]:
    active = {plugin.name for plugin in facts.plugins if plugin.status == "ACTIVE"}
    lacking = [name for name in OWN_PLUGINS if name not in active]
    if facts.is_cairn and lacking:
        yield kind.found(
            f"Not active: {several(lacking, 7)}.",
            "Load the whole library, not plug-ins by name: in the option file, instead of "
            "plugin-load-add = rocksdb=ha_rocksdb.so and the like.",
            *FORCED,
        )


@VERSIONS.check(
    "library-replaced",
    Severity.WARNING,
    "the library that the server runs is not the one on disk: deleted, replaced, or written to "
    "since the start",
    "The server goes on with the old code; the next start, also one after a crash, takes what is "
    "there then. A library that was overwritten in place can crash the server at any time.",
    Source.ENGINE,
    Source.PROCESS,
    Source.LIBRARY,
)
def library_replaced(kind: Kind, facts: Facts) -> Iterator[Finding]:
    for library in facts.process.libraries if facts.process else ():
        if library.rewritten:
            found = f"{library.path} was written to since the server started."
        elif library.replaced:
            stock = " by the stock plug-in" if library.stock_on_disk and facts.is_cairn else ""
            found = f"{library.path} was replaced{stock} since the server started."
        elif library.deleted:
            found = f"{library.path}, which the server runs, is deleted."
        else:
            continue
        yield kind.found(
            found,
            "Make sure that the right library is there, then restart the server at a time of your "
            "choice."
            if library.replaced or library.rewritten
            else "Put the library back before the server restarts.",
            f"ls -l {shlex.quote(library.path)}",
        )

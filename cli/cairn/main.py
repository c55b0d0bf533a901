"""The commands of ./cairn; each imports what it needs when it runs, so that --help is quick."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cairn.bench.command import bench
from cairn.errors import CairnError
from cairn.report import say

PRESETS = ("release", "debug", "asan", "tsan")
LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
PARTS = ("unit", "sql", "crash", "conformance", "lint", "all")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Cairn: tables on RocksDB in MariaDB.

    Start with ./cairn up; it prepares everything and starts a server of its own.
    """


@cli.command()
@click.option("--no-sample", is_flag=True, help="Do not load the sample database.")
def up(no_sample: bool) -> None:
    """Prepare what is missing, start the server, load the sample database."""
    from cairn import up as command

    command.run(with_sample=not no_sample)


cli.add_command(bench)


@cli.command()
def down() -> None:
    """Stop the server."""
    from cairn import server
    from cairn.report import Reporter

    found = server.running()
    if found is None:
        say("The server is not running.")
        return
    with Reporter().phase("Server") as phase:
        server.stop(found, phase)
        phase.summary = f"stopped, pid {found.pid}"


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="For scripts: one JSON object.")
def status(as_json: bool) -> None:
    """Show the server, its engine and the size of its data (exit status 3: not running)."""
    from cairn import status as command

    sys.exit(command.show(as_json=as_json))


@cli.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sql(arguments: tuple[str, ...]) -> None:
    """Open the server's client, connected; ARGUMENTS go to it.

    For example: ./cairn sql -e 'SELECT COUNT(*) FROM word' (the database sample is preselected).
    """
    from cairn import prefix, server

    mariadb = prefix.require()
    server.require()
    client = mariadb.tool("mariadb")
    schema = ["--database=sample"] if (server.DATA / "sample").is_dir() else []
    command = [str(client), f"--defaults-file={server.CONFIGURATION}", *schema, *arguments]
    os.execve(client, command, dict(os.environ, **mariadb.environment()))


@cli.command()
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    default="release",
    show_default=True,
    help="Which build: asan is the address and undefined-behaviour sanitizers, tsan threads.",
)
def build(preset: str) -> None:
    """Build the plug-in and the unit tests."""
    from cairn import packages, plugin, prefix, rocksdb
    from cairn.report import Reporter

    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS), phase)
    with reporter.phase("MariaDB server") as phase:
        mariadb = prefix.ensure(phase)
    with reporter.phase("Server headers") as phase:
        prefix.ensure_headers(phase, mariadb)
    with reporter.phase("RocksDB") as phase:
        library = rocksdb.ensure(phase, plugin.sanitizer_of(preset))
    with reporter.phase("Build") as phase:
        plugin.build(phase, preset, mariadb, library)


@cli.command()
@click.argument("part", type=click.Choice(PARTS), default="all")
def test(part: str) -> None:
    """Run the tests: unit (two builds), sql (over a server), crash (short), conformance, lint.

    crash cuts DDL statements off and records histories of transactions; conformance runs the
    packaged tests of the stock plug-in that pass by the ledger.
    """
    from cairn import testing

    sys.exit(testing.run(part))


@cli.command()
@click.option("--seconds", type=click.IntRange(1), default=60, show_default=True)
@click.option(
    "--corpus",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where new inputs go, instead of var/fuzz/corpus.",
)
@click.option("--save", is_flag=True, help="Choose the committed corpus anew afterwards.")
def fuzz(seconds: int, corpus: Path | None, save: bool) -> None:
    """Let libFuzzer look for stored bytes that are decoded wrongly (needs clang)."""
    from cairn import fuzz as command

    sys.exit(command.run(seconds, corpus, save=save))


@cli.command()
@click.argument("statements", nargs=-1)
@click.option(
    "--engine",
    "engines",
    type=click.Choice(["cairn", "innodb", "stock"]),
    multiple=True,
    help="May be repeated; all three without it.",
)
def instructions(statements: tuple[str, ...], engines: tuple[str, ...]) -> None:
    """Count the instructions that kinds of statements take (under valgrind; some minutes)."""
    from cairn.instructions import command

    sys.exit(command.run(statements, engines))


@cli.command()
def train() -> None:
    """Note how often each branch of RocksDB is taken, for the compiler (half an hour).

    Replaces cmake/rocksdb/profile.tar.xz; the next build compiles RocksDB with it.
    """
    from cairn import training

    sys.exit(training.run())


@cli.command()
@click.option("--check", is_flag=True, help="Change nothing; exit status 1 when a page is stale.")
def docs(check: bool) -> None:
    """Make docs/variables.md and docs/statuses.md from the tables in the source."""
    from cairn import docs as command

    sys.exit(command.run(check=check))


@cli.command("format")
def format_code() -> None:
    """Lay out the code with clang-format and ruff."""
    from cairn import testing
    from cairn.report import Reporter

    testing.lay_out(Reporter())


@cli.command()
@click.argument("tests", nargs=-1, metavar="[SUITE[.TEST]]...")
@click.option(
    "--plugin",
    "plugin_name",
    type=click.Choice(["cairn", "stock"]),
    default="cairn",
    show_default=True,
    help="The plug-in to test: ours, or the distribution's as the yardstick.",
)
@click.option("--repeat", type=click.IntRange(1), default=1, help="Run each test this many times.")
@click.option(
    "--combination",
    default="write_committed",
    show_default=True,
    help="Run the suites' variant of this name, where they have variants.",
)
@click.option("--all-combinations", is_flag=True, help="Run every variant.")
@click.option("--parallel", type=click.IntRange(1), default=2, show_default=True)
@click.option("--update-ledger", is_flag=True, help="Write what came out into the ledger.")
@click.option(
    "--engine-suites", is_flag=True, help="The server's suites for any engine, against InnoDB."
)
def conformance(tests: tuple[str, ...], engine_suites: bool, **options: Any) -> None:
    """Run packaged test suites of the server and of the stock plug-in.

    Without arguments: the suites of the stock plug-in. The outcome is compared with
    tests/conformance/ledger.tsv; a test that does worse than it says makes the exit status 1.

    With --engine-suites each test runs with InnoDB and with ROCKSDB, which must give as much as
    InnoDB unless tests/conformance/engine_suites.tsv says why not.
    """
    if engine_suites:
        from cairn import engine_suites as suites

        sys.exit(suites.run(tests, options["parallel"]))
    from cairn import conformance as command

    sys.exit(command.run(tests, command.Options(**options)))


@cli.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sysbench(arguments: tuple[str, ...]) -> None:
    """Run the distribution's sysbench against the server; ARGUMENTS go to it.

    For example: ./cairn sysbench oltp_read_write --tables=4 --table-size=100000 prepare. The
    connection, the database sbtest and ENGINE=ROCKSDB are preset; later arguments override them.
    """
    from cairn import sysbench as command

    command.run(arguments)


def _server_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that look at any server."""
    file = click.Path(path_type=Path)
    for option in (
        click.option("--defaults-file", type=file, help="Options with the user and the password."),
        click.option("--user", default="root", show_default=True),
        click.option("--socket", type=file, help="Another server's; without: our own."),
    ):
        function = option(function)
    return function


@cli.command()
@_server_options
@click.option("--interval", type=click.FloatRange(0.1, 3600), default=2, show_default=True)
@click.option("--once", is_flag=True, help="Show one interval and end, for scripts.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Save as a picture.")
def top(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    interval: float,
    once: bool,
    svg: Path | None,
) -> None:
    """Watch a server live: throughput, stalls, levels, cache, compactions, memory."""
    from cairn.observe import reading
    from cairn.observe import top as command

    place = reading.Place.choose(socket, user, defaults_file)
    sys.exit(command.run(place, interval, once=once, picture=svg))


@cli.command()
@_server_options
@click.option("--seconds", type=click.FloatRange(1, 86400), default=60, show_default=True)
@click.option("--interval", type=click.FloatRange(0.1, 3600), help="Without: 120 readings.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), default="report.html")
def report(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    seconds: float,
    interval: float | None,
    file: Path,
) -> None:
    """Watch a server for some time and write FILE, an HTML page with plots (report.html)."""
    from cairn.observe import page, reading

    place = reading.Place.choose(socket, user, defaults_file)
    sys.exit(page.run(place, seconds, interval, file))


@cli.group()
def sample() -> None:
    """The sample database: load it, or compare it with InnoDB."""


@sample.command("load")
def sample_load() -> None:
    """Load the tables that are not there or not complete."""
    from cairn import prefix, server
    from cairn.report import Reporter
    from cairn.sample import load

    with Reporter().phase("Sample database") as phase:
        load.ensure(phase, prefix.require(), server.require())


@sample.command("verify")
@click.option("--kill", is_flag=True, help="Kill the server, restart it and compare again.")
def sample_verify(kill: bool) -> None:
    """Load the same data into InnoDB and compare CHECKSUM TABLE of every table."""
    from cairn import prefix, server
    from cairn.report import Reporter
    from cairn.sample import verify

    different = verify.run(Reporter(), prefix.require(), server.require(), kill=kill)
    sys.exit(1 if different else 0)


@cli.group(invoke_without_command=True)
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", type=int, help="Repeat the choices of an earlier run.")
@click.option("--binlog", is_flag=True, help="With the binary log on.")
@click.pass_context
def crash(context: click.Context, rounds: int, seed: int | None, binlog: bool) -> None:
    """Kill a server under load again and again, and check what it had acknowledged.

    The server is one of its own, with data below var/crash/; that of ./cairn up is not touched. The
    first failure ends the run and keeps the data.
    """
    if context.invoked_subcommand is not None:
        return
    from tests.crash import command

    sys.exit(command.run(rounds, seed, binlog=binlog))


@crash.command("ddl")
@click.option("--statement", "names", multiple=True, metavar="NAME", help="Only this one.")
@click.option("--seed", type=int, help="Repeat the choices of an earlier run.")
@click.option("--stride", type=click.IntRange(1), default=1, show_default=True)
@click.option("--short", is_flag=True, help="The statements that ./cairn test runs.")
@click.option(
    "--rounds", type=click.IntRange(0), default=0, help="Random statements and kills instead."
)
@click.option("--binlog", is_flag=True, help="With the binary log on.")
@click.option("--list", "lists", is_flag=True, help="List the statements.")
def crash_ddl(names: tuple[str, ...], lists: bool, **options: Any) -> None:
    """Kill the server before each change of a file that a DDL statement makes.

    After each restart every table must be as before the statement or as after it, and nothing may
    be left over, in the engine's dictionary or on disk.
    """
    from tests.crash import ddl

    if lists:
        ddl.list_cases()
        return
    sys.exit(ddl.run(ddl.Choice(names, **options)))


@crash.command("binlog")
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", type=int, help="Repeat the choices of an earlier run.")
@click.option("--bypass-memtable", is_flag=True, help="With cairn_bypass_memtable_bytes=1.")
def crash_binlog(rounds: int, seed: int | None, *, bypass_memtable: bool) -> None:
    """Kill a primary with InnoDB and ROCKSDB transactions and its replica, again and again.

    After each restart the engines, the replay of the binary log and the replica must agree with
    each other and with what was acknowledged.
    """
    from tests.crash import binlog

    sys.exit(binlog.run(rounds, seed, bypass_memtable=bypass_memtable))


@cli.command()
@click.argument("parts", nargs=-1, metavar="[PART]...")
@click.option("--seconds", type=click.FloatRange(1), help="For each part; without: 60.")
@click.option("--hours", type=click.FloatRange(0.01), help="For all parts together.")
@click.option("--jobs", type=click.IntRange(1, 8), default=1, help="Parts that run at a time.")
@click.option("--seed", type=int, help="Repeat the choices of an earlier run.")
@click.option("--round", "only_round", type=click.IntRange(1), help="Only this round of a part.")
@click.option("--short", is_flag=True, help="The short form with a fixed seed of ./cairn test.")
@click.option(
    "--durability",
    type=click.IntRange(1, 2),
    default=1,
    help="2: the part power as a control that must lose something.",
)
@click.option(
    "--plugin",
    "plugin_name",
    type=click.Choice(["ours", "stock"]),
    default="ours",
    help="stock: the part partitions with the stock plug-in.",
)
@click.option("--list", "lists", is_flag=True, help="List the parts.")
def hunt(
    parts: tuple[str, ...],
    seconds: float | None,
    hours: float | None,
    jobs: int,
    seed: int | None,
    only_round: int | None,
    *,
    short: bool,
    durability: int,
    plugin_name: str,
    lists: bool,
) -> None:
    """Look for wrong answers of the engine with random tables and statements.

    What is found is shrunk to a few statements, shown, and written below var/hunt/findings/; the
    exit status is then 1. tests/hunt/README.md tells what each part looks for.
    """
    from tests.hunt import command

    if lists:
        command.list_parts()
        return
    sys.exit(
        command.run(
            parts,
            seconds,
            hours,
            seed,
            short=short,
            only_round=only_round,
            durability=durability,
            plugin_name=plugin_name,
            jobs=jobs,
        )
    )


@cli.command()
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(LEVELS, case_sensitive=False),
    help="An isolation level, also several; without: all that the engine has.",
)
@click.option("--seconds", type=click.FloatRange(1), default=60, show_default=True, help="A level.")
@click.option("--clients", type=click.IntRange(2, 64), help="Without: 2 to 16, by the round.")
@click.option("--kills", type=click.IntRange(0), default=0, help="So many rounds end by kill -9.")
@click.option("--seed", type=int, help="Repeat the choices of an earlier run.")
@click.option(
    "--engine",
    type=click.Choice(["ROCKSDB", "InnoDB"], case_sensitive=False),
    default="ROCKSDB",
    show_default=True,
)
@click.option("--savepoints/--no-savepoints", default=True, help="Roll back to savepoints.")
@click.option(
    "--moving-scans/--no-moving-scans",
    default=True,
    help="Locking scans by an index in which others move the rows.",
)
@click.option("--binlog", is_flag=True, help="With the binary log on.")
@click.option("--range-locks", is_flag=True, help="With cairn_range_locks=ON.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A variable of the sessions."
)
@click.option(
    "--check-as",
    type=click.Choice(LEVELS, case_sensitive=False),
    help="Look for what this stricter level forbids.",
)
@click.option(
    "--check",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Run nothing; check a history that was saved.",
)
def histories(
    levels: tuple[str, ...],
    file: Path | None,
    seed: int | None,
    check_as: str | None,
    **options: Any,
) -> None:
    """Record concurrent random transactions and look for anomalies of isolation.

    The server is one of its own, with data below var/histories/. A round that shows an anomaly is
    kept there and told in words.
    """
    from tests.histories import command

    if file is not None:
        sys.exit(command.check_file(file, check_as))
    seed = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    levels = levels or LEVELS
    if check_as is not None and any(LEVELS.index(check_as) < LEVELS.index(each) for each in levels):
        raise click.UsageError(f"--check-as {check_as} is less strict than the level that runs")
    sys.exit(command.run(command.Plan(levels, seed=seed, check_as=check_as, **options)))


@cli.group()
def acceptance() -> None:
    """Longer checks on servers of their own, with data below var/acceptance/."""


@acceptance.command("sysbench")
@click.option("--seconds", type=click.IntRange(1), default=30, show_default=True)
@click.option("--threads", default="1,4,16", show_default=True, help="A list of numbers.")
@click.option("--rows", type=click.IntRange(1), default=100_000, show_default=True)
@click.option("--only", metavar="SCRIPT", help="Run one script.")
def acceptance_sysbench(seconds: int, threads: str, rows: int, only: str | None) -> None:
    """Run every bundled script of sysbench; an error other than a conflict fails it."""
    from tests.acceptance import sysbench as command

    sys.exit(command.run(seconds, threads, rows, only))


@acceptance.command("bad-input")
@click.argument("cases", nargs=-1)
@click.option("--list", "list_cases", is_flag=True, help="List the cases.")
def acceptance_bad_input(cases: tuple[str, ...], list_cases: bool) -> None:
    """Full and read-only disks, locked, damaged and foreign files, wrong options.

    CASES are names from --list; all without. Those that mount a volume need root.
    """
    from tests.acceptance import bad_input as command

    sys.exit(command.run(cases, list_cases=list_cases))


@acceptance.command("backup")
@click.option("--rounds", type=click.IntRange(1), default=50, show_default=True)
@click.option("--seed", help="Repeat the rounds of an earlier run.")
@click.option(
    "--memtable-mb",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="So much waits in memory when the backup begins.",
)
def acceptance_backup(rounds: int, seed: str | None, memtable_mb: int) -> None:
    """Back a server up under load with mariadb-backup; restored to any place it has it all."""
    from tests.acceptance import backup as command

    sys.exit(command.run(rounds, seed, memtable_mb))


@acceptance.command("roundtrip")
@click.option("--rounds", type=click.IntRange(1), default=50, show_default=True)
@click.option("--seed", help="Repeat the rounds of an earlier run.")
def acceptance_roundtrip(rounds: int, seed: str | None) -> None:
    """Take directories from the stock plug-in to Cairn and back, comparing every table."""
    from tests.acceptance.roundtrip import command

    sys.exit(command.run(rounds, seed))


@acceptance.command("stock-data")
@click.option(
    "--archive",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Another archive, with its checksums.tsv beside it.",
)
def acceptance_stock_data(archive: Path | None) -> None:
    """Take a directory that the stock plug-in wrote through changes, both formats, and back."""
    from tests.acceptance.stock_data import command

    sys.exit(command.run(archive))


@acceptance.command("covering")
@click.option("--rows", type=click.IntRange(1), default=1_000_000, show_default=True)
def acceptance_covering(rows: int) -> None:
    """Let the index on a string of a large table answer alone; compare with InnoDB."""
    from tests.acceptance import covering as command

    sys.exit(command.run(rows))


@acceptance.command("faults")
@click.option("--short", is_flag=True, help="Fewer calls of each statement, fewer outcomes.")
def acceptance_faults(short: bool) -> None:
    """Let each call that a statement makes of the engine fail: errors must be told and undone."""
    from tests.faults import command

    sys.exit(command.run(short))


@acceptance.command("damage")
@click.option("--rounds", type=click.IntRange(1), default=50, show_default=True)
@click.option("--seed", help="Repeat the rounds of an earlier run.")
def acceptance_damage(rounds: int, seed: str | None) -> None:
    """Alter bytes of stored entries: errors must be clear, other tables untouched."""
    from tests.acceptance import altered as command

    sys.exit(command.run(rounds, seed))


@acceptance.command("statement-log")
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True)
@click.option(
    "--seconds", type=click.FloatRange(1), default=5.0, show_default=True, help="A round."
)
@click.option("--seed", help="Repeat the choices of an earlier run, or of one round.")
@click.option(
    "--without-range-locks",
    is_flag=True,
    help="Log statements all the same (rocksdb_unsafe_for_binlog): the replay then differs.",
)
def acceptance_statement_log(
    rounds: int, seconds: float, seed: str | None, without_range_locks: bool
) -> None:
    """Log statements of concurrent clients, with range locks: a replay must give the same rows."""
    from tests.acceptance import statement_log as command

    sys.exit(command.run(rounds, seed, seconds, without_range_locks=without_range_locks))


@acceptance.command("torn-logs")
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", help="Repeat the rounds of an earlier run.")
def acceptance_torn_logs(rounds: int, seed: str | None) -> None:
    """Cut off, fill with zeros and alter RocksDB's logs: whole transactions or a clear refusal."""
    from tests.acceptance import torn_logs as command

    sys.exit(command.run(rounds, seed))


@acceptance.command("large")
@click.option("--rows", type=click.IntRange(10_000), default=2_000_000, show_default=True)
@click.option("--binary-log", is_flag=True, help="With two-phase commit.")
@click.option("--bypass-memtable", is_flag=True, help="With cairn_bypass_memtable_bytes too.")
def acceptance_large(rows: int, *, binary_log: bool, bypass_memtable: bool) -> None:
    """Change millions of rows at a time: bounded memory, or an error that names the limit."""
    from tests.acceptance import large as command

    sys.exit(command.run(rows, binary_log=binary_log, bypass_memtable=bypass_memtable))


@acceptance.command("monitoring")
def acceptance_monitoring() -> None:
    """Evaluate the dashboard's and the alerts' expressions against a server under load."""
    from tests.acceptance import monitoring as command

    sys.exit(command.run())


@acceptance.command("memory")
@click.option("--rows", type=click.IntRange(1000), default=250_000, show_default=True)
@click.option("--seconds", type=click.IntRange(10), default=120, show_default=True)
def acceptance_memory(rows: int, seconds: int) -> None:
    """Load a server: CAIRN_MEMORY must name what it needs for that."""
    from tests.acceptance import memory as command

    sys.exit(command.run(rows, seconds))


@acceptance.command("settings")
@click.option("--starts", type=click.IntRange(0), default=30, show_default=True)
@click.option("--seed", help="Repeat the values of an earlier run.")
def acceptance_settings(starts: int, seed: str | None) -> None:
    """Set every variable live under load and at start, to any legal value; lose nothing."""
    from tests.acceptance import settings as command

    sys.exit(command.run(seed, starts))


@acceptance.command("disk-full")
def acceptance_disk_full() -> None:
    """Fill a small volume until writes fail, free it and write on: bad-input disk-full."""
    from tests.acceptance import bad_input as command

    sys.exit(command.run(("disk-full",), list_cases=False))


@cli.command()
@click.option("--cache", "with_cache", is_flag=True, help="The cache of server and RocksDB too.")
@click.option("--yes", "assume_yes", is_flag=True, help="Do not ask.")
def clean(with_cache: bool, assume_yes: bool) -> None:
    """Remove build/ and var/, the data directory included."""
    from cairn import clean as command

    command.run(with_cache=with_cache, assume_yes=assume_yes)


def main() -> None:
    """Runs a command; what goes wrong becomes a sentence and an exit status."""
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    # Being terminated then unwinds like an interrupt does, which stops what was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        result = cli.main(prog_name="./cairn", standalone_mode=False)
        sys.exit(result if isinstance(result, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "./cairn"
        _fail(f"{error.format_message().rstrip('.')}. See {command} --help.", 2)
    except click.Abort:
        _fail("Interrupted: run the same command again to continue.", 130)
    except KeyboardInterrupt:
        _fail("Interrupted: run the same command again to continue.", 130)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code)
    except CairnError as error:
        _fail(str(error), 1)
    except Exception as error:
        # PyMySQL reports an interrupt as a lost connection. It is not imported here only to name
        # its class of errors.
        if interrupted:
            _fail("Interrupted: run the same command again to continue.", 130)
        if not type(error).__module__.startswith("pymysql"):
            raise
        number, text = (*error.args, "", "")[:2]
        _fail(f"The server answered with error {number}: {text}. Its log: var/log/error.log", 1)


def _fail(text: str, status: int) -> None:
    print(f"cairn: {text}", file=sys.stderr, flush=True)
    sys.exit(status)

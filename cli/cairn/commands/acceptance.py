"""The commands of ./cairn acceptance: tests/ has what they do."""

from __future__ import annotations

import sys
from pathlib import Path

import click

_other_server_option = click.option(
    "--server",
    "version",
    metavar="VERSION",
    help="Of the other server's packages: 1:11.8.6-0+deb13u1 unless named.",
)
_packages_option = click.option(
    "--packages",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIRECTORY",
    help="Has the package, with a build for that server; it is made without it.",
)


@click.group()
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


@acceptance.command("install")
def acceptance_install() -> None:
    """Put Cairn into servers that run and take it out, with faults at each step."""
    from tests.acceptance import install as command

    sys.exit(command.run())


@acceptance.command("upgrade")
@click.option(
    "--from",
    "old_version",
    metavar="VERSION",
    help="The older server: 1:10.11.14-0+deb12u2 unless named.",
)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--seed", type=int, help="Repeat the rounds of an earlier run.")
def acceptance_upgrade(old_version: str | None, rounds: int, seed: int | None) -> None:
    """Upgrade a server by apt after kills under load, with a package for both; and take it back.

    The older server comes from the archive's pool. Needs root, for a clean Debian 12.
    """
    from tests.acceptance.package import upgrade as command

    sys.exit(command.run(old_version or command.FROM, rounds, seed))


@acceptance.command("release-upgrade")
@_other_server_option
@_packages_option
def acceptance_release_upgrade(version: str | None, packages: Path | None) -> None:
    """Upgrade a clean Debian 12 with Cairn in its server to Debian 13 (root)."""
    from tests.acceptance.package import release as command

    sys.exit(command.run(version or command.VERSION, packages))


@acceptance.command("debian13")
def acceptance_debian13() -> None:
    """Compile the engine in a clean Debian 13 and run its unit tests there (root)."""
    from tests.acceptance import debian13 as command

    sys.exit(command.run())


@acceptance.command("other-server")
@click.argument("tests", nargs=-1)
@_other_server_option
@_packages_option
@click.option(
    "--conformance",
    is_flag=True,
    help="The packaged tests of that server's stock plug-in; TESTS are then SUITE[.TEST].",
)
@click.option("--update-ledger", is_flag=True, help="Note what differs, to be explained.")
def acceptance_other_server(
    tests: tuple[str, ...],
    version: str | None,
    packages: Path | None,
    *,
    conformance: bool,
    update_ledger: bool,
) -> None:
    """Run our SQL suite with another server, in a clean Debian of its release (root).

    With --conformance the packaged tests of its stock plug-in run there against Cairn, in place of
    our suite; one that does worse than tests/conformance/ledger.tsv and other_server.tsv there say
    makes the exit status 1.
    """
    from tests.acceptance import other_server, other_server_conformance
    from tests.acceptance.other_server_system import VERSION, Request

    command = other_server_conformance if conformance else other_server
    sys.exit(command.run(Request(version or VERSION, packages, tests, update_ledger)))


@acceptance.command("adapters")
@click.option(
    "--packages",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIRECTORY",
    help="Has the packages of ./cairn package; they are made without it.",
)
def acceptance_adapters(packages: Path | None) -> None:
    """Build Cairn in a clean system for a server that the package has no build for (root)."""
    from tests.acceptance.adapters import command

    sys.exit(command.run(packages))


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


@acceptance.command("prepared")
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", help="Repeat the rounds of an earlier run.")
def acceptance_prepared(rounds: int, seed: str | None) -> None:
    """Crash, start without the engine, let cairn-store decide: engines and logs must agree."""
    from tests.acceptance import prepared as command

    sys.exit(command.run(rounds, seed))


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


@acceptance.command("alter-sizes")
@click.option("--rows", type=click.IntRange(10_000), default=10_000_000, show_default=True)
@click.option("--writer-rows", type=click.IntRange(10_000), default=2_000_000, show_default=True)
@click.option("--threads", type=click.IntRange(1), default=16, show_default=True)
def acceptance_alter_sizes(rows: int, writer_rows: int, threads: int) -> None:
    """Alter a large table instantly and in bounded memory, and another one beside clients."""
    from tests.acceptance import alter_sizes as command

    sys.exit(command.run(rows, writer_rows, threads))


@acceptance.command("monitoring")
def acceptance_monitoring() -> None:
    """Evaluate the dashboard's and the alerts' expressions against a server under load."""
    from tests.acceptance import monitoring as command

    sys.exit(command.run())


@acceptance.command("doctor")
@click.argument("cases", nargs=-1)
def acceptance_doctor(cases: tuple[str, ...]) -> None:
    """What ./cairn doctor says of healthy servers, of others, and of what is no server.

    CASES are names; all without.
    """
    from tests.acceptance import doctor as command

    sys.exit(command.run(cases))


@acceptance.command("schema-tools")
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=5.0,
    show_default=True,
    help="Clients write at least so long for each change.",
)
@click.option("--rows", type=click.IntRange(1000), default=20_000, show_default=True)
@click.option("--seed", type=int, help="Repeat the choices of an earlier run.")
@click.option("--tool", metavar="NAME", help="Use one tool.")
@click.option("--engine", type=click.Choice(["ROCKSDB", "InnoDB"], case_sensitive=False))
def acceptance_schema_tools(
    seconds: float, rows: int, seed: int | None, tool: str | None, engine: str | None
) -> None:
    """Let pt-online-schema-change, gh-ost and pt-archiver change a table while clients write."""
    from tests.acceptance.schema_tools import command

    sys.exit(command.run(seconds, seed, tool, engine, rows))


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


@acceptance.command("migrate")
@click.option("--rows", type=click.IntRange(1000), default=2_000_000, show_default=True)
@click.option("--seed", type=int, help="Repeat the choices of an earlier run.")
@click.option("--kills", type=click.IntRange(1), default=10, show_default=True, help="At random.")
@click.option("--without-binary-log", is_flag=True, help="Then nothing is copied online.")
@click.option("--replica", is_flag=True, help="Let a replica follow two migrations as well.")
def acceptance_migrate(
    rows: int, seed: int | None, kills: int, *, without_binary_log: bool, replica: bool
) -> None:
    """Migrate tables to ROCKSDB and back under load, with kills of command and server."""
    from tests.acceptance.migrate import command

    sys.exit(
        command.run(rows, seed, kills, binary_log=not without_binary_log, with_replica=replica)
    )


@acceptance.command("disk-full")
def acceptance_disk_full() -> None:
    """Fill a small volume until writes fail, free it and write on: bad-input disk-full."""
    from tests.acceptance import bad_input as command

    sys.exit(command.run(("disk-full",), list_cases=False))


def _framework(name: str, help_text: str, parts: str, *, from_git: bool = False) -> None:
    """Adds the command that runs the suite of a framework on both engines."""

    @acceptance.command(name, help=help_text)
    @click.option("--only", multiple=True, metavar="PART", help=f"Run a part: {parts}. Repeatable.")
    @click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIRECTORY",
        help="Where the servers have their data; in memory, such as /dev/shm, it is faster.",
    )
    @click.option("--latest", is_flag=True, help="With cairn_snapshot_conflicts=LATEST.")
    def command(
        only: tuple[str, ...], data: Path | None, *, latest: bool, source: Path | None = None
    ) -> None:
        from tests.acceptance.frameworks import command as frameworks

        sys.exit(frameworks.run(name, only, source=source, data=data, latest=latest))

    if from_git:
        click.option(
            "--source",
            type=click.Path(file_okay=False, exists=True, path_type=Path),
            metavar="DIRECTORY",
            help="A clone of its repository, to take the tests from.",
        )(command)


_framework(
    "django",
    "Run Django's own tests on ROCKSDB and InnoDB; compare.",
    "a label, such as schema or schema.tests.SchemaTests",
)
_framework(
    "alembic",
    "Run Alembic's own tests on ROCKSDB and InnoDB; compare.",
    "an argument of pytest, such as tests/test_mysql.py",
)
_framework(
    "knex",
    "Run knex's integration tests on ROCKSDB and InnoDB; compare.",
    "a pattern of the titles of tests",
    from_git=True,
)
_framework(
    "gorm",
    "Run gorm's own tests on ROCKSDB and InnoDB; compare.",
    "a pattern of go test -run",
    from_git=True,
)

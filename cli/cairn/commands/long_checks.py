"""The commands that look for what is wrong for as long as one wants: tests/ has what they do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


@click.group(invoke_without_command=True)
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
    each other and with what was acknowledged. Before half of the restarts the library is missing,
    and the server, which is told not to run without the engine, must not start.
    """
    from tests.crash import binlog

    sys.exit(binlog.run(rounds, seed, bypass_memtable=bypass_memtable))


@click.command()
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


@click.command()
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
    "--latest",
    is_flag=True,
    help="With cairn_snapshot_conflicts=LATEST; InnoDB without innodb_snapshot_isolation.",
)
@click.option("--definitions", is_flag=True, help="Another session changes tables by ALTER TABLE.")
@click.option(
    "--foreign-keys",
    is_flag=True,
    help="Parents and children instead, and no child without its parent.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A variable of the sessions."
)
@click.option(
    "--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of the server."
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
    **plan: Any,
) -> None:
    """Record concurrent random transactions and look for anomalies of isolation.

    The server is one of its own, with data below var/histories/. A round that shows an anomaly is
    kept there and told in words.
    """
    from tests import runs
    from tests.histories import command

    if plan["foreign_keys"] and (file is not None or check_as is not None):
        raise click.UsageError("--foreign-keys has no history that could be checked")
    if file is not None:
        sys.exit(command.check_file(file, check_as))
    levels = levels or LEVELS
    if check_as is not None and any(LEVELS.index(check_as) < LEVELS.index(each) for each in levels):
        raise click.UsageError(f"--check-as {check_as} is less strict than the level that runs")
    sys.exit(
        command.run(command.Plan(levels, seed=runs.chosen_seed(seed), check_as=check_as, **plan))
    )


COMMANDS: tuple[click.Command, ...] = (crash, hunt, histories)

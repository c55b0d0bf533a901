"""The options of cairn migrate."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cairn.place import Place
from cairn.place import options as place_options


def _tables(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--no-binlog", is_flag=True, help="Keep it out of the binary log."),
        click.option(
            "--verify",
            type=click.Choice(["checksum", "count", "none"]),
            help="What is compared before tables take their place.  [default: checksum]",
        ),
        click.option(
            "--to",
            "target",
            type=click.Choice(["rocksdb", "innodb"]),
            help="The engine.  [default: rocksdb]",
        ),
        click.option("--table", "tables", multiple=True, metavar="SCHEMA.NAME"),
        click.option("--schema", "schemas", multiple=True, metavar="NAME"),
    ):
        function = option(function)
    return function


def _chosen(socket: Path | None, user: str, defaults_file: Path | None) -> Place:
    place = Place.choose(socket, user, defaults_file)
    place.require_socket()
    return place


def _selection(schemas: tuple[str, ...], tables: tuple[str, ...]) -> Any:
    from cairn.migrate.schema import Selection, parse_table

    return Selection(schemas, tuple(parse_table(table) for table in tables))


@click.group()
def migrate() -> None:
    """Convert tables from InnoDB to ROCKSDB, or back, while clients use them."""


@migrate.command("plan")
@place_options()
@_tables
@click.option("--json", "as_json", is_flag=True, help="For scripts: one JSON object.")
def plan_command(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    schemas: tuple[str, ...],
    tables: tuple[str, ...],
    target: str | None,
    verify: str | None,
    *,
    no_binlog: bool,
    as_json: bool,
) -> None:
    """Say what would become of each table, and change nothing.

    Without --schema and --table: all tables but the server's own.
    """
    from cairn.migrate import plan, run

    options = run.Options(target or "rocksdb", verify or "checksum", no_binlog)
    found = run.show_plan(
        _chosen(socket, user, defaults_file),
        _selection(schemas, tables),
        options,
        (lambda _: None) if as_json else print,
    )
    if as_json:
        print(json.dumps(plan.as_json(found), indent=2))


@migrate.command("run")
@place_options()
@_tables
@click.option("--tables-at-a-time", type=click.IntRange(1, 16), help="Sets.  [default: 1]")
@click.option("--rows-per-second", type=click.IntRange(1), help="Limit of online copies together.")
@click.option("--resume", "resuming", is_flag=True, help="Go on with what was interrupted.")
def run_command(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    schemas: tuple[str, ...],
    tables: tuple[str, ...],
    target: str | None,
    verify: str | None,
    tables_at_a_time: int | None,
    rows_per_second: int | None,
    *,
    no_binlog: bool,
    resuming: bool,
) -> None:
    """Convert the tables. Interrupt it at any time; --resume goes on."""
    from cairn.migrate import run

    place = _chosen(socket, user, defaults_file)
    if resuming:
        if schemas or tables or target or no_binlog:
            raise click.UsageError(
                "--resume goes on with the tables and the engine that the migration began with; "
                "leave --schema, --table, --to and --no-binlog out"
            )
        changed = {
            "verify": verify,
            "tables_at_a_time": tables_at_a_time,
            "rows_per_second": rows_per_second,
        }
        sys.exit(run.resume(place, {key: value for key, value in changed.items() if value}))
    options = run.Options(
        target or "rocksdb", verify or "checksum", no_binlog, tables_at_a_time or 1, rows_per_second
    )
    sys.exit(run.begin(place, _selection(schemas, tables), options))


@migrate.command("status")
@place_options()
@click.option("--json", "as_json", is_flag=True, help="For scripts: one JSON object.")
def status_command(
    socket: Path | None, user: str, defaults_file: Path | None, *, as_json: bool
) -> None:
    """Show how far a migration is."""
    from cairn.migrate import control

    found = control.status(_chosen(socket, user, defaults_file))
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        control.show_status(found)


@migrate.command("pause")
@place_options()
def pause_command(socket: Path | None, user: str, defaults_file: Path | None) -> None:
    """Let a running migration rest after what it does now."""
    from cairn.migrate import control

    control.set_paused(_chosen(socket, user, defaults_file), True)


@migrate.command("resume")
@place_options()
def resume_command(socket: Path | None, user: str, defaults_file: Path | None) -> None:
    """Let a paused migration go on."""
    from cairn.migrate import control

    control.set_paused(_chosen(socket, user, defaults_file), False)


@migrate.command("abandon")
@place_options()
def abandon_command(socket: Path | None, user: str, defaults_file: Path | None) -> None:
    """Give a migration up: converted tables stay converted, the others as they were."""
    from cairn.migrate import control

    control.abandon(_chosen(socket, user, defaults_file))

"""The commands that run the server, ask it and show what it does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from cairn import place
from cairn.doctor.options_of_command import doctor
from cairn.report import say


@click.command()
@click.option("--no-sample", is_flag=True, help="Do not load the sample database.")
def up(no_sample: bool) -> None:
    """Prepare what is missing, start the server, load the sample database."""
    from cairn import up as command

    command.run(with_sample=not no_sample)


@click.command()
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


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For scripts: one JSON object.")
def status(as_json: bool) -> None:
    """Show the server, its engine and the size of its data (exit status 3: not running)."""
    from cairn import status as command

    sys.exit(command.show(as_json=as_json))


@click.command(
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


@click.command(
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


@click.command()
@place.options()
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
    from cairn.observe import top as command

    where = place.Place.choose(socket, user, defaults_file)
    sys.exit(command.run(where, interval, once=once, picture=svg))


@click.command()
@place.options()
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
    from cairn.observe import page

    where = place.Place.choose(socket, user, defaults_file)
    sys.exit(page.run(where, seconds, interval, file))


@click.group()
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


@click.command()
@click.option("--cache", "with_cache", is_flag=True, help="The cache of server and RocksDB too.")
@click.option("--yes", "assume_yes", is_flag=True, help="Do not ask.")
def clean(with_cache: bool, assume_yes: bool) -> None:
    """Remove build/ and var/, the data directory included."""
    from cairn import clean as command

    command.run(with_cache=with_cache, assume_yes=assume_yes)


def _installing(function: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that change a server's files."""
    for option in (
        click.option(
            "--restart", is_flag=True, help="Restart the server, and look whether all is well."
        ),
        click.option(
            "--restart-command",
            default="systemctl restart mariadb",
            show_default=True,
            help="How, for --restart.",
        ),
        click.option("--check", is_flag=True, help="Only say whether it can be done."),
    ):
        function = option(function)
    return place.options("Debian's")(function)


@click.command()
@_installing
@click.option(
    "--options-directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the server reads option files; without: what /etc/mysql/my.cnf includes last.",
)
def install(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    restart: bool,
    restart_command: str,
    check: bool,
    options_directory: Path | None,
) -> None:
    """Put Cairn into a server that runs (on Debian, a package does better: ./cairn package).

    Files that were there are kept; with --restart all is put back if anything fails.
    """
    from cairn.install import command

    wishes = command.Wishes(
        place.Place(socket or place.DEBIAN_SOCKET, user, defaults_file),
        options_directory,
        restart_command if restart else "",
        check,
    )
    sys.exit(command.install(wishes))


@click.command()
@_installing
@click.option("--leave-tables", is_flag=True, help="Tables with ENGINE=ROCKSDB are out of reach.")
def uninstall(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    restart: bool,
    restart_command: str,
    check: bool,
    leave_tables: bool,
) -> None:
    """Take what ./cairn install has put into a server out of it, and put back what was there."""
    from cairn.install import command

    wishes = command.Wishes(
        place.Place(socket or place.DEBIAN_SOCKET, user, defaults_file),
        restart=restart_command if restart else "",
        check=check,
        leave_tables=leave_tables,
    )
    sys.exit(command.uninstall(wishes))


COMMANDS: tuple[click.Command, ...] = (
    up,
    down,
    status,
    sql,
    sysbench,
    top,
    report,
    sample,
    install,
    uninstall,
    doctor,
    clean,
)

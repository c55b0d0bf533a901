"""The options of ./cairn doctor, in the package cairn-doctor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from cairn import place


class _DoctorCommand(click.Command):
    """Wrong options end with 3, not with 2, which for this command means damage."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            text = error.format_message().rstrip(".")
            print(f"cairn: {text}. See --help.", file=sys.stderr, flush=True)
            sys.exit(3)


@click.command(cls=_DoctorCommand)
@place.options()
@click.option("--json", "as_json", is_flag=True, help="For scripts: one JSON object.")
@click.option(
    "--backups",
    type=click.Path(path_type=Path),
    help="The directory of mariadb-backup's backups, if the server has no history of them.",
)
@click.option(
    "--backup-hours",
    type=click.FloatRange(0, min_open=True),
    default=48,
    show_default=True,
    help="How old the newest backup may be.",
)
def doctor(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    as_json: bool,
    backups: Path | None,
    backup_hours: float,
) -> None:
    """Look for what is wrong with a server, and say what to do about it.

    Exit status: 0 nothing, 1 warnings, 2 errors that need action now, 3 it could not look, or
    lacks rights to look everywhere and found no error.
    """
    from cairn.doctor import command

    sys.exit(command.run(socket, user, defaults_file, backups, backup_hours, as_json=as_json))

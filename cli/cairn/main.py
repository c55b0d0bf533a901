"""./cairn: all commands together, and what becomes of their errors."""

from __future__ import annotations

import signal
import sys

import click

from cairn.bench.command import bench
from cairn.commands import development, long_checks, server
from cairn.commands.acceptance import acceptance
from cairn.errors import CairnError
from cairn.migrate.command import migrate

# Click 8.1 shows the help of a group by itself.
NO_ARGUMENTS = getattr(click.exceptions, "NoArgsIsHelpError", ())


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Cairn: tables on RocksDB in MariaDB.

    Start with ./cairn up; it prepares everything and starts a server of its own.
    """


for command in (
    *server.COMMANDS,
    *development.COMMANDS,
    *long_checks.COMMANDS,
    acceptance,
    bench,
    migrate,
):
    cli.add_command(command)


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
    except NO_ARGUMENTS as error:
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

"""cairn-migrate, as the package has it: python3 -m cairn.migrate."""

from __future__ import annotations

import signal
import sys

import click

from cairn.errors import CairnError
from cairn.migrate.command import migrate

NAME = "cairn-migrate"


def main() -> None:
    """Runs the command; what goes wrong becomes a sentence and an exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        result = migrate.main(prog_name=NAME, standalone_mode=False)
        sys.exit(result if isinstance(result, int) else 0)
    except click.UsageError as error:
        _fail(f"{error.format_message().rstrip('.')}. See {NAME} --help.", 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("Interrupted: run --resume goes on.", 130)
    except CairnError as error:
        _fail(str(error), 1)
    except Exception as error:
        if not type(error).__module__.startswith("pymysql"):
            raise
        number, text = (*error.args, "", "")[:2]
        _fail(f"The server answered with error {number}: {text}.", 1)


def _fail(text: str, status: int) -> None:
    print(f"{NAME}: {text}", file=sys.stderr, flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()

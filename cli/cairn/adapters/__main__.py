"""cairn-adapters, as its package has it: python3 -m cairn.adapters."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from cairn.adapters import build, show
from cairn.adapters.facts import gather
from cairn.adapters.place import Place
from cairn.errors import CairnError
from cairn.report import say

_DESCRIPTION = """\
Cairn loads only into a server that it was compiled for. The package mariadb-plugin-cairn has builds
for some versions of MariaDB, and apt keeps the server back while there is none for a newer one.
cairn-adapters makes one here, from the server's source package, as a package for apt."""
_EXIT_STATUSES = """\
Exit status: 0 all went well, or there is nothing to build; 1 it failed, and nothing was made;
2 wrong use; 128 and the signal's number: interrupted, and nothing was made."""
_BUILD = """\
Compiles Cairn for a version of mariadb-server-core: the one that is installed, if Cairn has no
build for it, else the one that apt would install. Takes some minutes and 1 GiB below TMPDIR
(/var/tmp), needs no root, and changes nothing in the system: what it makes is a package for
apt-get install."""


class Interrupted(KeyboardInterrupt):
    """A signal that ends the program."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def main(arguments: list[str] | None = None, place: Place | None = None) -> int:
    """Runs the command; the exit status."""
    options = _parser().parse_args(arguments)
    place = place or Place()
    for number in build.ENDING_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # As nohup has it.
            signal.signal(number, _end)
    try:
        if options.command == "list":
            facts = gather(place)
            say(show.as_json(facts) if options.json else show.as_text(facts))
            return 0
        if options.source is not None and not options.source.is_dir():
            _parser().error(f"--source: {options.source} is no directory")
        request = build.Request(options.version, options.source, options.output.absolute())
        return build.run(place, request)
    except CairnError as error:
        print(f"cairn-adapters: {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        # What was not foreseen, such as a disk that has become full.
        print(f"cairn-adapters: {error}", file=sys.stderr, flush=True)
        return 1
    except Interrupted as error:
        print("cairn-adapters: interrupted; nothing was made.", file=sys.stderr, flush=True)
        return 128 + error.number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cairn-adapters",
        description=_DESCRIPTION,
        epilog=_EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="which builds there are, and for which servers")
    listing.add_argument("--json", action="store_true", help="as an object, for programs")
    making = commands.add_parser(
        "build",
        help="make a build for a server",
        description=_BUILD,
        epilog=_EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    making.add_argument(
        "version", nargs="?", metavar="VERSION", help="of the server, such as 10.11.19-0+deb12u1"
    )
    making.add_argument(
        "--source",
        type=Path,
        metavar="DIRECTORY",
        help="has the files mariadb_*.orig.tar.*, and of the version mariadb-server-core_*.deb, "
        "libmariadb-dev_*.deb, libmariadbd-dev_*.deb; nothing is downloaded",
    )
    making.add_argument(
        "--output", type=Path, default=Path(), metavar="DIRECTORY", help="where the package goes"
    )
    return parser


def _end(number: int, _frame: FrameType | None) -> None:
    raise Interrupted(number)


if __name__ == "__main__":
    sys.exit(main())

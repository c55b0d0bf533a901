"""Where a server is and who asks it: the options that name it, and connections over its socket."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cairn.errors import CairnError

DEBIAN_SOCKET = Path("/run/mysqld/mysqld.sock")
CONNECT_S = 10


@dataclass(frozen=True)
class Place:
    """How to reach a server; a file of options may name the user and the password."""

    socket: Path
    user: str = "root"
    defaults_file: Path | None = None

    @staticmethod
    def choose(socket: Path | None, user: str, defaults_file: Path | None) -> Place:
        """The place that the options name; without a socket, the checkout's server or Debian's."""
        return Place(socket or own_socket(), user, defaults_file)

    def require_socket(self) -> None:
        """Raises a CairnError when the file is not there or is no socket."""
        how = "SHOW VARIABLES LIKE 'socket' names that of a server; --socket takes it."
        if not self.socket.exists():
            raise CairnError(f"{self.socket}: there is no such socket. {how}")
        if not self.socket.is_socket():
            what = "a directory" if self.socket.is_dir() else "a file"
            raise CairnError(f"{self.socket} is {what}, not a socket. {how}")

    def connect(self, answer_s: float | None = None) -> Any:
        """A PyMySQL connection that gives up on a statement after `answer_s` seconds; None: never.

        Raises a CairnError when the file of options cannot be read, else what PyMySQL raises.
        """
        import pymysql  # Costs time to import, so only where it is used.

        options: dict[str, Any] = {"user": self.user}
        if self.defaults_file is not None:
            if not self.defaults_file.is_file() or not os.access(self.defaults_file, os.R_OK):
                raise CairnError(f"{self.defaults_file}: there is no such file to read.")
            # PyMySQL takes the user of the file only without one of its own.
            options = {"user": None, "read_default_file": str(self.defaults_file)}
        return pymysql.connect(
            unix_socket=str(self.socket),
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=CONNECT_S,
            read_timeout=answer_s,
            write_timeout=answer_s,
            **options,
        )


def own_socket() -> Path:
    """The socket of the checkout's server if it runs, else Debian's.

    Raises a CairnError in a checkout whose server does not run on a machine without another one.
    """
    try:
        from cairn import server
    except ImportError as error:  # The package has no server of its own.
        if error.name != "cairn":
            raise
        return DEBIAN_SOCKET
    if found := server.running():
        return found.socket
    return DEBIAN_SOCKET if DEBIAN_SOCKET.exists() else server.require().socket


def reason(error: Exception) -> str:
    """What an error of PyMySQL says, without its number."""
    return str(error.args[1] if len(error.args) > 1 else error)


OWN = "our own, or Debian's"


def options(without: str = OWN) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options --socket, --user and --defaults-file of a command.

    `without`: what the help says of a command that is given no socket.
    """
    file = click.Path(path_type=Path)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--defaults-file", type=file, help="Options with the user and the password."
            ),
            click.option("--user", default="root", show_default=True),
            click.option("--socket", type=file, help=f"The server's; without: {without}."),
        ):
            function = option(function)
        return function

    return add

"""A MariaDB server for one test: its own files and socket, no port, and free to be killed.

The server of ./cairn up has one fixed place and must never be harmed; these have any place, and
tests kill them, fill their disks and damage their files.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cairn import files, plugin, process
from cairn.errors import CairnError
from cairn.paths import LOG, VAR, shown
from cairn.prefix import Server
from cairn.server import Running, choose_socket, connect

START_S = 60
STOP_S = 60
# The engine's directory below the data directory, unless an option names another one.
ENGINE_DIRECTORY = "#rocksdb"


@contextmanager
def own_directory(directory: Path) -> Iterator[None]:
    """Empties a directory for servers and keeps other runs of the same test out of it meanwhile."""
    with files.exclusive(directory.with_name(f".{directory.name}.lock"), "using this directory"):
        remove(directory)
        yield


def remove(directory: Path) -> None:
    """Removes a server's directory, and that of its socket where that had to be elsewhere."""
    sockets = choose_socket(directory).parent
    if not sockets.is_relative_to(directory):
        files.remove(sockets)
    files.remove(directory)


def free_port() -> int:
    """A port of the loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ScratchServer:
    """One server below `directory`; its data stays there from one start to the next.

    The data directory is in `directory` as well, unless `data` is another place.
    """

    # How long it may take to shut down.
    stop_s: float = STOP_S
    # How long sessions wait for a row; a wait that only this ends is to end soon.
    lock_wait_s: int = 1

    def __init__(
        self,
        mariadb: Server,
        directory: Path,
        options: tuple[str, ...] = (),
        data: Path | None = None,
    ) -> None:
        self.mariadb = mariadb
        self.directory = directory
        self.options = options
        self.data = data or directory / "data"
        self.error_log = directory / "error.log"
        self.library: Path | None = None  # The plug-in to load; None: the one under test.
        self.loads_plugin = True  # Without it this is a server as it comes, with InnoDB.
        self.configuration: Path | None = None  # Read first; it then loads the plug-in itself.
        self.environment: dict[str, str] = {}
        self.wrapper: tuple[str, ...] = ()  # A program that runs the server, and its arguments.
        self.start_s = START_S
        self._child: subprocess.Popen[bytes] | None = None
        self._log_begin = 0
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "tmp").mkdir(exist_ok=True)
        self.socket = choose_socket(directory)
        if not self.data.is_dir():
            self.empty()

    def empty(self) -> None:
        """Makes the data directory anew, with nothing but the server's own tables."""
        partial = self.data.with_name("data.partial")
        files.remove(partial)
        shutil.copytree(_system_tables(self.mariadb), partial)
        files.install_directory(partial, self.data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    # ---- starting and stopping ------------------------------------------------------------------

    def launch(self, *extra: str) -> None:
        """Starts the process, with the options of the server and `extra` ones, and returns."""
        if self.is_alive():
            raise CairnError(f"The server in {shown(self.directory)} runs already.")
        loads_plugin = self.loads_plugin and not self.configuration
        if self.loads_plugin:
            library = self.library or plugin.library()
            files.replace_link(self.directory / "plugin" / plugin.LIBRARY, library)
        self._log_begin = self.error_log.stat().st_size if self.error_log.exists() else 0
        self.socket.unlink(missing_ok=True)
        share = self.mariadb.prefix / "usr" / "share" / "mysql"
        command = [
            *self.wrapper,
            str(self.mariadb.daemon),
            f"--defaults-file={self.configuration}" if self.configuration else "--no-defaults",
            *(["--user=root"] if os.geteuid() == 0 else []),
            f"--basedir={self.mariadb.prefix / 'usr'}",
            f"--datadir={self.data}",
            f"--tmpdir={self.directory / 'tmp'}",
            f"--lc-messages-dir={share}",
            f"--character-sets-dir={share / 'charsets'}",
            f"--socket={self.socket}",
            "--skip-networking",
            f"--pid-file={self.directory / 'mariadbd.pid'}",
            f"--log-error={self.error_log}",
            f"--plugin-dir={self.directory / 'plugin'}",
            "--plugin-maturity=experimental",
            *([f"--plugin-load-add={plugin.LIBRARY}"] if loads_plugin else []),
            "--innodb-buffer-pool-size=32M",
            "--innodb-log-file-size=8M",
            "--performance-schema=OFF",
            *([f"--loose-rocksdb-lock-wait-timeout={self.lock_wait_s}"] if loads_plugin else []),
            *self.options,
            *extra,
        ]
        with (self.directory / "output.log").open("ab") as out:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.directory,
                env=dict(os.environ, **self.mariadb.environment(), **self.environment),
                # An interrupt at the terminal is for the test, which then ends its server.
                start_new_session=True,
                preexec_fn=process.end_with_parent,
            )

    def start(self, *extra: str, needs_engine: bool = True) -> float:
        """Starts the server and waits until it answers; returns the seconds that this took."""
        begun = time.monotonic()
        self.launch(*extra)
        while not self.answers():
            if not self.is_alive():
                status = self._child.returncode if self._child else None
                raise CairnError(
                    f"The server ended while it started ({_ending(status)}):\n{self.excerpt()}"
                )
            if time.monotonic() - begun > self.start_s:
                raise CairnError(
                    f"The server does not answer after {self.start_s} s:\n{self.excerpt()}"
                )
            time.sleep(0.03)
        if needs_engine and not self.has_engine():
            raise CairnError(f"The server runs without the engine ROCKSDB:\n{self.excerpt()}")
        return time.monotonic() - begun

    def stop(self) -> None:
        """Asks the server to shut down, and fails when it crashes instead."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            status = self._child.wait(self.stop_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise CairnError(
                f"The server has not stopped after {self.stop_s:g} s:\n{self.excerpt()}"
            ) from None
        self._child = None
        if status != 0:
            raise CairnError(
                f"The server ended badly when it was stopped ({_ending(status)}):\n{self.excerpt()}"
            )

    def kill(self) -> None:
        """Ends the server as a crash of the process does."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    def is_alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def ending(self) -> str | None:
        """How the process has ended by itself, such as SIGSEGV; None when it has not."""
        if self._child is None or (status := self._child.poll()) is None:
            return None
        return _ending(status)

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    # ---- asking ---------------------------------------------------------------------------------

    def connect(self, **options: Any) -> Any:
        """A PyMySQL connection; it gives up on a server that no longer answers."""
        limits = {"connect_timeout": 10, "read_timeout": 60, "write_timeout": 60}
        return connect(Running(self.pid or 0, 0, self.socket, {}), **(limits | options))

    def query(self, statement: str, **options: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement over a connection of its own."""
        with self.connect(**options) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def execute(self, *statements: str, **options: Any) -> None:
        """Runs statements, one after the other over a connection of their own."""
        with self.connect(**options) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def answers(self) -> bool:
        import pymysql

        try:
            return bool(self.query("SELECT 1", connect_timeout=5, read_timeout=5))
        except pymysql.MySQLError:
            return False

    def has_engine(self) -> bool:
        return bool(
            self.query(
                "SELECT 1 FROM information_schema.engines "
                "WHERE engine = 'ROCKSDB' AND support <> 'NO'"
            )
        )

    # ---- its log --------------------------------------------------------------------------------

    def log(self) -> list[str]:
        """The lines of the error log since the last start."""
        if not self.error_log.exists():
            return []
        with self.error_log.open("rb") as log:
            log.seek(self._log_begin)
            return log.read().decode("utf-8", "replace").splitlines()

    def errors(self) -> list[str]:
        return [line for line in self.log() if "[ERROR]" in line]

    def excerpt(self) -> str:
        """What of the log explains a failure: the errors and a stack trace, else its end."""
        chosen = telling(self.log())
        where = f"    Log: {shown(self.error_log)}"
        return "\n".join([*(f"    {line}" for line in chosen), where])


def telling(lines: list[str]) -> list[str]:
    """Of an error log, the lines that explain a failure: errors and a stack trace, else its end."""
    errors = [line for line in lines if "[ERROR]" in line][-12:]
    return [*errors, *_stack(lines)] or lines[-12:]


def _stack(lines: list[str]) -> list[str]:
    """The assertion and the frames that a crashed server has written into its log."""
    assertions = [
        line for line in lines if re.search(r"assertion fail|failing assertion", line, re.I)
    ]
    frames = [line for line in lines if re.search(r"\[0x[0-9a-f]+\]$", line)]
    signals = [line for line in lines if "got signal" in line and "[ERROR]" not in line]
    return [*assertions, *signals, *frames[:30]]


def _ending(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"exit status {status}"


def _system_tables(mariadb: Server) -> Path:
    """A data directory with nothing but the server's own tables, made once for each version."""
    template = VAR / "scratch" / f"system-tables-{mariadb.root.name}"
    with files.in_turn(VAR / "scratch" / ".lock"):
        if template.is_dir():
            return template
        partial = files.fresh_directory(template.with_name(f"{template.name}.partial"))
        process.run(
            [
                mariadb.tool("mariadb-install-db"),
                "--no-defaults",
                f"--basedir={mariadb.prefix / 'usr'}",
                f"--datadir={partial}",
                *(["--user=root"] if os.geteuid() == 0 else []),
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
                "--innodb-log-file-size=8M",
            ],
            env=mariadb.environment(),
            log=LOG / "data-directory.log",
            what="Making a data directory",
        )
        files.install_directory(partial, template)
    return template

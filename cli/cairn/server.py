"""Cairn's own MariaDB server: its configuration, its data directory, starting and stopping it."""

from __future__ import annotations

import hashlib
import os
import pwd
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn import files, plugin, process
from cairn.errors import CairnError
from cairn.paths import LOG, VAR, shown
from cairn.prefix import Server
from cairn.report import Phase

DATA = VAR / "data"
RUN = VAR / "run"
PLUGINS = VAR / "plugin"
CONFIGURATION = VAR / "my.cnf"
INIT_FILE = VAR / "init.sql"
ERROR_LOG = LOG / "error.log"
STATE = RUN / "server.json"

DEFAULT_PORT = 3406
# The kernel's limit for the path of a socket is 107 bytes; the server makes names a little longer.
SOCKET_PATH_BYTES = 100
START_S = 120
STOP_S = 300


@dataclass(frozen=True)
class Running:
    """A server of ours that is alive."""

    pid: int
    port: int
    socket: Path
    plugin: dict[str, Any]


# ---- what is there -----------------------------------------------------------------------------


def running() -> Running | None:
    """Our server's process, or None; a process that merely has its old number is not ours."""
    state = files.read_json(STATE)
    pid = state.get("pid")
    if not isinstance(pid, int) or not is_ours(pid):
        # A start that was killed half-way has left its number nowhere.
        pid = next((other for other in _process_numbers() if state and is_ours(other)), None)
    if pid is None:
        return None
    return Running(pid, state["port"], Path(state["socket"]), state["plugin"])


def _process_numbers() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def require() -> Running:
    """The running server, for commands that talk to it."""
    found = running()
    if found is None:
        raise CairnError("The server is not running: start it with ./cairn up.")
    return found


def is_ours(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether a process is a MariaDB server started with our configuration file.

    Numbers of processes are reused, so a number in a file says nothing by itself.
    """
    try:
        arguments = (proc / str(pid) / "cmdline").read_bytes().split(b"\0")
        state = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return (
        state != "Z"
        and Path(os.fsdecode(arguments[0])).name == "mariadbd"
        and os.fsencode(f"--defaults-file={CONFIGURATION}") in arguments
    )


def _begun(pid: int, proc: Path = Path("/proc")) -> str | None:
    """When a process began, which with its number names it for ever; None once it has ended.

    A process that is being ended loses its command line first and its files last, so its end is
    when it, and every thread of it, is gone or a zombie.
    """
    try:
        fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        threads = len(list((proc / str(pid) / "task").iterdir()))
    except OSError:
        return None
    return None if fields[0] in "ZX" and threads == 1 else fields[19]


def fingerprint(library: Path) -> dict[str, Any]:
    """What tells one build of the plug-in from the next."""
    real = library.resolve()
    status = real.stat()
    return {"file": str(real), "bytes": status.st_size, "modified_ns": status.st_mtime_ns}


def connect(found: Running, **options: Any) -> Any:
    """A PyMySQL connection to the server as its root user."""
    import pymysql  # Costs time to import, so only where it is used.

    settings: dict[str, Any] = {
        "unix_socket": str(found.socket),
        "user": "root",
        "charset": "utf8mb4",
        "autocommit": True,
    }
    return pymysql.connect(**(settings | options))


# ---- preparing ---------------------------------------------------------------------------------


def ensure_data_directory(phase: Phase, server: Server) -> None:
    """Makes the data directory with the server's system tables."""
    if DATA.is_dir():
        phase.summary = f"{shown(DATA)}: present"
        return
    partial = files.fresh_directory(DATA.with_name("data.partial"))
    (VAR / "tmp").mkdir(exist_ok=True)
    process.run(
        [
            server.tool("mariadb-install-db"),
            "--no-defaults",
            f"--basedir={server.prefix / 'usr'}",
            f"--datadir={partial}",
            f"--tmpdir={VAR / 'tmp'}",
            f"--user={pwd.getpwuid(os.geteuid()).pw_name}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ],
        env=server.environment(),
        log=LOG / "data-directory.log",
        what="Making the data directory",
    )
    files.install_directory(partial, DATA)
    phase.summary = f"{shown(DATA)}: made"


def configure(server: Server, port: int, socket_path: Path) -> None:
    """Writes the server's configuration and the directory that it loads plug-ins from."""
    for directory in (RUN, VAR / "tmp", LOG):
        directory.mkdir(parents=True, exist_ok=True)
    files.replace_link(PLUGINS / plugin.LIBRARY, plugin.library())
    user = "user                   = root\n" if os.geteuid() == 0 else ""
    share = server.prefix / "usr" / "share" / "mysql"
    files.write_if_changed(
        CONFIGURATION,
        f"""# Written by ./cairn up; changes are lost. The server reads no other file than this and
# var/local.cnf, which is yours.
[mariadbd]
{user}basedir                = {server.prefix / "usr"}
datadir                = {DATA}
tmpdir                 = {VAR / "tmp"}
lc-messages-dir        = {share}
character-sets-dir     = {share / "charsets"}
socket                 = {socket_path}
port                   = {port}
bind-address           = 127.0.0.1
skip-name-resolve
pid-file               = {RUN / "mariadbd.pid"}
log-error              = {ERROR_LOG}
init-file              = {INIT_FILE}
plugin-dir             = {PLUGINS}
plugin-maturity        = experimental
plugin-load-add        = {plugin.LIBRARY}
character-set-server   = utf8mb4
collation-server       = utf8mb4_general_ci
innodb-buffer-pool-size = 256M
innodb-log-file-size   = 96M

[client]
socket                 = {socket_path}
user                   = root
default-character-set  = utf8mb4

!include {VAR / "local.cnf"}
""",
    )
    # As an option, default-storage-engine would keep the server from starting when the engine
    # cannot open its files; then the rest of the server is of more use than none.
    files.write_if_changed(
        INIT_FILE,
        "SET GLOBAL default_storage_engine = (SELECT IF(COUNT(*) = 1, 'ROCKSDB', 'InnoDB') "
        "FROM information_schema.engines WHERE engine = 'ROCKSDB' AND support <> 'NO');\n",
    )
    if not (VAR / "local.cnf").exists():
        files.write_atomic(VAR / "local.cnf", "# Options of your own, below [mariadbd].\n")


def choose_socket(run: Path = RUN) -> Path:
    """The socket's path: in var/run, or in a short directory of our own where that is too long."""
    path = run / "mariadbd.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
        return path
    name = f"cairn-{hashlib.sha256(os.fsencode(run)).hexdigest()[:10]}"
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if not base or len(os.fsencode(base)) > SOCKET_PATH_BYTES - 30 or not Path(base).is_dir():
        base, name = tempfile.gettempdir(), f"{name}-{os.geteuid()}"
    directory = Path(base, name)
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
        raise CairnError(f"{directory} belongs to someone else: remove it, then try again.")
    return directory / "mariadbd.sock"


def choose_port(preferred: int = DEFAULT_PORT) -> int:
    """The first free loopback port from `preferred` on."""
    for port in range(preferred, preferred + 200):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # The server listens with this option too: a port in TIME_WAIT counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise CairnError(
        f"All ports from {preferred} to {preferred + 199} are taken: free one of them."
    )


# ---- starting and stopping ---------------------------------------------------------------------


def start(phase: Phase, server: Server) -> Running:
    """Starts the server, detached from us, and waits until it answers."""
    socket_path = choose_socket()
    port = choose_port(files.read_json(STATE).get("port", DEFAULT_PORT))
    configure(server, port, socket_path)
    log_begin = ERROR_LOG.stat().st_size if ERROR_LOG.exists() else 0
    state: dict[str, Any] = {
        "pid": None,
        "port": port,
        "socket": str(socket_path),
        "plugin": fingerprint(plugin.library()),
        "server": server.version,
        "started": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    # Written before the server exists and before it answers, so that the next run finds it
    # whenever this one is interrupted.
    files.write_json(STATE, state)
    with (LOG / "server-output.log").open("ab") as out:
        child = subprocess.Popen(
            [str(server.daemon), f"--defaults-file={CONFIGURATION}"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=VAR,
            env=dict(os.environ, **server.environment()),
            start_new_session=True,
        )
    files.write_json(STATE, state | {"pid": child.pid})
    found = Running(child.pid, port, socket_path, state["plugin"])
    _wait_until_it_answers(phase, found, child, log_begin)
    return found


def _wait_until_it_answers(
    phase: Phase, found: Running, child: subprocess.Popen[bytes], log_begin: int
) -> None:
    begun = time.monotonic()
    while not answers(found):
        if child.poll() is not None:
            raise CairnError(
                f"The server ended while it started (exit status {child.returncode}):\n"
                f"{_errors_since(log_begin)}\n  Log: {shown(ERROR_LOG)}"
            )
        waited = time.monotonic() - begun
        if waited > START_S:
            raise CairnError(
                f"The server (pid {found.pid}) does not answer after {START_S} s; it still runs. "
                f"Look into {shown(ERROR_LOG)}, or stop it with ./cairn down."
            )
        phase.progress(f"waiting for the server ({waited:.0f} s)")
        time.sleep(0.1)


def answers(found: Running) -> bool:
    """Whether the server accepts connections and statements."""
    import pymysql

    try:
        with connect(found, connect_timeout=5) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except pymysql.MySQLError:
        return False
    return True


def _errors_since(position: int) -> str:
    """The error log's new lines, errors only where there are any."""
    if not ERROR_LOG.exists():
        return "    (the error log is empty)"
    with ERROR_LOG.open("rb") as log:
        log.seek(position)
        lines = log.read().decode("utf-8", "replace").splitlines()
    errors = [line for line in lines if "[ERROR]" in line] or lines
    return "\n".join(f"    {line}" for line in errors[-12:])


def stop(found: Running, phase: Phase | None = None) -> float:
    """Asks the server to shut down and waits for it; returns the seconds it took."""
    begun = time.monotonic()
    process_begun = _signal(found, signal.SIGTERM)
    while process_begun is not None and _begun(found.pid) == process_begun:
        waited = time.monotonic() - begun
        if waited > STOP_S:
            raise CairnError(
                f"The server (pid {found.pid}) has not stopped after {STOP_S} s; it is left alone. "
                f"Look into {shown(ERROR_LOG)}."
            )
        if phase:
            phase.progress(f"waiting for the server to stop ({waited:.0f} s)")
        time.sleep(0.05)
    return time.monotonic() - begun


def kill(found: Running) -> None:
    """Ends the server as a crash would, for tests of what survives one."""
    process_begun = _signal(found, signal.SIGKILL)
    while process_begun is not None and _begun(found.pid) == process_begun:
        time.sleep(0.02)


def _signal(found: Running, number: signal.Signals) -> str | None:
    """Sends a signal to our server and says when it began; does nothing to any other process."""
    process_begun = _begun(found.pid)
    if not is_ours(found.pid):
        return None
    os.kill(found.pid, number)
    return process_begun


def has_engine(found: Running) -> bool:
    """Whether the server offers tables on RocksDB."""
    with connect(found) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM information_schema.engines WHERE engine = 'ROCKSDB' AND support <> 'NO'"
        )
        return cursor.fetchone() is not None


def ensure_started(phase: Phase, server: Server) -> Running:
    """A running server with the plug-in as it is on disk; a stale one is restarted."""
    found = running()
    if found is not None and not answers(found):
        phase.progress("waiting for the server")
        _wait_for_existing(found)
    if found is not None and found.plugin == fingerprint(plugin.library()):
        phase.summary = f"runs, pid {found.pid}"
    elif found is not None:
        phase.note("the plug-in has changed: restarting the server with it")
        stop(found, phase)
        found = start(phase, server)
        phase.summary = f"restarted, pid {found.pid}"
    else:
        found = start(phase, server)
        phase.summary = f"started, pid {found.pid}"
    if not has_engine(found):
        raise CairnError(
            "The server runs, but without the engine ROCKSDB; the error log says why:\n"
            f"{_errors_since(0)}\n  Log: {shown(ERROR_LOG)}"
        )
    return found


def _wait_for_existing(found: Running) -> None:
    begun = time.monotonic()
    while not answers(found):
        if not is_ours(found.pid):
            raise CairnError(f"The server has ended: look into {shown(ERROR_LOG)}, then try again.")
        if time.monotonic() - begun > START_S:
            raise CairnError(
                f"The server (pid {found.pid}) does not answer. Stop it with ./cairn down."
            )
        time.sleep(0.1)

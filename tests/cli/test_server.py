"""Finding our server, and nobody else's."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from cairn import server


def process(tmp_path: Path, arguments: list[str], state: str = "S") -> Path:
    """A /proc with one process, number 42."""
    directory = tmp_path / "42"
    directory.mkdir()
    (directory / "cmdline").write_bytes(b"\0".join(map(os.fsencode, arguments)) + b"\0")
    (directory / "stat").write_text(f"42 (maria) db) {state} 1 42")
    return tmp_path


OURS = ["/prefix/usr/sbin/mariadbd", f"--defaults-file={server.CONFIGURATION}"]


def test_our_server_is_recognised(tmp_path):
    assert server.is_ours(42, process(tmp_path, OURS))


@pytest.mark.parametrize(
    "arguments",
    [
        ["/usr/sbin/mariadbd"],
        ["/usr/sbin/mariadbd", "--defaults-file=/etc/mysql/my.cnf"],
        ["vi", f"--defaults-file={server.CONFIGURATION}"],
    ],
)
def test_another_program_with_the_old_number_is_not_ours(tmp_path, arguments):
    assert not server.is_ours(42, process(tmp_path, arguments))


def test_a_dead_process_is_not_ours(tmp_path):
    assert not server.is_ours(43, tmp_path)
    assert not server.is_ours(42, process(tmp_path, OURS, state="Z"))


def test_a_stale_number_never_ends_a_foreign_process(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as bystander:
        stale = server.Running(bystander.pid, 1, tmp_path / "socket", {})
        server.stop(stale)
        server.kill(stale)
        assert bystander.poll() is None
        bystander.terminate()


def test_a_taken_port_is_passed_over():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert server.choose_port(port) != port


def test_a_long_path_gets_a_short_socket(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = server.choose_socket(Path("/", *["directory"] * 20))
    assert len(os.fsencode(path)) <= server.SOCKET_PATH_BYTES or len(str(tmp_path)) > 60
    assert path.parent.stat().st_mode & 0o077 == 0

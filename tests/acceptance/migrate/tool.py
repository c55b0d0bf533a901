"""The command under test as its own process, as users run it, and what kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from cairn import process
from cairn.errors import CairnError
from cairn.paths import ROOT

WAIT_S = 1800


class Tool:
    """Runs cairn migrate against one socket; its output is kept in a file."""

    def __init__(self, socket: Path, log: Path) -> None:
        self.socket, self.log = socket, log

    def command(self, *arguments: str) -> list[str]:
        name, *rest = arguments
        return [
            *(sys.executable, "-P", "-m", "cairn.migrate", name, "--socket", str(self.socket)),
            *rest,
        ]

    def launch(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as out:
            out.write(f"== {' '.join(arguments)}\n".encode())
            out.flush()
            return subprocess.Popen(
                self.command(*arguments),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=_environment(),
                preexec_fn=process.end_with_parent,
            )

    def run(self, *arguments: str, expect: int = 0) -> str:
        """Runs it to its end; what it prints."""
        done = subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=_environment(),
            timeout=WAIT_S,
        )
        text = done.stdout + done.stderr
        with self.log.open("a", encoding="utf-8") as out:
            out.write(f"== {' '.join(arguments)}: {done.returncode}\n{text}")
        if done.returncode != expect:
            raise CairnError(
                f"cairn migrate {' '.join(arguments)} ended with {done.returncode}, not {expect}:\n"
                f"{text}"
            )
        return text


def kill(running: subprocess.Popen[bytes]) -> None:
    running.send_signal(signal.SIGKILL)
    running.wait()


def ended(running: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it ends within that time."""
    limit = time.monotonic() + seconds
    while running.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    return running.poll() is not None


def _environment() -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=os.pathsep.join((str(ROOT / "cli"), str(ROOT))))

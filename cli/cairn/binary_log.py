"""The binary log of one server, applied to another."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.scratch_server import ScratchServer


def replay(
    mariadb: Server, files: Sequence[str], source: ScratchServer, target: ScratchServer, log: Path
) -> None:
    """Applies files of the source's binary log; `log` takes what mariadb-binlog complains about."""
    reader = [mariadb.tool("mariadb-binlog"), "--no-defaults", "--force-read", *files]
    with ExitStack() as stack:
        # A file that a crash left in use is complained about.
        complaints = stack.enter_context(log.open("ab"))
        events = stack.enter_context(
            subprocess.Popen(
                reader,
                cwd=source.data,
                env=mariadb.environment(),
                stdout=subprocess.PIPE,
                stderr=complaints,
            )
        )
        applied = subprocess.run(
            [
                mariadb.tool("mariadb"),
                "--no-defaults",
                f"--socket={target.socket}",
                "--user=root",
                "--binary-mode",
            ],
            env=mariadb.environment(),
            stdin=events.stdout,
            capture_output=True,
            check=False,
        )
    if applied.returncode != 0 or events.returncode != 0:
        message = applied.stderr.decode("utf-8", "replace")
        raise CairnError(f"The binary log cannot be replayed ({', '.join(files)}): {message}")

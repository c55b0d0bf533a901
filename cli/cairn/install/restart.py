"""Restarting a server, and whether it came back as it was."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from cairn.errors import CairnError
from cairn.install import facts
from cairn.install.facts import Facts
from cairn.place import Place
from cairn.report import Phase

SYSTEMD = "systemctl restart mariadb"
# Recovery of a large database takes as long as it takes; a service manager that gives up says so.
WAIT_S = 3600.0


def restart(command: str, place: Place, before: Facts, phase: Phase) -> Facts:
    """Runs the command and waits until another process of the server answers.

    Raises if the command fails, or if there is no server when it has ended and none comes within
    ten seconds.
    """
    phase.progress(command)
    ran = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, errors="replace", check=False
    )
    if ran.returncode != 0:
        raise CairnError(
            f"{command} failed (exit status {ran.returncode}): "
            f"{(ran.stderr or ran.stdout).strip()[-500:] or 'it says nothing'}"
        )
    begun = time.monotonic()
    last = "the server does not answer"
    while time.monotonic() - begun < WAIT_S:
        try:
            found = facts.read(place)
            if found.pid != before.pid:
                return found
            last = "the server was not restarted"
        except CairnError as error:
            last = str(error)
        if time.monotonic() - begun > 10 and not _has_process(before):
            break
        time.sleep(0.2)
    raise CairnError(f"After {command}: {last}")


def _has_process(before: Facts) -> bool:
    """Whether a server starts, or runs: its process has the data directory for its own."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == before.data_directory.resolve():
                return True
        except OSError:
            continue
    return False


def require_as_before(before: Facts, after: Facts, author: str) -> None:
    """Raises if the plug-in is not that of `author`, or tables are gone."""
    if after.author != author:
        found, wanted = after.author or "nobody", author or "nobody"
        raise CairnError(f"The server runs with the plug-in of {found}, not of {wanted}.")
    if author:
        require_tables(before, after)


def require_tables(before: Facts, after: Facts) -> None:
    """Raises if there is no engine for the tables, or some of them are gone."""
    if not after.author:
        raise CairnError("The server runs without the engine ROCKSDB.")
    if lost := sorted(set(before.tables) - set(after.tables)):
        raise CairnError(f"Tables are not there: {', '.join(lost[:10])}.")


def require_sums(before: dict[str, int | None], after: dict[str, int | None]) -> None:
    """Raises if tables have other contents than before, or are not there any more."""
    differing = [name for name, checksum in before.items() if after.get(name) != checksum]
    if differing:
        raise CairnError(f"CHECKSUM TABLE gives another value for {', '.join(differing)}.")

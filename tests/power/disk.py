"""A directory whose power can be cut: tests/power/power_fs.cc, built and mounted."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from cairn import files, packages, process
from cairn.errors import CairnError
from cairn.paths import BUILD, LOG, ROOT, shown
from cairn.report import Phase
from tests.hunt.part import Unavailable

SOURCES = ROOT / "tests" / "power"
PROGRAM = BUILD / "power" / "power_fs"
DEVICE = Path("/dev/fuse")
MOUNT_S = 20
LOSSES = ("everything", "prefix", "subset")
# What makes a name durable beside the sync of its directory: nothing, the sync of the file itself,
# or any sync. The first is all that POSIX promises; common file systems do the second at least.
NAME_RULES = ("directory", "own", "journal")


def build(phase: Phase | None) -> None:
    """Compiles the file system where that is due; raises Unavailable where it cannot be used."""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        raise Unavailable(f"{DEVICE} is missing or closed to this user: no file system can be made")
    try:
        if phase is None:
            if packages.missing((packages.FUSE,)):
                raise Unavailable(f"missing: {' '.join(packages.FUSE.names)}")
        else:
            packages.ensure((packages.FUSE,), phase)
            phase.summary = ""
    except CairnError as error:
        raise Unavailable(f"what FUSE needs cannot be installed: {error}") from error
    sources = [*SOURCES.glob("*.cc"), *SOURCES.glob("*.h")]
    newest = max(path.stat().st_mtime for path in sources)
    if PROGRAM.is_file() and PROGRAM.stat().st_mtime > newest:
        return
    flags = process.output(["pkg-config", "--cflags", "--libs", "fuse3"])
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    partial = PROGRAM.with_name(f"power_fs.{os.getpid()}")
    process.run(
        [
            *("c++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"),
            *("-o", partial, *sorted(SOURCES.glob("*.cc")), *shlex.split(flags)),
        ],
        log=LOG / "power-fs.log",
        what="Compiling the file system for power cuts",
    )
    partial.replace(PROGRAM)


class Disk:
    """One file system at `path`, mounted while the object is open; its files are in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._control = path / ".power"
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        log = self.path.with_name(f"{self.path.name}.log")
        with log.open("ab") as out:
            self._child = subprocess.Popen(
                [PROGRAM, self.path],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=process.end_with_parent,
            )
        limit = time.monotonic() + MOUNT_S
        while not self.path.is_mount():
            if self._child.poll() is not None or time.monotonic() > limit:
                self._end()
                text = log.read_text(encoding="utf-8", errors="replace").strip()
                raise Unavailable(f"FUSE cannot mount {shown(self.path)}: {text}")
            time.sleep(0.01)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self._child is None:
            return
        self._child.send_signal(signal.SIGTERM)
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._child = None
        if self.path.is_mount():
            process.output(["fusermount3", "-u", "-z", self.path])

    # ---- commands -------------------------------------------------------------------------------

    def cut(self, loss: str, sector: int, seed: int) -> str:
        """Takes away what is not synced: all (`everything`) or a random part of it.

        Nothing may be open any more. Returns how much went, and a line for each thing that was not
        synced. `sector`: so many bytes are written whole or not at all.
        """
        self._command(f"cut {loss} {sector} {seed}")
        return self.report().partition("last cut: ")[2].partition("unsynced now:")[0].strip()

    def name_rule(self, rule: str, directory: str = "") -> None:
        """Sets one of NAME_RULES for the syncs from now on; of one directory alone, or all others.

        `directory` is relative to the disk.
        """
        self._command(f"names {rule} {directory}")

    def delay(self, microseconds: int) -> None:
        """Makes every sync take so long, and cuts during a sync likely."""
        self._command(f"delay {microseconds}")

    def sync(self) -> None:
        """Makes everything durable."""
        self._command("sync")

    def turn_back(self) -> None:
        """Makes everything as the last cut had left it."""
        self._command("return")

    def keep(self, directory: Path) -> None:
        """Copies what the last cut had left out of the file system."""
        self.turn_back()
        files.remove(directory)
        process.run(
            ["cp", "-r", self.path, directory],
            log=LOG / "power-fs.log",
            what="Keeping what the power cut had left",
        )

    def report(self) -> str:
        """What is not synced, and what the last cut took away."""
        return self._control.read_text(encoding="utf-8", errors="replace")

    def _command(self, text: str) -> None:
        with self._control.open("wb", buffering=0) as control:
            control.write(text.encode())

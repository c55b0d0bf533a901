"""Ending a server just before a chosen change of a file: tests/crash/kill_at_step.c."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from cairn import process
from cairn.paths import LOG, ROOT

SOURCE = ROOT / "tests" / "crash" / "kill_at_step.c"
_CONTROL = struct.Struct("=III")


class Steps:
    """The control of the library that is preloaded into one server."""

    def __init__(self, directory: Path, data: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._library = directory / "kill_at_step.so"
        self._trace = directory / "steps.log"
        control = directory / "steps.control"
        process.run(
            ["cc", "-shared", "-fPIC", "-O2", "-o", self._library, SOURCE, "-ldl"],
            log=LOG / "crash-ddl.log",
            what="Compiling kill_at_step.c",
        )
        control.write_bytes(bytes(_CONTROL.size))
        self._trace.touch()
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), _CONTROL.size)
        self.environment = {
            "LD_PRELOAD": str(self._library),
            "CAIRN_KILL_CONTROL": str(control),
            "CAIRN_KILL_TRACE": str(self._trace),
            "CAIRN_KILL_DATA": str(data.resolve()),
        }

    def arm(self, kill_at: int = 0) -> None:
        """Counts steps from now on and ends the server before that one; 0 only counts."""
        self._trace.write_bytes(b"")
        # The first number is what the server looks at first.
        self._control[4:] = struct.pack("=II", kill_at, 0)
        self._control[:4] = struct.pack("=I", 1)

    def disarm(self) -> list[str]:
        """Stops counting; returns the steps that were counted, a call and a path each."""
        self._control[:4] = struct.pack("=I", 0)
        lines = self._trace.read_text(encoding="utf-8", errors="replace").splitlines()
        return [line.partition(" ")[2] for line in lines]

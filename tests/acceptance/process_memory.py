"""What memory a process has, and had at most since a moment."""

from __future__ import annotations

from pathlib import Path

from cairn.errors import CairnError


class ProcessMemory:
    """The resident memory of a process in bytes, with a peak that can begin anew."""

    def __init__(self, pid: int) -> None:
        self.directory = Path("/proc") / str(pid)

    def begin(self) -> int:
        """Lets the peak begin anew; returns what there is now."""
        (self.directory / "clear_refs").write_text("5", encoding="ascii")
        return self._read("VmRSS")

    def peak(self) -> int:
        """The most since begin()."""
        return self._read("VmHWM")

    def _read(self, name: str) -> int:
        for line in (self.directory / "status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) << 10
        raise CairnError(f"/proc does not tell {name}.")

"""Counting the instructions of a server's threads with valgrind's callgrind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from cairn import files, plugin, process
from cairn.errors import CairnError

# valgrind knows a library's code by its section .text; the one other section with code is that of
# the functions in mariadb/function_order.ld.
_NOT_IN_TEXT = "???"
_NAMED = re.compile(r"^(ob|fn|cob|cfn)=(?:\((\d+)\))?\s*(.*)$")


def command(directory: Path, *, mangled: bool = False) -> tuple[str, ...]:
    """What stands in front of a program's own command; nothing is counted until switched on.

    With `mangled`, functions have the names that the linker knows.
    """
    return (
        *("valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes"),
        "--fair-sched=yes",
        *("--dump-instr=no", "--compress-strings=yes", "--compress-pos=yes"),
        f"--demangle={'no' if mangled else 'yes'}",
        f"--callgrind-out-file={directory / 'callgrind.out.%p'}",
    )


def switch(pid: int, on: bool, log: Path) -> None:
    """Begins or ends counting in a running process."""
    state = "on" if on else "off"
    process.run(
        ["callgrind_control", f"--instr={state}", str(pid)], log=log, what="Switching callgrind"
    )


def take(pid: int, directory: Path, name: str, log: Path) -> Path:
    """Moves what was counted since the last time into `directory/name`, a file for each thread."""
    process.run(["callgrind_control", "--dump", str(pid)], log=log, what="Reading callgrind")
    kept = files.fresh_directory(directory / name)
    for path in directory.glob(f"callgrind.out.{pid}.*"):
        path.rename(kept / path.name)
    return kept


def instructions_by_object(lines: Iterable[str]) -> Counter[str]:
    """What the functions of each program or library took by themselves, by its file's name.

    The format is that of valgrind's manual: costs of calls stand behind a line `calls=` and belong
    to the functions that are called.
    """
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    current = ""
    is_call = False
    for line in lines:
        if line[:1].isdigit() or line[:1] in "+-*":
            if not is_call:
                counts[current] += int(line.split()[1])
            is_call = False
        elif line.startswith("calls="):
            is_call = True
        elif found := _NAMED.match(line):
            kind, number, name = found.groups()
            if kind not in ("ob", "cob"):
                continue
            if name:
                names[number] = name
            if kind == "ob":
                current = object_name(names.get(number, name))
    return counts


def object_name(path: str) -> str:
    """The file's name of a program or library as callgrind writes it."""
    return plugin.LIBRARY if path == _NOT_IN_TEXT else Path(path).name


def of_busiest_thread(directory: Path) -> tuple[Counter[str], Path]:
    """The counts of the thread with the most instructions, and its file."""
    best: tuple[Counter[str], Path] | None = None
    for path in sorted(directory.iterdir()):
        with path.open(encoding="utf-8", errors="replace") as lines:
            counts = instructions_by_object(lines)
        if best is None or counts.total() > best[0].total():
            best = counts, path
    if best is None or best[0].total() == 0:
        raise CairnError("callgrind has counted nothing.")
    return best

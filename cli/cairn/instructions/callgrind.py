"""Counting the instructions of a server's threads with valgrind's callgrind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cairn import files, plugin, process
from cairn.errors import CairnError

# valgrind knows a library's code by its section .text; the one other section with code is that of
# the functions in mariadb/function_order.ld.
_NOT_IN_TEXT = "???"
# callgrind's mark of a function that calls itself.
_RECURSION = re.compile(r"'\d+$")
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


@dataclass(frozen=True)
class Entry:
    """Instructions that a function took by itself, or, with a callee, how often it called that."""

    library: str  # The file's name of the program or library that the function is in.
    function: str
    callee: str | None
    count: int


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    """What callgrind wrote of a thread.

    The format is that of valgrind's manual: costs of calls stand behind a line `calls=` and belong
    to the functions that are called. Objects and functions are numbered apart, callees with the
    others.
    """
    names: dict[tuple[str, str], str] = {}
    library = function = callee = ""
    is_call = False
    for line in lines:
        if line[:1].isdigit() or line[:1] in "+-*":
            if not is_call:
                yield Entry(library, function, None, int(line.split()[1]))
            is_call = False
        elif line.startswith("calls="):
            yield Entry(library, function, callee, int(line[len("calls=") :].split()[0]))
            is_call = True
        elif found := _NAMED.match(line):
            kind, number, name = found.groups()
            if name and number:
                names[kind[-2:], number] = name
            name = name or names.get((kind[-2:], number), "")
            if kind == "ob":
                library = _library(name)
            elif kind == "fn":
                function = _RECURSION.sub("", name)
            elif kind == "cfn":
                callee = _RECURSION.sub("", name)


def instructions_by_object(lines: Iterable[str]) -> Counter[str]:
    """What the functions of each program or library took by themselves, by its file's name."""
    counts: Counter[str] = Counter()
    for entry in entries(lines):
        if entry.callee is None:
            counts[entry.library] += entry.count
    return counts


def _library(path: str) -> str:
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

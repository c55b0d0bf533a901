"""Follows a page of docs/ to the letter: runs its commands, and compares what it says they print.

Commands are the lines of indented blocks that begin with "# ", each for a shell of root; the lines
behind one, up to the next, are what it prints. "…" stands for anything, on a line of its own for
any lines. A block whose first line is no command is not run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.acceptance.package.clean_system import CleanSystem

_PROMPT = "    # "
_INDENT = "    "
# There is no systemd in a clean system: its server is started and stopped from outside.
_SERVICE = re.compile(r"systemctl (start|stop|restart) mariadb")
# A file that a reader has to name.
_TO_FILL_IN = "_NEW_"


@dataclass(frozen=True)
class Command:
    """A command and the lines that it is said to print."""

    line: int
    text: str
    output: tuple[str, ...]


def commands(page: str) -> list[Command]:
    """The commands of a page, in order."""
    found: list[Command] = []
    block = False  # Within an indented block that has begun with a command.
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith(_PROMPT):
            found.append(Command(number, line.removeprefix(_PROMPT), ()))
            block = True
        elif line.startswith(_INDENT) and block:
            last = found[-1]
            output = (*last.output, line.removeprefix(_INDENT))
            found[-1] = Command(last.line, last.text, output)
        else:
            block = False
    return [command for command in found if _TO_FILL_IN not in command.text]


def is_as_said(said: tuple[str, ...], printed: str) -> bool:
    """Whether lines were printed as a page says, "…" being anything."""
    pattern = ""
    for line in said:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("…")) + r"[ \t]*\n"
    text = printed if printed.endswith("\n") or not printed else printed + "\n"
    return re.fullmatch(pattern, text) is not None


def section(page: str, title: str) -> str:
    """What is below a heading of a page, other lines being empty; empty if there is none."""
    lines = page.splitlines()
    if f"## {title}" not in lines:
        return ""
    begin = lines.index(f"## {title}") + 1
    ends = [number for number in range(begin, len(lines)) if lines[number].startswith("## ")]
    return "\n" * begin + "\n".join(lines[begin : min(ends, default=len(lines))])


def follow(system: CleanSystem, page_commands: list[Command]) -> list[str]:
    """Runs commands in /root; what was not as said."""
    wrong = []
    for command in page_commands:
        place = f"line {command.line}: {command.text}"
        if service := _SERVICE.fullmatch(command.text):
            if service[1] != "start":
                system.stop()
            if service[1] != "stop" and not system.try_to_start():
                wrong.append(f"{place}: the server does not start: {system.log_lines()[-5:]}")
            continue
        status, printed = system.attempt("sh", "-c", f"cd /root; {command.text}")
        if status != 0:
            wrong.append(f"{place}: exit status {status}: {printed[-500:]}")
        elif not is_as_said(command.output, printed):
            wrong.append(f"{place}: prints {printed[-1000:]!r}")
    return wrong

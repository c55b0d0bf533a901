"""The order in which the linker puts the plug-in's functions: those that statements run through.

They are some hundred kilobytes of twelve megabytes. Side by side they take a tenth of the pages,
and no line of the processor's cache is shared with what does not run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cairn import plugin
from cairn.instructions import callgrind
from cairn.paths import ROOT

SCRIPT = ROOT / "mariadb" / "function_order.ld"
_LINE = re.compile(r"^(ob|fn|cob|cfn)=(?:\((\d+)\))?\s*(.*)$")
# callgrind's mark of a function that calls itself.
_RECURSION = re.compile(r"'\d+$")
_HEAD = """\
/* The functions of the plug-in that statements run through, in the order of their calls. Made
   by `./cairn instructions --write-order`. A name that there is no more does no harm. */
SECTIONS
{
  .text.ordered :
  {
"""
_TAIL = """\
  }
}
INSERT BEFORE .text;
"""


@dataclass
class Calls:
    """What one kind of statement ran through."""

    # Instructions that functions of the plug-in took by themselves, by their mangled names.
    own: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    # How often each function called which.
    callees: dict[str, dict[str, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )


def calls(lines: Iterable[str]) -> Calls:
    """Reads what callgrind wrote of a thread, with mangled names; see callgrind.py."""
    found = Calls()
    names: dict[tuple[str, str], str] = {}
    caller = callee = ""
    in_plugin = is_call = False
    for line in lines:
        if line[:1].isdigit() or line[:1] in "+-*":
            if in_plugin and not is_call:
                found.own[caller] += int(line.split()[1])
            is_call = False
        elif line.startswith("calls="):
            found.callees[caller][callee] += int(line[len("calls=") :].split()[0])
            is_call = True
        elif match := _LINE.match(line):
            kind, number, name = match.groups()
            # Objects and functions are numbered apart, callees with the others.
            if name and number:
                names[kind[-2:], number] = name
            name = name or names.get((kind[-2:], number), "")
            if kind == "ob":
                in_plugin = callgrind.object_name(name) == plugin.LIBRARY
            elif kind == "fn":
                caller = _RECURSION.sub("", name)
            elif kind == "cfn":
                callee = _RECURSION.sub("", name)
    return found


def order(kinds: Iterable[tuple[Calls, int]]) -> list[str]:
    """The names: of the first kind of statements, then what others have besides.

    With each kind comes how many statements it had; what ran less often is left out.
    """
    found: dict[str, None] = {}
    for kind, statements in kinds:
        frequent = {name for name, count in kind.own.items() if count >= statements}
        called = {
            callee for name in frequent for callee in kind.callees.get(name, ()) if callee != name
        }
        by_cost = sorted(frequent, key=lambda name: (-kind.own[name], name))
        roots = [name for name in by_cost if name not in called]
        for root in (*roots, *by_cost):
            for name in _depth_first(root, kind, frequent, found):
                found[name] = None
    return list(found)


def _depth_first(
    root: str, kind: Calls, frequent: set[str], known: dict[str, None]
) -> Iterator[str]:
    """A function and what it calls, most often called first, without those that are known."""
    seen: set[str] = set()
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in frequent:
            continue
        seen.add(name)
        if name not in known:
            yield name
        callees = kind.callees.get(name, {})
        waiting += sorted(callees, key=lambda callee: (callees[callee], callee))


def script(names: Iterable[str]) -> str:
    """What the linker reads; the compiler gives functions that its profile knows other sections."""
    return _HEAD + "".join(f"    *(.text.hot.{one} .text.{one})\n" for one in names) + _TAIL

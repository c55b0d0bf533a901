"""The order in which the linker puts the plug-in's functions: those that statements run through.

They are some hundred kilobytes of twelve megabytes. Side by side they take a tenth of the pages,
and no line of the processor's cache is shared with what does not run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cairn import plugin
from cairn.instructions import callgrind
from cairn.paths import ROOT

SCRIPT = ROOT / "mariadb" / "function_order.ld"
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
    """Of what callgrind wrote of a thread, with mangled names."""
    found = Calls()
    for entry in callgrind.entries(lines):
        if entry.callee is not None:
            found.callees[entry.function][entry.callee] += entry.count
        elif entry.library == plugin.LIBRARY:
            found.own[entry.function] += entry.count
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

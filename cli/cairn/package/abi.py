"""What a build of Cairn is checked against when a server loads it: sizes of the server's classes.

packaging/chooser/chooser.cc reads the file and has its format.
"""

from __future__ import annotations

import re
from pathlib import Path

from cairn import process
from cairn.errors import CairnError

# Classes whose virtual functions Cairn overrides or calls, mangled.
CLASSES = ("7handler", "5Field", "4Item", "12Type_handler")


def version_of(daemon: Path, environment: dict[str, str]) -> str:
    """What the server calls itself: "10.11.18-MariaDB-0+deb12u1"."""
    text = process.output([str(daemon), "--no-defaults", "--version"], env=environment)
    found = re.search(r" Ver (\S+) for ", text)
    if found is None or "/" in found[1] or found[1].startswith("."):
        raise CairnError(f"{daemon} --version says {text.strip()!r}, which names no version.")
    return found[1]


def virtual_tables(symbols: str) -> dict[str, int]:
    """Bytes of the virtual table of each of CLASSES, of `readelf --dyn-syms --wide`."""
    sizes = {}
    for line in symbols.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[7].startswith("_ZTV") and fields[6] != "UND":
            sizes[fields[7].removeprefix("_ZTV")] = int(fields[2], 0)
    lacking = [name for name in CLASSES if name not in sizes]
    if lacking:
        raise CairnError(f"The server exports no virtual table of {', '.join(lacking)}.")
    return {name: sizes[name] for name in CLASSES}


def text(daemon: Path) -> str:
    """The file `abi` for a server."""
    symbols = process.output(["readelf", "--dyn-syms", "--wide", str(daemon)])
    return "".join(f"{name} {size}\n" for name, size in virtual_tables(symbols).items())

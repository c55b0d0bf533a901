"""What a build of Cairn is checked against when a server loads it: sizes of the server's classes.

packaging/chooser/chooser.cc reads the file and has its format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cairn import process
from cairn.errors import CairnError

# Classes whose virtual functions Cairn overrides or calls, mangled.
CLASSES = ("7handler", "5Field", "4Item", "12Type_handler")


def version_of(daemon: Path, environment: dict[str, str]) -> str:
    """What the server calls itself, up to the first space: "10.11.18-MariaDB-0+deb12u1"."""
    text = process.output([str(daemon), "--no-defaults", "--version"], env=environment)
    found = re.search(r" Ver (\S+) (?:.* )?for ", text)
    if found is None or "/" in found[1] or found[1].startswith("."):
        raise CairnError(f"{daemon} --version says {text.strip()!r}, which names no version.")
    return found[1]


@dataclass(frozen=True)
class Symbols:
    """The dynamic symbols of a program or a library."""

    defined: dict[str, int]  # Bytes by name.
    undefined: frozenset[str]

    def virtual_tables(self) -> dict[str, int]:
        """Bytes of each exported virtual table, by the class's mangled name."""
        prefix = "_ZTV"
        return {
            name.removeprefix(prefix): size
            for name, size in self.defined.items()
            if name.startswith(prefix)
        }


def parse(listing: str) -> Symbols:
    """Reads what `readelf --dyn-syms --wide` prints."""
    defined = {}
    undefined = set()
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        name = fields[7].partition("@")[0]
        if fields[6] == "UND":
            undefined.add(name)
        else:
            defined[name] = int(fields[2], 0)
    return Symbols(defined, frozenset(undefined))


def read(program: Path) -> Symbols:
    """The symbols of a program or a library. Raises if there are none."""
    symbols = parse(process.output(["readelf", "--dyn-syms", "--wide", str(program)]))
    if not symbols.defined:
        raise CairnError(f"{program} is no program or library with dynamic symbols.")
    return symbols


def virtual_tables(symbols: Symbols) -> dict[str, int]:
    """Bytes of the virtual table of each of CLASSES."""
    sizes = symbols.virtual_tables()
    lacking = [name for name in CLASSES if name not in sizes]
    if lacking:
        raise CairnError(f"The server exports no virtual table of {', '.join(lacking)}.")
    return {name: sizes[name] for name in CLASSES}


def text(daemon: Path) -> str:
    """The file `abi` for a server."""
    sizes = virtual_tables(read(daemon))
    return "".join(f"{name} {size}\n" for name, size in sizes.items()) + f"classes {len(sizes)}\n"

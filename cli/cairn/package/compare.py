"""./cairn abi OLD NEW: whether what Cairn uses of a server is the same in another version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cairn import files, plugin, prefix, process
from cairn.errors import CairnError
from cairn.package import abi
from cairn.paths import LOG, VAR
from cairn.report import say

_LOG = LOG / "abi.log"
# Of hundreds of classes that have one base, a few tell enough.
_SHOWN = 10


@dataclass(frozen=True)
class Difference:
    """How a newer server differs from the one that Cairn was compiled for."""

    gone: int  # Exported symbols that the new one lacks.
    come: int
    lost: list[str]  # Those of them that Cairn uses.
    changed: list[tuple[str, int, int]]  # Classes, and the bytes of their virtual tables.

    def differs(self) -> bool:
        return bool(self.gone or self.come or self.changed)


def servers(old: abi.Symbols, new: abi.Symbols, library: abi.Symbols) -> Difference:
    """Compares two servers; `library` is Cairn's, compiled for the old one."""
    used = library.undefined & old.defined.keys()
    old_tables, new_tables = old.virtual_tables(), new.virtual_tables()
    return Difference(
        gone=len(old.defined.keys() - new.defined.keys()),
        come=len(new.defined.keys() - old.defined.keys()),
        lost=sorted(used - new.defined.keys()),
        changed=[
            (name, size, new_tables[name])
            for name, size in sorted(old_tables.items())
            if name in new_tables and new_tables[name] != size
        ],
    )


def run(old: str, new: str) -> int:
    """Says how two servers differ for Cairn; 0: not at all, 1: they do."""
    library = plugin.library()
    if not library.is_file():
        raise CairnError("There is no plug-in yet: run ./cairn build.")
    with _daemon(old) as old_daemon, _daemon(new) as new_daemon:
        found = servers(abi.read(old_daemon), abi.read(new_daemon), abi.read(library))
    say(f"{found.gone} exported symbols are gone, {found.come} have come.")
    for name in found.lost:
        say(f"    Cairn uses {_readable(name)}")
    say(f"{len(found.changed)} classes have another number of virtual functions.")
    for name, before, after in shown(found.changed):
        say(f"    {_readable('_ZTV' + name)}: {before // 8} words, now {after // 8}")
    if len(found.changed) > _SHOWN:
        say(f"    and {len(found.changed) - _SHOWN} more")
    if found.lost:
        say("Cairn's sources have to be adapted.")
    elif found.differs():
        say("Cairn has to be compiled for the new server.")
    else:
        say("No difference is visible; Cairn is compiled for each patch level all the same.")
    return 1 if found.differs() else 0


def shown(changed: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Those classes that are named: first those that Cairn is checked against when it is loaded."""
    return sorted(changed, key=lambda entry: (entry[0] not in abi.CLASSES, entry[0]))[:_SHOWN]


def _readable(name: str) -> str:
    return process.output(["c++filt", name]).strip() or name


@contextmanager
def _daemon(named: str) -> Iterator[Path]:
    """The server's program: a file of its own, in a package, or of a version of the archive."""
    path = Path(named)
    if path.is_file() and path.suffix != ".deb":
        yield path
        return
    directory = files.fresh_directory(VAR / "abi" / _name(named))
    try:
        if not path.is_file():
            path = prefix.download_core(named, directory)
        process.run(
            ["dpkg-deb", "--extract", path, directory / "files"],
            log=_LOG,
            what=f"Unpacking {path.name}",
        )
        daemon = directory / "files/usr/sbin/mariadbd"
        if not daemon.is_file():
            raise CairnError(
                f"{named} has no usr/sbin/mariadbd: name mariadb-server-core's package."
            )
        yield daemon
    finally:
        files.remove(directory)


def _name(named: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in named)

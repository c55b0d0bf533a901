"""What there is: builds of Cairn, the server, and the server that apt would install."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cairn import process, versions
from cairn.adapters.place import PLUGIN_PACKAGE, SERVER_PACKAGE, Own, Place, own
from cairn.errors import CairnError
from cairn.package import abi


@dataclass(frozen=True)
class Adapter:
    """A build of Cairn in the directory that the server's plug-in library looks into."""

    server: str  # What the server that it is for calls itself.
    package: str  # That it came with; empty: with none.
    wrong: str  # Why it cannot be used; empty: it can.


@dataclass(frozen=True)
class Server:
    """A server, installed or offered."""

    version: str  # Of its package.
    text: str  # What it calls itself; empty where that is not to be had.
    wrong: str  # Why Cairn does not load into it; empty: it does.


@dataclass(frozen=True)
class Facts:
    """All of it."""

    own: Own
    plugin: str  # The installed version of PLUGIN_PACKAGE; empty: none.
    adapters: tuple[Adapter, ...]
    installed: Server | None
    candidate: Server | None  # Only if it is another one than that which is installed.


def gather(place: Place) -> Facts:
    """Looks at the system; needs no rights, and changes nothing."""
    ours = own(place)  # First: it says that the package is damaged.
    adapters = _adapters(place.adapters)
    installed = _installed(place, adapters)
    candidate = _candidate(adapters)
    if installed and candidate and installed.version == candidate.version:
        candidate = None
    return Facts(ours, package_version(PLUGIN_PACKAGE), adapters, installed, candidate)


def package_version(name: str) -> str:
    """The version of a package that is installed; empty: it is not."""
    text = process.output(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", name]
    )
    status, _, version = text.strip().partition(" ")
    return version if status in ("installed", "unpacked", "half-configured") else ""


def known_versions() -> list[str]:
    """The versions of the server that apt's lists have, newest first, each once."""
    listed = process.output(["apt-cache", "madison", SERVER_PACKAGE])
    found = {
        fields[1].strip()
        for line in listed.splitlines()
        if len(fields := line.split("|")) == 3 and fields[2].rstrip().endswith(" Packages")
    }
    return versions.newest_first(found)


def _adapters(directory: Path) -> tuple[Adapter, ...]:
    if not directory.is_dir():
        return ()
    return tuple(
        Adapter(path.name, _owner(path / "adapter.so"), _damage(path))
        for path in sorted(directory.iterdir())
        if path.is_dir()
    )


def _owner(path: Path) -> str:
    return process.output(["dpkg-query", "--search", path]).partition(":")[0].strip()


def _damage(directory: Path) -> str:
    for name in ("adapter.so", "abi"):
        path = directory / name
        if not path.is_file() or path.stat().st_size == 0:
            return f"{path} is missing or empty"
    return ""


def _installed(place: Place, adapters: tuple[Adapter, ...]) -> Server | None:
    version = package_version(SERVER_PACKAGE)
    if not version:
        return None
    try:
        text = abi.version_of(place.daemon, {})
    except CairnError as error:
        return Server(version, "", str(error))
    wrong = _no_build(text, adapters)
    if not wrong:
        wrong = _other_classes(place.adapters / text / "abi", place.daemon)
    return Server(version, text, wrong)


def _candidate(adapters: tuple[Adapter, ...]) -> Server | None:
    policy = process.output(["apt-cache", "policy", SERVER_PACKAGE])
    found = re.search(r"^ +Candidate: (\S+)$", policy, re.MULTILINE)
    if found is None or found[1] == "(none)":
        return None
    try:
        text = versions.server_text(found[1])
    except CairnError as error:
        return Server(found[1], "", str(error))
    return Server(found[1], text, _no_build(text, adapters))


def _no_build(text: str, adapters: tuple[Adapter, ...]) -> str:
    for adapter in adapters:
        if adapter.server == text:
            return adapter.wrong
    return "there is no build of Cairn for it"


def _other_classes(file: Path, daemon: Path) -> str:
    """Why a build does not fit the server that bears its name; empty: it does."""
    try:
        fits = file.read_text(encoding="ascii") == abi.text(daemon)
    except (OSError, UnicodeDecodeError, CairnError) as error:
        return f"whether {file.parent} fits it cannot be told: {error}"
    return "" if fits else f"{file} is of a server whose classes differ"

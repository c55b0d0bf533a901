"""The files of the package: those of packaging/debian filled in, and what is laid out for it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cairn import files, versions
from cairn.adapters.place import MAINTAINER
from cairn.errors import CairnError
from cairn.package import abi, adapter_sources
from cairn.package.version import Version
from cairn.paths import ROOT

NAME = "mariadb-plugin-cairn"
RECIPE = ROOT / "packaging" / "debian"
# Of the command line's parts those that are programs of the package: cairn-doctor, cairn-migrate.
PROGRAMS = ("doctor", "migrate")
_VERSION = re.compile(r"(\d+:)?\d+(\.\d+)+-[0-9A-Za-z.+~]+")


@dataclass(frozen=True)
class Adapter:
    """A build of Cairn for one server."""

    library: Path
    daemon: Path  # Of that server.
    server_text: str  # What the server calls itself.
    package_version: str  # Of mariadb-server-core: "1:10.11.18-0+deb12u1".


@dataclass(frozen=True)
class Built:
    """What goes into the package."""

    chooser: Path
    adapters: tuple[Adapter, ...]
    tools: Path
    engine: adapter_sources.Engine


def server_core(package_versions: list[str]) -> str:
    """The dependency on the server: exactly the versions that there is a build for.

    A revision of the distribution is another version: what the server calls itself has it, and it
    may be compiled otherwise. The newest comes first: apt takes the first that it can have.
    """
    if not package_versions:
        raise CairnError("A package needs a build for at least one server.")
    for version in package_versions:
        if not _VERSION.fullmatch(version):
            raise CairnError(f"{version} is no version of MariaDB's packages.")
    return " | ".join(
        f"mariadb-server-core (= {version})" for version in versions.newest_first(package_versions)
    )


def control(template: str, adapters: tuple[Adapter, ...]) -> str:
    """debian/control."""
    values = {
        "MAINTAINER": MAINTAINER,
        "SERVER_CORE": server_core([adapter.package_version for adapter in adapters]),
        "SERVERS": ", ".join(_names(adapters)),
    }
    return _filled(template, values)


def _names(adapters: tuple[Adapter, ...]) -> list[str]:
    names = sorted(adapter.server_text for adapter in adapters)
    for name, following in pairwise(names):
        if name == following:
            raise CairnError(f"There are two builds for {name}, and a place for one.")
    return names


def _filled(template: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def changelog(version: Version) -> str:
    """debian/changelog: the repository has the history."""
    return (
        f"{NAME} ({version.text}) unstable; urgency=medium\n\n"
        f"  * Made of the commit that the version names.\n\n"
        f" -- {MAINTAINER}  {version.date()}\n"
    )


def lay_out(source: Path, built: Built, version: Version) -> None:
    """Fills `source`, which is empty, with debian/ and, for each package with files, staging/."""
    debian = source / "debian"
    debian.mkdir()
    text = (RECIPE / "control.in").read_text(encoding="utf-8")
    _write(debian / "control", control(text, built.adapters))
    _write(debian / "changelog", changelog(version))
    shutil.copy(RECIPE / "rules", debian / "rules")
    shutil.copy(RECIPE / "copyright", debian / "copyright")
    servers = {"SERVER_STRINGS": " ".join(_names(built.adapters)), "VERSION": version.text}
    for name in ("preinst", "postinst", "prerm", "postrm"):
        template = next(RECIPE.glob(f"{name}*"))
        _write(
            debian / f"{NAME}.{name}", _filled(template.read_text(encoding="utf-8"), servers), 0o755
        )
    _write(debian / f"{NAME}.lintian-overrides", (RECIPE / "lintian-overrides").read_text("utf-8"))
    _stage(source / "staging" / NAME, built)
    adapter_sources.stage(source / "staging" / adapter_sources.NAME, built.engine, version)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    files.write_atomic(path, text)
    path.chmod(mode)


def _stage(root: Path, built: Built) -> None:
    files.place(built.chooser, root / "usr/lib/mysql/plugin/ha_rocksdb.so")
    for adapter in built.adapters:
        directory = root / "usr/lib/cairn" / adapter.server_text
        files.place(adapter.library, directory / "adapter.so")
        _write(directory / "abi", abi.text(adapter.daemon))
    for tool, name in (
        ("ldb", "cairn-ldb"),
        ("sst_dump", "cairn-sst-dump"),
        ("cairn-store", "cairn-store"),
    ):
        files.place(built.tools / tool, root / "usr/bin" / name, 0o755)
    for path in _programs():
        files.place(path, root / "usr/share/cairn/python" / path.relative_to(ROOT / "cli"))
    for name in PROGRAMS:
        text = (RECIPE / "program.in").read_text(encoding="utf-8")
        _write(root / "usr/bin" / f"cairn-{name}", _filled(text, {"NAME": name}), 0o755)
    files.place(RECIPE / "cairn.cnf", root / "etc/mysql/mariadb.conf.d/cairn.cnf")
    # Of the one server, and of each of several.
    for unit in ("mariadb.service.d", "mariadb@.service.d"):
        files.place(RECIPE / "cairn.conf", root / "usr/lib/systemd/system" / unit / "cairn.conf")
    documents = root / "usr/share/doc" / NAME
    for page in sorted((ROOT / "docs").glob("*.md")):
        files.place(page, documents / "docs" / page.name)
    for name in ("alerts.yml", "dashboard.json", "README.md"):
        files.place(
            ROOT / "packaging/monitoring" / name, root / "usr/share/cairn/monitoring" / name
        )


def _programs() -> list[Path]:
    """The sources of the programs in Python: of the command line what needs no checkout."""
    package = ROOT / "cli" / "cairn"
    shared = ("__init__", "errors", "place", "report")
    own = [path for name in PROGRAMS for path in (package / name).glob("*.py")]
    return [*(package / f"{name}.py" for name in shared), *sorted(own)]

"""The files of the package: those of packaging/debian filled in, and what is laid out for it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from cairn import files
from cairn.errors import CairnError
from cairn.package import abi
from cairn.package.version import Version
from cairn.paths import ROOT

NAME = "mariadb-plugin-cairn"
RECIPE = ROOT / "packaging" / "debian"
MAINTAINER = "Cairn maintainers <maintainers@cairn.invalid>"
# Of Debian's revisions of one version the package takes all: a plug-in fits all of them.
_NEXT_REVISION = "~~"


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


def server_range(package_versions: list[str]) -> tuple[str, str]:
    """The versions of mariadb-server-core that the package is for: from, and before.

    All between the oldest and the newest count as built for: builds that leave one out are refused.
    """
    if not package_versions:
        raise CairnError("A package needs a build for at least one server.")
    upstream = [_upstream(version) for version in package_versions]
    patches = sorted({int(text.rpartition(".")[2]) for text in upstream})
    series = {text.rpartition(".")[0] for text in upstream}
    if len(series) != 1 or patches[-1] - patches[0] >= len(patches):
        raise CairnError(
            f"Builds for {', '.join(sorted(upstream))}: one package has all patch levels of one "
            "series from its first to its last."
        )
    (base,) = series
    return f"{base}.{patches[0]}", f"{base}.{patches[-1] + 1}{_NEXT_REVISION}"


def _upstream(version: str) -> str:
    """1:10.11.18-0+deb12u1 is 1:10.11.18."""
    upstream = version.rpartition("-")[0] or version
    if not upstream.rpartition(".")[2].isdigit():
        raise CairnError(f"{version} is no version of MariaDB's packages.")
    return upstream


def control(template: str, adapters: tuple[Adapter, ...]) -> str:
    """debian/control."""
    first, before = server_range([adapter.package_version for adapter in adapters])
    values = {
        "MAINTAINER": MAINTAINER,
        "SERVER_FROM": first,
        "SERVER_BEFORE": before,
        "SERVERS": ", ".join(_names(adapters)),
    }
    return _filled(template, values)


def _names(adapters: tuple[Adapter, ...]) -> list[str]:
    return sorted(adapter.server_text for adapter in adapters)


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
    """Fills `source`, which is empty, with debian/ and staging/."""
    debian = source / "debian"
    debian.mkdir()
    text = (RECIPE / "control.in").read_text(encoding="utf-8")
    _write(debian / "control", control(text, built.adapters))
    _write(debian / "changelog", changelog(version))
    shutil.copy(RECIPE / "rules", debian / "rules")
    shutil.copy(RECIPE / "copyright", debian / "copyright")
    servers = {"SERVER_STRINGS": " ".join(_names(built.adapters))}
    for name in ("preinst", "postinst", "prerm", "postrm"):
        template = next(RECIPE.glob(f"{name}*"))
        _write(
            debian / f"{NAME}.{name}", _filled(template.read_text(encoding="utf-8"), servers), 0o755
        )
    _write(debian / f"{NAME}.lintian-overrides", (RECIPE / "lintian-overrides").read_text("utf-8"))
    _stage(source / "staging", built)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    files.write_atomic(path, text)
    path.chmod(mode)


def _stage(root: Path, built: Built) -> None:
    _place(built.chooser, root / "usr/lib/mysql/plugin/ha_rocksdb.so")
    for adapter in built.adapters:
        directory = root / "usr/lib/cairn" / adapter.server_text
        _place(adapter.library, directory / "adapter.so")
        _write(directory / "abi", abi.text(adapter.daemon))
    for tool, name in (("ldb", "cairn-ldb"), ("sst_dump", "cairn-sst-dump")):
        _place(built.tools / tool, root / "usr/bin" / name, 0o755)
    _place(RECIPE / "cairn.cnf", root / "etc/mysql/mariadb.conf.d/cairn.cnf")
    _place(RECIPE / "cairn.conf", root / "usr/lib/systemd/system/mariadb.service.d/cairn.conf")
    documents = root / "usr/share/doc" / NAME
    for page in sorted((ROOT / "docs").glob("*.md")):
        _place(page, documents / "docs" / page.name)
    for name in ("alerts.yml", "dashboard.json", "README.md"):
        _place(ROOT / "packaging/monitoring" / name, root / "usr/share/cairn/monitoring" / name)


def _place(source: Path, target: Path, mode: int = 0o644) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)

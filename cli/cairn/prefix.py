"""The MariaDB server that Cairn runs: the distribution's packages unpacked into the cache.

Nothing is installed into the system. Beside the server lie the stock plug-in's package (a yardstick
for conformance and benchmarks, in a directory that our server never loads from) and the headers of
the source package of exactly the same version.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from cairn import files, process, server_headers, versions
from cairn.errors import CairnError
from cairn.paths import LOG, cache
from cairn.report import Phase
from cairn.server_headers import PACKAGES as HEADER_PACKAGES

SOURCE_PACKAGE = "mariadb"
SERVER_PACKAGES = (
    "libmariadb3",
    "mariadb-backup",
    "mariadb-client",
    "mariadb-client-core",
    "mariadb-common",
    "mariadb-server",
    "mariadb-server-core",
    "mariadb-test",
    "mariadb-test-data",
)
STOCK_PACKAGE = "mariadb-plugin-rocksdb"
# The packaged tests of the stock plug-in look into its files with sst_dump and ldb.
TOOL_PACKAGES = ("rocksdb-tools", "librocksdb7.8")
# Installed into the system, sysbench would bring MariaDB's client library and configuration along.
SYSBENCH_PACKAGES = ("sysbench", "libluajit2-5.1-2", "libpq5")
# The series that packaging/monitoring is written for; its tests need prometheus and promtool too.
MONITORING_PACKAGES = ("prometheus-mysqld-exporter=0.14.*", "prometheus=2.42.*")

# What drivers in other languages are compiled with: the library, and its headers.
CLIENT_PACKAGES = ("libmariadb3", "libmariadb-dev")


@dataclass(frozen=True)
class Server:
    """One server version in the cache."""

    version: str
    root: Path
    other_headers: Path | None = None  # In place of the version's own (server_source.py).

    @property
    def prefix(self) -> Path:
        return self.root / "prefix"

    @property
    def headers(self) -> Path:
        return self.other_headers or self.root / "headers"

    @property
    def stock_plugin(self) -> Path:
        return self.root / "stock" / "usr" / "lib" / "mysql" / "plugin" / "ha_rocksdb.so"

    @property
    def sysbench(self) -> Path:
        """Where sysbench is unpacked, once something has asked for it."""
        return self.root / "sysbench"

    @property
    def monitoring(self) -> Path:
        """Where the Prometheus exporter is unpacked, once something has asked for it."""
        return self.root / "monitoring"

    @property
    def client(self) -> Path:
        """Where the client library's headers are unpacked, once something has asked for them."""
        return self.root / "client"

    @property
    def daemon(self) -> Path:
        return self.prefix / "usr" / "sbin" / "mariadbd"

    def tool(self, name: str) -> Path:
        return self.prefix / "usr" / "bin" / name

    def environment(self) -> dict[str, str]:
        """The tools find the libraries that came with them before those of the system."""
        libraries = [
            str(path)
            for root in (self.prefix, self.sysbench)
            for path in sorted((root / "usr" / "lib").glob("*-linux-*"))
        ]
        if inherited := os.environ.get("LD_LIBRARY_PATH"):
            libraries.append(inherited)
        return {"LD_LIBRARY_PATH": ":".join(libraries)}


def current() -> Server | None:
    """The server that an earlier run chose and finished; needs no network."""
    version = files.read_json(_choice()).get("version")
    if not version:
        return None
    server = of_version(version)
    return server if server.daemon.exists() and server.stock_plugin.exists() else None


def require() -> Server:
    """The chosen server, for commands that cannot do without."""
    server = current()
    if server is None:
        raise CairnError("There is no MariaDB server yet: run ./cairn up.")
    return server


def ensure(phase: Phase) -> Server:
    """The server's packages, unpacked; fetched first when the cache lacks them."""
    server = current()
    if server is not None:
        phase.summary = f"{versions.bare(server.version)}: in the cache"
        return server
    with locked():
        version, packages = _download(phase)
        server = of_version(version)
        phase.progress("unpacking")
        names = [*SERVER_PACKAGES, *TOOL_PACKAGES]
        unpack([packages[name] for name in names], server.prefix)
        unpack([packages[STOCK_PACKAGE]], server.root / "stock")
        files.write_json(_choice(), {"version": version, "chosen": time.strftime("%Y-%m-%d")})
    phase.summary = f"{versions.bare(version)}: unpacked into the cache"
    return server


def ensure_headers(phase: Phase, server: Server) -> None:
    """The headers of the server's version, from its source package and its -dev packages."""
    if os.environ.get("CAIRN_SERVER_SOURCE"):
        raise CairnError(
            "CAIRN_SERVER_SOURCE is for ./cairn build alone, as this command is for the "
            "distribution's server: unset it."
        )
    if server.headers.is_dir():
        phase.summary = f"{versions.bare(server.version)}: in the cache"
        return
    with locked():
        if not _is_downloaded(server.version):
            refresh_lists(phase)
            _download_version(phase, server.version)
        make_headers(phase, server, _downloads(server.version))
        # Source and packages together take 200 MB and are not needed again.
        files.remove(_downloads(server.version))
    phase.summary = f"{versions.bare(server.version)}: from the source package"


def ensure_sysbench(phase: Phase, server: Server) -> None:
    """The benchmark program of the distribution, unpacked beside the server."""
    _ensure_unpacked(phase, server.sysbench, SYSBENCH_PACKAGES, "sysbench")


def ensure_monitoring(phase: Phase, server: Server) -> None:
    """The Prometheus exporter of the distribution, and Prometheus, unpacked beside the server."""
    _ensure_unpacked(phase, server.monitoring, MONITORING_PACKAGES, "the Prometheus exporter")


def ensure_client(phase: Phase, server: Server) -> None:
    """The client library of the distribution and its headers, unpacked beside the server."""
    _ensure_unpacked(phase, server.client, CLIENT_PACKAGES, "the client library")


def download_core(version: str, directory: Path) -> Path:
    """Fetches mariadb-server-core of a version that the archive lists, such as
    1:10.11.19-0+deb12u1, into `directory`."""
    if not re.fullmatch(r"[0-9][0-9A-Za-z.:+~-]*", version):
        raise CairnError(f"{version} is no file, and no version of MariaDB's packages.")
    process.run(
        apt("apt-get", "download", f"mariadb-server-core={version}"),
        cwd=directory,
        log=LOG / "server.log",
        what=f"Downloading mariadb-server-core {version}",
    )
    (package,) = directory.glob("*.deb")
    return package


def _ensure_unpacked(phase: Phase, directory: Path, packages: tuple[str, ...], what: str) -> None:
    if directory.is_dir():
        phase.summary = "in the cache"
        return
    with locked():
        refresh_lists(phase)
        target = files.fresh_directory(cache() / "server" / "download" / directory.name)
        process.run(
            apt("apt-get", "download", *packages),
            cwd=target,
            log=LOG / "server.log",
            what=f"Downloading {what}",
        )
        unpack(sorted(target.glob("*.deb")), directory)
        files.remove(target)
    phase.summary = "unpacked into the cache"


def locked() -> AbstractContextManager[None]:
    """Held while anything of a server is put into the cache, which all checkouts share."""
    return files.exclusive(cache() / "server" / ".lock", "obtaining the server")


def _choice() -> Path:
    return cache() / "server" / "chosen.json"


def of_version(version: str) -> Server:
    """Where this version is in the cache, or would be."""
    return Server(version, cache() / "server" / versions.bare(version))


def _downloads(version: str) -> Path:
    return cache() / "server" / "download" / versions.bare(version)


def _is_downloaded(version: str) -> bool:
    return (_downloads(version) / "complete").exists()


# ---- fetching ----------------------------------------------------------------------------------


def apt(*arguments: str) -> list[str]:
    """An apt command with sources and lists of our own: it needs no root and changes no system."""
    home = cache() / "server" / "apt"
    (home / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (home / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    options = [
        f"Dir::Etc::sourcelist={home / 'sources.list'}",
        "Dir::Etc::sourceparts=-",
        f"Dir::State::lists={home / 'lists'}",
        f"Dir::Cache={home}",
        f"Dir::Cache::archives={home / 'archives'}",
        # The unprivileged user that apt downloads as has no access to the cache.
        "APT::Sandbox::User=root",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
    ]
    tool, *rest = arguments
    return [tool, *(part for option in options for part in ("-o", option)), *rest]


def refresh_lists(phase: Phase) -> None:
    """Package lists, with the source packages', of those archives that offer the server."""
    phase.progress("reading the package lists")
    offers = versions.parse_madison(process.output(["apt-cache", "madison", "mariadb-server"]))
    wanted = set(versions.candidates(offers))
    archives = sorted({(o.site, o.suite, o.component) for o in offers if o.version in wanted})
    if not archives:
        raise CairnError(
            f"apt knows no mariadb-server {versions.SERIES}: run 'apt-get update' as root on a "
            "Debian 12 (bookworm) machine, then try again."
        )
    keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={keyring}] " if keyring.exists() else ""
    lines = [
        f"{kind} {signed}{site} {suite} {component}\n"
        for site, suite, component in archives
        for kind in ("deb", "deb-src")
    ]
    files.write_if_changed(cache() / "server" / "apt" / "sources.list", "".join(lines))
    process.run(apt("apt-get", "update"), log=LOG / "server.log", what="Reading package lists")


def _download(phase: Phase) -> tuple[str, dict[str, Path]]:
    """Fetches the newest version of which source and packages both exist.

    An archive may list a version before, or after, its files are there, so a version counts only
    once everything of it is downloaded.
    """
    for earlier in sorted((cache() / "server" / "download").glob("*/complete")):
        version = earlier.read_text(encoding="utf-8").strip()
        return version, packages_in(_downloads(version))
    refresh_lists(phase)
    listed = process.output(apt("apt-cache", "madison", "mariadb-server"))
    tried = []
    for version in versions.candidates(versions.parse_madison(listed)):
        try:
            _download_version(phase, version)
        except CairnError:
            tried.append(version)
            phase.note(
                f"{versions.bare(version)} is listed but cannot be downloaded whole: trying older"
            )
            files.remove(_downloads(version))
            continue
        return version, packages_in(_downloads(version))
    raise CairnError(
        f"No version of mariadb-server {versions.SERIES} could be downloaded with its source "
        f"({', '.join(map(versions.bare, tried)) or 'none is listed'}): check the network and "
        f"'apt-get update', then try again. Log: {LOG / 'server.log'}"
    )


def _download_version(phase: Phase, version: str) -> None:
    target = _downloads(version)
    target.mkdir(parents=True, exist_ok=True)

    def on_line(line: str) -> None:
        if line.startswith("Get:"):
            phase.progress(f"{versions.bare(version)}: {' '.join(line.split()[4:])}")

    def fetch(arguments: list[str], what: str) -> None:
        process.run(
            apt("apt-get", *arguments),
            cwd=target,
            log=LOG / "server.log",
            what=what,
            on_line=on_line,
        )

    fetch(
        ["source", "--download-only", "--tar-only", f"{SOURCE_PACKAGE}={version}"],
        f"Downloading the source of MariaDB {versions.bare(version)}",
    )
    names = [f"{name}={version}" for name in (*SERVER_PACKAGES, *HEADER_PACKAGES, STOCK_PACKAGE)]
    fetch(
        ["download", *names, *TOOL_PACKAGES],
        f"Downloading the packages of MariaDB {versions.bare(version)}",
    )
    files.write_atomic(target / "complete", f"{version}\n")


def packages_in(directory: Path) -> dict[str, Path]:
    """The packages in a directory, by name."""
    return {path.name.partition("_")[0]: path for path in directory.glob("*.deb")}


# ---- unpacking ---------------------------------------------------------------------------------


def unpack(packages: list[Path], target: Path) -> None:
    """Makes `target`, in one step, of the files of packages."""
    partial = files.fresh_directory(target.with_name(f"{target.name}.partial"))
    for package in packages:
        process.run(
            ["dpkg-deb", "--extract", package, partial],
            log=LOG / "server.log",
            what=f"Unpacking {package.name}",
        )
    _keep_links_inside(partial)
    files.install_directory(partial, target)


def _keep_links_inside(root: Path) -> None:
    """Turns links to absolute paths into links inside the prefix, where the target is."""
    for folder, directories, names in os.walk(root):
        for name in (*directories, *names):
            link = Path(folder, name)
            if not link.is_symlink():
                continue
            target = link.readlink()
            inside = root / str(target).lstrip("/")
            if target.is_absolute() and inside.exists():
                link.unlink()
                link.symlink_to(os.path.relpath(inside, link.parent))


def make_headers(phase: Phase, server: Server, downloads: Path) -> None:
    """Makes the server's headers of its source and of HEADER_PACKAGES, which lie in `downloads`."""
    phase.progress("extracting the headers")
    (tarball,) = downloads.glob("*.orig.tar.*[xz]")
    packages = packages_in(downloads)
    server_headers.make(
        tarball,
        [packages[name] for name in HEADER_PACKAGES],
        server.headers,
        LOG / "server.log",
    )

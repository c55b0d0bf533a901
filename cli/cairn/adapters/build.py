"""cairn-adapters build: from the choice of a server to the package."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cairn import files, process, server_headers, versions
from cairn.adapters import check, needs, obtain, pack
from cairn.adapters import compile as compiler
from cairn.adapters.facts import Facts, Server, gather, known_versions
from cairn.adapters.place import PLUGIN_PACKAGE, SOURCE_PACKAGE, Own, Place, own
from cairn.errors import CairnError
from cairn.package import abi
from cairn.report import Reporter, say

LOG_NAME = "cairn-adapters.log"
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Request:
    """What the user has asked for."""

    version: str | None  # Of the server's packages; None: that which lacks a build.
    source: Path | None  # A directory with its source and packages, in place of apt.
    output: Path  # Where the package goes.


def run(place: Place, request: Request) -> int:
    """Makes the package; the exit status. Raises CairnError, and leaves then no more than a log."""
    facts = gather(place)
    version = choose(facts, request)
    if version is None:
        say("Nothing to build: Cairn has a build for the installed server, and for the candidate.")
        return 0
    text = versions.server_text(version)
    if reason := superfluous(facts, text):
        say(f"Nothing to build: {reason}.")
        return 0
    parent = Path(os.environ.get("TMPDIR") or "/var/tmp")
    needs.check(place, parent, request.output)
    log = request.output / LOG_NAME
    try:
        with _workspace(parent) as work:
            target = _make(place, request, version, work, log)
    except KeyboardInterrupt:
        log.unlink(missing_ok=True)
        raise
    log.unlink(missing_ok=True)
    say("")
    for line in advice(facts, own(place), version, target):
        say(line)
    return 0


def choose(facts: Facts, request: Request) -> str | None:
    """The version of the server to build for; None: every server there is has a build."""
    if request.version is not None:
        return full_version(request.version, _known(facts, request))
    if request.source is not None:
        found = obtain.versions_in(request.source)
        if len(found) != 1:
            raise CairnError(
                f"{request.source} has mariadb-server-core {', '.join(found)}: name one of them."
                if found
                else f"{request.source} has no package of mariadb-server-core."
            )
        return found[0]
    if facts.installed is not None and facts.installed.wrong:
        return _built_by_distribution(facts.installed)
    if facts.candidate is not None and facts.candidate.wrong:
        return facts.candidate.version
    if facts.installed is None and facts.candidate is None:
        raise CairnError(
            "No mariadb-server-core is installed, and apt knows none: run 'apt-get update' as "
            "root, or name a directory with its source and packages with --source."
        )
    return None


def full_version(named: str, known: list[str]) -> str:
    """The version with its epoch. Raises unless `named`, with or without it, is known."""
    for version in known:
        if named in (version, versions.bare(version)):
            return version
    raise CairnError(
        f"There is no mariadb-server-core {named} to be had"
        + (f"; there is {', '.join(known)}" if known else "")
        + ". If it is newer than apt's lists, run 'apt-get update' as root; if you have its source "
        "and packages, name their directory with --source."
    )


def superfluous(facts: Facts, text: str) -> str:
    """Why a build would be of no use; empty: it would."""
    for adapter in facts.adapters:
        of_this = adapter.package == PLUGIN_PACKAGE and facts.plugin == facts.own.version
        if adapter.server == text and of_this and not adapter.wrong:
            return f"{PLUGIN_PACKAGE} {facts.plugin} has a build for {text}"
    return ""


def advice(facts: Facts, own_version: Own, version: str, target: Path) -> list[str]:
    """What to do with the package."""
    arguments = [_argument(target)]
    if facts.plugin != own_version.version:
        arguments.append(f"./{PLUGIN_PACKAGE}_{own_version.version}_amd64.deb")
    if facts.installed is None or facts.installed.version != version:
        is_candidate = facts.candidate is not None and facts.candidate.version == version
        arguments += ["mariadb-server"] if is_candidate else _others(version)
    lines = [f"Made {target}", "Install it as root, and restart the server:"]
    lines += [f"    apt-get install {' '.join(arguments)}", "    systemctl restart mariadb"]
    if facts.plugin != own_version.version:
        lines.append(
            f"It is of Cairn {own_version.version}; {PLUGIN_PACKAGE} "
            f"{facts.plugin or 'is not installed'}."
        )
    return lines


def _argument(target: Path) -> str:
    # To the shell a tilde within is as any letter.
    return (
        str(target) if re.fullmatch(r"/[\w@%+=:,./~-]+", str(target)) else shlex.quote(str(target))
    )


def _others(version: str) -> list[str]:
    """The packages of the server that have to come in the same version."""
    listed = process.output(
        [
            *("dpkg-query", "--show"),
            "--showformat=${db:Status-Status} ${source:Package} ${Version} ${Package}\n",
        ]
    )
    of_server = {"mariadb-server", "mariadb-server-core"}
    fields = [line.split() for line in listed.splitlines()]
    installed = {field[3]: field[2] for field in fields if _is_of_server(field)}
    release = installed.get("mariadb-server-core")
    of_server |= {name for name, its_version in installed.items() if its_version == release}
    return [f"{name}={version}" for name in sorted(of_server)]


def _is_of_server(fields: list[str]) -> bool:
    return len(fields) == 4 and fields[0] == "installed" and fields[1] == SOURCE_PACKAGE


def _known(facts: Facts, request: Request) -> list[str]:
    if request.source is not None:
        return obtain.versions_in(request.source)
    known = known_versions()
    if facts.installed is not None and facts.installed.version not in known:
        known.append(facts.installed.version)
    return known


def _built_by_distribution(server: Server) -> str:
    """The version of the installed server; raises if its program is not that of its package."""
    expected = versions.server_text(server.version)
    if server.text and server.text != expected:
        raise CairnError(
            f"The installed server calls itself {server.text}, and that of mariadb-server-core "
            f"{server.version} is {expected}: it is of another vendor, or was compiled by hand, "
            "and Cairn cannot be built for it. Install the distribution's server."
        )
    return server.version


def _make(place: Place, request: Request, version: str, work: Path, log: Path) -> Path:
    reporter = Reporter()
    own_version = own(place)
    with reporter.phase("Server") as phase:
        if request.source is not None:
            obtained = obtain.from_directory(request.source, version)
        else:
            downloads = work / "downloads"
            downloads.mkdir()
            obtained = obtain.by_apt(phase, version, downloads, log)
        phase.summary = f"{versions.bare(version)}: source and packages"
    with reporter.phase("Headers") as phase:
        headers = work / "headers"
        server_headers.make(obtained.tarball, obtained.development, headers, log)
        core = files.fresh_directory(work / "core")
        process.run(
            ["dpkg-deb", "--extract", obtained.core, core], log=log, what="Unpacking the server"
        )
        daemon = core / "usr/sbin/mariadbd"
        text = check.same_version(headers, daemon)
        phase.summary = text
    with reporter.phase("Cairn") as phase:
        library = compiler.library(phase, place, headers, work / "build", log, jobs=needs.jobs())
        phase.summary = f"{library.stat().st_size >> 10:,} KiB"
    with reporter.phase("Check") as phase:
        check.symbols(library, daemon)
        phase.progress("starting the server with it")
        trial = files.fresh_directory(work / "trial")
        check.loads(library, daemon, core / "usr/share/mysql", trial, log)
        phase.summary = "symbols; the server starts with it and keeps a table"
    with reporter.phase("Package") as phase:
        result = pack.Result(library, abi.text(daemon), version, text)
        target = pack.pack(place, own_version, result, work, request.output, log)
        phase.summary = f"{target.stat().st_size >> 10:,} KiB"
    return target


@contextmanager
def _workspace(parent: Path) -> Iterator[Path]:
    """A directory that is gone afterwards, whatever happens."""
    work = Path(tempfile.mkdtemp(prefix="cairn-adapters-", dir=parent))
    try:
        work.chmod(0o711)  # apt downloads as a user of its own.
        yield work
    finally:
        before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING_SIGNALS}
        shutil.rmtree(work, ignore_errors=True)
        for number, handler in before.items():
            signal.signal(number, handler)

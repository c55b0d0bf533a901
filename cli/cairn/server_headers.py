"""The server's headers as Cairn's build wants them, from a source package and its -dev packages.

A directory of them has the parts of the source tree (include/, sql/, wsrep-lib/), what only a
configured tree has (generated/), and the library of the plug-in services (lib/). Knows nothing of a
checkout: cairn-adapters uses it as well.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cairn import files, process
from cairn.errors import CairnError

# Whose headers are taken; together they have all that a configured tree would have.
PACKAGES = ("libmariadb-dev", "libmariadbd-dev")
# What the headers' consumers cannot do without; a package that lost one of them is reported.
GENERATED_HEADERS = ("my_config.h", "mysql_version.h", "mysqld_ername.h", "mysqld_error.h")


def make(tarball: Path, packages: Sequence[Path], target: Path, log: Path) -> None:
    """Makes the directory `target`, which appears when it is complete.

    `tarball` is that of the authors, `packages` are the files of PACKAGES. Raises when one of them
    is damaged, is another file, or lacks a header.
    """
    partial = files.fresh_directory(target.with_name(f"{target.name}.partial"))
    top = _top_directory(tarball)
    # Members are named one by one, so that nothing else of the source tree reaches the disk; in
    # particular no storage engine.
    process.run(
        [
            *("tar", "--extract", "--file", tarball, "--directory", partial),
            *("--strip-components=1", "--wildcards", "--no-wildcards-match-slash"),
            *(f"{top}/{member}" for member in ("include", "wsrep-lib/include", "sql/*.h")),
            f"{top}/wsrep-lib/wsrep-API/v26/*.h",
        ],
        log=log,
        what="Extracting the server's headers",
    )
    development = files.fresh_directory(target.with_name(f"{target.name}.development"))
    for package in packages:
        process.run(
            ["dpkg-deb", "--extract", package, development],
            log=log,
            what=f"Unpacking {package.name}",
        )
    _copy_generated(partial, development)
    files.remove(development)
    files.install_directory(partial, target)


def _top_directory(tarball: Path) -> str:
    """The directory that every member of the tarball is in."""
    with subprocess.Popen(
        ["tar", "--list", "--file", str(tarball)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as listing:
        assert listing.stdout is not None
        first = listing.stdout.readline().strip()
        listing.terminate()
    top = re.match(r"[^/]+", first)
    if top is None:
        raise CairnError(f"{tarball} is no source package: remove it, and fetch it again.")
    return top.group()


def _copy_generated(headers: Path, development: Path) -> None:
    """Adds what only a configured source tree has: it comes from the -dev packages."""
    generated = headers / "generated"
    generated.mkdir()
    server = development / "usr" / "include" / "mariadb" / "server"
    for base, source in ((server, headers / "include"), (server / "private", headers / "sql")):
        for path in sorted(base.rglob("*")):
            name = path.relative_to(base)
            if not path.is_file() or "private" in name.parts or (source / name).exists():
                continue
            target = generated / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    # Debian builds without DTrace: the probes are the empty macros of this template.
    probes = headers / "include" / "probes_mysql_nodtrace.h.in"
    (generated / "probes_mysql_nodtrace.h").write_bytes(probes.read_bytes())
    lacking = [name for name in GENERATED_HEADERS if not (generated / name).is_file()]
    if lacking:
        raise CairnError(f"The -dev packages lack {', '.join(lacking)}: please report this.")
    (services,) = development.glob("usr/lib/*/libmysqlservices.a")
    (headers / "lib").mkdir()
    (headers / "lib" / services.name).write_bytes(services.read_bytes())

"""A server source tree of the user's, in place of the headers of the distribution's server.

CAIRN_SERVER_SOURCE names a tree of any version that was configured; what the configuration makes is
looked for in it and in its usual build directories. Of the tree only include/, sql/, wsrep-lib/ and
the library of the services are read.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from cairn import files
from cairn.errors import CairnError
from cairn.paths import cache
from cairn.prefix import Server
from cairn.server_headers import GENERATED_HEADERS

VARIABLE = "CAIRN_SERVER_SOURCE"
_BUILDS = (".", "build", "builddir", "bld")
_SERVICES = Path("libservices/libmysqlservices.a")
# Some versions make it, others have it in the tree.
_MAYBE_GENERATED = ("sql_state.h",)
_PROBES = Path("include/probes_mysql_nodtrace.h.in")


def named() -> Path | None:
    """The tree that the user names; None without one."""
    text = os.environ.get(VARIABLE)
    return Path(text).absolute() if text else None


def version(tree: Path) -> str:
    """ "10.11.18", of the file VERSION. Raises if it is no tree of a server."""
    path = tree / "VERSION"
    if not path.is_file() or not (tree / "sql" / "handler.h").is_file():
        raise CairnError(
            f"{VARIABLE}={tree}: a source tree of MariaDB has VERSION and sql/handler.h."
        )
    found = dict(
        re.findall(r"^MYSQL_VERSION_(MAJOR|MINOR|PATCH)=(\d+)\s*$", path.read_text("utf-8"), re.M)
    )
    if len(found) != 3:
        raise CairnError(f"{path} names no version of MariaDB.")
    return f"{found['MAJOR']}.{found['MINOR']}.{found['PATCH']}"


def apply(server: Server) -> Server:
    """The server with the headers of the tree that the user names, or as it is."""
    tree = named()
    return server if tree is None else replace(server, other_headers=headers(tree))


def headers(tree: Path) -> Path:
    """Lays the headers of a tree out as the build wants them. Raises if some are missing."""
    version(tree)
    generated = {name: _find(tree, Path("include") / name) for name in GENERATED_HEADERS}
    services = _find(tree, _SERVICES)
    lacking = [name for name, path in generated.items() if path is None]
    if lacking or services is None:
        raise CairnError(
            f"{tree} was not configured, or not far enough: it lacks "
            f"{', '.join([*lacking, *([] if services else [str(_SERVICES)])])}. Run\n"
            f"    cmake -S {tree} -B {tree}/build -DCMAKE_BUILD_TYPE=RelWithDebInfo\n"
            f"    cmake --build {tree}/build --target GenError mysqlservices"
        )
    name = hashlib.sha256(str(tree).encode()).hexdigest()[:16]
    root = files.fresh_directory(cache() / "server-source" / name)
    for folder in ("include", "sql", "wsrep-lib"):
        (root / folder).symlink_to(tree / folder)
    (root / "generated").mkdir()
    for optional in _MAYBE_GENERATED:
        generated[optional] = _find(tree, Path("include") / optional)
    for header, path in generated.items():
        if path is not None and path.parent != tree / "include":
            shutil.copyfile(path, root / "generated" / header)
    # Without DTrace the probes are the empty macros of this template.
    if (tree / _PROBES).is_file():
        shutil.copyfile(tree / _PROBES, root / "generated" / "probes_mysql_nodtrace.h")
    (root / "lib").mkdir()
    shutil.copyfile(services, root / "lib" / _SERVICES.name)
    return root


def _find(tree: Path, name: Path) -> Path | None:
    return next((tree / build / name for build in _BUILDS if (tree / build / name).is_file()), None)

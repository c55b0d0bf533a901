"""Whether what was compiled is for this server: its version, its symbols, and that it loads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from cairn import files, process
from cairn.errors import CairnError
from cairn.package import abi

_DECLARATIONS = {
    "_maria_plugin_declarations_",
    "_maria_plugin_interface_version_",
    "_maria_sizeof_struct_st_plugin_",
}
# A statement a line: the server's bootstrap takes what ends with a semicolon.
_FIRST_START = """\
CREATE DATABASE trial;
CREATE TABLE trial.t (a INT PRIMARY KEY, b VARCHAR(20), KEY (b)) ENGINE=ROCKSDB;
INSERT INTO trial.t VALUES (1, 'one'), (2, 'two'), (3, 'three');
UPDATE trial.t SET b = 'zwei' WHERE a = 2;
"""
_SECOND_START = (
    "BEGIN NOT ATOMIC IF (SELECT COUNT(*) FROM trial.t WHERE b = 'zwei') <> 1 OR (SELECT COUNT(*) "
    "FROM trial.t FORCE INDEX (b)) <> 3 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rows are "
    "missing'; END IF; END;\n"
)


def version_of_headers(headers: Path) -> str:
    """What a server calls itself, up to the first space, that was compiled with these headers."""
    path = headers / "generated" / "mysql_version.h"
    text = path.read_text(encoding="utf-8", errors="replace")
    found = dict(re.findall(r'^#define\s+(\w+)\s+"([^"]*)"', text, re.MULTILINE))
    version = found.get("MYSQL_SERVER_VERSION", "") + found.get("MYSQL_SERVER_SUFFIX_DEF", "")
    if not version:
        raise CairnError(f"{path} names no version: the -dev packages are not MariaDB's.")
    return version.partition(" ")[0]


def same_version(headers: Path, daemon: Path) -> str:
    """What the server calls itself. Raises if the headers are of another one."""
    require_libraries(daemon, "the server's program")
    text = abi.version_of(daemon, {})
    of_headers = version_of_headers(headers)
    if text != of_headers:
        raise CairnError(
            f"The packages do not belong together: the server calls itself {text}, its headers are "
            f"of {of_headers}. It is of another vendor, or its packages were changed by hand."
        )
    return text


def require_libraries(program: Path, what: str) -> None:
    """Raises if the system lacks a library that `program` is linked with."""
    lacking = re.findall(r"^\s*(\S+) => not found", _ldd(program), re.MULTILINE)
    if lacking:
        raise CairnError(
            f"{what} does not run here, for want of {', '.join(lacking)}: install the packages "
            "that mariadb-server-core depends on, or build on a machine that has the server."
        )


def symbols(library: Path, daemon: Path) -> None:
    """Raises if the library would not load for want of a symbol, or declares no plug-ins."""
    require_libraries(library, "The library")
    listing = _dynamic_symbols(library)
    exported = abi.parse(listing).defined.keys()
    if lacking := _DECLARATIONS - exported:
        raise CairnError(
            f"The library declares no plug-ins: it lacks {', '.join(sorted(lacking))}."
        )
    needed = strong_undefined(listing)
    found = set(abi.read(daemon).defined)
    for path in libraries(_ldd(library)):
        found |= abi.read(path).defined.keys()
    if lacking := needed - found:
        raise CairnError(
            "The library needs what this server does not have, so that it cannot be loaded:\n"
            + _readable(lacking)
            + "\nCairn's sources have to be adapted to this server: please report this."
        )


def libraries(listing: str) -> list[Path]:
    """The files that `ldd` names; the loader among them, which has no arrow."""
    return [Path(path) for path in re.findall(r"^\s*(?:\S+ => )?(/\S+) \(", listing, re.MULTILINE)]


def strong_undefined(listing: str) -> set[str]:
    """The symbols that must come from elsewhere; of `readelf --dyn-syms --wide`."""
    found = set()
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[6] == "UND" and fields[4] == "GLOBAL":
            found.add(fields[7].partition("@")[0])
    return found


def loads(library: Path, daemon: Path, messages: Path, work: Path, log: Path) -> None:
    """Lets the server itself load the library, and use the engine, with data of its own.

    `messages` is the directory share/mysql of the server. It listens nowhere. Raises if it does not
    start with the engine, or does not find its rows again.
    """
    plugins = work / "plugin"
    plugins.mkdir()
    (plugins / "ha_rocksdb.so").symlink_to(library)
    data = work / "data"
    data.mkdir()
    command = [
        str(daemon),
        "--no-defaults",
        "--bootstrap",
        "--skip-grant-tables",
        "--skip-networking",
        f"--datadir={data}",
        f"--tmpdir={work}",
        f"--lc-messages-dir={messages}",
        f"--plugin-dir={plugins}",
        "--plugin-load-add=ha_rocksdb.so",
        "--rocksdb=FORCE",
        "--innodb-buffer-pool-size=16M",
        "--innodb-log-file-size=4M",
        "--rocksdb-block-cache-size=16M",
        *(["--user=root"] if os.geteuid() == 0 else []),
    ]
    for number, statements in enumerate((_FIRST_START, _SECOND_START)):
        script = work / f"start-{number}.sql"
        script.write_text(statements, encoding="ascii")
        process.run(
            ["sh", "-c", 'exec "$@" < "$0"', script, *command],
            log=log,
            what="Starting the server with the new library",
            env={"LD_LIBRARY_PATH": ""},
        )
    if not (data / "#rocksdb").is_dir():
        raise CairnError(f"The server started without the engine. Log: {log}")
    files.remove(data)


def _ldd(program: Path) -> str:
    return process.output(["ldd", program], env={"LC_ALL": "C.UTF-8"})


def _dynamic_symbols(library: Path) -> str:
    return process.output(["readelf", "--dyn-syms", "--wide", library])


def _readable(names: Iterable[str]) -> str:
    shown = sorted(names)
    lines = [f"    {process.output(['c++filt', name]).strip() or name}" for name in shown[:20]]
    return "\n".join([*lines, *([f"    and {len(shown) - 20} more"] if len(shown) > 20 else [])])

"""What a person does with the package, step by step, and what must hold after each."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from cairn.package.tree import NAME
from cairn.report import Phase
from tests.acceptance.package import tables
from tests.acceptance.package.clean_system import CleanSystem
from tests.acceptance.package.trial import Trial

STOCK = "mariadb-plugin-rocksdb"
LIBRARY = "usr/lib/mysql/plugin/ha_rocksdb.so"
OPTIONS = "etc/mysql/mariadb.conf.d/cairn.cnf"
# Versions of servers that there is no build for.
_ANOTHER = "10.11.17-MariaDB-0+deb12u1"
_ANOTHER_MAKE = "10.11.18-MariaDB-ubu2204"


def _stock(trial: Trial, phase: Phase) -> None:
    system = trial.system
    phase.progress("installing MariaDB and the stock plug-in")
    system.install_server(trial.version, STOCK.removeprefix("mariadb-"))
    system.start()
    tables.make(system)
    trial.checksums = tables.checksums(system)
    phase.summary = f"{len(trial.checksums)} tables"


def _install(trial: Trial, phase: Phase) -> None:
    system = trial.system
    output = system.apt("install", trial.package)
    trial.require("Restart MariaDB to use it" in output, "the installation does not say what to do")
    trial.require(STOCK in output and "REMOVED" in output, "the stock plug-in was not replaced")
    trial.require_tables("with the old library in the running server")
    system.stop()
    system.start()
    trial.require(
        trial.plugins() == {("Cairn", "ACTIVE", "FORCE_PLUS_PERMANENT")},
        f"the plug-in is {trial.plugins()}",
    )
    ((count,),) = system.query(
        "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY = 'ha_rocksdb.so' "
        "AND PLUGIN_STATUS = 'ACTIVE'"
    )
    trial.require_tables("after the installation")
    ((written,),) = system.query(
        "CREATE TABLE test_cairn.after_it (a INT PRIMARY KEY) ENGINE=ROCKSDB",
        "INSERT INTO test_cairn.after_it VALUES (1), (2)",
        "SELECT COUNT(*) FROM test_cairn.after_it",
    )
    trial.require(written == 2, "a new table cannot be written")
    trial.checksums = tables.checksums(system)
    phase.summary = f"{count} plug-ins of Cairn, {len(trial.checksums)} tables as they were"


def _hold(trial: Trial, phase: Phase) -> None:
    """A newer server in the archive must not push the package out, nor come without it."""
    system = trial.system
    system.use_security_archive(use=True)
    try:
        installed = system.package_version("Installed")
        candidate = system.package_version("Candidate")
        if installed == candidate:
            phase.summary = f"not tried: the archive has no newer server than {installed}"
            return
        output = trial.require_server_kept(candidate)
        trial.require(NAME in output, f"apt-get install does not say what holds it: {output}")
        phase.summary = f"{installed} stays with {candidate} in the archive"
    finally:
        system.use_security_archive(use=False)


def _server_again(trial: Trial, phase: Phase) -> None:
    """The server's own packages run it without its options and make its tables."""
    system = trial.system
    system.stop()
    # By version: the archive may have a newer one.
    names = (f"{name}={trial.version}" for name in ("mariadb-server", "mariadb-server-core"))
    system.apt("install", "--reinstall", *names)
    system.start()
    trial.require_tables("after the server's packages were installed again")
    status, output = system.attempt("mariadb-upgrade", "--force")
    trial.require(status == 0, f"mariadb-upgrade: {output[-300:]}")
    trial.require_tables("after mariadb-upgrade")
    phase.summary = "installed again, mariadb-upgrade"


def _refusal(trial: Trial, phase: Phase) -> None:
    """Removal is refused while it would put tables or prepared transactions out of reach."""
    system = trial.system
    system.query(
        "XA START 'left'", "INSERT INTO test_cairn.after_it VALUES (3)", "XA END 'left'",
        "XA PREPARE 'left'",
    )  # fmt: skip
    status, output = _remove(system)
    trial.require(status != 0, "the package is removed though it has tables")
    trial.require("ENGINE=ROCKSDB: " in output, f"the refusal names no tables: {output[-400:]}")
    trial.require("XA PREPARE has left: 1" in output, "the refusal names no prepared transaction")
    system.query("XA ROLLBACK 'left'")
    definitions = list(system.data.glob("test_cairn/*.frm"))
    for definition in definitions:
        definition.rename(definition.with_suffix(".away"))
    system.query("FLUSH TABLES")
    # An environment that leads to another server.
    status, output = _remove(system, MYSQL_UNIX_PORT="/nowhere")
    trial.require(
        status != 0 and "the engine's own dictionary: 51" in output,
        f"tables without definitions: {output[-400:]}",
    )
    for definition in definitions:
        definition.with_suffix(".away").rename(definition)
    system.query("FLUSH TABLES")
    system.query(
        "XA START 'left'", "INSERT INTO test_cairn.after_it VALUES (3)", "XA END 'left'",
        "XA PREPARE 'left'",
    )  # fmt: skip
    system.kill()
    status, output = _remove(system)
    trial.require(status != 0, "the package is removed while the server is down")
    trial.require("does not answer" in output, f"the refusal says no reason: {output[-400:]}")
    trial.require(_is_installed(system), "a refused removal leaves the package half removed")
    system.start()
    trial.require_tables("after the refusal")
    trial.require(len(system.query("XA RECOVER")) == 1, "the prepared transaction is gone")
    phase.summary = "tables, some without definitions, a prepared transaction, no server"


def _remove(system: CleanSystem, *arguments: str, **variables: str) -> tuple[int, str]:
    return system.attempt(
        "apt-get", "--yes", "--allow-remove-essential", "remove", *arguments, NAME, **variables
    )


def _is_installed(system: CleanSystem) -> bool:
    return system.package_state(NAME) == "installed"


def _protection(trial: Trial, phase: Phase) -> None:
    system = trial.system
    status, output = system.attempt("apt-get", "--yes", "remove", NAME)
    trial.require(status != 0 and _is_installed(system), "apt removes the package unasked")
    trial.require("essential" in output.lower(), f"apt does not say why: {output[-300:]}")
    status, _ = system.attempt("dpkg", "--remove", NAME, CAIRN_REMOVE="1")
    trial.require(status != 0 and _is_installed(system), "dpkg removes the package unasked")
    phase.summary = "apt-get remove and dpkg --remove want a word more"


def _several(trial: Trial, phase: Phase) -> None:
    """Of several builds the server gets its own, wherever the names of the others come."""
    system = trial.system
    system.stop()
    adapter = trial.adapter()
    others = [adapter.with_name(name) for name in (_ANOTHER, "9.9.9-MariaDB", f"{adapter.name}.1")]
    for other in others:
        shutil.copytree(adapter, other)
        (other / "adapter.so").write_bytes(b"no library")
    system.start()
    trial.require_tables("with builds for other servers beside it")
    system.stop()
    elsewhere = adapter.with_name("elsewhere")
    adapter.rename(elsewhere)
    trial.require_no_start("builds for other servers alone", *(other.name for other in others))
    elsewhere.rename(adapter)
    for other in others:
        shutil.rmtree(other)
    phase.summary = f"its own of {1 + len(others)}; without it all are named"


def _faults(trial: Trial, phase: Phase) -> None:
    """Whatever is wrong with the library, the server does not start without the engine."""
    system = trial.system
    system.stop()
    adapter = trial.adapter()
    library, abi = adapter / "adapter.so", adapter / "abi"
    content, sizes = library.read_bytes(), abi.read_text(encoding="ascii")
    chooser = (system.root / LIBRARY).read_bytes()
    elsewhere = adapter.with_name(_ANOTHER)

    adapter.rename(elsewhere)
    trial.require_no_start(
        "a build for another server", "no build for server", adapter.name, elsewhere.name
    )
    elsewhere.rename(adapter)
    bytes_of_handler = int(sizes.split("7handler ")[1].split()[0])
    other = sizes.replace(f"7handler {bytes_of_handler}", f"7handler {bytes_of_handler + 8}")
    abi.write_text(other, encoding="ascii")
    trial.require_no_start(
        "another class", "7handler", f"{bytes_of_handler} bytes, not {bytes_of_handler + 8}"
    )
    abi.unlink()
    trial.require_no_start("no sizes", "abi is missing or damaged")
    for kept in (20, sizes.index("4Item"), len(sizes) - 3):
        abi.write_text(sizes[:kept], encoding="ascii")
        trial.require_no_start(f"{kept} bytes of sizes", "abi is missing or damaged")
    abi.write_text(sizes, encoding="ascii")
    library.write_bytes(content[: len(content) // 2])
    trial.require_no_start("a library that is cut off", "adapter.so is cut off")
    library.write_bytes(content.replace(b"_ZTI7handler\0", b"_ZTI7hindler\0"))
    trial.require_no_start("an unknown symbol", "cannot be loaded", "hindler")
    library.unlink()
    others = ", ".join(sorted(path.parent.name for path in adapter.parent.glob("*/adapter.so")))
    trial.require_no_start(
        "no library", "no build for server", f"/usr/lib/cairn: {others or 'none'}. "
    )
    library.write_bytes(content)
    (system.root / LIBRARY).unlink()
    trial.require_no_start("no plug-in", "rocksdb=FORCE_PLUS_PERMANENT")
    (system.root / LIBRARY).write_bytes(chooser)
    hidden = system.root / "etc/mysql/mariadb.conf.d/zz-version.cnf"
    for version in ("5.7.99", "10.11.99-MariaDB"):
        hidden.write_text(f"[mariadbd]\nversion = {version}\n", encoding="ascii")
        trial.require_no_start("a hidden version", f"no build for server {version}", "remove it")
    hidden.unlink()
    system.start()
    trial.require_tables("after the repair")
    trial.require(len(system.query("XA RECOVER")) == 1, "the prepared transaction is gone")
    phase.summary = "12 faults, each named; repaired, all is there"


def _installed_at_run_time(trial: Trial, phase: Phase) -> None:
    """Without options: INSTALL SONAME, and its error where there is no build."""
    system = trial.system
    system.stop()
    options = system.root / OPTIONS
    options.rename(options.with_suffix(".away"))
    adapter = trial.adapter()
    elsewhere = adapter.with_name(_ANOTHER)
    adapter.rename(elsewhere)
    system.start()
    output = system.attempt("mariadb", "--execute=INSTALL SONAME 'ha_rocksdb'")[1]
    trial.require("no build for server" in output, f"INSTALL SONAME says {output}")
    elsewhere.rename(adapter)
    system.query("INSTALL SONAME 'ha_rocksdb'")
    trial.require_tables("after INSTALL SONAME")
    system.stop()
    options.with_suffix(".away").rename(options)
    system.start()
    trial.require_tables("after that")
    phase.summary = "says why not, and installs"


def _taken_out(trial: Trial, phase: Phase) -> None:
    system = trial.system
    status, output = _remove(system, CAIRN_REMOVE="1")
    trial.require(status == 0 and not _is_installed(system), "CAIRN_REMOVE=1 does not remove it")
    trial.require("purge" in output, "the removal does not name what is left to do")
    trial.require_tables("in the running server, after the removal")
    system.kill()
    trial.require_no_start("the package is removed", "rocksdb=FORCE_PLUS_PERMANENT")
    trial.require((system.data / "#rocksdb/CURRENT").exists(), "the removal takes the data")
    system.apt("install", trial.package)
    system.start()
    trial.require_tables("after the package came back")
    trial.require(len(system.query("XA RECOVER")) == 1, "the prepared transaction is gone")
    ((rows,),) = system.query("XA COMMIT 'left'", "SELECT COUNT(*) FROM test_cairn.after_it")
    trial.require(rows == 3, f"the prepared transaction left {rows} rows, not 3")
    phase.summary = "removed, installed again, a prepared transaction committed"


def _other_server(trial: Trial, phase: Phase) -> None:
    """A server of another make is refused before anything is changed."""
    system = trial.system
    system.stop()
    _remove(system, CAIRN_REMOVE="1")
    daemon = system.root / "usr/sbin/mariadbd"
    daemon.rename(daemon.with_suffix(".away"))
    daemon.write_text(
        f"#!/bin/sh\necho 'mariadbd  Ver {_ANOTHER_MAKE} for debian-linux-gnu on x86_64'\n",
        encoding="ascii",
    )
    daemon.chmod(0o755)
    status, output = system.attempt("dpkg", "--install", trial.package)
    trial.require(status != 0, "a server of another make is accepted")
    trial.require(_ANOTHER_MAKE in output, f"the refusal says {output[-300:]}")
    trial.require(not (system.root / LIBRARY).exists(), "a refused installation leaves files")
    daemon.unlink()
    daemon.with_suffix(".away").rename(daemon)
    phase.summary = "refused, nothing changed"


def _purge(trial: Trial, phase: Phase) -> None:
    system = trial.system
    system.apt("install", trial.package)
    listed = [line[1:] for line in system.run("dpkg", "--listfiles", NAME).splitlines()]
    status, output = system.attempt(
        "apt-get", "--yes", "--allow-remove-essential", "purge", NAME, CAIRN_REMOVE="1"
    )
    trial.require(status == 0, f"purge: {output[-300:]}")
    left = [name for name in listed if (system.root / name).is_file()]
    trial.require(not left, f"purge leaves {', '.join(left)}")
    trial.require((system.data / "#rocksdb/CURRENT").exists(), "purge takes the data")
    phase.summary = f"{len(listed)} files and directories listed, none left; the data is there"


def _back_to_stock(trial: Trial, phase: Phase) -> None:
    """The directory is in the stock format, so that the stock plug-in opens it again."""
    system = trial.system
    system.apt("install", "--no-install-recommends", f"{STOCK}={trial.version}")
    system.start()
    trial.checksums.pop("test_cairn.after_it")
    system.query("DROP TABLE test_cairn.after_it")
    trial.require(
        {author for author, _, _ in trial.plugins()} != {"Cairn"}, "it is not the stock plug-in"
    )
    trial.require_tables("with the stock plug-in again")
    system.stop()
    phase.summary = f"{len(trial.checksums)} tables as they were"


STEPS: tuple[tuple[str, Callable[[Trial, Phase], None]], ...] = (
    ("Stock plug-in", _stock),
    ("Install", _install),
    ("A newer server", _hold),
    ("Server again", _server_again),
    ("Protected", _protection),
    ("Refused removal", _refusal),
    ("Several builds", _several),
    ("Broken library", _faults),
    ("INSTALL SONAME", _installed_at_run_time),
    ("Removal", _taken_out),
    ("Another make", _other_server),
    ("Purge", _purge),
    ("Back to stock", _back_to_stock),
)

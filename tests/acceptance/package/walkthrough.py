"""The pages on installing, upgrading and uninstalling, followed to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable

from cairn.errors import CairnError
from cairn.package.tree import NAME
from cairn.paths import ROOT
from cairn.report import Phase
from tests.acceptance.package import pages
from tests.acceptance.package.trial import Trial

_DOCS = ROOT / "docs"
# Of install.md; for those who have the stock plug-in.
_OVER_STOCK = "In place of the stock plug-in"
# What cairn-doctor may find wherever the tests run: a disk that others fill, a tmpfs.
_OF_THE_MACHINE = frozenset({"disk-nearly-full", "data-in-memory"})


def _server(trial: Trial, phase: Phase) -> None:
    system = trial.system
    phase.progress("installing MariaDB")
    system.install_server(trial.version)
    system.start()
    phase.summary = "the archive's, as installed"


def _install(trial: Trial, phase: Phase) -> None:
    _follow(trial, phase, "install.md", without=_OVER_STOCK)


def errors_of_the_server(answer: str) -> list[str]:
    """The codes of the errors in an answer of cairn-doctor --json that come from the server.

    An answer that says why it cannot be had raises CairnError.
    """
    try:
        found = json.loads(answer)
    except ValueError as error:
        raise CairnError(f"cairn-doctor answers {answer!r}: {error}") from None
    if found["error"] is not None:
        raise CairnError(f"cairn-doctor has no answer: {found['error']}")
    errors = {f["code"] for f in found["findings"] if f["severity"] == "error"}
    return sorted(errors - _OF_THE_MACHINE)


def _programs(trial: Trial, phase: Phase) -> None:
    """cairn-doctor finds no error; cairn-migrate takes a database there and back."""
    system = trial.system
    status, output = system.attempt("cairn-doctor", "--json")
    errors = errors_of_the_server(output)
    trial.require(not errors, f"cairn-doctor finds {errors}: {output}")
    trial.require(status in (0, 1, 2), f"cairn-doctor ends with {status}: {output}")
    trial.require('"Cairn' in output, f"it sees no engine: {output[-1500:]}")
    status, output = system.attempt("cairn-doctor", "--no-such-option")
    trial.require(status == 3, f"a wrong option: {status}: {output}")
    system.query(
        "CREATE DATABASE moved",
        "CREATE TABLE moved.parent (id INT PRIMARY KEY, a TEXT) ENGINE=InnoDB",
        "CREATE TABLE moved.child (id INT PRIMARY KEY, p INT, KEY (p), FOREIGN KEY (p) REFERENCES "
        "moved.parent (id) ON DELETE CASCADE) ENGINE=InnoDB",
        "INSERT INTO moved.parent SELECT seq, seq FROM moved.seq_1_to_1000",
        "INSERT INTO moved.child SELECT seq, seq FROM moved.seq_1_to_1000",
    )
    engines = "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'moved'"
    for target, engine in (("rocksdb", "ROCKSDB"), ("innodb", "InnoDB")):
        status, output = system.attempt("cairn-migrate", "run", "--schema=moved", f"--to={target}")
        trial.require(status == 0, f"cairn-migrate to {engine}: {output[-1500:]}")
        trial.require(system.query(engines) == [(engine,)], f"not all tables are {engine}")
    rows = system.query(
        "DELETE FROM moved.parent WHERE id <= 10", "SELECT COUNT(*) FROM moved.child"
    )
    trial.require(rows == [(990,)], f"the foreign key does not act: {rows}")
    system.query("DROP DATABASE moved")
    phase.summary = "cairn-doctor; cairn-migrate to ROCKSDB and back"


def _upgrade(trial: Trial, phase: Phase) -> None:
    trial.system.use_security_archive(use=True)
    try:
        _follow(trial, phase, "upgrade.md")
    finally:
        trial.system.use_security_archive(use=False)


def _uninstall(trial: Trial, phase: Phase) -> None:
    _follow(trial, phase, "uninstall.md", "To another engine")
    status, listed = trial.system.attempt("dpkg", "--listfiles", NAME)
    trial.require(status != 0, f"the package is still there: {listed[-300:]}")


def _remove_with_tables(trial: Trial, phase: Phase) -> None:
    system = trial.system
    system.apt("install", trial.package)
    system.stop()
    system.start()
    system.query(
        "CREATE TABLE shop.kept (a INT) ENGINE=ROCKSDB", "INSERT INTO shop.kept VALUES (7)"
    )
    _follow(trial, phase, "uninstall.md", "With tables left")
    trial.require(system.query("SELECT a FROM shop.kept") == [(7,)], "the row is not there again")


def _to_stock(trial: Trial, phase: Phase) -> None:
    system = trial.system
    system.query("DROP TABLE shop.kept", "SET GLOBAL cairn_format = 'stock'")
    system.query(
        "CREATE TABLE shop.both (a INT) ENGINE=ROCKSDB", "INSERT INTO shop.both VALUES (8)"
    )
    _follow(trial, phase, "uninstall.md", "To the stock plug-in")
    trial.require(system.query("SELECT a FROM shop.both") == [(8,)], "the row is not there")


def _over_stock(trial: Trial, phase: Phase) -> None:
    """An installation that breaks off leaves a server that does not start without the engine."""
    system = trial.system
    _follow(trial, phase, "install.md", _OVER_STOCK)
    with system.full("usr/lib/cairn"):
        status, _ = system.attempt("apt-get", "--yes", "install", trial.package)
    trial.require(status != 0, "the package goes onto a full disk")
    system.stop()
    trial.require_no_start("an installation that broke off", "rocksdb=FORCE_PLUS_PERMANENT")
    system.apt("install", "--fix-broken")
    system.apt("install", "--reinstall", trial.package)
    system.start()
    trial.require(system.query("SELECT a FROM shop.both") == [(8,)], "the row is not there again")
    system.stop()
    phase.summary = "a full disk: no start without the engine; installed again, all is there"


def _follow(trial: Trial, phase: Phase, name: str, section: str = "", *, without: str = "") -> None:
    """Follows a page, or one of its sections, or all but one."""
    text = (_DOCS / name).read_text(encoding="utf-8")
    left_out = pages.commands(pages.section(text, without)) if without else []
    commands = pages.commands(pages.section(text, section) if section else text)
    commands = [command for command in commands if command not in left_out]
    trial.require(commands, f"docs/{name} has no commands in {section!r}")
    trial.wrong += [f"docs/{name}: {wrong}" for wrong in pages.follow(trial.system, commands)]
    phase.summary = f"{len(commands)} commands"


STEPS: tuple[tuple[str, Callable[[Trial, Phase], None]], ...] = (
    ("Server", _server),
    ("docs/install.md", _install),
    ("Programs", _programs),
    ("docs/upgrade.md", _upgrade),
    ("docs/uninstall.md", _uninstall),
    ("… with tables", _remove_with_tables),
    ("… to stock", _to_stock),
    ("Broken off", _over_stock),
)

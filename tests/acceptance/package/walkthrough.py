"""The pages on installing, upgrading and uninstalling, followed to the letter."""

from __future__ import annotations

from collections.abc import Callable

from cairn.package.tree import NAME
from cairn.paths import ROOT
from cairn.report import Phase
from tests.acceptance.package import pages
from tests.acceptance.package.trial import Trial

_DOCS = ROOT / "docs"


def _server(trial: Trial, phase: Phase) -> None:
    system = trial.system
    phase.progress("installing MariaDB")
    system.install_server(trial.version)
    system.start()
    phase.summary = "the archive's, as installed"


def _install(trial: Trial, phase: Phase) -> None:
    _follow(trial, phase, "install.md")


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
    system.stop()


def _follow(trial: Trial, phase: Phase, name: str, section: str = "") -> None:
    text = (_DOCS / name).read_text(encoding="utf-8")
    commands = pages.commands(pages.section(text, section) if section else text)
    trial.require(commands, f"docs/{name} has no commands in {section!r}")
    trial.wrong += [f"docs/{name}: {wrong}" for wrong in pages.follow(trial.system, commands)]
    phase.summary = f"{len(commands)} commands"


STEPS: tuple[tuple[str, Callable[[Trial, Phase], None]], ...] = (
    ("Server", _server),
    ("docs/install.md", _install),
    ("docs/upgrade.md", _upgrade),
    ("docs/uninstall.md", _uninstall),
    ("… with tables", _remove_with_tables),
)

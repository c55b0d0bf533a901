"""Packages and places that dpkg refuses, and installations that it leaves half done.

Each step begins and ends with the stock plug-in in a server that runs with its tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cairn import process
from cairn.package.tree import NAME
from cairn.report import Phase
from tests.acceptance.package.clean_system import OUTPUT, CleanSystem
from tests.acceptance.package.steps import OPTIONS, STOCK
from tests.acceptance.package.trial import Trial

_PLUGINS = "usr/lib/mysql/plugin"


def _another_architecture(trial: Trial, phase: Phase) -> None:
    trial.system.start()
    other = _changed(trial, "arm64", Architecture="arm64")
    status, output = trial.system.attempt("dpkg", "--install", other)
    trial.require(status != 0, "a package for arm64 is installed")
    trial.require("arm64" in output, f"the refusal does not name the architecture: {output}")
    _require_stock(trial, "after a package for arm64")
    phase.summary = "refused, nothing changed"


def _read_only(trial: Trial, phase: Phase) -> None:
    """The directory of the server's plug-ins cannot be written: the old one stays in use."""
    system = trial.system
    with _mounted_read_only(system, _PLUGINS):
        status, output = system.attempt("dpkg", "--install", trial.package)
    trial.require(status != 0, "the package goes into a directory that cannot be written")
    trial.require("Read-only file system" in output, f"dpkg does not say why: {output[-500:]}")
    system.stop()
    system.start()
    trial.require({author for author, _, _ in trial.plugins()} != {"Cairn"}, "it is half there")
    trial.require_tables("after a directory that cannot be written")
    # dpkg has noted that the package is to be installed again.
    system.apt("install", trial.package)
    system.stop()
    system.start()
    trial.require_tables("installed once the directory can be written")
    _take_out(system)
    _stock_again(trial)
    phase.summary = "refused, the stock plug-in stays; then installed"


def _missing_libraries(trial: Trial, phase: Phase) -> None:
    """dpkg installs a package whose dependencies are not there, and leaves it unconfigured."""
    system = trial.system
    wanting = _changed(trial, "wanting", Depends="cairn-needs-this")
    system.apt("purge", STOCK)
    status, output = system.attempt("dpkg", "--install", wanting)
    trial.require(status != 0, "a package is configured without what it needs")
    trial.require("cairn-needs-this" in output, f"dpkg does not name it: {output[-500:]}")
    trial.require(
        not (system.root / OPTIONS).exists(),
        "the server's options name an engine that is not installed",
    )
    system.stop()
    system.start()
    trial.require(not trial.plugins(), "the server has an engine that is not installed")
    _take_out(system)
    _stock_again(trial)
    phase.summary = "unconfigured, and the server starts without it"


def _dpkg_over_stock(trial: Trial, phase: Phase) -> None:
    """dpkg alone: one of the two packages is there, whole, and never both."""
    system = trial.system
    status, output = system.attempt("dpkg", "--install", trial.package)
    states = {name: _state(system, name) for name in (STOCK, NAME)}
    trial.require(
        list(states.values()).count("installed") == 1,
        f"dpkg --install over the stock plug-in ({status}) leaves {states}: {output[-500:]}",
    )
    refused = system.attempt("dpkg", "--install", "--force-depends", _stock_package(trial))
    states = {name: _state(system, name) for name in (STOCK, NAME)}
    trial.require(
        list(states.values()).count("installed") == 1,
        f"dpkg --install of the stock plug-in ({refused[0]}) leaves {states}: {refused[1][-500:]}",
    )
    system.stop()
    system.start()
    trial.require_tables("after dpkg --install of either package over the other")
    phase.summary = f"{next(name for name, state in states.items() if state == 'installed')} stays"


def _replaced_while_it_runs(trial: Trial, phase: Phase) -> None:
    """The files are replaced below a server that is killed then; and all but stable is refused."""
    system = trial.system
    system.write("etc/mysql/mariadb.conf.d/zz-maturity.cnf", "[mariadbd]\nplugin_maturity=stable\n")
    system.apt("install", trial.package)
    system.stop()
    system.start()
    trial.require({author for author, _, _ in trial.plugins()} == {"Cairn"}, "Cairn is not there")
    system.apt("install", "--reinstall", trial.package)
    trial.require_tables("with the library replaced in the running server")
    system.kill()
    system.start()
    trial.require_tables("after a kill of a server whose library was replaced")
    phase.summary = "replaced, killed, started with plugin_maturity=stable"


# ---- what they share ---------------------------------------------------------------------------


def _changed(trial: Trial, suffix: str, **fields: str) -> str:
    """The package with other control fields, which is packed without compression; its path."""
    system = trial.system
    place = f"/root/{suffix}"
    system.run("rm", "--recursive", "--force", place)
    system.run("dpkg-deb", "--raw-extract", trial.package, place)
    control = system.root / place.removeprefix("/") / "DEBIAN/control"
    text = control.read_text(encoding="utf-8")
    for name, value in fields.items():
        text, count = re.subn(rf"^{name}: .*$", f"{name}: {value}", text, flags=re.MULTILINE)
        trial.require(count == 1, f"the package has {count} fields {name}")
    control.write_text(text, encoding="utf-8")
    system.run("dpkg-deb", "-Znone", "--build", place, f"{place}.deb")
    system.run("rm", "--recursive", place)
    return f"{place}.deb"


def _stock_package(trial: Trial) -> str:
    """Downloads the stock plug-in's package; its path."""
    trial.system.run("apt-get", "download", f"{STOCK}={trial.version}")
    return f"/{next(trial.system.root.glob(f'{STOCK}_*.deb')).name}"


def _state(system: CleanSystem, name: str) -> str:
    status, state = system.attempt("dpkg-query", "--show", "--showformat=${db:Status-Status}", name)
    return state.strip() if status == 0 else "not-installed"


def _require_stock(trial: Trial, when: str) -> None:
    """The stock plug-in is installed, and the server starts with it."""
    system = trial.system
    states = {name: _state(system, name) for name in (STOCK, NAME)}
    trial.require(
        states[STOCK] == "installed" and states[NAME] in ("not-installed", "config-files"),
        f"{when}: {states}",
    )
    system.stop()
    system.start()
    trial.require({author for author, _, _ in trial.plugins()} != {"Cairn"}, f"{when}: Cairn runs")
    trial.require_tables(when)


def _take_out(system: CleanSystem) -> None:
    system.run("dpkg", "--force-remove-protected", "--purge", NAME, CAIRN_REMOVE="1")


def _stock_again(trial: Trial) -> None:
    system = trial.system
    system.apt("install", "--no-install-recommends", f"{STOCK}={trial.version}")
    _require_stock(trial, "with the stock plug-in installed again")


@contextmanager
def _mounted_read_only(system: CleanSystem, name: str) -> Iterator[None]:
    place = system.root / name
    process.run(["mount", "--bind", place, place], log=OUTPUT, what=f"Mounting {place}")
    try:
        process.run(
            ["mount", "--options", "remount,bind,ro", place], log=OUTPUT, what=f"Mounting {place}"
        )
        yield
    finally:
        process.run(["umount", place], log=OUTPUT, what=f"Unmounting {place}")


STEPS: tuple[tuple[str, Callable[[Trial, Phase], None]], ...] = (
    ("Another architecture", _another_architecture),
    ("Read-only plug-ins", _read_only),
    ("Missing libraries", _missing_libraries),
    ("dpkg alone", _dpkg_over_stock),
    ("Replaced while it runs", _replaced_while_it_runs),
)

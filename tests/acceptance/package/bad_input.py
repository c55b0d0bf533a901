"""Packages and places that dpkg refuses, and installations that it leaves half done.

They begin and end with the stock plug-in and its tables; the last two leave Cairn installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cairn import process
from cairn.package.tree import NAME
from cairn.report import Phase
from tests.acceptance.package.clean_system import OUTPUT, CleanSystem
from tests.acceptance.package.steps import LIBRARY, OPTIONS, STOCK
from tests.acceptance.package.trial import Trial

_PLUGINS = "usr/lib/mysql/plugin"
_STOCK_AUTHOR = "Monty Program Ab"


def _another_architecture(trial: Trial, phase: Phase) -> None:
    trial.system.start()
    status, output = trial.system.attempt(
        "dpkg", "--install", _changed(trial, "other", Architecture="arm64")
    )
    trial.require(status != 0, "a package for arm64 is installed")
    trial.require(
        "package architecture (arm64) does not match system (amd64)" in output,
        f"the refusal does not name the architecture: {output}",
    )
    _require_stock(trial, "after a package for arm64")
    phase.summary = "refused, nothing changed"


def _read_only(trial: Trial, phase: Phase) -> None:
    """The directory of the server's plug-ins cannot be written: the old one stays in use."""
    system = trial.system
    library = system.root / LIBRARY
    before = library.read_bytes()
    with _mounted_read_only(system, _PLUGINS):
        status, output = system.attempt("dpkg", "--install", trial.package)
    trial.require(status != 0, "the package goes into a directory that cannot be written")
    trial.require("Read-only file system" in output, f"dpkg does not say why: {output[-500:]}")
    # dpkg calls either package half-installed then: it could not clean up.
    trial.require(library.read_bytes() == before, "the library is another one")
    _restart(trial, _STOCK_AUTHOR, "after a directory that cannot be written")
    # What docs/install.md says of it.
    status, output = system.attempt("apt-get", "--yes", "install", "--fix-broken")
    trial.require(status != 0 and "needs to be reinstalled" in output, f"apt says {output[-500:]}")
    system.apt("install", "--reinstall", trial.package)
    _restart(trial, "Cairn", "installed once the directory can be written")
    _take_out(trial)
    _stock_again(trial)
    phase.summary = "refused, the stock plug-in stays; then installed"


def _missing_libraries(trial: Trial, phase: Phase) -> None:
    """dpkg unpacks a package whose dependencies are not there, and leaves it unconfigured."""
    system = trial.system
    # What INSTALL SONAME has noted would load the library by itself.
    system.query("DELETE FROM mysql.plugin WHERE dl = 'ha_rocksdb.so'")
    system.apt("purge", STOCK)
    _unpack(trial)
    trial.require(
        not (system.root / OPTIONS).exists(),
        "the server's options name an engine that is not installed",
    )
    system.stop()
    system.start()
    trial.require(not trial.plugins(), "the server has an engine that is not installed")
    _take_out(trial)
    _stock_again(trial)
    phase.summary = "unconfigured, and the server starts without it"


def _missing_libraries_over_stock(trial: Trial, phase: Phase) -> None:
    """The same where dpkg takes the stock plug-in away for it: the tables stay within reach."""
    system = trial.system
    output = _unpack(trial)
    trial.require(f"remove {STOCK} in favour" in output, f"dpkg says {output[-500:]}")
    # The stock plug-in's option file is still there, and loads the library.
    _restart(trial, "Cairn", "with an unconfigured package over the stock plug-in")
    system.run("dpkg", "--install", trial.package)
    _restart(trial, "Cairn", "with the whole package over it")
    _take_out(trial)
    _stock_again(trial)
    phase.summary = "unconfigured, the tables are there; then installed"


def _dpkg_over_stock(trial: Trial, phase: Phase) -> None:
    """dpkg alone puts Cairn in the stock plug-in's place, and refuses the other way."""
    system = trial.system
    status, output = system.attempt("dpkg", "--install", trial.package)
    cairn_alone = {STOCK: "config-files", NAME: "installed"}
    trial.require(
        status == 0 and _states(system) == cairn_alone,
        f"dpkg --install over the stock plug-in leaves {_states(system)}: {output[-500:]}",
    )
    status, output = system.attempt("dpkg", "--install", _stock_package(trial))
    trial.require(
        status != 0 and "conflict" in output and _states(system) == cairn_alone,
        f"dpkg --install of the stock plug-in leaves {_states(system)}: {output[-500:]}",
    )
    _restart(trial, "Cairn", "after dpkg --install of either package over the other")
    phase.summary = "takes the place of the stock plug-in, which then is refused"


def _replaced_while_it_runs(trial: Trial, phase: Phase) -> None:
    """The files are replaced below a server that is killed then, and takes stable plug-ins only."""
    system = trial.system
    system.write("etc/mysql/mariadb.conf.d/zz-maturity.cnf", "[mariadbd]\nplugin_maturity=stable\n")
    _restart(trial, "Cairn", "with plugin_maturity=stable")
    trial.require(
        system.query("SELECT @@GLOBAL.plugin_maturity") == [("stable",)], "it is not in force"
    )
    libraries = (system.root / LIBRARY, trial.adapter() / "adapter.so")
    before = [path.stat().st_ino for path in libraries]
    system.apt("install", "--reinstall", trial.package)
    trial.require(
        not {*before} & {path.stat().st_ino for path in libraries}, "the files are the old ones"
    )
    trial.require_tables("with the library replaced in the running server")
    system.kill()
    _restart(trial, "Cairn", "after a kill of a server whose library was replaced")
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


def _unpack(trial: Trial) -> str:
    """dpkg takes a package that needs one that there is not, and goes half the way; its output."""
    wanting = _changed(trial, "wanting", Depends="cairn-needs-this")
    status, output = trial.system.attempt("dpkg", "--install", wanting)
    trial.require(status != 0, "a package is configured without what it needs")
    trial.require("cairn-needs-this" in output, f"dpkg does not name it: {output[-500:]}")
    state = trial.system.package_state(NAME)
    trial.require(state == "unpacked", f"the package is {state}")
    return output


def _stock_package(trial: Trial) -> str:
    """Downloads the stock plug-in's package; its path."""
    trial.system.run("apt-get", "download", f"{STOCK}={trial.version}")
    return f"/{next(trial.system.root.glob(f'{STOCK}_*.deb')).name}"


def _states(system: CleanSystem) -> dict[str, str]:
    return {name: system.package_state(name) for name in (STOCK, NAME)}


def _restart(trial: Trial, author: str, when: str) -> None:
    """The server starts again with the engine of that author, and has its tables."""
    trial.system.stop()
    trial.system.start()
    found = {name for name, status, _ in trial.plugins() if status == "ACTIVE"}
    trial.require(found == {author}, f"{when}: the engine is that of {found}")
    trial.require_tables(when)


def _require_stock(trial: Trial, when: str) -> None:
    """The stock plug-in is installed, and the server starts with it."""
    states = _states(trial.system)
    trial.require(
        states[STOCK] == "installed" and states[NAME] in ("not-installed", "config-files"),
        f"{when}: {states}",
    )
    _restart(trial, _STOCK_AUTHOR, when)


def _take_out(trial: Trial) -> None:
    output = trial.system.run("dpkg", "--force-remove-protected", "--purge", NAME, CAIRN_REMOVE="1")
    trial.require(".dpkg-new" not in output, f"purging names what no server reads: {output[-500:]}")


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
    ("… over the stock", _missing_libraries_over_stock),
    ("dpkg alone", _dpkg_over_stock),
    ("Replaced while it runs", _replaced_while_it_runs),
)

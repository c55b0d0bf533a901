"""./cairn install, ./cairn uninstall: what they do, in order, and what they take back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cairn import plugin, prefix, process
from cairn.errors import CairnError
from cairn.install import facts as server_facts
from cairn.install import restart as server_restart
from cairn.install.facts import Facts
from cairn.install.journal import Journal
from cairn.package import abi
from cairn.paths import BUILD, LOG, ROOT
from cairn.place import Place
from cairn.report import Reporter, say

OPTIONS_NAME = "cairn.cnf"
_MAIN_FILES = (Path("/etc/mysql/my.cnf"), Path("/etc/my.cnf"))


@dataclass(frozen=True)
class Wishes:
    """What the user said."""

    place: Place
    options_directory: Path | None = None
    restart: str = ""  # The command; empty: none.
    check: bool = False
    leave_tables: bool = False


def install(wishes: Wishes) -> int:
    """Puts Cairn into a server; the exit status."""
    reporter = Reporter()
    with reporter.phase("Server") as phase:
        before = server_facts.read(wishes.place)
        phase.summary = f"{before.version}, plug-ins in {before.plugin_directory}"
    options = wishes.options_directory or _options_directory()
    if not _may_go_in(before, options):
        return 1
    if wishes.check:
        say("Cairn can be installed: nothing was changed.")
        return 0
    _take_rest_back(before, reporter)
    journal = Journal(before.adapters_directory)
    try:
        with reporter.phase("Files") as phase:
            _place_files(journal, before, options)
            phase.summary = f"{len(journal.changes)}, in {before.plugin_directory} and {options}"
        if wishes.restart:
            with reporter.phase("Restart") as phase:
                sums = server_facts.checksums(wishes.place)
                after = server_restart.restart(wishes.restart, wishes.place, before, phase)
                server_restart.require_as_before(before, after, "Cairn")
                server_restart.require_sums(sums, server_facts.checksums(wishes.place, sums))
                phase.summary = f"{len(sums)} tables compared"
    except BaseException:
        _put_back(journal, wishes, before, reporter)
        raise
    journal.finish()
    say("" if wishes.restart else "Restart the server to use it.")
    say("Cairn is installed; ./cairn uninstall takes it out again.")
    return 0


def _put_back(journal: Journal, wishes: Wishes, before: Facts, reporter: Reporter) -> None:
    """After a failure: the files of before, and a server that runs with them."""
    with reporter.phase("Taking it back") as phase:
        journal.take_back()
        phase.summary = "the files are as they were"
    if not wishes.restart:
        return
    with reporter.phase("Restart") as phase:
        try:
            after = server_restart.restart(wishes.restart, wishes.place, _nobody(before), phase)
            server_restart.require_as_before(before, after, before.author)
            phase.summary = "the server runs as before"
        except CairnError as error:
            phase.summary = "failed"
            say(f"    The server does not run as before: {error}")


def _nobody(before: Facts) -> Facts:
    """A server of which any process is another one."""
    return Facts(**(vars(before) | {"pid": 0}))


def _may_go_in(before: Facts, options: Path) -> bool:
    mariadb = prefix.require()
    if not plugin.library().is_file() or not _chooser().is_file():
        raise CairnError("There is no plug-in yet: run ./cairn build.")
    found = server_facts.problems(
        before,
        abi.version_of(mariadb.daemon, mariadb.environment()),
        abi.virtual_tables(abi.read(mariadb.daemon)),
        abi.virtual_tables(abi.read(Path(f"/proc/{before.pid}/exe"))),
    )
    journal = Journal.load(before.adapters_directory)
    if journal is not None and journal.finished:
        found.append("Cairn is installed: ./cairn uninstall takes it out, then install it again.")
    if not options.is_dir():
        found.append(f"{options} is no directory: name that of the server's option files.")
    for text in found:
        say(f"    {text}")
    if found:
        say("Cairn cannot be installed: nothing was changed.")
    return not found


def _take_rest_back(before: Facts, reporter: Reporter) -> None:
    """What a command that was killed has left."""
    journal = Journal.load(before.adapters_directory)
    if journal is None:
        return
    with reporter.phase("Interrupted before") as phase:
        journal.take_back()
        phase.summary = "its files are taken back"


def _chooser() -> Path:
    return BUILD / "release" / "chooser" / plugin.LIBRARY


def _place_files(journal: Journal, before: Facts, options: Path) -> None:
    mariadb = prefix.require()
    adapter = before.adapters_directory / before.version
    sizes = abi.text(mariadb.daemon)
    template = (ROOT / "packaging" / "debian" / OPTIONS_NAME).read_text(encoding="utf-8")
    text = template.replace(" (package mariadb-plugin-cairn)", "")

    def strip(source: Path, target: Path) -> None:
        # Debug information is most of the file; the checkout keeps it.
        process.run(
            ["strip", "--strip-debug", "-o", target, source],
            log=LOG / "install.log",
            what=f"Copying {source.name}",
        )

    library = before.plugin_directory / plugin.LIBRARY
    journal.place(adapter / "adapter.so", lambda path: strip(plugin.library(), path), 0o644)
    journal.place(adapter / "abi", lambda path: _write(path, sizes), 0o644)
    journal.place(library, lambda path: strip(_chooser(), path), 0o644)
    # The last one: only then the server's next start wants all of them.
    journal.place(options / OPTIONS_NAME, lambda path: _write(path, text), 0o644)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _options_directory() -> Path:
    """The directory that the server's main option file includes last."""
    for file in _MAIN_FILES:
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        included = re.findall(r"^\s*!includedir\s+(\S+)", text, re.MULTILINE)
        if included:
            return Path(included[-1])
    names = " and ".join(map(str, _MAIN_FILES))
    raise CairnError(
        f"{names} include no directory of option files: name one that the server reads with "
        "--options-directory."
    )


# ---- uninstall ---------------------------------------------------------------------------------


def uninstall(wishes: Wishes) -> int:
    """Takes Cairn out of a server; the exit status."""
    reporter = Reporter()
    with reporter.phase("Server") as phase:
        before = server_facts.read(wishes.place)
        phase.summary = f"{before.version}, plug-in of {before.author or 'nobody'}"
    journal = Journal.load(before.adapters_directory)
    if journal is None:
        raise CairnError(f"./cairn install has put nothing into {before.plugin_directory}.")
    library = before.plugin_directory / plugin.LIBRARY
    to_stock = any(change.path == library and change.before for change in journal.changes)
    found = why_not(before, to_stock=to_stock, leave_tables=wishes.leave_tables)
    for text in found:
        say(f"    {text}")
    if found or wishes.check:
        outcome = "cannot" if found else "can"
        say(f"Cairn {outcome} be taken out: nothing was changed.")
        return 1 if found else 0
    with reporter.phase("Files") as phase:
        journal.take_back()
        phase.summary = "as they were before"
    if wishes.restart:
        with reporter.phase("Restart") as phase:
            sums = server_facts.checksums(wishes.place) if to_stock else {}
            after = server_restart.restart(wishes.restart, wishes.place, before, phase)
            if to_stock:
                server_restart.require_tables(before, after)
                server_restart.require_sums(sums, server_facts.checksums(wishes.place, sums))
            phase.summary = f"plug-in of {after.author or 'nobody'}"
    else:
        say("The server keeps Cairn until its next start.")
    return 0


def why_not(before: Facts, *, to_stock: bool, leave_tables: bool) -> list[str]:
    """Why Cairn cannot be taken out; `to_stock`: the stock plug-in comes back."""
    found = []
    if before.prepared:
        found.append(
            f"XA PREPARE has left {before.prepared} transactions: commit or roll them back first."
        )
    if to_stock:
        # Empty where the server still runs with the stock plug-in.
        found += [f"The stock plug-in cannot read {text}" for text in before.obstacles[:20]]
        if len(before.obstacles) > 20:
            found.append(
                f"and {len(before.obstacles) - 20} more; docs/going-back.md says what to do"
            )
    elif before.tables and not leave_tables:
        found.append(
            f"{len(before.tables)} tables have ENGINE=ROCKSDB, {before.tables[0]} among them: move "
            "them to another engine, or say --leave-tables to leave them out of reach."
        )
    return found

"""./cairn clean: removes what the other commands made."""

from __future__ import annotations

import click

from cairn import files, server
from cairn.errors import CairnError
from cairn.paths import BUILD, VAR, cache, shown
from cairn.report import say


def run(*, with_cache: bool, assume_yes: bool) -> None:
    if found := server.running():
        raise CairnError(f"The server runs (pid {found.pid}): stop it first with ./cairn down.")
    targets = [path for path in (BUILD, VAR, *([cache()] if with_cache else [])) if path.exists()]
    if not targets:
        say("There is nothing to remove.")
        return
    for path in targets:
        what = " (with the data directory)" if path == VAR and server.DATA.exists() else ""
        say(f"  {shown(path)}{what}")
    if not assume_yes and not click.confirm("Remove these directories?"):
        say("Nothing was removed.")
        return
    for path in targets:
        files.remove(path)
    say("Removed.")

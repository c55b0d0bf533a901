"""A server that has ended within a script of the hunt."""

from __future__ import annotations

import time

from cairn.errors import CairnError
from cairn.scratch_server import ScratchServer


def revive(server: ScratchServer, error: CairnError) -> tuple[str, str]:
    """Starts the server again; returns how it ended, in a few words, and what it said.

    Data with which it does not start is kept beside an empty directory.
    """
    time.sleep(1)  # A process that crashes writes its stack first.
    ending, excerpt = server.ending(), server.excerpt()
    kind = f"the server ended by {ending}" if ending else str(error).splitlines()[0][:60]
    server.kill()
    try:
        server.start()
    except CairnError as refused:
        kind, excerpt = "the server does not start", str(refused)
        server.kill()
        broken = len(list(server.directory.glob("broken-*")))
        server.data.rename(server.directory / f"broken-{broken + 1}")
        server.empty()
        server.start()
    return kind, f"{error}\n{excerpt}"

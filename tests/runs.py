"""What the long checks share before and after a run: what they need, a seed, what they leave."""

from __future__ import annotations

import random
import re
from pathlib import Path

from cairn import packages, plugin, prefix, sysbench
from cairn.errors import CairnError
from cairn.paths import shown
from cairn.prefix import Server
from cairn.report import Reporter, say
from cairn.scratch_server import remove

_INNODB_ASSERTION = re.compile(r"InnoDB: Assertion failure in file \S*storage/innobase/")


def prepare(reporter: Reporter, *groups: packages.Group) -> Server:
    """Installs what servers need and these packages, and makes sure that there is a plug-in."""
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.SERVER, *groups), phase)
    mariadb = prefix.require()
    if packages.SYSBENCH in groups:
        sysbench.ensure(mariadb)
    if not plugin.library().is_file():
        raise CairnError("There is no plug-in yet: run ./cairn build.")
    return mariadb


def chosen_seed(seed: int | None) -> int:
    """The seed wished for, or a new one."""
    return random.SystemRandom().randrange(1_000_000) if seed is None else seed


def leave(directory: Path, failed: object, again: str = "") -> None:
    """Removes a run's directory, or says that it is kept because something failed."""
    if failed:
        say(f"  Kept for a look: {shown(directory)}{again}")
    else:
        remove(directory)


def innodb_aborted(text: str) -> bool:
    """Whether a server ended at its start by an assertion of InnoDB's own.

    `text` is what its start raised; the plug-in is on none of its lines. (Seen of InnoDB 10.11
    after a kill with a binary log: flst_add_first in trx0purge.cc.)
    """
    return (
        "while it started" in text
        and bool(_INNODB_ASSERTION.search(text))
        and "rocksdb" not in text.lower()
    )

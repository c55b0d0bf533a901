"""What a package is called: from the commit that it is made of."""

from __future__ import annotations

import time
from dataclasses import dataclass

from cairn import process
from cairn.errors import CairnError
from cairn.paths import ROOT

RELEASE = "1.0"


@dataclass(frozen=True)
class Version:
    """The version of a package, and the time that everything in it bears (seconds since 1970)."""

    text: str
    epoch: int

    def date(self) -> str:
        """As a Debian changelog has it."""
        return time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(self.epoch))


def of_commit(epoch: int, commit: str, *, changed: bool) -> Version:
    """Later commits sort after earlier ones; one that was changed since sorts after itself."""
    stamp = time.strftime("%Y%m%d.%H%M%S", time.gmtime(epoch))
    return Version(f"{RELEASE}~git{stamp}.{commit}{'+changed' if changed else ''}", epoch)


def current() -> Version:
    """The version of the checkout."""
    git = ["git", "-C", str(ROOT)]
    fields = process.output([*git, "log", "-1", "--format=%ct %h", "--abbrev=10"]).split()
    if len(fields) != 2:
        raise CairnError(
            "A package is named after the commit that it is made of, and this is no git checkout: "
            "clone the repository, and make the package there."
        )
    changed = process.output([*git, "status", "--porcelain", "--untracked-files=no"]) != ""
    return of_commit(int(fields[0]), fields[1], changed=changed)

"""Where things are: what the packages have put into the system, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cairn.errors import CairnError

PLUGIN_PACKAGE = "mariadb-plugin-cairn"
# Of what is made here: one name, so that the next server's takes the place of the last one's. The
# package of this name that comes with each Cairn is empty, and a later version, and replaces it.
LOCAL_PACKAGE = "mariadb-plugin-cairn-adapter"
SERVER_PACKAGE = "mariadb-server-core"
SOURCE_PACKAGE = "mariadb"
ARCHITECTURE = "amd64"
MAINTAINER = "Cairn maintainers <maintainers@cairn.invalid>"


@dataclass(frozen=True)
class Place:
    """The directories of the packages; tests have others."""

    sources: Path = Path("/usr/src/cairn")
    libraries: Path = Path("/usr/lib/cairn-adapters")
    recipe: Path = Path("/usr/share/cairn-adapters")
    adapters: Path = Path("/usr/lib/cairn")
    daemon: Path = Path("/usr/sbin/mariadbd")


@dataclass(frozen=True)
class Own:
    """Which Cairn the sources here are of."""

    version: str
    epoch: int  # Seconds since 1970: of the commit.


def own(place: Place) -> Own:
    """Reads it. Raises if the package is not there, or damaged."""
    path = place.recipe / "version"
    try:
        version, epoch = path.read_text(encoding="utf-8").split()
        return Own(version, int(epoch))
    except (OSError, ValueError) as error:
        raise CairnError(
            f"{path} is missing or damaged: apt-get install --reinstall cairn-adapters."
        ) from error

"""Which MariaDB of the distribution Cairn builds against: pure decisions, no network."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from cairn.errors import CairnError

# The series of the server that Cairn is developed with.
SERIES = "10.11"
# Those that it has builds for, and the release of Debian whose server is of it.
RELEASES = {SERIES: 12, "11.8": 13}
_BUILD = re.compile(
    r"(?:\d+:)?(?P<upstream>(?P<series>\d+\.\d+)\.\d+)(?:\+ds)?-(?P<revision>\d+\+deb(?P<release>\d+)u\d+)"
)


@dataclass(frozen=True)
class Offer:
    """One version of mariadb-server and the archive that has it, as `apt-cache madison` says."""

    version: str
    site: str
    suite: str
    component: str

    @property
    def bare(self) -> str:
        """The version without its epoch."""
        return bare(self.version)


def bare(version: str) -> str:
    """A version without its epoch, as file names carry it."""
    return version.partition(":")[2] or version


def release_of(package_version: str) -> int:
    """The release of Debian that a version of its server is of: 12. Raises as server_text()."""
    return int(_build_of(package_version)["release"])


def server_text(package_version: str) -> str:
    """What the server of a package calls itself: "10.11.19-MariaDB-0+deb12u1".

    11.8 goes on with " from Debian", which is left out here and wherever builds are named. Raises
    for what is no build of the distribution: others are compiled otherwise, may call themselves the
    same, and nobody has tried Cairn with them.
    """
    found = _build_of(package_version)
    return f"{found['upstream']}-MariaDB-{found['revision']}"


def _build_of(package_version: str) -> re.Match[str]:
    found = _BUILD.fullmatch(package_version)
    if found is None or RELEASES.get(found["series"]) != int(found["release"]):
        known = " or ".join(f"{series} of Debian {n}" for series, n in RELEASES.items())
        raise CairnError(
            f"{package_version} is no MariaDB {known}, whose versions are like "
            f"1:{SERIES}.18-0+deb{RELEASES[SERIES]}u1. Cairn is built for those alone: another "
            "vendor's server, or another release, is compiled otherwise."
        )
    return found


def parse_madison(text: str) -> list[Offer]:
    """Reads lines such as `mariadb-server | 1:10.11.18-0 | http://site bookworm/main amd64 …`."""
    offers = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3:
            continue
        place = fields[2].split()
        if len(place) < 4 or place[-1] != "Packages" or "/" not in place[1]:
            continue
        suite, _, component = place[1].rpartition("/")
        offers.append(Offer(fields[1], place[0], suite, component))
    return offers


def candidates(offers: Iterable[Offer], series: str = SERIES) -> list[str]:
    """The versions of the series, newest first, each once."""
    pattern = re.compile(rf"^(\d+:)?{re.escape(series)}\.")
    return newest_first({offer.version for offer in offers if pattern.match(offer.version)})


def newest_first(versions: Iterable[str]) -> list[str]:
    """Versions in Debian's order."""
    return sorted(versions, key=functools.cmp_to_key(compare), reverse=True)


def compare(left: str, right: str) -> int:
    """Debian's order of versions: negative, zero or positive as left is older, same or newer."""
    pairs = zip(_parts(left), _parts(right), strict=True)
    return next((order for a, b in pairs if (order := _compare_part(a, b))), 0)


def _parts(version: str) -> tuple[str, str, str]:
    """Epoch, upstream version and revision; the last two are split at the last hyphen."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, hyphen, revision = rest.rpartition("-")
    return (epoch, upstream, revision) if hyphen else (epoch, rest, "")


def _order(character: str) -> int:
    """`~` sorts before the end of a part, letters before everything else."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def _leading(pattern: str, text: str) -> str:
    found = re.match(pattern, text)
    return found.group() if found else ""


def _compare_part(left: str, right: str) -> int:
    while left or right:
        left_text, right_text = _leading(r"\D*", left), _leading(r"\D*", right)
        for index in range(max(len(left_text), len(right_text))):
            a = _order(left_text[index]) if index < len(left_text) else 0
            b = _order(right_text[index]) if index < len(right_text) else 0
            if a != b:
                return -1 if a < b else 1
        left, right = left[len(left_text) :], right[len(right_text) :]
        left_digits, right_digits = _leading(r"\d*", left), _leading(r"\d*", right)
        difference = int(left_digits or 0) - int(right_digits or 0)
        if difference:
            return -1 if difference < 0 else 1
        left, right = left[len(left_digits) :], right[len(right_digits) :]
    return 0

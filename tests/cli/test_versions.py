"""Which server version is chosen, and which there can be builds for."""

import pytest

from cairn import versions
from cairn.errors import CairnError

MADISON = """
mariadb-server | 1:10.11.19-0+deb12u1 | http://archive/sec bookworm-security/main amd64 Packages
mariadb-server | 1:10.11.18-0+deb12u1 | http://archive/debian bookworm/main amd64 Packages
mariadb-server | 1:11.4.2+maria~deb12 | http://other/repo bookworm/main amd64 Packages
   mariadb | 1:10.11.18-0+deb12u1 | http://archive/debian bookworm/main Sources
"""


def test_candidates_are_of_the_series_and_newest_first():
    offers = versions.parse_madison(MADISON)
    assert versions.candidates(offers) == ["1:10.11.19-0+deb12u1", "1:10.11.18-0+deb12u1"]


def test_an_offer_names_its_archive():
    offer = versions.parse_madison(MADISON)[0]
    assert (offer.site, offer.suite, offer.component) == (
        "http://archive/sec",
        "bookworm-security",
        "main",
    )
    assert offer.bare == "10.11.19-0+deb12u1"


def test_a_version_listed_twice_is_one_candidate():
    offers = versions.parse_madison(MADISON + MADISON)
    assert len(versions.candidates(offers)) == 2


def test_versions_compare_as_debian_says():
    ordered = [
        "10.11.3-1~bpo11+1",
        "10.11.3-1",
        "10.11.3-1+b1",
        "10.11.9-0+deb12u1",
        "10.11.10-0+deb12u1",
        "1:10.3.1-1",
        "1:10.11.2~rc1-1",
        "1:10.11.2-1",
    ]
    for older, newer in zip(ordered, ordered[1:], strict=False):
        assert versions.compare(older, newer) < 0, (older, newer)
        assert versions.compare(newer, older) > 0, (older, newer)
        assert versions.compare(older, older) == 0


def test_what_the_server_of_a_package_calls_itself():
    assert versions.server_text("1:10.11.14-0+deb12u2") == "10.11.14-MariaDB-0+deb12u2"
    assert versions.server_text("1:11.8.6-0+deb13u1") == "11.8.6-MariaDB-0+deb13u1"
    # Debian says +ds of sources that it has taken something from; the server does not.
    assert versions.server_text("1:11.8.9+ds-0+deb13u1") == "11.8.9-MariaDB-0+deb13u1"


def test_the_release_of_debian_that_a_server_is_of():
    assert versions.release_of("1:10.11.14-0+deb12u2") == 12
    assert versions.release_of("11.8.9+ds-0+deb13u1") == 13


@pytest.mark.parametrize(
    "version",
    [
        "1:10.11.19+maria~deb12",
        "1:10.11.19-0+deb13u1",  # Each release has its own series.
        "1:11.8.9-0+deb12u1",
        "1:11.4.2-0+deb13u1",
        "10.11.19-1",
        "1:10.11.19-0ubuntu1",
    ],
)
def test_a_server_of_another_vendor_or_release_is_refused(version: str) -> None:
    with pytest.raises(CairnError, match=r"10\.11 of Debian 12 or 11\.8 of Debian 13"):
        versions.server_text(version)

"""Files of a server's version from the pool of an archive: what is checked, and what is said."""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn import pool, prefix, server_versions
from cairn.errors import CairnError
from cairn.report import Phase

VERSION = "1:10.11.14-0+deb12u2"
DSC = """Format: 3.0 (quilt)
Source: mariadb
Version: {version}
Checksums-Sha1:
 aaaa 3 mariadb_10.11.14.orig.tar.gz
Checksums-Sha256:
 {sum} 3 mariadb_10.11.14.orig.tar.gz
 bbbb 3 mariadb_10.11.14.orig.tar.gz.asc
 cccc 3 mariadb_10.11.14-0+deb12u2.debian.tar.xz
Files:
 dddd 3 mariadb_10.11.14.orig.tar.gz
"""
SUM_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
needs_apt = pytest.mark.skipif(
    not Path("/usr/lib/apt/apt-helper").exists(), reason="needs apt-helper"
)
needs_gpg = pytest.mark.skipif(
    not shutil.which("gpg") or not shutil.which("gpgv"), reason="needs gpg and gpgv"
)


class Notes(Phase):
    def __init__(self) -> None:
        super().__init__("test", None)
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def phase() -> Notes:
    return Notes()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A pool of ours; the first of two, the other one being empty."""
    full, empty = tmp_path / "pool", tmp_path / "empty"
    full.mkdir()
    empty.mkdir()
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(pool, "POOLS", (f"{here}/empty", f"{here}/pool"))
    yield full
    server.shutdown()
    server.server_close()


@pytest.fixture
def into(tmp_path: Path) -> Path:
    (tmp_path / "into").mkdir()
    return tmp_path / "into"


def dsc(version: str = VERSION, digest: str = SUM_OF_ABC) -> str:
    return DSC.format(version=version, sum=digest)


def package(directory: Path, name: str, *, version: str = VERSION, content: str = "abc") -> None:
    root = directory / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@b.invalid>\n"
        "Description: none\n",
        "ascii",
    )
    (root / "file").write_text(content, encoding="ascii")
    # That of "abc".
    (root / "DEBIAN/md5sums").write_text("900150983cd24fb0d6963f7d28e17f72  file\n", "ascii")
    target = directory / f"{name}_10.11.14-0+deb12u2_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, target], check=True)
    shutil.rmtree(root)


def test_a_dsc_tells_the_sums_of_its_files() -> None:
    assert pool.sums(dsc()) == {
        "mariadb_10.11.14.orig.tar.gz": SUM_OF_ABC,
        "mariadb_10.11.14.orig.tar.gz.asc": "bbbb",
        "mariadb_10.11.14-0+deb12u2.debian.tar.xz": "cccc",
    }


@needs_apt
def test_a_source_is_fetched_and_an_unchecked_signature_is_told(
    served: Path, into: Path, phase: Notes
) -> None:
    (served / "mariadb_10.11.14-0+deb12u2.dsc").write_text(dsc(), encoding="ascii")
    (served / "mariadb_10.11.14.orig.tar.gz").write_text("abc", encoding="ascii")
    assert pool.source(phase, VERSION, into, into / "none") == []
    assert (into / "mariadb_10.11.14.orig.tar.gz").read_text("ascii") == "abc"
    assert len(phase.notes) == 1
    assert "signature of mariadb_10.11.14-0+deb12u2.dsc was not checked" in phase.notes[0]


@needs_apt
def test_a_tarball_with_another_sum_is_refused(served: Path, into: Path, phase: Notes) -> None:
    (served / "mariadb_10.11.14-0+deb12u2.dsc").write_text(dsc(), encoding="ascii")
    (served / "mariadb_10.11.14.orig.tar.gz").write_text("abd", encoding="ascii")
    with pytest.raises(CairnError, match="Hash Sum mismatch"):
        pool.source(phase, VERSION, into, into / "none")
    assert [path.suffix for path in into.iterdir()] == [".dsc"]


@needs_apt
@pytest.mark.parametrize("text", [dsc("1:10.11.15-0"), dsc().replace(".orig.", ".other.")])
def test_a_dsc_of_something_else_is_refused(
    served: Path, into: Path, phase: Notes, text: str
) -> None:
    (served / "mariadb_10.11.14-0+deb12u2.dsc").write_text(text, encoding="ascii")
    with pytest.raises(CairnError, match="pool is damaged"):
        pool.source(phase, VERSION, into, into / "none")


@needs_apt
def test_what_no_pool_has_is_named(served: Path, into: Path, phase: Notes) -> None:
    assert pool.source(phase, VERSION, into, into) == ["mariadb_10.11.14-0+deb12u2.dsc"]
    package(served, "there")
    lacking = pool.packages(phase, VERSION, ("gone", "there"), into)
    assert len(lacking) == 1
    assert lacking[0].startswith("gone_10.11.14-0+deb12u2_")
    assert [path.name for path in into.iterdir()] == ["there_10.11.14-0+deb12u2_all.deb"]


@needs_apt
def test_a_pool_that_cannot_be_reached_is_no_missing_file(
    into: Path, phase: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "POOLS", ("http://127.0.0.1:1/pool",))
    with pytest.raises(CairnError, match="Downloading mariadb_"):
        pool.source(phase, VERSION, into, into)


def test_a_package_is_what_its_name_says_and_its_files_are_whole(tmp_path: Path) -> None:
    package(tmp_path, "good")
    pool.check_package(tmp_path / "good_10.11.14-0+deb12u2_all.deb", "good", VERSION)
    package(tmp_path, "older", version="1:10.11.13-0+deb12u1")
    with pytest.raises(CairnError, match="is not older 1:10.11.14"):
        pool.check_package(tmp_path / "older_10.11.14-0+deb12u2_all.deb", "older", VERSION)
    package(tmp_path, "altered", content="abd")
    with pytest.raises(CairnError, match="with its sums failed"):
        pool.check_package(tmp_path / "altered_10.11.14-0+deb12u2_all.deb", "altered", VERSION)
    (tmp_path / "cut_1_all.deb").write_bytes(b"!<arch>\n")
    with pytest.raises(CairnError, match="is damaged"):
        pool.check_package(tmp_path / "cut_1_all.deb", "cut", VERSION)
    assert not list(tmp_path.glob("*.check"))


@needs_gpg
def test_only_what_the_signature_covers_is_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", ""]
    subprocess.run([*gpg, "--quick-generate-key", "a <a@b.invalid>"], check=True)
    keys, others = tmp_path / "keys", tmp_path / "others"
    for directory in (keys, others):
        directory.mkdir()
    (others / pool.KEYRINGS[1]).write_bytes(b"")
    plain, signed = tmp_path / "plain", tmp_path / "a.dsc"
    plain.write_text(dsc(), encoding="ascii")
    subprocess.run([*gpg, "--output", signed, "--clearsign", plain], check=True)
    with (keys / pool.KEYRINGS[0]).open("wb") as out:
        subprocess.run([*gpg, "--export"], stdout=out, check=True)
    subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)

    assert pool.signed_text(signed, keys) == (dsc(), "")
    assert "not among those" in pool.signed_text(signed, others)[1]
    text = signed.read_text("ascii")
    signed.write_text("Source: other\n" + text, encoding="ascii")
    with contextlib.suppress(CairnError):  # Newer versions of gpgv refuse it.
        assert pool.signed_text(signed, keys)[0] == dsc()
    signed.write_text(text.replace("Source: mariadb", "Source: mysql"), encoding="ascii")
    with pytest.raises(CairnError, match="not what its signature"):
        pool.signed_text(signed, keys)


@pytest.mark.parametrize(
    "version", ["10.11", "10.11.14-0", "1:10.11.14-0 ", "../10.11.14-0", "1:11.8.9-0"]
)
def test_what_cairn_cannot_be_compiled_for_is_refused(version: str) -> None:
    with pytest.raises(CairnError):
        server_versions.require_version(version)


@needs_apt
def test_a_version_that_cannot_be_had_leaves_nothing_behind(
    served: Path, into: Path, phase: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_CACHE", str(into))
    monkeypatch.setattr(prefix, "refresh_lists", lambda _: None)
    with pytest.raises(CairnError) as raised:
        server_versions.ensure(phase, VERSION)
    for text in (
        f"mariadb {VERSION} cannot be had whole",
        "no package list names it",
        "mariadb_10.11.14-0+deb12u2.dsc",
        "mariadb-server-core_10.11.14-0+deb12u2_",
        "libmariadb-dev_",
        "libmariadbd-dev_",
    ):
        assert text in str(raised.value)
    with pytest.raises(CairnError, match="libmariadb3_"):
        server_versions.ensure_packages(phase, VERSION)
    assert not prefix.of_version(VERSION).root.exists()
    left = [path for path in (into / "server").rglob("*") if "10.11.14" in path.name]
    assert left == []

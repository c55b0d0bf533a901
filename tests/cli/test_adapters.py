"""What cairn-adapters decides: for which server, whether it can, and what its package is called."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cairn import files, prefix, rocksdb, versions
from cairn.adapters import build, check, compile, needs, obtain, pack, show
from cairn.adapters.facts import Adapter, Facts, Server, gather
from cairn.adapters.place import (
    LOCAL_PACKAGE,
    PLUGIN_PACKAGE,
    Own,
    Place,
    own,
)
from cairn.errors import CairnError
from cairn.package import adapter_sources
from cairn.paths import BUILD, ROOT
from cairn.report import Phase

OWN = Own("1.0~git20261128.120000.abc", 1_795_867_200)
OLD = "1:10.11.18-0+deb12u1"
NEW = "1:10.11.19-0+deb12u1"
MADISON = "\n".join(
    f" mariadb-server-core | {version} | http://deb.example/debian bookworm/main amd64 Packages"
    for version in (NEW, OLD)
)


def server(version: str, wrong: str = "there is no build of Cairn for it") -> Server:
    return Server(version, versions.server_text(version), wrong)


def facts(
    installed: Server | None = None, candidate: Server | None = None, *adapters: Adapter
) -> Facts:
    return Facts(OWN, OWN.version, adapters, installed, candidate)


def request(version: str | None = None, source: Path | None = None) -> build.Request:
    return build.Request(version, source, Path("/nowhere"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """The directories of the packages, as far as they are looked at before a build."""
    for name in ("sources", "libraries/engine", "recipe", "adapters"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "sources/CMakeLists.txt").write_text("", "utf-8")
    (tmp_path / "recipe/version").write_text(f"{OWN.version} {OWN.epoch}\n", "utf-8")
    found = [tmp_path / name for name in ("sources", "libraries", "recipe", "adapters")]
    return Place(*found, daemon=tmp_path / "mariadbd")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that comes first in PATH, for programs in place of apt's and dpkg's."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return directory


def program(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


# ---- which server -------------------------------------------------------------------------------


def test_the_installed_server_comes_before_the_candidate() -> None:
    assert build.choose(facts(server(OLD), server(NEW)), request()) == OLD
    assert build.choose(facts(server(OLD, ""), server(NEW)), request()) == NEW
    assert build.choose(facts(server(OLD, ""), None), request()) is None


def test_an_installed_server_that_is_not_that_of_its_package_is_refused() -> None:
    strange = Server(OLD, "10.11.18-MariaDB-ubu2204", "there is no build of Cairn for it")
    with pytest.raises(CairnError, match="10.11.18-MariaDB-ubu2204"):
        build.choose(facts(strange), request())


def test_without_any_server_there_is_an_error() -> None:
    with pytest.raises(CairnError, match="apt knows none"):
        build.choose(facts(), request())


def test_a_version_may_be_named_without_its_epoch_and_must_be_known() -> None:
    assert build.full_version("10.11.19-0+deb12u1", [NEW, OLD]) == NEW
    with pytest.raises(CairnError, match="10.11.1 to be had; there is " + NEW.replace("+", r"\+")):
        build.full_version("10.11.1", [NEW, OLD])


def test_no_second_build_is_made_of_what_the_package_has() -> None:
    text = versions.server_text(OLD)
    of_package = Adapter(text, PLUGIN_PACKAGE, "")
    assert "has a build for" in build.superfluous(facts(None, None, of_package), text)
    assert not build.superfluous(facts(None, None, Adapter(text, LOCAL_PACKAGE, "")), text)
    damaged = Adapter(text, PLUGIN_PACKAGE, "adapter.so is missing or empty")
    assert not build.superfluous(facts(None, None, damaged), text)
    # cairn-adapters comes before the package of the same version, which may lack the build.
    earlier = Facts(OWN, "0.9", (of_package,), None, None)
    assert not build.superfluous(earlier, text)


# ---- what is there ------------------------------------------------------------------------------


def dpkg_of(programs: Path, installed: str) -> None:
    program(
        programs,
        "dpkg-query",
        f"""case "$*" in
*--search*10.11.18*) echo "{PLUGIN_PACKAGE}: $2" ;;
*mariadb-server-core) [ -n '{installed}' ] && echo 'installed {installed}' ;;
*mariadb-plugin-cairn) echo 'installed {OWN.version}' ;;
*) exit 1 ;;
esac""",
    )


def test_builds_and_servers_are_listed(place: Place, programs: Path) -> None:
    dpkg_of(programs, OLD)
    program(programs, "apt-cache", f"echo '  Candidate: {NEW}'")
    for name in ("10.11.17-MariaDB-0+deb12u1", versions.server_text(OLD)):
        (place.adapters / name).mkdir()
    for name in ("adapter.so", "abi"):
        (place.adapters / versions.server_text(OLD) / name).write_text("x", "utf-8")
    found = gather(place)
    assert found.plugin == OWN.version
    assert [(a.server, a.package, bool(a.wrong)) for a in found.adapters] == [
        ("10.11.17-MariaDB-0+deb12u1", "", True),
        (versions.server_text(OLD), PLUGIN_PACKAGE, False),
    ]
    assert found.installed and "names no version" in found.installed.wrong  # There is no mariadbd.
    assert found.candidate == server(NEW)
    read = json.loads(show.as_json(found))
    assert read["candidate"]["fits"] is False and read["candidate"]["version"] == NEW
    assert read["adapters"][1]["server"] == versions.server_text(OLD)
    text = show.as_text(found)
    assert NEW in text and "10.11.17-MariaDB-0+deb12u1  of no package; " in text


def test_a_server_whose_classes_differ_does_not_fit(
    place: Place, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dpkg_of(programs, OLD)
    program(programs, "apt-cache", f"echo '  Candidate: {OLD}'")
    text = versions.server_text(OLD)
    program(
        place.daemon.parent,
        "mariadbd",
        f"echo 'mariadbd  Ver {text} for debian-linux-gnu'",
    )
    (place.adapters / text).mkdir()
    for name in ("adapter.so", "abi"):
        (place.adapters / text / name).write_text("7handler 8\nclasses 1\n", "utf-8")
    monkeypatch.setattr("cairn.package.abi.text", lambda _: "7handler 8\nclasses 1\n")
    found = gather(place)
    assert found.installed == server(OLD, "") and found.candidate is None
    monkeypatch.setattr("cairn.package.abi.text", lambda _: "7handler 16\nclasses 1\n")
    found = gather(place)
    assert found.installed and "classes differ" in found.installed.wrong


def test_a_damaged_installation_names_the_package(place: Place) -> None:
    (place.recipe / "version").write_text("1.0\n", "utf-8")
    with pytest.raises(CairnError, match="reinstall cairn-adapters"):
        own(place)


# ---- what a build needs -------------------------------------------------------------------------


@pytest.fixture
def tools(programs: Path) -> Path:
    for name in ("g++", "cmake", "ninja", "dpkg-shlibdeps"):
        program(programs, name, "exit 1")
    program(programs, "dpkg", "echo amd64")
    return programs


def test_a_machine_that_can_build_passes(place: Place, tools: Path, tmp_path: Path) -> None:
    needs.check(place, tmp_path, tmp_path / "output")


def test_another_architecture_is_named(place: Place, tools: Path, tmp_path: Path) -> None:
    program(tools, "dpkg", "echo arm64")
    with pytest.raises(CairnError, match="this system is arm64"):
        needs.check(place, tmp_path, tmp_path)


def test_what_is_lacking_is_named_with_its_package(
    place: Place, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(CairnError, match="apt-get install .*binutils .*xz-utils"):
        needs.check(place, tmp_path, tmp_path)


def test_a_full_disk_is_told_before_anything_is_begun(
    place: Place, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=needs.WORK_BYTES - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(CairnError, match="1,023 MiB free; a build needs 1,024"):
        needs.check(place, tmp_path, tmp_path)


def test_an_output_that_cannot_be_written_is_told(
    place: Place, tools: Path, tmp_path: Path
) -> None:
    with pytest.raises(CairnError, match="cannot be written to.*--output"):
        needs.check(place, tmp_path, Path("/proc/nowhere"))


# ---- the server's files -------------------------------------------------------------------------


def apt(programs: Path, *, sources: str, get: str = "exit 1") -> None:
    program(
        programs,
        "apt-cache",
        f"""case "$*" in
*showsrc*) printf '{sources}' ;;
*madison*) echo '{MADISON}' ;;
esac""",
    )
    program(programs, "apt-get", get)


STANZA = "Package: mariadb\\nBinary: x,\\n y\\nVersion: {}\\n\\n"


def download(tmp_path: Path, version: str = NEW) -> obtain.Obtained:
    directory = tmp_path / "downloads"
    directory.mkdir(exist_ok=True)
    return obtain.by_apt(Phase("x", None), version, directory, tmp_path / "log")


def test_without_source_packages_the_line_to_add_is_named(programs: Path, tmp_path: Path) -> None:
    apt(programs, sources="")
    with pytest.raises(CairnError, match="deb-src http://deb.example/debian bookworm main\n"):
        download(tmp_path)


def test_a_source_of_other_versions_alone_is_told(programs: Path, tmp_path: Path) -> None:
    apt(programs, sources=STANZA.format(OLD))
    with pytest.raises(CairnError, match="of its source only 1:10.11.18-0"):
        download(tmp_path)


def test_a_version_that_apt_does_not_know_is_told(programs: Path, tmp_path: Path) -> None:
    apt(programs, sources=STANZA.format(OLD))
    with pytest.raises(CairnError, match="apt knows no mariadb-server-core 1:10.11.99"):
        download(tmp_path, "1:10.11.99-0+deb12u1")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Err:1 http://x mariadb 404  Not Found [IP: 1.2.3.4 80]",
            "apt-mark hold mariadb-server",
        ),
        ("E: Failed to fetch file:/x  File not found", "apt-mark hold mariadb-server"),
        ("W: Temporary failure resolving 'deb.debian.org'", "network does not reach"),
        (
            "E: Could not connect to x:80, connection timed out",
            "network does not reach",
        ),
        ("E: Hash Sum mismatch", "Hash Sum mismatch"),
    ],
)
def test_why_a_download_failed_is_told(
    programs: Path, tmp_path: Path, said: str, told: str
) -> None:
    apt(programs, sources=STANZA.format(NEW), get=f'echo "{said}"; exit 100')
    with pytest.raises(CairnError, match=told):
        download(tmp_path)


def test_packages_that_the_archive_has_replaced_are_told(programs: Path, tmp_path: Path) -> None:
    apt(
        programs,
        sources=STANZA.format(NEW),
        get='case "$*" in *source*) exit 0 ;; esac; echo "404 Not Found"; exit 100',
    )
    with pytest.raises(CairnError, match="apt-get update"):
        download(tmp_path)


def test_a_directory_must_have_all_files_of_one_version(tmp_path: Path) -> None:
    (tmp_path / "mariadb_10.11.18.orig.tar.gz").write_bytes(b"")
    (tmp_path / "mariadb-server-core_10.11.19-0+deb12u1_amd64.deb").write_bytes(b"no package")
    with pytest.raises(CairnError) as error:
        obtain.from_directory(tmp_path, NEW)
    assert "lacks mariadb_10.11.19.orig.tar.gz, libmariadb-dev_10.11.19-0+deb12u1_amd64.deb" in str(
        error.value
    )
    assert "mariadb-server-core_10.11.19" in str(error.value)
    with pytest.raises(CairnError, match="has no package of mariadb-server-core"):
        build.choose(facts(), request(source=tmp_path))


# ---- the result ---------------------------------------------------------------------------------

SYMBOLS = """
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND malloc@GLIBC_2.2.5 (2)
     2: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND __gmon_start__
     3: 0000000000001000     8 OBJECT  GLOBAL DEFAULT   24 _maria_plugin_declarations_
     4: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  UND _ZTI7handler
"""


def test_only_what_the_loader_insists_on_is_needed() -> None:
    assert check.strong_undefined(SYMBOLS) == {"malloc", "_ZTI7handler"}


def test_the_loader_is_among_the_libraries() -> None:
    listing = """
\tlinux-vdso.so.1 (0x00007ffd)
\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f1)
\tlibnowhere.so.1 => not found
\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)
"""
    assert check.libraries(listing) == [
        Path("/lib/x86_64-linux-gnu/libz.so.1"),
        Path("/lib64/ld-linux-x86-64.so.2"),
    ]


def test_headers_and_program_must_be_of_one_server(tmp_path: Path) -> None:
    (tmp_path / "generated").mkdir()
    (tmp_path / "generated/mysql_version.h").write_text(
        '#define MYSQL_SERVER_VERSION\t\t"10.11.19-MariaDB"\n'
        '#define MYSQL_SERVER_SUFFIX_DEF\t\t"-0+deb12u1"\n',
        "utf-8",
    )
    assert check.version_of_headers(tmp_path) == "10.11.19-MariaDB-0+deb12u1"
    program(tmp_path, "mariadbd", "echo 'mariadbd  Ver 10.11.19-MariaDB-ubu2204 for x'")
    with pytest.raises(CairnError, match="do not belong together: .*ubu2204"):
        check.same_version(tmp_path, tmp_path / "mariadbd")


def test_the_packages_version_is_between_the_right_ones() -> None:
    made = pack.package_version(OWN, OLD)
    assert made == f"{OWN.version}~server10.11.18.0+deb12u1"
    later_cairn = Own("1.0~git20261129.000000.000", 0)
    ordered = [made, pack.package_version(OWN, NEW), OWN.version]
    ordered += [pack.package_version(later_cairn, OLD), later_cairn.version]
    ordered += [
        pack.package_version(Own("1.0", 0), OLD),
        "1.0",
        "1.0.1~server10.11.18.0+deb12u1",
    ]
    assert versions.newest_first(reversed(ordered)) == ordered[::-1]


def test_the_package_depends_on_one_server_and_one_cairn() -> None:
    template = (ROOT / "packaging/adapters/control.in").read_text("utf-8")
    result = pack.Result(Path("a.so"), "", NEW, versions.server_text(NEW))
    text = pack.control(template, OWN, result, "libc6 (>= 2.34)", 12_000)
    assert f"\nDepends: mariadb-server-core (= {NEW}), {PLUGIN_PACKAGE} (= {OWN.version}), " in text
    assert f"\nProvides: cairn-adapter (= {OWN.version})\n" in text
    assert "\nProtected: yes\n" in text and "libc6 (>= 2.34)\n" in text
    with pytest.raises(CairnError, match="@OTHER@"):
        pack.control(template + "X: @OTHER@\n", OWN, result, "", 1)


def test_the_main_package_accepts_what_is_made_here() -> None:
    text = (ROOT / "packaging/debian/control.in").read_text("utf-8")
    assert "@SERVER_CORE@ | cairn-adapter (= ${binary:Version})" in text
    assert f"\nPackage: {LOCAL_PACKAGE}\n" in text


@pytest.mark.parametrize("installed", [OLD, NEW])
def test_the_advice_is_one_command_for_apt(programs: Path, installed: str) -> None:
    listed = "".join(
        f"installed mariadb {installed} {name}\\n" for name in ("mariadb-server-core", "mariadb-x")
    )
    program(programs, "dpkg-query", f"printf '{listed}'")
    target = Path("/tmp/a package.deb")
    known = facts(server(installed), None if installed == NEW else server(NEW))
    lines = build.advice(known, OWN, NEW, target)
    end = "" if installed == NEW else " mariadb-server"
    assert f"    apt-get install '/tmp/a package.deb'{end}" in lines
    plain = Path("/tmp/adapter_1.0~server10.11.19_amd64.deb")
    assert any(f" {plain}" in line for line in build.advice(known, OWN, NEW, plain))
    older = build.advice(known, OWN, "1:10.11.17-0+deb12u1", target)
    assert any("mariadb-x=1:10.11.17-0+deb12u1" in line for line in older)


@pytest.mark.skipif(
    prefix.current() is None or not (BUILD / "release/engine/base/libcairn_base.a").is_file(),
    reason="./cairn build has not been run here",
)
def test_the_sources_of_the_package_are_all_that_a_build_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(compile.os, "environ", dict(os.environ))
    for path in adapter_sources.sources():
        files.place(path, tmp_path / "sources" / path.relative_to(ROOT))
    engine = adapter_sources.Engine(BUILD / "release/engine", rocksdb.library())
    (tmp_path / "libraries/engine").mkdir(parents=True)
    for library in adapter_sources.libraries(engine):
        (tmp_path / "libraries/engine" / library.name).symlink_to(library)
    (tmp_path / "libraries/rocksdb").symlink_to(engine.rocksdb)
    where = Place(sources=tmp_path / "sources", libraries=tmp_path / "libraries")
    headers = prefix.require().headers
    compile.configure(where, headers, tmp_path / "build", tmp_path / "log")
    rules = (tmp_path / "build/build.ninja").read_text("utf-8")
    assert "ha_rocksdb" in rules
    named = set(re.findall(rf"{re.escape(str(where.sources))}/[\w/.-]+\.\w+", rules))
    assert {path for path in named if not Path(path).exists()} == set()
    assert str(where.sources / "mariadb/function_order.ld") in named


# ---- the program --------------------------------------------------------------------------------


@pytest.fixture
def installed_program(tmp_path: Path) -> Path:
    """The modules that the package has, and no others."""
    for path in adapter_sources.programs():
        target = tmp_path / "python" / path.relative_to(ROOT / "cli")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return tmp_path / "python"


def run(python: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", "-P", "-m", "cairn.adapters", *arguments],
        env={"PYTHONPATH": str(python), "PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_program_needs_no_more_than_python(installed_program: Path) -> None:
    ran = run(installed_program, "--help")
    assert ran.returncode == 0 and "Exit status: 0" in ran.stdout
    assert run(installed_program, "build", "--help").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [(), ("make",), ("list", "--xml"), ("build", "--source", "/nowhere/at/all")],
)
def test_wrong_use_ends_with_2(installed_program: Path, arguments: tuple[str, ...]) -> None:
    assert run(installed_program, *arguments).returncode == 2


def test_a_failure_ends_with_1_and_says_why(installed_program: Path) -> None:
    ran = run(installed_program, "build")
    assert ran.returncode == 1 and ran.stderr.startswith("cairn-adapters: ")
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_leaves_nothing(
    place: Place, tools: Path, tmp_path: Path, number: signal.Signals
) -> None:
    begun = tmp_path / "begun"
    dpkg_of(tools, OLD)
    apt(tools, sources=STANZA.format(OLD), get=f"echo $PPID > {begun}; exec sleep 60")
    work, output = tmp_path / "work", tmp_path / "output"
    work.mkdir()
    program_text = (
        "import sys; from pathlib import Path; from cairn.adapters.__main__ import main; "
        "from cairn.adapters.place import Place; "
        "sys.exit(main(sys.argv[6:], Place(*map(Path, sys.argv[1:6]))))"
    )
    paths = (place.sources, place.libraries, place.recipe, place.adapters, place.daemon)
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", program_text, *map(str, paths), "build", OLD]
        + ["--output", str(output)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "cli"), "TMPDIR": str(work)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 30
    while not begun.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(number)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 128 + number, said
    assert "interrupted; nothing was made" in said
    assert not list(work.iterdir()) and not list(output.iterdir())

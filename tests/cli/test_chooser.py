"""The package's library chooses between builds for several servers; the server is a small program.

The program has what the library looks for: its version, virtual tables, and a function that prints.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from cairn.paths import ROOT

SERVER = """
#include <dlfcn.h>
#include <cstdarg>
#include <cstdio>
#include <cstring>
struct Declaration {
  int type; void* info; const char* name; const char* author; const char* description;
  int license; int (*init)(void*); int (*deinit)(void*); unsigned version; void* status;
  void* system; const char* version_text; unsigned maturity;
};
extern "C" {
char server_version[100];
long handler_table[4] asm("_ZTV7handler") = {1};
void my_printf_error(unsigned, const char* format, unsigned long, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
}
}
int main(int, char** arguments) {
  strcpy(server_version, arguments[2]);
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (library == nullptr) return puts(dlerror()), 2;
  auto* found = static_cast<Declaration*>(dlsym(library, "_maria_plugin_declarations_"));
  if (found->init != nullptr) return found->init(nullptr);
  puts(found->description);
  return found[1].info != nullptr;
}
"""
# What it says of itself is in place of a plug-in.
ADAPTER = """
struct Declaration {
  int type; const void* info; const char* name; const char* author; const char* description;
  long rest[8];
};
extern "C" {
int _maria_plugin_interface_version_ = 0x010F;
int _maria_sizeof_struct_st_plugin_ = sizeof(Declaration);
Declaration _maria_plugin_declarations_[2] = {{1, "info", "ROCKSDB", "Cairn", BUILT_FOR, {}}, {}};
}
"""
OLD, NEW = "10.11.14-MariaDB-0+deb12u2", "10.11.18-MariaDB-0+deb12u1"


def compiled(source: str | Path, target: Path, *options: str) -> Path:
    if isinstance(source, str):
        text, source = source, target.with_suffix(".cc")
        source.write_text(text, encoding="ascii")
    subprocess.run(["g++", "-std=c++20", source, "-o", target, *options, "-ldl"], check=True)
    return target


@dataclass
class Site:
    root: Path

    @property
    def library(self) -> Path:
        return self.root / "lib/mysql/plugin/ha_rocksdb.so"

    def start(self, version: str) -> tuple[int, str]:
        """What a server of this version gets: 0 and a build, or 1 and why there is none."""
        ran = subprocess.run(
            [self.root / "server", self.library, version],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout.strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    root = tmp_path_factory.mktemp("made")
    compiled(SERVER, root / "server", "-rdynamic")
    compiled(ROOT / "packaging/chooser/chooser.cc", root / "chooser.so", "-shared", "-fPIC")
    for version in (OLD, NEW):
        name = f'-DBUILT_FOR="for {version}"'
        compiled(ADAPTER, root / f"{version}.so", "-shared", "-fPIC", name)
    return root


@pytest.fixture
def site(made: Path, tmp_path: Path) -> Site:
    """The package with a build for each of two servers."""
    found = Site(tmp_path)
    found.library.parent.mkdir(parents=True)
    shutil.copy(made / "server", tmp_path)
    shutil.copy(made / "chooser.so", found.library)
    for version in (OLD, NEW):
        directory = tmp_path / "lib/cairn" / version
        directory.mkdir(parents=True)
        shutil.copy(made / f"{version}.so", directory / "adapter.so")
        (directory / "abi").write_text("7handler 32\nclasses 1\n", encoding="ascii")
    return found


@pytest.mark.parametrize("version", [OLD, NEW])
def test_each_server_gets_its_own_build(site: Site, version: str) -> None:
    assert site.start(version) == (0, f"for {version}")
    assert site.start(f"{version}-log") == (0, f"for {version}")
    assert site.start(f"{version} from Debian") == (0, f"for {version}")
    assert site.start(f"{version} from Debian-log") == (0, f"for {version}")


@pytest.mark.parametrize(
    "version",
    ["10.11.16-MariaDB-0+deb12u1", "10.11.18-MariaDB-0+deb12u2", "10.11.1", "10.11.18-MariaDB"],
)
def test_without_a_build_the_message_lists_those_that_there_are(site: Site, version: str) -> None:
    status, said = site.start(version)
    assert status == 1
    assert f"no build for server {version};" in said
    assert f"{site.root}/lib/cairn: {OLD}, {NEW}. " in said


def test_a_damaged_build_for_this_server_is_not_replaced_by_the_other(site: Site) -> None:
    library = site.root / "lib/cairn" / NEW / "adapter.so"
    library.write_bytes(library.read_bytes()[:2000])
    status, said = site.start(NEW)
    assert (status, "cut off" in said) == (1, True), said
    assert site.start(OLD) == (0, f"for {OLD}")


def test_a_processor_that_lacks_what_the_builds_need_is_told(site: Site) -> None:
    # Of one family of accelerators alone, which runs no database.
    feature = '-DCAIRN_LAST_FEATURE="avx5124vnniw"'
    chooser = ROOT / "packaging/chooser/chooser.cc"
    compiled(chooser, site.library, "-shared", "-fPIC", feature)
    status, said = site.start(NEW)
    assert (status, "the processor lacks SSE 4.2 or PCLMUL" in said) == (1, True), said


def test_sizes_belong_to_one_build(site: Site) -> None:
    (site.root / "lib/cairn" / NEW / "abi").write_text("7handler 40\nclasses 1\n", "ascii")
    status, said = site.start(NEW)
    assert (status, "32 bytes, not 40" in said) == (1, True), said
    assert site.start(OLD) == (0, f"for {OLD}")


def test_a_directory_without_a_build_is_not_listed(site: Site) -> None:
    (site.root / "lib/cairn" / OLD / "adapter.so").unlink()
    status, said = site.start(OLD)
    assert (status, f"lib/cairn: {NEW}. " in said) == (1, True), said

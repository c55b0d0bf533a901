#!/usr/bin/env python3
"""Fails on an include that the arrows of engine/README.md do not allow.

And on a source of engine/ that does not include its own header first: to compile it shows that the
header includes what it needs.

Usage: include_direction_test.py REPOSITORY_ROOT
       include_direction_test.py --self-test
"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import rule

# Which folders of engine/ each of them may include. mariadb/ may include them all.
_STORE = {"base", "codec", "lsm", "locks", "metrics", "sst", "store"}
MAY_INCLUDE: dict[str, set[str]] = {
    "base": set(),
    "codec": {"base"},
    "lsm": {"base"},
    "locks": {"base"},
    "metrics": {"base"},
    "sst": {"base", "codec", "lsm"},
    "store": _STORE - {"store"},
    "sort": _STORE,
    "monitor": _STORE,
    "catalog": _STORE,
    "txn": _STORE | {"catalog"},
    "table": _STORE | {"catalog", "sort", "txn"},
    "upkeep": _STORE | {"catalog", "txn"},
}
WITHOUT_ROCKSDB = {"base", "codec"}

# The file that knows RocksDB from within, and the folders of its sources.
KNOWS_ROCKSDB_FROM_WITHIN = "engine/lsm/rocksdb_internals.h"
ROCKSDB_INTERNALS = (
    "cache/",
    "db/",
    "file/",
    "memory/",
    "monitoring/",
    "options/",
    "port/",
    "table/",
    "util/",
    "utilities/",
)

# Headers of the system and of libraries that engine/ may include besides the standard library's.
SYSTEM_HEADERS = {
    "dirent.h",
    "errno.h",
    "fcntl.h",
    "malloc.h",
    "pthread.h",
    "sched.h",
    "signal.h",
    "sys/mman.h",
    "sys/resource.h",
    "sys/stat.h",
    "sys/statvfs.h",
    "sys/syscall.h",
    "sys/sysinfo.h",
    "sys/time.h",
    "sys/types.h",
    "sys/uio.h",
    "sys/vfs.h",
    "time.h",
    "unistd.h",
    "zlib.h",
}
TEST_LIBRARIES = ("gtest/", "gmock/")

SOURCE_SUFFIXES = {".h", ".cc", ".cpp", ".hpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')


class Include(NamedTuple):
    file: Path  # Relative to the root.
    line: int
    target: str
    quoted: bool


def includes_below(root: Path, folder: str) -> Iterator[Include]:
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in SOURCE_SUFFIXES or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            match = INCLUDE.match(line)
            if match:
                yield Include(path.relative_to(root), number, match[1] or match[2], bool(match[2]))


def is_standard(include: Include) -> bool:
    """<vector>, <sys/...> and the like; a quoted include is never one."""
    if include.quoted:
        return False
    return (
        re.fullmatch(r"[a-z0-9_]+", include.target) is not None or include.target in SYSTEM_HEADERS
    )


def check_engine_target(root: Path, include: Include, allowed: set[str]) -> str | None:
    """What is wrong with an include of "engine/..." where only `allowed` folders may be."""
    parts = include.target.split("/")
    if not include.quoted:
        return f'write it as "{include.target}"'
    if len(parts) < 3 or parts[1] not in MAY_INCLUDE:
        return f"{include.target} is in no folder of engine/ that this test knows"
    if not (root / include.target).is_file():
        return f"there is no {include.target}"
    if include.target == KNOWS_ROCKSDB_FROM_WITHIN and include.file.parts[:2] != ("engine", "lsm"):
        return "RocksDB's internal headers are for engine/lsm alone"
    if parts[1] not in allowed:
        return f"the arrow points up: engine/{parts[1]} is not below"
    return None


def check_engine(root: Path, include: Include) -> str | None:
    folder = include.file.parts[1]
    if folder not in MAY_INCLUDE:
        return f"engine/{folder} is a folder that this test does not know: give it its place"
    if include.target.startswith("engine/"):
        return check_engine_target(root, include, MAY_INCLUDE[folder] | {folder})
    if include.target.startswith("rocksdb/"):
        if folder in WITHOUT_ROCKSDB:
            return f"engine/{folder} does not know RocksDB"
        return None
    if is_standard(include):
        return None
    from_within = include.file.as_posix() == KNOWS_ROCKSDB_FROM_WITHIN
    if from_within and include.target.startswith(ROCKSDB_INTERNALS):
        return None
    return (
        f"{include.target} is neither the engine's nor RocksDB's nor the standard library's "
        "(a server header? a system header missing in SYSTEM_HEADERS?)"
    )


def check_mariadb(root: Path, include: Include) -> str | None:
    if include.target.startswith("rocksdb/"):
        return "mariadb/ meets RocksDB only through the headers of engine/"
    if include.target.startswith("engine/"):
        return check_engine_target(root, include, set(MAY_INCLUDE))
    if include.target.startswith("tests/"):
        return "the product does not include its tests"
    return None


def check_unit_test(root: Path, include: Include) -> str | None:
    if include.target.startswith("engine/"):
        return check_engine_target(root, include, set(MAY_INCLUDE))
    # cairn-store is a library but for its main().
    if include.target.startswith(("tests/unit/", "tools/store/")):
        return None if (root / include.target).is_file() else f"there is no {include.target}"
    if include.target.startswith(TEST_LIBRARIES + ("rocksdb/",)) or is_standard(include):
        return None
    return f"{include.target}: unit tests need no server and no other library"


def check_other_test(root: Path, include: Include) -> str | None:
    if include.target.startswith(ROCKSDB_INTERNALS) and not (root / include.target).exists():
        return f"{KNOWS_ROCKSDB_FROM_WITHIN} alone includes RocksDB's internal headers"
    if include.target == KNOWS_ROCKSDB_FROM_WITHIN and include.file.parts[1] != "fuzz":
        return "RocksDB's internal headers are for engine/lsm and tests/fuzz alone"
    return None


def other_tests(root: Path) -> list[str]:
    folders = sorted((root / "tests").glob("*/")) if (root / "tests").is_dir() else []
    return [f"tests/{folder.name}" for folder in folders if folder.name != "unit"]


def check_own_header(root: Path, source: Path) -> str | None:
    """What is wrong with the first include of a source that has a header of its name."""
    header = source.with_suffix(".h").relative_to(root).as_posix()
    if not (root / header).is_file():
        return None
    for line in source.read_text(encoding="utf-8", errors="replace").splitlines():
        if match := INCLUDE.match(line):
            return None if match[2] == header else f"its first include is not {header}"
    return f"it does not include {header}"


def violations(root: Path) -> list[str]:
    found = [
        f"{source.relative_to(root)}: {wrong}"
        for source in sorted((root / "engine").rglob("*.cc"))
        if (wrong := check_own_header(root, source))
    ]
    for folder, check in (
        ("engine", check_engine),
        ("mariadb", check_mariadb),
        ("tests/unit", check_unit_test),
        *((folder, check_other_test) for folder in other_tests(root)),
    ):
        for include in includes_below(root, folder):
            if wrong := check(root, include):
                found.append(f"{include.file}:{include.line}: {wrong}")
    return found


class SelfTest(unittest.TestCase):
    """The checker finds what it is there to find."""

    def found_in(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return violations(root)

    def test_arrows_that_point_down_are_fine(self) -> None:
        self.assertEqual(
            self.found_in(
                {
                    "engine/base/a.h": "#include <vector>\n",
                    "engine/codec/b.cc": '#include "engine/base/a.h"\n#include <zlib.h>\n',
                    "engine/table/c.cc": '#include "engine/base/a.h"\n#include "rocksdb/db.h"\n',
                    "mariadb/d.cc": '#include <my_global.h>\n#include "engine/base/a.h"\n',
                }
            ),
            [],
        )

    def test_arrows_that_point_up_or_aside_are_found_with_their_line(self) -> None:
        self.assertEqual(
            self.found_in(
                {
                    "engine/base/a.h": "",
                    "engine/txn/t.h": "",
                    "engine/table/t.h": "",
                    "engine/base/b.cc": '\n  #  include "engine/txn/t.h"\n',
                    "engine/upkeep/c.cc": '#include "engine/table/t.h"\n',
                }
            ),
            [
                "engine/base/b.cc:2: the arrow points up: engine/txn is not below",
                "engine/upkeep/c.cc:1: the arrow points up: engine/table is not below",
            ],
        )

    def test_server_headers_in_the_engine_are_found(self) -> None:
        for header in ('"handler.h"', "<my_global.h>", "<mysql/plugin.h>", '"mariadb/a.h"'):
            with self.subTest(header):
                self.assertEqual(
                    len(self.found_in({"engine/store/a.cc": f"#include {header}\n"})), 1
                )
                self.assertEqual(len(self.found_in({"tests/unit/a.cc": f"#include {header}\n"})), 1)

    def test_base_codec_and_mariadb_include_no_header_of_rocksdb(self) -> None:
        for folder, count in (("base", 1), ("codec", 1), ("store", 0), ("upkeep", 0)):
            files = {f"engine/{folder}/a.cc": "#include <rocksdb/db.h>\n"}
            self.assertEqual(len(self.found_in(files)), count, folder)
        self.assertEqual(len(self.found_in({"mariadb/a.cc": "#include <rocksdb/db.h>\n"})), 1)

    def test_one_file_knows_rocksdb_from_within(self) -> None:
        text = '#include "db/dbformat.h"\n'
        self.assertEqual(self.found_in({KNOWS_ROCKSDB_FROM_WITHIN: text}), [])
        for other in ("engine/lsm/other.cc", "engine/store/other.cc"):
            self.assertEqual(len(self.found_in({other: text})), 1)

    def test_only_its_folder_includes_it(self) -> None:
        text = f'#include "{KNOWS_ROCKSDB_FROM_WITHIN}"\n'
        files = {KNOWS_ROCKSDB_FROM_WITHIN: "", "engine/lsm/a.cc": text}
        self.assertEqual(self.found_in(files), [])
        for other in ("engine/store/b.cc", "mariadb/b.cc", "tests/unit/lsm/b.cc"):
            self.assertEqual(len(self.found_in(files | {other: text})), 1, other)

    def test_fuzzers_get_the_internals_by_that_file(self) -> None:
        by_file = {KNOWS_ROCKSDB_FROM_WITHIN: "", "tests/fuzz/a.cc": ""}
        by_file["tests/fuzz/a.cc"] = f'#include "{KNOWS_ROCKSDB_FROM_WITHIN}"\n'
        self.assertEqual(self.found_in(by_file), [])
        for other in ("tests/fuzz/a.cc", "tests/power/a.cc"):
            self.assertEqual(len(self.found_in({other: '#include "table/format.h"\n'})), 1, other)
        by_file["tests/power/a.cc"] = by_file["tests/fuzz/a.cc"]
        self.assertEqual(len(self.found_in(by_file)), 1)

    def test_a_source_includes_its_own_header_first(self) -> None:
        files = {"engine/base/a.h": "", "engine/base/b.h": "", "engine/base/c.cc": ""}
        own, other = '#include "engine/base/a.h"\n', '#include "engine/base/b.h"\n'
        self.assertEqual(self.found_in(files | {"engine/base/a.cc": own + other}), [])
        for text in (other + own, "#include <vector>\n" + own, ""):
            self.assertEqual(len(self.found_in(files | {"engine/base/a.cc": text})), 1, text)

    def test_missing_headers_and_unknown_folders_are_found(self) -> None:
        self.assertEqual(
            len(self.found_in({"engine/txn/a.cc": '#include "engine/base/no.h"\n'})), 1
        )
        self.assertEqual(len(self.found_in({"engine/new/a.cc": "#include <vector>\n"})), 1)


if __name__ == "__main__":
    sys.exit(rule.run(__doc__, violations, "All includes point down."))

#!/usr/bin/env python3
"""Fails when docs/handler-contract.md lacks a method that we implement, or names a missing test.

Usage: handler_contract_test.py REPOSITORY_ROOT
       handler_contract_test.py --self-test
"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path

PAGE = "docs/handler-contract.md"
HANDLER = "mariadb/ha_rocksdb.h"
# The columns of each table of the page.
COLUMNS = ("method", "what the server may assume", "where", "test")
# Those of the handlerton whose names a method of the handler has as well.
SHARED_NAMES = {"create", "flags"}


def handler_methods(header: str) -> set[str]:
    """The methods of class ha_rocksdb that override the server's."""
    body = header[header.index("class ha_rocksdb final") :]
    body = re.sub(r"//[^\n]*", "", body)
    # Classes within have methods of the engine's interfaces.
    body = re.sub(r"class \w+ final : public cairn::\w+ \{.*?\n  \};", "", body, flags=re.DOTALL)
    return set(re.findall(r"(\w+)\([^{};]*\)\s*(?:const\s+)?override\b", body)) - {"ha_rocksdb"}


def handlerton_members(sources: list[str]) -> set[str]:
    """What mariadb/*.cc gives the server in its handlerton."""
    return {name for text in sources for name in re.findall(r"\bhton->(\w+)\s*=[^=]", text)}


def rows_of(page: str) -> list[list[str]]:
    """The cells of all rows of the page's tables."""
    rows = []
    for line in page.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if tuple(cells) != COLUMNS and set(line) - set("|- "):
            rows.append(cells)
    return rows


def problems(root: Path) -> list[str]:
    """What is wrong with the page, in one line each."""
    page = (root / PAGE).read_text(encoding="utf-8")
    methods = handler_methods((root / HANDLER).read_text(encoding="utf-8"))
    sources = [path.read_text(encoding="utf-8") for path in sorted((root / "mariadb").glob("*.cc"))]
    members = handlerton_members(sources)
    found = []
    documented: set[str] = set()
    for cells in rows_of(page):
        if len(cells) != len(COLUMNS) or not all(cells):
            found.append(f"a row of {PAGE} has not its four cells: {cells[0]}")
            continue
        names = re.findall(r"`(\w+)`( \(handlerton\))?", cells[0])
        documented |= {name + mark for name, mark in names}
        tests = re.findall(r"`(\w+\.test|\w+_test\.cc)`", cells[3])
        if not tests:
            found.append(f"{cells[0]}: no test is named")
        for test in tests:
            sql = root / "tests" / "sql" / "t" / test
            if not sql.is_file() and not list((root / "tests" / "unit").rglob(test)):
                found.append(f"{cells[0]}: there is no test {test}")
    wanted = methods | {name + " (handlerton)" * (name in SHARED_NAMES) for name in members}
    found += [f"{name} is implemented and not in {PAGE}" for name in sorted(wanted - documented)]
    found += [f"{PAGE} has {name}, which is not ours" for name in sorted(documented - wanted)]
    return found


class SelfTest(unittest.TestCase):
    """The checker finds what it is there to find."""

    ROW = "| `open` | all | `a.cc` | `opens.test` |\n"
    MEMBER = "| `commit`, `create` (handlerton) | all | `a.cc` | `commit_test.cc` |\n"

    def found_for(self, page: str, header: str = "", source: str = "") -> list[str]:
        header = header or "class ha_rocksdb final {\n  int open(const char* name) override;\n};"
        source = source or "hton->commit = Commit;\nhton->create = Create;\n"
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, text in {
                PAGE: page,
                HANDLER: header,
                "mariadb/handlerton.cc": source,
                "tests/sql/t/opens.test": "",
                "tests/unit/txn/commit_test.cc": "",
            }.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return problems(root)

    def test_a_complete_page_is_fine(self) -> None:
        self.assertEqual(self.found_for(self.ROW + self.MEMBER), [])

    def test_a_new_method_is_found(self) -> None:
        header = (
            "class ha_rocksdb final {\n  int open(const char* name) override;\n"
            "  double scan_time(int a,\n      int b) const override { return 1; }\n"
            "  class Inner final : public cairn::RowFilter {\n    int Check() override;\n  };\n};"
        )
        found = self.found_for(self.ROW + self.MEMBER, header)
        self.assertEqual(found, [f"scan_time is implemented and not in {PAGE}"])

    def test_a_new_member_of_the_handlerton_is_found(self) -> None:
        source = "hton->commit = C;\nhton->create = D;\nhton->panic = P;\n"
        found = self.found_for(self.ROW + self.MEMBER, source=source)
        self.assertEqual(found, [f"panic is implemented and not in {PAGE}"])

    def test_a_method_that_went_is_found(self) -> None:
        found = self.found_for(self.ROW + self.MEMBER + self.ROW.replace("open", "close", 1))
        self.assertEqual(found, [f"{PAGE} has close, which is not ours"])

    def test_a_test_that_is_not_there_is_found(self) -> None:
        page = self.ROW.replace("opens.test", "gone.test") + self.MEMBER
        self.assertEqual(self.found_for(page), ["`open`: there is no test gone.test"])

    def test_a_row_without_a_test_is_found(self) -> None:
        page = self.ROW.replace("`opens.test`", "none") + self.MEMBER
        self.assertEqual(self.found_for(page), ["`open`: no test is named"])


def main() -> int:
    """Prints the problems; returns the exit status."""
    if sys.argv[1:] == ["--self-test"]:
        sys.argv.pop()
        unittest.main()
    found = problems(Path(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Fails when the functions that statements run through do not lie side by side in the plug-in.

Usage: function_order_test.py ha_rocksdb.so function_order.ld
       function_order_test.py --self-test
"""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

SECTION = ".text.ordered"
# Names come and go with the code; with fewer the order is too old.
LEAST_SHARE = 0.75
NEW_ORDER = "make another with ./cairn instructions --write-order"


def problems(sections: str, symbols: str, script: str) -> list[str]:
    """What is wrong, from the output of `readelf -SW` and `nm`, and the linker's script."""
    ordered = re.findall(r" \.text\.(\S+)\)", script)
    section = re.search(
        rf" {re.escape(SECTION)} +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", sections
    )
    if section is None:
        return [f"there is no section {SECTION}: the linker was not given function_order.ld"]
    begin = int(section[1], 16)
    end = begin + int(section[2], 16)
    places = [line.split() for line in symbols.splitlines()]
    inside = {place[2] for place in places if len(place) == 3 and begin <= int(place[0], 16) < end}
    found = sum(name in inside for name in ordered)
    if found < LEAST_SHARE * len(ordered):
        return [
            f"{found} of the {len(ordered)} functions of function_order.ld lie there: {NEW_ORDER}"
        ]
    return []


class SelfTest(unittest.TestCase):
    """The checker finds what it is there to find."""

    SECTIONS = (
        "  [12] .text.ordered     PROGBITS        0000000000001000 001000 000100 00  AX  0   0 16\n"
    )
    SYMBOLS = (
        "".join(f"0000000000001{at:03x} t f{at}\n" for at in range(4))
        + "                 U malloc\n"
    )
    SCRIPT = "".join(f"    *(.text.hot.f{at} .text.f{at})\n" for at in range(4))

    def test_functions_in_the_section_are_fine(self) -> None:
        self.assertEqual(problems(self.SECTIONS, self.SYMBOLS, self.SCRIPT), [])

    def test_a_library_without_the_section_is_found(self) -> None:
        self.assertIn("no section", problems("", self.SYMBOLS, self.SCRIPT)[0])

    def test_an_order_of_other_functions_is_found(self) -> None:
        script = self.SCRIPT + "".join(f"    *(.text.hot.g{at} .text.g{at})\n" for at in range(2))
        self.assertIn("4 of the 6", problems(self.SECTIONS, self.SYMBOLS, script)[0])

    def test_functions_elsewhere_do_not_count(self) -> None:
        elsewhere = self.SYMBOLS.replace("0000000000001", "0000000000002")
        self.assertIn("0 of the 4", problems(self.SECTIONS, elsewhere, self.SCRIPT)[0])


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(arguments: list[str]) -> int:
    if arguments == ["--self-test"]:
        unittest.main(argv=[sys.argv[0]])
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    library, script = arguments
    found = problems(
        _output("readelf", "-SW", library),
        _output("nm", library),
        Path(script).read_text(encoding="utf-8"),
    )
    for problem in found:
        print(f"{library}: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

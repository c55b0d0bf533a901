"""The Unicode character database of the package unicode-data."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cairn.errors import CairnError
from cairn.sample.table import Row, Table

DIRECTORY = Path("/usr/share/unicode")


def tables() -> list[Table]:
    """Characters with their blocks and scripts."""
    return [
        Table(
            "unicode_block",
            """
        id SMALLINT UNSIGNED NOT NULL,
        name VARCHAR(60) CHARACTER SET latin1 NOT NULL,
        first_codepoint INT UNSIGNED NOT NULL,
        last_codepoint INT UNSIGNED NOT NULL,
        PRIMARY KEY (id),
        UNIQUE KEY (name),
        UNIQUE KEY (first_codepoint)""",
            _blocks,
        ),
        Table(
            "unicode_script",
            """
        id SMALLINT UNSIGNED NOT NULL,
        name VARCHAR(60) CHARACTER SET latin1 NOT NULL,
        PRIMARY KEY (id),
        UNIQUE KEY (name)""",
            _scripts,
        ),
        Table(
            "unicode_character",
            """
        codepoint INT UNSIGNED NOT NULL,
        glyph VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
        name VARCHAR(100) CHARACTER SET latin1 NOT NULL,
        category CHAR(2) CHARACTER SET latin1 NOT NULL,
        bidi_class CHAR(3) CHARACTER SET latin1 NOT NULL,
        combining_class TINYINT UNSIGNED NOT NULL,
        uppercase INT UNSIGNED DEFAULT NULL,
        lowercase INT UNSIGNED DEFAULT NULL,
        block_id SMALLINT UNSIGNED DEFAULT NULL,
        script_id SMALLINT UNSIGNED DEFAULT NULL,
        PRIMARY KEY (codepoint),
        UNIQUE KEY (glyph),
        KEY (name),
        KEY (category, codepoint),
        KEY (block_id),
        KEY (script_id, category)""",
            _characters,
        ),
    ]


@dataclass(frozen=True)
class _Range:
    first: int
    last: int
    name: str


def _read(name: str) -> Iterator[list[str]]:
    """The fields of each line of a file of the database, comments left out."""
    path = DIRECTORY / name
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CairnError(f"{path} cannot be read: install the package unicode-data.") from error
    for line in text.splitlines():
        content = line.partition("#")[0] if name != "UnicodeData.txt" else line
        if content.strip():
            yield [field.strip() for field in content.split(";")]


def _ranges(name: str) -> list[_Range]:
    """A file of lines such as `0041..005A ; Latin`, in the order of the code points."""
    found = []
    for span, value, *_ in _read(name):
        first, _, last = span.partition("..")
        found.append(_Range(int(first, 16), int(last or first, 16), value))
    return sorted(found, key=lambda item: item.first)


def _blocks() -> Iterator[Row]:
    for number, block in enumerate(_ranges("Blocks.txt"), start=1):
        yield number, block.name, block.first, block.last


def _script_names() -> list[str]:
    return sorted({item.name for item in _ranges("Scripts.txt")})


def _scripts() -> Iterator[Row]:
    for number, name in enumerate(_script_names(), start=1):
        yield number, name.replace("_", " ")


class _Lookup:
    """Finds the number of the range that holds a code point."""

    def __init__(self, ranges: list[_Range], numbers: dict[str, int]) -> None:
        self._ranges = ranges
        self._starts = [item.first for item in ranges]
        self._numbers = numbers

    def find(self, codepoint: int) -> int | None:
        index = bisect.bisect_right(self._starts, codepoint) - 1
        if index < 0 or codepoint > self._ranges[index].last:
            return None
        return self._numbers[self._ranges[index].name]


def _characters() -> Iterator[Row]:
    block_ranges = _ranges("Blocks.txt")
    blocks = _Lookup(
        block_ranges, {item.name: number for number, item in enumerate(block_ranges, start=1)}
    )
    scripts = _Lookup(
        _ranges("Scripts.txt"),
        {name: number for number, name in enumerate(_script_names(), start=1)},
    )
    for codepoint, name, fields in _assigned():
        category = fields[2]
        glyph = None if category in ("Cs", "Cc", "Co") else chr(codepoint)
        yield (
            codepoint,
            glyph,
            name,
            category,
            fields[4],
            int(fields[3]),
            int(fields[12], 16) if fields[12] else None,
            int(fields[13], 16) if fields[13] else None,
            blocks.find(codepoint),
            scripts.find(codepoint),
        )


def _assigned() -> Iterator[tuple[int, str, list[str]]]:
    """Every assigned code point; the file gives only the ends of its large ranges."""
    first = 0
    for fields in _read("UnicodeData.txt"):
        codepoint, name = int(fields[0], 16), fields[1]
        if name.endswith(", First>"):
            first = codepoint
        elif name.endswith(", Last>"):
            # Private use and surrogates have no characters to show.
            if fields[2] not in ("Co", "Cs"):
                label = name[1 : -len(", Last>")].upper()
                for inner in range(first, codepoint + 1):
                    yield inner, f"{label}-{inner:04X}", fields
        elif name == "<control>":
            yield codepoint, fields[10] or f"CONTROL-{codepoint:04X}", fields
        else:
            yield codepoint, name, fields

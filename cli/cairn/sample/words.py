"""The word list of the package wamerican, and every letter of every word."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from cairn.errors import CairnError
from cairn.sample.table import Row, Table

FILE = Path("/usr/share/dict/american-english")


def tables() -> list[Table]:
    """Words, and their letters as code points, which join with unicode_character."""
    return [
        Table(
            "word",
            """
        id INT UNSIGNED NOT NULL,
        word VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        length TINYINT UNSIGNED NOT NULL,
        sorted_letters VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
        PRIMARY KEY (id),
        UNIQUE KEY (word),
        KEY (sorted_letters),
        KEY (length, word)""",
            _words,
        ),
        Table(
            "word_letter",
            """
        word_id INT UNSIGNED NOT NULL,
        position TINYINT UNSIGNED NOT NULL,
        codepoint INT UNSIGNED NOT NULL,
        PRIMARY KEY (word_id, position),
        KEY (codepoint, position)""",
            _letters,
        ),
    ]


@functools.cache
def _list() -> list[str]:
    try:
        lines = FILE.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CairnError(f"{FILE} cannot be read: install the package wamerican.") from error
    return sorted({line.strip() for line in lines if line.strip()})


def _words() -> Iterator[Row]:
    for number, word in enumerate(_list(), start=1):
        letters = "".join(sorted(character for character in word.lower() if character.isalpha()))
        yield number, word, len(word), letters


def _letters() -> Iterator[Row]:
    for number, word in enumerate(_list(), start=1):
        for position, character in enumerate(word, start=1):
            yield number, position, ord(character)

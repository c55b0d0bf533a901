"""Writes a directory of character sets for --character-sets-dir with collations of our own.

    moving_collations.py DIRECTORY CHARSETS LETTER

CHARSETS is the server's directory. In `utf8mb4_moving_ci` (420) and `latin1_moving_ci` (421) the
letter `a` comes behind LETTER: with another one, keys have other weights. In `utf8mb4_joined_ci`
(422) the characters `d1s` do, together.
"""

import re
import sys
from pathlib import Path

INDEX = """<?xml version='1.0' encoding="utf-8"?>
<charsets>
<charset name="utf8mb4">
  <collation name="utf8mb4_moving_ci" id="420">
    <rules><reset>{letter}</reset><p>a</p></rules>
  </collation>
  <collation name="utf8mb4_joined_ci" id="422">
    <rules><reset>{letter}</reset><p>d1s</p></rules>
  </collation>
</charset>
<charset name="latin1">
  <collation name="latin1_moving_ci" id="421" order="Test"/>
</charset>
</charsets>
"""


def weights(letter: str) -> str:
    """A weight for each byte: `a` has that of the letter behind LETTER, which both go by."""
    of_bytes = list(range(256))
    of_bytes[ord("a")] = ord(letter) + 1
    rows = (of_bytes[i : i + 16] for i in range(0, 256, 16))
    return "\n".join(" ".join(f"{weight:02X}" for weight in row) for row in rows)


def main() -> None:
    directory, charsets, letter = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    directory.mkdir()
    (directory / "Index.xml").write_text(INDEX.format(letter=letter), encoding="utf-8")
    latin1 = (charsets / "latin1.xml").read_text(encoding="utf-8")
    without = re.sub(r"<collation name=.*?</collation>", "", latin1, flags=re.DOTALL)
    own = f'<collation name="latin1_moving_ci"><map>\n{weights(letter)}\n</map></collation>\n'
    text = without.replace("</charset>", own + "</charset>")
    (directory / "latin1.xml").write_text(text, encoding="utf-8")


main()

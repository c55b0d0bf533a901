"""Several sources as one that includes them, so that their headers are read once.

Names that are a source's own (those of its unnamed namespaces) may be those of another source, too:
all but the first of them are given other names there.
"""

from __future__ import annotations

import re
from pathlib import Path

# Spaces, comments and #include lines: what a source begins with.
_HEAD = re.compile(r'\A(?:[ \t]*(?://.*)?\n|#include (?:"[^"\n]+"|<[^>\n]+>).*\n)*')
_INCLUDE = re.compile(r'^#include ("[^"]+"|<[^>]+>)', re.MULTILINE)
# What follows rests on how clang-format lays out the code.
_UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(
    r"^(?:(?:class|struct|union|enum(?: class)?) (?:alignas\([^)]*\) )?(\w+)"
    r"|(?!using |template |namespace |friend |class |struct |union |enum )"
    r"[A-Za-z][\w:<>,&* ]*[ &*](\w+)(?=\(|\[|\{|;| = ))",
    re.MULTILINE,
)


def source_of(paths: list[str], root: Path) -> str:
    """The text of a source that is all of these; they lie in one folder."""
    texts = {path: (root / path).read_text(encoding="utf-8") for path in paths}
    # A header must not see the other names: it may have the same one for something else.
    headers = dict.fromkeys(
        header for text in texts.values() for header in _INCLUDE.findall(_head(text))
    )
    lines = [f"#include {header}" for header in headers]
    taken: set[str] = set()
    for path, text in texts.items():
        own = own_names(text)
        again = sorted(own & taken)
        taken |= own
        stem = re.sub(r"\W", "_", Path(path).stem)
        lines += [f"#define {name} {name}_of_{stem}" for name in again]
        lines.append(f'#include "{path}"  // NOLINT(bugprone-suspicious-include)')
        lines += [f"#undef {name}" for name in again]
    return "".join(f"{line}\n" for line in lines)


def own_names(text: str) -> set[str]:
    """What a source defines in its unnamed namespaces."""
    return {
        found[1] or found[2] for part in _UNNAMED.findall(text) for found in _NAME.finditer(part)
    }


def _head(text: str) -> str:
    found = _HEAD.match(text)
    return found[0] if found else ""

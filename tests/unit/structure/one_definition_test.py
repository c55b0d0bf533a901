#!/usr/bin/env python3
"""Fails when two files define a class of the same name in the same namespace.

To the linker they are one, and it takes the inline functions of either: a wrong answer without a
word.

Usage: one_definition_test.py REPOSITORY_ROOT
       one_definition_test.py --self-test
"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import rule

FOLDERS = ("engine", "mariadb")
_COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
_TOKEN = re.compile(
    r"\bnamespace\s+(?P<namespace>[\w:]*)\s*\{"
    r"|\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*"
    r"(?P<name>\w+(?:::\w+)*)[^;{}()=]*\{"
    r"|(?P<brace>[{}])"
)


def definitions(text: str) -> Iterator[str]:
    """The classes that a source defines for all, with their namespaces: none without a name."""
    text = _COMMENT_OR_STRING.sub(" ", text)
    # Of each open brace: a namespace ("" without a name), or None for anything else.
    open_braces: list[str | None] = []
    for token in _TOKEN.finditer(text):
        if token["brace"] == "}":
            if open_braces:
                open_braces.pop()
        elif token["namespace"] is not None:
            open_braces.append(token["namespace"])
        else:
            if token["name"] and None not in open_braces and "" not in open_braces:
                yield "::".join([*(name for name in open_braces if name), token["name"]])
            open_braces.append(None)


def problems(root: Path) -> list[str]:
    """Each name that several files define."""
    places = defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                for name in definitions(path.read_text(encoding="utf-8")):
                    places[name].add(path.relative_to(root).as_posix())
    return [
        f"{name} is defined in {' and in '.join(sorted(files))}"
        for name, files in sorted(places.items())
        if len(files) > 1
    ]


class SelfTest(unittest.TestCase):
    """The checker finds what it is there to find."""

    def test_classes_have_the_names_of_their_namespaces(self) -> None:
        text = """
            // class NotThis {
            namespace a { class B final : public C { struct Inner { int i; }; void F() {} };
            namespace b::c { enum class E : int { k }; struct Declared; }
            namespace { struct Private {}; }
            const char* text = "struct InText {";
            struct [[nodiscard]] D { };
            class D::Within {};
            void Function(struct Argument* x) { struct Local { }; }
            }
            struct Outside {};
        """
        self.assertEqual(
            list(definitions(text)), ["a::B", "a::b::c::E", "a::D", "a::D::Within", "Outside"]
        )

    def test_a_name_that_two_files_define_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for folder in ("engine/a", "engine/b", "mariadb"):
                (root / folder).mkdir(parents=True)
            (root / "engine/a/x.h").write_text("namespace cairn { struct X {}; struct Y {}; }")
            (root / "engine/b/x.cc").write_text("namespace cairn {\nclass X {};\n}")
            (root / "mariadb/y.cc").write_text(
                "namespace cairn { namespace { class Y {}; } namespace lsm { class X {}; } }"
            )
            self.assertEqual(
                problems(root), ["cairn::X is defined in engine/a/x.h and in engine/b/x.cc"]
            )


if __name__ == "__main__":
    sys.exit(rule.run(__doc__, problems, "No class is defined twice."))

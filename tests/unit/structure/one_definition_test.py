#!/usr/bin/env python3
"""Fails when two files define a class of the same name in the same namespace.

To the linker they are one, and it takes the inline functions of either: a wrong answer without a
word. And when two sources of one folder give the same name to something that each has for itself:
where several sources are compiled as one, they are one source.

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


_WORD = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]+$")


def _statements(text: str) -> Iterator[str]:
    """What stands in namespaces without a name: each declaration up to its body or its end."""
    open_braces: list[str | None] = []
    begin = 0
    parentheses = 0
    for token in re.finditer(r"\bnamespace\s*(?P<name>[\w:]*)\s*\{|[{};()]", text):
        sign = token[0]
        parentheses += (sign == "(") - (sign == ")")
        in_own = "" in open_braces and None not in open_braces
        if token["name"] is not None:
            open_braces.append(token["name"])
            begin = token.end()
        elif sign == "{":
            if in_own and not parentheses:
                yield text[begin : token.start()]
            open_braces.append(None)
        elif sign == "}":
            if open_braces:
                open_braces.pop()
            if None not in open_braces:
                begin = token.end()
        elif sign == ";" and not parentheses and None not in open_braces:
            if in_own:
                yield text[begin : token.start()]
            begin = token.end()


def _signature(parameters: str) -> str:
    """The types of a function's parameters, as they are written."""
    parts = []
    for each in parameters.split(","):
        words = each.partition("=")[0].split()
        names = len(words) > 1 and _WORD.fullmatch(words[-1])
        parts.append("".join(words[:-1] if names else words))
    return ",".join(parts)


def own_names(text: str) -> Iterator[tuple[str, str]]:
    """The names that a source defines for itself alone; functions with their parameters' types.

    With each, what it is another name of: two sources may have the same one.
    """
    text = re.sub(r"(?m)^\s*#.*(?:\\\n.*)*", " ", _COMMENT_OR_STRING.sub(" ", text))
    for statement in _statements(text):
        statement = re.sub(r"\[\[.*?\]\]|\balignas\([^)]*\)", " ", statement).strip()
        statement = re.sub(r"^template\s*<[^(]*?>\s*(?=\w)", "", statement)
        if named := re.match(
            r"(?:using|class|struct|union|enum(?:\s+class)?)\s+([A-Za-z_]\w*)\s*(?!::)(.*)",
            statement,
        ):
            # Without what only brings a name of another namespace in.
            if not statement.startswith("using"):
                yield named[1], ""
            elif named[2].startswith("="):
                yield named[1], named[2]
            continue
        if statement.startswith("using"):
            continue
        function = re.match(r"[^=(]*?([\w:~]+|operator\W+)\s*\((.*)\)", statement, re.DOTALL)
        if function:
            name = function[1]
            if "::" not in name and not _MACRO.match(name) and name != "static_assert":
                yield f"{name}({_signature(function[2])})", ""
            continue
        words = _WORD.findall(re.sub(r"[\[=].*", "", statement, flags=re.DOTALL))
        if len(words) > 1:
            yield words[-1], ""


def shared_own_names(root: Path) -> list[str]:
    """Each name that several sources of a folder, or of a test program, have for themselves."""
    found = []
    folders = [*(root / "engine").glob("*"), *(root / "tests" / "unit").glob("*")]
    for folder in sorted(folders):
        places = defaultdict(dict)
        for path in sorted(folder.glob("*.cc")):
            for name, meaning in own_names(path.read_text(encoding="utf-8")):
                places[name][path.name] = meaning
        found += [
            f"{folder.relative_to(root)}: {name} is defined in {' and in '.join(files)}"
            for name, files in sorted(places.items())
            if len(files) > 1 and (len(set(files.values())) > 1 or "" in files.values())
        ]
    return found


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
    ] + shared_own_names(root)


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

    def test_what_a_source_has_for_itself(self) -> None:
        text = """
            #define NOT_THIS(x) { x }
            namespace cairn {
            int ForAll() { return 0; }
            namespace {
            using testing::Not;
            using Meaning = std::map<int, int>;
            constexpr int kOne = Value(1);
            const char* const kNames[] = {"a", "b"};
            struct Declared;
            struct Own { int inner; void Inner(); };
            template <typename T> T Generic(const T& value, int n = Default()) { int local = n; }
            Status Static() { return Status(); }
            TEST_F(Suite, Case) { int local; }
            }  // namespace
            Own::Own() {}
            }
        """
        self.assertEqual(
            list(own_names(text)),
            [
                ("Meaning", "= std::map<int, int>"),
                ("kOne", ""),
                ("kNames", ""),
                ("Declared", ""),
                ("Own", ""),
                ("Generic(constT&,int)", ""),
                ("Static()", ""),
            ],
        )

    def test_what_two_sources_of_a_folder_have_for_themselves_is_found(self) -> None:
        own = "namespace cairn { namespace { using A = int; int F(int a) { return a; } } }"
        other = "namespace cairn { namespace { using A = int; int F(char* b) { return 0; } } }"
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for folder in ("engine/a", "engine/b", "tests/unit/a"):
                (root / folder).mkdir(parents=True)
                (root / folder / "x.cc").write_text(own)
                (root / folder / "y.cc").write_text(other)
            self.assertEqual(problems(root), [])
            (root / "tests/unit/a/z.cc").write_text(own.replace("using A = int", "const char* A"))
            self.assertEqual(
                problems(root),
                [
                    "tests/unit/a: A is defined in x.cc and in y.cc and in z.cc",
                    "tests/unit/a: F(int) is defined in x.cc and in z.cc",
                ],
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
    sys.exit(rule.run(__doc__, problems, "No name is defined twice."))

#!/usr/bin/env python3
"""Fails when a class has more data members than one keeps in mind: it has several topics.

Usage: class_size_test.py REPOSITORY_ROOT
       class_size_test.py --self-test
"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path

import rule

FOLDERS = ("engine", "mariadb")
MOST_MEMBERS = 25
# A member for each of the variables that it is made of.
LISTS = {"StoreSettings"}

_NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*  # Comments, and what is for the preprocessor.
    |'(?:[^'\\\n]|\\.)'|"(?:[^"\\\n]|\\.)*"        # Literals.
    """,
    re.S | re.M | re.X,
)
_CLASS = re.compile(
    r"(?<!enum )\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*|alignas\([^)]*\)\s*)?(\w+)(?:\s+final)?\s*"
    r"(?::[^:;{}()][^;{}]*)?\{"
)
_ACCESS = re.compile(r"^\s*(?:public|private|protected)\s*:(?!:)")
_NO_MEMBER = re.compile(r"\s*(?:using|typedef|friend|static|enum|class|struct|union|template)\b")


def _end_of(text: str, start: int) -> int:
    """The place behind the block that begins with the brace at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def _without_arguments(text: str) -> str:
    """Without what stands between angle brackets."""
    before = ""
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return text


def _is_function(declaration: str) -> bool:
    declaration = _without_arguments(declaration)
    return " operator" in declaration or "(" in declaration.split("=")[0]


def _members(body: str) -> int:
    """The data members that are declared at the outermost level of a class's body."""
    count, place, declaration = 0, 0, ""
    while place < len(body):
        char = body[place]
        if char == "{":
            place = _end_of(body, place)
            if _is_function(declaration) or _NO_MEMBER.match(declaration):
                declaration = "struct" if _NO_MEMBER.match(declaration) else ""
            continue
        if char == ";":
            if declaration.strip() and not _NO_MEMBER.match(declaration):
                count += not _is_function(declaration)
            declaration = ""
        else:
            declaration = _ACCESS.sub("", declaration + char)
        place += 1
    return count


def classes(text: str) -> list[tuple[str, int]]:
    """The classes of a source, nested ones too, with their data members."""
    text = _NOISE.sub(" ", text)
    return [
        (match[1], _members(text[match.end() : _end_of(text, match.end() - 1) - 1]))
        for match in _CLASS.finditer(text)
    ]


def problems(root: Path) -> list[str]:
    """Each class that has too many."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            for name, count in classes(path.read_text(encoding="utf-8")):
                if count > MOST_MEMBERS and name not in LISTS:
                    where = path.relative_to(root).as_posix()
                    found.append(
                        f"{where}: {name} has {count} data members, {MOST_MEMBERS} are allowed"
                    )
    return found


SOURCE = """
#define SOME(class) struct x { int a; }
class Shape final : public Base<int>, private Other {
 public:
  explicit Shape(int a) : a_(a), b_{1} { if (a) { b_ = 2; } }
  Shape() = default;
  int area() const { return a_; }
  virtual std::function<int(int)> maker() = 0;
  enum class Kind { kRound, kFlat };
  struct Edge {
    int from = 0;  // One; class x { int y; };
    int to;
  };
  static constexpr int kMost = 3;
  using List = std::vector<int>;

 private:
  friend class Painter;
  int a_ = Most(3);
  int b_{0};
  std::function<void(int, int)> paint_;
  std::map<std::string, std::vector<int>> names_ = {{"a", {1, 2}}};
  const Edge* edges_[2];
};
struct [[nodiscard]] Point {
  bool operator==(const Point&) const = default;
  int x;
};
struct Empty {};
class Later;
"""


class SelfTest(unittest.TestCase):
    """The checker finds what it is there to find."""

    def test_data_members_are_counted(self) -> None:
        self.assertEqual(classes(SOURCE), [("Shape", 5), ("Edge", 2), ("Point", 1), ("Empty", 0)])

    def test_a_class_with_too_many_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            (root / "engine/base").mkdir(parents=True)
            for name, count in (("A", MOST_MEMBERS), ("B", MOST_MEMBERS + 1)):
                members = "".join(f"  int m{i}_ = {i};\n" for i in range(count))
                (root / f"engine/base/{name}.h").write_text(f"class {name} {{\n{members}}};\n")
            self.assertEqual(
                problems(root), ["engine/base/B.h: B has 26 data members, 25 are allowed"]
            )


if __name__ == "__main__":
    sys.exit(rule.run(__doc__, problems, "No class has too many data members."))

"""Several sources as one: which names of theirs are told apart, and that it compiles."""

import shutil
import subprocess

import pytest

from cairn import together

FIRST = """// What one does.
#include "one.h"

#include <cstddef>

namespace cairn {
namespace {

constexpr size_t kMost = 7;  // Of one.
constexpr int kTable[] = {1, 2};
struct Figure {
  int count = kTable[1];
};
enum class Kind : int { kA };
Figure Fill(const Figure& figure) { return {figure.count + 1}; }
void Method();

}  // namespace

int One::Method() { return Fill(Figure()).count + static_cast<int>(kMost); }

}  // namespace cairn
"""
SECOND = """#include "two.h"
#if defined(NEVER)
#include "never.h"
#endif

namespace cairn {
namespace {

using Alias = Two;
constexpr size_t kMost = 8;
template <typename T>
T Twice(T value) { return value * 2; }
int Fill(int count) { return Twice(count) + kMost; }

}  // namespace

int Two::Method() { return Alias().fill + Fill(1); }

}  // namespace cairn
"""


@pytest.fixture
def folder(tmp_path):
    files = {
        "one.cc": FIRST,
        "two.cc": SECOND,
        "one.h": "#pragma once\nnamespace cairn { struct One { int Method(); }; }\n",
        "two.h": "#pragma once\nnamespace cairn { struct Two { int Method(); int fill = 0; }; }\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_sources_own_names_are_those_of_its_unnamed_namespaces():
    names = {"kMost", "kTable", "Figure", "Kind", "Fill", "Method"}
    assert together.own_names(FIRST) == names
    assert together.own_names(SECOND) == {"kMost", "Twice", "Fill"}


def test_names_that_two_sources_have_are_told_apart(folder):
    assert together.source_of(["one.cc", "two.cc"], folder).splitlines() == [
        '#include "one.h"',
        "#include <cstddef>",
        '#include "two.h"',
        '#include "one.cc"  // NOLINT(bugprone-suspicious-include)',
        "#define Fill Fill_of_two",
        "#define kMost kMost_of_two",
        '#include "two.cc"  // NOLINT(bugprone-suspicious-include)',
        "#undef Fill",
        "#undef kMost",
    ]


def test_what_comes_out_compiles(folder):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    (folder / "both.cc").write_text(together.source_of(["one.cc", "two.cc"], folder))
    command = [compiler, "-std=c++20", "-w", "-fsyntax-only", "-I.", "both.cc"]
    assert subprocess.run(command, cwd=folder, check=False).returncode == 0

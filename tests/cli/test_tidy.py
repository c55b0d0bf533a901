"""./cairn test tidy: what names a verdict, when it is kept, and what is read of clang-tidy."""

import json
import os
import shutil
import time

import pytest

from cairn import tidy
from cairn.errors import CairnError

SOURCE = tidy.Source("engine/a/one.cc", ("-I.", "-std=c++20"))


def write(root, **files):
    for name, text in files.items():
        path = root / "engine" / "a" / name.replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def key(root, source=SOURCE, surroundings="clang-tidy 14"):
    return tidy.key(source, surroundings, tidy.Includes(root))


@pytest.fixture
def checkout(tmp_path):
    return write(
        tmp_path / "checkout",
        one_cc='#include "engine/a/one.h"\n#include <map>\n#include "rocksdb/db.h"\n',
        one_h='#pragma once\n  #  include "list.def"\n',
        list_def="X(1)\n",
        other_h="int other;\n",
    )


# ---- keys ----------------------------------------------------------------------------------------


def test_a_checkout_elsewhere_has_the_same_keys(checkout, tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(checkout, copy)
    assert key(copy) == key(checkout)


@pytest.mark.parametrize("name", ["one_cc", "one_h", "list_def"])
def test_a_change_of_the_source_or_of_what_it_includes_changes_the_key(checkout, name):
    before = key(checkout)
    write(checkout, **{name: "// Changed.\n"})
    assert key(checkout) != before


def test_what_a_source_does_not_include_is_not_in_its_key(checkout):
    before = key(checkout)
    write(checkout, other_h="// Changed.\n")
    assert key(checkout) == before


def test_a_header_that_appears_beside_the_source_is_in_its_key(checkout):
    write(checkout, one_cc='#include "late.h"\n')
    before = key(checkout)
    write(checkout, late_h="int late;\n")
    assert key(checkout) != before


def test_the_tool_and_the_arguments_are_in_the_key(checkout):
    other = tidy.Source(SOURCE.path, (*SOURCE.arguments, "-DNDEBUG"))
    keys = {key(checkout), key(checkout, surroundings="clang-tidy 15"), key(checkout, other)}
    assert len(keys) == 3


def test_an_include_that_cannot_be_followed_is_an_error(checkout):
    write(checkout, one_h="#include MACRO\n")
    with pytest.raises(CairnError, match="one.h: includes MACRO"):
        key(checkout)


def test_headers_may_include_each_other(checkout):
    write(checkout, one_h='#include "engine/a/other.h"\n', other_h='#include "engine/a/one.h"\n')
    assert key(checkout)


# ---- compile commands ----------------------------------------------------------------------------


def test_arguments_count_from_the_root_and_leave_out_what_only_gcc_knows(tmp_path):
    command = (
        f"/usr/bin/c++ -DX=1 -I{tmp_path} -isystem /cache/rocksdb/11/include -O2 -fno-gnu-unique "
        "-fprofile-use -specs=../../profile.specs -DCAIRN_PROFILE_NUMBER=1 "
        f"-std=c++20 -Wall -Werror -Winvalid-pch -include {tmp_path}/build/pch.hxx "
        f"-o engine/one.cc.o -c {tmp_path}/engine/one.cc"
    )
    assert tidy.arguments_of(command, tmp_path) == (
        *("-DX=1", "-I.", "-isystem", "/cache/rocksdb/11/include", "-O2", "-std=c++20"),
    )


def test_every_source_of_the_plug_in_has_a_command(tmp_path):
    root = write(tmp_path, one_cc="", two_cc="")
    folder = root / "engine" / "a"
    commands = root / "compile_commands.json"
    entries = [
        {"file": str(folder / name), "command": f"c++ -I{root} -c {folder / name}"}
        for name in ("one.cc", "two.cc")
    ]
    commands.write_text(json.dumps(entries), encoding="utf-8")
    assert tidy.sources(commands, root) == [
        tidy.Source("engine/a/one.cc", ("-I.",)),
        tidy.Source("engine/a/two.cc", ("-I.",)),
    ]
    commands.write_text(json.dumps(entries[:1]), encoding="utf-8")
    with pytest.raises(CairnError, match="engine/a/two.cc: no CMakeLists.txt"):
        tidy.sources(commands, root)


def test_sources_of_one_folder_and_one_command_are_looked_at_together():
    alike = [tidy.Source(f"engine/a/{number}.cc", ("-I.",)) for number in range(tidy.TOGETHER + 1)]
    other = tidy.Source("engine/a/other.cc", ("-I.", "-DX"))
    elsewhere = tidy.Source("engine/b/one.cc", ("-I.",))
    groups = tidy.groups([*alike, other, elsewhere])
    assert sorted(map(len, groups)) == [1, 1, tidy.TOGETHER // 2, tidy.TOGETHER // 2 + 1]
    assert sorted((s for group in groups for s in group), key=str) == sorted(
        [*alike, other, elsewhere], key=str
    )


# ---- output --------------------------------------------------------------------------------------


def test_findings_are_read_with_their_place_and_without_their_notes(tmp_path):
    lines = [
        f"{tmp_path}/engine/a/one.cc:15:5: error: used after move [bugprone-use-after-move,"
        "-warnings-as-errors]",
        "  use(text);",
        "      ^",
        f"{tmp_path}/engine/a/one.cc:14:3: note: move occurred here",
        f"{tmp_path}/build/tidy/../../engine/a/one.h:7:1: warning: bad [misc-bad]",
        "1200 warnings generated.",
    ]
    assert tidy.parse(lines, tmp_path) == {
        tidy.Finding("engine/a/one.cc", 15, "used after move [bugprone-use-after-move]"),
        tidy.Finding("engine/a/one.h", 7, "bad [misc-bad]"),
    }


def test_an_error_without_a_place_is_a_finding(tmp_path):
    lines = ["error: unknown argument: '-fnew' [clang-diagnostic-error]"]
    (finding,) = tidy.parse(lines, tmp_path)
    assert "-fnew" in str(finding)


# ---- verdicts ------------------------------------------------------------------------------------


def test_a_verdict_is_kept_until_nobody_asks_for_it(tmp_path):
    verdicts = tidy.Verdicts(tmp_path / "tidy")
    verdicts.forget_old()
    assert not verdicts.is_clean("a")
    verdicts.keep("a", "engine/a/one.cc")
    verdicts.keep("b", "engine/a/two.cc")
    long_ago = time.time() - tidy.KEPT_S - 60
    for name in ("a", "b"):
        os.utime(tmp_path / "tidy" / name, (long_ago, long_ago))
    assert verdicts.is_clean("a")
    verdicts.forget_old()
    assert verdicts.is_clean("a")
    assert not verdicts.is_clean("b")


class Tool:
    """Stands for clang-tidy: says of each source what the test wants."""

    def __init__(self, monkeypatch, root, findings):
        self.seen = []
        self.findings = findings
        monkeypatch.setattr(tidy, "look_at_all", self.look)
        monkeypatch.setattr(tidy, "environment", lambda: "clang-tidy 14")
        monkeypatch.setattr(tidy, "cache", lambda: root / "cache")
        monkeypatch.setattr(tidy, "_LOGS", root / "log")
        monkeypatch.setattr(tidy, "Includes", lambda: Includes(root))
        sources = [tidy.Source(f"engine/a/{name}.cc", ("-I.",)) for name in ("one", "two")]
        monkeypatch.setattr(tidy, "sources", lambda: sources)

    def look(self, groups):
        for group in groups:
            self.seen += [source.path for source in group]
            yield group, set(self.findings)


Includes = tidy.Includes


class Phase:
    def __init__(self):
        self.notes = []

    def progress(self, text):
        pass

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def plain(tmp_path):
    return write(tmp_path, one_cc='#include "engine/a/one.h"\n', two_cc="", one_h="")


def test_what_is_clean_is_looked_at_once(plain, monkeypatch):
    tool = Tool(monkeypatch, plain, [])
    assert (tidy.run(Phase()).clean, sorted(tool.seen)) == (
        2,
        ["engine/a/one.cc", "engine/a/two.cc"],
    )
    tool.seen.clear()
    assert (tidy.run(Phase()).clean, tool.seen) == (2, [])
    write(plain, one_h="int one;\n")
    assert (tidy.run(Phase()).clean, tool.seen) == (2, ["engine/a/one.cc"])


def test_what_has_a_finding_is_looked_at_again(plain, monkeypatch):
    tool = Tool(monkeypatch, plain, [tidy.Finding("engine/a/two.cc", 3, "bad [misc-bad]")])
    phase = Phase()
    outcome = tidy.run(phase)
    assert (outcome.clean, outcome.failed) == (1, 1)
    assert phase.notes[0] == "engine/a/two.cc:3: bad [misc-bad]"
    tool.seen.clear()
    assert tidy.run(Phase()).failed == 1
    assert tool.seen == ["engine/a/two.cc"]


def test_a_finding_in_a_header_keeps_no_source_of_the_group_clean(plain, monkeypatch):
    tool = Tool(monkeypatch, plain, [tidy.Finding("engine/a/one.h", 1, "bad [misc-bad]")])
    assert tidy.run(Phase()).failed == 1
    tool.findings = []
    tool.seen.clear()
    outcome = tidy.run(Phase())
    assert (outcome.clean, outcome.failed, len(tool.seen)) == (2, 0, 2)


def test_a_file_that_changes_meanwhile_has_no_verdict(plain, monkeypatch):
    tool = Tool(monkeypatch, plain, [])

    def look(groups):
        write(plain, two_cc="// Changed.\n")
        return tool.look(groups)

    monkeypatch.setattr(tidy, "look_at_all", look)
    tidy.run(Phase())
    tool.seen.clear()
    write(plain, two_cc="")
    monkeypatch.setattr(tidy, "look_at_all", tool.look)
    tidy.run(Phase())
    assert tool.seen == ["engine/a/two.cc"]


# ---- the tool itself -----------------------------------------------------------------------------


@pytest.fixture
def fake_tool(tmp_path, monkeypatch):
    """A checkout, and a program in clang-tidy's place that is written by the test."""
    program = tmp_path / "bin" / "clang-tidy"
    program.parent.mkdir()
    root = write(tmp_path / "checkout", one_cc="", two_cc="")
    monkeypatch.setattr(tidy, "TOOL", str(program))
    monkeypatch.setattr(tidy, "ROOT", root)
    monkeypatch.setattr(tidy, "_SCRATCH", root / "build" / "tidy")
    monkeypatch.setattr(tidy, "_LOGS", root / "log")

    def behave(script):
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    return behave


GROUP = [SOURCE, tidy.Source("engine/a/two.cc", SOURCE.arguments)]


def look():
    """The findings, and which sources were looked at together in the end."""
    outcome = list(tidy.look_at_all([GROUP]))
    findings = set().union(*(found for _, found in outcome))
    return findings, sorted([source.path for source in group] for group, _ in outcome)


def test_a_group_is_looked_at_as_one_source(fake_tool):
    fake_tool('grep -q one.cc "$3" && grep -q two.cc "$3" || exit 1')
    assert look() == (set(), [["engine/a/one.cc", "engine/a/two.cc"]])


def test_a_group_whose_names_clash_is_looked_at_in_parts(fake_tool):
    fake_tool(
        'case $3 in build/*) echo "$PWD/engine/a/two.cc:1:1: error: redefinition '
        '[clang-diagnostic-error]"; exit 1;; esac'
    )
    assert look() == (set(), [["engine/a/one.cc"], ["engine/a/two.cc"]])


def test_a_source_that_does_not_compile_is_a_finding(fake_tool):
    fake_tool(
        "case $3 in *one.cc) exit 0;; esac; "
        'echo "$PWD/engine/a/two.cc:1:1: error: no such thing [clang-diagnostic-error]"; exit 1'
    )
    findings, _ = look()
    assert {finding.path for finding in findings} == {"engine/a/two.cc"}


@pytest.mark.parametrize("ending", ["exit 1", "kill -SEGV $$"])
def test_a_tool_that_fails_in_silence_is_a_finding(fake_tool, ending):
    fake_tool(ending)
    findings, _ = look()
    assert all("ended with status" in finding.text for finding in findings) and findings


def test_what_runs_is_stopped_with_the_command(fake_tool, tmp_path):
    pid = tmp_path / "pid"
    fake_tool(f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    clean = tidy.look_at_all([GROUP])

    def wait(_):
        if pid.exists():
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(tidy.time, "sleep", wait)
        next(clean)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)

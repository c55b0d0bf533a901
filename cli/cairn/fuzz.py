"""./cairn fuzz: libFuzzer looks for bytes that the codec decodes wrongly."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from cairn import files, packages, process
from cairn.errors import CairnError
from cairn.paths import BUILD, LOG, ROOT, VAR, shown
from cairn.report import Phase, Reporter, say

CORPUS = ROOT / "tests" / "fuzz" / "corpus"
FOUND = VAR / "fuzz"
_PROGRAM = BUILD / "fuzz" / "tests" / "fuzz" / "codec_fuzzer"
_LOG = LOG / "fuzz.log"
_MAX_INPUT_BYTES = 1024
_SLOW_INPUT_S = 20
_ENVIRONMENT = {
    # GoogleTest's library is not compiled with the sanitizer.
    "ASAN_OPTIONS": "detect_container_overflow=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def run(seconds: int, corpus: Path | None, *, save: bool) -> int:
    """Builds and runs the target; returns the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.BUILD, packages.UNIT_TESTS, packages.FUZZING), phase)
    with reporter.phase("Build") as phase:
        _build(phase)
    with files.exclusive(VAR / ".fuzz.lock", "fuzzing"):
        kept = corpus or FOUND / "corpus"
        kept.mkdir(parents=True, exist_ok=True)
        with reporter.phase("Fuzz") as phase:
            culprit = _fuzz(phase, seconds, kept)
        if culprit is not None:
            say(f"    An input ends the target: {shown(culprit)}")
            say(f"    Again: {shown(_PROGRAM)} {shown(culprit)}; its log: {shown(_LOG)}")
        elif save:
            with reporter.phase("Corpus") as phase:
                _save(phase, kept)
    say("")
    say("1 passed, 0 failed" if culprit is None else "0 passed, 1 failed")
    return 0 if culprit is None else 1


def _build(phase: Phase) -> None:
    phase.progress("configuring")
    process.run(["cmake", "--preset", "fuzz"], cwd=ROOT, log=_LOG, what="Configuring the target")
    phase.progress("compiling")
    process.run(
        ["cmake", "--build", "--preset", "fuzz"], cwd=ROOT, log=_LOG, what="Building the target"
    )
    phase.summary = "clang, address and undefined-behaviour sanitizers"


def _fuzz(phase: Phase, seconds: int, kept: Path) -> Path | None:
    """Returns the input that ended the target, if one did."""
    artifacts = files.fresh_directory(FOUND / "failures")
    runs = coverage = 0

    def on_line(line: str) -> None:
        nonlocal runs, coverage
        if found := re.match(r"(?:#|Done )(\d+)\s", line):
            runs = int(found[1])
            if cover := re.search(r" cov: (\d+)", line):
                coverage = int(cover[1])
            phase.progress(f"{runs} runs, {coverage} edges")

    status = process.run(
        [
            _PROGRAM,
            f"-max_total_time={seconds}",
            f"-max_len={_MAX_INPUT_BYTES}",
            f"-timeout={_SLOW_INPUT_S}",
            "-len_control=0",
            f"-artifact_prefix={artifacts}{os.sep}",
            kept,
            CORPUS,
        ],
        env=_ENVIRONMENT,
        log=_LOG,
        what="The fuzzer",
        on_line=on_line,
        accept=tuple(range(256)),
    )
    phase.summary = f"{runs} runs in {seconds} s, {coverage} edges covered"
    if status == 0:
        return None
    failures = sorted(artifacts.iterdir())
    if not failures:
        raise CairnError(f"The fuzzer ended with status {status}. Its log: {shown(_LOG)}")
    return failures[0]


def _save(phase: Phase, kept: Path) -> None:
    """The committed corpus becomes the fewest inputs that cover what both cover."""
    chosen = files.fresh_directory(FOUND / "chosen")
    process.run(
        [_PROGRAM, "-set_cover_merge=1", "-use_counters=0", chosen, CORPUS, kept],
        env=_ENVIRONMENT,
        log=_LOG,
        what="Choosing inputs",
    )
    inputs = sorted(chosen.iterdir())
    for old in CORPUS.iterdir():
        old.unlink()
    for path in inputs:
        shutil.copyfile(path, CORPUS / path.name)
    size = sum(path.stat().st_size for path in inputs)
    phase.summary = f"{len(inputs)} inputs, {size // 1024} KiB in {shown(CORPUS)}"

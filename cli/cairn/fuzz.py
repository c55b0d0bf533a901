"""./cairn fuzz: libFuzzer looks for bytes from a disk that are read wrongly."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from cairn import files, packages, process, rocksdb
from cairn.errors import CairnError
from cairn.paths import BUILD, LOG, ROOT, VAR, shown
from cairn.report import Phase, Reporter, ninja_progress, say

FOUND = VAR / "fuzz"
_LOG = LOG / "fuzz.log"
_MAX_INPUT_BYTES = 1024
_SLOW_INPUT_S = 20
_ENVIRONMENT = {
    # The libraries of GoogleTest and RocksDB are not compiled with the sanitizer.
    "ASAN_OPTIONS": "detect_container_overflow=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def program(target: str) -> Path:
    """The program of libFuzzer."""
    return BUILD / "fuzz" / "tests" / "fuzz" / f"{target}_fuzzer"


def committed(target: str) -> Path:
    """The corpus that the unit tests feed to it."""
    return ROOT / "tests" / "fuzz" / "corpus" / target


def shares(seconds: int, targets: Sequence[str]) -> dict[str, int]:
    """How long each runs, a second at least."""
    share, rest = divmod(seconds, len(targets))
    return {target: max(1, share + (i < rest)) for i, target in enumerate(targets)}


def run(targets: Sequence[str], seconds: int, corpus: Path | None, *, save: bool) -> int:
    """Builds the targets and runs them, one after the other; returns the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        groups = (packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS, packages.FUZZING)
        packages.ensure(groups, phase)
    with reporter.phase("RocksDB") as phase:
        library = rocksdb.ensure(phase)
    with reporter.phase("Build") as phase:
        _build(phase, library, targets)
    failed = 0
    with files.exclusive(VAR / ".fuzz.lock", "fuzzing"):
        for target, share in shares(seconds, targets).items():
            kept = (corpus or FOUND / "corpus") / target
            kept.mkdir(parents=True, exist_ok=True)
            with reporter.phase(f"Fuzz ({target})") as phase:
                culprit = _fuzz(phase, target, share, kept)
            if culprit is not None:
                failed += 1
                say(f"    An input ends the target: {shown(culprit)}")
                say(f"    Again: {shown(program(target))} {shown(culprit)}; log: {shown(_LOG)}")
            elif save:
                with reporter.phase(f"Corpus ({target})") as phase:
                    _save(phase, target, kept)
    say("")
    say(f"{len(targets) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _build(phase: Phase, library: Path, targets: Sequence[str]) -> None:
    phase.progress("configuring")
    process.run(
        [
            *("cmake", "--preset", "fuzz"),
            f"-DCAIRN_ROCKSDB_ROOT={library}",
            f"-DCAIRN_ROCKSDB_SOURCES={rocksdb.sources(phase)}",
        ],
        cwd=ROOT,
        log=_LOG,
        what="Configuring the targets",
    )
    programs = [program(target).name for target in targets]
    process.run(
        ["cmake", "--build", "--preset", "fuzz", "--target", *programs],
        cwd=ROOT,
        log=_LOG,
        what="Building the targets",
        on_line=ninja_progress(phase),
    )
    phase.summary = "clang, address and undefined-behaviour sanitizers"


def _fuzz(phase: Phase, target: str, seconds: int, kept: Path) -> Path | None:
    """Returns the input that ended the target, if one did."""
    artifacts = files.fresh_directory(FOUND / "failures" / target)
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
            program(target),
            f"-max_total_time={seconds}",
            f"-max_len={_MAX_INPUT_BYTES}",
            f"-timeout={_SLOW_INPUT_S}",
            "-len_control=0",
            f"-artifact_prefix={artifacts}{os.sep}",
            kept,
            committed(target),
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


def _save(phase: Phase, target: str, kept: Path) -> None:
    """The committed corpus becomes the fewest inputs that cover what both cover."""
    chosen = files.fresh_directory(FOUND / "chosen" / target)
    corpus = committed(target)
    process.run(
        [program(target), "-set_cover_merge=1", "-use_counters=0", chosen, corpus, kept],
        env=_ENVIRONMENT,
        log=_LOG,
        what="Choosing inputs",
    )
    inputs = sorted(chosen.iterdir())
    for old in corpus.iterdir():
        old.unlink()
    for path in inputs:
        shutil.copyfile(path, corpus / path.name)
    size = sum(path.stat().st_size for path in inputs)
    phase.summary = f"{len(inputs)} inputs, {size // 1024} KiB in {shown(corpus)}"

"""clang-tidy over engine/ and mariadb/; what was found clean is not looked at again.

Reading the headers takes most of the time, so the sources of a folder are looked at together, as
one source that includes them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cairn import files, process, together
from cairn.errors import CairnError
from cairn.paths import BUILD, LOG, ROOT, cache, shown
from cairn.report import Phase

TOOL = "clang-tidy-14"
FOLDERS = ("engine", "mariadb")
# So many sources are looked at together at most: enough to share the headers, few enough to
# occupy all processors.
TOGETHER = 24
# A verdict that nobody has asked for in this time is forgotten.
KEPT_S = 60 * 24 * 3600
_POLL_S = 0.05
_CONFIGURATION = ROOT / ".clang-tidy"
_COMMANDS = BUILD / "release" / "compile_commands.json"
_SCRATCH = BUILD / "tidy"
_LOGS = LOG / "tidy"
# What gcc understands and clang does not, such as profiles; warnings, as an error among them ends
# clang's analysis; and gcc's precompiled header.
_LEFT_OUT = re.compile(
    r"-fno-gnu-unique|-fprofile-use|-specs=.*|-DCAIRN_PROFILE_NUMBER=.*|-W.*|-c|.*\.cc"
)
_WITH_VALUE = ("-o", "-include")
# What a source does not compile for.
_BROKEN = "clang-diagnostic-error"


@dataclass(frozen=True)
class Source:
    """A file as the compiler is called for it; its path counts from the checkout's root."""

    path: str
    arguments: tuple[str, ...]


Group = list[Source]


@dataclass(frozen=True, order=True)
class Finding:
    """One message. The path counts from the checkout's root where it lies in it."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass
class Outcome:
    """What became of the sources: how many are clean, and what is wrong with the others."""

    clean: int = 0
    looked_at: int = 0
    findings: set[Finding] = field(default_factory=set)

    @property
    def failed(self) -> int:
        """How many files have findings."""
        return len({finding.path for finding in self.findings})


# ---- what decides a verdict ---------------------------------------------------------------------


def arguments_of(command: str, root: Path = ROOT) -> tuple[str, ...]:
    """What clang is told of a line of compile_commands.json; paths count from the root."""
    words = iter(shlex.split(command)[1:])
    kept = []
    for word in words:
        if word in _WITH_VALUE:
            next(words)
        elif not _LEFT_OUT.fullmatch(word):
            kept.append(word.replace(str(root), "."))
    return tuple(kept)


def sources(commands: Path = _COMMANDS, root: Path = ROOT) -> list[Source]:
    """All sources of the folders. One that no target compiles is an error."""
    compiled = {
        entry["file"]: entry["command"]
        for entry in json.loads(commands.read_text(encoding="utf-8"))
    }
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.cc"))]
    for path in paths:
        if str(path) not in compiled:
            raise CairnError(f"{path.relative_to(root)}: no CMakeLists.txt names this file.")
    return [
        Source(str(path.relative_to(root)), arguments_of(compiled[str(path)], root))
        for path in paths
    ]


class Includes:
    """Which files of the checkout a file includes, and what is in them. Reads each file once."""

    _LINE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+(\S+)", re.MULTILINE)

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._direct: dict[str, tuple[str, list[str]]] = {}

    def digest(self, path: str) -> str:
        """A hash of the file and of all that it includes from the checkout, directly or not."""
        pending, seen = [path], {path}
        while pending:
            for included in self._read(pending.pop())[1]:
                if included not in seen:
                    seen.add(included)
                    pending.append(included)
        return _hash(part for name in sorted(seen) for part in (name, self._read(name)[0]))

    def _read(self, path: str) -> tuple[str, list[str]]:
        if path not in self._direct:
            content = (self._root / path).read_bytes()
            found = []
            for name in self._LINE.findall(content.decode("utf-8", errors="replace")):
                if name[0] == "<":
                    continue
                if name[0] != '"':
                    raise CairnError(
                        f"{path}: includes {name}, which clang-tidy's cache cannot follow."
                    )
                found += self._find(path, name.strip('"'))
            self._direct[path] = (hashlib.sha256(content).hexdigest(), found)
        return self._direct[path]

    def _find(self, includer: str, name: str) -> list[str]:
        """Both places where the name may lie: a name too many in a key does no harm."""
        places = {os.path.normpath(Path(includer).parent / name), os.path.normpath(name)}
        return [place for place in sorted(places) if (self._root / place).is_file()]


def environment() -> str:
    """What decides every verdict beside the source: the tool, its checks, the system's headers."""
    # Its other lines are about the machine.
    version = re.search(r"version \S+", process.output([TOOL, "--version"]))
    compiler = process.output([os.environ.get("CXX", "c++"), "--version"])
    if version is None or not compiler:
        raise CairnError(f"{TOOL} or the C++ compiler is missing: run ./cairn test tidy.")
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    configuration = _CONFIGURATION.read_text(encoding="utf-8")
    return _hash((version[0], compiler.splitlines()[0], libc, configuration))


def key(source: Source, surroundings: str, includes: Includes) -> str:
    """Names the verdict on a source; the same in every checkout with the same files.

    RocksDB's and the server's headers are in it by their paths, which carry their versions.
    """
    return _hash((surroundings, source.path, *source.arguments, includes.digest(source.path)))


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


class Verdicts:
    """The keys of sources that were found clean: one file for each, in the cache."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def is_clean(self, key: str) -> bool:
        """Also notes that somebody has asked."""
        try:
            os.utime(self._directory / key)
        except FileNotFoundError:
            return False
        return True

    def keep(self, key: str, path: str) -> None:
        files.write_atomic(self._directory / key, path + "\n")

    def forget_old(self) -> None:
        oldest = time.time() - KEPT_S
        for path in self._directory.glob("*") if self._directory.is_dir() else ():
            # Another checkout may forget at the same time.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


# ---- looking -------------------------------------------------------------------------------------


def groups(stale: Iterable[Source]) -> list[Group]:
    """Sources that can be looked at together: of one folder and compiled alike."""
    alike: dict[tuple[str, ...], list[Source]] = {}
    for source in stale:
        alike.setdefault((str(Path(source.path).parent), *source.arguments), []).append(source)
    result = []
    for members in alike.values():
        count = -(-len(members) // TOGETHER)
        result += [members[start::count] for start in range(count)]
    return sorted(result, key=len, reverse=True)


def parse(lines: Iterable[str], root: Path = ROOT) -> set[Finding]:
    """The findings in clang-tidy's output, without the notes that explain them."""
    found = set()
    for line in lines:
        if match := re.match(r"(\S[^:]*):(\d+):\d+: (?:warning|error): (.*)", line):
            path = Path(os.path.normpath(root / match[1]))
            name = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
            text = match[3].replace(",-warnings-as-errors]", "]")
            found.add(Finding(name, int(match[2]), text))
        elif match := re.match(r"error: (.*)", line):
            found.add(Finding(TOOL, 0, match[1]))
    return found


def look_at_all(pending: Iterable[Group]) -> Iterator[tuple[Group, set[Finding]]]:
    """Yields each group with its findings as they come, over all processors.

    Sources whose names clash are looked at apart, so the groups may be smaller than those given.
    """
    queue = deque(pending)
    running: list[_Run] = []
    try:
        while queue or running:
            while queue and len(running) < (os.cpu_count() or 2):
                running.append(_Run(queue.popleft()))
            time.sleep(_POLL_S)
            for ended in [one for one in running if one.has_ended()]:
                running.remove(ended)
                findings = ended.findings()
                parts = _apart(ended.group, ended.status(), findings)
                queue.extend(parts)
                if not parts:
                    yield ended.group, findings
    finally:
        for one in running:
            one.stop()


class _Run:
    """clang-tidy while it looks at a group."""

    def __init__(self, group: Group) -> None:
        self.group = group
        name, self._target = _one_source(group)
        self._log = _LOGS / f"{name}.log"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        command = [TOOL, "--quiet", "--warnings-as-errors=*", self._target, "--"]
        with self._log.open("w", encoding="utf-8") as output:
            self._child = subprocess.Popen(
                [*command, *group[0].arguments],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=process.end_with_parent,
            )

    def has_ended(self) -> bool:
        return self._child.poll() is not None

    def status(self) -> int:
        return self._child.wait()

    def findings(self) -> set[Finding]:
        """What it has found; a failure that it says nothing of is a finding."""
        found = parse(self._log.read_text(encoding="utf-8", errors="replace").splitlines(), ROOT)
        if self.status() != 0 and not found:
            found = {Finding(self._target, 0, f"{TOOL} ended with status {self.status()}")}
        return found

    def stop(self) -> None:
        self._child.terminate()
        self._child.wait()


def _one_source(group: Group) -> tuple[str, str]:
    """A name for the group, and the path of the source that is all of it."""
    first = group[0].path
    name = first.replace("/", "-")
    if len(group) == 1:
        return name, first
    path = _SCRATCH / f"{name}-{len(group)}.cc"
    files.write_atomic(path, together.source_of([source.path for source in group], ROOT))
    return path.name, str(path.relative_to(ROOT))


def _apart(group: Group, status: int, findings: set[Finding]) -> list[Group]:
    """What has to be looked at again before there is a verdict: nothing, or all in two parts.

    That is the sources that the compiler complains of and the others; halves, if it names none.
    """
    broken = {finding.path for finding in findings if _BROKEN in finding.text}
    crashed = status not in (0, 1)
    if len(group) == 1 or not (broken or crashed):
        return []
    parts = [
        [source for source in group if (source.path in broken) == is_broken]
        for is_broken in (False, True)
    ]
    half = len(group) // 2
    return parts if all(parts) else [group[:half], group[half:]]


def run(phase: Phase) -> Outcome:
    """Looks at every source whose verdict is not known."""
    verdicts = Verdicts(cache() / "tidy")
    surroundings = environment()
    includes = Includes()
    keys = {source: key(source, surroundings, includes) for source in sources()}
    stale = [source for source, name in keys.items() if not verdicts.is_clean(name)]
    outcome = Outcome(looked_at=len(stale))
    files.fresh_directory(_LOGS)
    done = 0
    for group, findings in look_at_all(groups(stale)):
        done += len(group)
        phase.progress(f"{done} of {len(stale)} files looked at")
        for finding in sorted(findings - outcome.findings):
            phase.note(str(finding))
        outcome.findings |= findings
        _keep_clean(verdicts, group, findings, keys, surroundings)
    failed = {finding.path for finding in outcome.findings}
    outcome.clean = sum(source.path not in failed for source in keys)
    if outcome.findings:
        phase.note(f"Log: {shown(_LOGS)}")
    verdicts.forget_old()
    return outcome


def _keep_clean(
    verdicts: Verdicts,
    group: Group,
    findings: set[Finding],
    keys: dict[Source, str],
    surroundings: str,
) -> None:
    """Keeps a group's verdicts, unless a header is at fault or a file has changed meanwhile."""
    at_fault = {finding.path for finding in findings}
    if not at_fault <= {source.path for source in group}:
        return
    includes = Includes()
    for source in group:
        if source.path not in at_fault and key(source, surroundings, includes) == keys[source]:
            verdicts.keep(keys[source], source.path)

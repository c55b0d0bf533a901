"""MariaDB's own test framework, run from the unpacked packages with a plug-in of our choice.

The framework takes plug-ins from the directory of its installation. It gets an installation made of
links, which differs from the unpacked packages in one file: ha_rocksdb.so.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cairn import files, process
from cairn.errors import CairnError
from cairn.paths import LOG, VAR
from cairn.prefix import Server

# The framework makes sockets some levels below its directory.
VARDIR_PATH_BYTES = 60


@dataclass
class Outcome:
    """How one test, in one variant, ended."""

    test: str
    variant: tuple[str, ...]
    state: str  # pass, fail or skip
    reason: str = ""
    # What the framework printed about a failure: the difference of the results, if there is one.
    report: list[str] = field(default_factory=list, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The name that ledgers and people use: the default variant goes without saying."""
        return ",".join([self.test, *(name for name in self.variant if name != "write_committed")])


def packaged_tests(server: Server) -> Path:
    """The directory of the packaged tests, which has the framework itself too."""
    return server.prefix / "usr" / "share" / "mysql" / "mysql-test"


def installation(server: Server, plugin: Path, name: str) -> Path:
    """The installation of links, made anew each time: it takes milliseconds and is never stale."""
    usr, packaged = VAR / "mtr" / name / "usr", server.prefix / "usr"
    files.fresh_directory(usr)
    for part in ("bin", "include", "sbin", "share"):
        (usr / part).symlink_to(packaged / part)
    (usr / "mysql-test").symlink_to(packaged_tests(server))
    plugins = usr / "lib" / "mysql" / "plugin"
    plugins.mkdir(parents=True)
    for library in packaged.glob("lib/*-linux-*"):
        (usr / "lib" / library.name).symlink_to(library)
    for path in (packaged / "lib" / "mysql" / "plugin").iterdir():
        (plugins / path.name).symlink_to(path)
    (plugins / "ha_rocksdb.so").unlink(missing_ok=True)
    (plugins / "ha_rocksdb.so").symlink_to(plugin)
    return usr


def working_directory(name: str) -> Path:
    """Where the framework puts its servers' data: in var/, or below /tmp where that is too long."""
    path = VAR / "mtr" / f"{name}-var"
    if len(os.fsencode(path)) <= VARDIR_PATH_BYTES:
        return path
    tag = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    return Path(tempfile.gettempdir(), f"cairn-mtr-{os.geteuid()}-{tag}")


def run(
    server: Server,
    plugin: Path,
    name: str,
    arguments: Iterable[str],
    *,
    parallel: int = 2,
    on_outcome: Callable[[Outcome], None] | None = None,
    own_suites: Callable[[Path], None] | None = None,
) -> list[Outcome]:
    """Runs the framework and returns how each test ended.

    `name` separates runs with different plug-ins. `own_suites` may replace suites in a directory of
    links to the packaged ones. A run in which no test ran raises CairnError.
    """
    usr = installation(server, plugin, name)
    tests = packaged_tests(server)
    if own_suites:
        tests = _own_tests(usr / "mysql-test", tests)
        own_suites(tests / "suite")
    vardir = working_directory(name)
    log = LOG / f"mtr-{name}.log"
    log.unlink(missing_ok=True)
    reader = Reader(on_outcome)
    environment = server.environment() | {
        "MTR_BINDIR": str(usr),
        # Tests look for tools such as sst_dump on the path.
        "PATH": f"{usr / 'bin'}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }
    status = process.run(
        [
            *("perl", "mariadb-test-run.pl", f"--vardir={vardir}", f"--parallel={parallel}"),
            *("--force", "--max-test-fail=0", "--retry=0"),
            *arguments,
        ],
        cwd=tests,
        env=environment,
        log=log,
        what="The test framework",
        on_line=reader.read,
        # Negative ones are signals: what ran until then counts.
        accept=tuple(range(-64, 256)),
    )
    outcomes = reader.finish()
    if status != 0 and not any(outcome.state == "fail" for outcome in outcomes):
        text = log.read_text(encoding="utf-8", errors="replace")
        errors = re.findall(r"(?:\*\* ERROR: |mysql-test-run: \*\*\* ERROR: )(.*)", text)
        raise CairnError(
            f"The test framework gave up (exit status {status}): "
            f"{errors[0] if errors else 'see its log'}. Log: {log}"
        )
    return outcomes


def _own_tests(own: Path, packaged: Path) -> Path:
    """A directory of tests in place of the link to the packaged one; every part of it is a link."""
    own.unlink()
    for directory, source in ((own, packaged), (own / "suite", packaged / "suite")):
        directory.mkdir()
        for path in source.iterdir():
            if path.name != "suite":
                (directory / path.name).symlink_to(path)
    return own


@dataclass
class Reader:
    """Turns the framework's lines into outcomes, as they come."""

    on_outcome: Callable[[Outcome], None] | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    _failing: Outcome | None = None

    _RESULT = re.compile(
        r"^(?:/\S*/)?(?P<test>[\w-]+(?:[./][\w-]+)+)"  # A suite may be given by its path.
        r"(?: '(?P<variant>[^']*)')?"
        r"\s+(?:w\d+\s+)?\[ (?P<state>pass|fail|skipped|disabled|retry-pass|retry-fail|exp-fail) \]"
        r"\s*(?P<comment>.*)$"
    )
    _STATES = {"pass": "pass", "retry-pass": "pass", "skipped": "skip", "disabled": "skip"}
    # The lines after a failure that say what was wrong, best first.
    _REASONS = (
        re.compile(r"^(?:mysqltest|mariadb-test): (?!In included file)(.*)"),
        re.compile(r"^(At line \d+: .*)"),
        re.compile(r"^(Failed to start .*)"),
        re.compile(r"^(- (?:found|server|Test).*)"),
        re.compile(r"^(Result (?:content|length) mismatch)"),
        re.compile(r"^(.*(?:mysqld|mariadbd).*(?:failed|died|crashed|exit).*)", re.IGNORECASE),
        re.compile(r"^\s*(Test (?:case )?timeout.*)"),
        re.compile(r"^(Found warnings/errors in.*)"),
    )

    def read(self, text: str) -> None:
        """One line of the framework's output."""
        found = self._RESULT.match(text)
        if not found:
            self._explain(text)
            return
        self._close()
        variant = tuple(part for part in (found["variant"] or "").split(",") if part)
        state = self._STATES.get(found["state"], "fail")
        reason = found["comment"].strip() if state != "pass" else ""
        outcome = Outcome(found["test"], variant, state, reason)
        if state == "fail":
            self._failing = outcome
        else:
            self._add(outcome)

    def finish(self) -> list[Outcome]:
        """All outcomes; a test that was repeated counts once, as failed if it ever failed."""
        self._close()
        worst: dict[str, Outcome] = {}
        rank = {"fail": 2, "pass": 1, "skip": 0}
        for outcome in self.outcomes:
            known = worst.get(outcome.key)
            if known is None or rank[outcome.state] > rank[known.state]:
                worst[outcome.key] = outcome
        return list(worst.values())

    def _explain(self, text: str) -> None:
        if self._failing is None:
            return
        self._failing.report.append(text)
        if self._failing.reason:
            return
        for pattern in self._REASONS:
            if found := pattern.match(text):
                self._failing.reason = found[1].strip()[:300]
                return

    def _close(self) -> None:
        if self._failing is not None:
            failing, self._failing = self._failing, None
            self._add(failing)

    def _add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if self.on_outcome:
            self.on_outcome(outcome)


def totals(outcomes: Iterable[Outcome]) -> Counter[str]:
    """How many tests passed, failed and were skipped."""
    return Counter(outcome.state for outcome in outcomes)

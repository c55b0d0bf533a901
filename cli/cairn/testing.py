"""./cairn test: all tests of this repository, with one total at the end."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from cairn import docs, mtr, packages, plugin, prefix, process, rocksdb, sysbench, tidy
from cairn.errors import CairnError
from cairn.paths import BUILD, CLI_TESTS, FOREIGN_KEYS_LEDGER, LOG, ROOT, SQL_SUITE, VAR, shown
from cairn.report import Phase, Reporter, say

# The unit tests run as users get the code, and where the sanitizers can see slips. Under the thread
# sanitizer those run in which threads meet.
UNIT_PRESETS = ("release", "asan", "tsan")
FORMATTED = ("engine", "mariadb", "packaging", "tests", "tools")
# ./cairn acceptance roundtrip and ./cairn acceptance damage make more of them.
ROUND_TRIPS = 3
DAMAGE_ROUNDS = 6
# ./cairn acceptance backup makes more of them.
BACKUP_ROUNDS = 1
# Of what is random in these tests: what fails fails again. The commands choose one for each run.
SEED = 2311
# The rounds of the short crash test with the binary log.
SHORT_ROUNDS = 5
# ./cairn acceptance torn-logs makes more of them.
TORN_LOG_ROUNDS = 2
# ./cairn acceptance prepared makes more of them.
PREPARED_ROUNDS = 2
# The short crash test takes every so manieth step of a statement.
SHORT_STRIDE = 4
# How many files of a failed check are named on the screen.
SHOWN_FILES = 20
# How many failures are named after the total.
SHOWN_FAILURES = 50


@dataclass
class Total:
    """Tests that passed and failed."""

    passed: int = 0
    failed: int = 0
    # What failed, for the lines after the total; a check that has no names leaves it empty.
    names: list[str] = field(default_factory=list)

    def add(self, other: Total, name: str) -> None:
        """`name`: of the check, for failures without names."""
        self.passed += other.passed
        self.failed += other.failed
        self.names += other.names
        if other.failed and not other.names:
            self.names.append(f"{name}: {other.failed}")

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def run(part: str) -> int:
    """Runs one part or all; a part that fails does not keep the others from running."""
    parts: dict[str, Callable[[Reporter], Total]] = {
        "lint": lint,
        "unit": unit,
        "tidy": slips,
        "sql": sql,
        "crash": crash,
        "conformance": conformance,
        "package": package,
    }
    reporter = Reporter()
    total = Total()
    with reporter.phase("Packages") as phase:
        packages.ensure(
            (packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS, packages.LINT)
            if part != "sql"
            else (packages.BUILD, packages.COMPRESSION, packages.UNIT_TESTS, packages.SQL_TESTS),
            phase,
        )
    for name in parts if part == "all" else (part,):
        total.add(parts[name](reporter), name)
    say("")
    say(str(total))
    for failure in total.names[:SHOWN_FAILURES]:
        say(f"    failed  {failure}")
    return 1 if total.failed or not total.passed else 0


# ---- unit --------------------------------------------------------------------------------------


def unit(reporter: Reporter) -> Total:
    """The C++ unit tests in three builds, and the tests of this command line."""
    total = Total()
    for preset in UNIT_PRESETS:
        _build(reporter, preset)
        with reporter.phase(f"Unit ({preset})") as phase:
            total.add(_summarise(phase, _ctest(phase, preset)), phase.name)
    _obtain_programs(reporter)
    with reporter.phase("Command line") as phase:
        total.add(_summarise(phase, _pytest()), phase.name)
    return total


def _build(reporter: Reporter, preset: str) -> None:
    server = prefix.require()
    with reporter.phase(f"Build ({preset})") as phase:
        library = rocksdb.ensure(phase, plugin.sanitizer_of(preset))
        plugin.build(phase, preset, server, library)


def _obtain_programs(reporter: Reporter) -> None:
    """What the command line's own tests run beside the server."""
    mariadb = prefix.require()
    with reporter.phase("Programs for tests") as phase:
        packages.ensure((packages.SERVER, packages.SYSBENCH), phase)
        try:
            packages.ensure((packages.BROWSER,), phase)
        except CairnError:
            phase.note("no browser can be installed: the report's page is not looked at")
        if Path("/dev/fuse").exists():
            try:
                packages.ensure((packages.FUSE,), phase)
            except CairnError:
                phase.note("FUSE cannot be installed: power cuts of files are not tested")
        prefix.ensure_monitoring(phase, mariadb)
    sysbench.ensure(mariadb)


# A line of the list that ctest ends with.
FAILED_UNIT = re.compile(r"\s*\d+ - (\S+) \((?!Disabled|Not Run \(Disabled)")


def _ctest(phase: Phase, preset: str) -> Total:
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        if found := re.match(r"\s*(\d+/\d+) Test\s", line):
            phase.progress(found[1])

    process.run(
        [
            *("ctest", "--test-dir", BUILD / preset, "--output-on-failure", "--no-tests=error"),
            # As two words: with an equals sign ctest takes no notice of it.
            *("--parallel", str(os.cpu_count() or 2)),
        ],
        env={"CAIRN_SEED": os.environ.get("CAIRN_SEED", str(SEED))},
        log=LOG / f"unit-{preset}.log",
        what="ctest",
        on_line=on_line,
        accept=tuple(range(256)),
    )
    found = re.search(r"(\d+) tests failed out of (\d+)", "\n".join(lines))
    if found is None:
        raise CairnError(f"ctest found no unit tests in {shown(BUILD / preset)}: build it anew.")
    failed, count = int(found[1]), int(found[2])
    if failed:
        _show_failures(lines, LOG / f"unit-{preset}.log")
    names = [f"{preset}: {name[1]}" for line in lines if (name := FAILED_UNIT.match(line))]
    return Total(count - failed, failed, names)


def _show_failures(lines: list[str], log: Path) -> None:
    """The output that ctest gives of failed tests, up to a screen or two."""
    wanted = [
        line
        for line in lines
        if not re.match(r"\s*\d+/\d+ Test\s.*Passed|\s+Start\s+\d+:", line) and line.strip()
    ]
    for line in wanted[:80]:
        say(f"    {line}")
    say(f"    Log: {shown(log)}")


def _pytest() -> Total:
    lines: list[str] = []
    status = process.run(
        [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", CLI_TESTS],
        cwd=ROOT,
        log=LOG / "unit-cli.log",
        what="pytest",
        on_line=lines.append,
        accept=tuple(range(256)),
    )
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", lines[-1])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if status != 0:
        for line in lines:
            say(f"    {line}")
    names = [line.split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return Total(counts.get("passed", 0), failed or int(status != 0), names)


# ---- tidy --------------------------------------------------------------------------------------


def slips(reporter: Reporter) -> Total:
    """clang-tidy over the plug-in's sources, with the flags of the release build."""
    server = prefix.require()
    with reporter.phase("Tidy (commands)") as phase:
        plugin.build(phase, "release", server, rocksdb.ensure(phase), "build.ninja")
    with reporter.phase("Tidy") as phase:
        outcome = tidy.run(phase)
        total = _summarise(phase, Total(outcome.clean, outcome.failed))
        phase.summary += f", {outcome.looked_at} not known before"
    return total


# ---- sql ---------------------------------------------------------------------------------------


def sql(reporter: Reporter) -> Total:
    """Our own suite, over servers that the server's test framework starts and stops."""
    server = prefix.require()
    if not plugin.is_replaced():
        _build(reporter, "release")
    if not any(SQL_SUITE.glob("t/*.test")):
        say(f"  {shown(SQL_SUITE)} has no tests yet.")
        return Total()
    failures: list[mtr.Outcome] = []
    with reporter.phase("SQL") as phase:
        seen = 0

        def on_outcome(outcome: mtr.Outcome) -> None:
            nonlocal seen
            seen += 1
            phase.progress(f"{seen} done, last {outcome.key}: {outcome.state}")

        outcomes = mtr.run(
            server, plugin.library(), "sql", [f"--suite={SQL_SUITE}"], on_outcome=on_outcome
        )
        failures = [outcome for outcome in outcomes if outcome.state == "fail"]
        counts = mtr.totals(outcomes)
        names = [outcome.key for outcome in failures]
        total = _summarise(phase, Total(counts["pass"], counts["fail"], names))
        if counts["skip"]:
            phase.summary += f", {counts['skip']} skipped"
    for outcome in failures:
        say(f"    fail  {outcome.key}  {outcome.reason}")
    if failures:
        say(f"    Log: {shown(LOG / 'mtr-sql.log')}")
    total.add(_roundtrip(reporter, server), "Round trips")
    total.add(_damage(reporter, server), "Damage")
    total.add(_backup(reporter, server), "Backup")
    total.add(_configurations(reporter, server), "Configurations")
    total.add(_faults(reporter), "Faults")
    return total


def conformance(reporter: Reporter) -> Total:
    """The packaged tests, of the stock plug-in and of foreign keys, end as the ledgers say."""
    from cairn import conformance as command

    if not plugin.is_replaced():
        _build(reporter, "release")
    passed, worse = command.check_passing(reporter)
    for outcome in worse:
        say(f"    {outcome.state}  {outcome.key}  {outcome.reason[:200]}")
    total = Total(passed, len(worse), [outcome.key for outcome in worse])
    total.add(_foreign_keys(reporter), "Foreign keys")
    return total


def _foreign_keys(reporter: Reporter) -> Total:
    """InnoDB's tests of foreign keys with ROCKSDB differ where the ledger says so, and how."""
    from cairn import expected_differences
    from cairn import foreign_key_suites as suites

    ledger = expected_differences.load_ledger(FOREIGN_KEYS_LEDGER)
    verdicts = suites.check(reporter, suites.runnable(ledger), ledger)
    failed = [verdict for verdict in verdicts if not verdict.holds]
    if failed:
        expected_differences.explain(verdicts, suites.DIRECTORY)
    names = [f"foreign keys: {verdict.test}" for verdict in failed]
    return Total(len(verdicts) - len(failed), len(failed), names)


def _roundtrip(reporter: Reporter, server: prefix.Server) -> Total:
    """A few directories go from the stock plug-in to ours and back."""
    from tests.acceptance.roundtrip import command

    failed = command.run_rounds(reporter, server, ROUND_TRIPS, str(SEED))
    failed += command.run_guard(reporter, server) + command.run_definitions(reporter, server)
    return Total(ROUND_TRIPS + 2 - failed, failed)


def _damage(reporter: Reporter, server: prefix.Server) -> Total:
    """Entries of a few tables are altered below RocksDB's checksums."""
    from tests.acceptance import altered

    failed = altered.run_rounds(reporter, server, DAMAGE_ROUNDS, str(SEED))
    return Total(DAMAGE_ROUNDS - failed, failed)


def _backup(reporter: Reporter, server: prefix.Server) -> Total:
    """A server under load is backed up, and restored to each of four places."""
    from tests.acceptance import backup

    failed = backup.run_rounds(reporter, server, BACKUP_ROUNDS, str(SEED))
    return Total(BACKUP_ROUNDS - failed, failed)


def _faults(reporter: Reporter) -> Total:
    """Calls that statements make of the engine fail in turn."""
    from tests.faults import command as faults

    if plugin.is_replaced():
        return Total()  # They fail in a plug-in that is made of this checkout's.
    figures = faults.check(reporter, short=True)
    return Total(figures.statements, len(figures.problems))


def _configurations(reporter: Reporter, server: prefix.Server) -> Total:
    """Configuration files that people use start as they are."""
    from tests.acceptance import bad_input

    cases = tuple(case for case in bad_input.CASES if case.name.startswith("configuration-"))
    counts = bad_input.run_cases(reporter, server, cases)
    return Total(counts["passed"], counts["failed"])


# ---- crash -------------------------------------------------------------------------------------


def crash(reporter: Reporter) -> Total:
    """Some DDL statements, cut off at some of their steps; kills of a primary and its replica.

    And recorded histories, with kills, logs that lose their end, and hunts for wrong answers. The
    commands themselves run longer.
    """
    from tests.acceptance import prepared, torn_logs
    from tests.crash import binlog, ddl
    from tests.histories import command as histories
    from tests.hunt import command as hunt

    if not plugin.is_replaced():
        _build(reporter, "release")
    total = Total()
    choice = ddl.Choice(short=True, stride=SHORT_STRIDE, seed=SEED)
    total.add(Total(*ddl.run_choice(reporter, choice)), "Crash ddl")
    total.add(Total(*histories.run_short(reporter, prefix.require(), SEED)), "Histories")
    torn = torn_logs.run_rounds(reporter, prefix.require(), TORN_LOG_ROUNDS, str(SEED))
    total.add(Total(TORN_LOG_ROUNDS - torn, torn), "Torn logs")
    if not plugin.is_replaced():  # cairn-store is made of this checkout's engine.
        wrong = prepared.run_rounds(reporter, prefix.require(), PREPARED_ROUNDS, str(SEED))
        total.add(Total(PREPARED_ROUNDS - wrong, wrong), "Prepared")
    tally = binlog.crash(reporter, SHORT_ROUNDS, SEED)
    total.add(Total(tally.passed, tally.failed), "Crash binlog")
    total.add(Total(*hunt.run_short(reporter, prefix.require())), "Hunt")
    return total


# ---- package -----------------------------------------------------------------------------------


def package(reporter: Reporter) -> Total:
    """The Debian package is made and tried in clean systems; and servers get Cairn without it."""
    from cairn.package import build
    from tests.acceptance import install
    from tests.acceptance.package import run as trial

    if plugin.is_replaced():
        return Total()  # It is made of this checkout's plug-in.
    if os.geteuid() != 0:
        say("  The package is not tried: that needs root.")
        return Total()
    made = build.make(reporter, VAR / "package" / "made")
    total = Total()
    total.add(Total(*trial.check(reporter, made.package, prefix.require().version)), "Package")
    total.add(Total(*install.check(reporter, prefix.require())), "Install")
    return total


# ---- lint --------------------------------------------------------------------------------------


_RUFF = (sys.executable, "-m", "ruff")
_RUFF_OPTIONS = ("--no-cache", "--config", str(ROOT / "cli" / "ruff.toml"))


def lint(reporter: Reporter) -> Total:
    """Layout of C++ and Python code, slips in Python and in shell scripts."""
    total = Total()
    checks: tuple[tuple[str, Callable[[], list[str]], Iterable[Path]], ...] = (
        ("clang-format", lambda: ["clang-format", "--dry-run", "-Werror"], _cpp_files()),
        ("shellcheck", lambda: ["shellcheck"], _shell_files()),
        ("ruff", lambda: [*_RUFF, "check", "--quiet", *_RUFF_OPTIONS], _python_files()),
        ("ruff format", lambda: [*_RUFF, "format", "--check", *_RUFF_OPTIONS], _python_files()),
    )
    for name, command, paths in checks:
        with reporter.phase(f"Lint ({name})") as phase:
            total.add(
                _summarise(phase, _check_files(phase, name, command(), list(paths))), phase.name
            )
    with reporter.phase("Lint (docs)") as phase:
        total.add(_summarise(phase, _check_pages(phase)), phase.name)
    return total


def _check_pages(phase: Phase) -> Total:
    """Pages that follow from tables in the source say what those say now."""
    stale = docs.out_of_date()
    for path in stale:
        phase.note(f"{shown(path)}: not what the source says; ./cairn docs makes it anew")
    return Total(len(docs.pages()) - len(stale), len(stale))


def lay_out(reporter: Reporter) -> None:
    """Rewrites the C++ and Python files as clang-format and ruff want them."""
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.LINT,), phase)
    paths = _cpp_files()
    with reporter.phase("Format") as phase:
        process.run(["clang-format", "-i", *paths], log=LOG / "lint.log", what="clang-format")
        python = _python_files()
        command = [*_RUFF, "format", "--quiet", *_RUFF_OPTIONS, *python]
        process.run(command, log=LOG / "lint.log", what="ruff")
        phase.summary = f"{len(paths) + len(python)} files"


def _check_files(phase: Phase, name: str, command: list[str], paths: list[Path]) -> Total:
    """One file is one test. All are given to one run, and singly only when that fails."""
    if not paths:
        return Total()
    tool = shutil.which(command[0])
    if tool is None:
        raise CairnError(f"{command[0]} is missing: install it, then run ./cairn test lint again.")
    log = LOG / "lint.log"
    everything = tuple(range(256))
    if process.run([*command, *paths], cwd=ROOT, log=log, what=name, accept=everything) == 0:
        return Total(len(paths))
    failed = 0
    for path in paths:
        lines: list[str] = []
        status = process.run(
            [*command, path],
            cwd=ROOT,
            log=log,
            what=name,
            accept=everything,
            on_line=lines.append,
        )
        if status != 0:
            failed += 1
            if failed <= SHOWN_FILES:
                phase.note(f"{shown(path)}: {lines[0] if lines else 'failed'}")
    if failed > SHOWN_FILES:
        phase.note(f"and {failed - SHOWN_FILES} more: see {shown(log)}")
    if failed and "format" in name:
        phase.note("./cairn format lays the files out")
    return Total(len(paths) - failed, failed)


def _cpp_files() -> list[Path]:
    return sorted(
        path
        for folder in FORMATTED
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".cc", ".h")
    )


def _shell_files() -> list[Path]:
    tracked = [ROOT / "cairn", ROOT / ".ci" / "run"]
    folders = ("cli", "tests", "bench", "packaging", "cmake")
    scripts = [path for folder in folders for path in (ROOT / folder).rglob("*.sh")]
    # The package's scripts have the names that dpkg knows.
    maintainer = (ROOT / "packaging" / "debian").glob("p*")
    others = (
        *sorted(scripts),
        *sorted(maintainer),
        ROOT / "packaging" / "container" / "entrypoint",
    )
    return [path for path in (*tracked, *others) if path.exists()]


def _python_files() -> list[Path]:
    folders = ("cli", "tests", "bench", "packaging")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _summarise(phase: Phase, total: Total) -> Total:
    phase.summary = str(total)
    return total

"""./cairn conformance: the packaged test suites against our plug-in, compared with the ledger."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from cairn import files, ledger, mtr, packages, plugin, prefix
from cairn.errors import CairnError
from cairn.paths import LEDGER, VAR, shown
from cairn.prefix import Server
from cairn.report import Reporter, say

STOCK_SUITES = ("rocksdb", "rocksdb_hotbackup", "rocksdb_rpl", "rocksdb_stress", "rocksdb_sys_vars")
# How many tests of each kind the summary names; the result file has them all.
SHOWN = 40
# Tests in one run of the framework.
BATCH = 30
# What the packaged tests expect: what the stock plug-in can read, its limits on keys included, what
# it calls an index, and how long it waits for a row. It does not know our variables.
STOCK_OPTIONS = (
    "--mysqld=--loose-cairn-format=stock",
    "--mysqld=--loose-cairn-index-type=lsmtree",
    "--mysqld=--loose-rocksdb-lock-wait-timeout=1",
)
# Some tests start a server by themselves, which root may only do in so many words.
AS_ROOT = ("--mysqld=--user=root",) if os.geteuid() == 0 else ()

DEFAULT_COMBINATION = "write_committed"
# Passing tests that `./cairn test` leaves to `./cairn conformance`: they load much or wait long.
SLOW: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Options:
    plugin_name: str
    repeat: int
    combination: str
    all_combinations: bool
    parallel: int
    update_ledger: bool


def run(wanted: tuple[str, ...], options: Options) -> int:
    """Runs the tests, writes a result file, returns the exit status."""
    reporter = Reporter()
    with reporter.phase("Packages") as phase:
        packages.ensure((packages.SERVER, packages.SQL_TESTS), phase)
    server = prefix.require()
    library = _plugin(server, options.plugin_name)
    tests = select(
        mtr.packaged_tests(server),
        wanted or STOCK_SUITES,
        None if options.all_combinations else options.combination,
    )
    say(f"  {len(tests)} tests against {shown(library)}")
    seen = 0

    with reporter.phase("Conformance") as phase:

        def on_outcome(outcome: mtr.Outcome) -> None:
            nonlocal seen
            seen += 1
            phase.progress(f"{seen} done, last {outcome.key}: {outcome.state}")
            if outcome.state == "fail":
                phase.note(f"fail  {outcome.key}  {outcome.reason[:100]}")

        outcomes = _run_tests(
            server,
            library,
            options.plugin_name,
            tests,
            repeat=options.repeat,
            parallel=options.parallel,
            on_outcome=on_outcome,
        )
        phase.summary = f"{len(outcomes)} tests"
    return _conclude(server, library, tests, outcomes, options)


def check_passing(reporter: Reporter) -> tuple[int, list[mtr.Outcome]]:
    """Runs what the ledger says passes, but for SLOW; how many still do, and those that do not."""
    server = prefix.require()
    tests = sorted(
        name
        for name, entry in ledger.load(LEDGER).items()
        if entry.expected == "pass" and name not in SLOW
    )
    with reporter.phase("Conformance") as phase:
        seen = 0

        def on_outcome(outcome: mtr.Outcome) -> None:
            nonlocal seen
            seen += 1
            phase.progress(f"{seen} done, last {outcome.key}: {outcome.state}")

        packaged = mtr.packaged_tests(server)
        named = [with_combination(packaged, name, DEFAULT_COMBINATION) for name in tests]
        outcomes = _run_tests(server, plugin.library(), "passing", named, on_outcome=on_outcome)
        worse = [outcome for outcome in outcomes if outcome.state != "pass"]
        missing = set(tests) - {outcome.key for outcome in outcomes}
        worse += [mtr.Outcome(name, (), "skip", "it was not run") for name in sorted(missing)]
        passed = len(tests) - len(worse)
        phase.summary = f"{passed} passed, {len(worse)} failed"
    return passed, worse


def _run_tests(
    server: Server,
    library: Path,
    name: str,
    tests: list[str],
    *,
    repeat: int = 1,
    parallel: int | None = None,
    on_outcome: Callable[[mtr.Outcome], None],
) -> list[mtr.Outcome]:
    outcomes: list[mtr.Outcome] = []
    for batch in batches(tests):
        outcomes += mtr.run(
            server,
            library,
            name,
            [f"--repeat={repeat}", *STOCK_OPTIONS, *AS_ROOT, *batch],
            **({} if parallel is None else {"parallel": parallel}),
            on_outcome=on_outcome,
        )
    return outcomes


def batches(tests: list[str]) -> Iterator[list[str]]:
    """The tests in runs of a size that the framework survives, each test in one variant.

    Its workers talk to it over a stream that a failing test with a long log can break; the run then
    ends where it is. Of a test that is named twice, in two variants, it runs the first.
    """
    waiting = tests
    while waiting:
        batch: dict[str, str] = {}
        later: list[str] = []
        for test in waiting:
            name = test.partition(",")[0]
            if len(batch) < BATCH and name not in batch:
                batch[name] = test
            else:
                later.append(test)
        yield list(batch.values())
        waiting = later


def select(packaged: Path, wanted: tuple[str, ...], combination: str | None) -> list[str]:
    """Names tests one by one, since the framework can choose a variant only for a named test.

    `packaged` is the framework's directory. Raises if it lacks a wanted suite or test.
    """
    tests: list[str] = []
    for name in wanted:
        suite, _, test = name.partition(".")
        directory = _suite_directory(packaged, suite)
        names = [test] if test else _tests_in(directory)
        for each in names:
            if (
                not (directory / f"{each.partition(',')[0]}.test").exists()
                and not (directory / "t" / f"{each.partition(',')[0]}.test").exists()
            ):
                raise CairnError(f"There is no test {suite}.{each}: ./cairn conformance --help.")
            tests.append(with_combination(packaged, f"{suite}.{each}", combination))
    return tests


def with_combination(packaged: Path, name: str, combination: str | None) -> str:
    """The test in the variant `combination`, if its suite has that and the name says no other."""
    suite, *chosen = re.split(r"[.,]", name)
    variants = _suite_directory(packaged, suite) / "combinations"
    text = variants.read_text(encoding="utf-8") if variants.exists() else ""
    known = re.findall(r"^\[(\w+)\]", text, re.MULTILINE)
    if combination not in known or any(variant in known for variant in chosen):
        return name
    return f"{name},{combination}"


def _suite_directory(packaged: Path, suite: str) -> Path:
    places = [
        *(packaged / suite, packaged / "suite" / suite),
        *sorted(packaged.glob(f"plugin/*/{suite}")),
    ]
    for place in places:
        if suite and _tests_in(place):
            return place
    raise CairnError(
        f"There is no packaged suite '{suite}': the suites are the directories of "
        f"{packaged / 'suite'} and {packaged / 'plugin'}/*, and main."
    )


def _tests_in(directory: Path) -> list[str]:
    found = [*directory.glob("*.test"), *directory.glob("t/*.test")]
    return sorted(path.stem for path in found)


def _plugin(server: Server, name: str) -> Path:
    library = server.stock_plugin if name == "stock" else plugin.library()
    if not library.exists():
        raise CairnError("The plug-in is not built yet: run ./cairn build.")
    return library


def _conclude(
    server: Server, library: Path, tests: list[str], outcomes: list[mtr.Outcome], options: Options
) -> int:
    write_result(options.plugin_name, server.version, library, outcomes, asdict(options))
    if options.plugin_name == "stock":
        # The yardstick has no ledger; its failures are facts about the packages.
        _list("skipped", [o for o in outcomes if o.state == "skip"])
        _list("failed", [o for o in outcomes if o.state == "fail"])
        regressions = len(_tell_lost(tests, outcomes))
        _sum_up(outcomes, regressions)
        return 1 if regressions else 0
    entries = ledger.load(LEDGER)
    if options.update_ledger:
        ledger.save(LEDGER, ledger.update(entries, outcomes))
        say(f"  {shown(LEDGER)} now says what came out; review it before committing.")
    return tell(tests, outcomes, entries, updated=options.update_ledger)


def tell(
    tests: list[str],
    outcomes: list[mtr.Outcome],
    entries: dict[str, ledger.Entry],
    *,
    updated: bool,
) -> int:
    """Prints how the outcomes of `tests` relate to the ledger; the exit status.

    After an update of the ledger only lost tests are failures.
    """
    _list("skipped", [o for o in outcomes if o.state == "skip"])
    worse = len(_tell_lost(tests, outcomes))
    if not updated:
        comparison = ledger.compare(outcomes, entries)
        _list("failed, as the ledger says", comparison.known)
        _list("passed, against the ledger (use --update-ledger)", comparison.surprises)
        _list("failed or skipped, against the ledger", comparison.regressions)
        worse += len(comparison.regressions)
    _sum_up(outcomes, worse)
    return 1 if worse else 0


def lost(tests: list[str], outcomes: list[mtr.Outcome]) -> list[str]:
    """Those of the tests that the framework was given and says nothing of."""
    ended = {outcome.test for outcome in outcomes}
    return [name for name in tests if name.partition(",")[0] not in ended]


def _tell_lost(tests: list[str], outcomes: list[mtr.Outcome]) -> list[str]:
    names = lost(tests, outcomes)
    _list("did not run", [mtr.Outcome(name, (), "skip", "see the log") for name in names])
    return names


def _sum_up(outcomes: list[mtr.Outcome], worse: int) -> None:
    totals = mtr.totals(outcomes)
    say(f"  {totals['skip']} skipped, {worse} worse than the ledger")
    say(f"{totals['pass']} passed, {totals['fail']} failed")


def _list(title: str, outcomes: list[mtr.Outcome] | tuple[mtr.Outcome, ...]) -> None:
    if not outcomes:
        return
    say(f"  {title}: {len(outcomes)}")
    for outcome in outcomes[:SHOWN]:
        say(f"    {outcome.key:<56} {outcome.reason[:100]}")
    if len(outcomes) > SHOWN:
        say(f"    and {len(outcomes) - SHOWN} more: see var/conformance/latest.json")


def write_result(
    name: str,
    server_version: str,
    library: Path,
    outcomes: list[mtr.Outcome],
    options: dict[str, object],
) -> None:
    """Writes what came out to a file of var/conformance/, and to latest.json there."""
    result = {
        "time": time.strftime("%Y-%m-%d %H:%M:%S"),
        "server": server_version,
        "plugin": plugin_facts(library),
        "options": options,
        "totals": dict(mtr.totals(outcomes)),
        "tests": [
            {"test": o.key, "variant": list(o.variant), "state": o.state, "reason": o.reason}
            for o in sorted(outcomes, key=lambda outcome: outcome.key)
        ],
    }
    directory = VAR / "conformance"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    files.write_json(directory / f"{name}-{stamp}.json", result)
    files.write_json(directory / "latest.json", result)


def plugin_facts(library: Path) -> dict[str, object]:
    """Which plug-in a result is about."""
    return {"file": str(library), "bytes": library.stat().st_size}

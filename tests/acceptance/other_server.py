"""./cairn acceptance other-server: our SQL suite with the package's build for another server.

Before it, that build opens tables of the server that Cairn is developed with (carried_over.py).

The server and the package are installed in a clean Debian of its release, and the server's own test
framework runs tests/sql there. The result files are those of the server that Cairn is developed
with. Where another version of the server gives another result, it does so with InnoDB's tables as
well: such differences are counted, and no failures. Any other has a line in other_server.tsv, by
its digest and with its reason, or is a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pymysql

from cairn import expected_differences as expected
from cairn import files, versions
from cairn.errors import CairnError
from cairn.mtr import Outcome
from cairn.paths import LOG, VAR, shown
from cairn.prefix import Server
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import own_directory
from tests import runs
from tests.acceptance import other_server_system
from tests.acceptance.carried_over import CarriedOver
from tests.acceptance.other_server_system import (
    CHECKOUT,
    DIRECTORY,
    Request,
    framework,
    leave_options_to_framework,
    progress,
    run_framework,
)
from tests.acceptance.package.clean_system import CleanSystem

LEDGER = Path(__file__).with_suffix(".tsv")
_DIFFERENCES = VAR / "conformance" / "other-server"
_LOG = LOG / "other-server.log"
# The release of Debian whose server has TIMESTAMPs up to 2106.
_WITH_OTHER_TIMES = 13
# So much of what is wrong with tables is printed.
_SHOWN = 20
# Defaults of the server that the result files are of: options, and what 11.8's framework says.
_AS_BEFORE = (
    "--mysqld=--loose-character-set-collations=",
    "--mysqld=--loose-innodb-snapshot-isolation=OFF",
)
_FRAMEWORK_AS_BEFORE = (
    ("include/default_mysqld.cnf", r"^(character-set-server=\s*)utf8mb4$", r"\1latin1"),
    ("include/default_mysqld.cnf", r"^(collation-server=\s*)\w+$", r"\1latin1_swedish_ci"),
    (
        "mariadb-test-run.pl",
        r"(DATABASE IF NOT EXISTS test CHARACTER SET) utf8mb4 COLLATE \w+",
        r"\1 latin1 COLLATE latin1_swedish_ci",
    ),
)


def run(request: Request) -> int:
    """Runs the tests; the exit status."""
    reporter = Reporter()
    other_server_system.check(request)
    mariadb = runs.prepare(reporter)
    with own_directory(DIRECTORY):
        with other_server_system.installed(reporter, request) as made:
            system = made.system
            wrong = _carry_over(reporter, mariadb, system, request)
            _require_refusals(system, request.version)
            with reporter.phase("SQL") as its_phase:
                outcomes = _run_suite(its_phase, system, request.tests)
                ledger = expected.load_ledger(LEDGER)
                verdicts = judge(outcomes, ledger)
                failed = [verdict for verdict in verdicts if not verdict.holds]
                skipped = sum(outcome.state == "skip" for outcome in outcomes)
                its_phase.summary = (
                    f"{len(verdicts) - len(failed)} passed, {len(failed)} failed, {skipped} skipped"
                )
        runs.leave(DIRECTORY, len(failed) + len(wrong))
    if request.update_ledger:
        expected.save_ledger(LEDGER, _updated(ledger, verdicts))
        say(f"  {shown(LEDGER)} has the differences; explain the new ones.")
    expected.write(_DIFFERENCES, verdicts, outcomes)
    expected.explain(failed, _DIFFERENCES)
    say(f"  {sum(each.known for each in verdicts)} differences explained; log: {shown(_LOG)}")
    say(f"{len(verdicts) - len(failed)} passed, {len(failed)} failed; of tables {len(wrong)} wrong")
    return 1 if failed or wrong or not verdicts else 0


def _carry_over(
    reporter: Reporter, mariadb: Server, system: CleanSystem, request: Request
) -> list[str]:
    """Tables that the server of this checkout made; what is wrong with them under the other."""
    if request.tests:
        return []
    version = versions.bare(mariadb.version)
    with reporter.phase("Tables") as phase:
        phase.progress(f"made with MariaDB {version}")
        tables = CarriedOver(mariadb, DIRECTORY / "made")
        phase.progress(f"{tables.tables} tables, opened by the other server")
        keeps_other_times = versions.release_of(request.version) >= _WITH_OTHER_TIMES
        wrong = tables.check(system, keeps_other_times=keeps_other_times)
        if wrong:
            kept = LOG / "carried-over.txt"
            files.write_atomic(kept, "\n".join((*wrong, "")))
            for text in wrong[:_SHOWN]:
                phase.note(text)
            phase.note(f"all of it: {shown(kept)}")
        phase.summary = f"{tables.tables} tables of MariaDB {version}, {len(wrong)} wrong"
    return wrong


def _require_refusals(system: CleanSystem, version: str) -> None:
    """What only another server has, and Cairn not, is refused. Leaves no server, and no options."""
    system.start()
    if versions.release_of(version) >= 13:
        try:
            system.query(
                "CREATE DATABASE refused",
                "CREATE TABLE refused.t (a INT PRIMARY KEY, v VECTOR(2) NOT NULL, VECTOR (v)) "
                "ENGINE=ROCKSDB",
            )
        except pymysql.Error as error:
            if "VECTOR" not in str(error):
                raise
        else:
            raise CairnError("A table with a VECTOR index is accepted.")
    system.stop()
    leave_options_to_framework(system)


def _run_suite(phase: Phase, system: CleanSystem, tests: tuple[str, ...]) -> list[Outcome]:
    """How the tests ended. Raises if the framework did not get to them."""
    for name, pattern, text in _FRAMEWORK_AS_BEFORE:
        path = framework(system) / name
        now = path.read_text(encoding="utf-8")
        path.write_text(re.sub(pattern, text, now, flags=re.MULTILINE), encoding="utf-8")
    # The second --force makes a test go on after an error: the rest of it counts too.
    arguments = ("--force", f"--suite=/{CHECKOUT}/tests/sql", *_AS_BEFORE, *tests)
    return run_framework(system, arguments, _LOG, progress(phase))


def judge(outcomes: Iterable[Outcome], ledger: list[expected.Line]) -> list[expected.Verdict]:
    """What of each test with our tables neither the ledger nor InnoDB's result explains.

    Tests that InnoDB's tables alone are used in say nothing of Cairn, and are left out.
    """
    outcomes = list(outcomes)
    server: dict[str, list[expected.Line]] = {}
    for outcome in outcomes:
        if "innodb" in outcome.variant and outcome.state == "fail":
            digests = " ".join(each.digest for each in expected.differences(outcome.report))
            line = expected.Line(outcome.test, digests, "The server's.")
            server.setdefault(outcome.test, []).append(line)
    ours = [outcome for outcome in outcomes if "innodb" not in outcome.variant]
    found = []
    for outcome in ours:
        if outcome.state == "skip":
            continue  # As the framework says: it needs what this server does not have.
        # What InnoDB's tables had and ours do not is no news.
        verdict = expected.judge(outcome, [*ledger, *server.get(outcome.test, ())])
        named = {d for line in ledger if line.test in _names(outcome) for d in line.digests}
        found.append(replace(verdict, gone=tuple(d for d in verdict.gone if d in named)))
    return found


def _names(outcome: Outcome) -> tuple[str, str]:
    return outcome.key, outcome.test


def _updated(ledger: list[expected.Line], verdicts: list[expected.Verdict]) -> list[expected.Line]:
    """Tests without differences need no line."""
    return [line for line in expected.update(ledger, verdicts) if line.differences != expected.PASS]

"""./cairn acceptance other-server --conformance: the stock plug-in's packaged tests on its server.

They are those of ./cairn conformance as the other server's packages have them, run in the clean
system against the package's build. Expected is what tests/conformance/ledger.tsv says of the server
that Cairn is developed with, but for what other_server.tsv beside it says.
"""

from __future__ import annotations

from cairn import conformance, ledger, mtr
from cairn import expected_differences as expected
from cairn.paths import LEDGER, LOG, OTHER_SERVER_LEDGER, VAR, shown
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import own_directory
from tests import runs
from tests.acceptance import other_server_system
from tests.acceptance.other_server_system import DIRECTORY, Request
from tests.acceptance.package.clean_system import CleanSystem

_NAME = "other-server-suites"
_REPORTS = VAR / "conformance" / _NAME
_LOG = LOG / f"{_NAME}.log"


def run(request: Request) -> int:
    """Runs the tests; the exit status."""
    reporter = Reporter()
    other_server_system.check(request)
    base = ledger.load(LEDGER)
    entries = ledger.load_with(base, OTHER_SERVER_LEDGER)
    with own_directory(DIRECTORY):
        with other_server_system.installed(reporter, request) as made:
            other_server_system.leave_options_to_framework(made.system)
            # Without the stock plug-in's tool of this name the framework skips its suites.
            (made.system.root / "usr/bin/sst_dump").symlink_to("cairn-sst-dump")
            tests = conformance.select(
                other_server_system.framework(made.system),
                request.tests or conformance.STOCK_SUITES,
                conformance.DEFAULT_COMBINATION,
            )
            with reporter.phase(f"{len(tests)} packaged tests") as phase:
                outcomes = _run_tests(phase, made.system, tests)
                totals = mtr.totals(outcomes)
                phase.summary = f"{totals['pass']} passed"
            conformance.write_result(
                _NAME, request.version, made.package, outcomes, {"tests": request.tests}
            )
        expected.write(_REPORTS, (), outcomes)
        if request.update_ledger:
            after = ledger.update(entries, outcomes)
            ledger.save(OTHER_SERVER_LEDGER, ledger.differing(base, after))
            say(f"  {shown(OTHER_SERVER_LEDGER)} has what is otherwise; review it.")
        status = conformance.tell(tests, outcomes, entries, updated=request.update_ledger)
        say(f"  what the framework said: {shown(_REPORTS)}, {shown(_LOG)}")
        runs.leave(DIRECTORY, status)
    return status


def _run_tests(phase: Phase, system: CleanSystem, tests: list[str]) -> list[mtr.Outcome]:
    outcomes: list[mtr.Outcome] = []
    on_outcome = other_server_system.progress(phase)
    options = (*conformance.STOCK_OPTIONS, *conformance.AS_ROOT)
    _LOG.unlink(missing_ok=True)
    for batch in conformance.batches(tests):
        outcomes += other_server_system.run_framework(system, (*options, *batch), _LOG, on_outcome)
    return outcomes

"""./cairn package --test: all steps, and their outcome.

The server that Cairn is developed with gets all of them; another one that the package has a build
for gets those of the first system, in the Debian that it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from cairn import prefix, server_versions, versions
from cairn.paths import VAR
from cairn.report import Phase, Reporter, say
from cairn.scratch_server import own_directory
from tests import runs
from tests.acceptance.package import bad_input, clean_system, container, steps, walkthrough
from tests.acceptance.package.trial import Trial

_Steps = tuple[tuple[str, Callable[[Trial, Phase], None]], ...]
_SYSTEMS: tuple[tuple[str, _Steps], ...] = (
    ("Clean system", (*steps.STEPS, *bad_input.STEPS)),
    ("Another one", walkthrough.STEPS),
    ("A container's", container.STEPS),
)


def check(reporter: Reporter, package: Path, version: str) -> tuple[int, int]:
    """Tries the package; how many steps went as they should, and how many did not.

    `version` is that of the server's packages. Where the archive has replaced them no step is run.
    """
    directory = VAR / "acceptance" / "package"
    failed = 0
    clean_system.unmount(directory)  # What a killed run has left, before it is removed.
    with own_directory(directory):
        for number, (name, its_steps) in enumerate(_SYSTEMS):
            with ExitStack() as stack:
                with reporter.phase(name) as phase:
                    made = clean_system.made(phase, directory / f"root-{number}")
                    trial = Trial(stack.enter_context(made), package, version)
                    phase.summary = clean_system.SUITE
                if not trial.system.offers(version):
                    say(
                        f"    not tried: the archive has no mariadb-server {version} any more; "
                        "./cairn clean --cache chooses the server anew"
                    )
                    return 0, failed
                failed += _run(reporter, trial, its_steps)
        runs.leave(directory, failed)
    return sum(len(its_steps) for _, its_steps in _SYSTEMS) - failed, failed


def check_other(reporter: Reporter, package: Path, version: str) -> tuple[int, int]:
    """As check(), for another server; its packages come from the archive's pools."""
    name, its_steps = _SYSTEMS[0]
    directory = VAR / "acceptance" / "package-other"
    clean_system.unmount(directory)
    with own_directory(directory):
        with reporter.phase("Packages of MariaDB") as phase:
            names = (*server_versions.INSTALLED_PACKAGES, prefix.STOCK_PACKAGE)
            archive = server_versions.ensure_packages(phase, version, names)
        with ExitStack() as stack:
            with reporter.phase(name) as phase:
                suite = clean_system.SUITES[versions.release_of(version)]
                made = clean_system.made(phase, directory / "root", suite)
                trial = Trial(stack.enter_context(made), package, version)
                trial.system.add_archive("server", archive)
                phase.summary = f"{suite}, with an archive of {versions.bare(version)}"
            failed = _run(reporter, trial, its_steps)
        runs.leave(directory, failed)
    return len(its_steps) - failed, failed


def _run(reporter: Reporter, trial: Trial, its_steps: _Steps) -> int:
    """How many of the steps failed; each goes on from where the one before has left the system."""
    failed = 0
    for name, step in its_steps:
        before = len(trial.wrong)
        with reporter.phase(name) as phase:
            step(trial, phase)
        for text in trial.wrong[before:]:
            say(f"    {text}")
        failed += len(trial.wrong) != before
    return failed


def run(package: Path, others: Sequence[str]) -> int:
    """Tries the package, with the chosen server and with others; returns the exit status."""
    reporter = Reporter()
    chosen = prefix.require().version
    passed, failed = check(reporter, package, chosen)
    for version in sorted({*others} - {chosen}):
        also_passed, also_failed = check_other(reporter, package, version)
        passed, failed = passed + also_passed, failed + also_failed
    say("")
    say(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1

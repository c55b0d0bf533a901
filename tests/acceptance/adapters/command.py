"""./cairn acceptance adapters: packages, a clean system, and the steps in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from cairn import packages, prefix
from cairn.package import adapter_sources, tree
from cairn.package import build as package_build
from cairn.paths import VAR
from cairn.report import Reporter, say
from cairn.scratch_server import own_directory
from tests import runs
from tests.acceptance.adapters import archive, steps
from tests.acceptance.package import clean_system
from tests.acceptance.package.trial import only_package

_DIRECTORY = VAR / "acceptance" / "adapters"
_NAMES = (tree.NAME, *adapter_sources.PACKAGES)


def run(made: Path | None) -> int:
    """Runs all steps; the exit status. `made` has the packages, if they are not to be made."""
    reporter = Reporter()
    failed = 0
    clean_system.unmount(_DIRECTORY)  # What a killed run has left, before it is removed.
    with own_directory(_DIRECTORY):
        found = _packages(reporter, made or _DIRECTORY / "packages", make=made is None)
        with reporter.phase("Packages of the tools") as phase:
            packages.ensure((packages.PACKAGING, packages.CHROOT), phase)
        root = _DIRECTORY / "root"
        with (
            reporter.phase("Clean system") as phase,
            clean_system.made(phase, root) as system,
        ):
            archive.make(phase, root / "srv/archive")
            for path in found.values():
                shutil.copy(path, root / "root")
            trial = steps.Trial(
                system, {name: f"/root/{path.name}" for name, path in found.items()}
            )
            trial.later_server = prefix.require().version
            phase.summary = f"{clean_system.SUITE}, with an archive of {archive.VERSION}"
            for name, step in steps.STEPS:
                before = len(trial.wrong)
                with reporter.phase(name) as its_phase:
                    step(trial, its_phase)
                for text in trial.wrong[before:]:
                    say(f"    {text}")
                failed += len(trial.wrong) != before
        runs.leave(_DIRECTORY, failed)
    say("")
    say(f"{len(steps.STEPS) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _packages(reporter: Reporter, directory: Path, *, make: bool) -> dict[str, Path]:
    if make:
        package_build.make(reporter, directory)
    return {name: only_package(directory, name) for name in _NAMES}

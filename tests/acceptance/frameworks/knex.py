"""The integration tests of knex; its package has none, so they come from its repository."""

from __future__ import annotations

import re

from cairn.prefix import Server
from cairn.report import Phase
from tests.acceptance.frameworks.suite import (
    INSIDE,
    Command,
    Place,
    Suite,
    check_out,
    described,
    environment,
    fetch,
    is_made,
    note_made,
    own_copy,
    require_program,
)

_REPOSITORY = "https://github.com/knex/knex"
_VERSION = "knex 3.3.0"
_COMMIT = "e25d54bcb707714a17f5a5744eba5c4246bb4d1d"
# Its lists of packages name ranges: none of them is newer than this.
_PACKAGES_UNTIL = "2026-11-01"
_CLIENT = "mysql2"
_TIMEOUT_MS = "60000"  # What comes with it is a sixth, too little for a busy machine.
# Loads the compiled library of another database before any test; it has no test of this client.
_OTHER_DATABASE = "test/integration2/dialects/sqlite.spec.js"


class Knex(Suite):
    name = "knex"
    databases = ("knex_test",)

    def prepare(self, phase: Phase, mariadb: Server) -> None:
        require_program("npm", "install Node.js 16 or newer")
        source = check_out(self.home, phase, _REPOSITORY, _COMMIT, self.source)
        packages = source / "node_modules"
        of = [_COMMIT, _PACKAGES_UNTIL]
        if not is_made(packages, of):
            phase.progress("installing its packages")
            options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
            fetch(
                ["npm", "install", *options, f"--before={_PACKAGES_UNTIL}"],
                "npm install",
                cwd=source,
            )
            note_made(packages, of)
        phase.summary = described(source, _VERSION)

    def commands(self, place: Place, only: tuple[str, ...]) -> list[Command]:
        source = own_copy(self.home / "source", place, "node_modules")
        whole = Command(
            (
                *("node", "node_modules/mocha/bin/mocha.js", "--exit"),
                *("-t", _TIMEOUT_MS, "--config", "test/mocha-integration-config-test.js"),
                *("--ignore", _OTHER_DATABASE),
                *("--reporter", INSIDE / "cairn_mocha.js"),
                *(("--grep", "|".join(only)) if only else ()),
            ),
            source,
            {
                **environment(place),
                "DB": _CLIENT,
                "KNEX_TEST": str(INSIDE / "cairn_knex.js"),
                "KNEX_TEST_TIMEOUT": _TIMEOUT_MS,
            },
        )
        return [whole]

    def again(self, place: Place, tests: list[str]) -> list[Command]:
        return self.commands(place, tuple(f"^{re.escape(test)}$" for test in tests))

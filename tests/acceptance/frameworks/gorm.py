"""gorm's own tests; its module has none, so they come from its repository."""

from __future__ import annotations

import json
from pathlib import Path

from cairn import files
from cairn.prefix import Server
from cairn.report import Phase
from tests.acceptance.frameworks.suite import (
    PINS,
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

_REPOSITORY = "https://github.com/go-gorm/gorm"
_VERSION = "gorm 1.31.2"
_COMMIT = "1d6ce99528060be18a42be09aca8d39efcb47f28"
_SUMS = PINS / "gorm.sum"
_STATES = ("pass", "fail", "skip")


class Gorm(Suite):
    name = "gorm"
    databases = ("gorm",)

    def prepare(self, phase: Phase, mariadb: Server) -> None:
        require_program("go", "install Go 1.24 or newer")
        source = check_out(self.home, phase, _REPOSITORY, _COMMIT, self.source)
        of = [_COMMIT, _SUMS.read_text(encoding="utf-8")]
        built = self.home / "built"
        if not is_made(built, of):
            phase.progress("compiling its tests")
            # The checksums are ours; go refuses a module that does not have them.
            files.write_atomic(source / "tests" / "go.sum", _SUMS.read_text(encoding="utf-8"))
            files.fresh_directory(built)
            fetch(
                ["go", "test", "-c", "-p", "2", "-o", built / "tests", "."],
                "Compiling gorm's tests",
                cwd=source / "tests",
                # Without the C of another database's driver.
                env={"CGO_ENABLED": "0"},
            )
            note_made(built, of)
        phase.summary = described(source, _VERSION)

    def commands(self, place: Place, only: tuple[str, ...]) -> list[Command]:
        run = (f"-test.run={'|'.join(only)}",) if only else ()
        source = own_copy(self.home / "source", place)
        whole = Command(
            (
                *("go", "tool", "test2json", "-t", self.home / "built" / "tests"),
                *("-test.v=test2json", "-test.count=1", *run),
            ),
            source / "tests",
            {
                **environment(place),
                "GORM_DIALECT": "mysql",
                "GORM_DSN": f"root@unix({place.socket})/gorm?charset=utf8&parseTime=True&loc=Local",
            },
            Recorder(place.outcomes),
        )
        return [whole]

    def again(self, place: Place, tests: list[str]) -> list[Command]:
        names = dict.fromkeys(test.partition("/")[0] for test in tests)
        return self.commands(place, tuple(f"^{name}$" for name in names))


class Recorder:
    """Writes down outcomes from the lines of `go tool test2json`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said: dict[str, list[str]] = {}

    def __call__(self, line: str) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            return
        test, action = event.get("Test"), event.get("Action")
        if not test:
            return
        if action == "output":
            self._said.setdefault(test, []).append(event.get("Output", ""))
        elif action in _STATES:
            said = "".join(self._said.pop(test, []))
            with self._path.open("a", encoding="utf-8") as out:
                entry = {
                    "test": test,
                    "state": action,
                    "said": "" if action == "pass" else said,
                }
                out.write(f"{json.dumps(entry)}\n")

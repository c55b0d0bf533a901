"""Alembic's own tests, from its source package, with the driver PyMySQL."""

from __future__ import annotations

from pathlib import Path

from cairn.prefix import Server
from cairn.report import Phase
from tests.acceptance.frameworks.django import pinned_version
from tests.acceptance.frameworks.suite import (
    INSIDE,
    PINS,
    Command,
    Place,
    Suite,
    described,
    environment,
    make_environment,
    own_copy,
    unpack_source,
)

_PIN = PINS / "alembic-source.txt"


class Alembic(Suite):
    name = "alembic"
    databases = ("test", "test_schema")

    def prepare(self, phase: Phase, mariadb: Server) -> None:
        pins = (PINS / "build.txt", PINS / "alembic.txt")
        python = make_environment(self._venv, phase, pins)
        source = unpack_source(self.home, phase, python, _PIN)
        phase.summary = described(source, pinned_version(_PIN))

    def commands(self, place: Place, only: tuple[str, ...]) -> list[Command]:
        source = own_copy(self.home / "source", place)
        whole = Command(
            (
                *(self._venv / "bin" / "python", "-m", "pytest", "-p", "cairn_pytest"),
                *("-p", "no:cacheprovider", "-p", "no:randomly", "--tb=native", "-q"),
                f"--dburi=mysql+pymysql://root@localhost/test?unix_socket={place.socket}"
                "&charset=utf8mb4",
                *(only or ("tests",)),
            ),
            source,
            {**environment(place), "PYTHONPATH": f"{source}:{INSIDE}"},
        )
        return [whole]

    def again(self, place: Place, tests: list[str]) -> list[Command]:
        return self.commands(place, tuple(tests))

    @property
    def _venv(self) -> Path:
        return self.home / "venv"

"""Django's own tests, from its source package."""

from __future__ import annotations

import re
from pathlib import Path

from cairn import prefix
from cairn.prefix import Server
from cairn.report import Phase
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

_PIN = PINS / "django-source.txt"
# With all of its labels at once, each of many tests empties the tables of all of them.
_LABELS_AT_ONCE = 14
# Directories below its tests that are for others: of tests, and of another kind of database.
_NO_LABELS = ("gis_tests", "import_error_package", "postgres_tests", "test_runner_apps")
# How the suite names what fails before the tests of a class or a module.
_HOLDER = re.compile(r"^\w+ \((?P<what>[\w.]+)\)$")


class Django(Suite):
    """All labels but those of GIS, which this backend leaves out by itself."""

    name = "django"

    def prepare(self, phase: Phase, mariadb: Server) -> None:
        prefix.ensure_client(phase, mariadb)
        libraries = next((mariadb.client / "usr" / "lib").glob("*-linux-*"))
        python = make_environment(
            self._venv,
            phase,
            (PINS / "build.txt", PINS / "django.txt"),
            {
                "MYSQLCLIENT_CFLAGS": f"-I{mariadb.client / 'usr' / 'include' / 'mariadb'}",
                "MYSQLCLIENT_LDFLAGS": f"-L{libraries} -Wl,-rpath,{libraries} -lmariadb",
            },
        )
        source = unpack_source(self.home, phase, python, _PIN)
        phase.summary = described(source, pinned_version(_PIN))

    def commands(self, place: Place, only: tuple[str, ...]) -> list[Command]:
        source = own_copy(self.home / "source", place)
        options = ("--settings=cairn_django_settings", "--noinput", "--parallel=1")
        return [
            Command(
                (self._venv / "bin" / "python", "runtests.py", *options, *group),
                source / "tests",
                {**environment(place), "PYTHONPATH": f"{source}:{INSIDE}"},
            )
            for group in groups(only or labels(source / "tests"))
        ]

    def again(self, place: Place, tests: list[str]) -> list[Command]:
        return self.commands(place, tuple(dict.fromkeys(label(test) for test in tests)))

    @property
    def _venv(self) -> Path:
        return self.home / "venv"


def labels(tests: Path) -> tuple[str, ...]:
    """What the suite runs without any label: the packages in its directory."""
    packages = sorted(path.parent.name for path in tests.glob("*/__init__.py"))
    return tuple(name for name in packages if name not in _NO_LABELS)


def groups(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [
        names[first : first + _LABELS_AT_ONCE] for first in range(0, len(names), _LABELS_AT_ONCE)
    ]


def label(test: str) -> str:
    """What the suite calls a test, or the class of one, on its command line."""
    held = _HOLDER.match(test)
    return held["what"] if held else test


def pinned_version(pin: Path) -> str:
    """The first package of a file of requirements, as `name version`."""
    first = next(
        line for line in pin.read_text(encoding="utf-8").splitlines() if line[:1].isalpha()
    )
    name, _, version = first.split()[0].partition("==")
    return f"{name} {version}"

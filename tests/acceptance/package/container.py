"""The container's recipe, carried out in a clean system: RUN lines, entry point, health."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

from cairn.paths import ROOT
from cairn.report import Phase
from cairn.scratch_server import free_port
from tests.acceptance.package.clean_system import CleanSystem
from tests.acceptance.package.trial import Trial

_RECIPE = ROOT / "packaging" / "container"
_ENTRY = "cairn-entrypoint"
# With all that a shell or SQL could take for something else.
_PASSWORD = "a'b\\c\"d $x"
_START_S = 60


def run_lines(recipe: str) -> list[str]:
    """The commands of RUN, with their continuation lines."""
    return [found[1] for found in re.finditer(r"^RUN ((?:.*\\\n)*.*)$", recipe, re.MULTILINE)]


def _build(trial: Trial, phase: Phase) -> None:
    system = trial.system
    # A container's runtime makes it.
    (system.root / "etc/hosts").write_text("127.0.0.1 localhost\n", encoding="ascii")
    shutil.copy(system.root / trial.package[1:], system.root / "tmp/mariadb-plugin-cairn.deb")
    for line in run_lines((_RECIPE / "Containerfile").read_text(encoding="utf-8")):
        system.run("sh", "-c", line)
    shutil.copy(_RECIPE / "entrypoint", system.root / "usr/local/bin" / _ENTRY)
    trial.require(not (system.data / "mysql").exists(), "the image has a data directory")
    phase.summary = "as the recipe says"


def _first_start(trial: Trial, phase: Phase) -> None:
    system = trial.system
    status, output = system.attempt(_ENTRY)
    trial.require(status == 1 and "MARIADB_ROOT_PASSWORD" in output, f"no password: {output}")
    _with_server(trial, _first_session, MARIADB_ROOT_PASSWORD=_PASSWORD)
    _with_server(trial, _second_session)
    status, _ = system.attempt(_ENTRY, "health")
    trial.require(status != 0, "a server that is down is healthy")
    phase.summary = "a data directory, a password, a table that is there after a restart"


def _first_session(trial: Trial, port: int) -> None:
    output = _client(
        trial.system, port, "CREATE DATABASE d; CREATE TABLE d.t (a INT) ENGINE=ROCKSDB"
    )
    trial.require(output == "", f"the first session: {output}")


def _second_session(trial: Trial, port: int) -> None:
    output = _client(trial.system, port, "INSERT INTO d.t VALUES (7); SELECT a FROM d.t")
    trial.require(output.strip() == "7", f"the session after a restart: {output}")


def _client(system: CleanSystem, port: int, statements: str) -> str:
    """What root gets who comes by TCP with the password."""
    arguments = ("--host=127.0.0.1", f"--port={port}", "--user=root", f"--password={_PASSWORD}")
    return system.attempt("mariadb", *arguments, "--skip-column-names", f"--execute={statements}")[
        1
    ]


def _with_server(trial: Trial, session: Callable[[Trial, int], None], **variables: str) -> None:
    """Starts the container's process on a port of the loopback, and ends it afterwards."""
    system, port = trial.system, free_port()
    log = system.root / "var/log/container.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            ["chroot", str(system.root), _ENTRY, f"--port={port}", "--bind-address=127.0.0.1"],
            env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **variables},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        begun = time.monotonic()
        while system.attempt(_ENTRY, "health")[0] != 0:
            if server.poll() is not None or time.monotonic() - begun > _START_S:
                text = log.read_text(encoding="utf-8", errors="replace")[-800:]
                trial.require(False, f"the container does not become healthy: {text}")
                return
            time.sleep(0.2)
        session(trial, port)
        server.send_signal(signal.SIGTERM)
        trial.require(server.wait(_START_S) == 0, "the container does not end by SIGTERM")
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


STEPS: tuple[tuple[str, Callable[[Trial, Phase], None]], ...] = (
    ("Image", _build),
    ("Container", _first_start),
)

"""What a file of results says about its run: when, what, where, by which versions."""

from __future__ import annotations

import hashlib
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cairn import process
from cairn.bench.engines import Engine
from cairn.bench.machine import Machine
from cairn.bench.plan import Plan
from cairn.bench.settings import Settings
from cairn.paths import ROOT, shown
from cairn.prefix import Server


def collect(mariadb: Server, machine: Machine, settings: Settings, plan: Plan) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "command": shlex.join(["./cairn", *sys.argv[1:]]),
        "commit": _commit(),
        "settings": asdict(settings),
        "rounds": plan.rounds,
        "machine": asdict(machine),
        "versions": {
            "mariadb": mariadb.version,
            "sysbench": process.output(
                [mariadb.sysbench / "usr" / "bin" / "sysbench", "--version"],
                env=mariadb.environment(),
            ).strip(),
        },
        "plugins": {engine.key: _plugin(engine) for engine in plan.engines if engine.library},
    }


def _commit() -> dict[str, Any]:
    """The checkout that the bench is of; a build of another one is told by its checksum."""
    git = ("git", "-C", ROOT)
    return {
        "id": process.output([*git, "rev-parse", "HEAD"]).strip(),
        "changed_files": len(
            process.output([*git, "status", "--porcelain", "--untracked-files=no"]).splitlines()
        ),
    }


def _plugin(engine: Engine) -> dict[str, Any]:
    path = Path(engine.library or "").resolve()
    return {
        "file": shown(path),
        "bytes": path.stat().st_size,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }

"""Kills the command, the server and both, at each phase in turn and at random moments."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from random import Random

from cairn.errors import CairnError
from cairn.report import Phase
from cairn.scratch_server import ScratchServer
from tests.acceptance.migrate.tables import SCHEMA
from tests.acceptance.migrate.tool import Tool, ended, kill

PHASES = ("making", "copying", "swapping", "cleaning", "altering")
VICTIMS = ("command", "server", "both")
PASSES = 12  # Migrations there and back in which each phase has to be met.


@dataclass
class Kills:
    """What is killed, and what has been."""

    server: ScratchServer
    tool: Tool
    chance: Random
    options: tuple[str, ...]
    phase: Phase
    done: list[tuple[str, str]] = field(default_factory=list)
    target: str = "rocksdb"

    def each_phase(self) -> None:
        """Until every victim has been killed in every phase; migrates there and back meanwhile."""
        left = [(phase, victim) for phase in PHASES for victim in VICTIMS]
        self.chance.shuffle(left)
        running = self._begin()
        passes = 1
        while left:
            met = self._meet(running, {phase for phase, _ in left})
            if met is None:
                self._complete(running)
                passes += 1
                if passes > PASSES:
                    raise CairnError(f"In {PASSES} migrations not met: {left}")
                self.target = "innodb" if self.target == "rocksdb" else "rocksdb"
                running = self._begin()
                continue
            chosen = next(one for one in left if one[0] == met)
            left.remove(chosen)
            running = self._strike(running, *chosen)
        self._complete(running)

    def at_random(self, count: int) -> None:
        """Kills at moments of no particular kind, in one migration or more."""
        running = self._begin()
        for _ in range(count):
            if ended(running, self.chance.uniform(0.05, 1.5)):
                self._complete(running)
                self.target = "innodb" if self.target == "rocksdb" else "rocksdb"
                running = self._begin()
            running = self._strike(running, "random", self.chance.choice(VICTIMS))
        self._complete(running)

    def migrate_to(self, target: str) -> None:
        """Brings all tables to an engine, undisturbed, unless they have it."""
        if self.target == target and self.done:
            return
        self.target = target
        self._complete(self._begin())

    def _begin(self) -> subprocess.Popen[bytes]:
        return self.tool.launch("run", "--to", self.target, "--schema", SCHEMA, *self.options)

    def _meet(self, running: subprocess.Popen[bytes], phases: set[str]) -> str | None:
        """The first of these phases that some table is in; None when the command ends before."""
        import pymysql

        text = "SELECT phase FROM cairn_migrate.tables"
        with self.server.connect() as connection, connection.cursor() as cursor:
            while running.poll() is None:
                try:
                    cursor.execute(text)
                    met = {str(row[0]) for row in cursor.fetchall()} & phases
                except pymysql.MySQLError as error:
                    if error.args[0] not in (1049, 1146, 1412):  # Not there yet, or no more.
                        raise
                    met = set()
                if met:
                    time.sleep(self.chance.choice((0, 0, 0.005, 0.03)))
                    return self.chance.choice(sorted(met))
                time.sleep(0.001)
        return None

    def _strike(
        self, running: subprocess.Popen[bytes], phase: str, victim: str
    ) -> subprocess.Popen[bytes]:
        """Kills, starts what has to be started, and lets the migration go on."""
        self.phase.progress(f"{len(self.done)} kills; {victim} while {phase}")
        if victim in ("command", "both"):
            kill(running)
        if victim in ("server", "both"):
            self.server.kill()
            if victim == "server" and not ended(running, 60):
                raise CairnError("The command does not end though the server is gone.")
            self.server.start()
        self.done.append((phase, victim))
        if (
            not self.server.query(
                "SELECT 1 FROM information_schema.tables WHERE table_schema = 'cairn_migrate' "
                "AND table_name = 'migration'"
            )
            or not self.server.query("SELECT COUNT(*) FROM cairn_migrate.migration")[0][0]
        ):
            return self._begin()  # It was killed before it began, or when all was done.
        return self.tool.launch("run", "--resume")

    def _complete(self, running: subprocess.Popen[bytes]) -> None:
        if not ended(running, 1800):
            raise CairnError("The migration does not end.")
        # 1: documents, which has a FULLTEXT index, is not converted.
        if running.returncode not in (0, 1):
            raise CairnError(f"The command ended with {running.returncode}: {self.tool.log}")
        if self.server.query(
            "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'cairn_migrate'"
        ):
            raise CairnError(f"The migration has failed: {self.tool.log}")

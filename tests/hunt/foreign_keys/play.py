"""Plays scripts with both engines in one server, and compares after each step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cairn.errors import CairnError
from cairn.scratch_server import ScratchServer
from tests.hunt.compare import difference
from tests.hunt.foreign_keys import look
from tests.hunt.foreign_keys.look import Trouble, for_engine, plain
from tests.hunt.foreign_keys.reasons import (
    ENDS,
    ERRORS,
    NOT_FOUND,
    OF_ROWS,
    QUIET,
    REFUSALS,
    Told,
    has_clauses,
    reason,
)
from tests.hunt.foreign_keys.rows import FILE
from tests.hunt.foreign_keys.schema import ELSEWHERE, HERE, Schema, read
from tests.hunt.foreign_keys.script import BLIND, KILL, LEVEL, LEVELS, XID
from tests.hunt.revive import revive
from tests.hunt.session import Answer, Session

OPTIONS = (
    "--character-set-server=utf8mb4",
    "--default-time-zone=+00:00",
    # What was acknowledged is there after a kill of the process.
    "--innodb-flush-log-at-trx-commit=2",
    "--rocksdb-flush-log-at-trx-commit=2",
    "--innodb-lock-wait-timeout=1",
    "--lock-wait-timeout=10",
    # Of the power nothing is asked.
    "--innodb-flush-method=nosync",
    "--sync-frm=OFF",
    "--rocksdb-block-cache-size=32M",
)
ENGINES = {"r": "ROCKSDB", "i": "InnoDB"}
DEFINES = ("CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE")
# A value that is cut off, in an expression.
COMPUTED = 1292
# Errors of foreign keys, whose text names one.
NAMING = (1451, 1452)


class Over(Exception):
    """The tables are no longer alike, for a reason."""


class Player:
    """Both engines, each with its databases and a session."""

    def __init__(self, server: ScratchServer) -> None:
        self._server = server
        self.figures: Counter[str] = Counter()
        self.schema = Schema()
        self._turn = 0
        self._looks = True
        # Whether DELETE counts rows without looking whether they are there.
        self._blind = False
        self._checks = True
        # Whether rows were written unchecked, and whether a database was dropped.
        self._loose = self._dropped = self._decided = False
        # Whether the transaction that XA START began has changed rows.
        self._changes = False
        self._connect()

    def _connect(self) -> None:
        self._ours, self._theirs = (
            Session(self._server, f"{letter}_{HERE}", (f"default_storage_engine={engine}",))
            for letter, engine in ENGINES.items()
        )
        self._checks = True
        self._level, self._locks = LEVELS[0], ""

    # ---- a script -------------------------------------------------------------------------------

    def play(self, steps: Sequence[str], *, looks: bool = True) -> Trouble | None:
        """The first trouble of a whole script; faster without looks at tables between the steps."""
        try:
            self.begin()
            self._looks = looks
            for step in steps:
                if (trouble := self.step(step)) is not None:
                    return trouble
            return self.end()
        except Over:
            return None

    def begin(self) -> None:
        """Empty databases and fresh sessions."""
        self._ours.close()
        self._theirs.close()
        self._connect()
        for letter, session in (("r", self._ours), ("i", self._theirs)):
            for row in session.must("XA RECOVER").rows:
                session.try_to(f"XA ROLLBACK '{row.rpartition(',')[2]}'")
            session.must("SET foreign_key_checks=0")
            for file in (self._server.data / f"{letter}_{HERE}").glob(f"{FILE}*"):
                file.unlink()
            for name in (HERE, ELSEWHERE):
                session.must(f"DROP DATABASE IF EXISTS {letter}_{name}")
                session.must(f"CREATE DATABASE {letter}_{name}")
            session.must(f"USE {letter}_{HERE}")
            session.must("SET foreign_key_checks=1")
        self.schema, self._turn, self._looks = Schema(), 0, True
        self._blind = self._loose = self._dropped = self._decided = self._changes = False

    def end(self) -> Trouble | None:
        """A last look at everything, behind the end of a transaction."""
        try:
            for letter, session in (("r", self._ours), ("i", self._theirs)):
                for text in (f"XA END {XID}", f"XA ROLLBACK {XID}", "ROLLBACK", "UNLOCK TABLES"):
                    session.try_to(for_engine(text, letter))
            # The last definition may have come where nothing was looked at.
            self.schema = read(self._theirs, "i")
            return self._look(True) or look.check(self._ours, self.schema)
        except CairnError as error:
            return self._breakdown(error)

    def step(self, step: str) -> Trouble | None:
        """Does it and compares. Raises Over when there is nothing more to compare."""
        self._turn += 1
        try:
            return self._kill() if step == KILL else self._run(step)
        except CairnError as error:
            return self._breakdown(error)

    def shown(self, table: str) -> str:
        """SHOW CREATE TABLE by InnoDB; empty for a table that LOCK TABLES has not named."""
        answer = self._theirs.try_to(for_engine(f"SHOW CREATE TABLE {table}", "i"))
        return plain(answer.rows[0].partition(",")[2]) if answer.rows else ""

    # ---- steps ----------------------------------------------------------------------------------

    def _run(self, step: str) -> Trouble | None:
        self.figures["statements"] += 1
        self._blind |= step == BLIND
        if step.startswith("SET foreign_key_checks"):
            self._checks = step.endswith("1")
            self._loose |= not self._checks
        if step.startswith(LEVEL):
            self._level = step.removeprefix(LEVEL)
        if step.startswith(("LOCK TABLES", "UNLOCK TABLES")):
            self._locks = step
        self._dropped |= step.startswith("DROP DATABASE")
        given = self._ours.try_to(for_engine(step, "r"))
        mine = self._warnings(self._ours, step, given)
        told = Told(step, given, None, self._checks)
        if refused := reason(REFUSALS, told):
            self.figures[f"refused on purpose ({refused.name})"] += 1
            return None
        try:
            right = self._theirs.try_to(for_engine(step, "i"))
        except CairnError as error:
            return self._breakdown(error, by_theirs=True)
        told = replace(
            told,
            theirs=right,
            is_loose=self._loose,
            schema=self.schema,
            level=self._level,
            locks=self._locks,
            is_decided=self._decided,
        )
        if trouble := self._unlike(told):
            return trouble
        self._note_decision(step, given)
        theirs = self._warnings(self._theirs, step, right)
        if mine != theirs:
            self._end_if_quiet(told)
            return Trouble(f"{_verb(step)}: other warnings", f"{step}\n{mine}\nInnoDB: {theirs}")
        if right.error == 1025:
            raise Over("InnoDB keeps names of a rename that it has refused")
        if right.error and self._is_waited_for(step):
            raise Over("InnoDB keeps the table of a CREATE … SELECT that has failed")
        if given.error in NAMING:
            self.figures["errors of foreign keys"] += 1
        defines = step.startswith(DEFINES)
        if not self._looks or step.startswith(("XA END", "XA PREPARE")):
            return None
        if defines:
            self.figures["definitions changed"] += not right.error
            self.schema = read(self._theirs, "i")
        # What had followed from a row that failed or was left out must be undone.
        if (
            defines
            or given.changed
            or given.error in OF_ROWS
            or "IGNORE" in step
            or step.startswith(("ROLLBACK", "COMMIT", "XA"))
        ):
            trouble = self._look(defines)
            if trouble and not defines:
                self._end_if_quiet(told)
            return trouble
        return None

    def _is_waited_for(self, step: str) -> bool:
        """Whether it is a CREATE … SELECT of a table for which foreign keys wait."""
        made = re.match(r"CREATE (?:OR REPLACE )?TABLE (\S+) .*SELECT ", step)
        if made is None:
            return False
        name = made[1] if "." in made[1] else f"{HERE}.{made[1]}"
        return any(key.parent == name for key in self.schema.foreign_keys())

    def _note_decision(self, step: str, given: Answer) -> None:
        """Keeps whether the last transaction with changes that was prepared is decided."""
        if step.startswith("XA START"):
            self._changes = False
        self._changes |= bool(given.changed)
        if given.error:
            return
        if step.startswith("XA PREPARE") and self._changes:
            self._decided = False
        if step.startswith(("XA COMMIT", "XA ROLLBACK")):
            self._decided = True

    def _unlike(self, told: Told) -> Trouble | None:
        assert told.theirs is not None
        if told.ours.error not in NAMING and (told.right in NAMING or told.ours.error == NOT_FOUND):
            told = replace(told, is_old=self._orphans_are_old())
        what = f"{told.statement}\n{told.ours}, {told.ours.changed} changed\n"
        what += f"InnoDB: {told.theirs}, {told.theirs.changed} changed"
        verb = _verb(told.statement)
        if kind := difference(Answer(error=told.right), Answer(error=told.ours.error)):
            if end := reason(ENDS, told):
                raise Over(end.name)
            if why := reason(ERRORS, told):
                self.figures[f"unlike InnoDB ({why.name})"] += 1
                return None
            return Trouble(f"{verb}: {kind}", what)
        if told.ours.error in NAMING:
            return self._unlike_texts(told, what)
        # A copy counts its rows.
        is_definition = told.statement.startswith(DEFINES)
        is_blind = self._blind and verb == "DELETE"
        if told.ours.changed != told.theirs.changed and not is_definition and not is_blind:
            self._end_if_quiet(told)
            return Trouble(f"{verb}: another number of changed rows", what)
        if kind := difference(told.theirs.sorted(), told.ours.sorted()):
            self._end_if_quiet(told)
            return Trouble(f"{verb}: {kind}", what)
        return None

    def _end_if_quiet(self, told: Told) -> None:
        """Raises Over if there is a reason for other rows that no error has told of."""
        is_old = not told.ours.changed or self._orphans_are_old()
        if end := reason(QUIET, replace(told, is_old=is_old)):
            raise Over(end.name)

    def _orphans_are_old(self) -> bool:
        """Whether ours has no orphans but those of InnoDB, which has refused a statement."""
        mine, theirs = (
            look.orphans(session, letter, self.schema)
            for session, letter in ((self._ours, "r"), (self._theirs, "i"))
        )
        return not mine - theirs

    def _unlike_texts(self, told: Told, what: str) -> Trouble | None:
        assert told.theirs is not None
        ours, theirs = plain(told.ours.message), plain(told.theirs.message)
        if told.statement.startswith("ALTER"):
            # InnoDB names the copy, also in a name that it makes up.
            made = r"`[^`]+`, CONSTRAINT `[^`]+`"
            ours, theirs = (re.sub(made, "", text) for text in (ours, theirs))
        if told.statement.startswith(("CREATE OR REPLACE", "DROP TABLE")) and theirs.endswith(
            ("constraint fails", "constraint fails)")
        ):
            return None  # InnoDB does not say which.
        if ours == theirs or has_clauses(told):
            return None
        mine, other = (re.search(r"`([^`]+)` FOREIGN KEY", text) for text in (ours, theirs))
        if mine and other and mine[1] != other[1]:
            # The row may break both.
            self.figures["another foreign key named"] += 1
            return None
        return Trouble(f"{_verb(told.statement)}: another text of {told.ours.error}", what)

    def _warnings(self, session: Session, step: str, answer: Answer) -> list[str]:
        """The numbers of what an IGNORE has warned of; a row may break two rules."""
        if "IGNORE" not in step or answer.error:
            return []
        numbers = [int(row.split(",")[1]) for row in session.must("SHOW WARNINGS").rows]
        # A generated column may be computed once more.
        computed = [str(COMPUTED)] if COMPUTED in numbers else []
        others = [number for number in numbers if number != COMPUTED]
        return computed + ["rule" if number in OF_ROWS else str(number) for number in others]

    def _look(self, defines: bool) -> Trouble | None:
        trouble = look.definitions(self._ours, self._theirs, self.schema) if defines else None
        if trouble and self._dropped and trouble.is_naming:
            raise Over("InnoDB's name of a database that was dropped")
        return trouble or look.rows(self._ours, self._theirs, self.schema, self._turn)

    def _kill(self) -> Trouble | None:
        self.figures["kills"] += 1
        self._server.kill()
        self._server.start()
        errors = self._server.errors()
        self._connect()
        if errors and all("InnoDB: " in error for error in errors):
            raise Over("InnoDB has damaged a table of its own")
        if errors:
            return Trouble("errors at the start after a kill", "\n".join(errors))
        self.schema = read(self._theirs, "i")
        return self._look(True)

    def _breakdown(self, error: CairnError, *, by_theirs: bool = False) -> Trouble:
        """Tells how the server ended, and starts it again. Raises Over."""
        kind, text = revive(self._server, error)
        self._connect()
        if "[FATAL] InnoDB: " in text or (by_theirs and "ha_rocksdb.so" not in text):
            raise Over("InnoDB has ended the server")
        return Trouble(kind, text)


def _verb(step: str) -> str:
    return step.split()[0]

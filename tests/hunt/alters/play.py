"""Plays chains with both engines in one server, and compares after each step."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from cairn.errors import CairnError
from cairn.scratch_server import ScratchServer
from tests.hunt.alters import look
from tests.hunt.alters.chain import Action, Alter, Chain, Change, Maintenance, Snapshot, Step
from tests.hunt.alters.look import Trouble
from tests.hunt.alters.reasons import ENDS, ERRORS, NOT_SUPPORTED, REFUSALS, Told, reason
from tests.hunt.alters.rows import sql_of
from tests.hunt.compare import difference
from tests.hunt.revive import revive
from tests.hunt.session import Answer, Session

OPTIONS = (
    "--character-set-server=utf8mb4",
    "--default-time-zone=+00:00",
    # What was acknowledged is there after a kill of the process.
    "--innodb-flush-log-at-trx-commit=2",
    "--rocksdb-flush-log-at-trx-commit=2",
    "--innodb-lock-wait-timeout=5",
    "--lock-wait-timeout=30",
    "--innodb-strict-mode=OFF",
    # With it InnoDB's copy by ALTER IGNORE loses the first of two rows with a new key's value, too.
    "--innodb-alter-copy-bulk=OFF",
    # Of the power nothing is asked.
    "--innodb-flush-method=nosync",
    "--sync-frm=OFF",
    "--rocksdb-block-cache-size=32M",
    # In the stock format too keys may be as long as in InnoDB.
    "--rocksdb-large-prefix=ON",
)
# The time of a chain's begin; each step is a minute later, so that it shows when a default was
# evaluated.
BEGIN_S = 1_700_000_000


class Over(Exception):
    """The tables are no longer alike, for a reason."""


@dataclass(frozen=True)
class Outcome:
    """What a step came to."""

    trouble: Trouble | None = None
    # Whether it has changed what it should.
    succeeded: bool = False


def _alter_by(session: Session, statement: str) -> Answer:
    """Runs an ALTER TABLE, with fresh expressions where it renames columns.

    The server puts new names into the expressions of one of the tables that it has open. With any
    engine a statement fails that is then given another one (after a self-join there are two), and
    one that fails late leaves the new names to the next, which does not know them or changes them
    back.
    """
    table = re.search(r"TABLE (\S+) .*(RENAME COLUMN|CHANGE)", statement)
    if table is None:
        return session.try_to(statement)
    session.try_to(f"FLUSH TABLES {table[1]}")
    answer = session.try_to(statement)
    if answer.error:
        session.try_to(f"FLUSH TABLES {table[1]}")
    return answer


class Player:
    """Both engines, each with a database and a session of its own, and one for old snapshots."""

    def __init__(self, server: ScratchServer) -> None:
        self._server = server
        self.figures: Counter[str] = Counter()
        self._step = 0
        self._mode = ""
        self._format = ""
        self._has_snapshot = False
        self._has_updated = False
        self._connect()

    def _connect(self) -> None:
        self._ours = Session(self._server, "r")
        self._theirs = Session(self._server, "i")
        self._old = Session(self._server, "r")
        self._has_snapshot = False

    def _both(self, statement: str) -> None:
        self._ours.must(statement)
        self._theirs.must(statement)

    # ---- a chain --------------------------------------------------------------------------------

    def play(self, chain: Chain) -> Trouble | None:
        """The first trouble of a whole chain."""
        try:
            if (trouble := self.begin(chain)) is not None:
                return trouble
            for step in chain.steps:
                if (trouble := self.step(step).trouble) is not None:
                    return trouble
        except Over:
            return None
        return None

    def begin(self, chain: Chain) -> Trouble | None:
        """Makes the tables anew and fills them. Raises Over when they cannot be made."""
        self._step, self._mode, self._has_updated = 0, chain.mode, False
        try:
            self._old.try_to("ROLLBACK")
            self._has_snapshot = False
            self._settle()
            self._both("DROP TABLE IF EXISTS t, `before`, again, x")
            self._set_format(chain.format)
            return self._create(chain) or self._change(Change(chain.rows)).trouble
        except CairnError as error:
            return self._breakdown(error)

    def _create(self, chain: Chain) -> Trouble | None:
        given = self._ours.try_to(chain.create("ROCKSDB"))
        if reason(REFUSALS, Told("CREATE TABLE", given, None, format=self._format)):
            raise Over("refused table")
        right = self._theirs.try_to(chain.create("InnoDB"))
        if kind := difference(right, given):
            return Trouble(f"CREATE TABLE: {kind}", f"{given}\nInnoDB: {right}")
        if given.error:
            raise Over("impossible table")
        return None

    def _set_format(self, text: str) -> None:
        self._format = text
        self._ours.must(f"SET GLOBAL cairn_format={text}")

    def _settle(self) -> None:
        """Settings of the sessions, new for each step."""
        settings = f"SET timestamp={BEGIN_S + 60 * self._step}, sql_mode='{self._mode}'"
        self._both(settings)

    def step(self, step: Step) -> Outcome:
        """Does it and compares. Raises Over when there is nothing more to compare."""
        self._step += 1
        try:
            self._settle()
            outcome = self._do(step)
            if outcome.trouble is None and not isinstance(step, Snapshot):
                outcome = Outcome(look.compare(self._ours, self._theirs), outcome.succeeded)
        except CairnError as error:
            return Outcome(self._breakdown(error))
        return outcome

    def _do(self, step: Step) -> Outcome:
        if isinstance(step, Alter):
            return self._alter(step)
        if isinstance(step, Change):
            return self._change(step)
        if isinstance(step, Snapshot):
            return self._begin_snapshot() if step.begins else self._read_snapshot()
        if isinstance(step, Maintenance):
            return self._maintain(step)
        return self._act(step)

    def _breakdown(self, error: CairnError) -> Trouble:
        """Tells how the server ended, and starts it again."""
        kind, text = revive(self._server, error)
        self._connect()
        return Trouble(kind, text)

    # ---- steps ----------------------------------------------------------------------------------

    def _alter(self, step: Alter) -> Outcome:
        self.figures["statements"] += 1
        given = _alter_by(self._ours, step.sql(step.algorithm, step.lock))
        way = step.algorithm or "default"
        if given.error in NOT_SUPPORTED and (step.algorithm or step.lock):
            self.figures["refused ways"] += 1
            if trouble := look.check(self._ours):
                return Outcome(trouble)
            given, way = _alter_by(self._ours, step.sql()), "default"
        told = Told(step.sql(), given, None, len(step.clauses), self._format)
        if reason(REFUSALS, told):
            self.figures["refused on purpose"] += 1
            return Outcome()
        if given.error:
            told = replace(told, same_way=self._innodb_by(step, way))
        right = _alter_by(self._theirs, step.sql("COPY"))
        if right.error and not given.error and way != "COPY":
            told = replace(told, same_way=self._innodb_by(step, way))
        if trouble := self._unlike(told, right):
            return Outcome(trouble)
        if given.error:
            self.figures["failed"] += 1
            return Outcome()
        if step.ignore:
            self._check_kept()
        self.figures[f"by {way}"] += 1
        if self._has_snapshot:
            # Rows of then under the definition of now.
            before = _alter_by(self._theirs, step.sql("COPY", table="`before`"))
            self._has_snapshot = not before.error
        return Outcome(succeeded=True)

    def _check_kept(self) -> None:
        """Raises Over if InnoDB has fewer rows than it says.

        Where ALTER IGNORE meets a duplicate, InnoDB may lose the row that it copied before.
        """
        told = re.search(r"Records: (\d+) +Duplicates: (\d+)", self._theirs.info)
        kept = self._theirs.must("SELECT COUNT(*) FROM t USE INDEX ()").rows[0]
        if told and int(kept) < int(told[1]) - int(told[2]):
            raise Over("InnoDB lost rows")

    def _check_partitions(self, statement: str) -> None:
        """Ends the chain where InnoDB finds rows once the table is opened anew.

        Behind a DELETE or UPDATE in a transaction whose condition excludes all partitions, its
        statements pass over them all, as long as it is open.
        """
        definition = self._theirs.must("SHOW CREATE TABLE t").rows[0]
        if "PARTITION BY" not in definition:
            return
        self._theirs.must("FLUSH TABLES t")
        given, right = self._ours.try_to(statement), self._theirs.try_to(statement)
        if given.changed == right.changed:
            raise Over("InnoDB looked at no partition")

    def _unlike(self, told: Told, right: Answer) -> Trouble | None:
        told = replace(told, theirs=right)
        kind = difference(Answer(error=right.error), Answer(error=told.ours.error))
        if not kind:
            return None
        if end := reason(ENDS, told):
            raise Over(end.name)
        if reason(ERRORS, told):
            return None
        verb = " ".join(told.statement.split()[:1])
        return Trouble(f"{verb}: {kind}", f"{told.statement}\n{told.ours}\nInnoDB: {right}")

    def _change(self, step: Change) -> Outcome:
        for statement in step.statements:
            text = sql_of(statement)
            self._has_updated |= " UPDATE " in f" {text} "
            self.figures["changes"] += 1
            given, right = self._ours.try_to(text), self._theirs.try_to(text)
            if trouble := self._unlike(Told(text, given, None), right):
                self._both("ROLLBACK")
                return Outcome(trouble)
            if not given.error and given.changed != right.changed:
                self._both("ROLLBACK")
                if right.changed == 0:
                    self._check_partitions(text)
                numbers = f"{text}\n{given.changed}\nInnoDB: {right.changed}"
                return Outcome(Trouble("another number of changed rows", numbers))
        # A shrunk chain may have lost the end of a transaction.
        self._both("COMMIT")
        return Outcome(succeeded=True)

    def _maintain(self, step: Maintenance) -> Outcome:
        self._old.try_to("COMMIT")
        self._has_snapshot = False
        for text in step.statements:
            self.figures["partition statements"] += 1
            given = self._ours.try_to(text)
            told = Told(text, given, None, format=self._format)
            if reason(REFUSALS, told):
                self.figures["refused on purpose"] += 1
                return Outcome()
            right = self._theirs.try_to(text)
            if trouble := self._unlike(told, right):
                return Outcome(trouble)
            if given.rows != right.rows and text.startswith("SELECT"):
                numbers = f"{text}\n{given}\nInnoDB: {right}"
                return Outcome(Trouble("another number of exchanged rows", numbers))
            if given.error:
                self.figures["failed"] += 1
                return Outcome()
        return Outcome(succeeded=True)

    def _act(self, step: Action) -> Outcome:
        if step.text not in ("restart", "kill"):
            if "cairn_format" in step.text:
                self._set_format(step.text.partition("=")[2])
            else:
                self._ours.must(step.text)
            return Outcome(succeeded=True)
        self.figures[f"{step.text}s"] += 1
        if step.text == "kill":
            self._server.kill()
        else:
            for session in (self._ours, self._theirs, self._old):
                session.close()
            self._server.stop()
        self._server.start()
        errors = self._server.errors()
        self._connect()
        self._settle()
        if errors:
            return Outcome(Trouble(f"errors at the start after a {step.text}", "\n".join(errors)))
        if self._has_updated:
            self._settle_counter()
        return Outcome(succeeded=True)

    def _settle_counter(self) -> None:
        """InnoDB's counter is one higher after a start when UPDATE has set the largest value."""
        ours, theirs = look.counter(self._ours), look.counter(self._theirs)
        if theirs == ours + 1:
            self._ours.must(f"ALTER TABLE t AUTO_INCREMENT={theirs}")

    def _innodb_by(self, step: Alter, way: str) -> Answer:
        """What InnoDB answers to the same way, in a copy of its table."""
        self._copy("again")
        algorithm = "" if way == "default" else way
        answer = _alter_by(self._theirs, step.sql(algorithm, table="again"))
        if answer.error in NOT_SUPPORTED:
            answer = _alter_by(self._theirs, step.sql(table="again"))
        return answer

    def _begin_snapshot(self) -> Outcome:
        self._copy("before")
        self._old.must("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        self._has_snapshot = True
        return Outcome(succeeded=True)

    def _copy(self, name: str) -> None:
        """A table of that name like InnoDB's, with its rows."""
        columns = self._given_columns()
        self._theirs.must(f"DROP TABLE IF EXISTS `{name}`")
        self._theirs.must(f"CREATE TABLE `{name}` LIKE t")
        if columns:
            # 0 in a column that counts is a value, and what a CHECK refuses now may be there.
            self._theirs.must(
                "SET STATEMENT sql_mode='NO_AUTO_VALUE_ON_ZERO', check_constraint_checks=0 FOR "
                f"INSERT INTO `{name}` ({columns}) SELECT {columns} FROM t USE INDEX ()"
            )

    def _given_columns(self) -> str:
        answer = self._theirs.must(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'i' "
            "AND table_name = 't' AND is_generated = 'NEVER' ORDER BY ordinal_position"
        )
        return ", ".join(f"`{name}`" for name in answer.rows)

    def _read_snapshot(self) -> Outcome:
        trouble = None
        if self._has_snapshot:
            self.figures["old snapshots"] += 1
            trouble = look.compare_old(self._old, self._theirs)
        self._old.try_to("COMMIT")
        self._has_snapshot = False
        return Outcome(trouble, succeeded=True)

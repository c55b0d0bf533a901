"""A session that changes foreign keys, indexes and tables while clients change rows."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace

from tests.crash.writer import CONFLICTS
from tests.histories.client import ConnectionLost
from tests.histories.foreign_keys import judge
from tests.histories.foreign_keys.client import (
    CHANGED,
    IS_PARENT,
    NO_PARENT,
    Refused,
    Session,
    Settings,
    Wrong,
)
from tests.histories.foreign_keys.schema import ForeignKey
from tests.histories.foreign_keys.tables import ALL_TABLES, BY_NAME, FOREIGN_KEYS, create

WAIT_S = 2
PAUSE_S = 0.05
AWAY = "middle_away"
CANNOT_CREATE = 1005

ADDED_COLUMN = (
    "ADD COLUMN IF NOT EXISTS extra INT NOT NULL DEFAULT 7",
    "DROP COLUMN IF EXISTS extra",
)
# Changes of indexes that come one after the other; a foreign key always has one.
INDEXES = {
    "by_code": (
        "ADD KEY IF NOT EXISTS other (code, id)",
        "DROP KEY IF EXISTS by_code_code",
        "ADD KEY IF NOT EXISTS by_code_code (code)",
        "DROP KEY IF EXISTS other",
    ),
    "middle": (
        "ADD UNIQUE KEY IF NOT EXISTS other (code)",
        "DROP KEY IF EXISTS code",
        "ADD UNIQUE KEY IF NOT EXISTS code (code)",
        "DROP KEY IF EXISTS other",
    ),
    "by_batch": (
        "ADD KEY IF NOT EXISTS other (batch, id)",
        "DROP KEY IF EXISTS batch",
        "ADD KEY IF NOT EXISTS batch (batch) COMMENT 'rev:by_batch'",
        "DROP KEY IF EXISTS other",
    ),
}
# What a foreign key never lets happen, and the error.
REFUSED = (
    ("DROP TABLE middle", IS_PARENT),
    ("TRUNCATE TABLE top", 1701),
    ("ALTER TABLE middle DROP KEY batch", 1553),
    ("ALTER TABLE by_code DROP COLUMN top", 1553),
    ("ALTER TABLE by_code MODIFY top BIGINT", 1832),
    ("ALTER TABLE top MODIFY id BIGINT", 1833),
)


class Definer(threading.Thread):
    """Changes definitions until it is told to stop, or the server is gone."""

    # Foreign keys that come and go: other sessions leave them alone.
    keys: tuple[ForeignKey, ...] = tuple(key for key in FOREIGN_KEYS if key.child != "loose")

    def __init__(
        self, settings: Settings, engine: str, chance: random.Random, name: str = "definer"
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.session = Session(self.name, settings)
        self.error = ""
        self.ready = threading.Event()
        self._engine = engine
        self._chance = chance
        self._ended = threading.Event()

    def end(self) -> None:
        """Asks for an end after the current change."""
        self._ended.set()

    def changes(self) -> tuple[Callable[[], None], ...]:
        """What it does, each as often as any other."""
        return (
            self._swap,
            self._indexes,
            self._columns,
            self._rename,
            self._remake,
            self._remake,
            self._truncate,
            self._loosen,
            self._rename_column,
            self._try_in_vain,
        )

    def run(self) -> None:
        try:
            self.session.open()
            self.session.execute(f"SET SESSION lock_wait_timeout = {WAIT_S}")
            self.ready.set()
            while not self._ended.wait(self._chance.uniform(0, PAUSE_S)):
                self._chance.choice(self.changes())()
        except ConnectionLost:
            pass
        except Wrong as wrong:
            self.error = f"{self.name}: {wrong}"
        self.ready.set()

    def _run(self, text: str, also: tuple[int, ...] = ()) -> int:
        """The number of the error, 0 for success."""
        try:
            self.session.execute(text, (*CONFLICTS, *also))
        except Refused as refused:
            return int(refused.args[0])
        return 0

    # ---- changes --------------------------------------------------------------------------------

    def _swap(self) -> None:
        """Another foreign key like one that is there, which then goes; so there is no orphan."""
        key = self._chance.choice(self.keys)
        names = [each.name for each in self._like(key)]
        other = key.name if key.name not in names else f"{key.name}_again"
        gone = self._chance.choice(names)
        how = self._chance.choice(("", "", ", ALGORITHM=COPY", ", FORCE"))
        new = f"ADD {replace(key, name=other).clause()}"
        if len(names) > 1:
            self._run(f"ALTER TABLE {key.child} DROP FOREIGN KEY {gone}{how}")
        elif self._chance.random() < 0.3:
            # One that takes no NULL may have a parent that may have one.
            self._run(
                f"SET STATEMENT sql_mode = '' FOR ALTER TABLE {key.child} "
                f"DROP FOREIGN KEY {gone}, {new}{how}"
            )
        else:
            checks = self._chance.choice((0, 1))
            self._run(
                f"SET STATEMENT sql_mode = '', foreign_key_checks = {checks} FOR "
                f"ALTER TABLE {key.child} {new}{how}"
            )

    def _like(self, key: ForeignKey) -> list[ForeignKey]:
        """Foreign keys of the same columns."""
        return [
            each
            for each in self.session.ask(judge.foreign_keys)
            if (each.child, each.columns) == (key.child, key.columns)
        ]

    def _indexes(self) -> None:
        table = self._chance.choice(sorted(INDEXES))
        for change in INDEXES[table]:
            # One that failed leaves the next one without an index: start anew.
            if self._run(f"ALTER TABLE {table} {change}"):
                break

    def _columns(self) -> None:
        table = self._chance.choice(ALL_TABLES).name
        for change in ADDED_COLUMN:
            self._run(f"ALTER TABLE {table} {change}", CHANGED)

    def _rename(self) -> None:
        if not self._run(f"RENAME TABLE middle TO {AWAY}"):
            self._ended.wait(self._chance.uniform(0, 0.02))
            self.bring_back()

    def bring_back(self) -> None:
        """Gives a parent its name again."""
        while self._run(f"RENAME TABLE IF EXISTS {AWAY} TO middle"):
            pass

    def _rename_column(self) -> None:
        if not self._run("ALTER TABLE middle RENAME COLUMN batch TO batch_away"):
            self._ended.wait(self._chance.uniform(0, 0.02))
            self.bring_back_column()

    def bring_back_column(self) -> None:
        """Gives a column that children refer to its name again."""
        while self._run("ALTER TABLE middle RENAME COLUMN batch_away TO batch"):
            pass

    def _try_in_vain(self) -> None:
        text, number = self._chance.choice(REFUSED)
        if not self._run(text, (number,)):
            raise Wrong(f"{text}: done, not refused")

    def _remake(self) -> None:
        if self._chance.random() < 0.5:
            self._run("DROP TABLE IF EXISTS loose")
        self.make_again()

    def make_again(self) -> None:
        """Makes a child table that is not there, unless a prepared transaction is in the way."""
        text = create(BY_NAME["loose"], self._engine)
        text = text.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")
        number = self._run(text, (CANNOT_CREATE,))
        outcome = self.session.record[-1].outcome
        if number == CANNOT_CREATE and "Lock timed out" not in outcome:
            raise Wrong(f"{text}: {outcome}")

    def _truncate(self) -> None:
        self._run("TRUNCATE TABLE loose", CHANGED)

    def _loosen(self) -> None:
        """A foreign key goes and comes back, unless there are orphans by then."""
        key = self._chance.choice([key for key in FOREIGN_KEYS if key.child == "loose"])
        if self._like(key):
            self._run(f"ALTER TABLE loose DROP FOREIGN KEY {key.name}")
        elif self._run(f"ALTER TABLE loose ADD {key.clause()}", (NO_PARENT, *CHANGED)) == NO_PARENT:
            self._run("DELETE FROM loose")

"""A session that writes parents and children anew, over and over, while clients change rows."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.histories.foreign_keys import judge
from tests.histories.foreign_keys.acting import ACTING_KEYS
from tests.histories.foreign_keys.client import CHANGED, Settings
from tests.histories.foreign_keys.definer import Definer
from tests.histories.foreign_keys.tables import ALL_TABLES

# What is unique by the primary key stays so while that is another one.
SINGLE = "single"
# Primary keys that come and go: columns of the usual one and of the other one.
PRIMARY_KEYS = {
    **{
        name: ("(id)", "(id, mark)")
        for name in ("top", "middle", "by_code", "leaf", "root", "stem", "pollen")
    },
    **{name: ("(id)", "(id, writer)") for name in ("tree", "thorn", "bunch", "ring", "knot")},
    "by_batch": ("(id) COMMENT 'rev:by_batch'", "(id, mark)"),
    "petal": ("(root, slot, id)", "(id, root, slot)"),
}
COPY = ", ALGORITHM=COPY"
REBUILDS = (f"FORCE{COPY}", f"FORCE{COPY}", "FORCE", "FORCE, ALGORITHM=INPLACE")
COLUMNS = (
    (f"ADD COLUMN IF NOT EXISTS copied INT NOT NULL DEFAULT 3 FIRST{COPY}",),
    (f"DROP COLUMN IF EXISTS copied{COPY}",),
    (f"MODIFY mark BIGINT NOT NULL{COPY}", f"MODIFY mark INT NOT NULL{COPY}"),
)


class Copier(Definer):
    """Copies tables until it is told to stop, or the server is gone."""

    keys = ACTING_KEYS

    def __init__(self, settings: Settings, engine: str, chance: random.Random) -> None:
        super().__init__(settings, engine, chance, "copier")

    def changes(self) -> tuple[Callable[[], None], ...]:
        """What it does, each as often as any other."""
        return (
            self._rebuild,
            self._rebuild,
            self._copy_columns,
            self._change_primary_key,
            self._swap,
        )

    def _rebuild(self) -> None:
        table = self._chance.choice(ALL_TABLES).name
        checks = self._chance.choice(("", "", "SET STATEMENT foreign_key_checks = 0 FOR "))
        self._run(f"{checks}ALTER TABLE {table} {self._chance.choice(REBUILDS)}", CHANGED)

    def _copy_columns(self) -> None:
        table = self._chance.choice(ALL_TABLES).name
        for change in self._chance.choice(COLUMNS):
            self._run(f"ALTER TABLE {table} {change}", CHANGED)

    def _change_primary_key(self) -> None:
        table = self._chance.choice(sorted(PRIMARY_KEYS))
        usual, other = PRIMARY_KEYS[table]
        names = self.session.ask(lambda cursor: judge.indexes(cursor, table))
        if not names:
            return  # Another session has renamed it.
        if SINGLE in names:
            change = f"DROP PRIMARY KEY, ADD PRIMARY KEY {usual}, DROP KEY {SINGLE}"
        else:
            columns = usual.partition(" COMMENT")[0]
            change = f"DROP PRIMARY KEY, ADD PRIMARY KEY {other}, ADD UNIQUE KEY {SINGLE} {columns}"
        self._run(f"ALTER TABLE {table} {change}{self._chance.choice(('', COPY))}", CHANGED)

"""Children of parents that nobody changes: no statement may say that these are missing."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.histories.foreign_keys.acting import ACTING_BY_NAME
from tests.histories.foreign_keys.acting_statements import ActingStatements
from tests.histories.foreign_keys.schema import NOBODY
from tests.histories.foreign_keys.statements import Statements
from tests.histories.foreign_keys.tables import ALL_KEYS, BY_NAME, steady_value

MARK = "/* steady */"
# Their columns of a foreign key are parents as well, so an update may be refused.
NOT_UPDATED = ("stem_root", "petal_stem", "loose_code", "loose_top")


class SteadyStatements:
    """Statements of one client; each has MARK in it and must not fail with error 1452."""

    def __init__(
        self,
        statements: Statements,
        acting: ActingStatements,
        marks: Iterator[int],
        chance: random.Random,
    ) -> None:
        self._statements = statements
        self._acting = acting
        self._marks = marks
        self._chance = chance

    def any(self, writer: int) -> str:
        chance = self._chance
        key = chance.choice([key for key in ALL_KEYS if writer == NOBODY or key.child != "loose"])
        values = {column: steady_value(column) for column in key.columns}
        mark = next(self._marks)
        if key.name not in NOT_UPDATED and chance.random() < 0.3:
            changes = [f"{column} = {value}" for column, value in values.items()]
            changes += [f"{key.witness} = NULL"] if key.witness else []
            return (
                f"UPDATE {MARK} {key.child} SET {', '.join(changes)}, mark = {mark} "
                f"WHERE writer = {writer} LIMIT 2"
            )
        columns = ("id", *values, "writer", "mark")
        row = ", ".join((str(self._id(key.child, writer)), *values.values(), str(writer)))
        return f"INSERT {MARK} INTO {key.child} ({', '.join(columns)}) VALUES ({row}, {mark})"

    def _id(self, table: str, writer: int) -> int:
        if table in ACTING_BY_NAME:
            return self._acting.key(ACTING_BY_NAME[table].kind("id"), writer)
        return self._statements.id(BY_NAME[table], writer)

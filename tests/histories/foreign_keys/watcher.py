"""A session that looks for orphans while clients write: each snapshot is free of them."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from tests.histories.client import ConnectionLost
from tests.histories.foreign_keys import judge
from tests.histories.foreign_keys.client import CHANGED, Refused, Session, Settings, Wrong
from tests.histories.foreign_keys.schema import ForeignKey
from tests.histories.foreign_keys.tables import ALL_KEYS, ALL_OWNED

PAUSE_S = 0.02


class Watcher(threading.Thread):
    """Looks until it is told to stop, or the server is gone."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(name="watcher", daemon=True)
        self.session = Session(self.name, settings)
        self.looks = 0
        self.error = ""
        self.ready = threading.Event()
        self._settings = settings
        self._ended = threading.Event()

    def end(self) -> None:
        """Asks for an end after the current look."""
        self._ended.set()

    def run(self) -> None:
        try:
            self.session.open()
            self.ready.set()
            while not self._ended.is_set():
                self._look()
        except ConnectionLost:
            pass
        except Wrong as wrong:
            self.error = f"{self.name}: {wrong}"
        self.ready.set()

    def _look(self) -> None:
        """One query a foreign key, each with one snapshot; by indexes if those stay as they are."""
        for key in ALL_KEYS:
            if key.child not in {table.name for table in ALL_OWNED}:
                continue
            queries = list(judge.queries(key, {}, {}))
            if not self._settings.definitions:
                queries = self.session.ask(partial(_by_each_index, key))
            for query in queries:
                if self._ended.wait(PAUSE_S):
                    return
                try:
                    rows = self.session.execute(
                        query, CHANGED if self._settings.definitions else ()
                    )
                except Refused:
                    continue
                self.looks += 1
                if rows:
                    raise Wrong(f"{judge.what(query)}, by {key.clause()}: {rows[:5]}: {query}")


def _by_each_index(key: ForeignKey, cursor: Any) -> list[str]:
    child, parent = judge.indexes(cursor, key.child), judge.indexes(cursor, key.parent)
    return list(judge.queries(key, child, parent))

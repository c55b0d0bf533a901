"""A case that can be run again: tables, what was done to them, a query, and a path."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol, TypeVar

from cairn.errors import CairnError
from cairn.scratch_server import ScratchServer
from tests.hunt.access import Path
from tests.hunt.compare import difference
from tests.hunt.part import Context, Finding
from tests.hunt.queries import Query
from tests.hunt.session import Answer, Script, Session
from tests.hunt.tables import ENGINES, Table

OPTIONS = (
    "--sql-mode=",
    "--character-set-server=utf8mb4",
    "--default-time-zone=+00:00",
    # Cached are only results that ask for it.
    "--query-cache-type=DEMAND",
    "--query-cache-size=16M",
    "--max-statement-time=8",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-lock-wait-timeout=5",
    "--rocksdb-flush-log-at-trx-commit=0",
    "--rocksdb-block-cache-size=32M",
    # Small, so that a table has files on several levels.
    "--rocksdb-default-cf-options=write_buffer_size=512k;target_file_size_base=256k;"
    "max_bytes_for_level_base=1m",
)
# NOW(), and so the history of rows, is the same with both engines.
TIMESTAMP = "timestamp=1700000000"
FAMILIES = ("default", "hunt_a", "hunt_b", "rev:hunt_p", "rev:hunt_k")
FLUSH = ("SET GLOBAL rocksdb_force_flush_memtable_now=1",)
COMPACT = (*FLUSH, *(f"SET GLOBAL rocksdb_compact_cf='{family}'" for family in FAMILIES))
Asked = TypeVar("Asked", bound="Asking")
_OF_ENGINE = "SET GLOBAL rocksdb"


@dataclass(frozen=True)
class Case:
    """Everything that leads to an answer."""

    tables: tuple[Table, ...]
    # Statements behind the inserts, in both databases; those of the engine once.
    actions: tuple[str, ...]
    query: Query
    path: Path

    def script(self, engine: str) -> list[str]:
        """The statements for people."""
        found = [table.ddl(engine) for table in self.tables]
        found += [table.insert() for table in self.tables]
        return [*found, *self.actions, *self.path.script(self.query).statements]

    def plain(self) -> Query:
        """The query whose answer by a scan is the right one."""
        if self.path.way == "partitioned":
            return replace(self.query, where=None)
        return self.query


@dataclass(frozen=True)
class Verdict:
    """What a case gave."""

    # Empty if all is well.
    kind: str
    right: Answer
    given: Answer
    innodb: Answer

    @property
    def is_servers(self) -> bool:
        """InnoDB gives the same wrong answer by the same path."""
        return not self.kind and self.innodb != Answer()


class Limited(Exception):
    """A limit of time or memory ended a change: the engines' tables are no longer alike."""


def without_indexes(query: Query) -> Path:
    """The path that scans every table."""
    return Path((), dict.fromkeys(query.aliases(), "USE INDEX ()"))


class Rig:
    """Both engines in one server, each with a database and a session of its own."""

    def __init__(self, server: ScratchServer, suffix: str = "") -> None:
        settings = (TIMESTAMP, "autocommit=1")
        self.rocksdb = Session(server, f"r{suffix}", settings)
        self.innodb = Session(server, f"i{suffix}", settings)
        self._built: tuple[tuple[Table, ...], tuple[str, ...]] | None = None

    def close(self) -> None:
        """Ends the sessions."""
        self.rocksdb.close()
        self.innodb.close()

    # ---- making ---------------------------------------------------------------------------------

    def create(self, tables: Sequence[Table]) -> dict[str, Answer]:
        """Makes and fills the tables anew; the first refusal by database, if there is one."""
        self._built = None
        refused = {}
        for database, session in (("r", self.rocksdb), ("i", self.innodb)):
            session.try_to("ROLLBACK")
            for table in tables:
                session.must(f"DROP TABLE IF EXISTS {table.name}")
                for statement in (table.ddl(ENGINES[database]), table.insert()):
                    answer = session.try_to(statement)
                    if answer.error and database not in refused:
                        refused[database] = answer
        return refused

    def build(self, tables: tuple[Table, ...], actions: tuple[str, ...]) -> bool:
        """Makes tables and acts on them, unless that was done last; false when it cannot be."""
        if self._built == (tables, actions):
            return True
        try:
            if self.create(tables) or self.act(actions):
                return False
        except Limited:
            return False
        self._built = (tables, actions)
        return True

    def act(self, actions: Sequence[str]) -> list[str]:
        """Runs actions in both databases; those that end differently. Raises Limited."""
        wrong = []
        for action in actions:
            given = self.rocksdb.try_to(action)
            if action.startswith(_OF_ENGINE):
                continue
            right = self.innodb.try_to(action)
            if given.is_limited or right.is_limited:
                self._built = None
                raise Limited(action[:200])
            kind = difference(Answer(error=right.error), Answer(error=given.error))
            if kind:
                wrong.append(f"{kind}: {action[:200]}: {given}; InnoDB: {right}")
        return wrong

    def scan_s(self, table: Table) -> float:
        """The seconds that InnoDB takes to read all rows: by it one tells what is slow here."""
        begun = time.monotonic()
        sums = ", ".join(f"SUM(CRC32({key.columns[0]}))" for key in table.keys[:3])
        self.innodb.must(f"SELECT COUNT(*), {sums or 0} FROM {table.name} USE INDEX ()")
        return time.monotonic() - begun

    # ---- asking ---------------------------------------------------------------------------------

    def judge(self, case: Case) -> Verdict | None:
        """Builds what is not there yet, and runs the case; None if it cannot be built."""
        if not self.build(case.tables, case.actions):
            return None
        [right] = self.truth([case.plain()])
        return self.verdict(case, right, self.rocksdb.run([case.path.script(case.query)])[0])

    def truth(self, queries: Sequence[Query]) -> list[Answer]:
        """InnoDB's answers without indexes."""
        scripts = [Script((query.sql(without_indexes(query).hints),)) for query in queries]
        return self.innodb.run(scripts)

    def verdict(self, case: Case, right: Answer, given: Answer) -> Verdict:
        """Compares; asks InnoDB for the same path only when there is a difference."""
        kind = self._kind(case, right, given)
        if not kind:
            return Verdict("", right, given, Answer())
        innodb = self.innodb.run([case.path.script(case.query)])[0]
        if innodb.is_limited or not self._kind(case, innodb, given):
            return Verdict("", right, given, innodb)
        # It may have chosen other indexes by the same settings.
        path = replace(case.path, hints=choosing(self.explain(case)) | case.path.hints)
        if path != case.path:
            forced = self.innodb.run([path.script(case.query)])[0]
            if not self._kind(case, forced, given):
                return Verdict("", right, given, forced)
        return Verdict(kind, right, given, innodb)

    @staticmethod
    def _kind(case: Case, right: Answer, given: Answer) -> str:
        if case.query.is_list and case.path.keeps_order:
            return difference(right, given)
        return difference(right.sorted(), given.sorted())

    def explain(self, case: Case) -> list[str]:
        """The plan of the engine's own table, a line for each table."""
        answer = self.rocksdb.run([case.path.explain(case.query)])[0]
        return [row.replace(",", " ") for row in answer.rows]


class Asking(Protocol):
    """What looks for differences in rounds."""

    rig: Rig

    def round(self, chance: Random) -> None:
        """Makes tables and asks them."""


def run_rounds(context: Context, begin: Callable[[Context, Rig], Asked]) -> Asked:
    """Rounds until the deadline; a server that crashes or hangs is a finding, and started anew."""
    with context.server("server", *OPTIONS) as server:
        server.start()
        asking = begin(context, Rig(server))
        for _, chance in context.rounds():
            try:
                asking.round(chance)
            except Limited:
                context.count("rounds cut short by a limit")
            except CairnError as error:
                context.found(_breakdown(server, error))
                server.kill()
                server.start()
                asking.rig = Rig(server)
            context.progress()
        asking.rig.close()
    return asking


def _breakdown(server: ScratchServer, error: CairnError) -> Finding:
    time.sleep(1)  # A process that crashes writes its stack first.
    ending = server.ending()
    frames = [line for line in server.excerpt().splitlines() if "ha_rocksdb" in line][:1]
    what = f"the server ended by {ending}" if ending else str(error).splitlines()[0]
    details = f"{error}\n{server.excerpt()}"
    return Finding(" ".join([what, *(frame.strip() for frame in frames)]), "", details)


def signature(plan: Sequence[str]) -> str:
    """How the plan reads its tables, without names and numbers: what kinds are told apart by."""
    kinds = (
        r"\b(index_merge|unique_subquery|index_subquery|eq_ref|ref_or_null|ref|range|index|ALL"
        r"|const)\b"
    )
    found = []
    for line in plan:
        access = re.search(kinds, line)
        merges = re.findall(r"Using (\w*union|\w*intersect)\(", line)
        extras = re.findall(
            r"Using (index for group-by|index condition|index|join buffer|temporary|filesort)"
            r"|(Rowid-ordered|Key-ordered|rowid_filter|Range checked)",
            line,
        )
        words = [access[1] if access else "-", *merges, *map(_extra, extras)]
        found.append(" ".join(dict.fromkeys(words)))
    return "; ".join(found)


def forcing(plan: Sequence[str]) -> dict[str, str]:
    """Hints by alias that force the indexes which a plan merges, as its rows have them."""
    found = {}
    for line in plan:
        words = line.split()
        merged = re.search(r"Using \w+\((.+)\)(;|$)", line)
        if merged and len(words) > 2:
            keys = re.findall(r"\b(?!union|intersect|sort_)\w+", merged[1])
            found[words[2]] = f"FORCE INDEX ({', '.join(dict.fromkeys(keys))})"
    return found


def choosing(plan: Sequence[str]) -> dict[str, str]:
    """Hints by alias that force the indexes of a plan, as Rig.explain() shows it."""
    found = {}
    for line in plan:
        words = line.split()
        # The key stands before its length, behind as many possible ones as there are.
        length = next((at for at in range(5, len(words)) if words[at].isdigit()), 0)
        if not length or words[2].startswith("<"):
            continue
        if words[3] != "index_merge" and words[length - 1] != "~":
            found[words[2]] = f"FORCE INDEX ({words[length - 1]})"
    return forcing(plan) | found


def _extra(found: tuple[str, str]) -> str:
    using, other = found
    return "covering" if using == "index" else using or other

"""The plan: what becomes of each table, how, what differs, how large and how long it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cairn.errors import CairnError
from cairn.migrate import rights, sample, schema, server, sets, space, ways
from cairn.migrate.link import Session
from cairn.migrate.sample import Sample
from cairn.migrate.schema import PREFIX, Id, Selection, Table, text_of
from cairn.migrate.state import State
from cairn.migrate.ways import Circumstances, Decision, Way

# A whole copy is slower than its sample: it is committed piece by piece, logged, and its pages or
# files are written. Measured with half a million rows of 160 bytes, and with 300,000 of 20.
COPY_FACTOR = {"rocksdb": 2.0, "innodb": 4.0}
# For a table that is too small for a sample of its own.
ROWS_PER_SECOND = 20_000.0
CHECKSUMS_PER_SECOND = 1_000_000.0


@dataclass(frozen=True)
class PlannedTable:
    table: Table
    sample: Sample
    differs: tuple[str, ...]

    @property
    def bytes_expected(self) -> int:
        if self.sample.row_bytes is None:
            return self.table.data_bytes
        return int(self.table.rows * self.sample.row_bytes)

    def copy_s(self, target: str) -> float:
        if self.sample.rows_per_second is None:
            return self.table.rows / ROWS_PER_SECOND
        return COPY_FACTOR[target] * self.table.rows / self.sample.rows_per_second

    def compare_s(self, verify: str) -> float:
        """Both tables are read."""
        if verify == "none":
            return 0.0
        return 2 * self.table.rows / (self.sample.checksums_per_second or CHECKSUMS_PER_SECOND)


@dataclass(frozen=True)
class PlannedSet:
    """Tables that are converted together."""

    tables: tuple[PlannedTable, ...]
    decision: Decision
    seconds: float
    writers_wait_s: float

    @property
    def is_tied(self) -> bool:
        return len(self.tables) > 1 or any(one.table.foreign_keys for one in self.tables)


@dataclass
class Plan:
    circumstances: Circumstances
    sets: list[PlannedSet]
    staying: list[tuple[Id, str]] = field(default_factory=list)  # With the reason.
    notes: list[str] = field(default_factory=list)
    free_bytes: int | None = None

    @property
    def convertible(self) -> list[PlannedSet]:
        return [one for one in self.sets if one.decision.way is not Way.NONE]


def make(
    session: Session,
    selection: Selection,
    circumstances: Circumstances,
    looking: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Looks at the selected tables; changes nothing."""
    target = circumstances.target
    server.require_engine(session, target)
    schema.check_selection(session, selection)
    _refuse_leftovers(session)
    unlogged = not circumstances.binary_log or _keep_out_of_the_log(session)
    everything = schema.engines(session)
    source = ways.source_engine(target)
    tables: dict[Id, Table] = {}
    plan = Plan(circumstances, [], free_bytes=space.free_bytes(session, target))
    for table in schema.read(session, selection):
        engine = table.engine.lower()
        if engine == source:
            tables[table.id] = table
        elif engine == target:
            plan.staying.append((table.id, f"is {target.upper()} already"))
        else:
            plan.staying.append((table.id, f"its engine {table.engine or '?'} is not migrated"))
    keys = schema.foreign_keys(session)
    candidates = [one for one, engine in everything.items() if engine == source]
    for members in sets.connected(candidates, keys):
        selected = [tables[member] for member in members if member in tables]
        if selected:
            outside = [member for member in members if member not in tables]
            for table in selected:
                looking(text_of(table.id))
            plan.sets.append(_plan_set(session, selected, circumstances, outside, asks=unlogged))
    plan.notes = _notes(plan)
    return plan


def _keep_out_of_the_log(session: Session) -> bool:
    """Whether temporary tables of this session stay out of the binary log: replicas need none."""
    if session.allowed("SET SESSION sql_log_bin = 0"):
        return True
    return session.value("SELECT @@SESSION.binlog_format") == "ROW"


def _refuse_leftovers(session: Session) -> None:
    """Names of ours that no migration owns would be dropped as ours, so they may not be there."""
    found = [one for one in schema.engines(session) if one[1].startswith(PREFIX)]
    if found and not State(session).exists():
        raise CairnError(
            f"{', '.join(map(text_of, found))}: names that begin with {PREFIX} are for migrations, "
            "and none is under way. Look into these tables, then drop or rename them."
        )


def _plan_set(
    session: Session,
    tables: list[Table],
    circumstances: Circumstances,
    outside: list[Id],
    *,
    asks: bool,
) -> PlannedSet:
    decision = ways.of_set(tables, circumstances, outside)
    planned = []
    for table in tables:
        seen = Sample("not asked: it would be in the binary log, without BINLOG ADMIN", None)
        if asks and (decision.way is not Way.NONE or table.kind == "BASE TABLE"):
            seen = sample.take(session, table, circumstances.target)
        planned.append(
            PlannedTable(table, seen, tuple(ways.differences(table, circumstances.target)))
        )
    refused = tuple(
        f"{text_of(one.table.id)}: {circumstances.target.upper()} refuses it: {one.sample.answer}"
        for one in planned
        if one.sample.accepted is False
    )
    if refused:
        known = decision.reasons if decision.way is Way.NONE else ()
        decision = Decision(Way.NONE, (*known, *refused))
    copies = sum(one.copy_s(circumstances.target) for one in planned)
    compares = sum(one.compare_s(circumstances.verify) for one in planned)
    waits = compares if decision.way is Way.ONLINE else copies + compares
    if decision.way is Way.NONE:
        return PlannedSet(tuple(planned), decision, 0.0, 0.0)
    return PlannedSet(tuple(planned), decision, copies + compares, waits)


def _notes(plan: Plan) -> list[str]:
    found = []
    circumstances = plan.circumstances
    used = {one.decision.way for one in plan.convertible}
    if circumstances.binary_log and not circumstances.without_binary_log and used:
        found.append(
            "The binary log gets every row that is copied, and ALTER TABLE as a statement: "
            "replicas convert the tables as well and need the engine. --no-binlog converts this "
            "server alone."
        )
    if circumstances.without_binary_log:
        found.append("--no-binlog: replicas keep their tables as they are.")
    if any(one.decision.way is Way.HELD and one.is_tied for one in plan.convertible):
        found.append(
            "A set with foreign keys is copied while writers to any of its tables wait, and all of "
            "it takes its place in one statement: foreign keys are in force all the time. A "
            "statement that comes in at that moment may get error 1205 and is to be repeated."
        )
    if Way.ONLINE in used:
        found.append(
            "Online: changes are carried by triggers, so writes cost about twice as much "
            "meanwhile. Do not TRUNCATE or alter these tables until they are done: the comparison "
            "would fail, and the copy had to begin anew."
        )
    if circumstances.target == "rocksdb" and used:
        found.append(
            "On ROCKSDB gaps are not locked, and a changed row is error 1213 at REPEATABLE READ "
            "where InnoDB goes on: see transactions.md and limits.md."
        )
    if not circumstances.binary_log and used:
        found.append(
            "Without a binary log, transactions that change tables of both engines may be lost, or "
            "half of them, by a crash of the server: as long as some of the tables that clients "
            "change together are converted and others are not (replication.md)."
        )
    return found + _notes_on_space(plan)


def _notes_on_space(plan: Plan) -> list[str]:
    if plan.free_bytes is None:
        return ["Free space is not known: we may not look at the server's directory."]
    largest = max((_set_bytes(one) for one in plan.convertible), default=0)
    if plan.free_bytes >= largest + space.RESERVE_BYTES:
        return []
    return [
        f"Free space does not suffice for the largest set: {plan.free_bytes >> 20:,} MiB are free, "
        f"{largest + space.RESERVE_BYTES >> 20:,} MiB are needed."
    ]


def _set_bytes(one: PlannedSet) -> int:
    return sum(table.bytes_expected for table in one.tables)


def check_rights(session: Session, plan: Plan) -> None:
    """The rights for what the plan converts."""
    schemas = [one.table.id[0] for each in plan.convertible for one in each.tables]
    if schemas:
        rights.check(session, schemas, plan.circumstances)


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan for scripts. Bytes, rows and seconds are expectations."""
    return {
        "to": plan.circumstances.target,
        "free_bytes": plan.free_bytes,
        "sets": [
            {
                "way": one.decision.way.value,
                "reasons": list(one.decision.reasons),
                "seconds": round(one.seconds, 1),
                "writers_wait_s": round(one.writers_wait_s, 1),
                "tables": [
                    {
                        "schema": each.table.id[0],
                        "table": each.table.id[1],
                        "rows": each.table.rows,
                        "bytes": each.table.data_bytes,
                        "bytes_expected": each.bytes_expected,
                        "answer": each.sample.answer,
                        "accepted": each.sample.accepted,
                        "differs": list(each.differs),
                    }
                    for each in one.tables
                ],
            }
            for one in plan.sets
        ],
        "staying": [
            {"schema": table[0], "table": table[1], "reason": reason}
            for table, reason in plan.staying
        ],
        "notes": plan.notes,
    }

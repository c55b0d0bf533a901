"""Scripts of one change of a definition beside one user of the table, and what is right there."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.hunt.definitions.changes import CHANGES, COPY, OTHER_TIME_TO_LIVE, Change
from tests.hunt.definitions.tables import KINDS, Kind, create
from tests.hunt.definitions.users import PROBES, ROUTINES, USERS, Probe, Row, User
from tests.hunt.sessions import script
from tests.hunt.sessions.compare import (
    began_with_change,
    first_race,
    lucky_sessions,
    state_at,
)
from tests.hunt.sessions.judge import CHANGED, DEADLOCK, TIMED_OUT, Complaint
from tests.hunt.sessions.play import Player
from tests.hunt.sessions.script import Event, Record, Script, Step

# The sessions: who changes the definition, who uses the table, who else writes, who holds a lock.
CHANGER, USER, WRITER, HOLDER = "A", "B", "C", "D"
# The tables that old snapshots are asked for: there is nothing under other names before a change.
READ_BEFORE = ("t", "x")
SHORT_WAIT_S = 1
LONG_WAIT_S = 60
# Nobody sees a deadlock over rows and tables: it ends so.
ROW_WAIT_S = 4
DEFINITION_CHANGED = 1412
READ_ONLY = 1792
_ADMINISTERS = re.compile(r"\b(CHECK|ANALYZE|OPTIMIZE)\b")
# An old snapshot may be told that the table is another one, is not there, or lacks a column, a
# partition or an index.
REFUSALS = {DEFINITION_CHANGED, 1146, 1054, 1176, 1735}
# Where a statement locks or changes what others have changed since, also that.
CONFLICTS = {CHANGED, DEADLOCK, TIMED_OUT}


@dataclass(frozen=True)
class Expected:
    """The role of a probe: the reading, of one session, that it must agree with."""

    probe: Probe
    # The name of the table whose rows then it must give.
    of: str
    name: str


@dataclass(frozen=True)
class Reference:
    """The role of a plain read at the time of the snapshot."""

    table: str


@dataclass(frozen=True)
class Opening:
    """The role of a statement without which there is no old snapshot."""


@dataclass(frozen=True)
class Pair:
    """One change beside one user."""

    kind: Kind
    change: Change
    user: User

    @property
    def name(self) -> str:
        return f"{self.change.name} beside {self.user.name}"


def all_pairs() -> list[Pair]:
    """Every change of every kind of table, beside every user."""
    return [
        Pair(kind, change, user)
        for kind in KINDS
        for change in CHANGES
        if change.applies(kind)
        for user in USERS
        # The times of versions are not those of the other engine.
        if not (kind.is_versioned and user.sees_hidden_columns)
    ]


def make(pair: Pair, chance: random.Random) -> Script:
    """A script; whether others write between, and whether the change waits long, is random."""
    user, change = pair.user, pair.change
    writes = user.others_write and chance.random() < 0.5
    writes_after = chance.random() < 0.3
    waits_long = chance.random() < 0.6
    steps = [Step(HOLDER, text) for text in user.holder]
    steps += [Step(USER, text, role=Opening()) for text in user.before]
    if user.old:
        steps += [
            Step(WRITER, f"SELECT id, n FROM {table} ORDER BY id", role=Reference(table))
            for table in READ_BEFORE
        ]
    if writes:
        steps += [
            Step(WRITER, "UPDATE t SET n = n + 100 WHERE id < 150"),
            Step(WRITER, "DELETE FROM t WHERE id = 4"),
            Step(WRITER, "INSERT INTO t (id, g, h, n) VALUES (5, 2, 55, 5)"),
        ]
    steps += [Step(CHANGER, text) for text in change.statements]
    if not waits_long:
        steps.append(Step(CHANGER, script.AWAIT))
    if writes_after and user.old:
        steps.append(Step(WRITER, "UPDATE t SET n = n + 1"))
    steps += _afterwards(pair, chance)
    steps += [Step(HOLDER, text) for text in user.releaser]
    steps += [Step(USER, text) for text in user.end]
    return Script(
        chance.choice(user.levels),
        (*create(pair.kind), *(ROUTINES if user.holder else ())),
        tuple(steps),
        ROW_WAIT_S,
        table_wait_s=LONG_WAIT_S if waits_long else SHORT_WAIT_S,
    )


def _afterwards(pair: Pair, chance: random.Random) -> Iterator[Step]:
    if not pair.user.old:
        yield from (Step(USER, text) for text in pair.user.after)
        return
    reads = [probe for probe in PROBES if not probe.changes]
    changes = [probe for probe in PROBES if probe.changes]
    # What is changed is seen by what is read then: one change, at the end.
    chosen = [*chance.sample(reads, 3), *chance.sample(changes, 1)]
    for probe in chosen:
        name = chance.choice(list(pair.change.names))
        of = pair.change.names[name]
        yield Step(USER, probe.text.format(table=name), role=Expected(probe, of, name))


class PairPlayer(Player):
    """Reads at the end whatever tables there are, with their definitions."""

    LEFT_PREPARED = "ROLLBACK"
    # Whatever a change of a definition leaves behind is a fault.
    NAMES = 1

    def read(self, record: Record) -> None:
        """All rows, the definitions, and what CHECK TABLE says."""
        tables = self.rows("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")
        for table in sorted(str(row[0]) for row in tables):
            (definition,) = self.rows(f"SHOW CREATE TABLE {table}")
            text = re.sub(rf"ENGINE *= *{self._engine}", "ENGINE=engine", str(definition[1]))
            record.logs[table] = [_without_counter(text)]
            record.rows[table] = sorted(self.rows(f"SELECT * FROM {table}"), key=repr)
            if "SYSTEM VERSIONING" in text:
                history = self.rows(f"SELECT * FROM {table} FOR SYSTEM_TIME ALL")
                record.rows[table] += sorted(history, key=repr)
            self.check(record, table)


def _without_counter(definition: str) -> str:
    """Counters count on in a copy, or not."""
    words = definition.split(" ")
    return " ".join(word for word in words if not word.startswith("AUTO_INCREMENT="))


# ---- what is right -------------------------------------------------------------------------------


# These change which partitions a table has. The server opens the ones there are and asks no engine
# about the others: what a query wants of those alone is empty, with InnoDB as with us.
SERVER_S_PARTITIONS = {"DROP PARTITION", "CONVERT PARTITION", "CONVERT TABLE"}


def is_the_server_s(ours: Record, theirs: Record, pair: Pair) -> bool:
    """Whether old snapshots are wrong through the server: both engines gave the same."""
    return pair.change.name in SERVER_S_PARTITIONS and all(
        _state(mine, len(ours.events)) == _state(other, len(ours.events))
        for mine, other in zip(ours.events, theirs.events, strict=True)
        if isinstance(mine.step.role, Expected) and not mine.step.role.probe.changes
    )


def judge_pair(record: Record, pair: Pair) -> list[Complaint]:
    """What is wrong with one engine's playing by itself: old snapshots, and damage."""
    complaints = [Complaint(f"damaged table: {pair.change.name}", text) for text in record.damage]
    then = _then(record, pair)
    for event in record.events:
        role = event.step.role
        if not isinstance(role, Expected) or event.ended_at < 0 or not then:
            continue
        tables = _tables_of(record, event, role, pair) & set(READ_BEFORE)
        if tables <= then.keys():
            complaints += _snapshot(event, role, [then[table] for table in tables], pair)
    return complaints


def not_refused(ours: Record, pair: Pair) -> list[Complaint]:
    """What is wrong where ROCKSDB did what it must refuse."""
    return [
        Complaint(f"not refused: {pair.change.name}", f"{event.step}: {event.answer}")
        for event in ours.of(CHANGER)
        if pair.change.refused
        and event.step.text == pair.change.statements[-1]
        and event.ended_at >= 0
        and not event.answer.error
    ]


def _tables_of(record: Record, event: Event, role: Expected, pair: Pair) -> set[str]:
    """By its name at the time of the snapshot, the table that a probe reads.

    It may be one of two when the change and the probe ended at the same step.
    """
    last = pair.change.statements[-1]
    for change in record.of(CHANGER):
        if change.step.text == last and change.ended_at >= 0 and not change.answer.error:
            if change.ended_at < event.sent_at:
                return {role.of}
            if change.ended_at <= event.ended_at:
                return {role.of, role.name}
    # It waits still, or nothing came of it.
    return {role.name}


def _then(record: Record, pair: Pair) -> dict[str, list[Row]]:
    """By table: its rows as of the user's snapshot, if there is one."""
    opened = 0
    rows: dict[str, list[Row]] = {}
    for event in record.events:
        role = event.step.role
        if isinstance(role, Opening):
            opened += event.ended_at >= 0 and not event.answer.error
        elif isinstance(role, Reference) and opened == len(pair.user.before):
            rows[role.table] = [(int(row[0]), int(row[1])) for row in event.answer.rows or ()]
    return rows


def _snapshot(
    event: Event, role: Expected, then: list[list[Row]], pair: Pair
) -> Iterable[Complaint]:
    """A probe gives the rows as of the snapshot, of one of the tables, or one of the refusals."""
    answer, probe = event.answer, role.probe
    where = f"an old snapshot after {pair.change.name}"
    if answer.error:
        allowed = REFUSALS | (CONFLICTS if probe.changes else set())
        if answer.error not in allowed and answer.error != READ_ONLY:
            yield Complaint(f"{where}: error {answer.error}", f"{event.step}: {answer}")
        return
    found = _given(event, probe)
    wanted = [_expected(event, probe, rows) for rows in then]
    if found not in wanted:
        yield Complaint(
            f"{where}: other rows than it had",
            f"{event.step}: {found}; as of the snapshot: {' or '.join(map(str, wanted)) or 'none'}",
        )


def _given(event: Event, probe: Probe) -> object:
    """The rows of a probe's answer, or how many they are."""
    answer = event.answer
    if answer.rows is None:
        return answer.changed
    if probe.rows is None:
        return int(answer.rows[0][0])
    return sorted((int(row[0]), int(row[1])) for row in answer.rows)


def _expected(event: Event, probe: Probe, then: list[Row]) -> object:
    """What `_given` must be if the table had these rows."""
    expected = sorted(row for row in then if probe.rows is None or probe.rows(row))
    return len(expected) if event.answer.rows is None or probe.rows is None else expected


@dataclass(frozen=True)
class Reason:
    """Why a statement may end otherwise than with InnoDB."""

    why: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    # Part of the statement's text.
    text: str = ""
    # Whose statement; without it anybody's.
    session: str = ""
    # The kind of table, and the isolation level; without them any.
    kind: str = ""
    level: str = ""

    def explains(self, event: Event, ours: str, theirs: str, pair: Pair, level: str) -> bool:
        """Whether the states are those of the reason, and the statement and the table too."""
        return (
            self.text in event.step.text
            and self.session in ("", event.step.session)
            and self.kind in ("", pair.kind.name)
            and self.level in ("", level)
            and any(ours.startswith(state) for state in self.ours)
            and any(theirs.startswith(state) for state in self.theirs)
        )


REASONS = (
    Reason(
        "INSERT ... SELECT reads at a snapshot here; InnoDB locks what it reads, and waits for it",
        ("ok",),
        ("waits", "error 1020", "error 1205"),
        COPY,
        session=CHANGER,
    ),
    Reason(
        "a row that changed since the snapshot is error 1213; InnoDB rolls back with 1020",
        ("error 1213",),
        ("error 1020", "ok", "waits"),
    ),
    Reason(
        "InnoDB finds changes since the snapshot where we have no conflict, as in `sessions`",
        ("ok",),
        ("error 1020",),
    ),
    Reason(
        "a transaction that began before the change may be refused or may read the old rows",
        ("error 1412",),
        ("ok", "error 1020"),
    ),
    Reason(
        "a transaction that began before the change may be refused or may read the old rows",
        ("ok",),
        ("error 1412",),
    ),
    Reason(
        "a change that copies keeps writers out, and then readers; InnoDB makes some in place. "
        "And a deadlock over rows and tables ends when somebody's time is up",
        ("waits", "error 1205", "error 1213"),
        ("ok", "waits", "error 1205", "error 1213", "error 1020"),
    ),
    Reason(
        "InnoDB's own threads hold tables as well, while they remove what snapshots needed",
        ("ok",),
        ("waits", "error 1205"),
        session=CHANGER,
    ),
    Reason(
        "rows are not moved to where they would expire at another time, which InnoDB has not",
        (f"error {OTHER_TIME_TO_LIVE}",),
        ("ok", "waits", "error 1205"),
        session=CHANGER,
    ),
    Reason(
        "with InnoDB a table with a long unique key cannot be altered in place at SERIALIZABLE",
        ("ok", "waits"),
        ("error 159",),
        "ALTER TABLE t ",
        session=CHANGER,
        kind="long unique",
        level="SERIALIZABLE",
    ),
    Reason(
        "with InnoDB nor can it be optimized, which is an ALTER TABLE",
        ("ok: ('status', 'OK')", "waits"),
        ("ok: ('status', 'Operation failed')",),
        "OPTIMIZE TABLE t",
        session=CHANGER,
        kind="long unique",
        level="SERIALIZABLE",
    ),
)


def difference(ours: Record, theirs: Record, pair: Pair) -> tuple[str, str]:
    """The first place where the engines differ without a reason: a title and a text.

    Both are empty when they agree, or went apart for a reason.
    """
    level = ours.script.level
    race = race_of(ours, theirs)
    for position in range(min(race, len(ours.events)) + 1):
        lucky = lucky_sessions(ours, theirs, race) if position == race else set()
        for mine, other in zip(ours.events, theirs.events, strict=True):
            if mine.step.session in lucky:
                continue
            if isinstance(mine.step.role, Expected):
                continue  # Right by itself, or wrong.
            my_state, other_state = _state(mine, position), _state(other, position)
            if my_state == other_state:
                continue
            if any(r.explains(mine, my_state, other_state, pair, level) for r in REASONS):
                return "", ""
            if (
                my_state.startswith("ok")
                and other_state.startswith("ok")
                and level != "READ COMMITTED"
                and began_with_change(ours, mine)
            ):
                # InnoDB takes its snapshot later: see the reasons of `sessions`.
                return "", ""
            if other_state == f"error {DEADLOCK}" and any(
                event.answer.error == DEADLOCK for event in ours.events
            ):
                # Of two whom one step frees either may be the victim.
                return "", ""
            text = f"after step {position + 1}: {mine.step}\nROCKSDB: {my_state}\n"
            return _kind(my_state, other_state), f"{text}InnoDB: {other_state}"
    return "", ""


def race_of(ours: Record, theirs: Record) -> int:
    """The step up to which engines are compared: behind one that frees two sessions luck decides.

    Such as who comes between the statements of one change.
    """
    return min(first_race(ours), first_race(theirs))


def _state(event: Event, position: int) -> str:
    """As `state_at`; of what CHECK and the like say only the last line's verdict."""
    rows = event.answer.rows
    state = state_at(event, position)
    if state.startswith("ok") and event.step.session == CHANGER and rows is None:
        return "ok"  # How many rows a change has copied is its own affair.
    if state.startswith("ok") and rows and _ADMINISTERS.search(event.step.text):
        return f"ok: {rows[-1][2:]}"
    return state


def tables_differ(ours: Record, theirs: Record) -> str:
    """How rows or definitions differ at the end, where all was told alike."""
    last = len(ours.events)
    both = list(zip(ours.events, theirs.events, strict=True))
    if race_of(ours, theirs) <= last:
        return ""
    if any(_state(mine, last) != _state(other, last) for mine, other in both):
        return ""
    # A copy has the rows of its time, which comes later where it waits for the locks of others.
    copied_alike = all(
        (mine.sent_at, mine.ended_at) == (other.sent_at, other.ended_at)
        for mine, other in both
        if COPY in mine.step.text
    )
    if set(ours.rows) != set(theirs.rows):
        return f"tables {sorted(ours.rows)}, with InnoDB {sorted(theirs.rows)}"
    for table in ours.rows:
        is_copy = table == ("t" if "z" in ours.rows else "y")
        if ours.rows[table] != theirs.rows[table] and (copied_alike or not is_copy):
            return f"{table}: {ours.rows[table]}\nwith InnoDB: {theirs.rows[table]}"
        if ours.logs[table] != theirs.logs[table]:
            return f"{ours.logs[table]}\nwith InnoDB: {theirs.logs[table]}"
    return ""


def _kind(ours: str, theirs: str) -> str:
    states = [
        state if state == "waits" or state.startswith("error") else "succeeds"
        for state in (ours, theirs)
    ]
    if states == ["succeeds", "succeeds"]:
        return "another result than InnoDB's"
    return f"{states[0]}, with InnoDB {states[1]}"

"""What a table shows: its definition, its rows by a scan and by each index, and CHECK TABLE."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.hunt.compare import difference
from tests.hunt.session import Answer, Script, Session

# Of the differing rows so many are shown.
SHOWN_ROWS = 3


@dataclass(frozen=True)
class Trouble:
    """Something that must not be; a shrinker keeps the kind."""

    kind: str
    details: str = ""


@dataclass(frozen=True)
class ShownIndex:
    """An index as SHOW CREATE TABLE shows it."""

    name: str
    columns: tuple[str, ...]
    # The first part is of a prefix, in which a scan has no order.
    begins_with_prefix: bool
    # By a hash: only equality is found by it.
    is_hash: bool
    is_ignored: bool
    descending: bool


def definition(session: Session, table: str = "t") -> Answer:
    """SHOW CREATE TABLE without the engine."""
    answer = session.try_to(f"SHOW CREATE TABLE {table}")
    text = "".join(answer.rows).partition(",")[2]
    text = re.sub(r"ENGINE ?= ?(InnoDB|ROCKSDB)", "ENGINE=*", text, flags=re.IGNORECASE)
    return Answer(tuple(text.splitlines()), answer.error, answer.message)


def counter(session: Session) -> int:
    """What SHOW CREATE TABLE tells as AUTO_INCREMENT; 1 where it tells nothing."""
    found = re.search(r"\) ENGINE.* AUTO_INCREMENT=(\d+)", "\n".join(definition(session).rows))
    return int(found[1]) if found else 1


def columns_of(shown: Answer) -> list[str]:
    """The names of all columns, invisible ones too."""
    found = (re.match(r"  `([^`]+)` ", line) for line in shown.rows)
    return [each[1] for each in found if each]


def indexes_of(shown: Answer) -> list[ShownIndex]:
    """The indexes, the primary key too."""
    indexes = []
    for line in shown.rows:
        found = _KEY.match(line)
        if found is None:
            continue
        parts = re.findall(r"`([^`]+)`(\(\d+\))?( DESC)?", found[2])
        indexes.append(
            ShownIndex(
                found[1] or "PRIMARY",
                tuple(part[0] for part in parts),
                bool(parts[0][1]),
                "USING HASH" in line,
                " IGNORED" in line,
                bool(parts[0][2]),
            )
        )
    return indexes


# A name, and parts such as `a`(3) DESC.
_KEY = re.compile(
    r"  (?:UNIQUE |PRIMARY )?KEY (?:`([^`]+)` )?\(((?:`[^`]+`(?:\(\d+\))?(?: DESC)?,?)+)\)"
)


# ---- questions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What is asked of both: by an index of the engine under test, by a scan of InnoDB."""

    name: str
    select: str
    hint: str = ""
    behind: str = ""

    def sql(self, table: str, hint: str) -> str:
        """The statement with a hint."""
        return f"SELECT {self.select} FROM {table} {hint}{self.behind}".rstrip()


def questions(shown: Answer) -> list[Question]:
    """All rows by every way that there is."""
    columns = [f"`{name}`" for name in columns_of(shown)]
    everything = ", ".join(columns)
    found = [Question("rows", everything, "USE INDEX ()")]
    for index in indexes_of(shown):
        if index.is_hash or index.is_ignored:
            continue
        force = f"FORCE INDEX (`{index.name}`)"
        own = ", ".join(f"`{name}`" for name in dict.fromkeys(index.columns))
        found.append(Question("rows of an index", own, force))
        first = f"`{index.columns[0]}`"
        if index.begins_with_prefix and not _is_lost_in_merges(shown, index.columns[0]):
            behind = f" WHERE {first} >= '' OR {first} IS NULL"
        else:
            behind = f" ORDER BY {first}{' DESC' if index.descending else ''}"
        found.append(Question("rows by an index", everything, force, behind))
    return found


def _is_lost_in_merges(shown: Answer, column: str) -> bool:
    """Whether the server merges the partitions' rows with another row's value of the column.

    It keeps no copy of a virtual BLOB; InnoDB's answers are wrong in the same way.
    """
    virtual = any(
        line.startswith(f"  `{column}` ") and line.rstrip(",").find(") VIRTUAL") > 0
        for line in shown.rows
    )
    return virtual and any(line.lstrip().startswith("PARTITION BY") for line in shown.rows)


def point_question(shown: Answer, table: str, hint: bool) -> list[str]:
    """For each index the number of rows that its own values lead to."""
    found = []
    for index in indexes_of(shown):
        if index.is_ignored:
            continue
        by = f"FORCE INDEX (`{index.name}`)" if hint else "USE INDEX ()"
        equal = " AND ".join(f"b.`{name}` <=> a.`{name}`" for name in dict.fromkeys(index.columns))
        found.append(
            f"SELECT COUNT(*) FROM {table} a USE INDEX () STRAIGHT_JOIN {table} b {by} ON {equal}"
        )
    return found


def compare(ours: Session, theirs: Session, *, at_points: bool = True) -> Trouble | None:
    """Whether the tables `t` of both are alike, and ours is in order."""
    given, right = definition(ours), definition(theirs)
    if right.error:
        return Trouble(f"InnoDB's table does not open: error {right.error}", str(right))
    if kind := difference(Answer(error=right.error), Answer(error=given.error)):
        return Trouble(f"SHOW CREATE TABLE: {kind}", str(given))
    if _unordered(given.rows) != _unordered(right.rows):
        return Trouble("another definition", _lines(given.rows, right.rows))
    asked = questions(right)
    found = ours.run([Script((each.sql("t", each.hint),)) for each in asked])
    wanted = theirs.run([Script((each.sql("t", "USE INDEX ()"),)) for each in asked])
    for question, answer, truth in zip(asked, found, wanted, strict=True):
        if trouble := _differs(question, answer, truth):
            return trouble
    if at_points and (trouble := _compare_points(ours, theirs, right)):
        return trouble
    return check(ours)


def _unordered(lines: tuple[str, ...]) -> list[str]:
    """The definition with its indexes in the order of their names.

    DROP INDEX and ADD INDEX of the same one is nothing to the server, unless it copies.
    """
    plain = [line.rstrip(",") for line in lines]
    keys = [line for line in plain if _KEY.match(line)]
    return [line for line in plain if not _KEY.match(line)] + sorted(keys)


def _compare_points(ours: Session, theirs: Session, shown: Answer) -> Trouble | None:
    mine = point_question(shown, "t", True)
    found = ours.run([Script((text,)) for text in mine])
    truth = theirs.run([Script((text,)) for text in point_question(shown, "t", False)])
    for text, answer, wanted in zip(mine, found, truth, strict=True):
        kind = difference(wanted, answer)
        # A prefix of one letter is not found by two that are equal to it; InnoDB's is not either.
        if kind and difference(theirs.try_to(text), answer):
            return Trouble(f"keys looked up: {kind}", f"{text}\n{answer}\nInnoDB: {wanted}")
    return None


def check(session: Session) -> Trouble | None:
    """CHECK TABLE EXTENDED."""
    answer = session.try_to("CHECK TABLE t EXTENDED")
    if answer.error or not answer.rows or not answer.rows[-1].endswith(",status,OK"):
        return Trouble("CHECK TABLE", "\n".join(answer.rows) or str(answer))
    return None


def compare_old(old: Session, theirs: Session) -> Trouble | None:
    """Whether an old snapshot has the rows of then, which InnoDB keeps in `before`, or 1412."""
    shown = definition(theirs, "before")
    asked = questions(shown)
    found = old.run([Script((each.sql("t", each.hint),)) for each in asked])
    wanted = theirs.run([Script((each.sql("before", "USE INDEX ()"),)) for each in asked])
    for question, answer, truth in zip(asked, found, wanted, strict=True):
        if answer.error == CHANGED_DEFINITION:
            continue
        if trouble := _differs(question, answer, truth):
            return Trouble(f"old snapshot: {trouble.kind}", trouble.details)
    return None


# "Table definition has changed, please retry transaction".
CHANGED_DEFINITION = 1412


def _differs(question: Question, answer: Answer, truth: Answer) -> Trouble | None:
    kind = difference(truth.sorted(), answer.sorted())
    if not kind:
        return None
    text = question.sql("t", question.hint)
    if answer.error:
        return Trouble(f"{question.name}: {kind}", f"{text}\n{answer}")
    return Trouble(f"{question.name}: {kind}", f"{text}\n{_lines(answer.rows, truth.rows)}")


def _lines(given: tuple[str, ...], right: tuple[str, ...]) -> str:
    """The first that only one of them has."""
    ours = [row for row in given if row not in right][:SHOWN_ROWS]
    theirs = [row for row in right if row not in given][:SHOWN_ROWS]
    if not ours and not theirs:
        return f"{len(given)} lines, InnoDB {len(right)}"
    return "\n".join([*(f"ours:   {row}" for row in ours), *(f"InnoDB: {row}" for row in theirs)])

"""Compares the tables of both engines."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tests.hunt.compare import difference
from tests.hunt.foreign_keys.schema import ELSEWHERE, HERE, Schema, Table
from tests.hunt.session import Answer, Script, Session

SHOWN_ROWS = 6
# Of several indexes that serve a parent InnoDB names the one that it has found at first.
_RULES = (
    "SELECT constraint_schema, constraint_name, unique_constraint_schema, match_option, "
    "update_rule, delete_rule, table_name, referenced_table_name "
    "FROM information_schema.referential_constraints WHERE constraint_schema = '{0}' "
    "ORDER BY constraint_schema, constraint_name"
)
_USAGE = (
    "SELECT * FROM information_schema.key_column_usage WHERE table_schema = '{0}' "
    "AND referenced_table_name IS NOT NULL "
    "ORDER BY table_schema, constraint_name, ordinal_position"
)
_CONSTRAINTS = (
    "SELECT * FROM information_schema.table_constraints WHERE table_schema = '{0}' "
    "AND constraint_type = 'FOREIGN KEY' ORDER BY constraint_schema, constraint_name"
)
_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = '{0}' "
    "ORDER BY table_name"
)


@dataclass(frozen=True)
class Trouble:
    """What is wrong: its kind, which a shrinker must keep, and details for people."""

    kind: str
    details: str = ""
    # Whether only the databases of parents are unlike.
    is_naming: bool = False


def for_engine(statement: str, letter: str) -> str:
    """The statement with the databases of an engine."""
    return re.sub(rf"\b({HERE}|{ELSEWHERE})\b", rf"{letter}_\1", statement)


def plain(text: str) -> str:
    """A text without what is the engine's own: its databases, and names of copies."""
    text = re.sub(rf"\b[ri]_({HERE}|{ELSEWHERE})\b", r"\1", text)
    text = re.sub(r"#sql-(alter|backup)-[0-9a-f]+-[0-9a-f]+(-[0-9a-f]+)?", "#sql", text)
    return re.sub(r"ENGINE=\w+( AUTO_INCREMENT=\d+)?", "ENGINE", text)


def rows(ours: Session, theirs: Session, schema: Schema, turn: int) -> Trouble | None:
    """Whether all tables have the same rows; the index to ask as well takes turns."""
    asked = []
    for table in schema.tables:
        asked.append((table, "USE INDEX ()"))
        if table.indexes:
            index = table.indexes[turn % len(table.indexes)]
            asked.append((table, f"FORCE INDEX ({index.name})"))
    given = _select(ours, "r", asked)
    right = _select(theirs, "i", [(table, "USE INDEX ()") for table in schema.tables])
    of_table = dict(zip((table.full for table in schema.tables), right, strict=True))
    for (table, hint), found in zip(asked, given, strict=True):
        truth = of_table[table.full]
        if kind := difference(truth.sorted(), found.sorted()):
            by = "" if hint == "USE INDEX ()" else " of an index"
            return Trouble(f"rows{by}: {kind}", f"{table.full} {hint}\n{_lines(found, truth)}")
    return None


def _select(session: Session, letter: str, asked: list[tuple[Table, str]]) -> list[Answer]:
    return session.run(
        [
            Script((for_engine(f"SELECT * FROM {table.full} {hint}", letter),))
            for table, hint in asked
        ]
    )


def definitions(ours: Session, theirs: Session, schema: Schema) -> Trouble | None:
    """Whether all tables have the same definitions."""
    asked = [f"SHOW CREATE TABLE {table.full}" for table in schema.tables]
    # One by one: else the server looks into all databases that there are.
    for database in (HERE, ELSEWHERE):
        asked += [view.format(database) for view in (_RULES, _USAGE, _CONSTRAINTS, _TABLES)]
    given = ours.run([Script((for_engine(text, "r"),)) for text in asked])
    right = theirs.run([Script((for_engine(text, "i"),)) for text in asked])
    for text, found, truth in zip(asked, given, right, strict=True):
        found, truth = _plain(found), _plain(truth)
        if kind := difference(truth, found):
            what = re.sub(r" TABLE .*| WHERE .*", "", text)
            is_naming = not difference(_nowhere(truth), _nowhere(found))
            return Trouble(f"{what}: {kind}", f"{text}\n{_lines(found, truth)}", is_naming)
    return None


def _nowhere(answer: Answer) -> Answer:
    """Without names of databases in front of tables."""
    names = rf"`({HERE}|{ELSEWHERE})`\."
    return Answer(tuple(re.sub(names, "", row) for row in answer.rows), answer.error)


def orphans(session: Session, letter: str, schema: Schema) -> Counter[str]:
    """The values of children that have no parent, each with its foreign key."""
    found: Counter[str] = Counter()
    for key in schema.foreign_keys():
        values = ", ".join(f"c.{name}" for name in key.columns)
        given = " AND ".join(f"c.{name} IS NOT NULL" for name in key.columns)
        pairs = zip(key.columns, key.parent_columns, strict=True)
        equal = " AND ".join(f"p.{theirs} = c.{mine}" for mine, theirs in pairs)
        parent = f"AND NOT EXISTS (SELECT 1 FROM {key.parent} p WHERE {equal})"
        # Tables that are locked cannot be asked twice in a statement: then nothing is told of them.
        answer = session.try_to(
            for_engine(
                f"SELECT {values} FROM {key.child} c WHERE {given} "
                f"{parent if schema.table(key.parent) else ''}",
                letter,
            )
        )
        found.update(f"{key.child}.{key.name}: {row}" for row in answer.rows)
    return found


def _plain(answer: Answer) -> Answer:
    """An answer to compare: a line for each line of a definition, indexes by their names.

    To drop an index and add the same one is nothing to the server, unless it copies.
    """
    lines = [line for row in answer.rows for line in plain(row).split("\n")]
    lines = [line.rstrip(",") for line in lines]
    keys = [line for line in lines if re.match(r"  (UNIQUE |PRIMARY )?KEY ", line)]
    others = [line for line in lines if line not in keys]
    return Answer((*others, *sorted(keys)), answer.error, answer.message)


def check(ours: Session, schema: Schema) -> Trouble | None:
    """CHECK TABLE EXTENDED of all tables of ours."""
    for table in schema.tables:
        answer = ours.try_to(for_engine(f"CHECK TABLE {table.full} EXTENDED", "r"))
        if answer.error or not answer.rows or not answer.rows[-1].endswith(",status,OK"):
            return Trouble("CHECK TABLE", "\n".join(answer.rows) or str(answer))
    return None


def _lines(given: Answer, right: Answer) -> str:
    """The rows that only one of them has."""
    ours = [row for row in given.rows if row not in right.rows][:SHOWN_ROWS]
    theirs = [row for row in right.rows if row not in given.rows][:SHOWN_ROWS]
    if not ours and not theirs:
        return f"{given}\nInnoDB: {right}"
    return "\n".join([*(f"ours:   {row}" for row in ours), *(f"InnoDB: {row}" for row in theirs)])

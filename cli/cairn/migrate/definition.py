"""SHOW CREATE TABLE, rewritten: another name and engine, and foreign keys as a second statement."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cairn.errors import CairnError
from cairn.migrate.link import name

_FOREIGN_KEY = re.compile(r"^  (CONSTRAINT `(?:[^`]|``)*` FOREIGN KEY .*?),?$")
_STRING = r"'(?:[^'\\]|''|\\.)*'"


@dataclass(frozen=True)
class Definition:
    """The parts of a definition. `body` has neither foreign keys nor options."""

    body: tuple[str, ...]
    options: str
    partitions: str
    foreign_keys: tuple[str, ...]


def parse(text: str) -> Definition:
    """Takes SHOW CREATE TABLE apart; the server writes a line for each column, key and rule."""
    lines = text.split("\n")
    end = next((number for number, line in enumerate(lines) if line.startswith(") ENGINE=")), None)
    if end is None or not lines[0].startswith("CREATE TABLE "):
        raise CairnError(f"The server describes a table in a way that is not known: {lines[0]}")
    body: list[str] = []
    keys: list[str] = []
    for line in lines[1:end]:
        found = _FOREIGN_KEY.match(line)
        if found:
            keys.append(found[1])
        else:
            body.append(line.removesuffix(","))
    return Definition(tuple(body), lines[end][2:], "\n".join(lines[end + 1 :]), tuple(keys))


def options_for(options: str, engine: str) -> str:
    """The options with another engine, and without a directory of the table's own."""
    options = re.sub(r"^ENGINE=\S+", f"ENGINE={engine}", options)
    return re.sub(rf" (DATA|INDEX) DIRECTORY={_STRING}", "", options)


def partitions_for(partitions: str, engine: str) -> str:
    partitions = re.sub(rf" (DATA|INDEX) DIRECTORY = {_STRING}", "", partitions)
    return re.sub(r" ENGINE = \w+", f" ENGINE = {engine}", partitions)


def create(definition: Definition, table: str, engine: str, *, temporary: bool = False) -> str:
    """CREATE TABLE of the same columns and keys as `table`, an identifier of SQL.

    A temporary table has no partitions: the server has none of those.
    """
    partitions = "" if temporary else partitions_for(definition.partitions, engine)
    return (
        f"CREATE {'TEMPORARY ' if temporary else ''}TABLE {table} (\n"
        + ",\n".join(definition.body)
        + f"\n) {options_for(definition.options, engine)}"
        + (f"\n{partitions}" if partitions else "")
    )


def add_foreign_keys(definition: Definition, schema: str, table: str) -> str | None:
    """ALTER TABLE that adds the foreign keys, parents by their own names; None: there are none.

    The session's current schema must be that of the table, for the names of parents.
    """
    if not definition.foreign_keys:
        return None
    rules = ", ".join(f"ADD {rule}" for rule in definition.foreign_keys)
    return f"ALTER TABLE {name(schema)}.{name(table)} {rules}"


def shape(text: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """What a table and its shadow have in common: columns and keys, partitions, names of rules."""
    parsed = parse(text)
    rules = tuple(sorted(rule.partition(" FOREIGN KEY ")[0] for rule in parsed.foreign_keys))
    return parsed.body, partitions_for(parsed.partitions, "any"), rules

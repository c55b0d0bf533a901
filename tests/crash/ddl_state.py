"""What tables there are: to statements, as files, and in the engine's dictionary."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cairn.errors import CairnError
from cairn.paths import BUILD
from cairn.scratch_server import ENGINE_DIRECTORY
from tests.crash import ddl_keys
from tests.crash.ddl_case import SCHEMA_LIST, SCHEMAS

PROGRAM = BUILD / "release" / "tests" / "crash" / "print_dictionary"


def snapshot(cursor: Any) -> dict[str, str]:
    """Every table's definition and rows, those of each partition apart; raises for a bad table."""
    cursor.execute(
        f"SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ({SCHEMA_LIST})"
    )
    state = {name: "database" for (name,) in cursor.fetchall()}
    state |= ddl_keys.constraints(cursor)
    cursor.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        f"WHERE table_schema IN ({SCHEMA_LIST}) ORDER BY 1, 2"
    )
    for schema, table in cursor.fetchall():
        name = f"{schema}.{table}"
        cursor.execute(f"SHOW CREATE TABLE `{schema}`.`{table}`")
        state[name] = _definition(cursor.fetchone()[1])
        if orphans := ddl_keys.check(cursor, name):
            state[f"{name}/orphans"] = orphans
        for partition in _partitions(cursor, schema, table):
            chosen = f"PARTITION ({partition})" if partition else ""
            cursor.execute(f"SELECT * FROM `{schema}`.`{table}` {chosen} ORDER BY 1")
            state[f"{name}/{partition}"] = str(cursor.fetchall())
    return state


def _definition(statement: str) -> str:
    """InnoDB reserves values for AUTO_INCREMENT that a restart gives back."""
    if "ENGINE=InnoDB" not in statement:
        return statement
    return re.sub(r" AUTO_INCREMENT=\d+", "", statement)


def _partitions(cursor: Any, schema: str, table: str) -> list[str]:
    cursor.execute(
        "SELECT COALESCE(partition_name, '') FROM information_schema.partitions "
        f"WHERE table_schema = '{schema}' AND table_name = '{table}' ORDER BY 1"
    )
    return [name for (name,) in cursor.fetchall()]


def difference(
    found: dict[str, str], old: dict[str, str], new: dict[str, str], *, piecewise: bool
) -> str:
    """What is neither as before nor as after the statement; empty when all is well."""
    if found in (old, new):
        return ""
    keys = sorted(found.keys() | old.keys() | new.keys())
    strange = [key for key in keys if found.get(key) not in (old.get(key), new.get(key))]
    # A table that is dropped and made anew may be absent in between.
    if piecewise and all(key.partition("/")[0] not in found for key in strange):
        return ""
    if not strange:
        changed = [key for key in keys if old.get(key) != new.get(key)]
        sides = [f"{key} {'old' if found.get(key) == old.get(key) else 'new'}" for key in changed]
        return f"a mixture of before and after: {', '.join(sides)}"
    return "\n".join(
        f"{key} is {found.get(key)}\n  before: {old.get(key)}\n  after: {new.get(key)}"
        for key in strange
    )


@dataclass
class Dictionary:
    """The records of the engine's dictionary."""

    tables: dict[str, list[str]] = field(default_factory=dict)
    # By child, parent and name; the state of each.
    foreign_keys: dict[tuple[str, str, str], str] = field(default_factory=dict)
    by_index: dict[str, set[str]] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)
    # By table, the copies of its .frm and .par files, and whether they count.
    definitions: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    marks: dict[str, bool] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)

    @staticmethod
    def read(engine_directory: Path) -> Dictionary:
        """Reads it while the server runs; a file that just went makes it look again."""
        for _ in range(5):
            done = subprocess.run(
                [PROGRAM, engine_directory], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                return Dictionary._parse(done.stdout)
        raise CairnError(f"The dictionary cannot be read: {done.stderr.strip()}")

    @staticmethod
    def settled(cursor: Any, engine_directory: Path) -> Dictionary:
        """Reads it when unfinished indexes are gone, which happens soon after the start."""
        cursor.execute("SELECT @@log_bin")
        if cursor.fetchone()[0]:
            # With the binary log transactions are prepared, and nobody else can read a log that has
            # them. When the memtables are written out, it is no longer needed.
            cursor.execute("SET GLOBAL rocksdb_force_flush_memtable_now = ON")
        dictionary = Dictionary.read(engine_directory)
        for _ in range(50):
            if "unfinished" not in dictionary.by_index:
                break
            time.sleep(0.1)
            dictionary = Dictionary.read(engine_directory)
        return dictionary

    @staticmethod
    def _parse(text: str) -> Dictionary:
        dictionary = Dictionary()
        for line in text.splitlines():
            kind, name, *ids = line.split("\t")
            if kind == "table":
                dictionary.tables[name] = ids
            elif kind == "foreign key":
                child, parent, constraint = ids
                dictionary.foreign_keys[child, parent, constraint] = name
            elif kind == "version":
                dictionary.versions.add(name)
            elif kind == "definition":
                _, definition, partitions = ids
                dictionary.definitions[name] = bytes.fromhex(definition), bytes.fromhex(partitions)
            elif kind == "mark":
                dictionary.marks[name] = ids[1] == "counts"
            elif kind.startswith("type "):
                dictionary.others.append(f"{kind}: {name}")
            else:
                dictionary.by_index.setdefault(kind, set()).add(name)
        return dictionary

    def inconsistencies(self) -> list[str]:
        """Records that nobody owns."""
        wrong = []
        owned = {index for ids in self.tables.values() for index in ids}
        indexes = self.by_index.get("index", set())
        dropped = self.by_index.get("dropped", set())
        lost = indexes - owned - dropped
        wrong += [f"index {i} without owner or drop mark" for i in sorted(lost)]
        wrong += [f"index {i} of a table without its record" for i in sorted(owned - indexes)]
        wrong += [f"index {i} is owned and marked dropped" for i in sorted(owned & dropped)]
        wrong += [f"drop mark of index {i} without its record" for i in sorted(dropped - indexes)]
        unfinished = self.by_index.get("unfinished", set()) - dropped
        wrong += [f"unfinished index {i}" for i in sorted(unfinished)]
        for kind in ("auto_increment", "statistics", "layouts"):
            left = self.by_index.get(kind, set()) - indexes
            wrong += [f"{kind} record of index {i}, which does not exist" for i in sorted(left)]
        for (child, _, constraint), state in sorted(self.foreign_keys.items()):
            if state != ddl_keys.ACTIVE:
                wrong.append(f"foreign key {constraint} is left in state {state}")
            if child not in self.tables:
                wrong.append(f"foreign key {constraint} of {child}, which does not exist")
        names = {name.partition("#P#")[0] for name in self.tables}
        if self.definitions.keys() != self.marks.keys():
            copies, marks = sorted(self.definitions), sorted(self.marks)
            wrong.append(f"copies {copies} of definitions, marks {marks}")
        wrong += [
            f"copy of a definition of no table: {n}" for n in sorted(self.marks.keys() - names)
        ]
        paths = {_version_path(name) for name in self.tables}
        wrong += [f"version record of no table: {path}" for path in sorted(self.versions - paths)]
        return wrong


def _version_path(name: str) -> str:
    schema, _, table = name.partition(".")
    return f"./{schema}/{table.partition('#P#')[0]}"


def strange_copies(data: Path, dictionary: Dictionary, *, opened: bool) -> list[str]:
    """Copies of definitions that are not those of the server's files, though they count.

    When all tables have been opened, each has a copy that counts.
    """
    wrong = []
    tables = {name.partition("#P#")[0] for name in dictionary.tables}
    for name in sorted(tables if opened else tables & dictionary.marks.keys()):
        if not dictionary.marks.get(name, False):
            if opened:
                wrong.append(f"no copy of the definition of {name} that counts")
            continue
        schema, _, table = name.partition(".")
        for extension, copy in zip(("frm", "par"), dictionary.definitions[name], strict=True):
            file = data / schema / f"{table}.{extension}"
            if copy != (file.read_bytes() if file.exists() else b""):
                wrong.append(f"the copy of {schema}/{file.name} is another than the file")
    return wrong


def orphans(cursor: Any, data: Path, dictionary: Dictionary) -> list[str]:
    """Differences between the server's tables, the files and the dictionary."""
    wrong = dictionary.inconsistencies()
    unfinished = sorted((data / ENGINE_DIRECTORY).glob("*.bulk_load.tmp"))
    wrong += [f"a file of an index build is left over: {path.name}" for path in unfinished]
    cursor.execute(
        "SELECT t.table_schema, t.table_name, p.partition_name, p.subpartition_name "
        "FROM information_schema.tables t JOIN information_schema.partitions p "
        "USING (table_schema, table_name) "
        f"WHERE t.table_schema IN ({SCHEMA_LIST}) AND t.engine = 'ROCKSDB'"
    )
    expected = set()
    for schema, table, partition, subpartition in cursor.fetchall():
        name = f"{schema}.{table}"
        name += f"#P#{partition}" if partition else ""
        name += f"#SP#{subpartition}" if subpartition else ""
        expected.add(name)
    known = set(dictionary.tables)
    wrong += [f"in the dictionary only: {name}" for name in sorted(known - expected)]
    wrong += [f"not in the dictionary: {name}" for name in sorted(expected - known)]
    wrong += _foreign_keys(cursor, dictionary)
    wrong += strange_copies(data, dictionary, opened=True)
    listed = {f"{schema}.{table}" for schema, table in _listed(cursor)}
    for schema in SCHEMAS:
        folder = data / schema
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.name == "db.opt":
                continue
            table = path.name.partition(".")[0].partition("#P#")[0]
            if f"{schema}.{table}" not in listed:
                wrong.append(f"a file is left over: {schema}/{path.name}")
    wrong += [f"a file is left over: {path.name}" for path in sorted(data.glob("#sql*"))]
    return wrong


def _foreign_keys(cursor: Any, dictionary: Dictionary) -> list[str]:
    """Differences between the dictionary's foreign keys, those that are shown, and the guards."""
    known = ddl_keys.foreign_keys(cursor)
    shown = {(key.child, key.parent, key.name) for key in known}
    recorded = set(dictionary.foreign_keys)
    wrong = [f"in the dictionary only: foreign key {each}" for each in sorted(recorded - shown)]
    wrong += [f"not in the dictionary: foreign key {each}" for each in sorted(shown - recorded)]
    return wrong + ddl_keys.unbound(cursor) + ddl_keys.guards(cursor, known)


def _listed(cursor: Any) -> list[tuple[str, str]]:
    cursor.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        f"WHERE table_schema IN ({SCHEMA_LIST})"
    )
    return list(cursor.fetchall())

"""Foreign keys in ./cairn crash ddl: statements that concern them, and what holds after each.

The tables are alike: a number, the number of the parent, and the column `mark`, which tells them
from those of other statements. Foreign keys have one column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cairn.errors import CairnError
from tests.crash.ddl_case import SCHEMA_LIST, Case

# No row has this number.
NOBODY = -1
CHILD_WITHOUT_PARENT, PARENT_IN_USE = 1452, 1451
# What the dictionary's record says of a foreign key that no statement is about to change.
ACTIVE = "0"

_UNCHECKED = "SET STATEMENT foreign_key_checks=0 FOR "
_P = "crash_a.parent"
_C = "crash_a.child"
_ADD = f"ADD CONSTRAINT fk FOREIGN KEY (parent) REFERENCES {_P} (id)"


def _table(name: str, *more: str) -> str:
    columns = ", ".join(("id INT PRIMARY KEY, parent INT, mark VARCHAR(40)", *more))
    return f"CREATE TABLE {name} ({columns}) ENGINE=ROCKSDB"


def _rows(name: str, parent: str = "seq % 5 + 1") -> str:
    return (
        f"INSERT INTO {name} SELECT seq, {parent}, CONCAT('{name} ', seq) FROM crash_b.seq_1_to_10"
    )


def _reference(table: str = _P) -> str:
    return f"FOREIGN KEY (parent) REFERENCES {table} (id)"


_PARENT = (_table(_P), _rows(_P, "NULL"))
_PLAIN = (*_PARENT, _table(_C), _rows(_C))
_INDEXED = (*_PARENT, _table(_C, "KEY (parent)"), _rows(_C))
# A foreign key with a generated name, one within the parent, one to another database.
_FAMILY = (
    _table(_P, _reference(_P)),
    _rows(_P, "IF(seq < 3, NULL, seq - 1)"),
    _table(_C, _reference()),
    _rows(_C),
    _table("crash_b.other", f"CONSTRAINT other_fk {_reference()}"),
    _rows("crash_b.other"),
)
_WAITING = (
    "SET foreign_key_checks = 0",
    _table(_C, _reference()),
    _rows(_C),
    _table("crash_b.other", _reference()),
    "SET foreign_key_checks = 1",
)

# Each is the parent of another: whatever goes first leaves a child behind.
_CIRCLE = (
    "SET foreign_key_checks = 0",
    _table("crash_a.a", _reference("crash_a.b")),
    _table("crash_a.b", _reference("crash_a.c")),
    _table("crash_a.c", _reference("crash_a.a")),
    *(_rows(f"crash_a.{name}", "seq") for name in ("a", "b", "c")),
    "SET foreign_key_checks = 1",
)

CASES = (
    Case(
        "create-foreign-key", _table(_C, _reference(), f"CONSTRAINT c2 {_reference(_C)}"), _PARENT
    ),
    Case(
        "create-select-foreign-key",
        _table(_C, _reference()) + f" SELECT id, 3 AS parent, mark FROM {_P}",
        _PARENT,
    ),
    Case("add-foreign-key", f"ALTER TABLE {_C} {_ADD}", _PLAIN),
    Case("add-foreign-key-indexed", f"ALTER TABLE {_C} {_ADD}", _INDEXED),
    Case("add-foreign-key-unchecked", f"{_UNCHECKED}ALTER TABLE {_C} {_ADD}", _INDEXED),
    Case("add-foreign-key-unchecked-index", f"{_UNCHECKED}ALTER TABLE {_C} {_ADD}", _PLAIN),
    Case("drop-foreign-key", f"ALTER TABLE {_C} DROP FOREIGN KEY child_ibfk_1", _FAMILY),
    Case(
        "replace-foreign-key",
        f"ALTER TABLE {_C} DROP FOREIGN KEY child_ibfk_1, "
        "ADD CONSTRAINT n FOREIGN KEY (parent) REFERENCES crash_b.other (id)",
        _FAMILY,
    ),
    Case(
        "rename-foreign-key-columns",
        f"ALTER TABLE {_P} RENAME COLUMN id TO number, RENAME COLUMN parent TO above",
        _FAMILY,
    ),
    Case("rename-parent", f"RENAME TABLE {_P} TO crash_b.p9", _FAMILY),
    Case("rename-child", f"RENAME TABLE {_C} TO crash_b.c9", _FAMILY),
    Case(
        "rename-parent-and-child",
        f"RENAME TABLE {_P} TO crash_a.t9, {_C} TO {_P}, crash_a.t9 TO {_C}",
        _FAMILY,
        short=True,
    ),
    Case("alter-rename-child", f"ALTER TABLE {_C} COMMENT 'new', RENAME TO crash_a.c9", _FAMILY),
    Case(
        "copy-child-to-database",
        f"ALTER TABLE {_C} COMMENT 'new', RENAME TO crash_b.c9, ALGORITHM=COPY",
        _FAMILY,
    ),
    Case("drop-child", f"DROP TABLE {_C}", _FAMILY),
    Case("drop-child-and-other", f"DROP TABLE {_C}, crash_b.other", _FAMILY, piecewise=True),
    Case("drop-parent-unchecked", f"{_UNCHECKED}DROP TABLE {_P}", _FAMILY),
    Case("drop-database-foreign-keys", "DROP DATABASE crash_a", _FAMILY[:4], piecewise=True),
    Case("drop-database-circle", "DROP DATABASE crash_a", _CIRCLE, piecewise=True),
    Case(
        "drop-circle-unchecked",
        f"{_UNCHECKED}DROP TABLE crash_a.b, crash_a.a",
        _CIRCLE,
        piecewise=True,
    ),
    Case(
        "rename-circle",
        "RENAME TABLE crash_a.a TO crash_b.t, crash_a.b TO crash_a.a, crash_a.c TO crash_a.b, "
        "crash_b.t TO crash_a.c",
        _CIRCLE,
    ),
    Case("drop-database-unchecked", f"{_UNCHECKED}DROP DATABASE crash_a", _FAMILY, piecewise=True),
    Case("truncate-child", f"TRUNCATE TABLE {_C}", _FAMILY),
    Case("truncate-parent-unchecked", f"{_UNCHECKED}TRUNCATE TABLE {_P}", _FAMILY),
    Case("create-parent-that-is-waited-for", _table(_P), _WAITING, short=True),
    Case(
        "rename-to-parent-that-is-waited-for",
        f"RENAME TABLE crash_b.p9 TO {_P}",
        (*_WAITING, _table("crash_b.p9"), _rows("crash_b.p9", "NULL")),
        # Foreign keys that waited for the table follow it back, as they do with InnoDB.
        undone=f"RENAME TABLE {_P} TO crash_b.p9",
    ),
    Case("copy-child", f"ALTER TABLE {_C} FORCE, ALGORITHM=COPY", _FAMILY),
    Case(
        "copy-child-column",
        f"ALTER TABLE {_C} ADD COLUMN d INT NOT NULL DEFAULT 7, ALGORITHM=COPY",
        _FAMILY,
    ),
    Case(
        "copy-parent",
        f"ALTER TABLE {_P} ADD COLUMN d INT NOT NULL DEFAULT 7, ALGORITHM=COPY",
        _FAMILY,
    ),
    Case("copy-add-foreign-key", f"ALTER TABLE {_C} {_ADD}, ALGORITHM=COPY", _PLAIN),
    Case(
        "copy-replace-foreign-key",
        f"ALTER TABLE {_C} DROP FOREIGN KEY child_ibfk_1, "
        "ADD CONSTRAINT n FOREIGN KEY (parent) REFERENCES crash_b.other (id), ALGORITHM=COPY",
        _FAMILY,
    ),
    Case(
        "replace-child", _table(_C).replace("CREATE", "CREATE OR REPLACE"), _FAMILY, piecewise=True
    ),
)


@dataclass(frozen=True)
class ForeignKey:
    """One as information_schema has it; tables with their schema."""

    name: str
    child: str
    column: str
    parent: str
    parent_column: str


def foreign_keys(cursor: Any) -> list[ForeignKey]:
    """Those of both schemas, of one column each."""
    cursor.execute(
        "SELECT constraint_name, CONCAT(table_schema, '.', table_name), column_name, "
        "CONCAT(referenced_table_schema, '.', referenced_table_name), referenced_column_name "
        "FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL "
        f"AND table_schema IN ({SCHEMA_LIST}) ORDER BY 2, 1"
    )
    return [ForeignKey(*row) for row in cursor.fetchall()]


def constraints(cursor: Any) -> dict[str, str]:
    """What REFERENTIAL_CONSTRAINTS has, by child and name."""
    cursor.execute(
        "SELECT CONCAT(constraint_schema, '.', table_name, '/', constraint_name), "
        "CONCAT_WS(' ', unique_constraint_schema, referenced_table_name, match_option, "
        "update_rule, delete_rule) FROM information_schema.referential_constraints "
        f"WHERE constraint_schema IN ({SCHEMA_LIST})"
    )
    return dict(cursor.fetchall())


def unbound(cursor: Any) -> list[str]:
    """Foreign keys that have a parent's index without the parent, or the parent alone."""
    cursor.execute(
        "SELECT CONCAT(constraint_schema, '.', constraint_name, ' has the index ', "
        "COALESCE(unique_constraint_name, 'NULL'), ' of its parent, which ', "
        "IF(t.table_name IS NULL, 'is missing', 'exists')) "
        "FROM information_schema.referential_constraints r LEFT JOIN information_schema.tables t "
        "ON t.table_schema = unique_constraint_schema AND t.table_name = referenced_table_name "
        f"WHERE constraint_schema IN ({SCHEMA_LIST}) "
        "AND (unique_constraint_name IS NULL) <> (t.table_name IS NULL)"
    )
    return [text for (text,) in cursor.fetchall()]


def check(cursor: Any, table: str) -> str:
    """What CHECK TABLE says of rows without their parent; raises for anything else.

    It warns of each parent that is missing, and of no other.
    """
    missing = {
        f"The parent {_quoted(key.parent)} of foreign key `{key.name}` is not there"
        for key in foreign_keys(cursor)
        if key.child == table and not _exists(cursor, key.parent)
    }
    cursor.execute(f"CHECK TABLE {_quoted(table)} EXTENDED")
    *warnings, status = [(kind, text) for *_, kind, text in cursor.fetchall()]
    said = {text for kind, text in warnings if kind == "Warning"}
    orphans = {text for text in said if " rows lack their parent by " in text}
    if status != ("status", "OK") or len(said) != len(warnings) or said - orphans != missing:
        raise CairnError(f"CHECK TABLE {table}: {[*warnings, status]}, missing: {missing}")
    return "\n".join(sorted(orphans))


def _exists(cursor: Any, table: str) -> bool:
    schema, name = table.split(".")
    cursor.execute(
        "SELECT COUNT(*) FROM information_schema.tables "
        "WHERE table_schema = %s AND table_name = %s",
        (schema, name),
    )
    return bool(cursor.fetchone()[0])


def _quoted(table: str) -> str:
    return ".".join(f"`{part}`" for part in table.split("."))


def guards(cursor: Any, known: list[ForeignKey]) -> list[str]:
    """Where OBSTACLES says other than the foreign keys that there are."""
    cursor.execute(
        "SELECT CONCAT(table_schema, '.', table_name), COALESCE(MAX(obstacles), '') "
        f"FROM information_schema.cairn_tables WHERE table_schema IN ({SCHEMA_LIST}) GROUP BY 1"
    )
    children, parents = {key.child for key in known}, {key.parent for key in known}
    wrong = []
    for name, obstacles in cursor.fetchall():
        is_parent = "referenced by foreign key" in obstacles
        is_child = "foreign key" in obstacles.replace("referenced by foreign key", "")
        if (is_child, is_parent) != (name in children, name in parents):
            wrong.append(f"guards of {name}: {obstacles!r}, and foreign keys {known}")
    return wrong


def probe(cursor: Any) -> list[str]:
    """Whether exactly the foreign keys that there are refuse rows."""
    known = foreign_keys(cursor)
    wrong = []
    for name, number, parent in _tables(cursor):
        is_child = any(key.child == name for key in known)
        wrong += attempt(
            cursor,
            f"INSERT INTO {name} ({number}, {parent}) VALUES ({NOBODY}, {NOBODY - 1})",
            CHILD_WITHOUT_PARENT if is_child else 0,
        )
        cursor.execute(f"SELECT {number} FROM {name} WHERE {number} IN (1, 2, 5, 6, 10)")
        for (row,) in cursor.fetchall():
            is_used = any(_uses(cursor, key, row) for key in known if key.parent == name)
            wrong += attempt(
                cursor,
                f"DELETE FROM {name} WHERE {number} = {row}",
                PARENT_IN_USE if is_used else 0,
            )
    return wrong


def _tables(cursor: Any) -> list[tuple[str, str, str]]:
    """The tables of the statements above, each with the names of its first two columns."""
    cursor.execute(
        "SELECT CONCAT(a.table_schema, '.', a.table_name), a.column_name, b.column_name "
        "FROM information_schema.columns a JOIN information_schema.columns b "
        "USING (table_schema, table_name) JOIN information_schema.columns c "
        "USING (table_schema, table_name) WHERE a.ordinal_position = 1 "
        "AND b.ordinal_position = 2 AND c.column_name = 'mark' "
        f"AND table_schema IN ({SCHEMA_LIST})"
    )
    return list(cursor.fetchall())


def _uses(cursor: Any, key: ForeignKey, number: int) -> bool:
    cursor.execute(f"SELECT COUNT(*) FROM {key.child} WHERE {key.column} = {number}")
    return bool(cursor.fetchone()[0])


def attempt(cursor: Any, statement: str, expected: int) -> list[str]:
    """Runs a statement and takes it back; tells when its error is another one."""
    import pymysql

    cursor.execute("BEGIN")
    try:
        cursor.execute(statement)
        found, text = 0, "no error"
    except pymysql.MySQLError as error:
        found, text = error.args[0], str(error)
    cursor.execute("ROLLBACK")
    return [] if found == expected else [f"{statement}: {text} instead of {expected or 'none'}"]

"""The tables of the random rounds of ./cairn crash ddl, and their foreign keys.

A foreign key goes from the number of a row to a row of the same number, of any table of the client.
Its parent may be missing; a table that comes to that name is the parent then, and must fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.crash import ddl_keys
from tests.crash.ddl_keys import NOBODY, ForeignKey

ID, K, K_NOT_NULL = "id int(11) NOT NULL", "k int(11)", "k int(11) NOT NULL"
UNCHECKED = "SET STATEMENT foreign_key_checks=0 FOR "


@dataclass(frozen=True)
class Reference:
    """A foreign key of a table, which has one at most."""

    parent: str
    # Empty where the statement named none.
    name: str = ""

    def shown_name(self, table: str) -> str:
        return self.name or f"{table.partition('.')[2]}_ibfk_1"

    def clause(self) -> str:
        constraint = f"CONSTRAINT {self.name} " if self.name else ""
        return f"{constraint}FOREIGN KEY (id) REFERENCES {self.parent} (id)"


@dataclass(frozen=True)
class Table:
    """What one table must look like.

    `columns` are in their order, each with its type; all but id and k have 7 in every row.
    """

    rows: frozenset[int] = frozenset()
    columns: tuple[str, ...] = (ID, K)
    primary: tuple[str, ...] = ("id",)
    # The secondary indexes.
    keys: frozenset[str] = frozenset({"k"})
    partitioned: bool = False
    reference: Reference | None = None

    @property
    def added(self) -> list[str]:
        """The names of the columns that have 7 in every row."""
        return [each.split()[0] for each in self.columns if each not in (ID, K, K_NOT_NULL)]

    @property
    def fits(self) -> bool:
        """Whether it can be child and parent."""
        return not self.partitioned and self.primary[0] == "id"

    def changed(self, name: str, column: str) -> Table:
        """The same with another type of a column."""
        columns = (column if each.split()[0] == name else each for each in self.columns)
        return replace(self, columns=tuple(columns))


Tables = dict[str, Table]


def children(tables: Tables, name: str) -> list[str]:
    """The tables that name another one, or wait for it."""
    return [
        each
        for each, table in tables.items()
        if table.reference is not None and table.reference.parent == name and each != name
    ]


def is_concerned(tables: Tables, name: str) -> bool:
    """Whether a table has foreign keys or is the parent of some: it cannot be written anew."""
    return tables[name].reference is not None or bool(children(tables, name))


def unchecked(tables: Tables, *names: str) -> str:
    """What a statement needs in front that takes rows or tables from under their children."""
    return UNCHECKED if any(children(tables, name) for name in names) else ""


def rename(tables: Tables, names: dict[str, str]) -> None:
    """Gives tables other names; foreign keys follow them."""
    before = dict(tables)
    tables.clear()
    for name, table in before.items():
        reference = table.reference
        if reference is not None and reference.parent in names:
            reference = replace(reference, parent=names[reference.parent])
        tables[names.get(name, name)] = replace(table, reference=reference)


def has_orphans(tables: Tables, name: str, rows: frozenset[int], parent: str) -> bool:
    """Whether some of a child's rows would have no parent."""
    return parent != name and not (parent in tables and rows <= tables[parent].rows)


def reference_of(known: list[ForeignKey], name: str) -> Reference | None:
    """A table's foreign key as it is shown."""
    found = [key for key in known if key.child == name]
    if not found:
        return None
    if len(found) > 1 or (found[0].column, found[0].parent_column) != ("id", "id"):
        raise ValueError(f"{name} has the foreign keys {found}")
    generated = Reference(found[0].parent)
    if found[0].name == generated.shown_name(name):
        return generated
    return Reference(found[0].parent, found[0].name)


def probe(cursor: Any, tables: Tables) -> list[str]:
    """Whether exactly the foreign keys that there are refuse rows."""
    wrong = []
    for name, table in tables.items():
        parent = table.reference.parent if table.reference is not None else name
        wrong += ddl_keys.attempt(
            cursor,
            f"INSERT INTO {name} (id, k) VALUES ({NOBODY}, {NOBODY} % 5)",
            0 if parent == name else ddl_keys.CHILD_WITHOUT_PARENT,
        )
        if table.rows and parent in tables and (used := table.rows & tables[parent].rows):
            is_used = table.reference is not None or bool(_children_of(tables, name, min(used)))
            wrong += ddl_keys.attempt(
                cursor,
                f"DELETE FROM {parent} WHERE id = {min(used)}",
                ddl_keys.PARENT_IN_USE if is_used else 0,
            )
    return wrong


def _children_of(tables: Tables, name: str, row: int) -> list[str]:
    return [each for each in children(tables, name) if row in tables[each].rows]

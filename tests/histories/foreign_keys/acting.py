"""Tables whose foreign keys act, over four levels, beside ones that restrict.

Rows of a client refer to parents of the same client alone, or to ones that nobody changes: so no
action of anybody else may touch them. Rows of nobody refer to any.

`born` is a number that a row gets when it is made and keeps. A child that was inserted while its
parent was locked has the parent's number in a column of its own, until it gets another parent. A
child with another number than its parent has outlived the one that it was made for.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.histories.foreign_keys.schema import CASCADE, SET_NULL, ForeignKey, Table


@dataclass(frozen=True)
class Acting(Table):
    """A table and what its columns are for."""

    # Columns, `id` first, each with the kind of its values.
    kinds: tuple[tuple[str, str], ...]
    has_born: bool = False
    witnesses: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.kinds)

    @property
    def told_columns(self) -> tuple[str, ...]:
        born = ("born",) if self.has_born else ()
        return (*self.columns[1:], *born, *self.witnesses) or ("id",)

    def kind(self, column: str) -> str:
        return dict(self.kinds)[column]


ACTING_TABLES = (
    Acting(
        "root",
        "id INT PRIMARY KEY, code INT, batch INT, born INT NOT NULL DEFAULT 0, "
        "UNIQUE KEY code (code), KEY batch (batch, id)",
        (("id", "root"), ("code", "code"), ("batch", "batch")),
        has_born=True,
    ),
    Acting(
        "stem",
        "id INT PRIMARY KEY, root INT, slot INT, code INT, top INT, born INT NOT NULL DEFAULT 0, "
        "root_born INT, code_born INT, UNIQUE KEY place (root, slot)",
        (("id", "stem"), ("root", "root"), ("slot", "slot"), ("code", "code"), ("top", "top")),
        has_born=True,
        witnesses=("root_born", "code_born"),
    ),
    # Without a primary key, in a reverse column family.
    Acting(
        "twig",
        "id INT, root INT, slot INT, stem_born INT, "
        "KEY place (root, slot) COMMENT 'rev:twig', KEY id (id)",
        (("id", "twig"), ("root", "root"), ("slot", "slot")),
        witnesses=("stem_born",),
    ),
    # Actions move rows by their primary key.
    Acting(
        "petal",
        "id INT, root INT, slot INT, born INT NOT NULL DEFAULT 0, stem_born INT, "
        "PRIMARY KEY (root, slot, id)",
        (("id", "petal"), ("root", "root"), ("slot", "slot")),
        has_born=True,
        witnesses=("stem_born",),
    ),
    Acting(
        "pollen",
        "id INT PRIMARY KEY, root INT, slot INT, petal INT, petal_born INT",
        (("id", "pollen"), ("root", "root"), ("slot", "slot"), ("petal", "petal")),
        witnesses=("petal_born",),
    ),
    Acting(
        "thorn",
        "id INT PRIMARY KEY, stem INT, stem_born INT",
        (("id", "thorn"), ("stem", "stem")),
        witnesses=("stem_born",),
    ),
    # To an index that is not unique; actions may meet a value that is taken.
    Acting(
        "bunch",
        "id INT PRIMARY KEY, batch INT, slot INT, UNIQUE KEY seat (batch, slot)",
        (("id", "bunch"), ("batch", "batch"), ("slot", "slot")),
    ),
    Acting(
        "ring",
        "id INT PRIMARY KEY, up INT, born INT NOT NULL DEFAULT 0, up_born INT",
        (("id", "ring"), ("up", "ring")),
        has_born=True,
        witnesses=("up_born",),
    ),
    Acting(
        "knot",
        "id INT PRIMARY KEY, up INT, born INT NOT NULL DEFAULT 0, up_born INT",
        (("id", "knot"), ("up", "knot")),
        has_born=True,
        witnesses=("up_born",),
    ),
)
ACTING_BY_NAME = {table.name: table for table in ACTING_TABLES}

PLACE = ("root", "slot")
PETAL = (*PLACE, "petal")
ACTING_KEYS = (
    ForeignKey("stem_root", "stem", ("root",), "root", ("id",), CASCADE, CASCADE, "root_born"),
    ForeignKey("stem_code", "stem", ("code",), "root", ("code",), SET_NULL, SET_NULL, "code_born"),
    ForeignKey("stem_top", "stem", ("top",), "top", ("id",)),
    ForeignKey("twig_stem", "twig", PLACE, "stem", PLACE, CASCADE, CASCADE, "stem_born"),
    ForeignKey("petal_stem", "petal", PLACE, "stem", PLACE, CASCADE, CASCADE, "stem_born"),
    ForeignKey(
        "pollen_petal", "pollen", PETAL, "petal", (*PLACE, "id"), SET_NULL, CASCADE, "petal_born"
    ),
    ForeignKey("thorn_stem", "thorn", ("stem",), "stem", ("id",), witness="stem_born"),
    ForeignKey("bunch_batch", "bunch", ("batch",), "root", ("batch",), SET_NULL, CASCADE),
    ForeignKey("ring_up", "ring", ("up",), "ring", ("id",), CASCADE, witness="up_born"),
    ForeignKey("knot_up", "knot", ("up",), "knot", ("id",), SET_NULL, SET_NULL, "up_born"),
)

# Rows that nobody changes, with the columns that have a value.
STEADY_ACTING = (
    ("root", ("id", "code", "batch")),
    ("stem", ("id", "root", "slot", "code", "top")),
    ("petal", ("id", "root", "slot")),
    ("ring", ("id",)),
    ("knot", ("id",)),
)

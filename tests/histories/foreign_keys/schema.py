"""What tables and foreign keys are made of, and which values they share."""

from __future__ import annotations

from dataclasses import dataclass

NOBODY = 0
# Nobody changes the rows of this one, and their values are like no others: always parents.
STEADY = 99
STEADY_VALUE = 20
RESTRICT = "RESTRICT"
CASCADE = "CASCADE"
SET_NULL = "SET NULL"

OWNERSHIP = "writer INT NOT NULL, mark INT NOT NULL, KEY owner (writer)"


@dataclass(frozen=True)
class Table:
    """A table of parents or children."""

    name: str
    definition: str

    @property
    def columns(self) -> tuple[str, ...]:
        """What statements put values into, `id` first."""
        raise NotImplementedError

    @property
    def told_columns(self) -> tuple[str, ...]:
        """What belongs to a row that a client finds again, behind `id`."""
        return self.columns[1:] or ("id",)


@dataclass(frozen=True)
class ForeignKey:
    name: str
    child: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    on_delete: str = RESTRICT
    on_update: str = RESTRICT
    # A column of the child that has the parent's `born`, or NULL.
    witness: str = ""

    def clause(self) -> str:
        actions = "".join(
            f" ON {event} {action}"
            for event, action in (("DELETE", self.on_delete), ("UPDATE", self.on_update))
            if action != RESTRICT
        )
        return (
            f"CONSTRAINT {self.name} FOREIGN KEY ({', '.join(self.columns)}) "
            f"REFERENCES {self.parent} ({', '.join(self.parent_columns)}){actions}"
        )

    def joined(self) -> str:
        """The condition that a child c has the parent p."""
        return " AND ".join(
            f"c.{column} = p.{other}"
            for column, other in zip(self.columns, self.parent_columns, strict=True)
        )

"""Keys of tables, and what becomes of them when columns go or have other names."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class KeyPart:
    """A column of a key; a prefix of 0 is all of it."""

    column: str
    prefix: int = 0
    descending: bool = False

    def ddl(self) -> str:
        """As in a definition."""
        prefix = f"({self.prefix})" if self.prefix else ""
        return f"{self.column}{prefix}{' DESC' if self.descending else ''}"


@dataclass(frozen=True)
class Key:
    """A key; the one called PRIMARY is the primary key."""

    name: str
    parts: tuple[KeyPart, ...]
    unique: bool = False
    comment: str = ""
    ignored: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(part.column for part in self.parts)

    def ddl(self) -> str:
        """Its definition."""
        parts = ", ".join(part.ddl() for part in self.parts)
        options = f" COMMENT '{self.comment}'" if self.comment else ""
        options += " IGNORED" if self.ignored else ""
        if self.name == "PRIMARY":
            return f"PRIMARY KEY ({parts}){options}"
        return f"{'UNIQUE ' if self.unique else ''}KEY {self.name} ({parts}){options}"

    def renamed(self, names: dict[str, str]) -> Key:
        """With the new names of columns."""
        parts = (replace(part, column=names.get(part.column, part.column)) for part in self.parts)
        return replace(self, parts=tuple(parts))


def without_columns(keys: tuple[Key, ...], gone: set[str]) -> tuple[Key, ...]:
    """The keys that have parts left."""
    shorter = (
        replace(key, parts=tuple(part for part in key.parts if part.column not in gone))
        for key in keys
    )
    return tuple(key for key in shorter if key.parts)

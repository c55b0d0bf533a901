"""How the doctor writes figures."""

from __future__ import annotations

from collections.abc import Sequence


def size(value: float) -> str:
    """Bytes as people read them: 512 B, 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def span(seconds: float) -> str:
    """Seconds as people say them: 45 s, 12 min, 3 h, 9 days."""
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def several(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def count(number: float, one: str, many: str = "") -> str:
    """A number with its noun: 1 file, 1,204 files."""
    return f"{number:,.0f} {one if number == 1 else many or one + 's'}"


def quoted(table: str) -> str:
    """A table's name for a statement, from `schema.table`; a partition's name is left out."""
    schema, _, rest = table.partition(".")
    names = (schema, rest.partition(" partition ")[0])
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def restoring(table: str) -> str:
    """The statement that brings back the definition of a table, from `schema.table`."""
    name = quoted(table).replace("\\", "\\\\").replace("'", "''")
    return f"SET GLOBAL cairn_restore_definition = '{name}';"

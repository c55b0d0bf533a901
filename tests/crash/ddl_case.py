"""What a statement of ./cairn crash ddl is."""

from __future__ import annotations

from dataclasses import dataclass

# Both are made anew for every step.
SCHEMAS = ("crash_a", "crash_b")
SCHEMA_LIST = ", ".join(f"'{schema}'" for schema in SCHEMAS)


@dataclass(frozen=True)
class Case:
    """One statement: after a crash everything is as before it, or everything as after it."""

    name: str
    statement: str
    setup: tuple[str, ...] = ()
    # The server promises old or new for each table (or each partition) alone.
    piecewise: bool = False
    # A crash leaves this engine's tables too; without it the server starts without InnoDB.
    innodb: bool = False
    # Steps before which a crash makes the server's own recovery lose files, with every engine.
    server_gaps: tuple[str, ...] = ()
    # A statement that takes this one back, as recovery may, to a state that is not that of before.
    undone: str = ""
    # In the short run of ./cairn test.
    short: bool = False

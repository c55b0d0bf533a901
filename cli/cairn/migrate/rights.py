"""Which rights a migration needs, and which of them the user lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cairn.errors import CairnError
from cairn.migrate.link import Session, name
from cairn.migrate.schema import STATE_SCHEMA
from cairn.migrate.ways import Circumstances

RUN = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX", "REFERENCES"),
    *("TRIGGER", "LOCK TABLES", "CREATE TEMPORARY TABLES"),
)
STATE = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP")
ALL = "ALL PRIVILEGES"

_GRANT = re.compile(r"^GRANT (?P<rights>.+?) ON (?P<scope>\S+\.\*) TO ")


def missing(
    grants: Iterable[str], schemas: Iterable[str], circumstances: Circumstances
) -> list[tuple[str, list[str]]]:
    """The scopes, as GRANT has them, and the rights on each that SHOW GRANTS does not show."""
    granted = _parse(grants)
    wanted: list[tuple[str, Iterable[str]]] = [(schema, RUN) for schema in sorted(set(schemas))]
    wanted.append((STATE_SCHEMA, STATE))
    found = []
    for schema, rights in wanted:
        lacks = [right for right in rights if not _has(granted, schema, right)]
        if lacks:
            found.append((f"{name(schema)}.*", lacks))
    needed = ["RELOAD"]  # FLUSH TABLES … WITH READ LOCK
    if circumstances.binary_log:
        needed.append("SUPER")  # Triggers under a binary log.
    everywhere = [right for right in needed if not _has(granted, None, right)]
    if circumstances.without_binary_log and not _has(granted, None, "BINLOG ADMIN"):
        everywhere.append("BINLOG ADMIN")
    if everywhere:
        found.append(("*.*", everywhere))
    return found


def _parse(grants: Iterable[str]) -> list[tuple[str, set[str]]]:
    """The scope of each line, such as *.* or `a\\_b`.*, and its rights."""
    found = []
    for line in grants:
        if match := _GRANT.match(line):
            rights = {right.strip().upper() for right in match["rights"].split(",")}
            found.append((match["scope"], rights))
    return found


def _has(granted: list[tuple[str, set[str]]], schema: str | None, right: str) -> bool:
    for scope, rights in granted:
        if right not in rights and ALL not in rights:
            continue
        if scope == "*.*" or (schema is not None and _covers(scope, schema)):
            return True
    return False


def _covers(scope: str, schema: str) -> bool:
    """Whether the pattern of a scope takes in a schema; _ and % stand for characters there."""
    pattern = scope.removesuffix(".*").strip("`").replace("``", "`")
    parts = re.split(r"(\\.|[_%])", pattern)
    expression = "".join(
        "." if part == "_" else ".*" if part == "%" else re.escape(part.removeprefix("\\"))
        for part in parts
    )
    return re.fullmatch(expression, schema) is not None


def check(session: Session, schemas: Iterable[str], circumstances: Circumstances) -> None:
    """Raises a CairnError with the GRANT statements that are missing."""
    lines = [str(row[0]) for row in session.rows("SHOW GRANTS")]
    if circumstances.binary_log and int(
        session.value("SELECT @@GLOBAL.log_bin_trust_function_creators")
    ):
        lines.append("GRANT SUPER ON *.* TO nobody")  # Triggers need no such right then.
    found = missing(lines, schemas, circumstances)
    if found:
        user = str(session.value("SELECT CURRENT_USER()"))
        account = "@".join(name(part) for part in user.rsplit("@", 1))
        statements = "\n".join(
            f"    GRANT {', '.join(rights)} ON {scope} TO {account};" for scope, rights in found
        )
        raise CairnError(f"The user lacks rights. Grant them, then try again:\n{statements}")

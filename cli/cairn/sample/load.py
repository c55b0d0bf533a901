"""Loads the sample database by tables; an interrupted load goes on with the table it was at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from cairn.errors import CairnError
from cairn.paths import VAR
from cairn.prefix import Server
from cairn.report import Phase
from cairn.sample import timezones, unicode, words
from cairn.sample.table import Table, line
from cairn.server import Running, connect

SCHEMA = "sample"
# Rows for each LOAD DATA: large enough to be fast, small enough that a transaction stays small.
CHUNK_ROWS = 20_000

EXAMPLES = (
    (
        "Dictionary words with letters beyond ASCII, and what Unicode calls those letters:",
        "SELECT c.glyph, c.name, COUNT(*) AS words, MIN(w.word) AS example\n"
        "  FROM word_letter l JOIN unicode_character c USING (codepoint)\n"
        "  JOIN word w ON w.id = l.word_id\n"
        "  WHERE l.codepoint > 127 GROUP BY c.codepoint ORDER BY words DESC LIMIT 10;",
    ),
    (
        "Time zones named after a word of the dictionary, by how often their clocks changed:",
        "SELECT n.Name, COUNT(*) AS changes, FROM_UNIXTIME(MAX(t.Transition_time)) AS last_listed\n"
        "  FROM time_zone_name n JOIN word w ON w.word = SUBSTRING_INDEX(n.Name, '/', -1)\n"
        "  JOIN time_zone_transition t USING (Time_zone_id)\n"
        "  WHERE n.Name LIKE 'Europe/%' AND t.Transition_time > 0\n"
        "  GROUP BY n.Name ORDER BY changes DESC LIMIT 10;",
    ),
    (
        "The largest scripts of Unicode, and the blocks that they are spread over:",
        "SELECT s.name AS script, COUNT(*) AS characters, COUNT(DISTINCT b.id) AS blocks,\n"
        "       MIN(b.name) AS first_block\n"
        "  FROM unicode_script s JOIN unicode_character c ON c.script_id = s.id\n"
        "  JOIN unicode_block b ON b.id = c.block_id\n"
        "  GROUP BY s.id ORDER BY characters DESC LIMIT 10;",
    ),
)


def tables(server: Server) -> list[Table]:
    """All tables of the sample database."""
    return [*timezones.tables(server), *unicode.tables(), *words.tables()]


def ensure(
    phase: Phase, server: Server, found: Running, schema: str = SCHEMA, engine: str = "ROCKSDB"
) -> None:
    """Loads into `schema` what is not complete there."""
    connection = connect(found, local_infile=True)
    with connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS `{schema}` CHARACTER SET utf8mb4")
        cursor.execute(f"USE `{schema}`")
        # Which tables are complete is itself recorded in a table, so that it shares their fate.
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS loaded (table_name VARCHAR(64) PRIMARY KEY, "
            f"row_count BIGINT NOT NULL) ENGINE={engine}"
        )
        cursor.execute("SELECT table_name, row_count FROM loaded")
        complete: dict[str, int] = dict(cursor.fetchall())
        wanted = tables(server)
        lacking = [table for table in wanted if table.name not in complete]
        for number, table in enumerate(lacking, start=1):
            label = f"{table.name} ({number} of {len(lacking)})"
            complete[table.name] = _load(phase, cursor, table, engine, label)
        rows = sum(complete[table.name] for table in wanted)
    state = "loaded" if lacking else "present"
    phase.summary = f"{schema}: {len(wanted)} tables, {rows:,} rows, {state}"


def _load(phase: Phase, cursor: Any, table: Table, engine: str, label: str) -> int:
    """Makes the table anew and fills it; returns its number of rows."""
    cursor.execute(f"DROP TABLE IF EXISTS `{table.name}`")
    cursor.execute(
        f"CREATE TABLE `{table.name}` ({table.definition}\n) ENGINE={engine} "
        "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"
    )
    total = 0
    (VAR / "tmp").mkdir(parents=True, exist_ok=True)
    # Always the same file, so that a load that is killed leaves no more than one behind.
    path = VAR / "tmp" / "sample.tsv"
    try:
        for chunk in _chunks(line(row) for row in table.rows()):
            path.write_text("".join(chunk), encoding="utf-8")
            cursor.execute(
                f"LOAD DATA LOCAL INFILE %s INTO TABLE `{table.name}` CHARACTER SET utf8mb4",
                (str(path),),
            )
            # LOCAL turns errors into warnings, which must not pass unseen.
            if cursor.rowcount != len(chunk):
                cursor.execute("SHOW WARNINGS LIMIT 3")
                raise CairnError(
                    f"Loading {table.name}: {len(chunk)} rows sent, not all taken; the server "
                    f"says {cursor.fetchall()}."
                )
            total += len(chunk)
            phase.progress(f"{label}: {total:,} rows")
    finally:
        path.unlink(missing_ok=True)
    cursor.execute("INSERT INTO loaded VALUES (%s, %s)", (table.name, total))
    return total


def _chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    while chunk := list(itertools.islice(lines, CHUNK_ROWS)):
        yield chunk

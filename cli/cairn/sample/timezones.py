"""The time zone tables that mariadb-tzinfo-to-sql makes of the machine's zoneinfo.

The tool writes statements for the server's own schema, with locks and table rebuilds around them.
Only its rows are wanted, so they are read out of the statements.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from cairn import process
from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.sample.table import Row, Table

ZONEINFO = Path("/usr/share/zoneinfo")


def tables(server: Server) -> list[Table]:
    """The five tables, in the shape that they have in the schema mysql."""

    @functools.cache
    def parsed() -> dict[str, list[Row]]:
        rows = parse(_statements(server, ZONEINFO))
        leap_seconds = ZONEINFO / "right" / "UTC"
        if leap_seconds.exists():
            found = parse(_statements(server, "--leap", leap_seconds))
            rows["time_zone_leap_second"] = found["time_zone_leap_second"]
        return rows

    return [
        Table(name, definition, functools.partial(_rows_of, parsed, name))
        for name, definition in _DEFINITIONS.items()
    ]


def parse(lines: Iterable[str]) -> dict[str, list[Row]]:
    """The rows of each table, with the zones numbered as the server would number them."""
    rows: dict[str, list[Row]] = {name: [] for name in _DEFINITIONS}
    table = ""
    zone = 0
    for text in lines:
        if begun := _INSERT.match(text):
            table = begun.group(1)
            text = text[begun.end() :]
        if table not in rows:
            continue
        for tuple_text in _TUPLE.findall(text):
            values = tuple(_value(part, zone) for part in _VALUE.findall(tuple_text))
            if table == "time_zone":
                zone += 1
                values = (zone, *values)
            rows[table].append(values)
        if text.rstrip().endswith(";"):
            table = ""
    return rows


_INSERT = re.compile(r"INSERT INTO (\w+) \([^)]*\) VALUES")
_TUPLE = re.compile(r"\(((?:'[^']*'|[^')])*)\)")
_VALUE = re.compile(r"'[^']*'|@time_zone_id|-?\d+")


def _value(text: str, zone: int) -> str | int:
    if text == "@time_zone_id":
        return zone
    return text[1:-1] if text.startswith("'") else int(text)


def _statements(server: Server, *arguments: str | Path) -> list[str]:
    text = process.output(
        [server.tool("mariadb-tzinfo-to-sql"), *arguments], env=server.environment()
    )
    if "INSERT INTO time_zone" not in text:
        raise CairnError(
            f"mariadb-tzinfo-to-sql finds no time zones in {ZONEINFO}: install tzdata."
        )
    return text.splitlines()


def _rows_of(parsed, name: str) -> Iterator[Row]:
    yield from parsed()[name]


_DEFINITIONS = {
    "time_zone": """
        Time_zone_id INT UNSIGNED NOT NULL AUTO_INCREMENT,
        Use_leap_seconds ENUM('Y', 'N') NOT NULL DEFAULT 'N',
        PRIMARY KEY (Time_zone_id)""",
    "time_zone_name": """
        Name VARCHAR(64) NOT NULL,
        Time_zone_id INT UNSIGNED NOT NULL,
        PRIMARY KEY (Name),
        KEY (Time_zone_id)""",
    "time_zone_transition": """
        Time_zone_id INT UNSIGNED NOT NULL,
        Transition_time BIGINT NOT NULL,
        Transition_type_id INT UNSIGNED NOT NULL,
        PRIMARY KEY (Time_zone_id, Transition_time),
        KEY (Transition_time)""",
    "time_zone_transition_type": """
        Time_zone_id INT UNSIGNED NOT NULL,
        Transition_type_id INT UNSIGNED NOT NULL,
        `Offset` INT NOT NULL DEFAULT 0,
        Is_DST TINYINT UNSIGNED NOT NULL DEFAULT 0,
        Abbreviation CHAR(8) NOT NULL DEFAULT '',
        PRIMARY KEY (Time_zone_id, Transition_type_id)""",
    "time_zone_leap_second": """
        Transition_time BIGINT NOT NULL,
        Correction INT NOT NULL,
        PRIMARY KEY (Transition_time)""",
}

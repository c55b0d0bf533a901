"""Readings of a server's figures over its socket, and what two of them tell."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

from cairn.errors import CairnError
from cairn.place import Place, reason

LEVELS = 7
ANSWER_S = 5
VARIABLES = (
    "version",
    "hostname",
    "rocksdb_block_cache_size",
    "rocksdb_flush_log_at_trx_commit",
    "rocksdb_max_background_jobs",
)


@dataclass(frozen=True)
class Reading:
    """A server's figures at one moment. Names are in small letters."""

    at: float
    figures: dict[str, float]
    level_files: tuple[int, ...] = (0,) * LEVELS
    level_bytes: tuple[float, ...] = (0.0,) * LEVELS
    variables: dict[str, str] = field(default_factory=dict)
    stalls: tuple[str, ...] = ()  # What holds writes back now, in words.

    def get(self, name: str) -> float | None:
        return self.figures.get(name)


class Reader:
    """Reads one server again and again; it connects anew when the server was restarted."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._connection: Any | None = None

    def first(self) -> Reading:
        """A reading. Raises a CairnError that says what is wrong when there is none to be had."""
        self.place.require_socket()
        try:
            return self._read()
        except OSError as error:
            raise CairnError(f"{self.place.socket}: {error}") from error
        except self._errors() as error:
            raise CairnError(
                f"{self.place.socket}: the server does not answer: {reason(error)}"
            ) from error

    def read(self) -> Reading | None:
        """A reading, or None while the server does not answer."""
        try:
            return self._read()
        except (OSError, CairnError, *self._errors()):
            self.close()
            return None

    def close(self) -> None:
        if self._connection is not None:
            try:
                self._connection.close()
            except self._errors():
                pass
            self._connection = None

    @staticmethod
    def _errors() -> tuple[type[Exception], ...]:
        import pymysql

        return (pymysql.MySQLError,)

    def _read(self) -> Reading:
        if self._connection is None:
            self._connection = self._connect()
        at = time.time()
        with self._connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS")
            figures = parse_figures(cursor.fetchall())
            if not any(name.startswith("rocksdb_") for name in figures):
                raise CairnError(
                    f"{self.place.socket}: this server has no engine ROCKSDB; its error log says "
                    "why, if it should have."
                )
            names = ", ".join(f"'{name}'" for name in VARIABLES)
            cursor.execute(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({names})")
            variables = {name: value for name, value in cursor.fetchall()}
            files, sizes = self._levels(cursor, figures)
            stalls = self._stalls(cursor, figures)
        return Reading(at, figures, files, sizes, variables, stalls)

    def _connect(self) -> Any:
        return self.place.connect(ANSWER_S)

    def _stalls(self, cursor: Any, figures: dict[str, float]) -> tuple[str, ...]:
        """From CAIRN_STALLS, which the stock plug-in lacks."""
        if "cairn_write_stopped" not in figures:
            return ()
        try:
            cursor.execute(
                "SELECT state, cause, column_family, remedy FROM information_schema.cairn_stalls "
                "WHERE ended IS NULL"
            )
        except self._errors():
            return ()
        return tuple(
            f"{state} by {cause}{f' in {family}' if family else ''}: {remedy}"
            for state, cause, family, remedy in cursor.fetchall()
        )

    @staticmethod
    def _levels(
        cursor: Any, figures: dict[str, float]
    ) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """From Cairn's statuses; the stock plug-in shows them in its engine status only."""
        if "cairn_level0_files" in figures:
            return (
                tuple(int(figures[f"cairn_level{level}_files"]) for level in range(LEVELS)),
                tuple(figures[f"cairn_level{level}_bytes"] for level in range(LEVELS)),
            )
        from cairn import status

        cursor.execute("SHOW ENGINE ROCKSDB STATUS")
        text = "\n".join(str(row[2]) for row in cursor.fetchall())
        totals = [status.level_totals(text).get(level, (0, 0.0)) for level in range(LEVELS)]
        return tuple(files for files, _ in totals), tuple(size for _, size in totals)


def parse_figures(rows: Any) -> dict[str, float]:
    """The statuses that are numbers."""
    return {
        name.lower(): float(value)
        for name, value in rows
        if re.fullmatch(r"-?\d+(\.\d+)?", str(value))
    }


@dataclass(frozen=True)
class Interval:
    """Two readings, and what happened between them; None is what they do not tell."""

    before: Reading
    now: Reading

    @property
    def seconds(self) -> float:
        return self.now.at - self.before.at

    def gauge(self, name: str) -> float | None:
        return self.now.get(name)

    def growth(self, *names: str) -> float | None:
        """By how much counters grew together; a counter that shrank was reset: it tells nothing."""
        total = 0.0
        for name in names:
            before, now = self.before.get(name), self.now.get(name)
            if before is None or now is None or now < before:
                return None
            total += now - before
        return total

    def rate(self, *names: str) -> float | None:
        """Growth for each second."""
        growth = self.growth(*names)
        return None if growth is None or self.seconds <= 0 else growth / self.seconds

    def share(self, part: tuple[str, ...], rest: tuple[str, ...]) -> float | None:
        """What share of the growth of `part` and `rest` that of `part` is."""
        one, other = self.growth(*part), self.growth(*rest)
        if one is None or other is None or one + other == 0:
            return None
        return one / (one + other)

    def hit_rate(self, kind: str = "") -> float | None:
        """The block cache's, of all blocks or of a kind."""
        prefix = f"rocksdb_block_cache_{kind}_" if kind else "rocksdb_block_cache_"
        return self.share((f"{prefix}hit",), (f"{prefix}miss",))

    def held_back(self) -> float | None:
        """Seconds that writers were held back, for each second."""
        rate = self.rate("rocksdb_stall_micros")
        return None if rate is None else rate / 1e6

    def write_amplification(self) -> float | None:
        """Bytes written to data files for each byte that transactions wrote."""
        written = self.growth("rocksdb_bytes_written")
        files = self.growth("rocksdb_flush_write_bytes", "rocksdb_compact_write_bytes")
        return None if not written or files is None else files / written


def stall_text(reading: Reading) -> str:
    """Whether writes flow now, in a word or two; empty when the plug-in does not tell."""
    stopped = reading.get("cairn_write_stopped")
    if stopped is None:
        return ""
    if stopped:
        return "stopped"
    slowed = reading.get("cairn_write_delayed_bytes_per_second")
    return f"slowed to {bytes_per_second_text(slowed)}" if slowed else "flowing"


# ---- texts -------------------------------------------------------------------------------------


def bytes_text(value: float | None) -> str:
    if value is None:
        return "–"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def bytes_per_second_text(value: float | None) -> str:
    return f"{bytes_text(value)}/s"


def per_second_text(value: float | None) -> str:
    return f"{number_text(value)}/s"


def number_text(value: float | None) -> str:
    """A number of at most five places: 7, 7.5, 1,234, 12.3k, 4.5M."""
    if value is None:
        return "–"
    if value >= 1e6:
        return f"{value / 1e6:.1f}M"
    if value >= 1e4:
        return f"{value / 1e3:.1f}k"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def percent_text(value: float | None) -> str:
    """A share as a percentage; what is not quite all is never shown as 100 %."""
    if value is None:
        return "–"
    if 0.999 <= value < 1:
        return f"{min(value * 100, 99.99):.2f} %"
    return f"{value * 100:.1f} %" if 0 < value < 1 else f"{value * 100:.0f} %"


def duration_text(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02d} h"
    return f"{hours}:{minutes:02d}:{rest:02d}"

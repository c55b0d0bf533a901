"""A client that runs many short scripts in one round trip, and keeps answers as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from cairn.errors import CairnError
from cairn.scratch_server import ScratchServer

# Scripts that are sent together.
BATCH = 16
# Errors that a limit of time or of memory for sorting gives: nothing can be said then.
LIMITS = (1969, 3024, 1038)
# The server is gone, or the connection is.
LOST = (2006, 2013, 2055)


@dataclass(frozen=True)
class Script:
    """Statements whose last result set is the answer; all that come must agree."""

    statements: tuple[str, ...]
    # How many results the server sends; a compound statement sends one for itself besides.
    results: int = 0
    # Rows come in one value, as a cursor of the server collected them.
    is_collected: bool = False
    # Each statement is sent by itself: the query cache looks for all that a packet still has.
    is_apart: bool = False

    @property
    def expected(self) -> int:
        """The results that the server sends when nothing fails."""
        return self.results or len(self.statements)


@dataclass(frozen=True)
class Answer:
    """What a script gave: rows, each as text, or an error's number."""

    rows: tuple[str, ...] = ()
    error: int = 0
    message: str = ""
    changed: int = 0

    def sorted(self) -> Answer:
        """With the rows in an order that does not depend on the access path."""
        return Answer(tuple(sorted(self.rows)), self.error, self.message, self.changed)

    def __str__(self) -> str:
        if self.error:
            return f"error {self.error} ({self.message})"
        shown = "; ".join(self.rows[:6])
        return f"{len(self.rows)} rows: {shown}"[:300]

    @property
    def is_limited(self) -> bool:
        """Whether the time was up, or a buffer too small."""
        return self.error in LIMITS


class Session:
    """A connection with one database as its default."""

    def __init__(self, server: ScratchServer, database: str, settings: Sequence[str] = ()) -> None:
        from pymysql.constants import CLIENT

        self.server = server
        self._connection = server.connect(
            client_flag=CLIENT.MULTI_STATEMENTS, conv={}, read_timeout=120
        )
        self._cursor = self._connection.cursor()
        self.must(f"CREATE DATABASE IF NOT EXISTS {database}")
        self.must(f"USE {database}")
        for setting in settings:
            self.must(f"SET {setting}")

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    @property
    def info(self) -> str:
        """What the server told of the last statement, such as Records: 4  Duplicates: 1."""
        result: Any = self._cursor._result
        return _text(result.message) if result is not None and result.message else ""

    def must(self, statement: str) -> Answer:
        """Runs a statement that has no reason to fail."""
        answer = self.run([Script((statement,))])[0]
        if answer.error:
            raise CairnError(
                f"Error {answer.error} ({answer.message}) by a statement of the hunt's own:\n"
                f"{statement[:2000]}"
            )
        return answer

    def try_to(self, statement: str) -> Answer:
        """Runs a statement that may fail."""
        return self.run([Script((statement,))])[0]

    def run(self, scripts: Sequence[Script]) -> list[Answer]:
        """The answers of all scripts; one that fails does not keep the others from running."""
        answers: list[Answer] = []
        while len(answers) < len(scripts):
            batch = scripts[len(answers) : len(answers) + BATCH]
            if batch[0].is_apart:
                answers.append(self._run_apart(batch[0]))
            else:
                answers += self._run_batch(
                    list(takewhile(lambda script: not script.is_apart, batch))
                )
        return answers

    def _run_apart(self, script: Script) -> Answer:
        """The answer of one script; the statements behind a failure run as well."""
        rows, failed = [], None
        for statement in script.statements:
            [answer] = self._run_batch([Script((statement,))])
            if answer.error:
                failed = failed or answer
            elif self._cursor.description is not None:
                rows.append(answer.rows)
        return failed or _agreed(rows, 0)

    def _run_batch(self, scripts: Sequence[Script]) -> list[Answer]:
        """Answers up to the first failure, at least one."""
        import pymysql

        text = ";\n".join(statement for script in scripts for statement in script.statements)
        answers: list[Answer] = []
        rows: list[tuple[str, ...]] = []
        seen = changed = 0
        try:
            more = self._cursor.execute(text) is not None
            while more:
                changed = max(0, self._cursor.rowcount)
                if self._cursor.description is not None:
                    rows.append(self._rows(scripts[len(answers)]))
                seen += 1
                if seen == scripts[len(answers)].expected:
                    answers.append(_agreed(rows, changed))
                    rows, seen = [], 0
                more = bool(self._cursor.nextset())
        except pymysql.MySQLError as error:
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            message = str(error.args[-1]) if error.args else ""
            if number in LOST or number == 0:
                raise CairnError(
                    f"The connection was lost ({number} {message}) by one of:\n{text[:4000]}\n"
                    f"{self.server.excerpt()}"
                ) from None
            answers.append(Answer(error=number, message=message))
        return answers

    def _rows(self, script: Script) -> tuple[str, ...]:
        fetched: Any = self._cursor.fetchall()
        if script.is_collected:
            return tuple(_text(fetched[0][0]).split(";")[:-1])
        return tuple(",".join(map(_text, row)) for row in fetched)


def _agreed(rows: list[tuple[str, ...]], changed: int) -> Answer:
    """The rows of the last result set; all of them, if they do not agree."""
    if len(set(rows)) > 1:
        together = [f"[{number}] {row}" for number, each in enumerate(rows) for row in each]
        return Answer(tuple(together), changed=changed)
    return Answer(rows[-1] if rows else (), changed=changed)


def _text(value: Any) -> str:
    if value is None:
        return "~"
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)

"""Where scripts of several sessions are played, on ROCKSDB and on InnoDB beside it.

Most of a script's time are waits, so several are played at the same time, each in schemas of its
own. What is wrong with one must show again before it is told, and is shrunk to few steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from cairn.scratch_server import ScratchServer
from tests.hunt.actors import Watcher
from tests.hunt.part import Context, Finding
from tests.hunt.sessions.play import Player
from tests.hunt.sessions.script import Record, Script, Step
from tests.hunt.sessions.storm import Storm, StormPlayer
from tests.hunt.shorten import shorten

OURS, THEIRS = "ROCKSDB", "InnoDB"
OPTIONS = (
    # Repeatable reads of InnoDB are those of a snapshot only with this.
    "--loose-innodb-snapshot-isolation=ON",
    # Tables are made and dropped all the time, and nothing here outlives the server.
    "--innodb-flush-method=nosync",
    "--sync-frm=OFF",
    "--innodb-flush-log-at-trx-commit=0",
    "--rocksdb-flush-log-at-trx-commit=0",
    "--rocksdb-deadlock-detect=ON",
    "--max-connections=300",
)
WORKERS = 6
# A finding must show again in one of so many playings.
AGAIN = 3
SHRINK_S = 60.0
SHORT_SHRINK_S = 5.0


@dataclass(frozen=True)
class Verdict:
    """What is wrong with one playing of a script; `title` is empty when nothing is."""

    title: str = ""
    details: str = ""
    # Whether the engines went apart for a reason.
    on_purpose: bool = False
    waits: int = 0
    errors: int = 0
    # Whether InnoDB's playing is wrong by itself.
    innodb_is_wrong: bool = False
    # Whether the engines were compared up to a step that is a matter of luck alone.
    is_cut: bool = False


@dataclass(frozen=True)
class Case:
    """A script, and who judges what the engines made of it: ours first."""

    script: Script
    judge: Callable[[Record, Record], Verdict]


class Stage:
    """Plays scripts on both engines of one server."""

    def __init__(self, server: ScratchServer, watcher: Watcher, player: type[Player]) -> None:
        self._server = server
        self._watcher = watcher
        self._player = player
        self._engines = ThreadPoolExecutor(2 * WORKERS, "engine")
        self._names = threading.local()
        self._number = 0
        self._lock = threading.Lock()

    def end(self) -> None:
        """Ends the threads."""
        self._engines.shutdown()

    def play(self, script: Script) -> tuple[Record, Record]:
        """Plays a script on both engines at the same time; ours comes first."""
        number = self._schema()
        ours, theirs = (
            self._engines.submit(
                self._player(self._server.connect, self._watcher, engine, f"{side}_{number}").play,
                script,
            )
            for side, engine in (("ours", OURS), ("theirs", THEIRS))
        )
        return ours.result(), theirs.result()

    def storm(self, storm: Storm) -> Record:
        """Lets sessions run freely on ROCKSDB."""
        return StormPlayer(self._server.connect, self._watcher, f"storm_{self._schema()}").storm(
            storm
        )

    def _schema(self) -> int:
        """A number for each thread that plays."""
        if not hasattr(self._names, "number"):
            with self._lock:
                self._number += 1
                self._names.number = self._number
        return int(self._names.number)


def confirm_and_shrink(
    play: Callable[[Script], tuple[Record, Record]],
    case: Case,
    title: str,
    is_over: Callable[[], bool],
) -> tuple[Script, Verdict] | None:
    """The shortest script found that has the fault; None when the fault does not show again."""
    shown: dict[tuple[Step, ...], Verdict] = {}

    def shows(steps: Sequence[Step]) -> bool:
        candidate = replace(case.script, steps=tuple(steps))
        for _ in range(AGAIN):
            verdict = case.judge(*play(candidate))
            if verdict.title == title:
                shown[candidate.steps] = verdict
                return True
        return False

    if not shows(case.script.steps):
        return None
    steps = tuple(shorten(case.script.steps, shows, is_over))
    return replace(case.script, steps=steps), shown[steps]


def told(record: Record) -> str:
    """What each session was told, step by step."""
    lines = ["What the sessions were told:"]
    for position, event in enumerate(record.events, 1):
        if event.sent_at < 0:
            continue
        until = f"step {event.ended_at + 1}" if event.ended_at < len(record.events) else "the end"
        waited = f" (waited until {until})" if event.waited else ""
        answer = "" if event.step.text.startswith("!") else f" -> {event.answer}"
        lines.append(f"  {position}. {event.step}{answer}{waited}")
    return "\n".join(lines)


class Plays:
    """Plays cases, tells what they show, and counts."""

    def __init__(self, context: Context, stage: Stage, what: str) -> None:
        """`what` are the cases, in the figures."""
        self._context = context
        self._stage = stage
        self._what = what
        self._workers = ThreadPoolExecutor(WORKERS, "worker")

    def end(self) -> None:
        """Ends the threads."""
        self._workers.shutdown()

    @property
    def stage(self) -> Stage:
        """Where they play."""
        return self._stage

    def batch(self, cases: Sequence[Case]) -> None:
        """Plays cases, several at a time, until the context is over; some in any event."""
        verdicts = self._workers.map(self._play, range(len(cases)), cases)
        for case, verdict in zip(cases, verdicts, strict=True):
            if verdict is not None:
                self._tell(case, verdict)

    def _play(self, number: int, case: Case) -> Verdict | None:
        if number >= WORKERS and self._context.is_over():
            return None
        try:
            played = self._stage.play(case.script)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{case.script.text()}") from error
        return case.judge(*played)

    def _tell(self, case: Case, verdict: Verdict) -> None:
        context = self._context
        context.count(self._what)
        context.count("waits", verdict.waits)
        context.count("errors told", verdict.errors)
        context.count("unlike InnoDB on purpose", verdict.on_purpose and not verdict.title)
        context.count("InnoDB wrong", verdict.innodb_is_wrong)
        context.count("compared up to a race", verdict.is_cut)
        context.progress()
        if not verdict.title or context.is_known(verdict.title):
            return
        until = time.monotonic() + (SHORT_SHRINK_S if context.short else SHRINK_S)
        shrunk = confirm_and_shrink(
            self._stage.play, case, verdict.title, lambda: time.monotonic() > until
        )
        if shrunk is None:
            context.count("not seen again")
            context.phase.note(f"once and not again: {verdict.title}")
            return
        script, verdict = shrunk
        context.found(Finding(verdict.title, script.text(), verdict.details))


@contextmanager
def plays(context: Context, what: str, player: type[Player] = Player) -> Iterator[Plays]:
    """A server, and who plays cases on it."""
    with ExitStack() as stack:
        server = stack.enter_context(context.server("server", *OPTIONS))
        server.start()
        watcher = stack.enter_context(Watcher(server.connect))
        stage = Stage(server, watcher, player)
        stack.callback(stage.end)
        playing = Plays(context, stage, what)
        stack.callback(playing.end)
        yield playing

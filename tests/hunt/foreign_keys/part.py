"""The part `foreign-keys`: random statements over tables with foreign keys."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from random import Random

from tests.hunt.foreign_keys.look import Trouble
from tests.hunt.foreign_keys.play import OPTIONS, Over, Player
from tests.hunt.foreign_keys.script import Script
from tests.hunt.part import Context, Finding, Part
from tests.hunt.shorten import shorten

SHRINK_S = 60.0
# A kind of trouble is shrunk so often: behind one kind there may be several faults.
SHRUNK = 3
STEPS = (150, 250)
SHORT_STEPS = 100
BEGIN = "CREATE DATABASE elsewhere;\nCREATE DATABASE here;\nUSE here;\n"


class Hunt:
    """One run of the part, over one server."""

    def __init__(self, context: Context, player: Player) -> None:
        self._context = context
        self._player = player
        self._kinds: Counter[str] = Counter()

    def round(self, chance: Random) -> None:
        """One script."""
        steps: list[str] = []
        try:
            if (trouble := self._play(chance, steps)) is not None:
                self._found(steps, trouble)
        except Over as over:
            self._player.figures[f"cut short ({over})"] += 1

    def _play(self, chance: Random, steps: list[str]) -> Trouble | None:
        """Draws steps and plays them until there is trouble. Raises Over."""
        player = self._player
        # A start takes as long as many statements.
        kills = chance.random() < 0.25 and not self._context.short
        script = Script(chance, player.shown, 1.0 if kills else 0.0)
        count = SHORT_STEPS if self._context.short else chance.randint(*STEPS)
        player.begin()
        while len(steps) < count:
            steps.append(script.next(player.schema))
            if (trouble := player.step(steps[-1])) is not None:
                return trouble
        return player.end()

    def _found(self, steps: list[str], trouble: Trouble) -> None:
        self._kinds[trouble.kind] += 1
        if self._kinds[trouble.kind] > SHRUNK:
            self._context.count("differences")
            return
        figures = self._player.figures.copy()
        kept, again = self._shrunk(steps, trouble)
        self._player.figures = figures
        details = (again or trouble).details
        if again is None:
            details += "\nThe script, run again, has not shown it."
        last = " ".join(kept[-1].split()[:3]) if kept else ""
        script = BEGIN + "".join(f"{line};\n" for line in kept)
        self._context.found(Finding(f"{trouble.kind}, after {last}", script, details))

    def _shrunk(self, steps: list[str], trouble: Trouble) -> tuple[list[str], Trouble | None]:
        """The script with fewer steps that still shows the kind, and what it shows."""
        deadline = time.monotonic() + SHRINK_S

        def shows(fewer: Sequence[str]) -> bool:
            again = self._player.play(fewer, looks=looks)
            return again is not None and again.kind == trouble.kind

        looks = False
        if not shows(steps):
            looks = True
            if not shows(steps):
                return steps, None
        kept = shorten(steps, shows, lambda: time.monotonic() > deadline)
        return kept, self._player.play(kept, looks=looks)


def run(context: Context) -> None:
    """Scripts until the deadline."""
    with context.server("server", *OPTIONS) as server:
        server.start()
        player = Player(server)
        hunt = Hunt(context, player)
        for _, chance in context.rounds():
            hunt.round(chance)
            context.figures.update(player.figures)
            player.figures.clear()
            context.progress()


PART = Part(
    "foreign-keys",
    "rows and definitions of tables with foreign keys are InnoDB's",
    run,
    short_s=5.0,
    short_rounds=3,
)

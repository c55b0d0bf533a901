"""The part `alters`: chains of ALTER TABLE with changes of rows between them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from random import Random

from tests.hunt.alters.chain import Alter, Chain, Chains
from tests.hunt.alters.look import Trouble
from tests.hunt.alters.play import OPTIONS, Over, Player
from tests.hunt.part import Context, Finding, Part
from tests.hunt.shorten import shorten
from tests.hunt.shrink import shrink

SHRINK_S = 90.0
# A kind of trouble is shrunk so often: behind one kind there may be several faults.
SHRUNK = 3
# Tables are drawn until one can be made: definitions may contradict themselves.
ATTEMPTS = 8
# Steps of a chain.
STEPS = (5, 35)


class Hunt:
    """One run of the part, over one server."""

    def __init__(self, context: Context, player: Player) -> None:
        self._context = context
        self._player = player
        self._kinds: Counter[str] = Counter()

    def round(self, chance: Random) -> None:
        """One chain."""
        try:
            chain, trouble = self._play(chance)
        except Over as over:
            self._player.figures[f"cut short ({over})"] += 1
        else:
            if trouble is not None:
                self._found(chain, trouble)

    def _play(self, chance: Random) -> tuple[Chain, Trouble | None]:
        """Draws steps and plays them until there is trouble. Raises Over."""
        chains, chain, trouble = self._begin(chance)
        self._player.figures["chains"] += 1
        steps = chance.randint(*STEPS)
        while trouble is None and len(chain.steps) < steps and self._context.left() > 0:
            step = chains.step()
            chain = replace(chain, steps=(*chain.steps, step))
            outcome = self._player.step(step)
            trouble = outcome.trouble
            if outcome.succeeded:
                chains.done()
        return chain, trouble

    def _begin(self, chance: Random) -> tuple[Chains, Chain, Trouble | None]:
        """A table that both engines take. Raises Over when several cannot be made."""
        attempts = 1
        while True:
            chains = Chains(chance)
            chain = chains.begin()
            try:
                return chains, chain, self._player.begin(chain)
            except Over:
                attempts += 1
                if attempts > ATTEMPTS:
                    raise

    def _found(self, chain: Chain, trouble: Trouble) -> None:
        self._kinds[trouble.kind] += 1
        if self._kinds[trouble.kind] > SHRUNK:
            self._context.count("differences")
            return
        figures = self._player.figures.copy()
        chain, again = self._shrunk(chain, trouble)
        self._player.figures = figures
        last = next((s for s in reversed(chain.steps) if isinstance(s, Alter)), None)
        title = f"{trouble.kind}, after {last.operations if last else 'CREATE TABLE'}"
        details = (again or trouble).details
        if again is None:
            details += "\nThe chain, run again, has not shown it."
        script = "".join(f"{line};\n" for line in chain.script())
        self._context.found(Finding(title, script, details))

    def _shrunk(self, chain: Chain, trouble: Trouble) -> tuple[Chain, Trouble | None]:
        """The chain with fewer steps that still shows the kind, and what it shows."""
        deadline = time.monotonic() + SHRINK_S

        def shows(smaller: Chain) -> bool:
            again = self._player.play(smaller)
            return again is not None and again.kind == trouble.kind

        if not shows(chain):
            return chain, None
        kept = shorten(
            chain.steps,
            lambda steps: shows(replace(chain, steps=tuple(steps))),
            lambda: time.monotonic() > deadline,
        )
        chain = shrink(replace(chain, steps=tuple(kept)), Chain.smaller, shows, SHRINK_S)
        return chain, self._player.play(chain)


def run(context: Context) -> None:
    """Chains until the deadline."""
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
    "alters",
    "chains of ALTER TABLE leave the tables that copies of InnoDB's leave",
    run,
    short_s=20.0,
    short_rounds=12,
)

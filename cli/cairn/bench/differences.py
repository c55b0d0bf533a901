"""Whether engines agree: a fast wrong answer is no result."""

from __future__ import annotations

from collections.abc import Mapping

from cairn.bench.workload import Facts


def between(facts: Mapping[str, Facts], when: str) -> list[str]:
    """A sentence for every fact that is not the same for all engines (title: facts)."""
    names = dict.fromkeys(name for each in facts.values() for name in each)
    wrong = []
    for name in names:
        values = {title: each.get(name, "missing") for title, each in facts.items()}
        if any(value != next(iter(values.values())) for value in values.values()):
            said = ", ".join(f"{title} {value}" for title, value in values.items())
            wrong.append(f"{when}: {name} differs: {said}")
    return wrong

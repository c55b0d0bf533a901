"""./cairn bench compare: what has changed between two runs of the bench."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn.bench import results
from cairn.bench.markdown import ratio_text
from cairn.bench.results import CPU, Ratio, Results, Series
from cairn.report import say

# What may well differ between two runs that are to be compared: it names them.
_NAMES = ("date", "command", "commit", "plugins")


@dataclass(frozen=True)
class Change:
    """One figure's ratio to one engine, in both runs."""

    figure: str
    other: str
    before: Ratio
    after: Ratio

    @property
    def factor(self) -> Ratio:
        """After by before: of the medians, and the least and most that the spreads allow."""
        return Ratio(
            self.after.median / self.before.median,
            self.after.least / self.before.most,
            self.after.most / self.before.least,
            min(self.after.rounds, self.before.rounds),
        )

    @property
    def verdict(self) -> str:
        """In a word, where the spreads of both runs do not overlap; else empty."""
        if self.after.least > self.before.most:
            return "better"
        return "worse" if self.after.most < self.before.least else ""


def run(before: Path, after: Path) -> int:
    """Prints the comparison; whatever has changed, that is no failure."""
    old, new = results.load(before), results.load(after)
    for line in report(old, new):
        say(line)
    return 0


def report(old: Results, new: Results) -> Iterator[str]:
    """The lines of the comparison."""
    yield f"before: {_label(old)}"
    yield f"after:  {_label(new)}"
    for who, found in (("before", old), ("after", new)):
        if found.failed:
            yield f"The run {who} has failed: its figures mean nothing until that is explained."
    different = list(differing_settings(old, new))
    yield ""
    yield "Settings that differ:" if different else "The settings are the same."
    yield from (f"  {line}" for line in different)
    yield ""
    changes = list(changes_between(old, new))
    if not changes:
        yield "The runs have no figure in common."
        return
    width = max(len(change.figure) for change in changes)
    yield (
        f"{'figure':<{width}}  {'Cairn to':<14}{'before':>18}{'after':>18}{'after / before':>20}"
    )
    for change in changes:
        yield (
            f"{change.figure:<{width}}  {change.other:<14}{ratio_text(change.before):>18}"
            f"{ratio_text(change.after):>18}{ratio_text(change.factor):>20}  {change.verdict}"
        ).rstrip()
    yield ""
    yield "better, worse: the spreads of the two runs do not overlap."


def _label(found: Results) -> str:
    plugin = found.about["plugins"].get(results.OURS, {})
    return (
        f"{found.about['date']}, commit {found.about['commit']['id'][:12]}, "
        f"plug-in {plugin.get('file', '–')} {plugin.get('sha256', '')[:12]}"
    )


def changes_between(old: Results, new: Results) -> Iterator[Change]:
    """Figures that both runs have, against every engine that both have."""
    earlier = {name: series for name, series in _all_series(old)}
    for name, series in _all_series(new):
        if name not in earlier:
            continue
        for other in new.others:
            before, after = earlier[name].ratio(other), series.ratio(other)
            if before and after:
                yield Change(name, new.engines[other], before, after)


def _all_series(found: Results) -> Iterator[tuple[str, Series]]:
    for workload, series in found.figures():
        name = f"{workload.name}/{series.name}"
        yield name, series
        cpu = series.detail(CPU, "µs")
        if cpu is not None:
            yield f"{name}, processor time", cpu


# ---- settings ----------------------------------------------------------------------------------


def differing_settings(old: Results, new: Results) -> Iterator[str]:
    """Everything but the figures that is not the same in both runs."""
    yield from _differing(
        {name: value for name, value in old.about.items() if name not in _NAMES},
        {name: value for name, value in new.about.items() if name not in _NAMES},
    )
    yield from _differing({"engines": list(old.engines)}, {"engines": list(new.engines)})
    earlier = {workload.name: workload for workload in old.workloads}
    for workload in new.workloads:
        before = earlier.get(workload.name)
        if before is None or before.skipped or workload.skipped:
            continue
        for old_part, new_part in (
            (before.setup, workload.setup),
            ({"title": before.title}, {"title": workload.title}),
            (before.variables, workload.variables),
        ):
            yield from _differing(old_part, new_part, workload.name)


# What changes from moment to moment, and says nothing about a machine's settings.
_FLEETING = ("load", "memory_available_bytes", "disk_free_bytes", "names")


def _differing(old: Any, new: Any, path: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            if name not in _FLEETING:
                inner = f"{path} {name}".strip()
                yield from _differing(old.get(name), new.get(name), inner)
    elif old != new:
        yield f"{path}: {_shown(old)} before, {_shown(new)} after"


def _shown(value: Any) -> str:
    return "unset" if value is None else str(value)

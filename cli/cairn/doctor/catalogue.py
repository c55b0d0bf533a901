"""All findings, by subject; which apply to a server, and which could not be looked for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cairn.doctor.backups import BACKUPS
from cairn.doctor.damage import DAMAGE
from cairn.doctor.durability import DURABILITY
from cairn.doctor.facts import Facts, Missing, Source
from cairn.doctor.finding import Finding, Kind
from cairn.doctor.left_behind import LEFT
from cairn.doctor.limits import LIMITS
from cairn.doctor.options import OPTIONS
from cairn.doctor.versions import VERSIONS
from cairn.doctor.writes import WRITES

SUBJECTS = (VERSIONS, LIMITS, DURABILITY, OPTIONS, WRITES, DAMAGE, LEFT, BACKUPS)


@dataclass(frozen=True)
class NotChecked:
    """Findings that could not be looked for, and why."""

    source: Source
    missing: Missing
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    findings: tuple[Finding, ...]  # The worst first.
    not_checked: tuple[NotChecked, ...]
    checked: int  # How many kinds were looked for.


def kinds() -> tuple[Kind, ...]:
    return tuple(kind for subject in SUBJECTS for kind, _ in subject.checks)


def diagnose(facts: Facts) -> Diagnosis:
    """Runs every check whose sources are there."""
    findings: list[Finding] = []
    left_out: dict[Source, list[str]] = {}
    checked = 0
    for subject in SUBJECTS:
        for kind, check in subject.checks:
            lacking = [source for source in kind.needs if source in facts.missing]
            if lacking:
                left_out.setdefault(lacking[0], []).append(kind.code)
                continue
            checked += 1
            findings += check(facts)
    findings.sort(key=lambda finding: finding.kind.severity)
    not_checked = tuple(
        NotChecked(source, facts.missing[source], tuple(codes))
        for source, codes in left_out.items()
    )
    return Diagnosis(tuple(findings), not_checked, checked)


def documentation() -> str:
    """The tables of docs/doctor.md, in Markdown; a test compares them with the page."""
    lines: list[str] = []
    for subject in SUBJECTS:
        lines += [f"### {subject.name}", "", "| finding | | found when | what it leads to |"]
        lines.append("| --- | --- | --- | --- |")
        for kind, _ in subject.checks:
            when, means = _marked(kind.when), _marked(kind.means)
            lines.append(f"| `{kind.code}` | {kind.severity.word} | {when} | {means} |")
        lines.append("")
    return "\n".join(lines)


def _marked(text: str) -> str:
    """The text with names of variables, tables and options marked as code."""
    return re.sub(r"(--[\w-]+|\w+_[\w.*]*\w|\w+_\*)", r"`\1`", text)

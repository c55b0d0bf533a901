"""Prints a diagnosis: for people a table of facts and the findings, for scripts one JSON object."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import Any

from cairn.doctor.catalogue import Diagnosis
from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Severity
from cairn.doctor.limits import data_files, memory_parts
from cairn.doctor.texts import count, share, size, span

INDENT = 10
WIDEST = 100


def exit_status(diagnosis: Diagnosis) -> int:
    """2: errors. 3: no errors, but rights are missing for some checks. 1: warnings. 0: neither."""
    severities = {finding.kind.severity for finding in diagnosis.findings}
    if Severity.ERROR in severities:
        return 2
    if any(left_out.missing.grant for left_out in diagnosis.not_checked):
        return 3
    return 1 if Severity.WARNING in severities else 0


def as_json(facts: Facts, diagnosis: Diagnosis) -> str:
    """The keys are stable; new ones may come."""
    return json.dumps(
        {
            "status": exit_status(diagnosis),
            "error": None,
            "socket": facts.socket,
            "facts": {name.replace(" ", "_"): text for name, text in overview(facts)},
            "figures": figures(facts),
            "findings": [_finding(finding) for finding in diagnosis.findings],
            "not_checked": [
                {
                    "source": left_out.source.name.lower(),
                    "why": left_out.missing.why,
                    "grant": left_out.missing.grant or None,
                    "codes": list(left_out.codes),
                }
                for left_out in diagnosis.not_checked
            ],
            "checked": diagnosis.checked,
        },
        indent=2,
        ensure_ascii=False,
    )


def failure_as_json(socket: str, text: str) -> str:
    """The same object when nothing could be asked."""
    return json.dumps(
        {
            "status": 3,
            "error": text,
            "socket": socket,
            "facts": {},
            "figures": {},
            "findings": [],
            "not_checked": [],
            "checked": 0,
        },
        indent=2,
        ensure_ascii=False,
    )


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.kind.code,
        "severity": finding.kind.severity.word,
        "found": finding.found,
        "means": finding.kind.means,
        "remedy": finding.remedy,
        "lines": list(finding.lines),
    }


def figures(facts: Facts) -> dict[str, float | None]:
    """Numbers for monitoring; null is what could not be seen. Bytes, seconds and counts."""
    process = facts.process
    cairn = Source.CAIRN not in facts.missing and facts.engine is not None
    data = next((place for place in facts.places if place.what == "data"), None)
    newest = min((backup.age_s for backup in facts.backups), default=None)
    return {
        "open_files": process.open_files if process else None,
        "open_files_limit": process.open_files_limit if process else None,
        "table_files": data_files(facts) if cairn else None,
        "memory_bytes": process.memory if process else None,
        "planned_bytes": sum(memory_parts(facts).values()),
        "resident_bytes": process.resident if process else None,
        "swapped_bytes": process.swapped if process else None,
        "disk_bytes": data.total if data else None,
        "disk_free_bytes": data.free if data else None,
        "stalls_last_hour": len(facts.stalls) if cairn else None,
        "prepared_transactions": len(facts.prepared),
        "oldest_snapshot_seconds": facts.oldest_snapshot_s,
        "backup_age_seconds": newest,
    }


# ---- for people --------------------------------------------------------------------------------


def as_text(facts: Facts, diagnosis: Diagnosis) -> str:
    width = min(WIDEST, max(50, shutil.get_terminal_size((WIDEST, 24)).columns))
    lines = [
        line for name, text in overview(facts) for line in _hanging(f"{name:<14}", text, width)
    ]
    for finding in diagnosis.findings:
        lines += ["", *_shown(finding, width)]
    if diagnosis.not_checked:
        lines += ["", "Not checked:"]
        for left_out in diagnosis.not_checked:
            text = f"{left_out.source.value}: {left_out.missing.why.rstrip('.')}"
            lines += _hanging("  ", f"{text} ({', '.join(left_out.codes)})", width)
            if left_out.missing.grant:
                lines.append(f"      {left_out.missing.grant}")
    lines += ["", _total(diagnosis)]
    return "\n".join(lines)


def _hanging(first: str, text: str, width: int) -> list[str]:
    """A paragraph whose lines after the first are indented like its text."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shown(finding: Finding, width: int) -> list[str]:
    heading = f"{finding.kind.severity.word.upper():<{INDENT}}{finding.kind.code}"
    indent = " " * INDENT
    lines = [heading]
    for text in (finding.found, finding.kind.means, finding.remedy):
        lines += _hanging(indent, text, width)
    # Never wrapped: they are to be copied.
    return [*lines, *(f"{indent}    {line}" for line in finding.lines)]


def _total(diagnosis: Diagnosis) -> str:
    numbers = {severity: 0 for severity in Severity}
    for finding in diagnosis.findings:
        numbers[finding.kind.severity] += 1
    found = ", ".join(count(number, severity.word) for severity, number in numbers.items())
    left_out = sum(len(each.codes) for each in diagnosis.not_checked)
    return f"{count(diagnosis.checked, 'check')}: {found}. Not checked: {left_out}."


# ---- the facts ---------------------------------------------------------------------------------


def overview(facts: Facts) -> list[tuple[str, str]]:
    """The facts that the checks went by, a line each."""
    rows = [("server", _server(facts)), ("engine", _engine(facts))]
    if facts.process:
        rows += [("open files", _open_files(facts)), ("memory", _memory(facts))]
    rows += [(place.what, _place(place)) for place in facts.places]
    if facts.engine:
        rows.append(("durability", _durability(facts)))
    if Source.CAIRN not in facts.missing and facts.engine:
        rows += [("writes", _writes(facts)), ("damage", _damage(facts))]
    newest = min(facts.backups, key=lambda backup: backup.age_s, default=None)
    rows.append(("backup", f"{span(newest.age_s)} ago ({newest.where})" if newest else "unknown"))
    return rows


def _server(facts: Facts) -> str:
    up = span(facts.status("uptime"))
    pid = f", pid {facts.process.pid}" if facts.process else ""
    return f"{facts.value('version')}, up {up}{pid}, {facts.socket}"


def _engine(facts: Facts) -> str:
    engine = facts.engine
    if engine is None:
        return "none"
    cairn = next((p for p in facts.plugins if p.name == "CAIRN"), None)
    name = f"Cairn {(cairn or engine).version}" if facts.is_cairn else f"stock {engine.version}"
    library = facts.process.libraries if facts.process else ()
    of = ", ".join(lib.path for lib in library) or engine.library
    return (
        f"{name} ({engine.maturity.lower()}), RocksDB {facts.value('rocksdb_git_hash')[:10]}, "
        f"{engine.load}, {of}"
    )


def _open_files(facts: Facts) -> str:
    assert facts.process
    limit = facts.process.open_files_limit
    files = f"; {count(data_files(facts), 'table file')}" if facts.is_cairn else ""
    most = facts.value("rocksdb_max_open_files") or "–"
    return (
        f"{facts.process.open_files:,} of {f'{limit:,}' if limit else 'any number'}{files}, "
        f"rocksdb_max_open_files {most}"
    )


def _memory(facts: Facts) -> str:
    assert facts.process
    process, planned = facts.process, sum(memory_parts(facts).values())
    swapped = f", {size(process.swapped)} swapped out" if process.swapped else ""
    return (
        f"{size(process.memory)} of {process.memory_of}; caches and memtables may take "
        f"{size(planned)}; resident {size(process.resident)}{swapped}"
    )


def _place(place: Any) -> str:
    kind = f", {place.file_system}" if place.file_system else ""
    return (
        f"{place.path}{kind}, {size(place.free)} of {size(place.total)} free "
        f"({share(place.free, place.total)})"
    )


def _durability(facts: Facts) -> str:
    binlog = "off"
    if facts.is_on("log_bin"):
        binlog = f"{facts.value('binlog_format')}, sync_binlog {facts.value('sync_binlog')}"
    flush = facts.value("rocksdb_flush_log_at_trx_commit")
    return f"rocksdb_flush_log_at_trx_commit {flush}, binary log {binlog}"


def _writes(facts: Facts) -> str:
    rate = facts.status("cairn_write_delayed_bytes_per_second")
    now = "flowing"
    if facts.status("cairn_write_stopped"):
        now = "stopped"
    elif rate:
        now = f"slowed to {size(rate)} a second"
    past = sum(not stall.goes_on for stall in facts.stalls)
    return f"{now}; {count(past, 'stall')} in the last hour"


def _damage(facts: Facts) -> str:
    return (
        f"{count(facts.status('cairn_damaged_files'), 'file')}, "
        f"{count(facts.status('cairn_quarantined_tables'), 'table')}, "
        f"{count(facts.status('cairn_background_errors'), 'background error')}"
    )

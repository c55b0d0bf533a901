"""Findings about writes that are held back, or soon will be."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.texts import count, several, size, span

WRITES = Subject("Writes")

# Where an alert of packaging/monitoring/alerts.yml asks the same, these are its thresholds.
STOPS = 5
SLOWED_S = 300
LEVEL0_PERCENT = 80
PENDING_PERCENT = 50
MEMTABLES_WAITING = 3
MEMTABLE_FACTOR = 1.5


@WRITES.check(
    "writes-stopped",
    Severity.ERROR,
    "Cairn_write_stopped is 1 (alert CairnWritesStopped)",
    "All writes wait.",
    Source.ENGINE,
    Source.CAIRN,
)
def writes_stopped(kind: Kind, facts: Facts) -> Iterator[Finding]:
    if facts.status("cairn_write_stopped"):
        yield _stalled(kind, facts, "stopped", "RocksDB holds back all writes")


@WRITES.check(
    "writes-slowed",
    Severity.WARNING,
    "Cairn_write_delayed_bytes_per_second is above 0 (alert CairnWritesSlowed)",
    "Compaction does not keep up; if that goes on, writes stop.",
    Source.ENGINE,
    Source.CAIRN,
)
def writes_slowed(kind: Kind, facts: Facts) -> Iterator[Finding]:
    rate = facts.status("cairn_write_delayed_bytes_per_second")
    if rate and not facts.status("cairn_write_stopped"):
        yield _stalled(kind, facts, "slowed", f"Writes are slowed to {size(rate)} a second")


def _stalled(kind: Kind, facts: Facts, state: str, text: str) -> Finding:
    now = [stall for stall in facts.stalls if stall.goes_on and stall.state == state]
    causes = several([f"{s.cause} in {s.family}" if s.family else s.cause for s in now])
    remedy = now[0].remedy if now and now[0].remedy else "CAIRN_STALLS says what would end it."
    return kind.found(
        f"{text}{f': {causes}' if causes else ''}.",
        remedy,
        "SELECT * FROM information_schema.CAIRN_STALLS WHERE ENDED IS NULL;",
    )


@WRITES.check(
    "stalls-lately",
    Severity.WARNING,
    f"in the last hour writes were stopped more than {STOPS} times, or slowed or stopped for more "
    f"than {SLOWED_S // 60} minutes together",
    "The load is at the limit of what flushes and compactions can do.",
    Source.ENGINE,
    Source.CAIRN,
)
def stalls_lately(kind: Kind, facts: Facts) -> Iterator[Finding]:
    past = [s for s in facts.stalls if not s.goes_on and s.state in ("slowed", "stopped")]
    stops = sum(s.state == "stopped" for s in past)
    seconds = sum(s.seconds or 0 for s in past)
    if stops > STOPS or seconds > SLOWED_S:
        causes = sorted({s.cause for s in past})
        yield kind.found(
            f"In the last hour {count(len(past), 'stall')}, {count(stops, 'stop')} among them, "
            f"{span(seconds)} together: {several(causes)}.",
            "docs/tuning.md says which settings move which limit.",
            "SELECT * FROM information_schema.CAIRN_STALLS;",
        )


def _gauge(code: str, status: str, threshold: int, alert: str, text: str, remedy: str) -> None:
    """Registers a finding about a status that has reached a threshold."""

    @WRITES.check(
        code,
        Severity.WARNING,
        f"{status.capitalize()} is {'at least' if status.endswith('tables') else 'above'} "
        f"{threshold} (alert {alert})",
        "Writes will be slowed down soon.",
        Source.ENGINE,
        Source.CAIRN,
    )
    def check(kind: Kind, facts: Facts) -> Iterator[Finding]:
        value = facts.status(status)
        if value >= threshold if status.endswith("tables") else value > threshold:
            jobs = facts.number("rocksdb_max_background_jobs")
            line = f"SET GLOBAL rocksdb_max_background_jobs = {max(4, 2 * jobs)};"
            yield kind.found(f"{text.format(value)}.", remedy, line)


_gauge(
    "level0-fills",
    "cairn_level0_slowdown_percent",
    LEVEL0_PERCENT,
    "CairnLevel0Fills",
    "Level 0 has {:.0f} % of the files at which writes are slowed down",
    "Allow more background jobs, or larger write buffers.",
)
_gauge(
    "compaction-behind",
    "cairn_pending_compaction_slowdown_percent",
    PENDING_PERCENT,
    "CairnCompactionBehind",
    "{:.0f} % of what slows writes down waits for compaction",
    "Allow more background jobs, give the disk more, or load less.",
)
_gauge(
    "memtables-wait",
    "cairn_immutable_memtables",
    MEMTABLES_WAITING,
    "CairnMemtablesWait",
    "{:.0f} full memtables wait to be flushed",
    "The disk is slow or busy with compaction; allow more background jobs if it is not.",
)


@WRITES.check(
    "memtables-too-large",
    Severity.WARNING,
    "memtables hold more than 1.5 times rocksdb_db_write_buffer_size (alert "
    "CairnMemtablesTooLarge)",
    "The server takes more memory than was planned.",
    Source.ENGINE,
)
def memtables_too_large(kind: Kind, facts: Facts) -> Iterator[Finding]:
    bound, held = (
        facts.number("rocksdb_db_write_buffer_size"),
        facts.status("rocksdb_memtable_total"),
    )
    if bound and held > MEMTABLE_FACTOR * bound:
        yield kind.found(
            f"Memtables hold {size(held)}, rocksdb_db_write_buffer_size is {size(bound)}.",
            "Flushes are slow, or a reader pins old memtables: look for long statements.",
            "SELECT * FROM information_schema.ROCKSDB_TRX;",
        )

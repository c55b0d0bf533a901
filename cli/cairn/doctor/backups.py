"""Findings about backups, as far as a record tells of them."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.doctor.facts import Facts, Source
from cairn.doctor.finding import Finding, Kind, Severity, Subject
from cairn.doctor.texts import span

BACKUPS = Subject("Backups")

AGAIN = "mariadb-backup --backup --history --target-dir=/backups/new"


@BACKUPS.check(
    "backup-old",
    Severity.WARNING,
    "the newest recorded backup is older than two days, or than --backup-hours",
    "What happened since is lost with the disk, but for what the binary log has elsewhere.",
    Source.ENGINE,
    Source.BACKUPS,
)
def backup_old(kind: Kind, facts: Facts) -> Iterator[Finding]:
    newest = min(facts.backups, key=lambda backup: backup.age_s, default=None)
    if newest and newest.age_s > facts.backup_max_age_s:
        yield kind.found(
            f"The newest backup that {newest.where} tells of ended {newest.ended:%Y-%m-%d %H:%M}, "
            f"{span(newest.age_s)} ago.",
            "Make one now, and look why the last ones did not run.",
            AGAIN,
        )


@BACKUPS.check(
    "backup-incomplete",
    Severity.WARNING,
    "the newest recorded backup leaves the engine or databases out",
    "The tables that it leaves out cannot be restored from it.",
    Source.ENGINE,
    Source.BACKUPS,
)
def backup_incomplete(kind: Kind, facts: Facts) -> Iterator[Finding]:
    newest = min(facts.backups, key=lambda backup: backup.age_s, default=None)
    if newest is None:
        return
    without_engine = skips_engine(newest.command)
    if without_engine or newest.partial:
        what = "leaves the engine out (--skip-rocksdb-backup)" if without_engine else "is partial"
        yield kind.found(
            f"The newest backup, of {newest.ended:%Y-%m-%d %H:%M}, {what}.",
            "Make a full one.",
            AGAIN,
        )


def skips_engine(command: str) -> bool:
    """Whether mariadb-backup's arguments leave the engine out; the last of them counts."""
    skips = False
    for word in command.replace("_", "-").split():
        name, _, value = word.partition("=")
        off = value.lower() in ("0", "off", "false", "no")
        if name in ("--skip-rocksdb-backup", "--disable-rocksdb-backup"):
            skips = not off
        elif name in ("--rocksdb-backup", "--enable-rocksdb-backup"):
            skips = off
    return skips

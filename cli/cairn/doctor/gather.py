"""All facts of one server: what it answers, and what its process and its files show."""

from __future__ import annotations

import re
import socket
import struct
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from cairn.doctor import asking, machine
from cairn.doctor.facts import Backup, Facts, Missing, Place, Source
from cairn.doctor.machine import Machine
from cairn.errors import CairnError
from cairn.place import Place as ServerPlace
from cairn.place import reason

# Long enough for the names of very many tables.
ANSWER_S = 15
BACKUP_FILES = ("xtrabackup_info", "mariadb_backup_info")


def gather(place: ServerPlace, backups: Path | None, backup_max_age_s: float) -> Facts:
    """Connects and asks. Raises a CairnError that says why nothing could be asked."""
    import pymysql

    place.require_socket()
    try:
        connection = place.connect(ANSWER_S)
    except (OSError, pymysql.MySQLError) as error:
        raise CairnError(
            f"{place.socket}: the server does not let us in: {reason(error)}. Name an account with "
            "--user, or a file with user and password with --defaults-file."
        ) from error
    with connection:
        try:
            server = asking.Server(connection)
            asking.ask_all(server)
        except pymysql.MySQLError as error:
            raise CairnError(
                f"{place.socket}: the server refuses to answer: {reason(error)}"
            ) from error
        facts, missing = server.facts, server.missing
        pid = peer(connection)
    if backups is not None:
        found = recorded(backups)
        facts["backups"] = (*facts.get("backups", ()), *found)
        if facts["backups"]:
            missing.pop(Source.BACKUPS, None)
        else:
            missing[Source.BACKUPS] = Missing(
                f"unknown: no file {' or '.join(BACKUP_FILES)} in {backups} or a directory below it"
            )
    _look(facts, missing, pid)
    return Facts(
        socket=str(place.socket), missing=missing, backup_max_age_s=backup_max_age_s, **facts
    )


def peer(connection: Any) -> int | None:
    """The process that listens at the other end of a local socket; None when it cannot be told."""
    end = getattr(connection, "_sock", None)
    if not isinstance(end, socket.socket) or end.family != socket.AF_UNIX:
        return None
    size = struct.calcsize("3i")
    pid, _, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid or None


def _look(facts: dict[str, Any], missing: dict[Source, Missing], pid: int | None) -> None:
    """Adds what the machine shows."""
    settings = facts["settings"]

    def value(name: str) -> str:
        return settings[name].value if name in settings else ""

    found = Machine(pid) if pid else None
    if found is None or not _is_server(found):
        for source in (Source.PROCESS, Source.PLACES, Source.LOG):
            missing[source] = Missing("the socket does not tell which process the server is")
    else:
        data = machine.absolute(value("rocksdb_datadir") or "./#rocksdb", value("datadir"))
        _try(
            missing,
            Source.PROCESS,
            lambda: facts.update(process=machine.process(found, value("plugin_dir"))),
        )
        if "process" in facts and not facts["process"].libraries:
            missing[Source.LIBRARY] = Missing(
                "no library of its name is mapped; SELECT @@plugin_dir"
            )
        if Source.ENGINE not in missing:
            _try(missing, Source.PLACES, lambda: _places(facts, found, data, value))
        _try(missing, Source.LOG, lambda: _log(facts, missing, found, value))
    _disk(facts, missing)


def _is_server(found: Machine) -> bool:
    try:
        return found.is_server()
    except OSError:
        return False


def _try(missing: dict[Source, Missing], source: Source, look: Callable[[], None]) -> None:
    try:
        look()
    except PermissionError as error:
        missing[source] = Missing(
            f"{error.filename} may not be read: run this as root, or as the server's user"
        )
    except OSError as error:
        missing[source] = Missing(str(error))


def _places(facts: dict[str, Any], found: Machine, data: str, value: Callable[[str], str]) -> None:
    log = value("rocksdb_wal_dir")
    facts["places"] = tuple(machine.places(found, value("datadir"), data, log))
    facts["checkpoints"] = tuple(machine.checkpoints(found, data))
    facts["corrupted_marker"] = machine.corrupted_marker(found, data)


def _log(
    facts: dict[str, Any],
    missing: dict[Source, Missing],
    found: Machine,
    value: Callable[[str], str],
) -> None:
    if not value("log_error"):
        missing[Source.LOG] = Missing(
            "the server logs to its standard error: see journalctl -u mariadb"
        )
        return
    facts["log_file"] = machine.absolute(value("log_error"), value("datadir"))
    facts["logged"] = tuple(machine.logged(found, facts["log_file"]))


def _disk(facts: dict[str, Any], missing: dict[Source, Missing]) -> None:
    """Where the directories cannot be looked at, Cairn tells how full the data's disk is."""
    if Source.PLACES not in missing:
        return
    total = int(facts["statuses"].get("cairn_disk_bytes", 0))
    if total:
        free = int(facts["statuses"]["cairn_disk_free_bytes"])
        path = facts["settings"]["rocksdb_datadir"].value
        facts["places"] = (Place("data", path, "", total, free),)
    else:
        missing[Source.DISK] = missing[Source.PLACES]


def recorded(directory: Path) -> list[Backup]:
    """The backups in a directory and those below it, by the file that mariadb-backup writes last.

    Raises a CairnError when there is no such directory.
    """
    if not directory.is_dir():
        raise CairnError(
            f"{directory}: there is no such directory; --backups names one of backups."
        )
    try:
        below = sorted(entry for entry in directory.iterdir() if entry.is_dir())
        files = [d / name for d in (directory, *below) for name in BACKUP_FILES]
        found = [_backup(file) for file in files if file.is_file()]
    except OSError as error:
        raise CairnError(f"{directory}: {error}") from error
    return [backup for backup in found if backup is not None]


def _backup(file: Path) -> Backup | None:
    """None when the file does not say when the backup ended. Its times are local."""
    text = file.read_text(encoding="utf-8", errors="replace")
    fields = dict(re.findall(r"^(\w+) = (.*)$", text, re.MULTILINE))
    try:
        ended = datetime.strptime(fields.get("end_time", ""), "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    age = time.time() - ended.timestamp()
    partial = fields.get("partial") == "Y"
    return Backup(ended, age, str(file.parent), fields.get("tool_command", ""), partial)

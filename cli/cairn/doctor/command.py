"""./cairn doctor: looks at a server once, and says what is wrong and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

from cairn.doctor import catalogue, show
from cairn.doctor.gather import gather
from cairn.errors import CairnError
from cairn.place import Place
from cairn.report import say


def run(
    socket: Path | None,
    user: str,
    defaults_file: Path | None,
    backups: Path | None,
    backup_hours: float,
    *,
    as_json: bool,
) -> int:
    """Prints the diagnosis; returns the exit status (0 to 3, docs/doctor.md)."""
    try:
        place = Place.choose(socket, user, defaults_file)
        facts = gather(place, backups, backup_hours * 3600)
    except CairnError as error:
        if as_json:
            say(show.failure_as_json(str(socket or ""), str(error)))
        else:
            print(f"cairn: {error}", file=sys.stderr, flush=True)
        return 3
    diagnosis = catalogue.diagnose(facts)
    say(show.as_json(facts, diagnosis) if as_json else show.as_text(facts, diagnosis))
    return show.exit_status(diagnosis)

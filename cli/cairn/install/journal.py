"""Files that are put in place one after the other, and taken back in any case.

The journal, a file beside the builds, is written before each change: what a command that was killed
has left is taken back by the next one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cairn import files
from cairn.errors import CairnError

SUFFIX = ".before-cairn"
NAME = "installed.json"


@dataclass(frozen=True)
class Change:
    """A file that was put in place; `before` says whether there was one, kept with SUFFIX."""

    path: Path
    before: bool

    @property
    def kept(self) -> Path:
        return self.path.with_name(self.path.name + SUFFIX)


class Journal:
    """The changes of one installation, oldest first; for one process."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        self.changes: list[Change] = []
        self.finished = False

    @staticmethod
    def load(directory: Path) -> Journal | None:
        """The journal in `directory`; None if there is none. Raises if it is damaged."""
        journal = Journal(directory)
        if not journal.path.exists():
            return None
        try:
            content = json.loads(journal.path.read_text(encoding="utf-8"))
            journal.changes = [
                Change(Path(change["path"]), bool(change["before"]))
                for change in content["changes"]
            ]
            journal.finished = bool(content["finished"])
        except (ValueError, KeyError, TypeError) as error:
            raise CairnError(
                f"{journal.path} is damaged: files that end in {SUFFIX} are those from before; put "
                "them back by hand, and remove it."
            ) from error
        return journal

    def place(self, path: Path, write: Callable[[Path], None], mode: int) -> None:
        """Puts a file at `path`; `write` fills the path that it is given."""
        path.parent.mkdir(parents=True, exist_ok=True)
        change = Change(path, path.exists() or path.is_symlink())
        if change.kept.exists():
            raise CairnError(f"{change.kept} is of an earlier installation: remove it first.")
        self.changes.append(change)
        self._save()
        partial = path.with_name(f".{path.name}.cairn-partial")
        write(partial)
        partial.chmod(mode)
        _sync(partial)
        if change.before:
            # A copy, so that at no moment there is no file; under its name once it is whole.
            copy = path.with_name(f".{path.name}.cairn-kept")
            copy.unlink(missing_ok=True)
            shutil.copy2(path, copy, follow_symlinks=False)
            if not copy.is_symlink():
                _sync(copy)
            copy.replace(change.kept)
        partial.replace(path)

    def finish(self) -> None:
        """All files are there, and are not taken back unless somebody wishes it."""
        self.finished = True
        self._save()

    def take_back(self) -> None:
        """Puts everything as it was before; may be called again after it was interrupted."""
        for change in reversed(self.changes):
            for part in ("partial", "kept"):
                path = change.path.with_name(f".{change.path.name}.cairn-{part}")
                path.unlink(missing_ok=True)
            if change.kept.exists() or change.kept.is_symlink():
                change.kept.replace(change.path)
            elif not change.before:
                change.path.unlink(missing_ok=True)
        for directory in {change.path.parent for change in self.changes}:
            if directory.is_relative_to(self.path.parent) and directory != self.path.parent:
                _remove_if_empty(directory)
        self.path.unlink(missing_ok=True)
        _remove_if_empty(self.path.parent)

    def _save(self) -> None:
        changes = [{"path": str(each.path), "before": each.before} for each in self.changes]
        files.write_json(self.path, {"finished": self.finished, "changes": changes})
        _sync(self.path)


def _remove_if_empty(directory: Path) -> None:
    if directory.is_dir() and not any(directory.iterdir()):
        directory.rmdir()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())

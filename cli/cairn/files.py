"""Small file operations that must not leave half a result behind."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cairn.errors import CairnError
from cairn.paths import shown


def write_atomic(path: Path, text: str) -> None:
    """Replaces `path` so that a reader sees the old or the new text, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def write_if_changed(path: Path, text: str) -> bool:
    """Writes `path` only when its text differs; returns whether it did."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    write_atomic(path, text)
    return True


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one when the file is missing or damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: dict[str, Any]) -> None:
    write_atomic(path, json.dumps(value, indent=2) + "\n")


def fresh_directory(path: Path) -> Path:
    """An empty directory at `path`, whatever was there before."""
    remove(path)
    path.mkdir(parents=True)
    return path


def remove(path: Path) -> None:
    """Removes a file, a link or a tree; nothing happens when there is none."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.exists():
        shutil.rmtree(path)


def place(source: Path, target: Path, mode: int = 0o644) -> None:
    """Copies a file to where nothing need be, with the rights of `mode`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def install_directory(partial: Path, final: Path) -> None:
    """Puts a finished directory into its place in one step."""
    final.parent.mkdir(parents=True, exist_ok=True)
    remove(final)
    partial.rename(final)


def replace_link(link: Path, target: Path) -> None:
    """Makes `link` a symbolic link to `target`, in one step."""
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_symlink() and link.readlink() == target:
        return
    partial = link.with_name(f".{link.name}.partial")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(link)


def size_of(path: Path) -> int:
    """Bytes in a file or in all files below a directory; a file that vanishes meanwhile is none."""
    if not path.is_dir():
        return path.stat().st_size if path.exists() else 0
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += Path(folder, name).lstat().st_size
            except OSError:
                continue
    return total


@contextmanager
def exclusive(path: Path, doing: str) -> Iterator[None]:
    """Holds the lock file `path`; a second holder gets an error instead of a race."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CairnError(
                f"Another ./cairn is {doing} ({shown(path)} is locked): wait until it has finished."
            ) from None
        yield


@contextmanager
def in_turn(path: Path) -> Iterator[None]:
    """Holds the lock file `path`, after whoever holds it; for what takes seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield

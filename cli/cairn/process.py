"""Running other programs: their output goes to a log, their failure becomes a sentence."""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cairn.errors import CairnError
from cairn.paths import shown

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent() -> None:
    """Runs in the child: when this program is killed, what it has started ends as well."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


# How much of a failed program's output the error repeats.
TAIL_LINES = 30


def run(
    command: Sequence[str | Path],
    *,
    log: Path,
    what: str,
    on_line: Callable[[str], None] | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    accept: tuple[int, ...] = (0,),
) -> int:
    """Runs `command`, appends its output to `log`, returns its exit status.

    A status outside `accept` raises a CairnError that names `what` failed, the end of its output
    and the log. The child is stopped when this function is left by an exception.
    """
    argv = [str(part) for part in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: list[str] = []
    with log.open("a", encoding="utf-8", errors="replace") as out:
        out.write(f"$ {shlex.join(argv)}\n")
        out.flush()
        try:
            child = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(os.environ, **env) if env else None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                preexec_fn=end_with_parent,
            )
        except OSError as error:
            raise CairnError(f"{what}: cannot run {argv[0]}: {error.strerror}.") from error
        try:
            assert child.stdout is not None
            for line in child.stdout:
                out.write(line)
                out.flush()
                tail = [*tail[-(TAIL_LINES - 1) :], line.rstrip()]
                if on_line:
                    on_line(line.rstrip())
            status = child.wait()
        except BaseException:
            child.terminate()
            child.wait()
            raise
    if status not in accept:
        text = "\n".join(f"    {line}" for line in tail)
        raise CairnError(f"{what} failed (exit status {status}):\n{text}\n  Log: {shown(log)}")
    return status


def output(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> str:
    """The standard output of a short command; empty when it fails or does not exist."""
    try:
        result = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ, **env) if env else None,
        )
    except OSError:
        return ""
    return result.stdout if result.returncode == 0 else ""

"""A server and its client on one processor, so that neither waits for another one to wake up.

A client that sends one short statement after the other and its server take turns. On two processors
each turn begins with waking the other one up, and on a virtual machine that takes longer than the
statement, by times that depend on what else the machine does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def together(pid: int) -> Iterator[None]:
    """The threads of process `pid`, the caller's, and what both start run on one processor.

    Both get back the processors that they had. A thread that has ended meanwhile is left out.
    """
    own = os.sched_getaffinity(0)
    servers = os.sched_getaffinity(pid)
    one = {min(own & servers)}
    try:
        os.sched_setaffinity(0, one)
        _put(pid, one)
        yield
    finally:
        os.sched_setaffinity(0, own)
        _put(pid, servers)


def _put(pid: int, processors: set[int]) -> None:
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), processors)
        except ProcessLookupError:
            continue

"""Where threads run while a case of the bench has client and server on one processor."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cairn.bench import one_processor


def _processors_of_child() -> str:
    script = "import os; print(sorted(os.sched_getaffinity(0)))"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_both_run_on_one_processor_and_get_theirs_back() -> None:
    before = os.sched_getaffinity(0)
    with subprocess.Popen(["sleep", "60"]) as server:
        try:
            with one_processor.together(server.pid):
                one = os.sched_getaffinity(server.pid)
                assert len(one) == 1
                assert os.sched_getaffinity(0) == one
                assert _processors_of_child() == str(sorted(one))
            assert os.sched_getaffinity(0) == os.sched_getaffinity(server.pid) == before
        finally:
            server.kill()


def test_an_error_leaves_nobody_there() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), one_processor.together(os.getpid()):
        raise ZeroDivisionError
    assert os.sched_getaffinity(0) == before

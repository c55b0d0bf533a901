"""Lock files: who comes second is refused, or waits."""

import threading

import pytest

from cairn import files
from cairn.errors import CairnError


def test_a_second_holder_is_refused(tmp_path):
    path = tmp_path / "locks" / ".lock"
    with (
        files.exclusive(path, "trying"),
        pytest.raises(CairnError, match="Another ./cairn is trying"),
        files.exclusive(path, "trying"),
    ):
        pass
    with files.exclusive(path, "trying"):
        pass


def test_a_second_holder_waits_for_its_turn(tmp_path):
    path = tmp_path / ".lock"
    order = []

    def second():
        with files.in_turn(path):
            order.append("second")

    waiting = threading.Thread(target=second)
    with files.in_turn(path):
        waiting.start()
        waiting.join(0.2)
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]

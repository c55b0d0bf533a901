"""Rounds of the long checks: what fails, and what is run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.report import Reporter
from tests.acceptance import rounds
from tests.cli.test_crash_promises import ABORTED_LOG, ended


class _Server:
    """Never runs."""

    def is_alive(self) -> bool:
        return True

    def kill(self) -> None:
        pass


class _Round:
    def __init__(self, wrong: str) -> None:
        self.what = "looked"
        self.details: list[str] = []
        self.server = _Server()
        self._wrong = wrong

    def run(self) -> None:
        if self._wrong:
            raise rounds.Wrong(self._wrong)


def _failed(directory: Path, outcomes: list[str], *, may_abort: bool = True) -> int:
    left = iter(outcomes)
    return rounds.run(
        Reporter(),
        directory,
        2,
        "7",
        lambda _home, _seed: _Round(next(left)),
        innodb_may_abort=may_abort,
    )


@pytest.mark.parametrize(
    ("outcomes", "failed"),
    [
        (["", ""], 0),
        (["wrong", ""], 1),
        ([ended(ABORTED_LOG), "", ""], 0),
        ([ended(ABORTED_LOG), "wrong", ""], 1),
        # One in a run.
        ([ended(ABORTED_LOG), "", ended(ABORTED_LOG)], 1),
        ([ended(ABORTED_LOG), ended(ABORTED_LOG), ""], 1),
    ],
)
def test_a_round_that_innodb_ended_is_run_again_once(
    tmp_path: Path, outcomes: list[str], failed: int
) -> None:
    assert _failed(tmp_path / "rounds", outcomes) == failed


def test_what_innodb_ended_is_kept(tmp_path: Path) -> None:
    assert _failed(tmp_path / "rounds", [ended(ABORTED_LOG), "", ""]) == 0
    assert (tmp_path / "rounds" / "aborted").is_dir()


def test_elsewhere_it_is_a_failure(tmp_path: Path) -> None:
    assert _failed(tmp_path / "rounds", [ended(ABORTED_LOG), ""], may_abort=False) == 1

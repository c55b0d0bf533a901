"""Files of ./cairn install: whatever interrupts it, they can be put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cairn.errors import CairnError
from cairn.install import command, facts, restart
from cairn.install.facts import Facts
from cairn.install.journal import Journal

FACTS = Facts(
    version="10.11.18-MariaDB",
    pid=1,
    plugin_directory=Path("/nowhere/lib/mysql/plugin"),
    data_directory=Path("/nowhere/data"),
    engine_directory=Path("/nowhere/data/#rocksdb"),
    author="",
    prepared=0,
    tables=(),
    obstacles=(),
)
SIZES = {"7handler": 8}


def tree(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): f"{path.lstat().st_mode:o} {path.read_text('utf-8')}"
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def prepare(root: Path) -> None:
    (root / "plugin").mkdir(parents=True)
    (root / "plugin/ha_rocksdb.so").write_text("stock", "utf-8")
    (root / "plugin/ha_rocksdb.so").chmod(0o600)


def install(root: Path) -> Journal:
    journal = Journal(root / "cairn")
    for name, text in (
        ("cairn/10.11.18/adapter.so", "adapter"),
        ("plugin/ha_rocksdb.so", "chooser"),
        ("conf.d/cairn.cnf", "options"),
    ):
        journal.place(root / name, lambda path, text=text: write(path, text), 0o644)
    return journal


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


class Interrupted(BaseException):
    pass


def interrupt_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """The step-th change of a file's name, synchronisation or removal does not happen."""
    count = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == step:
                raise Interrupted
            return function(*arguments, **named)

        return called

    for name in ("replace", "unlink", "chmod", "write_text", "rmdir"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    monkeypatch.setattr("os.fsync", counted(lambda _: None))


def test_files_are_put_in_place_and_taken_back(tmp_path: Path) -> None:
    prepare(tmp_path)
    before = tree(tmp_path)
    install(tmp_path).finish()
    assert "chooser" in tree(tmp_path)["plugin/ha_rocksdb.so"]
    assert tree(tmp_path)["plugin/ha_rocksdb.so.before-cairn"] == before["plugin/ha_rocksdb.so"]
    journal = Journal.load(tmp_path / "cairn")
    assert journal is not None
    assert journal.finished
    journal.take_back()
    assert tree(tmp_path) == before
    assert not (tmp_path / "cairn").exists()


def test_an_installation_that_ends_at_any_step_is_taken_back(tmp_path: Path) -> None:
    for step in range(1, 100):
        root = tmp_path / str(step)
        prepare(root)
        before = tree(root)
        with pytest.MonkeyPatch.context() as patch:
            interrupt_at(patch, step)
            try:
                install(root).finish()
            except Interrupted:
                interrupted = True
            else:
                interrupted = False
        if not interrupted:
            assert step > 10
            return
        assert tree(root)["plugin/ha_rocksdb.so"].split()[1] in ("stock", "chooser")
        journal = Journal.load(root / "cairn")
        if journal is not None:
            journal.take_back()
        left = {name for name in tree(root) if not name.startswith("cairn/.installed.json")}
        assert left == set(before), f"step {step}"
        assert tree(root)["plugin/ha_rocksdb.so"] == before["plugin/ha_rocksdb.so"]
    pytest.fail("the installation never came to its end")


def test_taking_back_that_ends_at_any_step_goes_on_the_next_time(tmp_path: Path) -> None:
    for step in range(1, 100):
        root = tmp_path / str(step)
        prepare(root)
        before = tree(root)
        install(root).finish()
        with pytest.MonkeyPatch.context() as patch:
            interrupt_at(patch, step)
            try:
                loaded(root).take_back()
            except Interrupted:
                interrupted = True
            else:
                interrupted = False
        if not interrupted:
            assert step > 5
            return
        if Journal.load(root / "cairn") is not None:
            loaded(root).take_back()
        assert tree(root) == before, f"step {step}"
    pytest.fail("taking back never came to its end")


def loaded(root: Path) -> Journal:
    journal = Journal.load(root / "cairn")
    assert journal is not None
    return journal


def test_a_damaged_journal_is_told(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"changes": 1, "finished": true}', '{"changes": [{}]}'):
        (tmp_path / "installed.json").write_text(text, "utf-8")
        with pytest.raises(CairnError, match="is damaged"):
            Journal.load(tmp_path)


def test_what_an_earlier_installation_kept_is_not_written_over(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "plugin/ha_rocksdb.so.before-cairn").write_text("older", "utf-8")
    with pytest.raises(CairnError, match="earlier installation"):
        install(tmp_path)


@pytest.mark.parametrize(
    ("changed", "server", "text"),
    [
        ({"version": "10.11.19-MariaDB"}, SIZES, "compiled for 10.11.18"),
        ({}, {"7handler": 16}, "another make"),
        ({"prepared": 2}, SIZES, "XA PREPARE has left 2"),
    ],
)
def test_a_server_that_cairn_does_not_fit_is_refused(
    changed: dict[str, Any], server: dict[str, int], text: str
) -> None:
    found = facts.problems(replace(FACTS, **changed), FACTS.version, SIZES, server)
    assert any(text in problem for problem in found)


def test_a_server_that_fits_is_only_refused_for_its_directories(tmp_path: Path) -> None:
    plugins = tmp_path / "lib/mysql/plugin"
    plugins.mkdir(parents=True)
    fitting = replace(FACTS, plugin_directory=plugins)
    assert facts.problems(fitting, FACTS.version, SIZES, SIZES) == []
    assert fitting.adapters_directory == tmp_path / "lib/cairn"
    found = facts.problems(FACTS, FACTS.version, SIZES, SIZES)
    assert found
    assert all("cannot be written" in problem for problem in found)


def test_a_server_with_tables_is_not_left_without_its_engine() -> None:
    with_tables = replace(FACTS, author="Cairn", tables=("a.b",), obstacles=("a.b: foreign key",))
    assert command.why_not(replace(FACTS, author="Cairn"), to_stock=False, leave_tables=False) == []
    assert "a.b" in command.why_not(with_tables, to_stock=False, leave_tables=False)[0]
    assert command.why_not(with_tables, to_stock=False, leave_tables=True) == []
    # The stock plug-in reads them, but for these.
    assert "foreign key" in command.why_not(with_tables, to_stock=True, leave_tables=True)[0]
    # Not restarted yet.
    stock = replace(FACTS, author="RocksDB", tables=("a.b",))
    assert command.why_not(stock, to_stock=True, leave_tables=False) == []
    prepared = replace(FACTS, author="Cairn", prepared=1)
    assert command.why_not(prepared, to_stock=True, leave_tables=True)


def test_tables_with_other_contents_are_named() -> None:
    restart.require_sums({"a.b": 1, "a.empty": None}, {"a.b": 1, "a.empty": None})
    for after in ({"a.b": 2}, {"a.b": None}, {}):
        with pytest.raises(CairnError, match=r"another value for a\.b"):
            restart.require_sums({"a.b": 1}, after)


def test_a_server_that_came_back_otherwise_is_no_success() -> None:
    before = replace(FACTS, author="RocksDB", tables=("a.b",))
    after = replace(before, author="Cairn")
    restart.require_as_before(before, after, "Cairn")
    with pytest.raises(CairnError, match="not there"):
        restart.require_as_before(before, replace(after, tables=()), "Cairn")
    with pytest.raises(CairnError, match="without the engine"):
        restart.require_tables(before, replace(after, author=""))
    with pytest.raises(CairnError, match="nobody"):
        restart.require_as_before(before, replace(after, author=""), "Cairn")

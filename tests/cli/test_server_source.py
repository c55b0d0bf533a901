"""A source tree of the user's is laid out for the build, or refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn import prefix, server_source
from cairn.errors import CairnError
from cairn.prefix import Server
from cairn.report import Reporter
from cairn.server_headers import GENERATED_HEADERS


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAIRN_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "server"
    for folder in ("include", "sql", "wsrep-lib", "storage/rocksdb", "build/include"):
        (root / folder).mkdir(parents=True)
    (root / "VERSION").write_text(
        "MYSQL_VERSION_MAJOR=11\nMYSQL_VERSION_MINOR=8\nMYSQL_VERSION_PATCH=9\nSERVER_MATURITY=x\n",
        "utf-8",
    )
    (root / "sql/handler.h").write_text("handler", "utf-8")
    (root / "include/probes_mysql_nodtrace.h.in").write_text("probes", "utf-8")
    (root / "build/libservices").mkdir()
    (root / "build/libservices/libmysqlservices.a").write_text("services", "utf-8")
    for name in GENERATED_HEADERS:
        (root / "build/include" / name).write_text(name, "utf-8")
    return root


def test_the_version_is_that_of_the_tree(tree: Path) -> None:
    assert server_source.version(tree) == "11.8.9"


def test_headers_come_from_the_tree_and_its_build(tree: Path) -> None:
    root = server_source.headers(tree)
    assert (root / "sql/handler.h").read_text("utf-8") == "handler"
    for name in GENERATED_HEADERS:
        assert (root / "generated" / name).read_text("utf-8") == name
    assert (root / "generated/probes_mysql_nodtrace.h").read_text("utf-8") == "probes"
    assert (root / "lib/libmysqlservices.a").read_text("utf-8") == "services"
    assert not (root / "storage").exists()


def test_a_tree_that_was_not_configured_is_refused_with_what_to_do(tree: Path) -> None:
    (tree / "build/include/my_config.h").unlink()
    (tree / "build/libservices/libmysqlservices.a").unlink()
    with pytest.raises(CairnError, match=r"my_config\.h, .*libmysqlservices\.a.*\n.*cmake -S"):
        server_source.headers(tree)


def test_what_is_no_tree_of_a_server_is_refused(tree: Path) -> None:
    (tree / "VERSION").write_text("1.2.3\n", "utf-8")
    with pytest.raises(CairnError, match="names no version"):
        server_source.version(tree)
    (tree / "sql/handler.h").unlink()
    with pytest.raises(CairnError, match="a source tree of MariaDB"):
        server_source.headers(tree)


def test_a_server_keeps_its_own_headers_where_no_tree_is_named(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server("1:10.11.18-0", Path("/nowhere"))
    monkeypatch.delenv(server_source.VARIABLE, raising=False)
    assert server_source.apply(server).headers == Path("/nowhere/headers")
    monkeypatch.setenv(server_source.VARIABLE, str(tree))
    assert (server_source.apply(server).headers / "generated/my_config.h").is_file()


def test_commands_that_run_the_server_refuse_a_tree(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(server_source.VARIABLE, str(tree))
    with Reporter().phase("Headers") as phase, pytest.raises(CairnError, match="unset it"):
        prefix.ensure_headers(phase, Server("1:10.11.18-0", Path("/nowhere")))

"""Which server and which account the options of a command name."""

from __future__ import annotations

from pathlib import Path

import click
import pymysql
import pytest
from click.testing import CliRunner

from cairn import place
from cairn.errors import CairnError
from cairn.install import facts
from cairn.place import Place
from tests.cli.test_top import left_over


@pytest.fixture
def asked(monkeypatch):
    """What PyMySQL is given; no connection is made."""
    found: dict[str, object] = {}

    def connect(**options):
        found.update(options)
        raise pymysql.OperationalError(2002, "nothing listens")

    monkeypatch.setattr(pymysql, "connect", connect)
    return found


def test_a_file_of_options_names_the_user(asked, tmp_path):
    file = tmp_path / "client.cnf"
    file.write_text("[client]\nuser = somebody\n", encoding="utf-8")
    where = Place(left_over(tmp_path), defaults_file=file)
    with pytest.raises(CairnError, match="nothing listens"):
        facts.read(where)
    assert asked["user"] is None
    assert asked["read_default_file"] == str(file)


def test_without_a_file_the_option_names_the_user(asked, tmp_path):
    with pytest.raises(pymysql.OperationalError):
        Place(tmp_path, "somebody").connect()
    assert asked["user"] == "somebody"
    assert "read_default_file" not in asked


@pytest.mark.parametrize("wait", [None, 5.0])
def test_statements_are_waited_for_as_long_as_asked(asked, tmp_path, wait):
    with pytest.raises(pymysql.OperationalError):
        Place(tmp_path).connect(wait)
    assert asked["read_timeout"] == wait
    assert asked["write_timeout"] == wait


def test_a_socket_that_is_named_is_taken():
    assert Place.choose(Path("/a/socket"), "me", None) == Place(Path("/a/socket"), "me")


def test_the_help_says_which_server_is_meant_without_a_socket():
    @click.command()
    @place.options("that of the example")
    def command(**_: object) -> None:
        pass

    said = CliRunner().invoke(command, ["--help"]).output
    assert "without: that of the example." in " ".join(said.split())

"""./cairn doctor: what is printed, the JSON object, and the exit status."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from cairn.commands.server import doctor
from cairn.doctor import catalogue, show
from cairn.doctor.facts import Missing, Source
from tests.cli.doctor_facts import altered, healthy, plugin

KEYS = {"status", "error", "socket", "facts", "figures", "findings", "not_checked", "checked"}
ERROR = {"rocksdb_bulk_load": "ON"}
WARNING = {"rocksdb_deadlock_detect": "OFF"}
LACKS_RIGHTS = {Source.PRIVILEGED: Missing("empty", "GRANT PROCESS ON *.* TO 'a'@'b';")}
LACKS_SOURCE = {Source.LOG: Missing("the server logs to its standard error")}


@pytest.mark.parametrize(
    ("settings", "missing", "status"),
    [
        ({}, {}, 0),
        ({}, LACKS_SOURCE, 0),
        (WARNING, {}, 1),
        (WARNING, LACKS_SOURCE, 1),
        (ERROR | WARNING, {}, 2),
        (ERROR, LACKS_RIGHTS, 2),
        (WARNING, LACKS_RIGHTS, 3),
        ({}, LACKS_RIGHTS, 3),
    ],
)
def test_the_exit_status_is_the_worst_that_is_known(settings, missing, status):
    facts = replace(altered(settings=settings), missing=missing)
    assert show.exit_status(catalogue.diagnose(facts)) == status


def test_notes_do_not_change_the_exit_status():
    facts = altered(plugins=(plugin("ROCKSDB", "Monty Program Ab"),))
    diagnosis = catalogue.diagnose(facts)
    assert len(diagnosis.findings) == 1 and show.exit_status(diagnosis) == 0


def test_the_json_object_has_its_keys():
    facts = replace(altered(settings=ERROR), missing=LACKS_RIGHTS)
    found = json.loads(show.as_json(facts, catalogue.diagnose(facts)))
    assert found.keys() == KEYS
    (finding,) = found["findings"]
    assert finding.keys() == {"code", "severity", "found", "means", "remedy", "lines"}
    assert (finding["code"], finding["severity"]) == ("bulk-load-left-on", "error")
    (left_out,) = found["not_checked"]
    assert left_out["source"] == "privileged" and "GRANT PROCESS" in left_out["grant"]
    assert "stock-format-broken" in left_out["codes"]
    assert json.loads(show.failure_as_json("/s", "why")).keys() == KEYS


def test_figures_are_null_where_nothing_could_be_seen():
    known = show.figures(healthy())
    assert known["open_files"] == 500 and known["table_files"] == 154
    assert known["backup_age_seconds"] == 30 * 3600 and None not in known.values()
    blind = replace(healthy(), process=None, places=(), backups=())
    unknown = show.figures(replace(blind, missing={Source.CAIRN: Missing("none")}))
    seen = {name for name, value in unknown.items() if value is not None}
    assert seen == {"planned_bytes", "prepared_transactions", "oldest_snapshot_seconds"}
    assert known.keys() == unknown.keys()


def test_statements_are_never_wrapped(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    facts = replace(altered(oldest_snapshot_s=1e6), missing=LACKS_RIGHTS)
    text = show.as_text(facts, catalogue.diagnose(facts))
    line = catalogue.diagnose(facts).findings[0].lines[0]
    assert len(line) > 60 and f"    {line}\n" in text
    grant = LACKS_RIGHTS[Source.PRIVILEGED].grant
    assert f"\n      {grant}\n" in text
    others = [row for row in text.splitlines() if line not in row]
    assert max(map(len, others)) <= 60


def test_what_was_not_checked_is_said_with_the_reason_and_the_grant():
    facts = replace(healthy(), missing=LACKS_RIGHTS)
    text = " ".join(show.as_text(facts, catalogue.diagnose(facts)).split())
    assert "neighbours: empty (stock-format-broken," in text
    assert "tombstones) GRANT PROCESS ON *.* TO 'a'@'b';" in text and text.endswith(
        "0 notes. Not checked: 4."
    )


@pytest.mark.parametrize("wrong", [["--nonsense"], ["--backup-hours", "0"], ["more"]])
def test_wrong_options_end_with_3_and_a_sentence(wrong, capsys):
    result = CliRunner().invoke(doctor, wrong)
    assert result.exit_code == 3
    assert "See --help." in result.stderr


@pytest.mark.parametrize("kind", ["missing", "directory", "file"])
def test_what_is_no_socket_ends_with_3_and_names_it(kind, tmp_path):
    path = tmp_path / kind
    path.mkdir() if kind == "directory" else path.touch() if kind == "file" else None
    result = CliRunner().invoke(doctor, ["--socket", str(path)])
    assert result.exit_code == 3 and str(path) in result.stderr
    result = CliRunner().invoke(doctor, ["--socket", str(path), "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 3 and found["status"] == 3 and str(path) in found["error"]

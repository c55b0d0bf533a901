"""What ./cairn hunt does with its parts: rounds that repeat, findings that are kept and shown."""

import os
import signal
import struct
import time
from dataclasses import replace

import pytest

from cairn.errors import CairnError
from cairn.report import Reporter
from tests.hunt import command
from tests.hunt.actors import Session
from tests.hunt.part import MOST_FINDINGS, Context, Finding, Part, Unavailable


class Recorded:
    """A part that does as it is told, and remembers what it was given."""

    def __init__(self, monkeypatch, tmp_path, act):
        self.act = act
        self.contexts = []
        self.PART = Part("planted", "does as it is told", self.run)
        monkeypatch.setattr(command, "PARTS", {"planted": "no module"})
        monkeypatch.setattr(command.importlib, "import_module", lambda _: self)
        monkeypatch.setattr(command, "DIRECTORY", tmp_path / "hunt")
        monkeypatch.setattr(command, "FINDINGS", tmp_path / "findings")

    def run(self, context):
        self.contexts.append(context)
        self.act(context)

    def hunt(self, **plan):
        options = {"parts": (), "seconds": 0.0, "seed": 5} | plan
        return command.run_plan(Reporter(), None, command.Plan(**options))


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    return lambda act: Recorded(monkeypatch, tmp_path, act)


def choices(context):
    return [(number, chance.random()) for number, chance in context.rounds()]


def test_a_part_without_findings_passes_and_leaves_nothing(recorded, tmp_path):
    part = recorded(lambda context: context.count("queries", 3))
    assert part.hunt() == (1, 0)
    assert part.contexts[0].figures["queries"] == 3
    assert not (tmp_path / "findings").exists()
    assert not part.contexts[0].directory.exists()


def test_a_finding_fails_and_is_written_with_what_repeats_it(recorded, tmp_path, capsys):
    def act(context):
        for number, _ in context.rounds():
            if number == 2:
                context.directory.mkdir(parents=True, exist_ok=True)
                context.found(Finding("two rows\nin place of one", "SELECT 1;", "1 here\n2 there"))

    part = recorded(act)
    assert part.hunt(only_round=2) == (0, 1)
    text = (tmp_path / "findings" / "planted-5-2-1.sql").read_text()
    assert text == (
        "-- two rows in place of one\n-- Again: ./cairn hunt planted --seed 5 --round 2\n"
        "-- 1 here\n-- 2 there\n\nSELECT 1;\n"
    )
    shown = capsys.readouterr().out
    assert "FOUND  two rows in place of one" in shown
    assert "SELECT 1;" in shown
    assert part.contexts[0].directory.is_dir()


def test_a_kind_is_reported_once_and_counted_each_time(recorded, tmp_path):
    def act(context):
        for _ in range(3):
            context.found(Finding("the same", "SELECT 1;"))
        context.found(Finding("another one", "SELECT 2;"))

    part = recorded(act)
    assert part.hunt() == (0, 1)
    assert part.contexts[0].figures["differences"] == 4
    assert len(list((tmp_path / "findings").iterdir())) == 2


def test_an_exception_is_a_finding(recorded, tmp_path):
    def act(context):
        raise CairnError("The server ended by itself:\n  a stack")

    assert recorded(act).hunt() == (0, 1)
    [path] = (tmp_path / "findings").iterdir()
    assert "The server ended by itself" in path.read_text()
    assert "a stack" in path.read_text()


def test_rounds_follow_from_seed_and_number(recorded):
    rounds = []
    part = recorded(lambda context: rounds.append(choices(context)))
    part.hunt(seconds=0.02)
    part.hunt(only_round=len(rounds[0]))
    part.hunt(seed=6)
    assert [number for number, _ in rounds[0]] == list(range(1, len(rounds[0]) + 1))
    assert rounds[1] == rounds[0][-1:]
    assert rounds[2][0][1] != rounds[0][0][1]


def test_a_part_ends_when_it_has_found_enough(recorded):
    def act(context):
        for number, _ in context.rounds():
            context.found(Finding(f"kind {number}", "SELECT 1;"))

    part = recorded(act)
    begun = time.monotonic()
    part.hunt(seconds=3600)
    assert len(part.contexts[0].findings) == MOST_FINDINGS
    assert time.monotonic() - begun < 60


def test_the_short_form_takes_the_parts_own_time(recorded):
    left = []
    part = recorded(lambda context: left.append((context.short, context.left())))
    part.hunt(short=True)
    assert left[0][0]
    assert part.PART.short_s - 5 < left[0][1] <= part.PART.short_s


def test_the_short_form_may_have_a_number_of_rounds(recorded):
    rounds = []
    part = recorded(lambda context: rounds.append([number for number, _ in context.rounds()]))
    part.PART = replace(part.PART, short_rounds=2)
    part.hunt(short=True)
    part.hunt(seconds=0.5)
    assert rounds[0] == [1, 2]
    assert len(rounds[1]) > 2


def test_a_part_may_have_no_short_form(recorded):
    ran = []
    part = recorded(lambda context: ran.append(context.short))
    part.PART = replace(part.PART, short_s=0)
    assert part.hunt(short=True) == (0, 0)
    part.hunt(seconds=0.02)
    assert ran == [False]


def test_parts_side_by_side_tell_what_they_found_at_their_end(
    monkeypatch, recorded, tmp_path, capsys
):
    def act(context):
        context.phase.PLAIN_INTERVAL_S = 0
        context.progress()
        (tmp_path / f"{context.name} runs").touch()
        end = time.monotonic() + 20
        while len(list(tmp_path.glob("* runs"))) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        context.count("others", len(list(tmp_path.glob("* runs"))) - 1)
        if context.name == "second":
            context.found(Finding("one row too many", "SELECT 1;"))
        if context.name == "third":
            raise Unavailable("no such disk")

    part = recorded(act)
    planted = {name: replace(part.PART, name=name) for name in ("first", "second", "third")}
    monkeypatch.setattr(command, "PARTS", planted)
    monkeypatch.setattr(
        command, "parts", lambda names: [planted[name] for name in names or planted]
    )
    assert part.hunt(jobs=3) == (1, 1)
    shown = capsys.readouterr().out
    assert "Hunt (first)        2 others, 0 findings" in shown
    assert "Hunt (second)       2 others, 1 differences, 1 findings" in shown
    assert "FOUND  one row too many" in shown
    assert "third cannot run here and shows nothing: no such disk" in shown
    assert "Hunt (first): round" not in shown
    assert "Hunt (first): round 0" in (tmp_path / "hunt" / "first-5.log").read_text()


def test_a_part_whose_process_dies_has_found_something(monkeypatch, recorded, capsys):
    part = recorded(lambda context: os._exit(7) if context.name == "dies" else None)
    planted = {name: replace(part.PART, name=name) for name in ("dies", "lives")}
    monkeypatch.setattr(command, "PARTS", planted)
    monkeypatch.setattr(
        command, "parts", lambda names: [planted[name] for name in names or planted]
    )
    assert part.hunt(jobs=2) == (1, 1)
    assert "the part dies has ended without a word, with exit status 7" in capsys.readouterr().out


@pytest.fixture
def interruptible():
    """A job in the background ignores interrupts unless it says otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_all_parts(monkeypatch, recorded, tmp_path):
    def act(context):
        (tmp_path / f"{context.name} runs").touch()
        if context.name == "first":
            while len(list(tmp_path.glob("* runs"))) < 2:
                time.sleep(0.01)
            os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)

    part = recorded(act)
    planted = {name: replace(part.PART, name=name) for name in ("first", "second", "third")}
    monkeypatch.setattr(command, "PARTS", planted)
    monkeypatch.setattr(
        command, "parts", lambda names: [planted[name] for name in names or planted]
    )
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        part.hunt(jobs=2)
    assert time.monotonic() - begun < 30
    assert not (tmp_path / "third runs").exists()


def test_an_unknown_part_is_named(recorded):
    recorded(lambda context: None)
    with pytest.raises(CairnError, match="no part other"):
        command.parts(("other",))


def test_every_registered_part_has_its_name_and_a_purpose():
    for name, part in zip(command.PARTS, command.parts(()), strict=True):
        assert isinstance(part, Part)
        assert part.name == name
        assert part.purpose
        assert "\n" not in part.purpose


def test_all_short_forms_together_take_260_s_at_most():
    assert sum(part.short_s for part in command.parts(())) <= 260


def test_figures_are_read_by_people(tmp_path):
    context = Context("x", 1, 0.0, tmp_path, tmp_path, None, None)
    context.count("queries", 12345)
    context.count("nothing", 0)
    assert context.summary() == "12,345 queries, 0 findings"


def test_a_client_that_fails_is_an_answer():
    class Connection:
        def thread_id(self):
            return 7

        def cursor(self):
            raise struct.error("unpack requires a buffer of 4 bytes")

        def close(self):
            pass

    session = Session("A", Connection)
    session.send("SELECT 1")
    answer = session.poll(5)
    assert answer.is_lost and "unpack" in answer.message
    session.end()

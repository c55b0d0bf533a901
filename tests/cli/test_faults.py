"""What ./cairn acceptance faults knows of the engine, and how it tells its plug-in what to do."""

import re

from cairn.paths import ROOT
from tests.faults.outcomes import IN_SHORT, OUTCOMES, engine_outcomes
from tests.faults.plan import LOCKS, FaultPlan
from tests.faults.statements import (
    CHANGES,
    DEFINITION_CHANGES,
    ENDS,
    READS,
    XA_BY_NAME,
    XA_ENDS,
    XA_STATEMENTS,
)

SOURCE = (ROOT / "tests" / "faults" / "faults.cc").read_text(encoding="utf-8")


def test_the_outcomes_are_the_engines():
    known = engine_outcomes()
    assert known["Ok"] == 0
    assert {outcome.name for outcome in OUTCOMES} <= known.keys()
    assert set(IN_SHORT) <= {outcome.name for outcome in OUTCOMES}
    assert max(known.values()) == len(known) - 1


def test_the_file_has_the_fields_of_the_plug_in():
    body = re.search(r"struct Plan \{(.*?)\};", SOURCE, re.DOTALL)[1]
    fields = re.findall(r"std::atomic<int32_t>\s+(\w+);", body)
    assert fields == ["thread", "outcome", "only", "skip", "calls", "due", "pause", "paused"]
    assert "char call[64];" in body


def test_what_was_due_is_told_once_it_has_happened(tmp_path):
    with FaultPlan(tmp_path / "plan") as plan:
        plan.arm(7, 3, 2, only=LOCKS)
        assert (tmp_path / "plan").read_bytes()[:16] == b"\7\0\0\0\3\0\0\0\1\0\0\0\2\0\0\0"
        assert plan.disarm() is None
        plan.arm(7, 3, 0)
        plan._set("due", 1)
        plan._map[32:40] = b"Get\0\0\0\0\0"
        assert plan.disarm() == "Get"
        plan.arm(7, 3, 0, pause=True)
        assert plan.call == ""
        assert not plan.paused


def test_every_kind_of_statement_has_a_name_of_its_own():
    branches = (*XA_STATEMENTS, *XA_ENDS, *XA_BY_NAME)
    names = [kind.name for kind in (*READS, *CHANGES, *ENDS, *branches)]
    names += [kind.name for kind, _ in DEFINITION_CHANGES]
    assert len(names) == len(set(names))


def test_each_call_is_led_through_once():
    symbols = re.findall(r'CAIRN_CALL\("(_ZN\w+)"', SOURCE)
    assert len(symbols) > 30
    assert len(symbols) == len(set(symbols))

"""A plug-in of pytest that writes the outcome of each test into a file."""

import json
import os
from pathlib import Path


def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    state = {"passed": "pass", "failed": "fail", "skipped": "skip"}[report.outcome]
    if hasattr(report, "wasxfail"):
        state = "expected failure" if report.skipped else state
    _record(report.nodeid, state, "" if state == "pass" else report.longreprtext)


def pytest_collectreport(report):
    if report.failed:
        _record(report.nodeid, "fail", report.longreprtext)


def _record(test, state, said):
    with Path(os.environ["CAIRN_OUTCOMES"]).open("a", encoding="utf-8") as out:
        json.dump({"test": test, "state": state, "said": said}, out)
        out.write("\n")

"""Django's test runner, which also writes the outcome of each test into a file."""

import json
import os
import traceback
import unittest
from pathlib import Path

from django.test.runner import DiscoverRunner


class _Recorder:
    """Appends a line of JSON for each outcome; mixed into the result class of the run."""

    def _record(self, test, state, said=""):
        with Path(os.environ["CAIRN_OUTCOMES"]).open("a", encoding="utf-8") as out:
            json.dump({"test": _name(test), "state": state, "said": said}, out)
            out.write("\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self._record(test, "pass")

    def addError(self, test, err):
        super().addError(test, err)
        self._record(test, "fail", _text(err))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._record(test, "fail", _text(err))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._record(test, "fail", f"{subtest}\n{_text(err)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._record(test, "skip", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._record(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._record(test, "fail", "an unexpected success")


def _name(test):
    return test.id() if hasattr(test, "id") else str(test)


def _text(err):
    """What is said of an error; from a process of its own it comes with the text of its trace."""
    kind, value, trace = err
    return "".join(traceback.format_exception(kind, value, trace))


class RecordingRunner(DiscoverRunner):
    def get_resultclass(self):
        base = super().get_resultclass() or unittest.TextTestResult
        return type("RecordingResult", (_Recorder, base), {})

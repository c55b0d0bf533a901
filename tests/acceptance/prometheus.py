"""The distribution's Prometheus programs on this machine's loopback, for tests of monitoring.

Beside mariadbd's exporter there are Prometheus itself, which evaluates expressions as in earnest,
and promtool, which checks and tests alert rules.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cairn import process
from cairn.errors import CairnError
from cairn.paths import shown
from cairn.prefix import Server
from cairn.scratch_server import free_port

START_S = 120
ANSWER_S = 60


class Program:
    """A server program with an HTTP port of its own; it ends with the block that it is used in."""

    READY = "/"  # A page that answers once the program is ready.

    def __init__(self, command: list[str], log: Path, environment: dict[str, str]) -> None:
        self.port = free_port()
        self._log = log
        self._command = [*command, f"--web.listen-address=127.0.0.1:{self.port}"]
        self._environment = environment
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("ab") as out:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self._log.parent,
                env=dict(os.environ, **self._environment),
                start_new_session=True,
                preexec_fn=process.end_with_parent,
            )
        begun = time.monotonic()
        while not self._answers():
            if self._child.poll() is not None or time.monotonic() - begun > START_S:
                self.__exit__(None, None, None)
                raise CairnError(
                    f"{Path(self._command[0]).name} does not start: look into {shown(self._log)}."
                )
            time.sleep(0.05)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()

    def get(self, path: str) -> str:
        """The answer to one HTTP request."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.port}{path}", timeout=ANSWER_S
        ) as answer:
            return answer.read().decode("utf-8")

    def _answers(self) -> bool:
        try:
            self.get(self.READY)
        except OSError:
            return False
        return True


class Exporter(Program):
    """prometheus-mysqld-exporter, which asks one server over its socket.

    `user` may have a password, after a colon.
    """

    def __init__(self, mariadb: Server, server_socket: Path, user: str, log: Path) -> None:
        super().__init__(
            [str(program(mariadb, "prometheus-mysqld-exporter")), "--config.my-cnf=/dev/null"],
            log,
            {"DATA_SOURCE_NAME": f"{user}@unix({server_socket})/"},
        )

    def scrape(self) -> dict[str, float]:
        """The metrics by name; of those with labels, one of the values."""
        return parse_metrics(self.get("/metrics"))


class Prometheus(Program):
    """Prometheus with rules, which scrapes an exporter every second."""

    READY = "/-/ready"

    def __init__(self, mariadb: Server, exporter: Exporter, rules: Path, directory: Path) -> None:
        configuration = directory / "prometheus.json"  # JSON is YAML.
        interval = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        target = {"targets": [f"127.0.0.1:{exporter.port}"]}
        configuration.write_text(
            json.dumps(
                {
                    "global": interval,
                    "rule_files": [str(rules)],
                    "scrape_configs": [{"job_name": "cairn", "static_configs": [target]}],
                }
            ),
            encoding="utf-8",
        )
        super().__init__(
            [
                str(program(mariadb, "prometheus")),
                f"--config.file={configuration}",
                f"--storage.tsdb.path={directory / 'prometheus'}",
            ],
            directory / "prometheus.log",
            {},
        )

    def query(self, expression: str) -> list[float]:
        """The values of an expression now. Raises a CairnError for one that is wrong."""
        try:
            answer = self._api(f"query?query={urllib.parse.quote(expression)}")
        except urllib.error.HTTPError as error:
            reason = json.loads(error.read()).get("error", str(error))
            raise CairnError(f"{expression}: {reason}") from error
        return [float(sample["value"][1]) for sample in answer["result"]]

    def rules(self) -> list[dict[str, Any]]:
        """The alert rules with their expressions and states."""
        return [rule for group in self._api("rules")["groups"] for rule in group["rules"]]

    def _api(self, call: str) -> dict[str, Any]:
        return json.loads(self.get(f"/api/v1/{call}"))["data"]


def program(mariadb: Server, name: str) -> Path:
    return mariadb.monitoring / "usr" / "bin" / name


def promtool(mariadb: Server, *arguments: str | Path) -> tuple[int, str]:
    """Runs promtool; returns its exit status and what it prints."""
    done = subprocess.run(
        [program(mariadb, "promtool"), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


def parse_metrics(text: str) -> dict[str, float]:
    """Names and values of the exposition format."""
    found = re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})? (\S+)", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def metric_names(expression: str) -> set[str]:
    """The metrics of the exporter that an expression names."""
    without_labels = re.sub(r"\{[^}]*\}", "", expression)
    return set(re.findall(r"\bmysql_\w+", without_labels))


def without_thresholds(expression: str) -> str:
    """An alert's expression, changed to give 0 or 1 where it would give nothing or a value.

    It then returns data exactly if every series in it is there.
    """
    parts = re.split(r"(\{[^}]*\})", expression)
    return "".join(
        part if part.startswith("{") else re.sub(r"(==|!=|>=|<=|>|<)(?!=)", r"\1 bool", part)
        for part in parts
    )

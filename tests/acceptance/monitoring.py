"""./cairn acceptance monitoring: the dashboard and the alerts against a live server.

A server with some load, the distribution's exporter and Prometheus run on loopback. Every metric
that packaging/monitoring names must be in the scrape, every expression must return data.
"""

from __future__ import annotations

import json
import math
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cairn import packages, prefix, sysbench
from cairn.paths import ROOT, VAR, shown
from cairn.report import Reporter, say
from cairn.scratch_server import ScratchServer, own_directory, remove
from tests import runs
from tests.acceptance import prometheus
from tests.acceptance.case import Failed, require

DIRECTORY = ROOT / "packaging" / "monitoring"
DASHBOARD = DIRECTORY / "dashboard.json"
ALERTS = DIRECTORY / "alerts.yml"
ALERT_TESTS = DIRECTORY / "alerts_test.yml"
TABLES = ("--tables=1", "--table-size=5000")
# Small buffers, so that the load flushes and compacts within seconds.
OPTIONS = (
    "--default-storage-engine=ROCKSDB",
    "--rocksdb-db-write-buffer-size=8M",
    "--rocksdb-block-cache-size=16M",
    "--rocksdb-default-cf-options=write_buffer_size=512k;target_file_size_base=512k;"
    "max_bytes_for_level_base=1m",
)
# Prometheus needs some scrapes for a rate.
SCRAPES = 6
LIMIT_S = 60


def run() -> int:
    """Checks everything; returns the exit status."""
    reporter = Reporter()
    mariadb = runs.prepare(reporter, packages.SYSBENCH)
    with reporter.phase("Monitoring tools") as phase:
        prefix.ensure_monitoring(phase, mariadb)
    directory = VAR / "acceptance" / "monitoring"
    with own_directory(directory):
        try:
            passed = check(reporter, mariadb, directory)
        except Failed as failure:
            say(f"    {failure}")
            runs.leave(directory, failed=True)
            say("\n0 passed, 1 failed")
            return 1
        remove(directory)
    say(f"\n{passed} passed, 0 failed")
    return 0


def check(reporter: Reporter, mariadb: prefix.Server, directory: Path) -> int:
    """All checks in one directory; how many expressions were evaluated. Raises Failed."""
    with reporter.phase("Alert rules") as phase:
        for command, file in (("check", ALERTS), ("test", ALERT_TESTS)):
            status, output = prometheus.promtool(mariadb, command, "rules", file)
            require(status == 0, f"promtool {command} rules {file.name}:\n{output}")
        phase.summary = "promtool accepts them, their unit tests pass"
    with ScratchServer(mariadb, directory, OPTIONS) as server:
        server.start()
        # As docs/monitoring.md says, but for the password in place of the system's user.
        server.query("CREATE USER prometheus@localhost IDENTIFIED BY 'secret'")
        server.query("GRANT PROCESS, SLAVE MONITOR ON *.* TO prometheus@localhost")
        with (
            _load(server, directory / "sysbench.log"),
            _exporter(server, directory) as exporter,
            prometheus.Prometheus(mariadb, exporter, ALERTS, directory) as live,
        ):
            rules = live.rules()
            require(rules, f"Prometheus has read no rules from {shown(ALERTS)}")
            alerts = {rule["name"]: rule["query"] for rule in rules}
            panels = panel_expressions(DASHBOARD)
            with reporter.phase("Scrape") as phase:
                phase.summary = f"{_check_names(exporter, [*alerts.values(), *panels])} metrics"
            with reporter.phase("Expressions") as phase:
                _wait_for_data(live)
                _check_panels(live, panels)
                _check_alerts(live, alerts)
                phase.summary = f"{len(panels)} of panels, {len(alerts)} of alerts: all return data"
        with (
            reporter.phase("Restart"),
            _exporter(server, directory) as exporter,
        ):
            server.stop()
            require(exporter.scrape()["mysql_up"] == 0, "mysql_up is not 0 without a server")
            server.start()
            require(exporter.scrape()["mysql_up"] == 1, "mysql_up is not 1 after a restart")
        server.stop()
    return len(panels) + len(alerts)


def panel_expressions(dashboard: Path) -> list[str]:
    """The expressions of all panels, with the dashboard's own variables filled in."""
    content = json.loads(dashboard.read_text(encoding="utf-8"))
    expressions = [t["expr"] for panel in content["panels"] for t in panel.get("targets", [])]
    return [
        expression.replace("$__rate_interval", f"{SCRAPES}s").replace("$instance", ".*")
        for expression in expressions
    ]


def _exporter(server: ScratchServer, directory: Path) -> prometheus.Exporter:
    return prometheus.Exporter(
        server.mariadb, server.socket, "prometheus:secret", directory / "exporter.log"
    )


@contextmanager
def _load(server: ScratchServer, log: Path) -> Iterator[None]:
    """sysbench's mixed transactions for as long as the block runs."""
    server.query(f"CREATE DATABASE {sysbench.DATABASE}")

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        whole = ("oltp_read_write", *TABLES, *arguments)
        return sysbench.launch(server.mariadb, server.socket, whole, log=log)

    require(start("prepare").wait(LIMIT_S) == 0, f"sysbench cannot prepare: see {shown(log)}")
    child = start("--threads=2", f"--time={5 * LIMIT_S}", "run")
    try:
        yield
        require(child.poll() is None, f"the load has ended: see {shown(log)}")
    finally:
        child.terminate()
        child.wait()


def _check_names(exporter: prometheus.Exporter, expressions: list[str]) -> int:
    scraped = exporter.scrape()
    require(scraped.get("mysql_up") == 1, "the exporter does not reach the server")
    failed = scraped.get("mysql_exporter_last_scrape_error")
    require(failed == 0, "a query of the exporter fails: see exporter.log")
    named = set().union(*map(prometheus.metric_names, expressions))
    lacking = sorted(named - scraped.keys())
    require(not lacking, f"metrics that the scrape lacks: {', '.join(lacking)}")
    return len(named)


def _wait_for_data(live: prometheus.Prometheus) -> None:
    _wait(
        lambda: live.query("count_over_time(mysql_up[5m])") >= [SCRAPES],
        f"Prometheus has not made {SCRAPES} scrapes in {LIMIT_S} s",
    )


def _wait(holds: Callable[[], bool], otherwise: str) -> None:
    """On a busy machine scrapes are late, and a rate has no data for a while."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > LIMIT_S:
            raise Failed(otherwise)
        time.sleep(0.2)


def _check_panels(live: prometheus.Prometheus, panels: list[str]) -> None:
    for expression in panels:
        _wait(
            lambda query=expression: not all(map(math.isnan, live.query(query))),
            f"no data: {expression}",
        )


def _check_alerts(live: prometheus.Prometheus, alerts: dict[str, str]) -> None:
    for name, expression in alerts.items():
        operands = prometheus.without_thresholds(expression)
        _wait(
            lambda query=operands: bool(live.query(query)),
            f"{name}: no data: {operands}",
        )
    failing = {rule["name"]: rule["lastError"] for rule in live.rules() if rule.get("lastError")}
    require(not failing, f"rules that fail: {failing}")

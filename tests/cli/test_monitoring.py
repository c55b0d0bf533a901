"""The dashboard and the alerts name what the exporter has; every alert has a test of its own."""

import json
import re

import pytest

from cairn import plugin, prefix
from cairn.report import Reporter
from tests.acceptance import monitoring, prometheus
from tests.acceptance.case import Failed

SCRAPE = """# HELP mysql_up Whether the MySQL server is up.
# TYPE mysql_up gauge
mysql_up 1
mysql_global_status_commands_total{command="select"} 7
mysql_global_status_rocksdb_bytes_read 2.578147328e+09
"""


def test_a_scrape_gives_values_by_name():
    assert prometheus.parse_metrics(SCRAPE) == {
        "mysql_up": 1.0,
        "mysql_global_status_commands_total": 7.0,
        "mysql_global_status_rocksdb_bytes_read": 2578147328.0,
    }


def test_names_in_labels_are_no_metrics():
    expression = 'rate(mysql_a{job="mysql_b"}[5m]) / (mysql_c + 1) > 2'
    assert prometheus.metric_names(expression) == {"mysql_a", "mysql_c"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("mysql_up == 0", "mysql_up == bool 0"),
        ("a{b!='x'} >= 2 and c < 1", "a{b!='x'} >= bool 2 and c < bool 1"),
        ("a / b > 0.5", "a / b > bool 0.5"),
    ],
)
def test_an_alert_without_its_thresholds_returns_data(expression, expected):
    assert prometheus.without_thresholds(expression) == expected


def test_every_alert_is_tested_and_documented():
    alerts = re.findall(r"- alert: (\w+)", monitoring.ALERTS.read_text())
    tests = re.findall(r"- name: (\w+)$", monitoring.ALERT_TESTS.read_text(), re.MULTILINE)
    documented = re.findall(
        r"^\| `(Cairn\w+)`", (monitoring.DIRECTORY / "README.md").read_text(), re.M
    )
    assert alerts == tests == documented


def test_every_panel_says_what_it_shows():
    panels = json.loads(monitoring.DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        if panel["type"] != "row":
            assert panel["description"].endswith("."), panel["title"]


def test_an_unknown_metric_is_found():
    class Exporter:
        def scrape(self):
            return {"mysql_up": 1.0, "mysql_exporter_last_scrape_error": 0.0, "mysql_a": 0.0}

    monitoring._check_names(Exporter(), ["mysql_a > 1"])
    with pytest.raises(Failed, match="mysql_b"):
        monitoring._check_names(Exporter(), ["mysql_a > 1", "rate(mysql_b[5m])"])


@pytest.mark.skipif(
    prefix.current() is None
    or not plugin.library().exists()
    or not prefix.require().monitoring.is_dir()
    or not prefix.require().sysbench.is_dir(),
    reason="./cairn acceptance monitoring has not obtained the exporter and sysbench yet",
)
def test_every_expression_returns_data_from_a_live_server(tmp_path):
    count = monitoring.check(Reporter(), prefix.require(), tmp_path)
    assert count > 60

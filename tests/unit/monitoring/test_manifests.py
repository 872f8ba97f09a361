"""What is installed is what the code writes, and finds the pods."""

import json
from typing import Any

import pytest

from monitoring.__main__ import FOLDER, files
from monitoring.dashboard import UID
from monitoring.rules import ALERTS
from monitoring.series import JOB, SCRAPE_INTERVAL
from tests.unit.manifests.rendered import (
    BASE,
    container_of,
    one,
    rendered,
)

pytestmark = pytest.mark.tools

MONITORING = "monitoring"
NAMESPACE = "longhorn-scheduler"
NAME = "longhorn-scheduler-extender"


@pytest.mark.parametrize("name", sorted(files()))
def test_a_file_is_as_it_is_written(name):
    committed = (FOLDER / name).read_text(encoding="utf-8")

    assert committed == files()[name], "run `make monitoring`"


def test_everything_is_in_the_namespace_of_the_extender():
    assert {obj["metadata"]["namespace"] for obj in rendered(MONITORING)} == {NAMESPACE}


def test_grafana_finds_the_dashboard():
    config_map = one(MONITORING, "ConfigMap", f"{NAME}-dashboard")
    [(name, text)] = config_map["data"].items()

    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert name.endswith(".json")
    assert json.loads(text)["uid"] == UID


def test_prometheus_gets_every_alert():
    [group] = one(MONITORING, "PrometheusRule", NAME)["spec"]["groups"]

    assert [rule["alert"] for rule in group["rules"]] == [alert.alert for alert in ALERTS]


def test_prometheus_finds_the_pods_and_their_port():
    spec = one(MONITORING, "PodMonitor", NAME)["spec"]
    deployment = one(BASE, "Deployment", NAME)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"] for port in container_of(deployment)["ports"]}

    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert {endpoint["port"] for endpoint in spec["podMetricsEndpoints"]} <= ports
    assert labels[spec["jobLabel"]] == JOB
    assert [endpoint["interval"] for endpoint in spec["podMetricsEndpoints"]] == [SCRAPE_INTERVAL]


def test_pods_are_looked_for_in_the_namespace_of_the_monitor():
    spec: dict[str, Any] = one(MONITORING, "PodMonitor", NAME)["spec"]

    assert "namespaceSelector" not in spec

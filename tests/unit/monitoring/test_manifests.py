"""What is installed is what the code writes, and finds the pods."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitoring.__main__ import FOLDER, files
from monitoring.dashboard import UID
from monitoring.rules import ALERTS
from monitoring.series import JOB, SCRAPE_INTERVAL
from tests.unit.manifests.rendered import (
    BASE,
    ROOT,
    TLS,
    container_of,
    one,
    render,
    rendered,
    write_overlay,
)

pytestmark = pytest.mark.tools

MONITORING = "monitoring"
NAMESPACE = "longhorn-scheduler"
NAME = "longhorn-scheduler-extender"


@pytest.mark.parametrize("name", sorted(files()))
def test_a_file_is_as_it_is_written(name: str) -> None:
    committed = (FOLDER / name).read_text(encoding="utf-8")

    assert committed == files()[name], "run `make monitoring`"


def test_everything_is_in_the_namespace_of_the_extender() -> None:
    assert {obj["metadata"]["namespace"] for obj in rendered(MONITORING)} == {NAMESPACE}


def test_grafana_finds_the_dashboard() -> None:
    config_map = one(MONITORING, "ConfigMap", f"{NAME}-dashboard")
    [(name, text)] = config_map["data"].items()

    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert name.endswith(".json")
    assert json.loads(text)["uid"] == UID


def test_prometheus_gets_every_alert() -> None:
    [group] = one(MONITORING, "PrometheusRule", NAME)["spec"]["groups"]

    assert [rule["alert"] for rule in group["rules"]] == [alert.alert for alert in ALERTS]


def test_prometheus_finds_the_pods_and_their_port() -> None:
    spec = one(MONITORING, "PodMonitor", NAME)["spec"]
    deployment = one(BASE, "Deployment", NAME)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"] for port in container_of(deployment)["ports"]}

    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert {endpoint["port"] for endpoint in spec["podMetricsEndpoints"]} <= ports
    assert labels[spec["jobLabel"]] == JOB
    assert [endpoint["interval"] for endpoint in spec["podMetricsEndpoints"]] == [SCRAPE_INTERVAL]


def test_the_patch_of_the_documentation_leads_to_the_port_for_metrics(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    [patch] = re.findall(r"```yaml\n(patches:.*?)```", text, flags=re.DOTALL)
    write_overlay(tmp_path, MONITORING, yaml.safe_load(patch))
    container = container_of(one(TLS, "Deployment", NAME))
    variables = {each["name"]: each.get("value") for each in container["env"]}
    ports = {str(port["containerPort"]): port["name"] for port in container["ports"]}

    [monitor] = [obj for obj in render(tmp_path) if obj["kind"] == "PodMonitor"]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]

    assert endpoint["port"] == ports[str(variables["EXTENDER_METRICS_PORT"])]


def test_pods_are_looked_for_in_the_namespace_of_the_monitor() -> None:
    spec: dict[str, Any] = one(MONITORING, "PodMonitor", NAME)["spec"]

    assert "namespaceSelector" not in spec

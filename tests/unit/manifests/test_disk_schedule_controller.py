"""The controller of DiskSchedules is installed if it is asked for, the same by either way."""

import json
from typing import Any

import pytest
import typer
import yaml

from app.config import CONTROLLER_NAME, PREFIX
from app.disk_schedule.settings import ControllerSettings, load_controller
from cli.commands import commands
from supply.manifests import CHART, CLOSED, MANIFESTS, NAMESPACE, OWN
from tests.unit.manifests.charted import DEFAULTS, WITHOUT_INJECTION, charted, find
from tests.unit.manifests.rendered import BASE, MONITORING, Object, at, container_of, rendered
from tests.unit.manifests.test_chart_and_kustomize import by_key, kustomized

pytestmark = pytest.mark.tools

VALUES = "disk-schedule-controller"
MANAGED = "--set=diskScheduleController.manageObjects=true"
DEFINED = "--set=diskScheduleController.definition=true"
SET_BY_CHART = {
    *("port", "namespace", "longhorn_namespace", "pod_name", "node_name"),
    *("log_level", "manage_objects"),
}


def controller(*options: str, values: str = VALUES) -> Object:
    return find(charted(values, *options), "Deployment", CONTROLLER_NAME)


def variables(deployment: Object) -> dict[str, str]:
    env = container_of(deployment)["env"]
    return {item["name"]: item["value"] for item in env if "value" in item}


def test_it_is_not_installed_as_shipped():
    for objects in (charted(DEFAULTS), rendered(BASE), rendered(MONITORING)):
        assert not [obj for obj in objects if CONTROLLER_NAME in obj["metadata"]["name"]]
        assert "CustomResourceDefinition" not in {obj["kind"] for obj in objects}


OBJECTS = ["disk-schedule-controller", "disk-schedule-objects"]


@pytest.mark.parametrize(("options", "components"), [((), OBJECTS[:1]), ((MANAGED,), OBJECTS)])
def test_the_chart_installs_what_the_components_do(tmp_path, options, components):
    assert by_key(charted(VALUES, OWN, CLOSED, WITHOUT_INJECTION, *options)) == kustomized(
        tmp_path, *components
    )


def test_the_chart_brings_the_definition_if_it_is_asked_for():
    text = (MANIFESTS / "disk-schedule" / "crd.yaml").read_text(encoding="utf-8")
    [definition] = [
        obj for obj in charted(VALUES, DEFINED) if obj["kind"] == "CustomResourceDefinition"
    ]

    assert definition == yaml.safe_load(text)
    # With the definition all objects would go.
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_prometheus_is_told_of_it_by_either_way(tmp_path):
    found = kustomized(tmp_path, "disk-schedule-controller", "disk-schedule-monitoring")
    monitor = find(
        charted(VALUES, "--set=metrics.podMonitor.enabled=true"), "PodMonitor", CONTROLLER_NAME
    )
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]

    assert by_key((monitor,)).items() <= found.items()
    assert endpoint["port"] in {each["name"] for each in container_of(controller())["ports"]}


def test_its_command_exists():
    _, command = container_of(controller())["command"]

    assert command in getattr(typer.main.get_command(commands), "commands", {})


def test_what_is_chosen_reaches_it():
    assert load_controller(variables(controller())) == ControllerSettings()
    assert load_controller(variables(controller(values="everything"))) == ControllerSettings(
        longhorn_namespace="longhorn-elsewhere",
        manage_objects=True,
        host="0.0.0.0",  # noqa: S104 (compared, not bound)
        view_age_limit_seconds=100.0,
        log_level="debug",
    )


def test_every_setting_of_it_can_be_set():
    schema: Any = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    extra = schema["properties"]["diskScheduleController"]["properties"]["extraEnv"]["properties"]
    fields = set(ControllerSettings.__struct_fields__)

    assert {name.removeprefix(PREFIX).lower() for name in extra} == fields - SET_BY_CHART
    assert fields >= SET_BY_CHART


def test_its_pods_are_like_those_of_the_service():
    ours, service = controller(), find(charted(VALUES), "Deployment")
    of_pods = ("securityContext", "tolerations", "priorityClassName", "enableServiceLinks")
    of_containers = ("securityContext", "image", "imagePullPolicy")

    for path in (*(f"pod.{each}" for each in of_pods), "spec.strategy"):
        assert at(ours, path) == at(service, path) is not None
    for path in (f"container.{each}" for each in of_containers):
        assert at(ours, path) == at(service, path) is not None
    assert ours["spec"]["replicas"] == 2


def test_its_account_is_its_own():
    objects = charted(VALUES, MANAGED)
    account = find(objects, "ServiceAccount", CONTROLLER_NAME)
    namespace = account["metadata"]["namespace"]
    subject = {"kind": "ServiceAccount", "name": CONTROLLER_NAME, "namespace": namespace}
    bound = {
        obj["roleRef"]["name"]
        for obj in objects
        if obj["kind"].endswith("Binding") and obj["subjects"] == [subject]
    }

    assert bound == {
        CONTROLLER_NAME,
        f"{CONTROLLER_NAME}.{NAMESPACE}",
        f"{CONTROLLER_NAME}-objects.{NAMESPACE}",
    }
    assert at(controller(), "pod.serviceAccountName") == CONTROLLER_NAME
    assert account["automountServiceAccountToken"] is False


def test_no_selector_of_the_service_takes_its_pods():
    labels = controller()["spec"]["template"]["metadata"]["labels"]
    fields = {
        "Deployment": "selector",
        "NetworkPolicy": "podSelector",
        "PodDisruptionBudget": "selector",
    }
    selectors = [
        find(charted(VALUES), kind)["spec"][field]["matchLabels"] for kind, field in fields.items()
    ]

    assert not any(selector.items() <= labels.items() for selector in selectors)

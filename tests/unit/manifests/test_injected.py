"""What `helm test` says of a pod that the API server would create."""

import importlib.util
from types import ModuleType
from typing import Any

import pytest

from supply.manifests import CHART
from tests.unit.manifests.charted import WITHOUT_INJECTION, annotations, template

RESOURCE = "longhorn.io/scheduler-extender"


@pytest.fixture(scope="module")
def injected() -> ModuleType:
    """The program, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("injected", CHART / "files" / "injected.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pod(scheduler: str, **limits: str) -> dict[str, Any]:
    """Return a pod as the API server answers it."""
    container = {"name": "probe", "resources": {"limits": limits} if limits else {}}
    return {"spec": {"schedulerName": scheduler, "containers": [container]}}


@pytest.mark.parametrize(
    ("answered", "scheduler", "problem"),
    [
        (pod("default-scheduler", **{RESOURCE: "1"}), "", ""),
        (pod("longhorn-scheduler", **{RESOURCE: "1"}), "longhorn-scheduler", ""),
        (pod("default-scheduler"), "", "namespace shop does not get longhorn.io/"),
        (pod("default-scheduler", cpu="1"), "", "namespace shop does not get longhorn.io/"),
        (
            pod("default-scheduler", **{RESOURCE: "1"}),
            "longhorn-scheduler",
            "gets the schedulerName default-scheduler and not longhorn-scheduler",
        ),
    ],
)
def test_a_pod_needs_the_resource_and_the_scheduler(
    injected: ModuleType, answered: dict[str, Any], scheduler: str, problem: str
) -> None:
    found = injected.problem(answered, "shop", scheduler)

    assert problem in found
    assert bool(found) == bool(problem)


def test_the_right_to_create_pods_is_there_for_the_test_alone() -> None:
    objects = template("tests/injection")
    policies = {
        obj["kind"]: annotations(obj)["helm.sh/hook-delete-policy"].split(",") for obj in objects
    }

    assert {annotations(obj)["helm.sh/hook"] for obj in objects} == {"test"}
    for kind in ("ServiceAccount", "Role", "RoleBinding"):
        assert {"hook-succeeded", "hook-failed"} <= set(policies[kind])


def test_it_is_left_out_where_nothing_is_injected() -> None:
    excluded = "--set=injection.excludedNamespaces={default}"

    assert template("tests/injection", WITHOUT_INJECTION) == []
    assert template("tests/injection", excluded) == []

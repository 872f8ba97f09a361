"""What `helm test` says of a pod that the API server would create."""

import importlib.util
from types import ModuleType
from typing import Any

import pytest

from supply.manifests import CHART
from tests.unit.manifests.charted import (
    CONFIGURED,
    WITH_ADDRESS,
    WITHOUT_INJECTION,
    annotations,
    template,
)

pytestmark = pytest.mark.tools

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
def test_a_pod_needs_the_resource_and_the_scheduler(injected, answered, scheduler, problem):
    found = injected.problem(answered, "shop", scheduler, "the page says why")

    assert problem in found
    assert bool(found) == bool(problem)


def test_the_right_to_create_pods_is_there_for_the_test_alone():
    objects = template("tests/injection")
    policies = {
        obj["kind"]: annotations(obj)["helm.sh/hook-delete-policy"].split(",") for obj in objects
    }

    assert {annotations(obj)["helm.sh/hook"] for obj in objects} == {"test"}
    for kind in ("ServiceAccount", "Role", "RoleBinding"):
        assert {"hook-succeeded", "hook-failed"} <= set(policies[kind])


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ([], ["default", "longhorn-scheduler"]),
        ([WITH_ADDRESS, CONFIGURED], ["default", ""]),
        ([WITH_ADDRESS, "--set=injection.mode=webhook"], ["default", ""]),
    ],
)
def test_it_knows_where_to_try_and_which_scheduler_is_named(options, given):
    assert arguments(*options) == given


def test_while_injection_waits_it_says_how_it_begins(injected):
    namespace, scheduler, why = arguments(WITH_ADDRESS)

    found = injected.problem(pod("default-scheduler"), namespace, scheduler, why)

    assert "kube-scheduler would not ask the extender about it; injection waits until" in found
    assert found.endswith(" --reset-then-reuse-values --set kubeSchedulerConfigured=true`")
    [policy] = template(
        "injection-policy",
        WITH_ADDRESS,
        *found.removesuffix("`").split()[-2:],
        *("--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"),
    )[:1]
    assert policy["kind"] == "MutatingAdmissionPolicy"


def arguments(*options: str) -> list[str]:
    """Return what the program is called with."""
    [tested] = [obj for obj in template("tests/injection", *options) if obj["kind"] == "Pod"]
    [container] = tested["spec"]["containers"]
    return [str(each) for each in container["args"][1:]]


def test_it_is_left_out_where_nothing_is_injected():
    excluded = "--set=injection.excludedNamespaces={default}"

    assert template("tests/injection", WITHOUT_INJECTION) == []
    assert template("tests/injection", excluded) == []

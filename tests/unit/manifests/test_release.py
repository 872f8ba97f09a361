"""The order in which Helm and Argo CD begin and end what the chart installs."""

import pytest
import yaml

from app.config import RESOURCE
from supply.manifests import OWN
from tests.unit.manifests.charted import (
    CONFIGURED,
    DEFAULTS,
    NAME,
    WITH_ADDRESS,
    annotations,
    charted,
    hooks,
    template,
)
from tests.unit.manifests.rendered import Object

pytestmark = pytest.mark.tools

POLICY = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
SECOND = "--set=mode=second-scheduler"
ARGO_PHASES = {
    "pre-install": "PreSync",
    "pre-upgrade": "PreSync",
    "post-install": "PostSync",
    "post-upgrade": "PostSync",
    "pre-delete": "PreDelete",
    "pre-rollback": "",
    "post-rollback": "",
}
"""What Argo CD makes of Helm's hooks (its docs/user-guide/helm.md); it has no rollbacks."""


def jobs(*options: str, values: str = DEFAULTS) -> dict[str, Object]:
    """Return the Jobs by the part of an installation's life that they are for."""
    return {
        each["metadata"]["name"].removeprefix(f"{NAME}-"): each
        for each in hooks(values, *options)
        if each["kind"] == "Job"
    }


def phases(obj: Object) -> set[str]:
    return {ARGO_PHASES[each] for each in annotations(obj)["helm.sh/hook"].split(",")} - {""}


JOBS = {
    "second scheduler": ([POLICY], "begin end"),
    "second scheduler, webhook": ([], "begin end"),
    "cluster's": ([POLICY, WITH_ADDRESS, CONFIGURED], "begin pause end"),
    "not configured yet": ([POLICY, WITH_ADDRESS], "pause end"),
    "nobody can call": ([POLICY, OWN], "pause end"),
    "pods name it themselves": (["--set=injection.mode=none"], "end"),
    "nobody leads": ([POLICY, "--set=liveSettings.enabled=false"], "end"),
    "emergency": ([POLICY, "--set=secondaryScheduler.ask=false"], "end"),
}


@pytest.mark.parametrize(("options", "expected"), JOBS.values(), ids=JOBS)
def test_injection_begins_where_it_can_be_tried(options, expected):
    assert {*jobs(*options)} == {*expected.split()}


@pytest.mark.parametrize(
    ("options", "scheduler"),
    [((POLICY, SECOND), "longhorn-scheduler"), ((POLICY, WITH_ADDRESS, CONFIGURED), None)],
)
def test_injection_is_begun_by_a_pod_that_goes_where_pods_will_go(options, scheduler):
    spec = jobs(*options)["begin"]["spec"]["template"]["spec"]

    assert spec.get("schedulerName") == scheduler
    assert spec["containers"][0]["resources"]["limits"] == {RESOURCE: "1"}


def test_what_ends_it_needs_neither_the_scheduler_nor_the_service():
    for each in ("pause", "end"):
        spec = jobs(OWN)[each]["spec"]["template"]["spec"]
        assert "schedulerName" not in spec
        assert "resources" not in spec["containers"][0]


def test_argo_cd_takes_the_same_order_from_the_hooks():
    """Hooks of a phase come by their weight; PostSync is when all others are healthy."""
    found = hooks(DEFAULTS, POLICY, WITH_ADDRESS, CONFIGURED)
    ours = [each for each in found if annotations(each)["helm.sh/hook"] != "test"]
    by_name = {each["metadata"]["name"]: each for each in ours if each["kind"] == "Job"}
    rights = [each for each in ours if each["kind"] != "Job"]

    assert phases(by_name[f"{NAME}-begin"]) == {"PostSync"}
    assert phases(by_name[f"{NAME}-pause"]) == {"PreSync"}
    assert phases(by_name[f"{NAME}-end"]) == {"PreDelete"}
    for each in rights:
        assert phases(each) == {"PreSync", "PostSync", "PreDelete"}
        assert int(annotations(each)["helm.sh/hook-weight"]) < 0
    for each in ours:
        assert not any(name.startswith("argocd.argoproj.io/") for name in annotations(each))


CALLS = {
    "kube-scheduler calls an address": ([OWN, WITH_ADDRESS], True),
    "nobody calls": ([OWN], False),
    "the second scheduler goes with it": ([SECOND], False),
}


@pytest.mark.parametrize(("options", "kept"), CALLS.values(), ids=CALLS)
def test_what_a_kube_scheduler_was_given_outlives_the_release(options, kept):
    """The address that it calls, where it is refused at once, and certificates that it copied."""
    made = [each for each in charted(DEFAULTS, *options) if each["kind"] in ("Service", "Secret")]
    given = [each for each in made if each["metadata"]["name"] != f"{NAME}-webhook"]

    assert len(given) == 4
    for each in given:
        found = each["metadata"].get("annotations") or {}
        assert (found.get("helm.sh/resource-policy") == "keep") is kept


def test_in_an_emergency_the_second_scheduler_knows_the_resource_and_asks_nobody():
    [config_map] = template("secondary-scheduler/configmap", "--set=secondaryScheduler.ask=false")
    [entry] = yaml.safe_load(config_map["data"]["config.yaml"])["extenders"]

    assert entry["managedResources"] == [{"name": RESOURCE, "ignoredByScheduler": True}]
    assert not entry.keys() & {"filterVerb", "preemptVerb", "prioritizeVerb", "weight", "bindVerb"}

"""What is read of the service's objects, whatever they lack."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cli.doctor.config_maps import ConfigMap
from cli.doctor.facts import AutoscalerSeen, InstanceSeen, LeaseSeen
from cli.doctor.objects import (
    Lease,
    Pod,
    WebhookConfiguration,
    autoscaler_seen,
    instance_seen,
    is_over,
)
from cli.doctor.releases import release_of
from tests.unit.cli.test_doctor_findings import ANNOTATIONS, CONFIG, RELEASE

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def pod(*, status: dict[str, Any] | None = None, **fields: Any) -> Pod:
    metadata = {"name": "extender-0", **fields.pop("metadata", {})}
    return msgspec.convert({"metadata": metadata, "status": status, **fields}, Pod)


def unready(*states: dict[str, Any]) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}
    return {"conditions": [condition], "containerStatuses": [{"state": each} for each in states]}


UNSCHEDULED = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
STARTED = datetime(2026, 1, 1, tzinfo=UTC)
PODS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ready": ({"status": READY}, {"is_ready": True}),
    "status-missing": ({"status": None}, {}),
    "status-empty": ({"status": {"conditions": None, "containerStatuses": None}}, {}),
    "unready": ({"status": unready()}, {"trouble": "ContainersNotReady"}),
    "waiting-with-a-message": ({"status": unready({"running": {}}, BACK_OFF, {})},
        {"trouble": "CrashLoopBackOff: back-off"}),
    "waiting": ({"status": unready({"waiting": {"reason": "ErrImagePull"}})},
        {"trouble": "ErrImagePull"}),
    "without-a-node": ({"status": {"conditions": [UNSCHEDULED]}},
        {"trouble": "0/3 nodes"}),
    # Settings of all containers, without references.
    "settings": ({"spec": {"containers": [
        {"env": [{"name": "EXTENDER_PORT", "value": "1"}, {"name": "HOME", "value": "/"}]},
        {"env": None},
        {"env": [{"name": "EXTENDER_POD_NAME", "valueFrom": {"fieldRef": {}}}]}]}},
        {"variables": {"EXTENDER_PORT": "1"}}),
    "configured": ({"status": {"containerStatuses": [{"state": RUNNING}]},
        "metadata": {"annotations": {"checksum/config": "abc"}}},
        {"started": STARTED, "config_checksum": "abc"}),
}  # fmt: skip
"""What a pod has, and what is seen of it."""


@pytest.mark.parametrize(("fields", "expected"), PODS.values(), ids=PODS)
def test_what_is_seen_of_a_pod(fields, expected):
    seen = instance_seen(pod(**fields))

    assert seen == InstanceSeen(**{"name": "extender-0", "is_ready": False, **expected})


@pytest.mark.parametrize(
    ("fields", "over"),
    [
        ({"status": READY}, False),
        ({"status": {"phase": "Failed"}}, True),
        ({"status": {"phase": "Succeeded"}}, True),
        ({"metadata": {"deletionTimestamp": "2026-03-01T12:00:00Z"}}, True),
    ],
)
def test_pods_that_are_going_or_gone_do_not_count(fields, *, over):
    assert is_over(pod(**fields)) is over


def test_commands_and_arguments_of_all_containers_are_an_autoscalers():
    containers = [{"command": ["./cluster-autoscaler"], "args": ["--v=4"]}, {}, {"args": ["x"]}]

    seen = autoscaler_seen(pod(metadata={"namespace": "a"}, spec={"containers": containers}))

    assert seen == AutoscalerSeen(
        name="a/extender-0", arguments=["./cluster-autoscaler", "--v=4", "x"]
    )


@pytest.mark.parametrize("spec", [{}, {"holderIdentity": None, "renewTime": None}])
def test_a_lease_without_holder_is_free(spec):
    lease = msgspec.convert({"metadata": {"name": "it"}, "spec": spec}, Lease)

    assert lease.seen(is_renewed=True, watched_seconds=0.0) == LeaseSeen()


@pytest.mark.parametrize("holder", ["extender-0_some-uuid", "extender-0"])
def test_the_pod_of_a_holder_stands_before_the_underscore(holder):
    assert LeaseSeen(holder=holder).pod == "extender-0"


def test_a_config_map_says_who_wrote_its_data_and_when():
    fields = [
        {"manager": "helm", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}},
        {"manager": "labeler", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
        {"manager": "kubectl-patch", "fieldsV1": {"f:data": {"f:a": {}}}},
        {"manager": "kubectl-edit", "fieldsV1": {"f:data": None}},
        {"manager": None, "fieldsV1": None},
    ]
    metadata = {"name": "c", "annotations": ANNOTATIONS, "managedFields": fields}

    seen = msgspec.convert({"metadata": metadata, "data": {"a": "b"}}, ConfigMap).seen

    assert (seen.by_people, seen.release, seen.data) == (frozenset({"a"}), RELEASE, {"a": "b"})
    assert str(seen.changed) == "2026-01-02 00:00:00+00:00"


def test_an_object_of_helm_names_its_release():
    assert release_of(ANNOTATIONS) == RELEASE
    assert release_of({}) is release_of(None) is None


TRUSTED, OTHER = {"clientConfig": {"caBundle": "QQ=="}}, {"clientConfig": {"caBundle": None}}


@pytest.mark.parametrize(
    ("webhooks", "is_trusted"),
    [([TRUSTED], True), ([TRUSTED, OTHER], False), ([{}], False), ([], False), (None, False)],
)
def test_every_webhook_needs_a_ca_and_there_is_one(webhooks, *, is_trusted):
    found = msgspec.convert({"webhooks": webhooks}, WebhookConfiguration)

    assert found.is_trusted is is_trusted


def test_the_shipped_configuration_asks():
    assert CONFIG["extenders"][0]["filterVerb"] == "filter"

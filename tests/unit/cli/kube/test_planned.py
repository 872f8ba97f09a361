"""What plans read of nodes, volumes, Services and budgets; what cannot be read is named."""

from typing import Any

import pytest

from cli.kube.decoding import read_object
from cli.kube.resources import PLANNED
from extender.kubernetes import Claim, NodeTerm, PersistentVolume, Requirement, StorageClass
from longhorn import Unreadable
from planner.records import Budget, KubernetesNode, Selector, Service
from tests.builders import GIB, core_document

POLICY = {"apiVersion": "policy/v1"}


def planned(document: dict[str, Any]) -> Any:
    return read_object(document, PLANNED)


@pytest.mark.parametrize(
    ("status", "allocatable"),
    [
        ({}, {}),
        (
            {"allocatable": {"cpu": "3920m", "memory": "2Gi", "pods": "110", "gpu": 2}},
            {"cpu": 3920, "memory": 2 * GIB, "pods": 110, "gpu": 2},
        ),
        ({"capacity": {"cpu": 4}, "allocatable": {"cpu": 3}}, {"cpu": 3000}),
        ({"capacity": {"cpu": 4}}, {"cpu": 4000}),
    ],
)
def test_what_pods_may_ask_of_a_node(status: dict[str, Any], allocatable: dict[str, int]) -> None:
    found = planned(core_document("Node", "n", metadata={"labels": {"a": "b"}}, status=status))

    assert isinstance(found, KubernetesNode)
    assert (found.allocatable, found.labels) == (allocatable, {"a": "b"})


def test_an_amount_that_is_none_names_the_node() -> None:
    found = planned(core_document("Node", "n", status={"allocatable": {"memory": "lots"}}))

    assert isinstance(found, Unreadable)
    assert (found.kind, found.name) == ("Kubernetes Node", "n")
    assert found.why == "memory: 'lots' is not a quantity such as 100Gi"


ON_A = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}
ON_A_TERM = NodeTerm(
    labels=(Requirement(key="kubernetes.io/hostname", operator="In", values=("a",)),)
)


@pytest.mark.parametrize(
    ("affinity", "terms"),
    [
        pytest.param(None, None, id="anywhere"),
        pytest.param({"required": None}, None, id="nothing-required"),
        pytest.param({"required": {}}, (), id="no-node"),
        pytest.param(
            {"required": {"nodeSelectorTerms": [{"matchExpressions": [ON_A]}]}},
            (ON_A_TERM,),
            id="one-node",
        ),
    ],
)
def test_where_a_volume_can_be_used(affinity: Any, terms: tuple[NodeTerm, ...] | None) -> None:
    spec = {"nodeAffinity": affinity, "csi": {"driver": "d", "volumeHandle": "h"}}

    found = planned(core_document("PersistentVolume", "pv", spec=spec))

    assert found == PersistentVolume(
        name="pv", driver="d", volume_handle="h", terms=terms, retained=True
    )


@pytest.mark.parametrize(
    ("policy", "stays"), [(None, True), ("Retain", True), ("Delete", False), ("Recycle", False)]
)
def test_a_volume_stays_if_its_policy_is_to_retain_it_or_it_has_none(
    policy: str | None, *, stays: bool
) -> None:
    spec = {"persistentVolumeReclaimPolicy": policy}

    found = planned(core_document("PersistentVolume", "pv", spec=spec))

    assert isinstance(found, PersistentVolume)
    assert found.retained == stays


@pytest.mark.parametrize(("policy", "stay"), [(None, False), ("Delete", False), ("Retain", True)])
def test_volumes_of_a_class_stay_only_if_it_says_so(policy: str | None, *, stay: bool) -> None:
    document = core_document("StorageClass", "c") | {"apiVersion": "storage.k8s.io/v1"}

    found = planned({**document, "provisioner": "p", "reclaimPolicy": policy})

    assert isinstance(found, StorageClass)
    assert found.retains == stay


def test_service() -> None:
    written = core_document("Service", "web", spec={"selector": {"app": "web"}})

    assert planned(written) == Service(namespace="default", name="web", selector={"app": "web"})
    assert planned(core_document("Service", "kubernetes")).selector == {}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, Budget(namespace="default", name="it")),
        (
            {"selector": {}, "minAvailable": 2},
            Budget(namespace="default", name="it", selector=Selector(), least_available="2"),
        ),
        (
            {"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": "30%"},
            Budget(
                namespace="default",
                name="it",
                selector=Selector(labels={"a": "b"}),
                most_unavailable="30%",
            ),
        ),
    ],
)
def test_budget(spec: dict[str, Any], expected: Budget) -> None:
    assert planned(core_document("PodDisruptionBudget", spec=spec) | POLICY) == expected


@pytest.mark.parametrize("share", [-1, "half", "-5%", "1.5", "5%%"])
def test_a_budget_that_counts_otherwise_is_named(share: object) -> None:
    found = planned(core_document("PodDisruptionBudget", spec={"minAvailable": share}) | POLICY)

    assert isinstance(found, Unreadable)
    assert found.name == "default/it"
    assert "is neither a number of pods nor a share like 50%" in found.why


def test_a_claim_for_one_pod_at_a_time() -> None:
    found = planned(
        core_document("PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOncePod"]})
    )

    assert isinstance(found, Claim)
    assert found.read_write_once_pod


def test_a_class_knows_when_it_was_created() -> None:
    written = core_document("StorageClass", metadata={"creationTimestamp": "2026-11-21T03:00:00Z"})

    found = planned(written | {"apiVersion": "storage.k8s.io/v1"})

    assert isinstance(found, StorageClass)
    assert found.created == "2026-11-21T03:00:00Z"

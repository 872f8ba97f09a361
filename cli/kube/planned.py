"""What plans read of nodes, Services and budgets besides, from fields to records."""

import re

from msgspec import structs

from app.kube import objects
from cli.kube import placement
from cli.kube.planned_pods import Amounts, PlannedPod, amounts, planned_wishes
from cli.kube.planned_rules import LabelSelector, selector_of
from cli.kube.pods import Pod, pod_record
from planner.records import Budget, KubernetesNode, Service

_SHARE = re.compile("[0-9]{1,9}%?")


class NodeInfo(objects.KubeStruct, frozen=True):
    kubelet_version: objects.Text = None


class NodeStatus(objects.KubeStruct, frozen=True):
    capacity: Amounts | None = None
    allocatable: Amounts | None = None
    node_info: NodeInfo | None = None


class PlannedNode(placement.KubernetesNode, frozen=True, rename="camel"):
    status: NodeStatus | None = None


class ServiceSpec(objects.KubeStruct, frozen=True):
    selector: dict[str, objects.Text] | None = None


class ServiceObject(objects.KubeStruct, frozen=True):
    metadata: objects.Metadata
    spec: ServiceSpec | None = None


class BudgetSpec(objects.KubeStruct, frozen=True):
    selector: LabelSelector | None = None
    min_available: objects.Integer | str | None = None
    max_unavailable: objects.Integer | str | None = None


class PodDisruptionBudget(objects.KubeStruct, frozen=True):
    metadata: objects.Metadata
    spec: BudgetSpec | None = None


def planned_pod_record(pod: PlannedPod) -> Pod:
    """Translate a Pod with all that a plan takes into account.

    Raises:
        ValueError: What it asks for is no quantity, or negative.
    """
    return pod_record(pod, planned_wishes(pod))


def planned_node_record(node: PlannedNode) -> KubernetesNode:
    """Translate a Kubernetes Node with what pods may ask for.

    Where a node does not say that, its capacity counts, as for the API server (pkg/apis/core/v1/
    defaults.go SetDefaults_NodeStatus).

    Raises:
        ValueError: An amount is no quantity, or negative.
    """
    status = node.status or NodeStatus()
    given = status.capacity if status.allocatable is None else status.allocatable
    return structs.replace(
        placement.kubernetes_node_record(node),
        allocatable=amounts(given),
        kubelet=(status.node_info.kubelet_version if status.node_info else None) or "",
    )


def service_record(service: ServiceObject) -> Service:
    """Translate a Service."""
    given = (service.spec.selector if service.spec else None) or {}
    return Service(
        namespace=service.metadata.namespace or "default",
        name=service.metadata.name,
        selector={name: value or "" for name, value in given.items()},
    )


def budget_record(budget: PodDisruptionBudget) -> Budget:
    """Translate a PodDisruptionBudget.

    Raises:
        ValueError: It counts pods in another way than by number or share.
    """
    spec = budget.spec or BudgetSpec()
    return Budget(
        namespace=budget.metadata.namespace or "default",
        name=budget.metadata.name,
        selector=None if spec.selector is None else selector_of(spec.selector),
        least_available=_share("minAvailable", spec.min_available),
        most_unavailable=_share("maxUnavailable", spec.max_unavailable),
    )


def _share(field: str, given: int | str | None) -> str:
    text = "" if given is None else str(given)
    if text and not _SHARE.fullmatch(text):
        raise ValueError(f"{field} {text[:60]!r} is neither a number of pods nor a share like 50%")
    return text

"""Whether a node has what a pod asks for: resources by request, and ports."""

from collections.abc import Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.predicates.refusals import Lack, Refusal, refused
from planner.records import PODS, HostPort, KubernetesNode, Pod

_ALL_ADDRESSES = ("", "0.0.0.0")  # noqa: S104 - compared, not bound


def pod_fits_resources(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes where the requests of all pods would be more than is allocatable.

    What pods really use does not count. A resource that a node does not declare is one that it has
    none of. A node that declares none at all is not limited: such a node is only in a file.
    Source: kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go fitsRequest
    """
    wanted = {
        name: amount
        for name, amount in pod.wishes.requests.items()
        if amount > 0 and name not in cluster.ignored
    }
    needs = (PODS, 1), *sorted(wanted.items())

    def judge(node: KubernetesNode) -> Refusal | None:
        allocatable, requested = node.allocatable, cluster.requested(node.name)
        lacks = tuple(
            Lack(resource, amount, left, allocatable.get(resource, 0))
            for resource, amount in needs
            for left in (allocatable.get(resource, 0) - requested.get(resource, 0),)
            if amount > left
        )
        return _refusal(lacks) if lacks and allocatable else None

    return refused(nodes, cluster, ("fits", needs), judge)


def pod_fits_ports(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes where another pod has taken a port that the pod wants of its node.

    Source: kubernetes staging/src/k8s.io/kube-scheduler/framework/types.go HostPortInfo
    """
    ports = pod.wishes.ports

    def judge(node: KubernetesNode) -> Refusal | None:
        there = cluster.pods_on(node.name)
        taken = next((port for port in ports if _is_taken(port, there)), None)
        if taken is None:
            return None
        return Refusal("port_taken", f"port {taken.port}/{taken.protocol} of the node is taken")

    return refused(nodes, cluster, ("ports", ports), judge) if ports else {}


def _refusal(lacks: tuple[Lack, ...]) -> Refusal:
    if lacks[0].resource == PODS:
        return Refusal("too_many_pods", "it has as many pods as it takes", lacks[:1])
    shown = " and ".join(sorted(each.resource for each in lacks))
    text = f"too little {shown} is left for what the pod asks"
    return Refusal("insufficient_resources", text, lacks)


def _is_taken(wanted: HostPort, pods: Mapping[str, Pod]) -> bool:
    return any(
        wanted.port == taken.port
        and wanted.protocol == taken.protocol
        and (
            wanted.address == taken.address
            or wanted.address in _ALL_ADDRESSES
            or taken.address in _ALL_ADDRESSES
        )
        for pod in pods.values()
        for taken in pod.wishes.ports
    )

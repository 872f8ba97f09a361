"""Finds what steps name, or says what may be meant."""

from collections.abc import Iterable

from msgspec import structs

from longhorn import Disk, Node, NodeName
from planner.errors import unknown
from planner.naming import natural
from planner.picture import Event
from planner.plan import Plan
from planner.predicates.nodes import CORDON_TAINT
from planner.records import KubernetesNode, Pod
from planner.scheduling import Batch

_OF_ONE_NODE = frozenset({"BackingImageManager", "InstanceManager"})
"""Controllers of Longhorn's whose pods name their node themselves."""


def kubernetes_node(plan: Plan, name: str) -> KubernetesNode:
    """Return a Kubernetes node; raise PlanError if there is none of the name."""
    found = plan.cluster.nodes.get(NodeName(name))
    if found is None:
        raise unknown("node", name, plan.cluster.nodes)
    return found


def longhorn_node(plan: Plan, name: str) -> Node:
    """Return a Longhorn Node; raise PlanError if there is none of the name."""
    found = plan.cluster.get(Node, name)
    if found is None:
        raise unknown("Longhorn Node", name, plan.cluster.all(Node))
    return found


def disk_of(node: Node, name: str) -> Disk:
    """Return a disk of a node; raise PlanError if there is none of the name."""
    for disk in node.disks:
        if disk.name == name:
            return disk
    raise unknown(f"disk of node {node.name} called", name, (each.name for each in node.disks))


def pods_on(plan: Plan, node: NodeName) -> list[Pod]:
    """Return the pods of a node in the order of their names."""
    pods = plan.cluster.pods_on(node)
    return [pods[key] for key in sorted(pods, key=natural)]


def note_unknown_pods(plan: Plan) -> None:
    """Say that it is not known who is on the nodes, where no pod at all is known, as in files."""
    if not plan.cluster.pods:
        plan.not_known.append("not known: which pods are on the nodes, as no pod is known")


def put_disk(plan: Plan, node: Node, disk: Disk) -> None:
    """Put a disk in place of the one of its name."""
    disks = tuple(disk if each.name == disk.name else each for each in node.disks)
    plan.cluster.put(structs.replace(node, disks=disks))


def put_cordon(plan: Plan, node: KubernetesNode, *, is_cordoned: bool) -> None:
    """Cordon a node, or end that, with the taint that Kubernetes keeps beside it."""
    taints = tuple(each for each in node.taints if each != CORDON_TAINT)
    if is_cordoned:
        taints = (*taints, CORDON_TAINT)
    plan.cluster.put_node(structs.replace(node, cordoned=is_cordoned, taints=taints))


def keeps_to_node(pod: Pod) -> bool:
    """Whether a pod belongs to its node, and is made nowhere else when that goes.

    Those of Longhorn's managers have budgets that end a drain only when their replicas may go:
    `longhorn.drain_may_end` says when. Source: longhorn-manager
    controller/instance_manager_controller.go and backing_image_manager_controller.go.
    """
    owner = pod.wishes.owner
    is_managers = owner is not None and owner[0] in _OF_ONE_NODE
    return pod.wishes.of_daemon_set or pod.wishes.is_static or is_managers


def come_back(plan: Plan, pods: Iterable[Pod]) -> list[Event]:
    """Have the controllers of pods, which are gone, make them again; return where they are now.

    They are made together. A StatefulSet that orders its pods may make them one after another, but
    pods do not say whether theirs does.
    """
    batches, before = list[Batch](), dict[str, NodeName]()
    for pod in pods:
        if pod.node is not None:
            before[pod.key] = pod.node
        again = structs.replace(pod, node=None)
        plan.cluster.put_pod(again)
        batches.append(Batch(pods=(again,)))
    return plan.schedule(batches, before)

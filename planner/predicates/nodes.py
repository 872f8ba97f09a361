"""Rules that the pod and a node's own object decide.

Source: kubernetes pkg/scheduler/framework/plugins nodeunschedulable, tainttoleration, nodename and
nodeaffinity; staging/src/k8s.io/component-helpers/scheduling/corev1.
"""

from collections.abc import Iterable, Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.predicates.refusals import Refusal, refused
from planner.records import KubernetesNode, Pod, Taint, Toleration, Wishes
from planner.selectors import meets, shown

CORDON_TAINT = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
"""What stands for a cordon; Kubernetes also puts it on cordoned nodes."""
_HARD = ("NoSchedule", "NoExecute")
_CORDONED = Refusal("node_cordoned", "Kubernetes node is cordoned")
_OTHER_NAME = Refusal("node_name", "the pod asks for another node by name")


def cordon(wishes: Wishes, node: KubernetesNode) -> Refusal | None:
    """Refuse a cordoned node, unless the pod tolerates the taint that stands for it."""
    return (
        _CORDONED if node.cordoned and not is_tolerated(CORDON_TAINT, wishes.tolerations) else None
    )


def taint(wishes: Wishes, node: KubernetesNode) -> Refusal | None:
    """Refuse a node with a taint that keeps pods away and that the pod does not tolerate."""
    for each in node.taints:
        if each.effect in _HARD and not is_tolerated(each, wishes.tolerations):
            value = f"={each.value}" if each.value else ""
            shown = f"{each.key}{value}:{each.effect}"
            return Refusal("node_tainted", f"the pod does not tolerate taint {shown}")
    return None


def selector(wishes: Wishes, node: KubernetesNode) -> Refusal | None:
    """Refuse a node that lacks a label of nodeSelector."""
    for label, value in wishes.node_selector.items():
        if node.labels.get(label) != value:
            return Refusal("node_selector", f"it lacks label {label}={value} of nodeSelector")
    return None


def affinity(wishes: Wishes, node: KubernetesNode) -> Refusal | None:
    """Refuse a node that meets none of the terms of the required node affinity."""
    if wishes.terms is None or any(meets(node, term) for term in wishes.terms):
        return None
    text = f"it does not meet the pod's node affinity: {shown(wishes.terms)}"
    return Refusal("node_affinity", text)


def selector_or_affinity(wishes: Wishes, node: KubernetesNode) -> Refusal | None:
    """Refuse a node that nodeSelector or the required node affinity leaves out."""
    return selector(wishes, node) or affinity(wishes, node)


def check_node_unschedulable(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse cordoned nodes."""
    wishes = pod.wishes
    key = "cordon", wishes.tolerations
    return refused(nodes, cluster, key, lambda node: cordon(wishes, node))


def pod_tolerates_node_taints(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes with a taint that the pod does not tolerate."""
    wishes = pod.wishes
    key = "taint", wishes.tolerations
    return refused(nodes, cluster, key, lambda node: taint(wishes, node))


def match_node_selector(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes by nodeSelector."""
    wishes = pod.wishes
    if not wishes.node_selector:
        return {}
    key = "selector", *wishes.node_selector.items()
    return refused(nodes, cluster, key, lambda node: selector(wishes, node))


def node_affinity(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, Refusal]:
    """Refuse nodes by nodeSelector and by the required node affinity."""
    wishes = pod.wishes
    if not wishes.node_selector and wishes.terms is None:
        return {}
    key = "affinity", wishes.terms, *wishes.node_selector.items()
    return refused(nodes, cluster, key, lambda node: selector_or_affinity(wishes, node))


def host_name(
    pod: Pod,
    nodes: Sequence[NodeName],
    cluster: Cluster,  # noqa: ARG001 - as all predicates
) -> Mapping[NodeName, Refusal]:
    """Refuse all nodes but the one that the pod names, if it names one."""
    wanted = pod.wishes.node_name
    return {} if wanted is None else {name: _OTHER_NAME for name in nodes if name != wanted}


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of the tolerations is for this taint."""
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    same_value = toleration.value == taint.value
    return bool(toleration.key) and toleration.operator in ("", "Equal") and same_value

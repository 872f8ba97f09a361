"""Which nodes kube-scheduler leaves out before it asks the extender, as far as objects show it.

Judged here are what a Node, a pod and its volumes decide, and not resources, ports and rules about
other pods. The rules are those of plans (`planner/predicates/`).
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from longhorn import CORDONED, Node, NodeName
from planner.predicates import Limit, Refusal, affinity, cordon, selector, taint, within
from planner.records import KubernetesNode, Wishes

_RULES = (cordon, taint, selector, affinity)
_OF_STATE = frozenset(
    f"node.kubernetes.io/{each}" for each in ("not-ready", "unreachable", "unschedulable")
)
"""Keys of taints that Kubernetes puts on a node that is down or cordoned, and takes off again."""


def exclusions(
    names: Iterable[NodeName],
    kubernetes: Mapping[NodeName, KubernetesNode],
    longhorn: Mapping[NodeName, Node],
    wishes: Wishes,
    limits: Sequence[Limit],
) -> dict[NodeName, Refusal]:
    """Return those of the nodes *names* that kube-scheduler leaves out for a pod.

    Args:
        names: The nodes to look at.
        kubernetes: The Kubernetes Nodes that are known, by name.
        longhorn: The Longhorn Nodes. Of a node that is not in *kubernetes* they tell of a cordon;
            it passes otherwise.
        wishes: What the pod asks for.
        limits: The nodes that its volumes are limited to.
    """
    found = {}
    for name in names:
        if name in kubernetes:
            why = exclusion(kubernetes[name], wishes, limits)
        elif _says_cordoned(longhorn.get(name)):
            why = cordon(wishes, KubernetesNode(name=name, cordoned=True))
        else:
            why = None
        if why is not None:
            found[name] = why
    return found


def exclusion(node: KubernetesNode, wishes: Wishes, limits: Iterable[Limit] = ()) -> Refusal | None:
    """Say why kube-scheduler leaves a node out for a pod, None if it does not."""
    found = next(filter(None, (rule(wishes, node) for rule in _RULES)), None)
    return found or next(filter(None, (within(limit, node) for limit in limits)), None)


def is_left_out_for_good(
    node: KubernetesNode, wishes: Wishes, limits: Iterable[Limit] = ()
) -> bool:
    """Whether kube-scheduler leaves a node out also once it is neither cordoned nor down."""
    taints = tuple(each for each in node.taints if each.key not in _OF_STATE)
    well = structs.replace(node, cordoned=False, taints=taints)
    return exclusion(well, wishes, limits) is not None


def _says_cordoned(node: Node | None) -> bool:
    return node is not None and node.schedulable.reason == CORDONED

"""Which nodes kube-scheduler leaves out before it asks the extender, as far as objects show it.

Judged here are what a Node, a pod and its volumes decide, and not resources, ports and rules about
other pods. The rules are those of plans (`planner/predicates/`).
"""

from collections.abc import Iterable, Mapping, Sequence

from longhorn import NodeName
from planner.predicates import Limit, Refusal, affinity, cordon, selector, taint, within
from planner.records import KubernetesNode, Wishes

_RULES = (cordon, taint, selector, affinity)


def exclusions(
    nodes: Iterable[NodeName],
    known: Mapping[NodeName, KubernetesNode],
    wishes: Wishes,
    limits: Sequence[Limit],
) -> dict[NodeName, Refusal]:
    """Return those of *nodes* that kube-scheduler leaves out; nodes that are not known pass."""
    found = ((name, exclusion(known[name], wishes, limits)) for name in nodes if name in known)
    return {name: why for name, why in found if why is not None}


def exclusion(node: KubernetesNode, wishes: Wishes, limits: Iterable[Limit] = ()) -> Refusal | None:
    """Say why kube-scheduler leaves a node out for a pod, None if it does not."""
    found = next(filter(None, (rule(wishes, node) for rule in _RULES)), None)
    return found or next(filter(None, (within(limit, node) for limit in limits)), None)

"""Which nodes kube-scheduler leaves out before it asks the extender, as far as objects show it.

Judged here are what a Node and a pod alone decide, and not resources, ports and rules about other
pods.
"""

from collections.abc import Iterable, Mapping

from longhorn import NodeName
from planner.predicates import Refusal, affinity, cordon, selector, taint
from planner.records import KubernetesNode, Wishes

Exclusion = Refusal
_RULES = (cordon, taint, selector, affinity)


def exclusions(
    nodes: Iterable[NodeName], known: Mapping[NodeName, KubernetesNode], wishes: Wishes
) -> dict[NodeName, Exclusion]:
    """Return those of *nodes* that kube-scheduler leaves out; nodes that are not known pass."""
    found = ((name, exclusion(known[name], wishes)) for name in nodes if name in known)
    return {name: why for name, why in found if why is not None}


def exclusion(node: KubernetesNode, wishes: Wishes) -> Exclusion | None:
    """Say why kube-scheduler leaves a node out for a pod, None if it does not."""
    return next(filter(None, (rule(wishes, node) for rule in _RULES)), None)

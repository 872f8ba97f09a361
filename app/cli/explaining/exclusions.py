"""Which nodes kube-scheduler leaves out before it asks the extender, as far as objects show it.

Source: kubernetes pkg/scheduler/framework/plugins nodeunschedulable, tainttoleration and
nodeaffinity; staging/src/k8s.io/component-helpers/scheduling/corev1. Judged here are what a Node
and a pod alone decide, and not resources, ports and rules about other pods.
"""

from collections.abc import Iterable, Mapping

import msgspec

from app.kube.objects import Taint
from app.kube.placement import Requirement, Term, Toleration, Wishes
from app.kube.translate import KubernetesNode
from longhorn import Node, NodeName

_CORDON = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
_HARD = ("NoSchedule", "NoExecute")
_SAID_OF_CORDON = "KubernetesNodeCordoned"
"""Reason of a Longhorn Node's condition Schedulable (k8s/pkg/apis/longhorn/v1beta2/node.go)."""


class Exclusion(msgspec.Struct, frozen=True):
    """Why kube-scheduler leaves a node out: a code in the table of remedies, and the text."""

    code: str
    text: str


def exclusions(
    names: Iterable[NodeName],
    kubernetes: Mapping[str, KubernetesNode],
    longhorn: Mapping[str, Node],
    wishes: Wishes,
) -> dict[NodeName, Exclusion]:
    """Return those of the nodes *names* that kube-scheduler leaves out for a pod.

    Args:
        names: The nodes to look at.
        kubernetes: The Kubernetes Nodes that are known, by name.
        longhorn: The Longhorn Nodes. Of a node that is not in *kubernetes* they tell of a cordon;
            it passes otherwise.
        wishes: What the pod asks for.
    """
    found = {}
    for name in names:
        if name in kubernetes:
            why = exclusion(kubernetes[name], wishes)
        else:
            why = _cordoned(wishes) if _says_cordoned(longhorn.get(name)) else None
        if why is not None:
            found[name] = why
    return found


def exclusion(node: KubernetesNode, wishes: Wishes) -> Exclusion | None:
    """Say why kube-scheduler leaves a node out for a pod, None if it does not."""
    if node.cordoned and (cordoned := _cordoned(wishes)):
        return cordoned
    for taint in node.taints:
        if taint.effect in _HARD and not _is_tolerated(taint, wishes.tolerations):
            value = f"={taint.value}" if taint.value else ""
            shown = f"{taint.key}{value}:{taint.effect}"
            return Exclusion("node_tainted", f"the pod does not tolerate taint {shown}")
    for label, value in wishes.node_selector.items():
        if node.labels.get(label) != value:
            return Exclusion("node_selector", f"it lacks label {label}={value} of nodeSelector")
    if wishes.terms is not None and not any(_meets(term, node) for term in wishes.terms):
        return Exclusion("node_affinity", "it meets no term of the node affinity")
    return None


def _says_cordoned(node: Node | None) -> bool:
    return node is not None and node.schedulable.reason == _SAID_OF_CORDON


def _cordoned(wishes: Wishes) -> Exclusion | None:
    if _is_tolerated(_CORDON, wishes.tolerations):
        return None
    return Exclusion("node_cordoned", "Kubernetes node is cordoned")


def _is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    same_value = (toleration.value or "") == (taint.value or "")
    return bool(toleration.key) and toleration.operator in (None, "", "Equal") and same_value


def _meets(term: Term, node: KubernetesNode) -> bool:
    """Whether a node meets a term; one that asks for nothing is met by none."""
    labels, fields = term.match_expressions or (), term.match_fields or ()
    return (
        bool(labels or fields)
        and all(_is_met(each, node.labels) for each in labels)
        and all(_is_met(each, {"metadata.name": node.name}) for each in fields)
    )


def _is_met(wanted: Requirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(wanted.key or ""), wanted.values or []
    match wanted.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(wanted.operator, value, values)
    return False


def _compares(operator: str, value: str | None, values: list[str]) -> bool:
    try:
        number, [limit] = int(value or ""), [int(each) for each in values]
    except ValueError:
        return False
    return number > limit if operator == "Gt" else number < limit

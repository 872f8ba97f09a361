"""Which nodes kube-scheduler leaves out before it asks the extender, as far as objects show it.

Source: kubernetes pkg/scheduler/framework/plugins nodeunschedulable, tainttoleration, nodeaffinity
and volumebinding (checkBoundClaims, checkVolumeProvisions); staging/src/k8s.io/component-helpers
scheduling/corev1 and storage/volume. Judged here are what a Node, a pod and its volumes decide, and
not resources, ports and rules about other pods.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from extender import ClusterView, NodeTerm, PodRef, Requirement
from longhorn import NodeName
from planner.records import KubernetesNode, Taint, Toleration, Wishes

_CORDON = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
_HARD = ("NoSchedule", "NoExecute")


class Exclusion(msgspec.Struct, frozen=True):
    """Why kube-scheduler leaves a node out: a code in the table of remedies, and the text."""

    code: str
    text: str


class Limit(msgspec.Struct, frozen=True):
    """The nodes that a volume may be used on, or made for: those that meet one of the terms."""

    terms: tuple[NodeTerm, ...]
    exclusion: Exclusion
    """Of all other nodes."""


def limits_of(pod: PodRef, view: ClusterView) -> list[Limit]:
    """Return the nodes that the volumes of *pod* are limited to, Longhorn's and others."""
    return [*_limits(pod, view)]


def exclusions(
    nodes: Iterable[NodeName],
    known: Mapping[NodeName, KubernetesNode],
    wishes: Wishes,
    limits: Sequence[Limit],
) -> dict[NodeName, Exclusion]:
    """Return those of *nodes* that kube-scheduler leaves out; nodes that are not known pass."""
    found = ((name, exclusion(known[name], wishes, limits)) for name in nodes if name in known)
    return {name: why for name, why in found if why is not None}


def exclusion(
    node: KubernetesNode, wishes: Wishes, limits: Iterable[Limit] = ()
) -> Exclusion | None:
    """Say why kube-scheduler leaves a node out for a pod, None if it does not."""
    if node.cordoned and not _is_tolerated(_CORDON, wishes.tolerations):
        return Exclusion("node_cordoned", "Kubernetes node is cordoned")
    for taint in node.taints:
        if taint.effect in _HARD and not _is_tolerated(taint, wishes.tolerations):
            value = f"={taint.value}" if taint.value else ""
            shown = f"{taint.key}{value}:{taint.effect}"
            return Exclusion("node_tainted", f"the pod does not tolerate taint {shown}")
    for label, value in wishes.node_selector.items():
        if node.labels.get(label) != value:
            return Exclusion("node_selector", f"it lacks label {label}={value} of nodeSelector")
    if wishes.terms is not None and not any(_meets(term, node) for term in wishes.terms):
        shown = _shown(wishes.terms)
        return Exclusion("node_affinity", f"it does not meet the pod's node affinity: {shown}")
    for limit in limits:
        if not any(_meets(term, node) for term in limit.terms):
            return limit.exclusion
    return None


def _limits(pod: PodRef, view: ClusterView) -> Iterator[Limit]:
    for key in pod.claims:
        claim = view.claims.get(key)
        if claim is None:
            continue
        volume = view.persistent_volumes.get(claim.persistent_volume or "")
        storage_class = view.storage_classes.get(claim.storage_class or "")
        if volume is not None and volume.terms is not None:
            text = (
                f"PersistentVolume {volume.name} of claim {key} is limited to nodes with "
                f"{_shown(volume.terms)}"
            )
            yield Limit(volume.terms, Exclusion("volume_node_affinity", text))
        elif claim.persistent_volume is None and storage_class and storage_class.terms is not None:
            text = (
                f"StorageClass {storage_class.name} of claim {key} makes volumes only for nodes "
                f"with {_shown(storage_class.terms)}"
            )
            yield Limit(storage_class.terms, Exclusion("allowed_topologies", text))


def _shown(terms: Iterable[NodeTerm]) -> str:
    texts = (
        " and ".join(_requirement(each) for each in (*term.labels, *term.fields)) or "nothing"
        for term in terms
    )
    return ", or ".join(texts) or "nothing"


def _requirement(wanted: Requirement) -> str:
    values = f" {','.join(wanted.values)}" if wanted.values else ""
    return f"{wanted.key} {wanted.operator}{values}"


def _is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
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


def _meets(term: NodeTerm, node: KubernetesNode) -> bool:
    return (
        bool(term.labels or term.fields)
        and all(_is_met(each, node.labels) for each in term.labels)
        and all(_is_met(each, {"metadata.name": node.name}) for each in term.fields)
    )


def _is_met(wanted: Requirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(wanted.key), wanted.values
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


def _compares(operator: str, value: str | None, values: Iterable[str]) -> bool:
    try:
        number, [limit] = int(value or ""), [int(each) for each in values]
    except ValueError:
        return False
    return number > limit if operator == "Gt" else number < limit

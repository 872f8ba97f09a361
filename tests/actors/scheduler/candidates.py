"""Which nodes the scheduler's own plugins leave, as far as volumes and cordons go. Pure.

Source: kubernetes pkg/scheduler/framework/plugins/{volumebinding,nodeunschedulable}.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tests.actors.api import Informer, Object
from tests.actors.claims import claims_of
from tests.actors.provisioner import SELECTED_NODE

WAITS = "WaitForFirstConsumer"


class Storage(NamedTuple):
    """What is known of storage."""

    claims: Informer
    persistent_volumes: Informer
    storage_classes: Informer


class Candidates(NamedTuple):
    """The nodes that are left, or why there is none."""

    names: list[str]
    why: str = ""


def candidates(pod: Object, nodes: Iterable[Object], storage: Storage) -> Candidates:
    """Say where a pod may go, by name."""
    namespace = pod["metadata"]["namespace"]
    names = sorted(
        node["metadata"]["name"]
        for node in nodes
        if not (node.get("spec") or {}).get("unschedulable")
    )
    for name in claims_of(pod):
        claim = storage.claims.get(name, namespace)
        if claim is None:
            return Candidates([], f'persistentvolumeclaim "{name}" not found')
        if claim["metadata"].get("deletionTimestamp"):
            return Candidates([], f'persistentvolumeclaim "{name}" is being deleted')
        why = _obstacle(claim, storage)
        if why:
            return Candidates([], why)
        names = [node for node in names if fits_claim(claim, node, storage)]
    return Candidates(names, "" if names else "node(s) were unschedulable or do not fit volumes")


def unbound(pod: Object, storage: Storage) -> list[Object]:
    """Return the claims of a pod that are to be provisioned."""
    namespace = pod["metadata"]["namespace"]
    found = [storage.claims.get(name, namespace) for name in claims_of(pod)]
    return [claim for claim in found if claim is not None and not is_bound(claim)]


def is_bound(claim: Object) -> bool:
    return bool(claim["spec"].get("volumeName"))


def selected_node(claim: Object) -> str:
    """Return the node that a claim is to be provisioned for; "" if there is none."""
    return str((claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, ""))


def fits_claim(claim: Object, node: str, storage: Storage) -> bool:
    """Say whether a claim may be used on *node*."""
    if not is_bound(claim):
        return selected_node(claim) in ("", node)
    volume = storage.persistent_volumes.get(claim["spec"]["volumeName"])
    return volume is not None and node in (pinned_to(volume) or (node,))


def _obstacle(claim: Object, storage: Storage) -> str:
    if is_bound(claim):
        return ""
    storage_class = storage.storage_classes.get(claim["spec"].get("storageClassName", ""))
    if storage_class is None or storage_class.get("volumeBindingMode") != WAITS:
        return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def pinned_to(volume: Object) -> list[str]:
    """Name the nodes that a PersistentVolume is limited to; none if it is not."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
    return [
        name
        for term in required.get("nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        for name in expression.get("values") or ()
    ]

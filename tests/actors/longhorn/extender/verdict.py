"""Which nodes Longhorn's extender accepts for a pod. Pure.

Room is judged as the CSI driver tells it of a node: by the largest disk, as last published. The
proposal packs the volumes on all disks; nothing here depends on that.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from app.quantity import parse_bytes
from tests.actors.api import Object
from tests.actors.claims import claims_of
from tests.actors.longhorn.accounts import nodes_with_replicas
from tests.actors.longhorn.capacity import capacity
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.objects import DRIVER

RESERVED = "node is reserved by another pod"
UNKNOWN = "there is no such Longhorn node"
FULL = "not enough room for the volumes of the pod"


class Wanted(msgspec.Struct, frozen=True):
    """A volume of the pod; a claim that is not bound has none yet, and so no replica."""

    volume: str
    size_bytes: int
    storage_class: Object
    nodes: frozenset[str]
    """Where replicas of it are."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is answered, and whether room is taken by it."""

    accepted: Sequence[str]
    rejected: Mapping[str, str]
    takes_room: bool = False


def judge(
    cluster: Cluster, pod: Object, candidates: Sequence[str], reserved: Collection[str]
) -> Verdict:
    """Judge all candidates, in their order."""
    wanted = [*volumes_of(cluster, pod)]
    if not wanted:
        return Verdict(accepted=candidates, rejected={})
    at_home = [node for node in candidates if all(node in each.nodes for each in wanted)]
    if at_home:
        others = {node: "replicas are elsewhere" for node in candidates if node not in at_home}
        return Verdict(accepted=at_home, rejected=others)
    reasons = {node: _refusal(cluster, node, wanted, reserved) for node in candidates}
    rejected = {node: reason for node, reason in reasons.items() if reason}
    accepted = [node for node in candidates if node not in rejected]
    return Verdict(accepted=accepted, rejected=rejected, takes_room=True)


def volumes_of(cluster: Cluster, pod: Object) -> Iterator[Wanted]:
    """List what a pod's claims of Longhorn want."""
    placed = nodes_with_replicas(cluster.replicas.objects.values())
    for name in claims_of(pod):
        claim = cluster.claims.get(name, pod["metadata"]["namespace"])
        spec = claim["spec"] if claim else {}
        storage_class = cluster.storage_classes.get(spec.get("storageClassName", ""))
        if storage_class is None or storage_class["provisioner"] != DRIVER:
            continue
        bound = cluster.persistent_volumes.get(spec.get("volumeName", ""))
        volume = bound["spec"]["csi"]["volumeHandle"] if bound else ""
        size = parse_bytes(spec["resources"]["requests"]["storage"])
        yield Wanted(volume, size, storage_class, placed.get(volume, frozenset()))


def _refusal(
    cluster: Cluster, node: str, wanted: Sequence[Wanted], reserved: Collection[str]
) -> str:
    """Say why a node is not accepted; "" if it is."""
    if node in reserved:
        return RESERVED
    found = cluster.nodes.get(node, cluster.namespace)
    if found is None:
        return UNKNOWN
    new = [each for each in wanted if node not in each.nodes]
    settings = cluster.setting_values()
    left = min(capacity(found, each.storage_class, settings).maximum_bytes for each in new)
    return "" if sum(each.size_bytes for each in new) <= left else FULL

"""What a cluster from files lacks, as far as that shows, and what is then not known.

A list without objects and a list that nobody asked for look the same in a file. So a kind is called
missing only if every cluster has objects of it, or if some other object leads to one.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from app.kube.longhorn.resources import (
    BACKING_IMAGES,
    ENGINE_IMAGES,
    INSTANCE_MANAGERS,
    LONGHORN_RESOURCES,
    NODES,
    REPLICAS,
    SETTINGS,
    SHARDS,
    VOLUMES,
)
from app.kube.resource import Resource
from app.kube.resources import (
    CLAIMS,
    CLUSTER_RESOURCES,
    CSI_NODES,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
)
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import KUBERNETES_NODES, PODS
from extender import UnresolvableClaimError
from extender.demand import LONGHORN_DRIVERS, NEW_VOLUME_DEFAULTS, future_backing_image
from extender.errors import UnseenObjectError
from extender.kubernetes import Claim, PersistentVolume, StorageClass
from longhorn import Node, Replica, Setting, Unreadable, Volume, default_values

_KINDS = (*CLUSTER_RESOURCES, *LONGHORN_RESOURCES, PODS, KUBERNETES_NODES)
_RUNNERS = (ENGINE_IMAGES, INSTANCE_MANAGERS, CSI_NODES)
"""The kinds that say what runs on nodes. Decisions do without."""
_DEFAULTS = {
    name: value
    for name, value in {**default_values(), **NEW_VOLUME_DEFAULTS}.items()
    if name != "default-instance-manager-image"
}
"""The settings that answers rest on."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of objects that a cluster from files may lack."""

    resource: Resource
    sign: Callable[[ClusterObjects], str]
    """Names an object that shows that the cluster has such objects; empty if there is none."""
    unknown: str
    """What is not known without them."""


def _always(_: ClusterObjects) -> str:
    return "every cluster has some"


def _volume_sign(cluster: ClusterObjects) -> str:
    for each in cluster.of(PersistentVolume).values():
        if each.driver in LONGHORN_DRIVERS:
            return f"PersistentVolume {each.name} is Longhorn's"
    for replica in cluster.of(Replica).values():
        return f"Replica {replica.name} is of one"
    return ""


def _replica_sign(cluster: ClusterObjects) -> str:
    for node in cluster.of(Node).values():
        for disk in node.disks:
            for name in disk.listed:
                return f"{name} is on {disk.name} of {node.name}"
    for volume in cluster.of(Volume).values():
        if volume.attached_to:
            return f"Volume {volume.name} is attached"
    return ""


def _shard_sign(cluster: ClusterObjects) -> str:
    names = (each.name for each in cluster.of(Volume).values() if each.sharded)
    return next((f"Volume {name} is erasure-coded" for name in names), "")


def _backing_image_sign(cluster: ClusterObjects) -> str:
    for volume in cluster.of(Volume).values():
        if volume.backing_image:
            return f"Volume {volume.name} has {volume.backing_image}"
    for each in cluster.of(StorageClass).values():
        if each.parameters.get("backingImage") and future_backing_image(each) is None:
            return f"StorageClass {each.name} has {each.parameters['backingImage']}"
    return ""


def _persistent_volume_sign(cluster: ClusterObjects) -> str:
    for claim in cluster.of(Claim).values():
        if claim.persistent_volume:
            return f"PersistentVolumeClaim {claim.key} is bound to {claim.persistent_volume}"
    return ""


def _storage_class_sign(cluster: ClusterObjects) -> str:
    for claim in cluster.of(Claim).values():
        if claim.storage_class and not claim.persistent_volume:
            return f"PersistentVolumeClaim {claim.key} is of class {claim.storage_class}"
    return ""


def _claim_sign(cluster: ClusterObjects) -> str:
    for pod in cluster.of(Pod).values():
        for claim in pod.ref.claims:
            return f"Pod {pod.key} has {claim}"
    return ""


ANSWERED_FROM: tuple[Kind, ...] = (
    Kind(resource=NODES, sign=_always, unknown="every node is rejected"),
    Kind(
        resource=VOLUMES,
        sign=_volume_sign,
        unknown="a pod with such a volume gets an error, and what Longhorn is about to place does "
        "not count",
    ),
    Kind(
        resource=REPLICAS,
        sign=_replica_sign,
        unknown="where data are is not known, and every replica counts as still to be placed",
    ),
    Kind(
        resource=SHARDS,
        sign=_shard_sign,
        unknown="such volumes count as whole, and shards that are not placed yet do not count",
    ),
    Kind(
        resource=BACKING_IMAGES,
        sign=_backing_image_sign,
        unknown="their selectors and sizes do not count, and a pod may get an error",
    ),
    Kind(
        resource=PERSISTENT_VOLUMES,
        sign=_persistent_volume_sign,
        unknown="a pod with a bound claim gets an error",
    ),
    Kind(
        resource=STORAGE_CLASSES,
        sign=_storage_class_sign,
        unknown="a pod with an unbound claim gets an error",
    ),
    Kind(resource=CLAIMS, sign=_claim_sign, unknown="a pod with a claim gets an error"),
)
"""The kinds that every answer rests on."""
ASKED_FROM: tuple[Kind, ...] = (
    *ANSWERED_FROM,
    Kind(
        resource=PODS,
        sign=_always,
        unknown="what is held for pods on their way to a node does not count",
    ),
    Kind(
        resource=KUBERNETES_NODES,
        sign=_always,
        unknown="the candidates are Longhorn's nodes, cordoned or not",
    ),
)
"""Those that a question rests on, too, if it comes from a person and not from kube-scheduler."""

PLANNED_FROM: tuple[Kind, ...] = (
    *ANSWERED_FROM,
    Kind(
        resource=PODS,
        sign=_always,
        unknown="nothing takes CPU, memory or ports, and no pod is moved",
    ),
    Kind(
        resource=KUBERNETES_NODES,
        sign=_always,
        unknown="the nodes are Longhorn's, with their zones, and without taints, other labels and "
        "limits of CPU, memory and pods",
    ),
)
"""Those that a plan rests on. Clusters need not have budgets, and Services need not matter."""


def missing(
    cluster: ClusterObjects, origin: str, kinds: Sequence[Kind], bundled: Collection[str]
) -> Iterator[str]:
    """Say what is missing, a line each, and at last how to add it.

    Args:
        cluster: All that is known.
        origin: The files that it comes from, as the lines are to name them.
        kinds: Those to look for.
        bundled: The namespaces that a support bundle among the files has objects of.
    """
    lacking = set[Resource]()
    for kind in kinds:
        if not _has(cluster, kind.resource) and (sign := kind.sign(cluster)):
            lacking.add(kind.resource)
            yield f"{origin}: no {kind.resource.name}, though {sign}; {kind.unknown}"
    runners = [each for each in _RUNNERS if not _has(cluster, each)]
    if runners:
        lacking.update(runners)
        names = ", ".join(each.name for each in runners)
        yield (
            f"{origin}: no {names}, though every cluster has some; nodes where volumes cannot be "
            f"attached for lack of what they show are accepted"
        )
    if absent := _absent_settings(cluster):
        lacking.add(SETTINGS)
        yield f"{origin}: {absent}"
    if bundled and all(each.ref.namespace in bundled for each in cluster.of(Pod).values()):
        lacking |= {PODS, CLAIMS}
        yield (
            f"{origin}: a support bundle has the pods and claims of some namespaces only, here "
            f"{', '.join(sorted(bundled))}; no other pod is known"
        )
    if lacking:
        yield f"to add what is missing: {_how_to_add(lacking)}"


def unresolvable(error: UnresolvableClaimError, origin: str) -> str:
    """Return the text of *error* where the cluster comes from files: they may lack an object."""
    if not isinstance(error, UnseenObjectError):
        return str(error)
    how = _how_to_add({each for each in _KINDS if each.label == error.kind})
    return (
        f"{error.kind} {error.name} is not in {origin}; create it, or if the cluster has it: {how}"
    )


def _has(cluster: ClusterObjects, resource: Resource) -> bool:
    """Whether there is some object of a kind, be it one that cannot be read."""
    return bool(cluster.of(resource.record)) or any(
        kind == resource.label for kind, _ in cluster.of(Unreadable)
    )


def _absent_settings(cluster: ClusterObjects) -> str:
    unreadable = {name for kind, name in cluster.of(Unreadable) if kind == SETTINGS.label}
    absent = _DEFAULTS.keys() - cluster.of(Setting).keys() - unreadable
    if not absent:
        return ""
    which = f"{len(absent)} of the {len(_DEFAULTS)} settings that answers rest on are missing"
    values = ", ".join(
        f"{name} {value or '(not known: v1.10 or newer)'}"
        for name, value in _DEFAULTS.items()
        if name in absent
    )
    return (
        f"{which if _has(cluster, SETTINGS) else f'no {SETTINGS.name}'}; Longhorn's defaults count "
        f"(its types/setting.go, the same from v1.8 to v1.13), whatever the cluster has: {values}"
    )


def _how_to_add(resources: AbstractSet[Resource]) -> str:
    kinds = ",".join(each.name for each in _KINDS if each in resources)
    return f"kubectl get --all-namespaces -o json {kinds} > more.json, then add --also more.json"

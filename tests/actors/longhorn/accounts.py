"""What is scheduled on disks, and whether that is more than Longhorn's own limit. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

import longhorn
from tests.actors.api import Object
from tests.actors.longhorn.settings import Settings, known


class Overcommitted(msgspec.Struct, frozen=True, kw_only=True):
    """A disk with more scheduled than its limit."""

    node: str
    disk: str
    limit_bytes: int
    assigned_bytes: int
    replicas: tuple[str, ...]

    @property
    def excess_bytes(self) -> int:
        return self.assigned_bytes - self.limit_bytes

    def __str__(self) -> str:
        return (
            f"{self.node}/{self.disk}: {self.assigned_bytes} B assigned, "
            f"{self.excess_bytes} B beyond the limit, by {', '.join(self.replicas)}"
        )


def overcommitted(
    nodes: Iterable[Object], replicas: Iterable[Object], settings: Settings
) -> tuple[Overcommitted, ...]:
    """Find the disks beyond their limit by the Replica objects, whatever node statuses say."""
    assigned = by_disk(replicas)
    return tuple(
        over
        for node in nodes
        for name, spec, status in disks(node)
        for here in (assigned.get(status["diskUUID"], {}),)
        for over in (
            Overcommitted(
                node=node["metadata"]["name"],
                disk=name,
                limit_bytes=limit_bytes(spec, status, settings),
                assigned_bytes=sum(here.values()) + _backing_image_bytes(status),
                replicas=tuple(sorted(here)),
            ),
        )
        if here and over.excess_bytes > 0
    )


def nodes_with_replicas(replicas: Iterable[Object]) -> Mapping[str, frozenset[str]]:
    """Say for each volume on which nodes a replica of it is, healthy or only assigned.

    Replicas that failed or are being deleted do not count.
    """
    found: dict[str, set[str]] = {}
    for replica in replicas:
        spec = replica["spec"]
        nodes = found.setdefault(spec["volumeName"], set())
        gone = spec.get("failedAt") or replica["metadata"].get("deletionTimestamp")
        if spec.get("nodeID") and spec.get("diskID") and not gone:
            nodes.add(spec["nodeID"])
    return {volume: frozenset(nodes) for volume, nodes in found.items()}


def disks(node: Object) -> Iterator[tuple[str, Object, Object]]:
    """List a node's disks that both spec and status know: name, spec, status."""
    statuses = (node.get("status") or {}).get("diskStatus") or {}
    for name, spec in ((node.get("spec") or {}).get("disks") or {}).items():
        if name in statuses:
            yield name, spec, statuses[name]


def limit_bytes(spec: Object, status: Object, settings: Settings) -> int:
    """Return the most that may be scheduled on a disk."""
    percent = known(settings).over_provisioning_percent
    return longhorn.limit_bytes(status["storageMaximum"], spec.get("storageReserved", 0), percent)


def growth_is_beyond(
    nodes: Iterable[Object], replicas: Iterable[Object], size_bytes: int, settings: Settings
) -> bool:
    """Say whether some disk is too small, as nodes are known, for its *replicas* of a new size.

    Source: longhorn-manager scheduler/replica_scheduler.go CheckReplicasSizeExpansion.
    """
    here = by_disk(replicas)
    return any(
        status["storageScheduled"] + sum(size_bytes - old for old in grown.values())
        > limit_bytes(spec, status, settings)
        for node in nodes
        for _, spec, status in disks(node)
        for grown in (here.get(status["diskUUID"], {}),)
        if grown
    )


Assigned = Mapping[str, Mapping[str, int]]
"""The bytes of each replica by the UUID of its disk and its own name."""


NONE: Mapping[str, Mapping[str, int]] = MappingProxyType({})


def counted(
    status: Object,
    assigned: Assigned,
    images: Iterable[Object] | None = None,
    shards: Assigned = NONE,
) -> Object:
    """Return a disk's status once it counts all that is assigned to it.

    Copies of backing images stay as they are, unless all *images* are given. Shards count under no
    name.
    """
    uuid = status["diskUUID"]
    here = assigned.get(uuid, {})
    if images is not None:
        copies = {
            image["metadata"]["name"]: image_bytes(image)
            for image in images
            if uuid in ((image.get("status") or {}).get("diskFileStatusMap") or {})
        }
        status = {**status, "scheduledBackingImage": copies}
    unnamed = sum(shards.get(uuid, {}).values())
    total = sum(here.values()) + _backing_image_bytes(status) + unnamed
    return {**status, "scheduledReplica": here, "storageScheduled": total}


def image_bytes(image: Object) -> int:
    """Return what a copy of a backing image takes; 0 while that is not known."""
    return int((image.get("status") or {}).get("size", 0))


def _backing_image_bytes(status: Object) -> int:
    return sum((status.get("scheduledBackingImage") or {}).values())


def by_disk(replicas: Iterable[Object]) -> Assigned:
    """Return what is assigned to each disk."""
    found: dict[str, dict[str, int]] = {}
    for replica in replicas:
        spec = replica["spec"]
        if spec.get("nodeID") and spec.get("diskID"):
            name = replica["metadata"]["name"]
            found.setdefault(spec["diskID"], {})[name] = int(spec["volumeSize"])
    return found

"""In which order Longhorn tries nodes, so that a volume's replicas spread over nodes and zones.

Source: longhorn-manager scheduler/replica_scheduler.go getDiskCandidates and
getCurrentNodesAndZones.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from simulator.disks import is_under_pressure, tags_match
from simulator.objects import BackingImage, Disk, Node, Replica, Volume
from simulator.settings import Settings


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes and zones hold replicas of the volume; by name.

    Only replicas on candidate nodes count: one on a node that is down or cordoned blocks neither
    its node nor its zone.
    """

    nodes: frozenset[str]
    zones: frozenset[str]
    staying_nodes: frozenset[str]
    """Those with a replica that is not being evicted."""
    staying_zones: frozenset[str]


def usage_of(replicas: Iterable[Replica], nodes: Sequence[Node]) -> Usage:
    """Work out what *replicas* use of the candidate *nodes*; those being deleted use nothing."""
    zones = {node.name: node.status.zone for node in nodes}
    there = [
        replica
        for replica in replicas
        if replica.spec.node_id in zones and replica.metadata.deletion_timestamp is None
    ]
    used = frozenset(replica.spec.node_id for replica in there)
    staying = frozenset(r.spec.node_id for r in there if not r.spec.eviction_requested)
    return Usage(
        nodes=used,
        zones=frozenset(zones[name] for name in used),
        staying_nodes=staying,
        staying_zones=frozenset(zones[name] for name in staying),
    )


def groups(
    nodes: Sequence[Node],
    usage: Usage,
    volume: Volume,
    image: BackingImage | None,
    settings: Settings,
) -> Iterator[tuple[Node, ...]]:
    """Yield groups of candidate *nodes*, best first; Longhorn never merges two."""
    spec = volume.spec
    tagged = [node for node in nodes if _tags_suit(node, volume, image, settings)]
    best_effort = _follow(spec.replica_auto_balance, settings.auto_balance) == "best-effort"
    emptied = [n for n in tagged if n.name in usage.nodes - usage.staying_nodes]

    yield tuple(node for node in tagged if node.status.zone not in usage.zones)
    if not is_soft(spec.replica_zone_soft_anti_affinity, default=settings.zone_soft_anti_affinity):
        yield tuple(n for n in emptied if best_effort or n.status.zone not in usage.staying_zones)
        return
    yield tuple(
        node
        for node in tagged
        if node.name not in usage.nodes or (best_effort and _has_pressure(node, settings))
    )
    if is_soft(spec.replica_soft_anti_affinity, default=settings.soft_anti_affinity):
        # Longhorn forgets the node tags here.
        yield tuple(node for node in nodes if node.name in usage.nodes)
    else:
        yield tuple(emptied)


def best_disks(
    group: Iterable[Node],
    fitting: Mapping[str, Collection[Disk]],
    replicas: Iterable[Replica],
    volume: Volume,
    settings: Settings,
) -> tuple[Disk, ...]:
    """Return the disks of *group* that fit and hold no replica of the volume yet.

    If every one of them holds a replica, that is none of them, or all if the volume's replicas
    may share a disk.

    Args:
        group: The nodes to look at.
        fitting: The disks that pass all other checks, by node.
        replicas: Those of the volume that count, also ones being deleted.
        volume: The volume.
        settings: Longhorn's settings.
    """
    disks = tuple(disk for node in group for disk in fitting.get(node.name, ()))
    used = {replica.spec.disk_id for replica in replicas}
    fresh = tuple(disk for disk in disks if disk.id not in used)
    may_share = is_soft(
        volume.spec.replica_disk_soft_anti_affinity, default=settings.disk_soft_anti_affinity
    )
    return disks if may_share and not fresh else fresh


def is_soft(of_volume: str, *, default: bool) -> bool:
    """Say whether an anti-affinity is soft: the volume's word, or the setting's."""
    return default if of_volume in ("", "ignored") else of_volume == "enabled"


def _follow(of_volume: str, setting: str) -> str:
    return setting if of_volume in ("", "ignored") else of_volume


def _tags_suit(node: Node, volume: Volume, image: BackingImage | None, settings: Settings) -> bool:
    selectors = [volume.spec.node_selector]
    if image is not None:
        selectors.append(image.spec.node_selector)
    return all(
        tags_match(node.spec.tags, selector, allow_empty=settings.allow_empty_node_selector)
        for selector in selectors
    )


def _has_pressure(node: Node, settings: Settings) -> bool:
    return settings.disk_pressure_percent > 0 and any(
        is_under_pressure(disk, settings) for disk in node.disks()
    )

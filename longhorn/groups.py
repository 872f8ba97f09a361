"""In which order Longhorn tries nodes, so that a volume's replicas spread over nodes and zones.

Source: longhorn-manager scheduler/replica_scheduler.go getDiskCandidates and
getCurrentNodesAndZones.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from longhorn.disks import DiskSpace, is_under_pressure
from longhorn.needs import Need
from longhorn.nodes import NodeSpace, has_tags
from longhorn.records import Node, NodeName, Replica, Volume
from longhorn.settings import Settings


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes and zones hold replicas of the volume; by name.

    Only replicas on candidate nodes count: one on a node that is down or cordoned blocks neither
    its node nor its zone.
    """

    nodes: frozenset[NodeName]
    zones: frozenset[str]
    staying_nodes: frozenset[NodeName]
    """Those with a replica that is not being evicted."""
    staying_zones: frozenset[str]


def usage_of(replicas: Iterable[Replica], nodes: Sequence[NodeSpace]) -> Usage:
    """Work out what *replicas* use of the candidate *nodes*; those being deleted use nothing."""
    zones = {space.node.name: space.node.zone for space in nodes}
    there = [
        (replica.node, replica)
        for replica in replicas
        if replica.node is not None and replica.node in zones and not replica.deleting
    ]
    used = frozenset(name for name, _ in there)
    staying = frozenset(name for name, replica in there if not replica.evicting)
    return Usage(
        nodes=used,
        zones=frozenset(zones[name] for name in used),
        staying_nodes=staying,
        staying_zones=frozenset(zones[name] for name in staying),
    )


def may_share_node(volume: Volume, settings: Settings) -> bool:
    """Say whether two replicas of a volume may be on one node."""
    return _either(volume.soft_anti_affinity, settings.soft_anti_affinity)


def may_share_zone(volume: Volume, settings: Settings) -> bool:
    """Say whether two replicas of a volume may be in one zone."""
    return _either(volume.zone_soft_anti_affinity, settings.zone_soft_anti_affinity)


def stage_of(node: Node, usage: Usage, volume: Volume, settings: Settings) -> int | None:
    """Say in which of the groups a node that has the tags comes first; None: in none.

    A replica goes to a node of the lowest stage that has room for it.
    """
    is_used = node.name in usage.nodes
    is_emptied = is_used and node.name not in usage.staying_nodes
    if node.zone not in usage.zones:
        return 0
    if not may_share_zone(volume, settings):
        best_effort = (volume.auto_balance or settings.auto_balance) == "best-effort"
        comes_back = best_effort or node.zone not in usage.staying_zones
        return 1 if is_emptied and comes_back else None
    if not is_used:
        return 1
    if may_share_node(volume, settings) or is_emptied:
        return 2
    return None


def groups(
    nodes: Sequence[NodeSpace],
    usage: Usage,
    volume: Volume,
    need: Need,
    settings: Settings,
) -> Iterator[tuple[NodeSpace, ...]]:
    """Yield groups of candidate *nodes*, best first; Longhorn never merges two."""
    tagged = [space for space in nodes if has_tags(space.node, need, settings)]
    best_effort = (volume.auto_balance or settings.auto_balance) == "best-effort"
    emptied = [s for s in tagged if s.node.name in usage.nodes - usage.staying_nodes]

    yield tuple(space for space in tagged if space.node.zone not in usage.zones)
    if not may_share_zone(volume, settings):
        yield tuple(s for s in emptied if best_effort or s.node.zone not in usage.staying_zones)
        return
    yield tuple(
        space
        for space in tagged
        if space.node.name not in usage.nodes or (best_effort and _has_pressure(space, settings))
    )
    if may_share_node(volume, settings):
        # Longhorn forgets the node tags here.
        yield tuple(space for space in nodes if space.node.name in usage.nodes)
    else:
        yield tuple(emptied)


def best_disks(
    group: Iterable[NodeSpace],
    fitting: Mapping[NodeName, Collection[DiskSpace]],
    replicas: Iterable[Replica],
    volume: Volume,
    settings: Settings,
) -> list[tuple[NodeName, DiskSpace]]:
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
    names = [space.node.name for space in group]
    disks = [(name, disk) for name in names for disk in fitting.get(name, ())]
    used = {replica.disk for replica in replicas}
    fresh = [(name, space) for name, space in disks if space.disk.id not in used]
    may_share = _either(volume.disk_soft_anti_affinity, settings.disk_soft_anti_affinity)
    return disks if may_share and not fresh else fresh


def _either(of_volume: bool | None, setting: bool) -> bool:  # noqa: FBT001 (both are settings)
    return setting if of_volume is None else of_volume


def _has_pressure(space: NodeSpace, settings: Settings) -> bool:
    return settings.disk_pressure_percent > 0 and any(
        is_under_pressure(each.disk, settings) for each in space.disks
    )

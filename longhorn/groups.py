"""In which order Longhorn tries nodes, so that a volume's replicas spread over nodes and zones.

Source: longhorn-manager scheduler/replica_scheduler.go getDiskCandidates and
getCurrentNodesAndZones.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from longhorn.disks import is_under_pressure
from longhorn.nodes import NodeDisks
from longhorn.records import NodeName, Volume
from longhorn.replicas import Replica
from longhorn.settings import Settings


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes and zones hold replicas of the volume.

    Only replicas on candidate nodes count: one on a node that is down or cordoned blocks neither
    its node nor its zone.
    """

    zone_of: Mapping[NodeName, str] = {}
    """The zone of each of the nodes."""
    staying: frozenset[NodeName] = frozenset()
    """Those with a replica that is not being evicted."""

    @property
    def zones(self) -> frozenset[str]:
        """Return the zones of the nodes."""
        return frozenset(self.zone_of.values())

    def plus(self, node: NodeName, zone: str) -> "Usage":
        """Return the usage with one more replica, on a node."""
        return Usage(zone_of={**self.zone_of, node: zone}, staying=self.staying | {node})


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that Longhorn tries together: some by name, or all but some names and zones."""

    only: frozenset[NodeName] | None = None
    but: Collection[NodeName] = ()
    but_zones: Collection[str] = ()
    asks_for_tags: bool = True
    """Whether they must have the node tags; Longhorn forgets that for shared nodes."""

    def has(self, node: NodeName, zone: str, has_tags: bool = True) -> bool:  # noqa: FBT001, FBT002
        """Say whether a node is one of them."""
        if self.asks_for_tags and not has_tags:
            return False
        if self.only is not None:
            return node in self.only
        return node not in self.but and zone not in self.but_zones


def usage_of(replicas: Iterable[Replica], spaces: Mapping[NodeName, NodeDisks]) -> Usage:
    """Work out what *replicas* use of the candidate nodes; those being deleted use nothing."""
    there = [
        (replica.node, replica)
        for replica in replicas
        if replica.node is not None and replica.node in spaces and not replica.deleting
    ]
    return Usage(
        zone_of={name: spaces[name].node.zone for name, _ in there},
        staying=frozenset(name for name, replica in there if not replica.evicting),
    )


def may_share_node(volume: Volume, settings: Settings) -> bool:
    """Say whether two replicas of a volume may be on one node."""
    return _either(volume.soft_anti_affinity, settings.soft_anti_affinity)


def may_share_zone(volume: Volume, settings: Settings) -> bool:
    """Say whether two replicas of a volume may be in one zone."""
    return _either(volume.zone_soft_anti_affinity, settings.zone_soft_anti_affinity)


def may_share_disk(volume: Volume, settings: Settings) -> bool:
    """Say whether two replicas of a volume may be on one disk."""
    return _either(volume.disk_soft_anti_affinity, settings.disk_soft_anti_affinity)


def groups_of(
    volume: Volume, usage: Usage, settings: Settings, spaces: Mapping[NodeName, NodeDisks] = {}
) -> Sequence[Group]:
    """Return the groups of nodes that Longhorn tries for one more replica, best first.

    It takes the first that has a disk with room, and never merges two. A later one may name nodes
    of an earlier one again. Without the *spaces* of its nodes auto-balance moves nothing off a full
    disk.
    """
    zones, zone_of = usage.zones, usage.zone_of
    fresh = Group(but_zones=zones)
    emptied = zone_of.keys() - usage.staying
    if not may_share_zone(volume, settings):
        kept = {zone_of[name] for name in usage.staying}
        back = (
            name for name in emptied if zone_of[name] not in kept or _is_balanced(volume, settings)
        )
        return fresh, Group(only=frozenset(back))
    others = Group(but=zone_of.keys() - _full(volume, usage, settings, spaces))
    if may_share_node(volume, settings):
        return fresh, others, Group(only=frozenset(zone_of), asks_for_tags=False)
    return fresh, others, Group(only=frozenset(emptied))


def _full(
    volume: Volume, usage: Usage, settings: Settings, spaces: Mapping[NodeName, NodeDisks]
) -> set[NodeName]:
    """Return the nodes whose replica of the volume auto-balance would move to another disk."""
    if settings.disk_pressure_percent <= 0 or not _is_balanced(volume, settings):
        return set()
    return {
        name
        for name in usage.zone_of
        if name in spaces
        and any(is_under_pressure(each.disk, settings) for each in spaces[name].disks)
    }


def _is_balanced(volume: Volume, settings: Settings) -> bool:
    return (volume.auto_balance or settings.auto_balance) == "best-effort"


def _either(of_volume: bool | None, setting: bool) -> bool:  # noqa: FBT001 (both are settings)
    return setting if of_volume is None else of_volume

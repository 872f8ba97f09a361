"""Of the data that a pod's volumes have, how much is on each node, or near it.

A node with a usable replica saves a volume of best-effort locality a copy of the whole volume. Any
volume with N replicas reads from all of them in turn, and writes to all of them: one on the node
keeps 1/N of that off the network. Source: longhorn-engine pkg/controller replicator.go and
multi_writer_at.go.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from extender.demand.existing import Worth, existing_for
from extender.demand.requests import PodRequest, WantedVolume
from extender.view import ClusterView
from longhorn import NodeName

_VALUES = {Worth.USABLE: 1.0, Worth.EVICTING: 0.5, Worth.ROOM: 0.25}
_IN_THE_ZONE = 1 / 3
"""Value of a full set of replicas in the node's zone; a replica on the node counts 1."""


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """The shares of a pod's data, each from 0 to 1."""

    on_nodes: Mapping[NodeName, float]
    """For the nodes with a replica."""
    in_zones: Mapping[str, float]
    """For all other nodes of these zones."""

    def shares(self, nodes: Sequence[NodeName], view: ClusterView) -> list[float]:
        """Return the shares of nodes."""
        found = list[float]()
        for name in nodes:
            space = view.spaces.get(name)
            in_zone = 0.0 if space is None else self.in_zones.get(space.node.zone, 0.0)
            found.append(self.on_nodes.get(name, in_zone))
        return found


class _Volume(msgspec.Struct, frozen=True, kw_only=True):
    weight: float
    on_nodes: Mapping[NodeName, float]
    in_zones: Mapping[str, float]


def data_near(request: PodRequest, view: ClusterView) -> Near:
    """Work out what of a pod's data need not move to each node.

    Volumes without any data have no part in it, nor have those without a size yet, and those that
    are not attached to the pod's node: shared ones, whose share manager is elsewhere, standby and
    sharded ones.
    """
    found = [
        volume
        for wanted in (*request.volumes, *request.remote)
        if (volume := _volume(wanted, view)) is not None
    ]
    whole = sum(each.weight for each in found)
    zones = {zone for each in found for zone in each.in_zones}
    nodes = {node: view.spaces[node].node.zone for each in found for node in each.on_nodes}
    return Near(
        on_nodes={
            node: sum(
                each.weight * max(each.on_nodes.get(node, 0.0), each.in_zones.get(zone, 0.0))
                for each in found
            )
            / whole
            for node, zone in nodes.items()
        },
        in_zones={
            zone: sum(each.weight * each.in_zones.get(zone, 0.0) for each in found) / whole
            for zone in zones
        },
    )


def _volume(wanted: WantedVolume, view: ClusterView) -> _Volume | None:
    """Say what a volume is worth where; None if it has no part."""
    volume = wanted.volume
    if volume.shared or volume.standby or volume.sharded or not volume.size_bytes:
        return None
    existing = existing_for(wanted, view)
    if not existing:
        return None
    count = max(1, volume.wanted_replicas)
    in_zones = Counter(
        zone
        for node, replica in existing.items()
        if replica.worth is Worth.USABLE and (zone := view.spaces[node].node.zone)
    )
    return _Volume(
        weight=volume.size_bytes / (1 if wanted.is_local else count),
        on_nodes={node: _VALUES[replica.worth] for node, replica in existing.items()},
        in_zones={zone: _IN_THE_ZONE * min(1.0, n / count) for zone, n in in_zones.items()},
    )

"""Volumes that keep to the zone or region of their pod's node: parameter `volumeTopology`.

Longhorn fixes the place when it makes the volume, by the node that kube-scheduler chose. So what
such a volume needs is another thing on each node, until it is made.

Since v1.13. Source: longhorn-manager csi/controller_server.go CreateVolume, volumeTopologyTerms.
"""

from collections.abc import Sequence

from msgspec import structs

from extender.demand.requests import PodRequest, WantedVolume
from extender.view import ClusterView
from longhorn import Need, Node, NodeName, TopologyTerm, Volume


def at(wanted: WantedVolume, node: Node) -> WantedVolume:
    """Return a volume as it would be made for a pod on *node*."""
    volume = wanted.volume
    zone = node.zone if volume.keeps_zone else ""
    region = node.region if volume.keeps_region else ""
    if not (zone or (region and not volume.keeps_zone)):
        return wanted  # Longhorn leaves it without a place
    term = TopologyTerm(zone=zone, region=region)
    need: Need = structs.replace(wanted.need, topology=(term,))
    made: Volume = structs.replace(volume, topology=(term,))
    return WantedVolume(volume=made, need=need)


def by_place(
    request: PodRequest, candidates: Sequence[NodeName], view: ClusterView
) -> list[tuple[PodRequest, Sequence[NodeName]]]:
    """Return what a pod would ask for on which of *candidates*, in their order."""
    wanted = (*request.volumes, *request.remote)
    if not any(each.volume.keeps_zone or each.volume.keeps_region for each in wanted):
        return [(request, candidates)]
    found: dict[tuple[str, str], list[NodeName]] = {}
    for name in candidates:
        space = view.spaces.get(name)
        place = ("", "") if space is None else (space.node.zone, space.node.region)
        found.setdefault(place, []).append(name)
    if not found:
        return [(request, candidates)]
    return [(_at_place(request, names[0], view), names) for names in found.values()]


def _at_place(request: PodRequest, name: NodeName, view: ClusterView) -> PodRequest:
    space = view.spaces.get(name)
    if space is None:
        return request
    return structs.replace(
        request,
        volumes=tuple(at(each, space.node) for each in request.volumes),
        remote=tuple(at(each, space.node) for each in request.remote),
    )

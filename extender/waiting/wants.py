"""What a pod asks for, as far as it decides where the pod fits."""

from collections.abc import Hashable, Iterable
from operator import le

import msgspec
from msgspec import structs

from extender.demand.requests import PodRequest, WantedVolume
from extender.view import ClusterView
from longhorn import NodeName, VolumeName


class Kind(msgspec.Struct, frozen=True, cache_hash=True):
    """What a pod asks for but the sizes: of nodes and disks, and where replicas of it are."""

    parts: Hashable


class Wants(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod asks for. Where one fits, another of its kind fits that wants no more."""

    kind: Kind
    sizes: tuple[int, ...]
    """Of each volume in turn: the bytes to schedule, and those that it holds."""
    volumes: frozenset[VolumeName]
    """The volumes, and those that linked clones share data with. If one of them changes, so may
    this."""

    def covers(self, other: "Wants") -> bool:
        """Whether *other*, of the same kind, asks for as much of everything, or more."""
        return all(map(le, self.sizes, other.sizes))


def wants_of(request: PodRequest, view: ClusterView) -> Wants:
    """Say what a pod asks for."""
    volumes = (*request.volumes, *request.remote)
    return Wants(
        kind=Kind((len(request.volumes), *(_parts(each, view) for each in volumes))),
        sizes=tuple(n for each in volumes for n in (each.need.size_bytes, each.need.actual_bytes)),
        volumes=frozenset(
            name
            for each in volumes
            for name in (each.name, each.volume.linked_to)
            if name is not None
        ),
    )


def _parts(wanted: WantedVolume, view: ClusterView) -> Hashable:
    replicas = view.replicas.get(wanted.name, ())
    return (
        structs.replace(wanted.volume, name=VolumeName(""), size_bytes=0, actual_bytes=0),
        structs.replace(wanted.need, size_bytes=0, actual_bytes=0),
        _nodes(each.node or each.hard_node_affinity for each in replicas),
    )


def _nodes(found: Iterable[NodeName | None]) -> frozenset[NodeName]:
    return frozenset(node for node in found if node is not None)

"""The numbers behind an answer: on which disk each volume is, or would go."""

from collections.abc import Mapping

import msgspec

from extender.holds.evidence import volumes_still_held
from extender.holds.hold import State
from extender.holds.ledger import Ledger
from extender.kubernetes import PodRef
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.judging import judge
from extender.verdicts.situation import Situation
from extender.view import ClusterView
from longhorn import DiskName, NodeName, VolumeName
from packing import Packed, pack


class LocalDisks(msgspec.Struct, frozen=True, kw_only=True):
    """Where the volumes that must be local are, or would go, on one accepted node."""

    existing: Mapping[VolumeName, DiskName] = {}
    """Volumes with a replica there already; nothing is added for them."""
    new: Mapping[VolumeName, DiskName] = {}
    """Volumes that a new replica is needed for."""
    new_bytes: Mapping[VolumeName, int] = {}


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What a hold takes of one node."""

    pod: PodRef
    state: State
    bytes: Mapping[VolumeName, int]
    """Of the pod's volumes that are not placed yet."""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Room that a replica will take which Longhorn is about to place where it likes."""

    volume: VolumeName
    disk: DiskName | None
    """A disk on which it fits beside all else; Longhorn may take another one."""
    bytes: int
    is_sure: bool
    """Not only because of a pod that may yet go to several nodes."""


def expected(situation: Situation) -> Mapping[NodeName, list[Expected]]:
    """Return what the forecast takes of each node."""
    found, forecast = {}, situation.book.forecast.on
    own = {each.volume.name for each in situation.own}
    for name in forecast:
        space = situation.view.spaces[name]
        there = [each for each in forecast[name] if each.volume.name not in own]
        if not there:
            continue
        items = [each.item for each in situation.coming_to(space)]
        packed = pack(items, space.bins, step_limit=situation.limits.per_node)
        disks = packed.assignment if isinstance(packed, Packed) else {}
        found[name] = [
            Expected(
                volume=each.volume.name,
                disk=DiskName(disks[each.item.id]) if each.item.id in disks else None,
                bytes=each.item.logical_bytes,
                is_sure=each.is_sure,
            )
            for each in there
        ]
    return found


def charges(ledger: Ledger, node: NodeName, view: ClusterView, *, but: str = "") -> list[Charge]:
    """Return what holds take of *node*, without that of the pod with uid *but*."""
    found = [
        Charge(
            pod=hold.pod,
            state=hold.state,
            bytes={
                volume.name: volume.need.size_bytes
                for volume in volumes_still_held(hold, node, view.replicas)
            },
        )
        for hold in ledger.on_node(node, but=but)
    ]
    return [charge for charge in found if charge.bytes]


def local_disks(answer: Answer) -> dict[NodeName, LocalDisks]:
    """Return where the volumes would go on each accepted node, beside what is held for other pods.

    A packing proves that room exists; Longhorn may still choose other disks.
    """
    existing = {
        name: {
            volume: by_node[name].disk
            for volume, by_node in answer.existing.items()
            if name in by_node
        }
        for name in answer.accepted
    }
    situation = answer.situation
    if situation is None or answer.basis is not Basis.PLACEMENT:
        return {name: LocalDisks(existing=existing[name]) for name in answer.accepted}
    situation = situation.at_leisure()
    sizes = {volume.name: volume.need.size_bytes for volume in answer.request.volumes}
    found = {}
    for name in answer.accepted:
        space, limit = answer.view.spaces[name], situation.limits.per_node
        disks = judge(situation, space, step_limit=limit).assignment
        new = {VolumeName(volume): DiskName(disk) for volume, disk in disks.items()}
        found[name] = LocalDisks(
            existing=existing[name], new=new, new_bytes={volume: sizes[volume] for volume in new}
        )
    return found

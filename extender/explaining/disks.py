"""The numbers behind an answer: on which disk each volume is, or would go, and what is short."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from extender.demand.items import all_start, demand_of, suits
from extender.holds.evidence import volumes_still_held
from extender.holds.hold import State
from extender.holds.ledger import Ledger
from extender.kubernetes import PodRef
from extender.space import NodeSpace
from extender.verdicts.answering import Answer, Basis
from extender.verdicts.node_verdict import judge
from extender.verdicts.rejections import ClusterChange
from extender.verdicts.shortages import NoRoomAnywhere
from extender.verdicts.situation import Situation
from extender.view import ClusterView
from longhorn import DiskName, NodeName, VolumeName
from packing import Bin, Item, Packed, pack


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
    """Whether it is independent of open holds."""


class Headroom(StrEnum):
    """What of a disk is short."""

    LOGICAL = "logical"
    PHYSICAL = "physical"
    BOTH = "both"


class Shortfall(msgspec.Struct, frozen=True):
    """With so many bytes more on this disk the node would take the pod, and not with fewer."""

    disk: DiskName
    bytes: int
    headroom: Headroom
    """Which of the disk's must grow by so much; if either will do, the logical one."""


class Trials:
    """Packs within one limit of steps; what is not decided within it counts as not fitting."""

    def __init__(self, step_limit: int) -> None:
        self._steps_left = step_limit

    def fit(self, items: Sequence[Item], bins: Sequence[Bin]) -> bool:
        """Whether all of *items* fit."""
        outcome = pack(items, bins, step_limit=self._steps_left)
        self._steps_left = max(0, self._steps_left - outcome.steps)
        return isinstance(outcome, Packed)


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


def shortfalls(
    answer: Answer, *, every_disk: bool = False
) -> Mapping[NodeName, Sequence[Shortfall]]:
    """Return what rejected nodes lack, where it is about room on their disks.

    Of each node the disk that lacks least comes first. Disks are left out whose growth alone would
    not help, and those of which that is not decided within the limit of one request. So are nodes
    without any such disk.

    Args:
        every_disk: Return all disks of a node, not only the first: that takes some fifty packings
            for each.
    """
    rejected = answer.rejected.items()
    about_room = [name for name, why in rejected if ClusterChange.ROOM in why.ended_by]
    situation = answer.situation
    if situation is None or not about_room:
        return {}
    view, trials = answer.view, Trials(situation.limits.per_request)
    missing = {}
    for name in about_room:
        space = view.spaces.get(name)
        if space is None:
            continue
        if isinstance(answer.rejected[name], NoRoomAnywhere):
            items = _anywhere(situation, space)
        else:
            items = situation.demand_on(name).items
        if not items:
            continue
        items += tuple(each.item for each in situation.book.pinned_with_open(space))
        if trials.fit(items, space.bins):
            forecast = situation.book.forecast.on.get(name, ())
            items += tuple(each.item for each in forecast)
        missing[name] = items, space.bins
    nearest = {name: least_growth(*each, trials) for name, each in missing.items()}
    # The nearest of all nodes first, so that no other disk takes the steps from them.
    return {
        name: (least, *(_others(*missing[name], least, trials) if every_disk else ()))
        for name, least in nearest.items()
        if least is not None
    }


def least_growth(items: Sequence[Item], bins: Sequence[Bin], trials: Trials) -> Shortfall | None:
    """Return by how little one of *bins* must grow, in both headrooms, to let all items fit.

    None if that of no single one would do.

    Complexity: for each bin a binary search over bytes, so some fifty packings.
    """
    best: Shortfall | None = None
    for index in range(len(bins)):
        below = None if best is None else best.bytes
        best = _growth(items, bins, index, trials, below_bytes=below) or best
    return best


def _anywhere(situation: Situation, space: NodeSpace) -> tuple[Item, ...]:
    """Return the largest replica that finds room nowhere, if the node could take it at all."""
    if not space.takes_replicas:
        return ()
    needs = [each.need for each in situation.own if not each.volume.needs_local_replica]
    largest = max(needs, key=lambda need: need.size_bytes)
    demand = demand_of([("anywhere", largest)], situation.view)
    starts = all_start(demand, space.engines)
    return demand.items if starts and suits(demand, space.node) else ()


def _others(
    items: Sequence[Item], bins: Sequence[Bin], least: Shortfall, trials: Trials
) -> Iterator[Shortfall]:
    """Return by how little each other of *bins* must grow, the least first."""
    indices = (index for index, each in enumerate(bins) if each.id != least.disk)
    found = (_growth(items, bins, index, trials) for index in indices)
    yield from sorted(filter(None, found), key=lambda each: (each.bytes, each.disk))


def _growth(
    items: Sequence[Item],
    bins: Sequence[Bin],
    index: int,
    trials: Trials,
    *,
    below_bytes: int | None = None,
) -> Shortfall | None:
    """Return by how little one bin must grow, None if that would not do, or not *below_bytes*."""
    bin_ = bins[index]
    most = sum(item.logical_bytes + item.physical_bytes for item in items)
    most += max(0, -bin_.logical_bytes) + max(0, -bin_.physical_bytes)
    if below_bytes is not None:
        most = min(most, below_bytes - 1)
    if most < 0 or not trials.fit(items, _grown(bins, index, most)):
        return None
    lacking = -1
    while most - lacking > 1:
        middle = (most + lacking) // 2
        if trials.fit(items, _grown(bins, index, middle)):
            most = middle
        else:
            lacking = middle
    return Shortfall(DiskName(bin_.id), most, _headroom(items, bins, index, most, trials))


def _headroom(
    items: Sequence[Item], bins: Sequence[Bin], index: int, bytes_: int, trials: Trials
) -> Headroom:
    if trials.fit(items, _grown(bins, index, bytes_, Headroom.LOGICAL)):
        return Headroom.LOGICAL
    if trials.fit(items, _grown(bins, index, bytes_, Headroom.PHYSICAL)):
        return Headroom.PHYSICAL
    return Headroom.BOTH


def _grown(
    bins: Sequence[Bin], index: int, more_bytes: int, headroom: Headroom = Headroom.BOTH
) -> list[Bin]:
    logical = 0 if headroom is Headroom.PHYSICAL else more_bytes
    physical = 0 if headroom is Headroom.LOGICAL else more_bytes
    grown = msgspec.structs.replace(
        bins[index],
        logical_bytes=bins[index].logical_bytes + logical,
        physical_bytes=bins[index].physical_bytes + physical,
    )
    return [*bins[:index], grown, *bins[index + 1 :]]

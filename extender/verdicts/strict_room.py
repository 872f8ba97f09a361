"""Whether strict-local replicas keep the room on their node while Longhorn places others.

Longhorn places each volume by itself. A replica that may go anywhere may come to the node of a
strict-local one before that is placed, and take its room. Nothing heals that: the strict-local
volume waits for room on that node for ever. So its node must have room for it though all replicas
come there that are on their way and may. This is counted, not searched: Longhorn orders nodes by
figures that lag, and takes any of those that are equal, so one node may get all of them.

Longhorn places a best-effort volume elsewhere then, and the pod runs. So nobody waits for that
(docs/decisions/0030-nobody-waits-for-what-might-come.md).

Source: longhorn-manager scheduler/replica_scheduler.go getDiskWithMostBalanceScore.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice

from msgspec import structs

from extender.demand.items import item_of
from extender.holds.hold import State
from extender.space import NodeSpace
from extender.upcoming.eligibility import Takers
from extender.upcoming.upcoming import Upcoming, may_share
from extender.verdicts.rejections import Rejection
from extender.verdicts.shortages import LocalRoomAtRisk, PackingUndecided
from extender.verdicts.situation import Situation
from longhorn import DiskName, NodeName, Replica, Usage, may_share_node, may_share_zone
from packing import Bin, Item, Pieces, may_be_blocked

_NODES_PER_STEP, _VOLUMES_PER_STEP = 2, 5
"""So many nodes, and so many volumes on their way, are looked at in the time of a step."""


def strict_room_at_risk(
    situation: Situation, nodes: Iterable[NodeName]
) -> Mapping[NodeName, Rejection]:
    """Return which of *nodes*, all accepted else, put the room of a strict-local replica at risk.

    That is the pod's own, or one of another pod: on the node itself, where the pod's volumes may
    leave too little for it, or on any, where the pod's replicas may come.
    """
    held = _held_strict(situation)
    if not (situation.is_strict or held):
        return {}
    nodes = [*nodes]
    own = [each for each in situation.own if each.count]
    others = situation.book.anywhere.values()
    situation.work.spend((len(others) + len(own)) // _VOLUMES_PER_STEP)
    everywhere = _risk_anywhere(own, held, OnTheirWay((*others, *own), situation), situation)
    if everywhere is not None:
        return dict.fromkeys(nodes, everywhere)
    settings = situation.view.settings
    beside = [e for e in own if not e.volume.needs_local_replica or may_share(e.volume, settings)]
    with_others = OnTheirWay((*others, *beside), situation)
    rejected: dict[NodeName, Rejection] = {}
    if not situation.is_strict:
        nodes = [name for name in nodes if name in held]
    for number, name in enumerate(nodes):
        space, demand = situation.view.spaces[name], situation.demand_on(name).items
        if not demand:
            continue
        if _is_work_over(number, situation):
            rejected[name] = PackingUndecided()
        elif not _keeps_room(demand, space, with_others, situation, with_open=True):
            by_open = _keeps_room(demand, space, with_others, situation, with_open=False)
            rejected[name] = LocalRoomAtRisk(by_open=by_open)
    return rejected


def _risk_anywhere(
    own: Sequence[Upcoming],
    held: Mapping[NodeName, State],
    with_own: "OnTheirWay",
    situation: Situation,
) -> Rejection | None:
    """Return why the pod goes nowhere: its replicas may take room of others wherever it runs."""
    ordered = sorted(held, key=lambda name: (held[name] is State.OPEN, name))
    for number, name in enumerate(ordered if own else ()):
        if _is_work_over(number, situation):
            return PackingUndecided()
        if _takes_room(own, name, with_own, situation):
            return LocalRoomAtRisk(by_open=held[name] is State.OPEN)
    return None


def _is_work_over(number: int, situation: Situation) -> bool:
    """Spend what the look at node *number* takes; return whether there is no work left for it."""
    if not number % _NODES_PER_STEP:
        situation.work.spend(1)
    return situation.work.is_over


def _held_strict(situation: Situation) -> dict[NodeName, State]:
    """Return the nodes that other pods' strict-local replicas are to come to, or may."""
    found = dict[NodeName, State]()
    for hold in situation.ledger:
        if hold.pod.uid == situation.request.pod.uid:
            continue
        if any(each.is_strict for each in hold.volumes):
            for name in hold.nodes:
                if name in situation.view.spaces and found.get(name) is not State.CHOSEN:
                    found[name] = hold.state
    return found


def _takes_room(
    own: Iterable[Upcoming], name: NodeName, threat: "OnTheirWay", situation: Situation
) -> bool:
    """Whether the pod's replicas may come to a node, and too many with them."""
    eligibility, space = situation.book.forecast.eligibility, situation.view.spaces[name]
    may_come = any(
        eligibility.may_go(each, name) and eligibility.may_join(each, name) for each in own
    )
    return may_come and not _keeps_room((), space, threat, situation, with_open=True)


def _keeps_room(
    demand: Sequence[Item],
    space: NodeSpace,
    threat: "OnTheirWay",
    situation: Situation,
    *,
    with_open: bool,
) -> bool:
    """Whether a node has room for *demand* and for what is bound to it, though a threat comes.

    Args:
        with_open: Whether what open holds keep there is to find room as well.
    """
    book = situation.book
    pinned = book.pinned_with_open(space) if with_open else book.pinned(space)
    asking, bins = _asking_on(space, situation)
    items = (*demand, *(each.item for each in pinned), *asking)
    more, physical_bytes = threat.coming_to(space)
    physical_bytes += sum(item.physical_bytes for item in items)
    never_full = [each for each in bins if physical_bytes <= each.physical_bytes]
    return not any(
        may_be_blocked(item, (*items[:index], *items[index + 1 :]), never_full, more)
        for index, item in enumerate(items)
    )


class OnTheirWay:
    """Replicas that Longhorn is about to place, counted so that what may come to a node is a sum.

    Args:
        upcoming: What goes anywhere.
    """

    def __init__(self, upcoming: Iterable[Upcoming], situation: Situation) -> None:
        self._eligibility, settings = situation.book.forecast.eligibility, situation.view.settings
        sizes: dict[tuple[Takers, frozenset[str]], list[tuple[int, int]]] = {}
        self._apart: dict[NodeName, list[Upcoming]] = {}
        """Those that put no second replica on a node."""
        for each in upcoming:
            usage, volume, item = self._eligibility.usage_of(each), each.volume, each.item
            zones = frozenset[str]()
            if not may_share_zone(volume, settings):
                zones = frozenset(usage.zone_of[name] for name in usage.staying)
            elif not may_share_node(volume, settings):
                for name in usage.staying:
                    self._apart.setdefault(name, []).append(each)
            size, takers = (
                (item.logical_bytes, item.physical_bytes),
                self._eligibility.takers(each.need),
            )
            most = min(1, each.count)
            if each.count > 1 and may_share(volume, settings):
                most = _most_on_a_node(each, takers, usage)
            sizes.setdefault((takers, zones), []).extend([size] * most)
        self._sums = {key: _Sums(found) for key, found in sizes.items()}
        """By which nodes they may go to, and the zones that they stay out of."""

    def coming_to(self, space: NodeSpace) -> tuple[Pieces, int]:
        """Return what may come to a node, and how many physical bytes that is.

        What has no room there may come all the same while Longhorn's figures still show some.
        """
        name, bins = space.node.name, _seen_by_longhorn(space)
        count = logical_bytes = physical_bytes = largest_bytes = 0
        for (takers, zones), sums in self._sums.items():
            if name in takers and space.node.zone not in zones:
                largest = max(bin_.logical_bytes for bin_ in bins if bin_.kind in takers.kinds)
                found, physical = sums.up_to(largest)
                count += found.number
                logical_bytes += found.logical_bytes
                largest_bytes = max(largest_bytes, found.largest_bytes)
                physical_bytes += physical
                for each in self._apart.get(name, ()):
                    if (
                        self._eligibility.takers(each.need) is takers
                        and each.item.logical_bytes <= largest
                    ):
                        count -= 1
                        logical_bytes -= each.item.logical_bytes
                        physical_bytes -= each.item.physical_bytes
        return Pieces(count, logical_bytes, largest_bytes), physical_bytes


def _most_on_a_node(upcoming: Upcoming, takers: Takers, usage: Usage) -> int:
    """Return how many replicas of a volume may go to one node that may get several.

    Longhorn knows where a volume has replicas without any lag, and takes nodes without one first.

    Source: longhorn-manager scheduler/replica_scheduler.go getDiskCandidates.
    """
    size_bytes = upcoming.item.logical_bytes
    fresh = (
        name
        for name, most_bytes in takers.most_bytes.items()
        if most_bytes >= size_bytes and name not in usage.zone_of
    )
    return max(1, upcoming.count - max(0, len([*islice(fresh, upcoming.count)]) - 1))


class _Sums:
    """The sums of all replicas that are no larger than some size."""

    def __init__(self, sizes: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(sizes)
        self._sizes = [logical for logical, _ in ordered]
        self._logical = [0, *accumulate(self._sizes)]
        self._physical = [0, *accumulate(physical for _, physical in ordered)]

    def up_to(self, size_bytes: int) -> tuple[Pieces, int]:
        """Return those that are no larger, and their physical bytes."""
        count = bisect_right(self._sizes, size_bytes)
        largest_bytes = self._sizes[count - 1] if count else 0
        return Pieces(count, self._logical[count], largest_bytes), self._physical[count]


def _seen_by_longhorn(space: NodeSpace) -> Sequence[Bin]:
    """Return the disks with the room that Longhorn sees: its figures lag behind what is placed."""
    unseen = {
        str(each.disk.name): sum(
            size for name, size in each.unlisted.items() if name not in each.disk.listed
        )
        for each in space.disks
        if each.unlisted
    }
    return _roomier(space.bins, unseen)


def _asking_on(space: NodeSpace, situation: Situation) -> tuple[list[Item], Sequence[Bin]]:
    """Return local replicas of other pods that their disk may refuse yet, and the disks without.

    They count on the disk that they are on. But a replica whose request comes before theirs may get
    its room, and then they must find another disk of the node.
    """
    if not any(each.undecided for each in space.disks):
        return [], space.bins
    name, view = space.node.name, situation.view
    items, given_back = list[Item](), dict[str, int]()
    for hold in situation.ledger.on_node(name, but=situation.request.pod.uid):
        for volume in hold.volumes:
            disk = _asked(view.replicas.get(volume.name, ()), space)
            if disk is not None:
                items.append(item_of(volume.name, volume.need, view))
                given_back[disk] = given_back.get(disk, 0) + volume.need.size_bytes
    return items, _roomier(space.bins, given_back)


def _asked(replicas: Iterable[Replica], space: NodeSpace) -> DiskName | None:
    """Return the disk of a node that has yet to grant one of *replicas*, if there is one."""
    names = {replica.name for replica in replicas}
    found = (each.disk.name for each in space.disks if not names.isdisjoint(each.undecided))
    return next(found, None)


def _roomier(bins: Sequence[Bin], more_bytes: Mapping[str, int]) -> Sequence[Bin]:
    if not any(more_bytes.values()):
        return bins
    return [
        structs.replace(bin_, logical_bytes=bin_.logical_bytes + more_bytes.get(bin_.id, 0))
        for bin_ in bins
    ]

"""What will take room on one node and no other, and is not placed there yet.

Left out are replicas that Longhorn cannot place: whose volume is being deleted or whose backing
image is gone, that the node does not suit, or that fit on no disk even alone. A node must not be
lost to them for ever. One whose volume is not known counts: a live view may hear of the volume
later than of the replica. Holds count if they would fit on an empty disk: they end by themselves,
and on a disk that seems full something may have been deleted a moment ago.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from extender.demand.items import demand_of, item_of, suits
from extender.holds.evidence import volumes_still_held
from extender.holds.hold import Hold, State
from extender.holds.ledger import Ledger
from extender.space import NodeSpace
from extender.upcoming.upcoming import Certainty, Upcoming
from extender.upcoming.volumes import need_in, need_now
from extender.view import ClusterView
from longhorn import Locality, Need, NodeName, Replica, Volume, VolumeName, need_of
from packing import Bin, Item, Kind, is_stranded

_PLENTY_BYTES = 2**63


class OpenHolds(msgspec.Struct, frozen=True, kw_only=True):
    """What is held for pods that may go to any of several nodes, taken together."""

    holds: tuple[Hold, ...] = ()
    needs: tuple[Need, ...] = ()
    held: tuple[Upcoming, ...] = ()
    """One for each volume."""
    largest_bytes: int = 0
    shared_kinds: frozenset[Kind] = frozenset()
    """The kinds of disks that each of them may use."""
    nodes: frozenset[NodeName] = frozenset()
    """Where all of it takes room."""
    partly: frozenset[NodeName] = frozenset()
    """Where only a part of it does."""

    def on(self, space: NodeSpace) -> tuple[Upcoming, ...]:
        """Return what of it could ever fit on one of *nodes*, mostly all."""
        best = space.roomiest[0] if space.roomiest else None
        if (
            best is not None
            and best.kind in self.shared_kinds
            and self.largest_bytes <= best.logical_bytes
        ):
            return self.held
        return _fitting(self.held, _emptied(space))


def open_holds(
    ledger: Ledger, view: ClusterView, *, but: str = "", own: Collection[VolumeName] = ()
) -> OpenHolds:
    """Take open holds together, without that of the pod with uid *but*, nor its *own* volumes."""
    needs: dict[VolumeName, Need] = {}
    holds: list[Hold] = []
    for hold in ledger.open_holds(but=but):
        wanted = [each for each in hold.volumes if each.name not in own]
        if wanted:
            needs |= {each.name: need_now(each, view) for each in wanted}
            holds.append(hold)
    if not needs:
        return OpenHolds()
    accepted = [*{id(hold.nodes): hold.nodes for hold in holds}.values()]
    held = tuple(_held(needs, Certainty.OPEN, view))
    nodes = accepted[0].intersection(*accepted[1:]) - _counting_otherwise(needs, ledger, view)
    return OpenHolds(
        holds=tuple(holds),
        needs=tuple(needs.values()),
        held=held,
        largest_bytes=max(each.item.logical_bytes for each in held),
        shared_kinds=frozenset.intersection(*(each.item.kinds for each in held)),
        nodes=nodes,
        partly=frozenset().union(*accepted) - nodes,
    )


def _counting_otherwise(
    names: Iterable[VolumeName], ledger: Ledger, view: ClusterView
) -> set[NodeName]:
    """Return the nodes where held volumes may count less than elsewhere.

    A replica of the volume is there already, or the node is that of another pod that uses it.
    """
    found = set[NodeName]()
    for name in names:
        for replica in view.replicas.get(name, ()):
            found.update(filter(None, (replica.node, replica.hard_node_affinity)))
        found.update(h.node for h in ledger.holds_of(name) if h.state is State.CHOSEN)
    return found


def pinned_to(
    space: NodeSpace,
    view: ClusterView,
    ledger: Ledger,
    due: Iterable[VolumeName],
    *,
    but: str = "",
    own: Collection[VolumeName] = (),
    open_: OpenHolds | None = None,
) -> tuple[Upcoming, ...]:
    """Return what comes to a node for itself, the surest first.

    Args:
        space: The node.
        view: The cluster.
        ledger: The holds.
        due: The volumes of which a replica without an object is due on the node. Of those that an
            open hold keeps room for there, that hold counts.
        but: The uid of a pod whose hold does not count.
        own: Its volumes; they do not count either.
        open_: The open holds, if they are to count.
    """
    name, chosen, due = space.node.name, ledger.chosen_on(space.node.name, but=but), sorted(due)
    # Pods that share a volume need its room once, and are sure of it if one of them is.
    sure = _needs(chosen, name, own, view)
    shown = [
        upcoming
        for replica in space.pending
        if replica.volume not in own
        and (upcoming := _pending(replica, space, view, ledger)) is not None
    ]
    for volume in due:
        is_held = volume in sure or any(
            hold.state is State.OPEN and volume in _needs([hold], name, own, view)
            for hold in ledger.holds_of(volume, but=but)
            if name in hold.nodes
        )
        if not is_held and volume not in own:
            coming = _shown(view.volumes[volume], str(volume), space, view)
            shown += [] if coming is None else [coming]
    kept = [] if open_ is None else _kept_open(open_, name, view, sure)
    empty = _emptied(space) if sure or kept else ()
    return (
        *_fitting(shown, space.bins),
        *_fitting(_held(sure, Certainty.CHOSEN, view), empty),
        *_fitting(kept, empty),
    )


def _kept_open(
    open_: OpenHolds, name: NodeName, view: ClusterView, sure: Collection[VolumeName]
) -> list[Upcoming]:
    """Return what open holds keep on a node but for volumes that come there for sure."""
    here = {
        volume.name
        for hold in open_.holds
        if name in hold.nodes
        for volume in volumes_still_held(hold, name, view.replicas)
    }
    return [e for e in open_.held if (v := e.volume.name) in here and v not in sure]


def _needs(
    holds: Iterable[Hold], name: NodeName, own: Collection[VolumeName], view: ClusterView
) -> dict[VolumeName, Need]:
    return {
        volume.name: need_now(volume, view)
        for hold in holds
        for volume in volumes_still_held(hold, name, view.replicas)
        if volume.name not in own
    }


def _held(
    needs: Mapping[VolumeName, Need], certainty: Certainty, view: ClusterView
) -> list[Upcoming]:
    return [
        Upcoming(
            volume=view.volumes.get(name) or _stand_in(name, need.size_bytes),
            need=need,
            item=item_of(f"held/{name}", need, view),
            certainty=certainty,
        )
        for name, need in needs.items()
    ]


def _pending(
    replica: Replica, space: NodeSpace, view: ClusterView, ledger: Ledger
) -> Upcoming | None:
    """Return a replica that is bound to the node, None if Longhorn does not place it there.

    That of a strict-local volume waits until somebody is about to attach it.
    """
    volume = view.volumes.get(replica.volume)
    if volume is not None:
        waits = volume.node is None and volume.locality is Locality.STRICT_LOCAL
        if waits and not ledger.holds_of(volume.name):
            return None
        return _shown(volume, str(replica.name), space, view, replica)
    unknown = _stand_in(replica.volume, replica.size_bytes)  # unreadable, or not heard of yet
    everywhere = frozenset(view.disk_kinds.values())  # its selectors are not known
    return Upcoming(
        volume=unknown,
        need=need_of(unknown, None),
        item=Item(replica.name, replica.size_bytes, 0, everywhere),
        certainty=Certainty.SHOWN,
    )


def _shown(
    volume: Volume, name: str, space: NodeSpace, view: ClusterView, replica: Replica | None = None
) -> Upcoming | None:
    need = need_in(volume, view, replica)
    if need is None or not suits(demand_of([(name, need)], view), space.node):
        return None
    item = item_of(name, need, view)
    return Upcoming(volume=volume, need=need, item=item, certainty=Certainty.SHOWN)


def _emptied(space: NodeSpace) -> list[Bin]:
    """Return the usable disks as if nothing were on them."""
    limits = {str(each.disk.name): each.limit_bytes for each in space.disks}
    return [Bin(bin_.id, bin_.kind, limits[bin_.id], _PLENTY_BYTES) for bin_ in space.bins]


def _fitting(upcoming: Iterable[Upcoming], bins: Sequence[Bin]) -> tuple[Upcoming, ...]:
    """Return what fits on some disk, each alone."""
    return tuple(each for each in upcoming if not is_stranded(each.item, bins))


def _stand_in(name: VolumeName, size_bytes: int) -> Volume:
    """Return a volume that is not known, as far as is known of it."""
    return Volume(name=name, size_bytes=size_bytes, locality=Locality.DISABLED)

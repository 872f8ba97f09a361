"""What a threat, replicas that may come to any node, leaves of the room there."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import structs

from extender.demand.items import item_of
from extender.space import NodeSpace
from extender.upcoming.upcoming import Crowd
from extender.verdicts.situation import Situation
from longhorn import DiskName, Replica
from packing import Bin, Item, bytes_to_block


def asking_on(space: NodeSpace, situation: Situation) -> tuple[list[Item], Sequence[Bin]]:
    """Return local replicas of other pods that their disk may refuse yet, and the node without.

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
    bins = [
        structs.replace(bin_, logical_bytes=bin_.logical_bytes + given_back.get(bin_.id, 0))
        for bin_ in space.bins
    ]
    return items, bins


def seen_by_longhorn(space: NodeSpace) -> list[Bin] | None:
    """Return the disks with the room that Longhorn sees; None if it sees all that is placed."""
    unseen = {
        str(each.disk.name): sum(
            size for name, size in each.unlisted.items() if name not in each.disk.listed
        )
        for each in space.disks
        if each.unlisted
    }
    if not any(unseen.values()):
        return None
    return [
        structs.replace(bin_, logical_bytes=bin_.logical_bytes + unseen.get(bin_.id, 0))
        for bin_ in space.bins
    ]


def _asked(replicas: Iterable[Replica], space: NodeSpace) -> DiskName | None:
    """Return the disk of a node that has yet to grant one of *replicas*, if there is one."""
    names = {replica.name for replica in replicas}
    found = (each.disk.name for each in space.disks if not names.isdisjoint(each.undecided))
    return next(found, None)


def leaves_room(items: Sequence[Item], space: NodeSpace, threat: Crowd) -> bool:
    """Whether a node has room for *items* though all of a threat comes there."""
    logical_bytes, physical_bytes = threat.sums.most_bytes, threat.sums.physical_bytes
    for item in items:
        logical_bytes += item.logical_bytes
        physical_bytes += item.physical_bytes
    return leaves(items, space, logical_bytes, physical_bytes)


def leaves(
    items: Collection[Item], space: NodeSpace, logical_bytes: int, physical_bytes: int
) -> bool:
    """Whether a node has room for *items* though so much comes there, they included."""
    for room in space.rooms:
        if physical_bytes > room.least_physical_bytes:
            bins = [bin_ for bin_ in space.bins if physical_bytes <= bin_.physical_bytes]
            break
    else:
        # The same, from what is worked out for each node before. Plain loops: on large clusters
        # most of a decision is spent here.
        for item in items:
            to_block = 0
            for room in space.rooms:
                if room.kind in item.kinds:
                    to_block += room.bytes_to_block(item.logical_bytes)
            if to_block <= logical_bytes - item.logical_bytes:
                return False
        return True
    return all(bytes_to_block(item, bins) > logical_bytes - item.logical_bytes for item in items)

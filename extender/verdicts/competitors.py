"""What else will take room on a node that a pod's volumes need.

Longhorn retries a replica with hardNodeAffinity at least every 30 s, so it takes room on that node
as soon as there is any. docs/decisions/0001 says which of them count. What is held for other pods,
and what Longhorn is about to place, takes room until Longhorn's objects show it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from extender.demand.items import Demand
from extender.forecast.assignment import Remote
from extender.forecast.loads import Load
from extender.space import NodeSpace
from extender.verdicts.rejections import PendingReplicas, Rejection, RoomHeld
from packing import Item, Kind


class Competitors(msgspec.Struct, frozen=True, kw_only=True):
    """What competes with a pod's volumes on one node."""

    load: Load = Load()
    """What goes to this node and no other."""
    remote: tuple[Remote, ...] = ()
    """What the forecast puts here, and what may go elsewhere."""

    @property
    def remote_items(self) -> tuple[Item, ...]:
        """What the forecast puts here."""
        return tuple(each.item for each in self.remote)

    @property
    def sure_items(self) -> tuple[Item, ...]:
        """The same, but for the volumes of pods that may yet go to several nodes."""
        return tuple(each.item for each in self.remote if each.coming.is_sure)

    def remote_rejection(self, *, by_open: bool) -> Rejection:
        """Return the rejection of a pod whose room the forecast needs.

        Args:
            by_open: Whether there would be room without the pods that may go to several nodes.
        """
        if by_open or any(each.coming.is_held for each in self.remote):
            return RoomHeld(by_open=by_open)
        return PendingReplicas()

    def fewer_each_time(self) -> Iterator[tuple[Rejection, tuple[Item, ...]]]:
        """Yield what to pack along of the load, without the least certain of it first.

        With each comes who is in the way of a pod that fits beside these, but not beside more.
        """
        load = self.load
        if load.open:
            yield RoomHeld(by_open=True), load.pending + load.chosen
        if load.chosen:
            yield RoomHeld(by_open=False), load.pending
        if load.pending:
            yield PendingReplicas(), ()


_NONE = Competitors()


def competitors_of(
    demand: Demand, space: NodeSpace, load: Load, remote: Iterable[Remote]
) -> Competitors:
    """Return what of a node's load, and of what is forecast there, competes with *demand*.

    That is what may use the same disks, or disks that the rest may use.
    """
    remote = tuple(remote)
    if not (load.items or remote):
        return _NONE
    here = frozenset(bin_.kind for bin_ in space.bins)
    asked = here.intersection(frozenset().union(*(item.kinds for item in demand.items)))
    reached = _reached([*load.items, *(each.item for each in remote)], asked, here)
    ids = {item.id for item in reached}
    kept = [
        tuple(item for item in items if item.id in ids)
        for items in (load.pending, load.chosen, load.open)
    ]
    return Competitors(
        load=Load(pending=kept[0], chosen=kept[1], open=kept[2]),
        remote=tuple(each for each in remote if each.item.id in ids),
    )


def _reached(items: list[Item], kinds: frozenset[Kind], here: frozenset[Kind]) -> list[Item]:
    """Keep the items that may use disks of *kinds*, or of kinds that such items may use.

    Only kinds of disks that are *here* lead on: two items do not compete on a node because a disk
    of another node would suit both.
    """
    reached = [item for item in items if item.kinds & kinds]
    if not reached:
        return []
    rest = [item for item in items if not item.kinds & kinds]
    led_on = kinds.union(*(item.kinds & here for item in reached))
    return reached + _reached(rest, led_on, here)

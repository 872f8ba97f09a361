"""What will take room on one node and no other, and is not placed there yet."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from extender.demand.items import demand_of, suits
from extender.demand.requests import WantedVolume
from extender.holds.hold import State, charged
from extender.holds.ledger import Ledger
from extender.space import NodeSpace
from extender.view import ClusterView
from longhorn import Need, NodeName, Replica, Settings, Volume, VolumeName, need_of
from packing import Bin, Infeasible, Item, is_stranded, pack

_PLENTY_BYTES = 2**63


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What takes room on one node, from the most to the least certain."""

    pending: tuple[Item, ...] = ()
    """Replicas that Longhorn will place on this node."""
    chosen: tuple[Item, ...] = ()
    """Held for pods whose node this is."""
    open: tuple[Item, ...] = ()
    """Held for pods that may still go to another node."""

    @property
    def items(self) -> tuple[Item, ...]:
        """All of it."""
        return self.pending + self.chosen + self.open

    @property
    def sure_items(self) -> tuple[Item, ...]:
        """All that will come here, wherever pods go that may yet go to several nodes."""
        return self.pending + self.chosen


_NOTHING = Load()


class Loads:
    """The loads of all nodes, each worked out when it is asked for.

    Left out are replicas that Longhorn cannot place: whose volume is being deleted or whose backing
    image is gone, that the node does not suit, or that fit on no disk even alone. A node must not
    be lost to them for ever. One whose volume is not known counts: a live view may hear of the
    volume later than of the replica. Holds count if they would fit on an empty disk: they end by
    themselves, and on a disk that seems full something may have been deleted a moment ago.

    Args:
        view: The cluster.
        settings: Longhorn's.
        ledger: What is held for pods.
        uid: The pod that is asked about; its own hold does not count.
        own: Its volumes; they do not count either.
    """

    def __init__(
        self,
        view: ClusterView,
        settings: Settings,
        ledger: Ledger,
        *,
        uid: str,
        own: Collection[VolumeName],
    ) -> None:
        self._view = view
        self._settings = settings
        self._ledger = ledger
        self._uid = uid
        self._own = own
        self._loads: dict[NodeName, Load] = {}
        self._due: dict[NodeName, list[Volume]] = {}
        for name, due in view.due.items():
            if due.on_node is not None and name not in own and name in view.volumes:
                self._due.setdefault(due.on_node, []).append(view.volumes[name])

    def on(self, space: NodeSpace) -> Load:
        """Return the load of a node."""
        name = space.node.name
        load = self._loads.get(name)
        if load is None:
            load = self._loads[name] = self._load_of(space)
        return load

    @property
    def has_open(self) -> bool:
        """Whether room on nodes is held for other pods that may still go to several."""
        return any(hold.volumes for hold in self._ledger.open_holds(but=self._uid))

    @property
    def nodes_due(self) -> AbstractSet[NodeName]:
        """The nodes that Longhorn will place a replica on that has no object yet."""
        return self._due.keys()

    def _load_of(self, space: NodeSpace) -> Load:
        name = space.node.name
        holds, due_here = self._ledger.on_node(name, but=self._uid), self._due.get(name, ())
        if not (space.pending or holds or due_here):
            return _NOTHING
        pending = [item for replica in space.pending for item in self._pending(replica, space)]
        # Pods that share a volume need its room once, and are sure of it if one of them is.
        chosen: dict[VolumeName, Need] = {}
        open_: dict[VolumeName, Need] = {}
        for hold in holds:
            needs = chosen if hold.state is State.CHOSEN else open_
            for volume in charged(hold, name, self._view.replicas):
                if volume.name not in self._own:
                    needs[volume.name] = need_now(volume, self._view)
        for volume_name in chosen:
            open_.pop(volume_name, None)
        for due in due_here:
            if due.name not in chosen and due.name not in open_:
                pending += self._items_of(due, str(due.name), space)
        empty = _emptied(space) if chosen or open_ else ()
        return Load(
            pending=_fitting(pending, space.bins),
            chosen=_fitting(self._held(chosen), empty),
            open=_fitting(self._held(open_), empty),
        )

    def _pending(self, replica: Replica, space: NodeSpace) -> Iterable[Item]:
        """Return what a pending replica needs, if Longhorn can place it on the node."""
        if replica.volume in self._own:
            return ()
        volume = self._view.volumes.get(replica.volume)
        if volume is None:  # unreadable, or not heard of yet
            everywhere = frozenset(self._view.disk_kinds.values())  # its selectors are not known
            return (Item(replica.name, replica.size_bytes, 0, everywhere),)
        return self._items_of(volume, str(replica.name), space)

    def _items_of(self, volume: Volume, name: str, space: NodeSpace) -> Iterable[Item]:
        need = need_in(volume, self._view)
        if need is None:
            return ()
        demand = demand_of([(name, need)], self._view, self._settings)
        return demand.items if suits(demand, space.node, self._settings) else ()

    def _held(self, needs: Mapping[VolumeName, Need]) -> tuple[Item, ...]:
        if not needs:
            return ()
        named = [(f"held/{name}", need) for name, need in needs.items()]
        return demand_of(named, self._view, self._settings).items


def need_in(volume: Volume, view: ClusterView) -> Need | None:
    """Say what a new replica of a volume needs, None if Longhorn places none."""
    if volume.deleting:
        return None
    image = None
    if volume.backing_image is not None:
        image = view.backing_images.get(volume.backing_image)
        if image is None and ("BackingImage", volume.backing_image) not in view.unreadable:
            return None
    return need_of(volume, image)


def need_now(wanted: WantedVolume, view: ClusterView) -> Need:
    """Say what a new replica of a held volume needs, now that the volume may exist.

    It may be larger than its claim asked for: one that is restored from a backup is.
    """
    volume = view.volumes.get(wanted.name)
    return (None if volume is None else need_in(volume, view)) or wanted.need


def fits(items: Sequence[Item], space: NodeSpace, step_limit: int) -> bool:
    """Say whether a node takes all of *items*; not decided within the limit counts as yes."""
    logical = sum(item.logical_bytes for item in items)
    physical = sum(item.physical_bytes for item in items)
    for bin_ in space.roomiest:
        if (
            logical <= bin_.logical_bytes
            and physical <= bin_.physical_bytes
            and all(bin_.kind in item.kinds for item in items)
        ):
            return True
    if any(is_stranded(item, space.roomiest) for item in items):
        return False
    return not isinstance(pack(items, space.bins, step_limit=step_limit), Infeasible)


def _emptied(space: NodeSpace) -> list[Bin]:
    """Return the usable disks as if nothing were on them."""
    limits = {str(each.disk.name): each.limit_bytes for each in space.disks}
    return [Bin(bin_.id, bin_.kind, limits[bin_.id], _PLENTY_BYTES) for bin_ in space.bins]


def _fitting(items: Iterable[Item], bins: Iterable[Bin]) -> tuple[Item, ...]:
    bins = tuple(bins)
    return tuple(item for item in items if not is_stranded(item, bins))

"""What will take room on one node and no other, and is not placed there yet."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

import msgspec
from msgspec import structs

from extender.demand.items import demand_of, suits
from extender.forecast.gathering import Gathering
from extender.forecast.needs import need_in, need_now
from extender.holds.hold import Hold, State, charged
from extender.space import NodeSpace
from extender.view import ClusterView
from longhorn import NOTHING_DUE, Need, NodeName, Replica, Volume, VolumeName
from packing import Bin, Item, Kind, is_stranded

_PLENTY_BYTES = 2**63
_MOST_HELD = 10_000
"""So many volumes are kept ready for packing."""


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
    """The loads of all nodes, each worked out when it is asked for, and kept.

    Left out are replicas that Longhorn cannot place: whose volume is being deleted or whose backing
    image is gone, that the node does not suit, or that fit on no disk even alone. A node must not
    be lost to them for ever. One whose volume is not known counts: a live view may hear of the
    volume later than of the replica. Holds count if they would fit on an empty disk: they end by
    themselves, and on a disk that seems full something may have been deleted a moment ago.

    Args:
        gathering: Has the holds.

    Attributes:
        view: The cluster; to be replaced by each later view of it.
    """

    def __init__(self, view: ClusterView, gathering: Gathering) -> None:
        self.view = view
        self._gathering = gathering
        self._sure: dict[NodeName, Load] = {}
        self._due: dict[NodeName, set[VolumeName]] = {}
        """The volumes of which a replica without an object is due on a node."""
        self._due_on: dict[VolumeName, NodeName] = {}
        self._held: dict[tuple[VolumeName, Need], Item] = {}
        """What is held, ready for packing."""
        self.note_volumes(view.due)

    @property
    def nodes_due(self) -> AbstractSet[NodeName]:
        """The nodes that Longhorn will place a replica on that has no object yet."""
        return self._due.keys()

    def note_volumes(self, names: Iterable[VolumeName]) -> set[NodeName]:
        """Note that volumes, their replicas, or what is due of them has changed.

        Returns the nodes whose load may have.
        """
        view, changed = self.view, set[NodeName]()
        for name in names:
            before = self._due_on.pop(name, None)
            now = view.due.get(name, NOTHING_DUE).on_node if name in view.volumes else None
            if before is not None:
                self._due[before].discard(name)
                if not self._due[before]:
                    del self._due[before]
                changed.add(before)
            if now is not None:
                self._due_on[name] = now
                self._due.setdefault(now, set()).add(name)
                changed.add(now)
            changed.update(_pending_on(name, view))
            holds = self._gathering.holds_of(name)
            changed.update(hold.node for hold in holds if hold.state is State.CHOSEN)
        self.note_nodes(changed)
        return changed

    def note_hold(self, before: Hold | None, after: Hold | None) -> set[NodeName]:
        """Note that a pod has another hold, or none; return the nodes whose load may have changed.

        An open hold counts for itself. But what is due on a node by Longhorn's objects as well is
        counted by the hold.
        """
        changed = set[NodeName]()
        for hold in filter(None, (before, after)):
            if hold.state is State.CHOSEN:
                changed.add(hold.node)
            changed.update(
                self._due_on[volume.name] for volume in hold.volumes if volume.name in self._due_on
            )
        self.note_nodes(changed)
        return changed

    def note_nodes(self, names: Iterable[NodeName]) -> None:
        """Note that the space of these nodes has changed, or what is held on them."""
        for name in names:
            self._sure.pop(name, None)

    def sure(self, space: NodeSpace) -> Load:
        """Return the load of a node without that of open holds."""
        found = self._sure.get(space.node.name)
        if found is None:
            due_here = self._due.get(space.node.name, ())
            also_held = [
                hold
                for name in due_here
                for hold in self._gathering.holds_of(name)
                if hold.state is State.OPEN
            ]
            found = self.work_out(space, "", (), also_held)
            if found.open:
                found = structs.replace(found, open=())
            self._sure[space.node.name] = found
        return found

    def work_out(
        self, space: NodeSpace, but: str, own: Collection[VolumeName], open_: Iterable[Hold]
    ) -> Load:
        """Return the load of a node.

        Args:
            space: The node.
            but: The uid of a pod whose hold does not count.
            own: Its volumes; they do not count either.
            open_: The open holds that count.
        """
        name, view = space.node.name, self.view
        holds = self._gathering.chosen_on(name, but=but)
        due_here = self._due.get(name, ())
        open_ = [hold for hold in open_ if name in hold.nodes]
        if not (space.pending or holds or due_here or open_):
            return _NOTHING
        pending = [item for r in space.pending for item in self._pending(r, space, own)]
        # Pods that share a volume need its room once, and are sure of it if one of them is.
        chosen = self._needs(holds, name, own)
        open_needs = self._needs(open_, name, own)
        for volume_name in chosen:
            open_needs.pop(volume_name, None)
        for due in sorted(due_here):
            if not (due in chosen or due in open_needs or due in own):
                pending += self._items_of(view.volumes[due], str(due), space)
        empty = _emptied(space) if chosen or open_needs else ()
        return Load(
            pending=_fitting(pending, space.bins),
            chosen=_fitting(self.held_items(chosen), empty),
            open=_fitting(self.held_items(open_needs), empty),
        )

    def held_items(self, needs: Mapping[VolumeName, Need]) -> list[Item]:
        """Return what is held for volumes, ready for packing."""
        items = []
        for key in needs.items():
            item = self._held.get(key)
            if item is None:
                if len(self._held) >= _MOST_HELD:
                    self._held.clear()
                [item] = demand_of([(f"held/{key[0]}", key[1])], self.view).items
                self._held[key] = item
            items.append(item)
        return items

    def differing(self, names: Collection[VolumeName]) -> set[NodeName]:
        """Return the nodes where held volumes may count less than elsewhere.

        A replica of the volume is there already, or the node is that of another pod that uses it.
        """
        replicas = self.view.replicas
        there = {
            node
            for volume in names
            for replica in replicas.get(volume, ())
            for node in (replica.node, replica.hard_node_affinity)
            if node is not None
        }
        holds = (hold for volume in names for hold in self._gathering.holds_of(volume))
        return there | {hold.node for hold in holds if hold.state is State.CHOSEN}

    def _needs(
        self, holds: Iterable[Hold], name: NodeName, own: Collection[VolumeName]
    ) -> dict[VolumeName, Need]:
        return {
            volume.name: need_now(volume, self.view)
            for hold in holds
            for volume in charged(hold, name, self.view.replicas)
            if volume.name not in own
        }

    def _pending(
        self, replica: Replica, space: NodeSpace, own: Collection[VolumeName]
    ) -> Iterable[Item]:
        """Return what a pending replica needs, if Longhorn can place it on the node."""
        if replica.volume in own:
            return ()
        volume = self.view.volumes.get(replica.volume)
        if volume is None:  # unreadable, or not heard of yet
            everywhere = frozenset(self.view.disk_kinds.values())  # its selectors are not known
            return (Item(replica.name, replica.size_bytes, 0, everywhere),)
        return self._items_of(volume, str(replica.name), space)

    def _items_of(self, volume: Volume, name: str, space: NodeSpace) -> Iterable[Item]:
        need = need_in(volume, self.view)
        if need is None:
            return ()
        demand = demand_of([(name, need)], self.view)
        return demand.items if suits(demand, space.node) else ()


class OpenHolds(msgspec.Struct, frozen=True, kw_only=True):
    """What is held for pods that may go to any of several nodes, taken together."""

    needs: tuple[Need, ...] = ()
    items: tuple[Item, ...] = ()
    largest_bytes: int = 0
    shared_kinds: frozenset[Kind] = frozenset()
    """The kinds of disks that each of them may use."""
    nodes: frozenset[NodeName] = frozenset()
    """Where all of it takes room."""
    partly: frozenset[NodeName] = frozenset()
    """Where only a part of it does."""

    def on(self, space: NodeSpace) -> tuple[Item, ...]:
        """Return what of it could ever fit on one of *nodes*, mostly all."""
        best = space.roomiest[0] if space.roomiest else None
        if (
            best is not None
            and best.kind in self.shared_kinds
            and self.largest_bytes <= best.logical_bytes
        ):
            return self.items
        return _fitting(self.items, _emptied(space))


class OthersLoads:
    """The loads of all nodes as one pod finds them: without its own hold and its own volumes.

    Args:
        loads: Of all pods together.
        gathering: Has the holds.
        uid: The pod that is asked about.
        own: Its volumes.

    Attributes:
        apart: The nodes on which something of the pod counts, by its own hold or volumes.
        open_holds: Those of other pods.
    """

    def __init__(
        self, loads: Loads, gathering: Gathering, *, uid: str, own: Collection[VolumeName]
    ) -> None:
        self._loads = loads
        self._own = own
        self._uid = uid
        self._whole: dict[NodeName, Load] = {}
        view = loads.view
        mine = gathering.hold_of(uid)
        of_own = [*mine, *(hold for name in own for hold in gathering.holds_of(name))]
        held = (volume.name for hold in mine for volume in hold.volumes)
        due = (view.due.get(name, NOTHING_DUE).on_node for name in (*own, *held))
        self.apart = frozenset(
            [
                *(hold.node for hold in of_own if hold.state is State.CHOSEN),
                *(name for volume in own for name in _pending_on(volume, view)),
                *(name for name in due if name is not None),
            ]
        )
        self.open_holds = gathering.open_holds(but=uid)

    @property
    def nodes_due(self) -> AbstractSet[NodeName]:
        """The nodes that Longhorn will place a replica on that has no object yet."""
        return self._loads.nodes_due

    @cached_property
    def open(self) -> OpenHolds:
        """What the open holds keep, without the volumes that the pod uses itself."""
        needs: dict[VolumeName, Need] = {}
        accepted: list[frozenset[NodeName]] = []
        for hold in self.open_holds:
            wanted = [each for each in hold.volumes if each.name not in self._own]
            if wanted:
                needs |= {each.name: need_now(each, self._loads.view) for each in wanted}
                accepted.append(hold.nodes)
        if not needs:
            return OpenHolds()
        nodes = accepted[0].intersection(*accepted[1:]) - self._loads.differing(needs)
        items = tuple(self._loads.held_items(needs))
        return OpenHolds(
            needs=tuple(needs.values()),
            items=items,
            largest_bytes=max(item.logical_bytes for item in items),
            shared_kinds=frozenset.intersection(*(item.kinds for item in items)),
            nodes=nodes,
            partly=frozenset().union(*accepted) - nodes,
        )

    @cached_property
    def open_nodes(self) -> frozenset[NodeName]:
        """The nodes of all open holds, also of those for the pod's own volumes."""
        found = self.open.nodes | self.open.partly
        of_own = (h.nodes for h in self.open_holds if {v.name for v in h.volumes} <= {*self._own})
        return found.union(*of_own)

    def sure(self, space: NodeSpace) -> Load:
        """Return what comes to a node for sure."""
        if space.node.name in self.apart:
            return self.on(space)
        return self._loads.sure(space)

    def on(self, space: NodeSpace) -> Load:
        """Return the load of a node."""
        name = space.node.name
        load = self._whole.get(name)
        if load is None:
            load = self._whole[name] = self._work_out(space)
        return load

    def _work_out(self, space: NodeSpace) -> Load:
        name = space.node.name
        if name in self.apart or name in self.open.partly:
            return self._loads.work_out(space, self._uid, self._own, self.open_holds)
        sure = self._loads.sure(space)
        if name not in self.open.nodes:
            return sure
        return structs.replace(sure, open=self.open.on(space))


def _pending_on(name: VolumeName, view: ClusterView) -> Iterator[NodeName]:
    """Yield the nodes that replicas of a volume are bound to."""
    for replica in view.replicas.get(name, ()):
        if replica.hard_node_affinity is not None:
            yield replica.hard_node_affinity


def _emptied(space: NodeSpace) -> list[Bin]:
    """Return the usable disks as if nothing were on them."""
    limits = {str(each.disk.name): each.limit_bytes for each in space.disks}
    return [Bin(bin_.id, bin_.kind, limits[bin_.id], _PLENTY_BYTES) for bin_ in space.bins]


def _fitting(items: Iterable[Item], bins: Iterable[Bin]) -> tuple[Item, ...]:
    bins = tuple(bins)
    return tuple(item for item in items if not is_stranded(item, bins))

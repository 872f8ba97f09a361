"""What will take room on one node and no other, and is not placed there yet."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from extender.demand.items import demand_of, item_of, suits
from extender.holds.hold import Hold, State
from extender.holds.shown import charged
from extender.space import NodeSpace
from extender.upcoming.gathering import Gathering
from extender.upcoming.needs import emptied, fitting, need_in, need_now
from extender.upcoming.upcoming import Certainty, Load, Upcoming
from extender.view import ClusterView
from longhorn import NOTHING_DUE, Locality, Need, NodeName, Replica, Volume, VolumeName, need_of
from packing import Item

_MOST_HELD = 10_000
"""So many volumes are kept ready for packing."""


class Bound:
    """The loads of all nodes, each worked out when it is asked for, and kept.

    Left out are replicas that Longhorn cannot place: whose volume is being deleted or whose backing
    image is gone, that the node does not suit, or that fit on no disk even alone. A node must not
    be lost to them for ever. One whose volume is not known counts: a live view may hear of the
    volume later than of the replica. Holds count if they would fit on an empty disk: they end by
    themselves, and on a disk that seems full something may have been deleted a moment ago.

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
        self._held: dict[tuple[VolumeName, Need, Certainty], Upcoming] = {}
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
            changed.update(pending_on(name, view))
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
            for volume in hold.volumes:
                if volume.name in self._due_on:
                    changed.add(self._due_on[volume.name])
                changed.update(pending_on(volume.name, self.view))
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
            if also_held:
                found = tuple(each for each in found if each.is_sure)
            self._sure[space.node.name] = found
        return found

    def work_out(
        self, space: NodeSpace, but: str, own: Collection[VolumeName], open_: Iterable[Hold]
    ) -> Load:
        """Return the load of a node.

        Args:
            but: The uid of a pod whose hold does not count.
            own: Its volumes; they do not count either.
            open_: The open holds that count.
        """
        name, view = space.node.name, self.view
        holds = self._gathering.chosen_on(name, but=but)
        due_here = self._due.get(name, ())
        open_ = [hold for hold in open_ if name in hold.nodes]
        if not (space.pending or holds or due_here or open_):
            return ()
        # Pods that share a volume need its room once, and are sure of it if one of them is.
        chosen = self._needs(holds, name, own)
        open_needs = self._needs(open_, name, own)
        for volume_name in chosen:
            open_needs.pop(volume_name, None)
        shown = [
            upcoming
            for replica in space.pending
            if replica.volume not in own and (upcoming := self._pending(replica, space)) is not None
        ]
        for due in sorted(due_here):
            if not (due in chosen or due in open_needs or due in own):
                coming = self._shown(view.volumes[due], str(due), space)
                shown += [] if coming is None else [coming]
        empty = emptied(space) if chosen or open_needs else ()
        return (
            *fitting(shown, space.bins),
            *fitting(self.held(chosen, Certainty.CHOSEN), empty),
            *fitting(self.held(open_needs, Certainty.OPEN), empty),
        )

    def held(self, needs: Mapping[VolumeName, Need], certainty: Certainty) -> list[Upcoming]:
        """Return what is held for volumes."""
        found = []
        for name, need in needs.items():
            key = name, need, certainty
            upcoming = self._held.get(key)
            if upcoming is None:
                if len(self._held) >= _MOST_HELD:
                    self._held.clear()
                volume = self.view.volumes.get(name) or _stand_in(name, need.size_bytes)
                item = item_of(f"held/{name}", need, self.view)
                upcoming = Upcoming(volume=volume, need=need, item=item, certainty=certainty)
                self._held[key] = upcoming
            found.append(upcoming)
        return found

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

    def _pending(self, replica: Replica, space: NodeSpace) -> Upcoming | None:
        """Return a replica that is bound to the node, None if Longhorn does not place it there.

        That of a strict-local volume waits until somebody is about to attach it.
        """
        volume = self.view.volumes.get(replica.volume)
        if volume is not None:
            waits = volume.node is None and volume.locality is Locality.STRICT_LOCAL
            if waits and not self._gathering.holds_of(volume.name):
                return None
            return self._shown(volume, str(replica.name), space, replica)
        unknown = _stand_in(replica.volume, replica.size_bytes)  # unreadable, or not heard of yet
        everywhere = frozenset(self.view.disk_kinds.values())  # its selectors are not known
        return Upcoming(
            volume=unknown,
            need=need_of(unknown, None),
            item=Item(replica.name, replica.size_bytes, 0, everywhere),
            certainty=Certainty.SHOWN,
        )

    def _shown(
        self, volume: Volume, name: str, space: NodeSpace, replica: Replica | None = None
    ) -> Upcoming | None:
        need = need_in(volume, self.view, replica)
        if need is None or not suits(demand_of([(name, need)], self.view), space.node):
            return None
        return Upcoming(
            volume=volume, need=need, item=item_of(name, need, self.view), certainty=Certainty.SHOWN
        )


def pending_on(name: VolumeName, view: ClusterView) -> Iterator[NodeName]:
    """Yield the nodes that replicas of a volume are bound to."""
    for replica in view.replicas.get(name, ()):
        if replica.hard_node_affinity is not None:
            yield replica.hard_node_affinity


def _stand_in(name: VolumeName, size_bytes: int) -> Volume:
    """Return a volume that is not known, as far as is known of it."""
    return Volume(name=name, size_bytes=size_bytes, locality=Locality.DISABLED)

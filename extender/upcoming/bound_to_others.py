"""What comes to nodes as one pod finds it: beside the holds of others, without what is its own."""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from functools import cached_property

import msgspec

from extender.holds.hold import State
from extender.space import NodeSpace
from extender.upcoming.bound import Bound, pending_on
from extender.upcoming.gathering import Gathering
from extender.upcoming.needs import emptied, fitting, need_now
from extender.upcoming.upcoming import Certainty, Load
from longhorn import NOTHING_DUE, Need, NodeName, VolumeName
from packing import Kind


class OpenHolds(msgspec.Struct, frozen=True, kw_only=True):
    """What is held for pods that may go to any of several nodes, taken together."""

    needs: tuple[Need, ...] = ()
    held: Load = ()
    largest_bytes: int = 0
    shared_kinds: frozenset[Kind] = frozenset()
    """The kinds of disks that each of them may use."""
    nodes: frozenset[NodeName] = frozenset()
    """Where all of it takes room."""
    partly: frozenset[NodeName] = frozenset()
    """Where only a part of it does."""

    def on(self, space: NodeSpace) -> Load:
        """Return what of it could ever fit on one of *nodes*, mostly all."""
        best = space.roomiest[0] if space.roomiest else None
        if (
            best is not None
            and best.kind in self.shared_kinds
            and self.largest_bytes <= best.logical_bytes
        ):
            return self.held
        return fitting(self.held, emptied(space))


class BoundToOthers:
    """The loads of all nodes as one pod finds them: without its own hold and its own volumes.

    Attributes:
        apart: The nodes on which something of the pod counts, by its own hold or volumes.
        open_holds: Those of other pods.
    """

    def __init__(
        self, bound: Bound, gathering: Gathering, *, uid: str, own: Collection[VolumeName]
    ) -> None:
        self._bound = bound
        self._own = own
        self._uid = uid
        self._whole: dict[NodeName, Load] = {}
        view, hold = bound.view, gathering.hold_of(uid)
        names, holds = [*own], [] if hold is None else [hold]
        apart = set[NodeName]()
        for name in own:
            apart.update(pending_on(name, view))
            holds += gathering.holds_of(name)
        if hold is not None:
            names += (volume.name for volume in hold.volumes)
        for name in names:
            on_node = view.due.get(name, NOTHING_DUE).on_node
            if on_node is not None:
                apart.add(on_node)
        apart.update(each.node for each in holds if each.state is State.CHOSEN)
        self.apart = frozenset(apart)
        self.open_holds = gathering.open_holds(but=uid)

    @property
    def nodes_due(self) -> AbstractSet[NodeName]:
        """The nodes that Longhorn will place a replica on that has no object yet."""
        return self._bound.nodes_due

    @cached_property
    def open(self) -> OpenHolds:
        """What the open holds keep, without the volumes that the pod uses itself."""
        needs: dict[VolumeName, Need] = {}
        accepted: list[frozenset[NodeName]] = []
        for hold in self.open_holds:
            wanted = [each for each in hold.volumes if each.name not in self._own]
            if wanted:
                needs |= {each.name: need_now(each, self._bound.view) for each in wanted}
                accepted.append(hold.nodes)
        if not needs:
            return OpenHolds()
        nodes = accepted[0].intersection(*accepted[1:]) - self._bound.differing(needs)
        held = tuple(self._bound.held(needs, Certainty.OPEN))
        return OpenHolds(
            needs=tuple(needs.values()),
            held=held,
            largest_bytes=max(each.item.logical_bytes for each in held),
            shared_kinds=frozenset.intersection(*(each.item.kinds for each in held)),
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
            return tuple(each for each in self.on(space) if each.is_sure)
        return self._bound.sure(space)

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
            return self._bound.work_out(space, self._uid, self._own, self.open_holds)
        sure = self._bound.sure(space)
        return (*sure, *self.open.on(space)) if name in self.open.nodes else sure

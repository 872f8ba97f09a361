"""Whether replicas that may go anywhere could take the room of a local one first.

Longhorn places each volume by itself. A remote replica of one may come to the node where the local
replica of another was to go, before that one is attached. A best-effort volume is then placed
elsewhere; a strict-local one is bound to a node without room for ever. So an answer waits until
enough of the others are placed.
"""

from collections.abc import Collection, Sequence

from extender.forecast.coming import Coming
from extender.forecast.loads import fits
from extender.forecast.takers import most_bytes, takers
from extender.holds.ledger import Ledger
from extender.space import NodeSpace
from extender.verdicts.case import Case
from extender.verdicts.rejections import LocalRoomAtRisk, Rejection
from longhorn import NodeName
from packing import Item

_MOST_PAIRS = 4_000
"""So many pairs of node and volume are looked at closely. Beyond, best-effort volumes may lose
their room, and strict-local ones are refused where not all that comes would fit besides."""


def risks(case: Case, nodes: Sequence[NodeName], ledger: Ledger) -> dict[NodeName, Rejection]:
    """Return which of the *nodes*, all accepted else, put a local replica at risk.

    Either the pod's own, by what others are about to get; or that of another pod whose node is
    chosen, by what this pod is about to get. For strict-local replicas also local ones count that
    come to the same node: Longhorn may put them on other disks than the packing does.
    """
    own = [each for each in case.own_coming if each.count]
    anywhere = [each for each in own if not each.volume.needs_local_replica]
    others = [*case.coming, *anywhere]
    chosen = ledger.chosen_nodes(but=case.request.pod.uid)
    strict = {name for name in chosen if case.is_strict or _has_strict(name, ledger)}
    if not (others or own or strict):
        return {}
    looking = _Looking(case, own, strict)
    if looking.takes_from_others(chosen):
        return dict.fromkeys(nodes, LocalRoomAtRisk())
    if not case.request.volumes:
        return {}
    looked_at = nodes if others else [name for name in nodes if name in strict]
    return {name: LocalRoomAtRisk() for name in looked_at if looking.is_at_risk(name, others)}


def _has_strict(name: NodeName, ledger: Ledger) -> bool:
    """Whether a pod is held for a node that has a strict-local volume without its replica."""
    return any(volume.is_strict for hold in ledger.on_node(name) for volume in hold.volumes)


class _Looking:
    """Looks at what may come to nodes first: at all that comes, and if that is too much, closely.

    Args:
        case: The pod.
        own: What of its volumes may be placed anywhere.
        strict: The nodes to which a strict-local replica is to come.
    """

    def __init__(self, case: Case, own: Sequence[Coming], strict: Collection[NodeName]) -> None:
        self._case = case
        self._own = own
        self._strict = strict
        self._pairs_left = _MOST_PAIRS
        self._before_bytes = most_bytes(case.coming, case.settings)
        self._all_bytes = self._before_bytes + most_bytes(case.own_coming, case.settings)
        self._physical_bytes = sum(
            each.count * each.need.actual_bytes for each in (*case.coming, *case.own_coming)
        )

    def takes_from_others(self, chosen: Collection[NodeName]) -> bool:
        """Whether the pod's volumes may cost other pods the room of their local replicas.

        Its own may come there, or fill the nodes to which others' would have gone.
        """
        case, own_bytes = self._case, self._all_bytes - self._before_bytes
        demand_bytes = sum(item.logical_bytes for item in case.demand.items)
        after_bytes = self._all_bytes + demand_bytes
        if not (own_bytes or (demand_bytes and case.coming)):
            return False
        for name in sorted(chosen):
            space = case.view.spaces.get(name)
            items = () if space is None else case.loads.on(space).sure_items
            if space is None or not items or self._leaves_room_anyway(items, space):
                continue
            if not fits(items, space, case.step_limit):
                continue
            theirs = self._takers(name, case.coming, beside_bytes=self._before_bytes)
            then = self._takers(name, [*case.coming, *self._own], beside_bytes=after_bytes)
            if theirs is None or then is None:
                if name in self._strict:
                    return True
            elif len(then) > len(theirs) and not _leaves_room_beside(then, items, space):
                return True
        return False

    def is_at_risk(self, name: NodeName, others: Sequence[Coming]) -> bool:
        """Whether others may take the room of the pod's own local replicas on a node."""
        case, space = self._case, self._case.view.spaces[name]
        is_strict = self._is_strict(name)
        load = case.loads.on(space).sure_items
        demand = case.demand_on(name).items
        items = (*demand, *load)
        if not demand or self._leaves_room_anyway(items, space):
            return False
        first = self._takers(name, others, beside_bytes=self._all_bytes)
        if first is None:
            return is_strict
        if not (first or (is_strict and load)):
            return False
        return not _leaves_room_beside(first, items, space)

    def _is_strict(self, name: NodeName) -> bool:
        return self._case.is_strict or name in self._strict

    def _leaves_room_anyway(self, items: Sequence[Item], space: NodeSpace) -> bool:
        """Whether a node has room for *items* though all that comes anywhere comes there."""
        return leaves_room(items, self._all_bytes, self._physical_bytes, space)

    def _takers(
        self, name: NodeName, coming: Sequence[Coming], *, beside_bytes: int
    ) -> tuple[Item, ...] | None:
        """Return what may come to a node; None if looking would cost too much."""
        if len(coming) > self._pairs_left:
            return None
        self._pairs_left -= len(coming)
        at_its_word = None if self._is_strict(name) else beside_bytes
        return takers(self._case.forecast.assignment, name, coming, beside_bytes=at_its_word)


def _leaves_room_beside(others: Sequence[Item], items: Sequence[Item], space: NodeSpace) -> bool:
    logical = sum(item.logical_bytes for item in others)
    return leaves_room(items, logical, sum(item.physical_bytes for item in others), space)


def leaves_room(
    items: Sequence[Item], logical_bytes: int, physical_bytes: int, space: NodeSpace
) -> bool:
    """Say whether each of *items* finds room on a node, whatever is placed before it and where.

    An item finds none only if every disk is so full that less than its size is left. All others
    together must have filled them so far; if they have not the bytes for that, they cannot.

    Args:
        items: What must find room.
        logical_bytes: What else may be placed there.
        physical_bytes: How much of that is written.
        space: The node.
    """
    logical = logical_bytes + sum(item.logical_bytes for item in items)
    physical = physical_bytes + sum(item.physical_bytes for item in items)
    bins = [bin_ for bin_ in space.bins if physical <= bin_.physical_bytes]
    for item in items:
        to_fill = sum(
            max(0, bin_.logical_bytes - item.logical_bytes + 1)
            for bin_ in bins
            if bin_.kind in item.kinds
        )
        if logical - item.logical_bytes >= to_fill:
            return False
    return True

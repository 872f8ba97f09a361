"""Whether replicas that may go anywhere could take the room of a local one first.

Longhorn places each volume by itself. A remote replica of one may come to the node where the local
replica of another was to go, before that one is attached. A best-effort volume is then placed
elsewhere; a strict-local one is bound to a node without room for ever. So an answer waits until
enough of the others are placed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from extender.forecast.coming import Coming
from extender.forecast.crowd import crowd_of
from extender.forecast.needs import fits
from extender.forecast.takers import MOST_TO_FILL, may_fill, may_tie, spread, takers
from extender.space import NodeSpace
from extender.verdicts.rejections import LocalRoomAtRisk, Rejection
from extender.verdicts.situation import Situation
from longhorn import Need, NodeName
from packing import Item, bytes_to_block, fits_in_any_order

_MOST_RANKS, _RANKS_PER_STEP = 40_000, 20
"""So many nodes are looked at for how much must come there before a replica goes elsewhere."""
_PAIRS_PER_STEP, _NODES_PER_STEP = 5, 10
"""So many pairs, and so many nodes seen at a glance, take the time of a step (`extender.work`)."""
_MOST_PAIRS = 4_000
"""So many pairs of node and volume are looked at closely. Beyond, best-effort volumes may lose
their room, and strict-local ones are refused where not all that comes would fit besides."""


def risks(started: Situation, nodes: Iterable[NodeName]) -> dict[NodeName, Rejection]:
    """Return which of the *nodes*, all accepted else, put a local replica at risk.

    Either the pod's own, by what others are about to get; or that of another pod, by what this pod
    is about to get. For strict-local replicas also what else comes with them counts: Longhorn may
    put it on other disks than the packing does.

    Args:
        started: The pod, with its volumes in the forecast that need nothing on its node.
        nodes: The nodes.
    """
    looking, ledger = _Looking(started), started.ledger
    if not looking.is_needed:
        return {}
    uid, nodes = started.request.pod.uid, [*nodes]
    chosen = ledger.chosen_nodes(but=uid)
    if looking.takes_from_others(chosen):
        return dict.fromkeys(nodes, LocalRoomAtRisk())
    open_ = started.loads.open_nodes
    if looking.takes_from_others(open_, with_open=True):
        return dict.fromkeys(nodes, LocalRoomAtRisk(by_open=True))
    if not started.request.volumes:
        return {}
    found: dict[NodeName, Rejection] = {}
    by_own: dict[NodeName, Rejection] = {}
    for name in looking.endangered(nodes):
        if looking.is_at_risk(name):
            found[name] = LocalRoomAtRisk()
        elif name in open_ and looking.is_at_risk(name, with_open=True):
            found[name] = LocalRoomAtRisk(by_open=True)
        elif looking.is_at_risk(name, with_own=True):
            by_own[name] = LocalRoomAtRisk()
    # Where nothing but its own replicas is in the way, waiting would not help the pod.
    return {} if len(by_own) == len(nodes) else {**found, **by_own}


class _Looking:
    """Looks at what may come to nodes first: at all that comes, and if that is too much, closely.

    Args:
        situation: The pod, with its volumes in the forecast that need nothing on its node.

    Attributes:
        is_needed: Whether anything could come first at all.
    """

    def __init__(self, situation: Situation) -> None:
        ledger = situation.ledger
        self._situation = situation
        self._assignment = situation.with_own.assignment
        self._own = [each for each in situation.own_coming if each.count]
        self._anywhere = [each for each in self._own if not each.volume.needs_local_replica]
        self._strict = {
            name
            for hold in ledger
            if hold.pod.uid != situation.request.pod.uid and any(v.is_strict for v in hold.volumes)
            for name in hold.nodes
        }
        """The nodes to which a strict-local replica may come."""
        self._busy = (
            ledger.chosen_nodes(but=situation.request.pod.uid)
            | situation.loads.open.partly
            | situation.loads.nodes_due
            | situation.loads.apart
            | situation.holders
        )
        """Those to which something comes that does not come to others."""
        self._pairs_left, self._ranks_left = _MOST_PAIRS, _MOST_RANKS
        self._pairs_of_a_node = len(situation.others.coming) + len(self._own)
        settings = situation.view.settings
        before, own = situation.others.sums, crowd_of(situation.own_coming, settings).sums
        self._before_bytes = before.most_bytes
        self._all_bytes = before.most_bytes + own.most_bytes
        self._physical_bytes = before.physical_bytes + own.physical_bytes
        self._total_anywhere_bytes = before.bytes + own.bytes
        self.is_needed = bool(
            situation.others.coming or self._own or self._strict or situation.is_strict
        )

    def takes_from_others(self, nodes: Collection[NodeName], *, with_open: bool = False) -> bool:
        """Whether the pod's volumes may cost other pods the room of their local replicas.

        Its own may come there, or fill the nodes to which others' would have gone.

        Args:
            nodes: To which other pods go, or may yet go.
            with_open: Whether the local replicas of pods count that may yet go elsewhere.
        """
        situation, own_bytes = self._situation, self._all_bytes - self._before_bytes
        demand_bytes = sum(item.logical_bytes for item in situation.demand.items)
        after_bytes = self._all_bytes + demand_bytes
        if not (own_bytes or (demand_bytes and situation.others.coming)):
            return False
        if not self._may_look_closely:
            nodes = self._strict.intersection(nodes)
        for name in sorted(self._without_room(nodes, (), with_open=with_open)):
            space = situation.view.spaces[name]
            items = self._load(space, with_open=with_open)
            if not items or self._leaves_room_anyway(items, space):
                continue
            if not (self._may_fill(items, space) and fits(items, space, situation.limits.per_node)):
                continue
            theirs = self._takers(name, situation.others.coming, beside_bytes=self._before_bytes)
            then = self._takers(
                name, [*situation.others.coming, *self._own], beside_bytes=after_bytes
            )
            if theirs is None or then is None:
                if name in self._strict:
                    return True
            elif len(then) > len(theirs) and not fits_in_any_order(items, then, space.bins):
                return True
        return False

    def endangered(self, nodes: Sequence[NodeName]) -> Iterator[NodeName]:
        """Yield those of *nodes*, all accepted else, to which too much may come first."""
        situation = self._situation
        if not (situation.others.coming or self._anywhere or situation.is_strict):
            nodes = [name for name in nodes if name in self._strict]
        open_ = situation.loads.open
        beside = [name for name in nodes if name in open_.nodes] if open_.nodes else []
        alone = [name for name in nodes if name not in open_.nodes] if beside else nodes
        found = {
            *self._without_room(alone, situation.demand.items, with_open=False),
            *self._without_room(beside, situation.demand.items, with_open=True),
        }
        for name in filter(found.__contains__, nodes):
            if self._may_look_closely or self._is_strict(name):
                yield name

    def _without_room(
        self, nodes: Collection[NodeName], items: Sequence[Item], *, with_open: bool
    ) -> Iterator[NodeName]:
        """Yield those of *nodes* that may have no room for *items*, if all that comes comes there.

        On most nodes all fits on the best disk, or leaves room on some. Nodes to which something
        comes for itself are always among them.

        Args:
            nodes: Any nodes.
            items: What is to go there.
            with_open: Whether what open holds keep there is to find room as well.
        """
        situation, spaces = self._situation, self._situation.view.spaces
        if with_open:
            items = (*items, *situation.loads.open.items)
        alike = {(i.logical_bytes, i.physical_bytes, i.kinds): i for i in items}.values()
        kinds = frozenset.intersection(*(i.kinds for i in alike)) if alike else frozenset()
        logical_bytes = self._all_bytes + sum(i.logical_bytes for i in items)
        physical_bytes = self._physical_bytes + sum(i.physical_bytes for i in items)
        situation.work.spend(len(nodes) // _NODES_PER_STEP)
        for name in nodes:
            space = spaces.get(name)
            if space is None:
                continue
            if space.pending or name in self._busy:
                yield name
                continue
            best = space.roomiest[0] if space.roomiest else None
            takes_all = (
                best is not None
                and logical_bytes <= best.logical_bytes
                and physical_bytes <= best.physical_bytes
                and best.kind in kinds
            )
            if not (
                takes_all
                or _leaves_room(
                    alike, space, logical_bytes=logical_bytes, physical_bytes=physical_bytes
                )
            ):
                yield name

    def is_at_risk(
        self, name: NodeName, *, with_open: bool = False, with_own: bool = False
    ) -> bool:
        """Whether others may take the room of the pod's own local replicas on a node.

        Args:
            name: The node.
            with_open: Whether the local replicas of pods count that may yet go elsewhere.
            with_own: Whether the pod's own replicas count that may go anywhere; for strict-local
                ones they always do.
        """
        situation, space = self._situation, self._situation.view.spaces[name]
        is_strict = self._is_strict(name)
        if not (is_strict or self._may_look_closely):
            return False
        load = self._load(space, with_open=with_open)
        demand = situation.demand_on(name).items
        items = (*demand, *load)
        if not demand or self._leaves_room_anyway(items, space):
            return False
        if not self._may_fill(items, space):
            return False
        others = (
            [*situation.others.coming, *self._anywhere]
            if with_own or is_strict
            else situation.others.coming
        )
        first = self._takers(name, others, beside_bytes=self._all_bytes)
        if first is None:
            return is_strict
        if not (first or is_strict):
            return False
        return not fits_in_any_order(items, first, space.bins)

    def _may_fill(self, items: Sequence[Item], space: NodeSpace) -> bool:
        """Whether so much may come to a node that some of *items* find no room.

        What would cost too much to find out is taken for true.
        """
        name = space.node.name
        if self._is_strict(name) or self._may_tie:
            return True  # Longhorn is not taken at its word
        ranks = len(self._needs) * MOST_TO_FILL
        if ranks > self._ranks_left:
            return True
        self._ranks_left -= ranks
        self._situation.work.spend(ranks // _RANKS_PER_STEP)
        logical = sum(item.logical_bytes for item in items)
        to_block = (bytes_to_block(item, space.bins) + item.logical_bytes for item in items)
        return may_fill(
            self._assignment,
            name,
            self._needs,
            spare_bytes=max(0, min(to_block) - logical),
            beside_bytes=self._total_bytes,
        )

    @property
    def _may_look_closely(self) -> bool:
        """Whether it does not cost too much to look at what may come to one more node."""
        return self._pairs_of_a_node <= self._pairs_left

    @cached_property
    def _total_bytes(self) -> int:
        """All that may come besides what nodes take for sure."""
        situation = self._situation
        demand = (item.logical_bytes for item in situation.demand.items)
        open_ = self._situation.ledger.open_holds(but=situation.request.pod.uid)
        held = (volume.need.size_bytes for hold in open_ for volume in hold.volumes)
        return self._total_anywhere_bytes + sum(demand) + sum(held)

    @cached_property
    def _needs(self) -> Mapping[Need, int]:
        return spread(self._assignment, [*self._situation.others.coming, *self._own])

    @cached_property
    def _may_tie(self) -> bool:
        """Whether several nodes may have the most unused bytes, so that nothing is certain."""
        situation, view = self._situation, self._situation.view
        needs = [each.need for each in (*situation.others.coming, *situation.own_coming)]
        needs += [volume.need for hold in self._situation.ledger for volume in hold.volumes]
        due = [view.volumes[name].size_bytes for name in view.due if name in view.volumes]
        demand = [item.logical_bytes for item in situation.demand.items]
        sizes = [*(need.size_bytes for need in needs), *due, *demand]
        return may_tie(self._assignment, self._needs, sizes)

    def _is_strict(self, name: NodeName) -> bool:
        return self._situation.is_strict or name in self._strict

    def _load(self, space: NodeSpace, *, with_open: bool) -> tuple[Item, ...]:
        load = self._situation.loads.on(space)
        return load.items if with_open else load.sure_items

    def _leaves_room_anyway(self, items: Sequence[Item], space: NodeSpace) -> bool:
        """Whether a node has room for *items* though all that comes anywhere comes there."""
        return _leaves_room(
            items,
            space,
            logical_bytes=self._all_bytes + sum(item.logical_bytes for item in items),
            physical_bytes=self._physical_bytes + sum(item.physical_bytes for item in items),
        )

    def _takers(
        self, name: NodeName, coming: Sequence[Coming], *, beside_bytes: int
    ) -> tuple[Item, ...] | None:
        """Return what may come to a node; None if looking would cost too much."""
        if len(coming) > self._pairs_left:
            return None
        self._pairs_left -= len(coming)
        self._situation.work.spend(len(coming) // _PAIRS_PER_STEP)
        is_free = self._is_strict(name) or self._may_tie
        return takers(
            self._assignment, name, coming, beside_bytes=None if is_free else beside_bytes
        )


def _leaves_room(
    items: Collection[Item], space: NodeSpace, *, logical_bytes: int, physical_bytes: int
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

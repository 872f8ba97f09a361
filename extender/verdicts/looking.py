"""Looks at what may come to nodes before a local replica: see `extender.verdicts.risk`."""

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from extender.space import NodeSpace
from extender.upcoming.finding import best_node
from extender.upcoming.upcoming import Crowd, may_share, most_on_a_node
from extender.verdicts.situation import Situation
from extender.verdicts.threat import asking_on, leaves, leaves_room, seen_by_longhorn
from longhorn import NodeName
from packing import Item, fits_in_any_order, is_stranded

_PAIRS_PER_STEP, _NODES_PER_STEP = 5, 10
"""So many pairs, and so many nodes seen at a glance, take the time of a step (`extender.work`)."""
_MOST_PAIRS = 4_000
"""So many pairs of node and volume are looked at closely. Beyond, best-effort volumes may lose
their room, and strict-local ones are refused where not all that comes would fit besides."""


class Looking:
    """Looks at what may come to nodes first: at all that comes, and if that is too much, closely.

    Attributes:
        others: What may come of other pods' volumes.
        with_remote: The same with the pod's own that need nothing on its node.
        with_own: The same with all that may come of the pod's own.
    """

    def __init__(self, situation: Situation) -> None:
        uid, settings = situation.request.pod.uid, situation.view.settings
        self._situation = situation
        self._is_strict_itself = situation.is_strict
        self._own = [each for each in situation.own if each.count]
        self._strict = {
            name
            for hold in situation.ledger
            if hold.pod.uid != uid and any(volume.is_strict for volume in hold.volumes)
            for name in hold.nodes
        }
        """The nodes to which a strict-local replica may come."""
        self._remote = [each for each in self._own if not each.volume.needs_local_replica]
        self.others = situation.others
        local = [each for each in self._own if each.volume.needs_local_replica]
        self._beside = [each for each in local if may_share(each.volume, settings)]
        """What may come to the pod's node besides a local replica of the same volume."""
        self.with_remote = self.others.plus(self._remote, settings)
        self.with_own = self.others.plus(self._own, settings)
        self._pairs_left = _MOST_PAIRS

    def takes_from_others(self, nodes: Collection[NodeName], *, with_open: bool) -> bool:
        """Whether the pod's replicas that go anywhere may take the room of other pods' local ones.

        Args:
            nodes: To which other pods go, or may yet go.
            with_open: Whether the local replicas of pods count that may yet go elsewhere.
        """
        if not (self._own and nodes):
            return False
        if not self._may_look_closely:
            nodes = self._strict.intersection(nodes)
        for name in sorted(self._without_room(nodes, (), with_open=with_open)):
            space = self._situation.view.spaces[name]
            asking, bins = asking_on(space, self._situation)
            items = (*self._load(space, with_open=with_open), *asking)
            if not items or (not asking and leaves_room(items, space, self.with_own)):
                continue
            first = self._that_may_come(name, self.with_own)
            if first is None:
                if name in self._strict:
                    return True
            elif self._that_may_come(name, self.others) != first and not fits_in_any_order(
                items, first, bins
            ):
                return True
        return False

    def endangered(self, nodes: Sequence[NodeName]) -> Iterator[NodeName]:
        """Yield those of *nodes*, all accepted else, to which too much may come first."""
        situation = self._situation
        if not (self.with_remote.each or situation.is_strict):
            nodes = [name for name in nodes if name in self._strict]
        if not nodes:
            return
        open_, items = situation.bound.open.nodes, situation.demand.items
        beside = [name for name in nodes if name in open_] if open_ else []
        alone = [name for name in nodes if name not in open_] if beside else nodes
        found = {
            *self._without_room(alone, items, with_open=False),
            *self._without_room(beside, items, with_open=True),
        }
        for name in filter(found.__contains__, nodes):
            if self._may_look_closely or self._is_strict(name):
                yield name

    def is_at_risk(self, name: NodeName, threat: Crowd, *, with_open: bool = False) -> bool:
        """Whether a threat may take the room of the pod's own local replicas on a node.

        To strict-local ones those of the pod's own that may come there are one, too.
        """
        situation, space = self._situation, self._situation.view.spaces[name]
        demand, is_strict = situation.demand_on(name).items, self._is_strict(name)
        if not (is_strict or self._may_look_closely):
            return False
        threat = self._strict_threat(name) if is_strict else threat
        items = (*demand, *self._load(space, with_open=with_open))
        if not demand or leaves_room(items, space, threat):
            return False
        if is_strict and self._may_come_unseeing(space, threat):
            return True
        first = self._that_may_come(name, threat)
        if first is None:
            return is_strict
        return bool(first or is_strict) and not fits_in_any_order(items, first, space.bins)

    def _may_come_unseeing(self, space: NodeSpace, threat: Crowd) -> bool:
        """Whether a replica without room may come all the same, by Longhorn's figures.

        They do not have yet what has just been placed there: for some seconds Longhorn sees room.
        """
        bins = seen_by_longhorn(space)
        suited, name = self._situation.forecast.suited, space.node.name
        return bins is not None and any(
            is_stranded(each.item, space.bins)
            and not is_stranded(each.item, bins)
            and name in suited.hosts(each.need)
            and suited.may_join(each, name)
            for each in threat.each
        )

    def _strict_threat(self, name: NodeName) -> Crowd:
        """Return what may come to a node with a strict-local replica, of the pod's own as well.

        Replicas beside a local one of the same volume come there only if they find no other node.
        """
        situation, forecast = self._situation, self._situation.with_own
        zone = situation.view.spaces[name].node.zone
        beside = [
            each
            for each in self._beside
            if best_node(forecast, each, forecast.usage_of(each).plus(name, zone)) == name
        ]
        if not beside:
            return self.with_remote
        return self.with_remote.plus(beside, situation.view.settings)

    def _without_room(
        self, nodes: Collection[NodeName], items: Sequence[Item], *, with_open: bool
    ) -> Iterator[NodeName]:
        """Yield those of *nodes* that may have no room for *items*, if all that comes comes there.

        On most nodes all fits on the best disk, or leaves room on some. Nodes to which something
        comes for itself are always among them.

        Args:
            with_open: Whether what open holds keep there is to find room as well.
        """
        situation, spaces, threat = self._situation, self._situation.view.spaces, self.with_own
        if not nodes:
            return
        if with_open:
            items = (*items, *(each.item for each in situation.bound.open.held))
        alike = {(i.logical_bytes, i.physical_bytes, i.kinds): i for i in items}.values()
        kinds = frozenset.intersection(*(i.kinds for i in alike)) if alike else frozenset()
        logical_bytes = threat.sums.most_bytes + sum(i.logical_bytes for i in items)
        physical_bytes = threat.sums.physical_bytes + sum(i.physical_bytes for i in items)
        situation.work.spend(len(nodes) // _NODES_PER_STEP)
        busy = self._busy
        for name in nodes:
            space = spaces.get(name)
            if space is None:
                continue
            if space.pending or name in busy:
                yield name
                continue
            best = space.roomiest[0] if space.roomiest else None
            takes_all = (
                best is not None
                and logical_bytes <= best.logical_bytes
                and physical_bytes <= best.physical_bytes
                and best.kind in kinds
            )
            if not (takes_all or leaves(alike, space, logical_bytes, physical_bytes)):
                yield name

    @cached_property
    def _busy(self) -> AbstractSet[NodeName]:
        """The nodes to which something comes that does not come to others."""
        situation = self._situation
        return (
            situation.ledger.chosen_nodes(but=situation.request.pod.uid)
            | situation.bound.open.partly
            | situation.bound.nodes_due
            | situation.bound.apart
            | situation.holders
        )

    @property
    def _may_look_closely(self) -> bool:
        """Whether it does not cost too much to look at what may come to one more node."""
        return len(self.with_own.each) <= self._pairs_left

    def _is_strict(self, name: NodeName) -> bool:
        return self._is_strict_itself or name in self._strict

    def _load(self, space: NodeSpace, *, with_open: bool) -> tuple[Item, ...]:
        bound = self._situation.bound
        load = bound.on(space) if with_open else bound.sure(space)
        return tuple([each.item for each in load])

    def _that_may_come(self, name: NodeName, threat: Crowd) -> list[Item] | None:
        """Return what of a threat may come to a node; None if looking would cost too much."""
        if len(threat.each) > self._pairs_left:
            return None
        self._pairs_left -= len(threat.each)
        situation, forecast = self._situation, self._situation.forecast
        situation.work.spend(len(threat.each) // _PAIRS_PER_STEP)
        found: list[Item] = []
        for each in threat.each:
            if forecast.suited.may_go(each, name) and forecast.suited.may_join(each, name):
                found += [each.item] * most_on_a_node(each, situation.view.settings)
        return found

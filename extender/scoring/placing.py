"""What is left on a node after a pod's new replicas, and how sure it is that they find room."""

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import compress, count

from extender.demand.items import Demand
from extender.scoring.robustness import Robustness, robustness
from extender.scoring.scores import WITHOUT_DATA, Score, points, score_of
from extender.space import NodeSpace
from extender.verdicts.candidates import grouped
from extender.verdicts.remembered import Remembered
from extender.verdicts.situation import Situation
from extender.view import ChangeLog, Cursor
from longhorn import NodeName
from packing import Item, Kind

_CLOSE_STEPS = 100
"""Placements that are tried on one node; 64 are all orders of four volumes."""

_Sureness = tuple[Robustness | None, float]
"""How sure room is, and the points that are for that, ready to be rounded."""
_NOTHING_NEW, _SOME_ORDER, _EVERY_ORDER, _SUREST = (
    (robustness, points(WITHOUT_DATA, 0.0, robustness, 0.0) + 0.5)
    for robustness in (None, *Robustness)
)


class Known:
    """What is known of nodes for one set of needs.

    It follows from the needs and the node's space alone, and stands until the space is replaced.

    Attributes:
        scores: As if there were no data and an even spread wanted.
        unsure: The nodes on which, at a glance, only some order works out, and at which nobody has
            looked closely yet.
    """

    def __init__(self) -> None:
        self.scores: dict[NodeName, Score] = {}
        self.unsure: set[NodeName] = set()
        self._cursor: Cursor | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def catch_up(self, changes: ChangeLog[NodeName]) -> None:
        """Forget the nodes that have changed since the last time."""
        changed, self._cursor = changes.since(self._cursor)
        for name in [*self.scores] if changed is None else changed:
            self.unsure.discard(name)
            self.scores.pop(name, None)


RememberedScores = Remembered[Known]


class Placings:
    """What becomes of the accepted nodes of one pod.

    Args:
        situation: The pod, and what else will take room.
        accepted: The nodes; each has room for what is new there.
        changes: The nodes whose space has changed, or what comes there.
        remembered: What is known already; added to.

    Attributes:
        scores: Of the nodes, in their order: as far as is known without looking closely now, as if
            there were no data and an even spread wanted.
    """

    def __init__(
        self,
        situation: Situation,
        accepted: Sequence[NodeName],
        changes: ChangeLog[NodeName],
        remembered: RememberedScores,
    ) -> None:
        self._situation = situation
        groups = self._groups = grouped(situation, accepted)
        coming = _Coming(situation, situation.demand, ())
        self._alone = coming, remembered.for_needs((groups.needs, ()), changes)
        self._apart: dict[NodeName, tuple[_Coming, Known]] = {}
        """Where open holds keep room, or where something of the pod's own counts."""
        scores = self._glance(groups.alone, *self._alone)
        if groups.beside:
            held = [each.item for each in groups.open.held]
            beside = _Coming(situation, situation.demand, held)
            known = remembered.for_needs((groups.needs, groups.open.needs), changes)
            self._apart |= dict.fromkeys(groups.beside, (beside, known))
            self._glance(groups.beside, beside, known)
        for name in groups.singly:
            coming, known = (
                _Coming(situation, situation.demand_on(name), self._others(name)),
                Known(),
            )
            coming.look([name], situation.view.spaces, known)
            self._apart[name] = coming, known
        seen, apart = self._alone[1].scores, self._apart
        self.scores: Sequence[Score] = (
            [(apart[name][1].scores if name in apart else seen)[name] for name in accepted]
            if apart
            else scores
        )

    def unsure(self, accepted: Sequence[NodeName]) -> list[int]:
        """Return the positions of nodes at which one may look closely for the first time."""
        seen, apart = self._alone[1].unsure, self._apart
        if apart:
            return [
                index
                for index, name in enumerate(accepted)
                if name in (apart[name][1].unsure if name in apart else seen)
            ]
        if not seen:
            return []
        return [*compress(count(), map(seen.__contains__, accepted))]

    def closely(self, name: NodeName) -> Robustness:
        """Find out how sure it is that all that comes to an unsure node finds room there."""
        coming, known = self._apart.get(name, self._alone)
        view = self._situation.view
        if name in self._groups.busy or view.spaces[name].pending:
            coming = _Coming(self._situation, self._situation.demand_on(name), self._others(name))
        found = robustness(
            coming.items, view.spaces[name], view.disk_kinds, step_limit=_CLOSE_STEPS
        )
        known.unsure.discard(name)
        known.scores[name] = score_of(WITHOUT_DATA, 0.0, found, known.scores[name].balance)
        return found

    def largest_bytes(self, name: NodeName) -> int:
        """Return what is free on that disk of a node with most of it that the volumes may use."""
        kinds, rooms = self._alone[0].kinds, self._situation.view.spaces[name].rooms
        return max([0, *(room.headrooms[-1] for room in rooms if room.kind in kinds)])

    def _glance(
        self, nodes: Sequence[NodeName], coming: "_Coming", known: Known
    ) -> Sequence[Score]:
        """Score nodes, each of which takes the same but for what comes to it alone."""
        try:
            return [*map(known.scores.__getitem__, nodes)]
        except KeyError:
            pass
        situation, spaces = self._situation, self._situation.view.spaces
        for name in coming.look(nodes, spaces, known, busy=self._groups.busy):
            _Coming(situation, situation.demand, self._others(name)).look([name], spaces, known)
        return [*map(known.scores.__getitem__, nodes)]

    def _others(self, name: NodeName) -> Sequence[Item]:
        """Return what else comes to a node."""
        situation = self._situation
        load = situation.bound.on(situation.view.spaces[name])
        return [each.item for each in (*load, *situation.with_own.on.get(name, ()))]


class _Coming:
    """What comes to a node, or to many: the pod's new replicas, and others.

    Args:
        situation: The pod.
        demand: Its new replicas there.
        others: What else comes there.

    Attributes:
        items: All of it.
        kinds: The disks that the pod's volumes may use.
    """

    def __init__(self, situation: Situation, demand: Demand, others: Sequence[Item]) -> None:
        self.items = (*demand.items, *others)
        self.kinds = frozenset[Kind]().union(*(item.kinds for item in situation.demand.items))
        sizes = [item.logical_bytes for item in self.items] or [0]
        self._bytes, self._largest_bytes, self._least_bytes = sum(sizes), max(sizes), min(sizes)
        self._physical_bytes = sum(item.physical_bytes for item in self.items)
        self._any_kinds = self.kinds.union(*(item.kinds for item in self.items))
        self._shared_kinds = self._any_kinds.intersection(*(item.kinds for item in self.items))
        self._is_new = bool(demand.items)

    def look(
        self,
        nodes: Iterable[NodeName],
        spaces: Mapping[NodeName, NodeSpace],
        known: Known,
        *,
        busy: Container[NodeName] | None = None,
    ) -> Sequence[NodeName]:
        """Score nodes with room for all by themselves: there are no data, an even spread is wanted.

        Returns the nodes that are left out, as something else comes there.

        One loop for thousands of nodes, since each call in it would cost as much as the rest.

        Args:
            nodes: The nodes.
            spaces: What all nodes have.
            known: What is known already; added to.
            busy: The nodes to which something else comes; so does it where a replica is pending.
                None: none is left out.
        """
        left_out, found = list[NodeName](), known.scores
        kinds, shared, needed_bytes = self.kinds, self._shared_kinds, self._bytes
        physical_bytes, weight = self._physical_bytes, WITHOUT_DATA.balance
        is_one, is_new = self._is_new and len(self.items) == 1, self._is_new
        surest = _SUREST
        for name in nodes:
            if name in found:
                continue
            space = spaces[name]
            if busy is not None and (space.pending or name in busy):
                left_out.append(name)
                continue
            free_bytes = limit_bytes = 0
            sure = None
            for room in space.rooms:
                if room.kind in kinds:
                    free_bytes += room.free_bytes
                    limit_bytes += room.limit_bytes
                    # One replica alone finds room whatever Longhorn chooses, and any number does if
                    # the disk that it takes first has room for all.
                    if is_one or (
                        room.first_bytes >= needed_bytes
                        and room.kind in shared
                        and (not physical_bytes or physical_bytes <= room.least_physical_bytes)
                    ):
                        sure = surest
            if sure is None or not (is_new and space.all_usable):
                sure = self._sureness(space)
            robustness, base = sure
            if sure is _SOME_ORDER:
                known.unsure.add(name)
            balance = (
                (free_bytes - needed_bytes) / limit_bytes if free_bytes > needed_bytes else 0.0
            )
            found[name] = Score(int(base + weight * balance), 0.0, robustness, balance)
        return left_out

    def _sureness(self, space: NodeSpace) -> _Sureness:
        """Say how sure it is at least that all find room; they do in some order.

        For several that may go to disks of several kinds, nothing follows at a glance.
        """
        if not self._is_new:
            return _NOTHING_NEW
        rooms, any_kinds = space.rooms, self._any_kinds
        here = rooms if len(rooms) == 1 else [room for room in rooms if room.kind in any_kinds]
        if not space.all_usable or len(here) != 1:
            return _SOME_ORDER
        room = here[0]
        if (
            room.kind in self._shared_kinds
            and self._physical_bytes <= room.least_physical_bytes
            and room.fit_in_every_order(self._bytes, self._largest_bytes)
        ):
            fit_unseen = room.fit_wherever(self._bytes, self._least_bytes)
            return _SUREST if fit_unseen else _EVERY_ORDER
        return _SOME_ORDER

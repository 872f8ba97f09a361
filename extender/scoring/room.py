"""The terms about room: how sure it is that what is new finds it, and what of it is left then."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import filterfalse

from extender.demand.items import Demand
from extender.scoring.scores import WITHOUT_DATA, Balance, Robustness, Score, scores_of
from extender.space import NodeSpace
from extender.upcoming.upcoming import competitors_of
from extender.verdicts.candidates import grouped
from extender.verdicts.remembered import Remembered
from extender.verdicts.situation import Situation
from longhorn import NodeName
from packing import Item, Kind


class KnownScores:
    """Scores of nodes for one set of needs, as if there were no data, and `Balance.SPREAD` wanted.

    They stand until the node's space is replaced, as `Verdicts` do.
    """

    def __init__(self) -> None:
        self.by_node: dict[NodeName, Score] = {}

    def __len__(self) -> int:
        return len(self.by_node)

    def forget(self, names: Sequence[NodeName]) -> None:
        """Forget nodes that have changed."""
        for name in names:
            self.by_node.pop(name, None)


RememberedScores = Remembered[KnownScores]
_SOME_ORDER, _EVERY_ORDER, _SUREST = Robustness


def scores_by_room(
    situation: Situation,
    accepted: Sequence[NodeName],
    remembered: RememberedScores,
    balance: Balance,
) -> Sequence[Score]:
    """Score nodes as if there were no data; each has room for what is new there."""
    groups = grouped(situation, accepted)
    known = remembered.for_needs((groups.needs, ()))
    scores = _alike(groups.alone, known, situation, groups.busy, ())
    if groups.beside or groups.singly:
        by_node = dict(zip(groups.alone, scores, strict=True))
        if groups.beside:
            known = remembered.for_needs((groups.needs, groups.open.needs))
            held = [each.item for each in groups.open.held]
            beside = _alike(groups.beside, known, situation, groups.busy, held)
            by_node.update(zip(groups.beside, beside, strict=True))
        for name in groups.singly:
            by_node |= _coming_to(name, situation).scores([name])
        scores = [by_node[name] for name in accepted]
    match balance:
        case Balance.SPREAD:
            return scores
        case Balance.PACK:
            shares = _small_disks(situation, accepted)
        case Balance.OFF:
            shares = [0.0] * len(scores)
    robustness = [each.robustness for each in scores]
    return scores_of(WITHOUT_DATA, [0.0] * len(scores), robustness, shares)


def _alike(
    nodes: Sequence[NodeName],
    known: KnownScores,
    situation: Situation,
    busy: AbstractSet[NodeName],
    held: Sequence[Item],
) -> list[Score]:
    """Return the scores of nodes; to each that is not busy comes the same, *held* besides."""
    by_node, spaces = known.by_node, situation.view.spaces
    try:
        return [*map(by_node.__getitem__, nodes)]  # the pods of a workload come one after another
    except KeyError:
        alike = [
            name
            for name in nodes
            if name not in by_node and not (spaces[name].pending or name in busy)
        ]
    by_node |= _Coming(situation, situation.demand, held).scores(alike)
    for name in filterfalse(by_node.__contains__, nodes):
        by_node |= _coming_to(name, situation).scores([name])
    return [*map(by_node.__getitem__, nodes)]


def _small_disks(situation: Situation, nodes: Sequence[NodeName]) -> list[float]:
    """Say of each node how small the largest free disk is, beside that of the other nodes."""
    kinds, spaces = _kinds_of(situation.demand), situation.view.spaces
    largest = [
        max([0, *(room.headrooms[-1] for room in spaces[name].rooms if room.kind in kinds)])
        for name in nodes
    ]
    most = max(largest, default=0)
    return [1 - each / most if most > 0 else 0.0 for each in largest]


class _Coming:
    """What comes to a node, or to many."""

    def __init__(self, situation: Situation, demand: Demand, others: Sequence[Item]) -> None:
        items = (*demand.items, *others)
        sizes = [item.logical_bytes for item in items] or [0]
        self._bytes, self._largest_bytes, self._least_bytes = sum(sizes), max(sizes), min(sizes)
        self._physical_bytes = sum(item.physical_bytes for item in items)
        self._spaces, self._kinds = situation.view.spaces, _kinds_of(situation.demand)
        self._any_kinds = self._kinds.union(*(item.kinds for item in items))
        self._shared = self._any_kinds.intersection(*(item.kinds for item in items))
        self._is_new, self._is_one = bool(demand.items), len(items) == 1

    def scores(self, nodes: Sequence[NodeName]) -> dict[NodeName, Score]:
        """Score nodes that have room for all of it."""
        data, terms = [0.0] * len(nodes), self._terms(nodes)
        return dict(zip(nodes, scores_of(WITHOUT_DATA, data, *terms), strict=True))

    def _terms(self, nodes: Sequence[NodeName]) -> tuple[list[Robustness | None], list[float]]:
        """Say of each node how sure room is, and what stays free, as a share of the disks' limits.

        One replica alone finds room whatever Longhorn chooses, and any number does if the disk that
        it takes first has room for all. On a disk that is not usable and that Longhorn may choose
        all the same, a replica would not start.

        One loop, since each call for thousands of nodes would cost a tenth of it, and each figure
        that is read for nothing as well.
        """
        spaces, kinds, any_kinds, shared = self._spaces, self._kinds, self._any_kinds, self._shared
        needed_bytes, physical_bytes = self._bytes, self._physical_bytes
        is_new, is_one = self._is_new, self._is_one
        robustness, left = list[Robustness | None](), list[float]()
        for name in nodes:
            space = spaces[name]
            left_bytes, limit_bytes, is_surest = -needed_bytes, 0, False
            for room in space.rooms:
                if room.kind in kinds:
                    left_bytes += room.free_bytes
                    limit_bytes += room.limit_bytes
                    if is_one or (
                        room.first_bytes >= needed_bytes
                        and room.kind in shared
                        and not (physical_bytes and physical_bytes > room.least_physical_bytes)
                    ):
                        is_surest = True
            if is_surest and is_new and not (space.doubtful and space.doubtful & any_kinds):
                robustness.append(_SUREST)
            else:
                robustness.append(self._unless_surest(space) if is_new else None)
            left.append(left_bytes / limit_bytes if left_bytes > 0 else 0.0)
        return robustness, left

    def _unless_surest(self, space: NodeSpace) -> Robustness:
        """Say how sure it is at least that all find room on a node; they do in some order.

        If they may go to disks of several kinds, nothing follows without trying orders.
        """
        rooms = [room for room in space.rooms if room.kind in self._any_kinds]
        if len(rooms) != 1 or not space.doubtful.isdisjoint(self._any_kinds):
            return _SOME_ORDER
        [room] = rooms
        fit = (
            room.kind in self._shared
            and room.least_physical_bytes >= self._physical_bytes
            and room.fit_in_every_order(self._bytes, self._largest_bytes)
        )
        if not fit:
            return _SOME_ORDER
        return _SUREST if room.fit_wherever(self._bytes, self._least_bytes) else _EVERY_ORDER


def _coming_to(name: NodeName, situation: Situation) -> _Coming:
    """Return what comes to one node that is not like others."""
    space, demand = situation.view.spaces[name], situation.demand_on(name)
    coming = situation.book.on(space)
    others = competitors_of(demand, space, coming) if demand.items else coming
    return _Coming(situation, demand, [each.item for each in others])


def _kinds_of(demand: Demand) -> frozenset[Kind]:
    """Return the disks that the pod's volumes may use."""
    return frozenset[Kind]().union(*(item.kinds for item in demand.items))

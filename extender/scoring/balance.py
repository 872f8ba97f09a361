"""The term about room: what a node has left once the pod's new volumes are placed there."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import filterfalse

from extender.demand.items import Demand
from extender.scoring.scores import WITHOUT_DATA, Balance, Score, scores_of
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


def scores_by_balance(
    situation: Situation,
    accepted: Sequence[NodeName],
    remembered: RememberedScores,
    balance: Balance,
) -> Sequence[Score]:
    """Score nodes as if there were no data; each has room for what is new there."""
    match balance:
        case Balance.SPREAD:
            return _spread(situation, accepted, remembered)
        case Balance.PACK:
            shares = _small_disks(situation, accepted)
        case Balance.OFF:
            shares = [0.0] * len(accepted)
    return scores_of(WITHOUT_DATA, [0.0] * len(accepted), shares)


def _spread(
    situation: Situation, accepted: Sequence[NodeName], remembered: RememberedScores
) -> Sequence[Score]:
    groups = grouped(situation, accepted)
    known = remembered.for_needs((groups.needs, ()))
    scores = _alike(groups.alone, known, situation, groups.busy, ())
    if not (groups.beside or groups.singly):
        return scores
    by_node = dict(zip(groups.alone, scores, strict=True))
    if groups.beside:
        known = remembered.for_needs((groups.needs, groups.open.needs))
        held = [each.item for each in groups.open.held]
        beside = _alike(groups.beside, known, situation, groups.busy, held)
        by_node.update(zip(groups.beside, beside, strict=True))
    for name in groups.singly:
        by_node[name] = _singly(name, situation)
    return [by_node[name] for name in accepted]


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
    scores = _scores(alike, situation, situation.demand, held)
    by_node.update(zip(alike, scores, strict=True))
    for name in filterfalse(by_node.__contains__, nodes):
        by_node[name] = _singly(name, situation)
    return [*map(by_node.__getitem__, nodes)]


def _singly(name: NodeName, situation: Situation) -> Score:
    """Return the score of a node to which comes what does not come to others."""
    others = [each.item for each in situation.book.on(situation.view.spaces[name])]
    [score] = _scores([name], situation, situation.demand_on(name), others)
    return score


def _scores(
    nodes: Sequence[NodeName], situation: Situation, demand: Demand, others: Iterable[Item]
) -> list[Score]:
    """Score nodes to each of which comes *demand*, and others' items."""
    kinds, spaces = _kinds_of(situation.demand), situation.view.spaces
    coming_bytes = sum(item.logical_bytes for item in demand.items)
    coming_bytes += sum(item.logical_bytes for item in others if item.kinds & kinds)
    shares = list[float]()
    for name in nodes:
        free_bytes = limit_bytes = 0
        for of_kind in spaces[name].totals:
            if of_kind.kind in kinds:
                free_bytes += of_kind.free_bytes
                limit_bytes += of_kind.limit_bytes
        left_bytes = free_bytes - coming_bytes
        shares.append(left_bytes / limit_bytes if left_bytes > 0 else 0.0)
    return scores_of(WITHOUT_DATA, [0.0] * len(nodes), shares)


def _small_disks(situation: Situation, nodes: Sequence[NodeName]) -> list[float]:
    """Say of each node how small the largest free disk is, beside that of the other nodes."""
    kinds, spaces = _kinds_of(situation.demand), situation.view.spaces
    largest = [
        max(
            [
                0,
                *(
                    of_kind.largest_bytes
                    for of_kind in spaces[name].totals
                    if of_kind.kind in kinds
                ),
            ]
        )
        for name in nodes
    ]
    most = max(largest, default=0)
    return [1 - each / most if most > 0 else 0.0 for each in largest]


def _kinds_of(demand: Demand) -> frozenset[Kind]:
    """Return the disks that the pod's volumes may use."""
    return frozenset[Kind]().union(*(item.kinds for item in demand.items))

"""The whole answer for a node, and which nodes may go next or at once."""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from itertools import combinations

import msgspec

from cli.draining.cluster import Cluster, Means, Situation, situation
from cli.draining.evicting import guarding, leaving, refusing, unknown_budgets
from cli.draining.guarding import holding, protections
from cli.draining.obstacles import Caution, Code, Hint, Obstacle
from longhorn import NodeName, VolumeName

_ORDER = {code: number for number, code in enumerate(Code)}


class May(StrEnum):
    """Whether a node may be drained now."""

    YES = "yes"
    NOT_YET = "not_yet"
    UNKNOWN = "unknown"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is found out about one node."""

    node: NodeName
    may: May
    cordoned: bool
    """Now, before `kubectl drain` does it."""
    pods: int
    """So many would be evicted or deleted."""
    obstacles: tuple[Obstacle, ...]
    """In the order in which they are to be remedied."""
    cautions: tuple[Caution, ...]
    unknown: tuple[str, ...]


def judge(node: NodeName, case: Situation, unknown: Sequence[str]) -> Verdict:
    """Say whether a node may be drained now.

    Args:
        node: The node; it is in the cluster.
        case: With the node cordoned.
        unknown: What is not known of the cluster, so that the answer cannot be yes.
    """
    found = [*refusing(node, case), *guarding(node, case), *holding(node, case)]
    # Several instance managers of a node may say the same.
    found = [*{(each.code, each.object, each.text): each for each in found}.values()]
    obstacles = [each for each in found if isinstance(each, Obstacle)]
    cautions = [each for each in found if isinstance(each, Caution)]
    cautions += _losses(node, case, {each.object for each in obstacles})
    unsure = (*unknown, *unknown_budgets(node, case))
    may = May.NOT_YET if obstacles else May.UNKNOWN if unsure else May.YES
    return Verdict(
        node=node,
        may=may,
        cordoned=node in case.cluster.cordoned,
        pods=len(leaving(node, case)),
        obstacles=tuple(sorted(obstacles, key=lambda each: _ORDER[each.code])),
        cautions=tuple(cautions),
        unknown=unsure,
    )


class Apart(msgspec.Struct, frozen=True, kw_only=True):
    """Two nodes that each may go, and not at once."""

    nodes: tuple[NodeName, NodeName]
    why: str


def next_of(verdicts: Sequence[Verdict]) -> list[NodeName]:
    """Return the nodes that may go next, the best first: one that is cordoned has begun to go.

    Each is judged as if it went alone. One that would take a volume away is none of them.
    """
    ready = [
        each
        for each in verdicts
        if each.may is May.YES and not any(hint.code in _LOSSES for hint in each.cautions)
    ]
    return [each.node for each in sorted(ready, key=lambda each: not each.cordoned)]


def pairs_of(
    nodes: Sequence[NodeName], cluster: Cluster
) -> tuple[list[tuple[NodeName, NodeName]], list[Apart]]:
    """Tell which two of some nodes, each of which may go alone, may go at once, and which not."""
    needs = {node: dict(_needs(node, cluster)) for node in nodes}
    together, apart = list[tuple[NodeName, NodeName]](), list[Apart]()
    for first, second in combinations(nodes, 2):
        volume = needs[first].get(second) or needs[second].get(first)
        if volume is None:
            together.append((first, second))
        else:
            why = f"volume {cluster.called(volume)} needs one of them"
            apart.append(Apart(nodes=(first, second), why=why))
    return together, apart


_LOSSES = frozenset({Hint.VOLUME_AWAY, Hint.SHARDS_LOST})


def _needs(node: NodeName, cluster: Cluster) -> Iterator[tuple[NodeName, VolumeName]]:
    """Return the nodes that must stay while a node is away, each with a volume that needs it."""
    alone = situation(cluster, [node], Means())
    for each in protections(node, alone):
        if len(each.peers) == 1 and (each.copy.healthy_once or each.copy.failed):
            yield next(iter(each.peers)), each.copy.volume
    for copy in cluster.copies_on.get(node, ()):
        healthy = _healthy_nodes(copy.volume, cluster) - {node}
        if copy.has_data and len(healthy) == 1:
            yield next(iter(healthy)), copy.volume
    for volume in _sharded_on(node, cluster):
        use = cluster.uses[volume]
        whole = _whole_shards(volume, cluster)
        if len(whole - {node}) - 1 < use.shards - use.spare_shards:
            for other in whole - {node}:
                yield other, volume


def _losses(node: NodeName, case: Situation, held: Collection[str]) -> Iterator[Caution]:
    """Say which volumes are away while the nodes in question are, though nothing holds them back.

    Args:
        node: One of them.
        case: Names all of them.
        held: What is in the way of its drain.
    """
    cluster, asked = case.cluster, case.asked
    for copy in cluster.copies_on.get(node, ()):
        is_last = copy.has_data and _healthy_nodes(copy.volume, cluster) <= asked
        if is_last and f"Replica {copy.name}" not in held:
            text = "has no healthy replica elsewhere: it cannot be used while the node is away"
            name = f"Volume {cluster.called(copy.volume)}"
            yield Caution(code=Hint.VOLUME_AWAY, object=name, text=text)
    for volume in _sharded_on(node, cluster):
        use, whole = cluster.uses[volume], _whole_shards(volume, cluster)
        name = f"Volume {cluster.called(volume)}"
        count = f"{len(whole)} of its {use.shards} shards are healthy"
        if node in whole and len(whole - asked) < use.shards - use.spare_shards:
            text = f"cannot be used while the node is away: {count}, and too few are elsewhere"
            yield Caution(code=Hint.SHARDS_LOST, object=name, text=text)
        elif len(whole) < use.shards:
            text = f"is not whole: {count}. Nothing holds shards back, so wait until it is"
            yield Caution(code=Hint.SHARDS_NOT_WHOLE, object=name, text=text)


def _healthy_nodes(volume: VolumeName, cluster: Cluster) -> set[NodeName]:
    return {each.node for each in cluster.copies.get(volume, ()) if each.has_data}


def _sharded_on(node: NodeName, cluster: Cluster) -> list[VolumeName]:
    """Return the erasure-coded volumes with a shard on a node."""
    return sorted(
        volume
        for volume, shards in cluster.shards.items()
        if volume in cluster.uses
        and cluster.uses[volume].shards
        and any(each.node == node for each in shards)
    )


def _whole_shards(volume: VolumeName, cluster: Cluster) -> set[NodeName]:
    """Return the nodes with a healthy shard of a volume: each shard has one of its own."""
    return {
        each.node
        for each in cluster.shards.get(volume, ())
        if each.node is not None and each.healthy_once and not each.deleting
    }

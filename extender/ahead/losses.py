"""Which nodes, and how many of them at once, may be lost without that a volume loses its data."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from itertools import islice

from extender.ahead.pieces import Pieces
from extender.view import ClusterView
from longhorn import NodeName, Replica, Volume, VolumeName, is_serving

MOST_NODES = 2
"""Nobody looks further: Longhorn's volumes have three replicas as a rule."""
_VOLUMES_IN_ONE_GO = 500


def with_data(replicas: Iterable[Replica]) -> list[Replica]:
    """Return the replicas from which a volume can be read."""
    return [each for each in replicas if is_serving(each) and each.healthy_once]


def endangered(view: ClusterView) -> dict[NodeName, list[VolumeName]]:
    """Return the volumes that lose their data with a node, by node."""
    found: dict[NodeName, list[VolumeName]] = {}
    for name, replicas in sorted(view.replicas.items()):
        volume = view.volumes.get(name)
        if volume is not None and volume.deleting:
            continue
        healthy = _per_node(replicas)
        for node, count in healthy.items():
            if node is not None and healthy.total() - count < _needed(volume):
                found.setdefault(node, []).append(name)
    return found


def may_be_lost(current_view: Callable[[], ClusterView]) -> Pieces[int]:
    """Return the most nodes that may be lost, whichever they are, so that all data stay; at most 2.

    A volume that is to have one replica does not count: its owner has chosen that. One whose data
    are lost already does not, either.
    """
    names = [*current_view().volumes]
    least = MOST_NODES
    for start in range(0, len(names), _VOLUMES_IN_ONE_GO):
        view = current_view()
        for name in islice(names, start, start + _VOLUMES_IN_ONE_GO):
            volume = view.volumes.get(name)
            if volume is not None and not volume.deleting and volume.wanted_replicas > 1:
                least = min(least, _survives(volume, view.replicas.get(name, ())))
        yield
    return least


def _survives(volume: Volume, replicas: Collection[Replica]) -> int:
    """Return the loss of how many nodes the data of a volume survive, at most 2."""
    healthy = _per_node(replicas)
    left, needed = healthy.total(), _needed(volume)
    if left < needed:
        return MOST_NODES
    for lost, (_, count) in enumerate(healthy.most_common(MOST_NODES)):
        left -= count
        if left < needed:
            return lost
    return MOST_NODES


def _per_node(replicas: Iterable[Replica]) -> Counter[NodeName | None]:
    return Counter(each.node for each in with_data(replicas))


def _needed(volume: Volume | None) -> int:
    """Return how many replicas, or shards, hold all data."""
    return max(1, 0 if volume is None else volume.data_chunks)

"""Which volumes lose their data with a node."""

from collections import Counter
from collections.abc import Iterable

from extender import ClusterView
from longhorn import NodeName, Replica, VolumeName, is_serving


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
        needed = max(1, 0 if volume is None else volume.data_chunks)
        healthy = Counter(each.node for each in with_data(replicas))
        for node, count in healthy.items():
            if node is not None and healthy.total() - count < needed:
                found.setdefault(node, []).append(name)
    return found

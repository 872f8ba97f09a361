"""Which volumes lose their data with a node."""

from cli.data import data_in
from extender import ClusterView
from longhorn import NodeName, VolumeName


def endangered(view: ClusterView) -> dict[NodeName, list[VolumeName]]:
    """Return the volumes that lose their data with a node, by node.

    Also where only failed replicas are left that could be salvaged, or a node that is down.
    """
    found: dict[NodeName, list[VolumeName]] = {}
    for name in sorted(view.replicas):
        volume = view.volumes.get(name)
        if volume is None or not volume.deleting:
            for node in sorted(data_in(view, name).last_nodes):
                found.setdefault(node, []).append(name)
    return found

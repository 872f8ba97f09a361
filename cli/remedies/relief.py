"""What would have a node, or one of its disks, take new replicas again."""

from collections.abc import Sequence

from cli.remedies.finding import helpful
from cli.remedies.of_disks import Wanted
from cli.remedies.remedy import RemedyReport
from extender import ClusterView, ViewBuilder
from extender.space import why_unusable
from longhorn import DiskName, Need, NodeName

_RELIEF = frozenset({"add_disk", "add_node"})
"""What leaves the disk as it is."""


def relief(node: NodeName, disk: DiskName | None, builder: ViewBuilder) -> list[RemedyReport]:
    """Return what helps a disk, or a node whatever its disks, from the least to the most costly."""

    def takes(view: ClusterView, _: Sequence[NodeName]) -> bool:
        space = view.spaces[node]
        if disk is None:
            return space.takes_replicas
        found = [each for each in space.disks if each.disk.name == disk]
        return any(
            why_unusable(each.disk) is None
            and each.logical_headroom_bytes >= 0
            and each.physical_headroom_bytes >= 0
            for each in found
        )

    types = [d.disk.type for d in builder.view.spaces[node].disks if disk in (None, d.disk.name)]
    need = Need(
        size_bytes=0,
        actual_bytes=0,
        disk_type=types[0] if types else "filesystem",
        node_selectors=(),
        disk_selectors=(),
        topology=(),
    )
    found = helpful(takes, builder, Wanted(needs=[need]), [node], [])
    return [each for each in found if not any(step.code in _RELIEF for step in each.steps)]

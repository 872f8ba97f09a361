"""What Longhorn tells Kubernetes of the room on a node: kube-scheduler leaves nodes out by it.

It does so with Longhorn's setting csi-storage-capacity-tracking. Our own decisions look at the
headrooms of each disk instead.

Source: longhorn-manager csi/controller_server.go GetCapacity.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from longhorn.disks import takes_replicas
from longhorn.needs import Need, Selector, all_match, split_tags
from longhorn.nodes import has_tags, refusal_of
from longhorn.records import Disk, Node, NodeName
from longhorn.settings import Settings

CAPACITY_TRACKING = "csi-storage-capacity-tracking"
"""The setting: "true" has kube-scheduler go by it; any other value means nothing."""


class Capacity(NamedTuple):
    """What a node has left, in bytes."""

    available_bytes: int
    """On all its disks."""
    maximum_bytes: int
    """On the best of them: no larger volume may be made."""


def told_bytes(
    nodes: Iterable[Node], parameters: Mapping[str, str], settings: Settings
) -> dict[NodeName, int]:
    """Return the largest new volume of a StorageClass by what Longhorn tells of each node.

    Args:
        parameters: Of the class. `storageCapacityMode` may have each zone tell its best node.
    """
    need, known = tracked_need(parameters), [*nodes]
    told = {each.name: capacity_of(each, need, settings).maximum_bytes for each in known}
    if parameters.get("storageCapacityMode") != "zone":
        return told
    best: dict[str, int] = {}
    for each in known:
        best[each.zone] = max(best.get(each.zone, 0), told[each.name])
    return {each.name: best[each.zone] for each in known}


def tracked_need(parameters: Mapping[str, str]) -> Need:
    """Say what of a class's volumes counts there: the engine and the tags."""
    return Need(
        size_bytes=0,
        actual_bytes=0,
        disk_type="block" if parameters.get("dataEngine") == "v2" else "filesystem",
        node_selectors=(_selector(parameters, "nodeSelector"),),
        disk_selectors=(_selector(parameters, "diskSelector"),),
        topology=(),
    )


def capacity_of(node: Node, need: Need, settings: Settings) -> Capacity:
    """Say what a node has left for volumes whose replicas ask for *need*; sizes do not matter."""
    if refusal_of(node) is not None or node.evicting or not has_tags(node, need, settings):
        return Capacity(0, 0)
    allow_empty = settings.allow_empty_disk_selector
    left = [
        _left_bytes(disk, settings.over_provisioning_percent)
        for disk in node.disks
        if takes_replicas(disk)
        and disk.type == need.disk_type
        and all_match(disk.tags, need.disk_selectors, allow_empty=allow_empty)
    ]
    return Capacity(sum(left), max(left, default=0))


def _left_bytes(disk: Disk, over_provisioning_percent: int) -> int:
    """Return what a disk has left, in whole numbers."""
    limit = (disk.maximum_bytes - disk.reserved_bytes) * over_provisioning_percent // 100
    return max(0, limit - disk.scheduled_bytes)


def _selector(parameters: Mapping[str, str], name: str) -> Selector:
    text = parameters.get(name)
    return split_tags(text) if text else ()

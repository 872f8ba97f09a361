"""What Longhorn tells Kubernetes that a node has left: one number for a class of volumes.

Source: longhorn-manager csi/controller_server.go GetCapacity. Only the tests' Longhorn answers so;
our own decisions look at each disk.
"""

from typing import NamedTuple

from longhorn.disks import takes_replicas
from longhorn.needs import Need
from longhorn.nodes import has_tags, refusal_of
from longhorn.records import Node
from longhorn.settings import Settings
from longhorn.tags import all_match


class Capacity(NamedTuple):
    """The sum over a node's disks, and what the best of them takes."""

    available_bytes: int
    maximum_bytes: int


def capacity_of(node: Node, need: Need, settings: Settings) -> Capacity:
    """Say what a node has left for volumes whose replicas ask for *need*; sizes do not matter."""
    if refusal_of(node) is not None or node.evicting or not has_tags(node, need, settings):
        return Capacity(0, 0)
    percent = settings.over_provisioning_percent
    left = [
        max(
            0,
            (disk.maximum_bytes - disk.reserved_bytes) * percent // 100 - disk.scheduled_bytes,
        )
        for disk in node.disks
        if takes_replicas(disk)
        and disk.type == need.disk_type
        and all_match(
            disk.tags, need.disk_selectors, allow_empty=settings.allow_empty_disk_selector
        )
    ]
    return Capacity(sum(left), max(left, default=0))

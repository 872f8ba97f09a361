"""Live upgrades of data engine v2: one node after another gets a new instance manager.

Volumes stay attached meanwhile. Their engines move to other nodes, and they do without the replicas
on the node: these are detached by plan, and nothing is made in their place.

Since v1.13. Source: longhorn-manager controller/volume_controller.go
getPlannedDetachedReplicasForVolume and replenishReplicas.
"""

from collections.abc import Collection

import msgspec

from longhorn.records import Volume, VolumeName

_PENDING, _MOVING_ENGINES = "pending", "relocating-engines"
_WITHOUT = frozenset({"waiting-for-source-im", "restoring-engines"})
"""States in which volumes do without the replicas on the node."""


class InstanceManagerUpgrade(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn InstanceManagerUpgrade: the upgrade of one node."""

    name: str
    state: str
    moving: frozenset[VolumeName]
    """Volumes whose engine leaves the node meanwhile."""
    detaching: frozenset[VolumeName]
    """Volumes with replicas on the node, which are detached by plan."""


def paused_by(upgrade: InstanceManagerUpgrade) -> frozenset[VolumeName]:
    """Return the volumes that get no new replicas while an upgrade is where it is."""
    if upgrade.state == _PENDING:
        return frozenset() if upgrade.moving else upgrade.detaching
    if upgrade.state == _MOVING_ENGINES:
        return upgrade.detaching & upgrade.moving
    return upgrade.detaching if upgrade.state in _WITHOUT else frozenset()


def is_paused(volume: Volume, paused: Collection[VolumeName]) -> bool:
    """Say whether Longhorn makes no replica of a volume for now.

    Args:
        volume: The volume.
        paused: Those that some upgrade names (`paused_by`).
    """
    return volume.is_v2 and volume.attached_to is not None and volume.name in paused

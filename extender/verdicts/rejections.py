"""Why a node does not get the pod: one record per reason, with the text kube-scheduler shows.

A text never varies for a given cause: no free bytes, times or counters, since kube-scheduler
groups nodes by equal text and, since 1.33, tries the pod again at once when a text changed. What
the pod needs may be in it, since that does not change. What a disk has left is shown by the
`filter` command instead.
"""

from collections.abc import Mapping
from typing import ClassVar

import msgspec


class Rejection(msgspec.Struct, frozen=True):
    """A reason from a closed set (the label in metrics) and, as `str()`, its text."""

    reason: ClassVar[str]
    text: ClassVar[str]
    """Where it is the same for all; others say it in `__str__`."""
    is_about_room: ClassVar[bool] = False
    """Whether more room on one disk of the node may end it."""
    is_about_disks: ClassVar[bool] = False
    """Whether it matters to it that a disk of the node takes nothing."""
    is_passing: ClassVar[bool] = False
    """Whether it ends by itself, so that nothing is to be changed on a disk."""
    depends_on_others: ClassVar[bool] = False
    """Whether room on any node of the cluster may end it, not only on the node itself: replicas
    that are in the way may go elsewhere."""

    def __str__(self) -> str:
        return self.text

    @property
    def is_open(self) -> bool:
        """Whether it may be over in a moment, once the nodes of other pods are chosen."""
        return False


class InTheWay(Rejection, frozen=True, kw_only=True):
    """What other pods are about to take is in the way."""

    depends_on_others = True
    by_open: bool = False
    """Whether only holds of pods that may still go to several nodes are."""

    @property
    def is_open(self) -> bool:
        return self.by_open


class UnknownNode(Rejection, frozen=True):
    reason = "unknown_node"
    text = "no Longhorn node of this name"


class UnreadableNode(Rejection, frozen=True):
    reason = "unreadable_node"
    text = "Longhorn's objects of this node cannot be read; see the extender's log"


class SettingUnreadable(Rejection, frozen=True, kw_only=True):
    reason = "setting_unreadable"
    setting: str

    def __str__(self) -> str:
        return f"Longhorn setting {self.setting} has a value that cannot be read; correct it"


class NodeDeleting(Rejection, frozen=True):
    reason = "node_deleting"
    text = "Longhorn node is being deleted"


class NodeNotReady(Rejection, frozen=True):
    reason = "node_not_ready"
    text = "Longhorn node is not ready"


class DriverMissing(Rejection, frozen=True):
    reason = "driver_missing"
    text = "Longhorn's CSI driver is not registered on the node"


class EngineImageMissing(Rejection, frozen=True):
    reason = "engine_image_missing"
    text = "the engine image of a volume is not ready on the Longhorn node"


class InstanceManagerMissing(Rejection, frozen=True):
    reason = "instance_manager_missing"
    text = "no instance manager runs on the Longhorn node for the data engine of a volume"


class EngineSwitchedOff(Rejection, frozen=True):
    reason = "engine_switched_off"
    text = "the data engine of a volume is switched off on the node by its label"


class NodeNotSchedulable(Rejection, frozen=True):
    reason = "node_not_schedulable"
    text = "Longhorn node is not schedulable, as when it is cordoned"


class NodeSchedulingDisabled(Rejection, frozen=True):
    reason = "node_scheduling_disabled"
    text = "scheduling is disabled on the Longhorn node"


class NodeEvicting(Rejection, frozen=True):
    reason = "node_evicting"
    text = "Longhorn node is being evicted"


class NodeTags(Rejection, frozen=True, kw_only=True):
    reason = "node_tags"
    selector: tuple[str, ...]

    def __str__(self) -> str:
        if not self.selector:
            return "Longhorn node has tags, and a volume without node selector needs one without"
        return f"Longhorn node lacks a tag of node selector {','.join(self.selector)}"


class Topology(Rejection, frozen=True):
    reason = "topology"
    text = "Longhorn node is outside the zones and regions a volume is limited to"


class LinkedCloneElsewhere(Rejection, frozen=True):
    reason = "linked_clone_elsewhere"
    text = "Longhorn node has no replica of the volume that a linked clone shares data with"


class ReplicasElsewhere(Rejection, frozen=True):
    reason = "replicas_elsewhere"
    text = "another candidate node already holds replicas of all the pod's Longhorn volumes"


class MemberElsewhere(Rejection, frozen=True):
    reason = "member_elsewhere"
    text = "another node was chosen for this member of a pod group"


class StrictLocalElsewhere(Rejection, frozen=True):
    reason = "strict_local_elsewhere"
    text = "a strict-local volume of the pod has its replica on another node"


class StrictLocalUnusable(Rejection, frozen=True):
    reason = "strict_local_unusable"
    text = "the replica of a strict-local volume on this node cannot be used"


class LocalRoomAtRisk(InTheWay, frozen=True, kw_only=True):
    reason = "local_room_at_risk"
    text = (
        "replicas that Longhorn is about to place may take the room of those that are to be on "
        "their pod's node"
    )


class NoRoomAnywhere(InTheWay, frozen=True, kw_only=True):
    reason = "no_room_anywhere"
    is_about_room = True
    size_bytes: int

    def __str__(self) -> str:
        return (
            f"no disk of any Longhorn node takes a replica of a volume of "
            f"{_size(self.size_bytes)}, so Longhorn could not start it"
        )


class TooFewReplicas(InTheWay, frozen=True, kw_only=True):
    reason = "too_few_replicas"
    wanted: int
    size_bytes: int

    def __str__(self) -> str:
        return (
            f"not all {self.wanted} replicas of a volume of {_size(self.size_bytes)} have room, "
            f"and Longhorn starts none with fewer "
            f"(allow-volume-creation-with-degraded-availability is false)"
        )


class NoUsableDisk(Rejection, frozen=True):
    reason = "no_usable_disk"
    is_about_disks = True
    text = "no disk of the Longhorn node takes new replicas"


class NoDiskOfType(Rejection, frozen=True, kw_only=True):
    reason = "no_disk_of_type"
    is_about_disks = True
    type: str

    def __str__(self) -> str:
        return f"no usable {self.type} disk on the Longhorn node"


class DiskTags(Rejection, frozen=True, kw_only=True):
    reason = "disk_tags"
    is_about_disks = True
    selector: tuple[str, ...]

    def __str__(self) -> str:
        if not self.selector:
            return "no usable disk without tags, which a volume without disk selector needs"
        return f"no usable disk has all tags of disk selector {','.join(self.selector)}"


class FilesystemLimit(Rejection, frozen=True, kw_only=True):
    reason = "filesystem_limit"
    size_bytes: int

    def __str__(self) -> str:
        return f"a volume of {_size(self.size_bytes)} is too large for the disks' file systems"


class InsufficientStorage(Rejection, frozen=True, kw_only=True):
    reason = "insufficient_storage"
    is_about_room = is_about_disks = True
    size_bytes: int

    def __str__(self) -> str:
        return f"no disk of the Longhorn node has room for a volume of {_size(self.size_bytes)}"


class VolumesDoNotFit(Rejection, frozen=True, kw_only=True):
    reason = "volumes_do_not_fit"
    is_about_room = is_about_disks = True
    volumes: int
    size_bytes: int

    def __str__(self) -> str:
        return (
            f"the {self.volumes} volumes the pod needs here ({_size(self.size_bytes)} in all) "
            f"do not fit together on the disks of the Longhorn node"
        )


class TooFewShards(InTheWay, frozen=True, kw_only=True):
    reason = "too_few_shards"
    is_about_room = True
    wanted: int
    size_bytes: int
    """Of each."""

    def __str__(self) -> str:
        return (
            f"not all {self.wanted} shards of a volume have room: {_size(self.size_bytes)} each, "
            "every one on a Longhorn node of its own"
        )


class ReplicasCannotStart(Rejection, frozen=True):
    reason = "replicas_cannot_start"
    is_passing = depends_on_others = True
    text = "a volume's replicas cannot be started where they are; Longhorn would mark them failed"


class PendingReplicas(Rejection, frozen=True):
    reason = "pending_replicas"
    is_about_room = is_about_disks = is_passing = depends_on_others = True
    text = "the room is needed by replicas Longhorn is about to place"


class RoomHeld(InTheWay, frozen=True, kw_only=True):
    reason = "room_held"
    is_about_room = is_about_disks = is_passing = True
    text = "its room is held for other pods that are being scheduled"


class PodUnscheduled(Rejection, frozen=True):
    reason = "pod_unscheduled"
    text = "another pod that was given this node may still be bound to it"

    @property
    def is_open(self) -> bool:
        return True


class NodeReserved(Rejection, frozen=True):
    reason = "node_reserved"
    text = "the node is reserved until the replicas of another pod are placed"


class PackingUndecided(Rejection, frozen=True):
    reason = "packing_undecided"
    text = "whether the pod's volumes fit on this node was not decided within the step limit"


def _size(size_bytes: int) -> str:
    """Say the size in the largest unit that is exact; volumes are multiples of 2 MiB."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB")):
        if size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} B"


REASONS: Mapping[str, type[Rejection]] = {
    each.reason: each
    for each in sorted(
        {*Rejection.__subclasses__(), *InTheWay.__subclasses__()} - {InTheWay},
        key=lambda each: each.reason,
    )
}
"""All of them, by the label in metrics."""

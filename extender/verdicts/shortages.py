"""Why a node does not get the pod where it lacks disks or room, or others need what it has."""

from collections.abc import Mapping

from extender.errors import cut, sized
from extender.verdicts.rejections import ClusterChange, Rejection


class LocalRoomAtRisk(Rejection, frozen=True, kw_only=True):
    reason = "local_room_at_risk"
    ended_by = ClusterChange.ANYWHERE
    text = (
        "replicas that Longhorn is about to place may take the room of a strict-local one, which "
        "can be on its pod's node alone"
    )


class NoRoomAnywhere(Rejection, frozen=True, kw_only=True):
    reason = "no_room_anywhere"
    ended_by = ClusterChange.ROOM | ClusterChange.ANYWHERE
    size_bytes: int
    beyond_limits: bool = False
    """Whether some room shows, but only because disks were filled beyond their limits."""
    beside_own: bool = False
    """Whether it would find room without the pod's other volumes."""

    def __str__(self) -> str:
        if self.beyond_limits:
            return (
                f"a replica of a volume of {sized(self.size_bytes)} has room only because other "
                f"disks are filled beyond their limits"
            )
        beside = "beside the pod's other volumes " if self.beside_own else ""
        return (
            f"{beside}no disk of any Longhorn node takes a replica of a volume of "
            f"{sized(self.size_bytes)}, so Longhorn could not start it"
        )


class TooFewReplicas(Rejection, frozen=True, kw_only=True):
    reason = "too_few_replicas"
    ended_by = ClusterChange.ANYWHERE
    wanted: int
    size_bytes: int

    def __str__(self) -> str:
        return (
            f"not all {self.wanted} replicas of a volume of {sized(self.size_bytes)} have room, "
            f"and Longhorn starts none with fewer "
            f"(allow-volume-creation-with-degraded-availability is false)"
        )


class NoUsableDisk(Rejection, frozen=True):
    reason = "no_usable_disk"
    ended_by = ClusterChange.DISKS
    text = "no disk of the Longhorn node takes new replicas"


class NoDiskOfType(Rejection, frozen=True, kw_only=True):
    reason = "no_disk_of_type"
    ended_by = ClusterChange.DISKS
    type: str

    def __str__(self) -> str:
        return f"no usable {self.type} disk on the Longhorn node"


class DiskTags(Rejection, frozen=True, kw_only=True):
    reason = "disk_tags"
    ended_by = ClusterChange.DISKS
    selector: tuple[str, ...]

    def __str__(self) -> str:
        if not self.selector:
            return "no usable disk without tags, which a volume without disk selector needs"
        return f"no usable disk has all tags of disk selector {cut(','.join(self.selector))}"


class FilesystemLimit(Rejection, frozen=True, kw_only=True):
    reason = "filesystem_limit"
    ended_by = ClusterChange.DISKS
    size_bytes: int

    def __str__(self) -> str:
        return f"a volume of {sized(self.size_bytes)} is too large for the disks' file systems"


class InsufficientStorage(Rejection, frozen=True, kw_only=True):
    reason = "insufficient_storage"
    ended_by = ClusterChange.DISKS | ClusterChange.ROOM
    size_bytes: int

    def __str__(self) -> str:
        return f"no disk of the Longhorn node has room for a volume of {sized(self.size_bytes)}"


class VolumesDoNotFit(Rejection, frozen=True, kw_only=True):
    reason = "volumes_do_not_fit"
    ended_by = ClusterChange.DISKS | ClusterChange.ROOM
    volumes: int
    size_bytes: int

    def __str__(self) -> str:
        return (
            f"the {self.volumes} volumes the pod needs here ({sized(self.size_bytes)} in all) "
            f"do not fit together on the disks of the Longhorn node"
        )


class TooFewShards(Rejection, frozen=True, kw_only=True):
    reason = "too_few_shards"
    ended_by = ClusterChange.ANYWHERE
    wanted: int
    size_bytes: int
    """Of each."""

    def __str__(self) -> str:
        return (
            f"not all {self.wanted} shards of a volume have room: {sized(self.size_bytes)} each, "
            "every one on a Longhorn node of its own"
        )


class PendingReplicas(Rejection, frozen=True):
    reason = "pending_replicas"
    ended_by = ClusterChange.DISKS | ClusterChange.ROOM | ClusterChange.ANYWHERE
    text = "the room is needed by replicas Longhorn is about to place"


class RoomHeld(Rejection, frozen=True, kw_only=True):
    reason = "room_held"
    ended_by = (
        ClusterChange.DISKS | ClusterChange.ROOM | ClusterChange.HOLDS | ClusterChange.ANYWHERE
    )
    text = "Longhorn node's room is held for other pods that are being scheduled"


class PackingUndecided(Rejection, frozen=True):
    reason = "packing_undecided"
    ended_by = ClusterChange.ANYWHERE
    text = "whether the pod's volumes fit on this node was not decided within the step limit"


REASONS: Mapping[str, type[Rejection]] = {
    each.reason: each for each in sorted(Rejection.__subclasses__(), key=lambda each: each.reason)
}
"""All reasons to reject a node, those of `rejections` included, by the label in metrics."""

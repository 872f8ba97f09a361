"""Why a node does not get the pod: one record per reason, with the text kube-scheduler shows.

Here are the reasons that a node has itself; those about room and disks are in
`extender.verdicts.shortages`, with the table of all.

A text never varies for a given cause: no free bytes, times or counters, since kube-scheduler
groups nodes by equal text and, since 1.33, tries the pod again at once when a text changed. What
the pod needs may be in it, since that does not change. What a disk has left is shown by the
`filter` command instead.
"""

from enum import Flag, auto
from typing import ClassVar

import msgspec

from extender.errors import cut


class ClusterChange(Flag):
    """Kinds of change that may end a rejection.

    A changed setting of Longhorn's may end any, and nearly any may end with another state of the
    pod's own volumes: a node may hold their replicas by then. So these two are named only where
    nothing else ends it.
    """

    NODE = auto()
    """The node comes, or has another state, tags or place, or something else runs on it."""
    DISKS = auto()
    """A disk of the node comes, or has another state, type or tags; it is full no longer."""
    ROOM = auto()
    """A disk of the node has more room."""
    HOLDS = auto()
    """Less is held on the node for other pods."""
    VOLUMES = auto()
    """Those of the pod itself, or their replicas."""
    SETTINGS = auto()
    """Longhorn's."""
    ANYWHERE = auto()
    """Any of these on any node, or what other volumes are about to get, which the time alone may
    end. Replicas that are in the way may go elsewhere."""


class Rejection(msgspec.Struct, frozen=True, kw_only=True):
    """A reason from a closed set (the label in metrics) and, as `str()`, its text."""

    reason: ClassVar[str]
    text: ClassVar[str]
    """Where it is the same for all; others say it in `__str__`."""
    ended_by: ClassVar[ClusterChange]
    """While nothing of these kinds changes, the node stays rejected: if not for this reason, then
    for another. Kinds that *ANYWHERE* includes are named beside it where they are about this node
    as such: more room on it would do, or its disks matter."""
    by_open: bool = False
    """Whether only holds are in the way of pods that may still go to several nodes: it may be over
    in a moment, once their nodes are chosen."""

    def __str__(self) -> str:
        return self.text


class UnknownNode(Rejection, frozen=True):
    reason, text = "unknown_node", "no Longhorn node of this name"
    ended_by = ClusterChange.NODE


class UnreadableNode(Rejection, frozen=True):
    reason = "unreadable_node"
    ended_by = ClusterChange.NODE
    text = "Longhorn's objects of this node cannot be read; see the extender's log"


class SettingUnreadable(Rejection, frozen=True, kw_only=True):
    reason = "setting_unreadable"
    ended_by = ClusterChange.SETTINGS
    setting: str

    def __str__(self) -> str:
        return f"Longhorn setting {self.setting} has a value that cannot be read; correct it"


class NodeDeleting(Rejection, frozen=True):
    reason, text = "node_deleting", "Longhorn node is being deleted"
    ended_by = ClusterChange.NODE


class NodeNotReady(Rejection, frozen=True):
    reason, text = "node_not_ready", "Longhorn node is not ready"
    ended_by = ClusterChange.NODE


class DriverMissing(Rejection, frozen=True):
    reason, text = "driver_missing", "Longhorn's CSI driver is not registered on the node"
    ended_by = ClusterChange.NODE


class EngineImageMissing(Rejection, frozen=True):
    reason = "engine_image_missing"
    ended_by = ClusterChange.NODE
    text = "the engine image of a volume is not ready on the Longhorn node"


class InstanceManagerMissing(Rejection, frozen=True):
    reason = "instance_manager_missing"
    ended_by = ClusterChange.NODE
    text = "no instance manager runs on the Longhorn node for the data engine of a volume"


class EngineSwitchedOff(Rejection, frozen=True):
    reason = "engine_switched_off"
    ended_by = ClusterChange.NODE
    text = "the data engine of a volume is switched off on the node by its label"


class NodeNotSchedulable(Rejection, frozen=True):
    reason = "node_not_schedulable"
    ended_by = ClusterChange.NODE
    text = "Longhorn node is not schedulable, as when it is cordoned"


class NodeSchedulingDisabled(Rejection, frozen=True):
    reason, text = "node_scheduling_disabled", "scheduling is disabled on the Longhorn node"
    ended_by = ClusterChange.NODE


class NodeEvicting(Rejection, frozen=True):
    reason, text = "node_evicting", "Longhorn node is being evicted"
    ended_by = ClusterChange.NODE


class NodeTags(Rejection, frozen=True, kw_only=True):
    reason = "node_tags"
    ended_by = ClusterChange.NODE
    selector: tuple[str, ...]

    def __str__(self) -> str:
        if not self.selector:
            return "Longhorn node has tags, and a volume without node selector needs one without"
        return f"Longhorn node lacks a tag of node selector {cut(','.join(self.selector))}"


class Topology(Rejection, frozen=True):
    reason = "topology"
    ended_by = ClusterChange.NODE
    text = "Longhorn node is outside the zones and regions a volume is limited to"


class LinkedCloneElsewhere(Rejection, frozen=True):
    reason = "linked_clone_elsewhere"
    ended_by = ClusterChange.VOLUMES
    text = "Longhorn node has no replica of the volume that a linked clone shares data with"


class ReplicasElsewhere(Rejection, frozen=True):
    reason = "replicas_elsewhere"
    ended_by = ClusterChange.VOLUMES
    text = "another candidate node already holds replicas of all the pod's Longhorn volumes"


class MemberElsewhere(Rejection, frozen=True):
    reason, text = "member_elsewhere", "another node was chosen for this member of a pod group"
    ended_by = ClusterChange.HOLDS


class StrictLocalElsewhere(Rejection, frozen=True):
    reason = "strict_local_elsewhere"
    ended_by = ClusterChange.VOLUMES
    text = "a strict-local volume of the pod has its replica on another node"


class StrictLocalUnusable(Rejection, frozen=True):
    reason = "strict_local_unusable"
    ended_by = ClusterChange.NODE | ClusterChange.DISKS
    text = "the replica of a strict-local volume on this node cannot be used"


class ReplicasCannotStart(Rejection, frozen=True, kw_only=True):
    reason = "replicas_cannot_start"
    ended_by = ClusterChange.ANYWHERE
    awaited: tuple[str, ...]
    """What must come back; one of these may be enough."""

    def __str__(self) -> str:
        return f"no replica of a volume can be read before {' or '.join(self.awaited)}"


class VolumeFaulted(Rejection, frozen=True):
    reason = "volume_faulted"
    ended_by = ClusterChange.ANYWHERE
    text = "all replicas of a volume have failed: Longhorn attaches it once one is salvaged"


class DataLost(Rejection, frozen=True):
    reason = "data_lost"
    ended_by = ClusterChange.ANYWHERE
    text = "no replica with the data of a volume is left where Longhorn knows a node and disk"


class PodUnscheduled(Rejection, frozen=True):
    reason = "pod_unscheduled"
    ended_by = ClusterChange.HOLDS
    text = "another pod that was given this node may still be bound to it"
    by_open: bool = True


class NodeReserved(Rejection, frozen=True):
    reason = "node_reserved"
    ended_by = ClusterChange.HOLDS
    text = "the node is reserved until the replicas of another pod are placed"

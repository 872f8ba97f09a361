"""Why a node does not get the pod: one record per reason, with the text kube-scheduler shows.

Here are the reasons that a node has itself; those about room and disks are in
`extender.verdicts.shortages`, with the table of all.

A text never varies for a given cause: no free bytes, times or counters, since kube-scheduler
groups nodes by equal text and, since 1.33, tries the pod again at once when a text changed. What
the pod needs may be in it, since that does not change. What a disk has left is shown by the
`filter` command instead.
"""

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

    ends_with_holds: ClassVar[bool] = False
    """Whether it is over once nothing is held on the node for other pods."""

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
    reason, text = "unknown_node", "no Longhorn node of this name"


class UnreadableNode(Rejection, frozen=True):
    reason = "unreadable_node"
    text = "Longhorn's objects of this node cannot be read; see the extender's log"


class SettingUnreadable(Rejection, frozen=True, kw_only=True):
    reason = "setting_unreadable"
    setting: str

    def __str__(self) -> str:
        return f"Longhorn setting {self.setting} has a value that cannot be read; correct it"


class NodeDeleting(Rejection, frozen=True):
    reason, text = "node_deleting", "Longhorn node is being deleted"


class NodeNotReady(Rejection, frozen=True):
    reason, text = "node_not_ready", "Longhorn node is not ready"


class DriverMissing(Rejection, frozen=True):
    reason, text = "driver_missing", "Longhorn's CSI driver is not registered on the node"


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
    reason, text = "node_scheduling_disabled", "scheduling is disabled on the Longhorn node"


class NodeEvicting(Rejection, frozen=True):
    reason, text = "node_evicting", "Longhorn node is being evicted"


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
    reason, text = "member_elsewhere", "another node was chosen for this member of a pod group"


class StrictLocalElsewhere(Rejection, frozen=True):
    reason = "strict_local_elsewhere"
    text = "a strict-local volume of the pod has its replica on another node"


class StrictLocalUnusable(Rejection, frozen=True):
    reason = "strict_local_unusable"
    text = "the replica of a strict-local volume on this node cannot be used"


class PodUnscheduled(Rejection, frozen=True):
    reason = "pod_unscheduled"
    text = "another pod that was given this node may still be bound to it"
    ends_with_holds = True

    @property
    def is_open(self) -> bool:
        return True


class NodeReserved(Rejection, frozen=True):
    reason = "node_reserved"
    text = "the node is reserved until the replicas of another pod are placed"
    ends_with_holds = True

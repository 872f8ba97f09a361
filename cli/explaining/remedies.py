"""Every reason that `filter` gives: its code, what it means, and what to do.

docs/troubleshooting.md has a row for each that an event shows, docs/reasons.md names the others. A
reason is why a node is rejected, why kube-scheduler leaves it out, why a disk takes nothing, why
a claim cannot be judged, or a note on the pod.
"""

import re
from collections.abc import Mapping

import msgspec

_LINK = re.compile(r"\[([^]]*)]\(([^)#]*)([^)]*)\)")
_HERE = "troubleshooting.md"
"""Where the actions stand, links to its own headings included."""


class Remedy(msgspec.Struct, frozen=True):
    """What is to be told of one reason, beside its text in the case at hand."""

    short: str
    """After a number of nodes: "3 without room on one disk". Empty for what is not about nodes."""
    meaning: str
    """Empty if the text in the case at hand says all of it."""
    action: str


REJECTIONS: Mapping[str, Remedy] = {
    "insufficient_storage": Remedy(
        "without room on one disk",
        "",
        "Add a disk, free one, ask for less, or raise `storage-over-provisioning-percentage`.",
    ),
    "volumes_do_not_fit": Remedy(
        "without room for all volumes together",
        "Each would fit alone.",
        "Add a disk, free one, ask for less, or raise `storage-over-provisioning-percentage`; or "
        "give some of the volumes another StorageClass, or locality `disabled`.",
    ),
    "room_held": Remedy(
        "with room that is held for other pods",
        "",
        "Nothing: holds end within seconds, and the pod is woken if there is still room.",
    ),
    "pending_replicas": Remedy(
        "with room that other replicas are about to take",
        "",
        "Look for them: `nodeID` of the Replica is empty. The `filter` command names their "
        "volumes. The pod is woken when any node gains room.",
    ),
    "no_room_anywhere": Remedy(
        "rejected, since no disk anywhere takes a replica",
        "The volume has no replica yet. All nodes get this reason.",
        "Add a disk, free one, or ask for less. If disks seem to have room: do the volume's tags "
        "fit them, and what does `filter` say is about to take the room?",
    ),
    "too_few_shards": Remedy(
        "with too few nodes for the shards of a volume",
        "All nodes get this reason.",
        "Add nodes or disks, or choose a class with fewer `dataChunks` and `parityChunks`.",
    ),
    "too_few_replicas": Remedy(
        "rejected, since not all replicas have room",
        "A new volume of locality `disabled`. All nodes get this reason.",
        "Add nodes, zones or disks, or set `numberOfReplicas` to what the cluster can hold. Or set "
        "`allow-volume-creation-with-degraded-availability` to `true`: then one replica is enough.",
    ),
    "local_room_at_risk": Remedy(
        "with room that other replicas may take",
        "A best-effort volume would get no replica beside its pod, and a strict-local one "
        "would hang for ever.",
        "Mostly nothing: the pod is woken when the other replicas are placed, which takes some "
        "seconds. If it stays, the disks are nearly full: make more room than the volumes need.",
    ),
    "replicas_elsewhere": Remedy(
        "without the replicas that another node has",
        "The extender accepted another node, and kube-scheduler rejected that one.",
        "Nothing, while the pod can go to its data. If it stays Pending, read the other texts of "
        "the event.",
    ),
    "linked_clone_elsewhere": Remedy(
        "without the data of a linked clone",
        "",
        "Make the pod fit where these are, or move a replica of that volume to the node.",
    ),
    "strict_local_elsewhere": Remedy(
        "without the replica of a strict-local volume",
        "",
        "Make the pod fit there, or change the volume's data locality.",
    ),
    "strict_local_unusable": Remedy(
        "with an unusable replica of a strict-local volume",
        "",
        "Repair the replica in Longhorn.",
    ),
    "unknown_node": Remedy(
        "without Longhorn",
        "Usual on control-plane nodes.",
        "Nothing, if that is intended. Otherwise see why longhorn-manager is not there.",
    ),
    "driver_missing": Remedy(
        "without Longhorn's CSI driver",
        "The CSINode does not list `driver.longhorn.io`.",
        "See why the pod of longhorn-csi-plugin does not run on the node: its taints, and "
        "Longhorn's settings `system-managed-components-node-selector` and `taint-toleration`.",
    ),
    "engine_image_missing": Remedy(
        "without the engine image",
        "",
        "See why the pod of the DaemonSet `engine-image-ei-…` does not run on the node, or "
        "upgrade the volume's engine if the image is gone.",
    ),
    "instance_manager_missing": Remedy(
        "without an instance manager",
        "Normal for some seconds after a node has come up.",
        "Mostly nothing: the pod is woken when it runs. If it stays, see the instance-manager pod "
        "of the node, and for v2 whether huge pages are enough on all nodes.",
    ),
    "replicas_cannot_start": Remedy(
        "rejected, since the replicas of a volume cannot be started where they are",
        "All nodes get this reason.",
        "Mostly nothing: the pod is woken when one of them can be started. If it stays, uncordon a "
        "node with a replica, and see its instance-manager pod.",
    ),
    "engine_switched_off": Remedy(
        "where data engine v2 is switched off",
        "",
        "Nothing, if that is intended. Otherwise take the label off.",
    ),
    "unreadable_node": Remedy(
        "unreadable",
        "",
        "The log (`view.object_unreadable`) names the object and the field.",
    ),
    "setting_unreadable": Remedy(
        "rejected, since a Longhorn setting cannot be read",
        "",
        "Correct it in Longhorn.",
    ),
    "node_deleting": Remedy(
        "being deleted in Longhorn",
        "",
        "Wait, or create it again.",
    ),
    "node_not_ready": Remedy(
        "not ready in Longhorn",
        "",
        "See the node's conditions in Longhorn.",
    ),
    "node_not_schedulable": Remedy(
        "not schedulable in Longhorn",
        "",
        "Uncordon it; or set `disable-scheduling-on-cordoned-node` to `false`.",
    ),
    "node_scheduling_disabled": Remedy(
        "with scheduling disabled in Longhorn",
        "",
        "Allow it in Longhorn.",
    ),
    "node_evicting": Remedy(
        "being evicted in Longhorn",
        "",
        "End the eviction.",
    ),
    "node_tags": Remedy(
        "without the node tags",
        "",
        "Tag the node, or change the selector. Case counts, and so do spaces.",
    ),
    "topology": Remedy(
        "outside the volume's zones",
        "",
        "Choose a node inside.",
    ),
    "no_usable_disk": Remedy(
        "without a disk that takes replicas",
        "",
        "Do for one of the disks what `filter` says of it.",
    ),
    "no_disk_of_type": Remedy(
        "without a disk of the type",
        "",
        "Add such a disk, or choose a class of the other engine.",
    ),
    "disk_tags": Remedy(
        "without a disk that has the tags",
        "",
        "Tag the disk, or change the selector. Case counts, and so do spaces.",
    ),
    "filesystem_limit": Remedy(
        "with file systems that are too small",
        "",
        "Use another file system, or a smaller volume.",
    ),
    "member_elsewhere": Remedy(
        "not chosen for this member of its group",
        "",
        "Nothing. If something else keeps the pod off its node, see to that.",
    ),
    "pod_unscheduled": Remedy(
        "kept for a pod that is being scheduled",
        "",
        "Wait. In mode `capacity` pods do not wait like this.",
    ),
    "node_reserved": Remedy(
        "reserved for another pod",
        "",
        "Wait.",
    ),
    "packing_undecided": Remedy(
        "undecided",
        "This should not happen.",
        "Raise `EXTENDER_STEP_LIMIT` and `EXTENDER_REQUEST_STEP_LIMIT`, and report it.",
    ),
}
"""Why a node is rejected, by the reason of its rejection."""

EXCLUSIONS: Mapping[str, Remedy] = {
    "node_cordoned": Remedy(
        "cordoned", "", "`kubectl uncordon` the node, if its maintenance is over."
    ),
    "node_tainted": Remedy("tainted", "", "Take the taint away, or give the pod a toleration."),
    "node_selector": Remedy(
        "without the labels of nodeSelector", "", "Label the node, or change `nodeSelector`."
    ),
    "node_affinity": Remedy(
        "outside the node affinity", "", "Label the node, or change the pod's `affinity`."
    ),
    "volume_node_affinity": Remedy(
        "outside the node affinity of a volume",
        "",
        "Make the pod fit on one of these nodes, or give a new node their labels. If they are gone "
        "for ever, restore the volume from a backup, with a new claim.",
    ),
    "allowed_topologies": Remedy(
        "outside the topologies of a StorageClass",
        "",
        "Label the node, make the pod fit on one of these nodes, or use a StorageClass with other "
        "`allowedTopologies`.",
    ),
}
"""Why kube-scheduler does not send a node to the extender."""

PREDICATES: Mapping[str, Remedy] = {
    "port_taken": Remedy(
        "with a port that is taken", "", "Free the port, or leave `hostPort` out."
    ),
    "insufficient_resources": Remedy(
        "with too little CPU, memory or other resources",
        "",
        "Add nodes, or ask for less in the pod's `resources.requests`.",
    ),
    "too_many_pods": Remedy(
        "with as many pods as they take", "", "Add nodes, or raise `maxPods` of the kubelet."
    ),
    "disk_conflict": Remedy(
        "with a pod that mounts the same disk", "", "Let both only read it (GCE), or use a claim."
    ),
    "node_name": Remedy(
        "other than the one that the pod names", "", "Leave `nodeName` out, or change it."
    ),
    "claim_in_use": Remedy(
        "rejected, since another pod has a claim",
        "",
        "Wait until the other pod is gone, or use another claim or access mode.",
    ),
    "claim_selected_node": Remedy(
        "other than the one that was chosen for a claim",
        "",
        "Make the pod fit there, or create the claim anew.",
    ),
    "pod_affinity": Remedy(
        "far from the pods that the pod must be near",
        "",
        "Place these pods first, or change the pod's `affinity`.",
    ),
    "pod_anti_affinity": Remedy(
        "with pods that the pod must not be near",
        "",
        "Add nodes or zones, or change the pod's `affinity`.",
    ),
    "others_anti_affinity": Remedy(
        "with pods that must not be near the pod",
        "",
        "Add nodes or zones, or change the `affinity` of these pods.",
    ),
    "topology_spread": Remedy(
        "where the pod's topology spread allows no more",
        "",
        "Make room in the domains with fewer pods, or change `maxSkew` or `whenUnsatisfiable`.",
    ),
    "topology_label": Remedy(
        "without a label that the pod spreads over",
        "",
        "Label the node, or change the pod's `topologySpreadConstraints`.",
    ),
    "service_affinity": Remedy(
        "apart from the pods of the service",
        "",
        "Make room near them, or change the policy's `serviceAffinity`.",
    ),
    "labels_presence": Remedy(
        "by their labels", "", "Label the node, or change the policy's `labelsPresence`."
    ),
}
"""Why a plan leaves a node out, beside all of those."""

DISKS: Mapping[str, Remedy] = {
    "disk_no_uuid": Remedy(
        "",
        "Longhorn has not seen the disk yet.",
        "Wait; if it stays, see longhorn-manager's log on that node.",
    ),
    "disk_disabled": Remedy(
        "", "`allowScheduling` of the disk is `false`.", "Allow scheduling on the disk in Longhorn."
    ),
    "disk_evicting": Remedy(
        "", "`evictionRequested` of the disk is `true`.", "End the eviction of the disk."
    ),
    "disk_not_ready": Remedy(
        "",
        "Its condition `Ready` is not `True`. Longhorn's reason and message are shown.",
        "Mount the disk again, or remove it from the Longhorn Node.",
    ),
    "disk_not_schedulable": Remedy(
        "",
        "Longhorn's reason `DiskPressure`: less is available than "
        "`storage-minimal-available-percentage`, or more is scheduled than "
        "`storage-over-provisioning-percentage` allows.",
        "Delete what is not needed on the disk (snapshots, replicas, other files), enlarge it, or "
        "change that setting.",
    ),
    "disk_no_size": Remedy(
        "",
        "Longhorn reports that the disk has no bytes, or none available.",
        "Free the disk, or see its conditions in Longhorn.",
    ),
}
"""Why a disk takes no new replica."""

SHORTAGES: Mapping[str, Remedy] = {
    "room_reserved": Remedy(
        "",
        "`storageReserved` of the disk would be enough; Longhorn schedules nothing in it. On "
        "the default disk of a node it is 30 % at first.",
        "Lower `storageReserved` of the disk, if nothing else writes to it.",
    ),
    "room_written": Remedy(
        "",
        "Too little is available for what volumes hold already, snapshots included: a new "
        "replica gets all of it.",
        "Delete snapshots of the volume that are not needed, or other files on the disk; or lower "
        "`storage-minimal-available-percentage`.",
    ),
}
"""What else is known of a disk that is short of room."""

ERRORS: Mapping[str, Remedy] = {
    "object_not_found": Remedy(
        "",
        "",
        "Create it. If it exists, the extender has not seen it: see [The extender does not "
        "answer](#the-extender-does-not-answer). If a Volume is lost, delete the claim.",
    ),
    "object_deleting": Remedy(
        "",
        "",
        "Wait and create the claim again, or restore the volume and use another claim.",
    ),
    "object_unreadable": Remedy("", "", "Correct it."),
    "replica_unreadable": Remedy("", "", "Correct it."),
    "claim_without_class": Remedy(
        "",
        "",
        "Name a StorageClass, make one the default, or make the PersistentVolume that the claim "
        "is to be bound to.",
    ),
    "volume_without_size": Remedy("", "", "Wait."),
    "negative_size": Remedy("", "", "Correct the claim."),
    "bad_parameter": Remedy(
        "",
        "",
        "Create a StorageClass with another value, or tag nodes or disks.",
    ),
    "bad_setting": Remedy("", "", "Correct it."),
}
"""Why a claim cannot be judged; the texts are those of `UnresolvableClaimError`."""

NOTES: Mapping[str, Remedy] = {
    "pod_bound": Remedy(
        "",
        "The pod has its node already; this is what a pod like it would get now.",
        "If it does not start, see its events: `kubectl describe pod`.",
    ),
    "pod_finished": Remedy(
        "", "The pod has ended, and needs no node any more.", "Delete it, or create it again."
    ),
    "pod_deleting": Remedy(
        "",
        "kube-scheduler looks for no node for it.",
        "Wait until it is gone.",
    ),
    "does_not_ask": Remedy(
        "",
        "No container asks for the resource `longhorn.io/scheduler-extender`, so "
        "kube-scheduler does not ask about this pod. Injection does not change pods that "
        "exist.",
        "Turn injection on and create the pod again ([Injection](injection.md)); or set "
        "`resources.limits` of a container to `longhorn.io/scheduler-extender: 1`, and "
        "`schedulerName` to the second scheduler's if there is one.",
    ),
    "opted_out": Remedy(
        "",
        "The label `longhorn-scheduler-extender/injection: disabled` keeps injection from the pod.",
        "Take the label away and create the pod again, or set the resource yourself.",
    ),
    "of_daemon_set": Remedy(
        "",
        "A DaemonSet has chosen the pod's node, and injection leaves it out.",
        "Nothing, if each node has its own volume.",
    ),
    "other_scheduler": Remedy(
        "",
        "`schedulerName` names a scheduler that is not known to ask the extender.",
        "Configure that scheduler (`scheduler-config`), or leave `schedulerName` out.",
    ),
    "capacity_tracking": Remedy(
        "",
        "With Longhorn's setting `csi-storage-capacity-tracking` kube-scheduler leaves out "
        "nodes whose best disk is smaller than a new volume, by figures up to a minute old.",
        "Turn the setting off: the extender looks at each disk itself. Or give the class "
        "`storageCapacityMode: zone`.",
    ),
    "immediate_binding": Remedy(
        "",
        "With `volumeBindingMode: Immediate` kube-scheduler refuses the pod until the volume "
        "exists, and the volume is made without regard to the pod.",
        "Use a StorageClass with `volumeBindingMode: WaitForFirstConsumer`; if the claim stays "
        "unbound, see its events: `kubectl describe pvc`.",
    ),
    "nothing_local": Remedy(
        "",
        "No volume of the pod must have a replica on its node. Only whether Longhorn could "
        "start them was looked at.",
        "Nothing. To have data beside the pod, use `dataLocality: best-effort`.",
    ),
    "never_local": Remedy(
        "",
        "Shared (ReadWriteMany) and erasure-coded volumes are never local. Only whether "
        "Longhorn could start them was looked at.",
        "Nothing: `dataLocality` makes no difference for them.",
    ),
    "no_longhorn_volume": Remedy(
        "",
        "No claim of the pod leads to a Longhorn volume: every node is accepted.",
        "If it should be one: see the claim's StorageClass or PersistentVolume.",
    ),
    "pod_rules_unjudged": Remedy(
        "",
        "Affinity to other pods and topology spread are kube-scheduler's, and not judged here.",
        "If no node is left: read the texts in the pod's event `FailedScheduling`.",
    ),
    "nodes_unknown": Remedy(
        "",
        "The Kubernetes Nodes are not known, so taints, nodeSelector and node affinity are "
        "not judged, and cordons as Longhorn knows them.",
        "Add the output of `kubectl get nodes -o yaml` to the files, or run this with the right "
        "to list nodes.",
    ),
    "open_holds_unknown": Remedy(
        "",
        "What the leader holds for these pods, for some seconds, is in its memory alone. It "
        "may reject a node that is accepted here.",
        "Nothing; if the pod stays Pending, ask again in some seconds.",
    ),
    "strict_local_placed": Remedy(
        "",
        "The volume has its replica: its pod can run on that node alone.",
        "Make the pod fit there, or restore the volume on another node.",
    ),
    "replicas_need_nodes": Remedy(
        "",
        "`replica-soft-anti-affinity` is `false`, and fewer nodes with room than replicas. "
        "The volume stays degraded.",
        "Add a node with room, set `numberOfReplicas` to what the cluster can hold, or set "
        "`replica-soft-anti-affinity` to `true`.",
    ),
    "replicas_need_zones": Remedy(
        "",
        "`replica-zone-soft-anti-affinity` is `false`, and fewer zones with room than "
        "replicas. The volume stays degraded.",
        "Add a node in another zone, set `numberOfReplicas` to what the cluster can hold, or set "
        "`replica-zone-soft-anti-affinity` to `true`.",
    ),
    "replicas_need_room": Remedy(
        "",
        "Some replicas find no room. Unless nodes are rejected for it, the volume starts, and"
        " stays degraded.",
        "Add a disk, free one, or ask for less.",
    ),
    "replicas_need_usable_disks": Remedy(
        "",
        "No disk takes new replicas now.",
        "Do for one of the nodes or disks what `filter` says of it.",
    ),
    "replicas_need_disks": Remedy(
        "",
        "No disk of the right type has the tags that replicas of a volume need.",
        "Tag disks and nodes, or change the selectors.",
    ),
}
"""What stands outside the disks, and what becomes of the whole volume."""

REMEDIES: Mapping[str, Remedy] = {
    **REJECTIONS,
    **EXCLUSIONS,
    **PREDICATES,
    **DISKS,
    **SHORTAGES,
    **ERRORS,
    **NOTES,
}
"""All of them, by their code."""


def in_words(action: str) -> str:
    """Return an action as a terminal shows it: each link as its text, and where it leads."""

    def told(link: re.Match[str]) -> str:
        text, page, heading = link.groups()
        return f"{text} (docs/{page or _HERE}{heading})"

    return _LINK.sub(told, action)

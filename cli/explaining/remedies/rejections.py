"""What to do about a node that the extender rejects."""

from collections.abc import Mapping

from cli.explaining.remedies.remedy import Remedy

REJECTIONS: Mapping[str, Remedy] = {
    "insufficient_storage": Remedy(
        "without room on one disk",
        "Add a disk, free one, ask for less, or raise `storage-over-provisioning-percentage`.",
    ),
    "volumes_do_not_fit": Remedy(
        "without room for all volumes together",
        "Add a disk, free one, ask for less, or raise `storage-over-provisioning-percentage`; or "
        "give some of the volumes another StorageClass, or locality `disabled`.",
        "Each would fit alone.",
    ),
    "room_held": Remedy(
        "with room that is held for other pods",
        "Nothing: holds end within seconds, at most minutes, and the pod is asked about "
        "again then.",
    ),
    "pending_replicas": Remedy(
        "with room that other replicas are about to take",
        "Look for them: `nodeID` of the Replica is empty. The `filter` command names their "
        "volumes. The pod is woken when any node gains room.",
    ),
    "no_room_anywhere": Remedy(
        "rejected, since no disk anywhere takes a replica",
        "Add a disk, free one, or ask for less. If disks seem to have room: do the volume's tags "
        "fit them, and what does `filter` say is about to take the room?",
        "The volume has no replica yet. All nodes get this reason. Where other disks are filled "
        "beyond their limits, what room there is belongs to what these have too much.",
    ),
    "too_few_shards": Remedy(
        "with too few nodes for the shards of a volume",
        "Add nodes or disks, or choose a class with fewer `dataChunks` and `parityChunks`.",
        "All nodes get this reason.",
    ),
    "too_few_replicas": Remedy(
        "rejected, since not all replicas have room",
        "Add nodes, zones or disks, or set `numberOfReplicas` to what the cluster can hold. Or set "
        "`allow-volume-creation-with-degraded-availability` to `true`: then one replica is enough.",
        "A new volume of locality `disabled`. All nodes get this reason.",
    ),
    "local_room_at_risk": Remedy(
        "with room that other replicas may take",
        "Mostly nothing: the pod is woken when the other replicas are placed, which takes some "
        "seconds. If it stays, the disks are nearly full: make more room than the volumes need.",
        "A strict-local volume, of this pod or of one that has the node, would hang for ever.",
    ),
    "replicas_elsewhere": Remedy(
        "without the replicas that another node has",
        "Nothing, while the pod can go to its data. If it stays Pending, read the other texts of "
        "the event.",
        "The extender accepted another node, and kube-scheduler rejected that one.",
    ),
    "linked_clone_elsewhere": Remedy(
        "without the data of a linked clone",
        "Make the pod fit where these are, or move a replica of that volume to the node.",
    ),
    "strict_local_elsewhere": Remedy(
        "without the replica of a strict-local volume",
        "Make the pod fit there, or change the volume's data locality.",
    ),
    "strict_local_unusable": Remedy(
        "with an unusable replica of a strict-local volume", "Repair the replica in Longhorn."
    ),
    "unknown_node": Remedy(
        "without Longhorn",
        "Nothing, if that is intended. Otherwise see why longhorn-manager is not there.",
        "Usual on control-plane nodes.",
    ),
    "driver_missing": Remedy(
        "without Longhorn's CSI driver",
        "See why the pod of longhorn-csi-plugin does not run on the node: its taints, and "
        "Longhorn's settings `system-managed-components-node-selector` and `taint-toleration`.",
        "The CSINode does not list `driver.longhorn.io`.",
    ),
    "engine_image_missing": Remedy(
        "without the engine image",
        "See why the pod of the DaemonSet `engine-image-ei-…` does not run on the node, or "
        "upgrade the volume's engine if the image is gone.",
    ),
    "instance_manager_missing": Remedy(
        "without an instance manager",
        "Mostly nothing: the pod is woken when it runs. If it stays, see the instance-manager pod "
        "of the node, and for v2 whether huge pages are enough on all nodes.",
        "Normal for some seconds after a node has come up.",
    ),
    "replicas_cannot_start": Remedy(
        "rejected, since the replicas of a volume cannot be started where they are",
        "Bring back what the text names: the pod is woken then. A cordoned node gets no new "
        "instance manager: uncordon it.",
        "All nodes get this reason.",
    ),
    "volume_faulted": Remedy(
        "rejected, since all replicas of a volume have failed",
        "Ask `filter pvc/NAME`, which says what Longhorn salvages, and what keeps it from that. Do "
        "not delete the replicas: they hold the data.",
        "All nodes get this reason.",
    ),
    "data_lost": Remedy(
        "rejected, since the data of a volume are gone",
        "Put the node or disk back as it was, with its data, or restore the volume from a backup.",
        "The Replicas name a node or disk that Longhorn does not know any more. All nodes get this "
        "reason.",
    ),
    "engine_switched_off": Remedy(
        "where data engine v2 is switched off",
        "Nothing, if that is intended. Otherwise take the label off.",
    ),
    "unreadable_node": Remedy(
        "unreadable", "The log (`view.object_unreadable`) names the object and the field."
    ),
    "setting_unreadable": Remedy(
        "rejected, since a Longhorn setting cannot be read", "Correct it in Longhorn."
    ),
    "node_deleting": Remedy("being deleted in Longhorn", "Wait, or create it again."),
    "node_not_ready": Remedy("not ready in Longhorn", "See the node's conditions in Longhorn."),
    "node_not_schedulable": Remedy(
        "not schedulable in Longhorn",
        "Uncordon it; or set `disable-scheduling-on-cordoned-node` to `false`.",
    ),
    "node_scheduling_disabled": Remedy(
        "with scheduling disabled in Longhorn", "Allow it in Longhorn."
    ),
    "node_evicting": Remedy("being evicted in Longhorn", "End the eviction."),
    "node_tags": Remedy(
        "without the node tags",
        "Tag the node, or change the selector. Case counts, and so do spaces.",
    ),
    "topology": Remedy("outside the volume's zones", "Choose a node inside."),
    "no_usable_disk": Remedy(
        "without a disk that takes replicas", "Do for one of the disks what `filter` says of it."
    ),
    "no_disk_of_type": Remedy(
        "without a disk of the type", "Add such a disk, or choose a class of the other engine."
    ),
    "disk_tags": Remedy(
        "without a disk that has the tags",
        "Tag the disk, or change the selector. Case counts, and so do spaces.",
    ),
    "filesystem_limit": Remedy(
        "with file systems that are too small", "Use another file system, or a smaller volume."
    ),
    "member_elsewhere": Remedy(
        "not chosen for this member of its group",
        "Nothing. If something else keeps the pod off its node, see to that.",
    ),
    "pod_unscheduled": Remedy(
        "kept for a pod that is being scheduled",
        "Wait. In mode `capacity` pods do not wait like this.",
    ),
    "node_reserved": Remedy("reserved for another pod", "Wait."),
    "packing_undecided": Remedy(
        "undecided",
        "Raise `EXTENDER_STEP_LIMIT` and `EXTENDER_REQUEST_STEP_LIMIT`, and report it.",
        "This should not happen.",
    ),
}
"""Why a node is rejected, by the reason of its rejection."""

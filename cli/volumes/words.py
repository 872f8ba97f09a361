"""What `filter` of a volume says besides the reasons of `filter` of a pod, and what to do.

docs/filter-volume.md names each, with its meaning word by word; a test compares them.
"""

from collections.abc import Mapping

from cli.explaining.remedies import Remedy
from longhorn import Reason

PLACES: Mapping[str, Remedy] = {
    "next": Remedy("Longhorn places the next replica here", "Nothing."),
    "less_preferred": Remedy("it would do, but Longhorn prefers other nodes", "Nothing."),
    "replica_on_node": Remedy(
        "it has a replica of the volume",
        "Add a node with room, or set `replica-soft-anti-affinity` to `true`.",
    ),
    "replica_in_zone": Remedy(
        "its zone has a replica of the volume",
        "Add a node in another zone, or set `replica-zone-soft-anti-affinity` to `true`.",
    ),
    "replica_on_disk": Remedy(
        "its disks with room have a replica of the volume",
        "Add a disk, or set `replica-disk-soft-anti-affinity` to `true`.",
    ),
    "not_looked_at": Remedy(
        "Longhorn does not look for a place",
        "Correct the setting, or see the log of longhorn-manager.",
    ),
    "other_node": Remedy("this replica goes to another node only", "Nothing here; see that node."),
}
"""What a node is to the next replica, beside the reasons of rejections."""

WAITS: Mapping[str, Remedy] = {
    "due": Remedy(
        "",
        "If no node takes it: do for one of them what stands there.",
        "Longhorn places it as soon as it fits. It looks whenever a node changes, and every 30 s.",
    ),
    "local": Remedy(
        "",
        "Make room there, or nothing: the volume works without it.",
        "The volume is attached to a node without a replica, and its locality asks for one there. "
        "Longhorn makes it on that node alone, as soon as it fits.",
    ),
    "reuse": Remedy(
        "",
        "Nothing.",
        "A replica failed, and its node and disk can be used again: Longhorn rebuilds it in place. "
        "That needs no room.",
    ),
    "failed_may_return": Remedy(
        "",
        "Bring the node or disk back. If it is gone for ever: delete the failed replica, or wait.",
        "A replica failed, and may come back with its node and disk. Longhorn waits for it as long "
        "as `replica-replenishment-wait-interval` says, before it makes another one.",
    ),
    "at_attach": Remedy(
        "",
        "Nothing, until a pod uses it.",
        "The volume was never attached. Longhorn places replicas of its locality when a pod "
        "attaches it, beginning with the pod's node.",
    ),
    "detached": Remedy(
        "",
        "Start a pod that uses it, or set `offline-replica-rebuilding` to `true`.",
        "The volume is detached. Longhorn makes new replicas of a volume with data while it is "
        "attached; `offline-replica-rebuilding` is off.",
    ),
    "offline": Remedy(
        "",
        "Nothing, if some node takes it.",
        "The volume is detached, and `offline-replica-rebuilding` is on: Longhorn attaches it by "
        "itself once a replica fits. It may take up to 17 minutes until it looks again.",
    ),
    "evicting": Remedy(
        "",
        "Nothing, if some node takes it.",
        "A replica is to be moved away: eviction of its node or disk is requested. Longhorn "
        "attaches a detached volume by itself for that, and makes the new replica first.",
    ),
    "strict_local_stays": Remedy(
        "",
        "End the eviction; or set the volume's `dataLocality` to `best-effort`: then its replica "
        "is moved, and the PersistentVolume, which is limited to the node, must be made anew.",
        "Eviction of the replica's node or disk is requested. Longhorn places a strict-local "
        "replica on the volume's own node only, so it waits for ever.",
    ),
    "shards_unknown": Remedy(
        "",
        "If it stays: add `shards.longhorn.io` to the files.",
        "No Shard of the volume is known. Longhorn has yet to make them, or the files lack them.",
    ),
    "one_at_a_time": Remedy(
        "",
        "Nothing.",
        "Another replica of the volume is being rebuilt. Longhorn makes one after another.",
    ),
    "migrating": Remedy(
        "",
        "Nothing.",
        "The volume migrates, or its engine is being upgraded. Longhorn makes no replica until "
        "that is done.",
    ),
    "upgrading": Remedy(
        "",
        "Nothing. If it stays: see the InstanceManagerUpgrades in Longhorn.",
        "A live upgrade of data engine v2 is under way: the volume does without its replicas on "
        "one node, and Longhorn makes none until these are back.",
    ),
    "rebuilding_off": Remedy(
        "",
        "Set it to 1 or more.",
        "`concurrent-replica-rebuild-per-node-limit` is 0: Longhorn replaces no replica.",
    ),
    "frozen_clone": Remedy(
        "",
        "Nothing; restore it from a backup to have more.",
        "A linked clone that was made before Longhorn v1.12.1 never gets another replica.",
    ),
    "not_degraded": Remedy(
        "",
        "Ask again in some seconds. If it stays: see the volume's conditions in Longhorn.",
        "Longhorn does not say that the volume is degraded. It makes replicas only of volumes that "
        "are.",
    ),
    "unscheduled_for_good": Remedy(
        "",
        "Restore the backing image, or use another volume.",
        "Longhorn places nothing of it: its backing image is gone, or it is being deleted.",
    ),
}
"""Why a replica that the volume lacks is not placed yet."""

PODS: Mapping[str, Remedy] = {
    "attached": Remedy("", "Nothing."),
    "shared": Remedy("", "Nothing."),
    "no_node": Remedy("", "Ask `filter pod/NAME`."),
    "attached_elsewhere": Remedy(
        "",
        "End the pod there. If that node is gone: delete its pod by force, so that Longhorn lets "
        "go of the volume.",
    ),
    "faulted": Remedy("", "See to its replicas, as above; else restore it from a backup."),
    "replicas_first": Remedy("", "See to what its replicas wait for, as above."),
    "on_its_way": Remedy(
        "", "If it stays: `kubectl describe` the pod, and `kubectl get volumeattachments`."
    ),
    "claim_unusable": Remedy("", "Do what the text says."),
}
"""How a pod that uses the volume stands, beside the reasons of rejections."""

MEANINGS: Mapping[Reason, str] = {
    Reason.CLIENT_OPERATION_FAILED: "Longhorn could not read an object: a setting with a value "
    "that is none, or a backing image that is gone",
    Reason.DISKS_UNAVAILABLE: "a node that it looked at has no disk of the volume's type that "
    "takes replicas; it says so, too, if all nodes with room have a replica already",
    Reason.ENGINE_IMAGE_NOT_READY: "on no node that takes replicas run the volume's engine image "
    "and an instance manager for it",
    Reason.HARD_AFFINITY: "the only node that the replica may go to takes no replicas",
    Reason.INCOMPATIBLE_SIZE: "the file system of a disk cannot have a file of that size",
    Reason.INSUFFICIENT_STORAGE: "some disk has too little room",
    Reason.LINKED_CLONE: "no usable node has data that the linked clone shares",
    Reason.NODES_UNAVAILABLE: "no node takes replicas: none is ready, schedulable and allowed",
    Reason.TAGS: "some disk lacks the tags",
    Reason.TOPOLOGY: "no usable node is in the volume's zones and regions",
}
"""What Longhorn's reasons in the condition `Scheduled` mean; it never says on which node."""

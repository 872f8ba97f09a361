"""What to do about a note on a pod, or on what becomes of its volumes."""

from collections.abc import Mapping

from cli.explaining.remedies.remedy import Remedy

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

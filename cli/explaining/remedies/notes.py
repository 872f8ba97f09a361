"""What to do about a note on a pod, or on what becomes of its volumes."""

from collections.abc import Mapping

from cli.explaining.remedies.remedy import Remedy

NOTES: Mapping[str, Remedy] = {
    "pod_bound": Remedy(
        "",
        "If it does not start, see its events: `kubectl describe pod`.",
        "The pod has its node already; this is what a pod like it would get now.",
    ),
    "volume_held": Remedy(
        "",
        "Do what the text says.",
        "The pod has its node, and does not run: something else holds its volume, or works on it.",
    ),
    "pod_finished": Remedy(
        "", "Delete it, or create it again.", "The pod has ended, and needs no node any more."
    ),
    "pod_deleting": Remedy(
        "", "Wait until it is gone.", "kube-scheduler looks for no node for it."
    ),
    "does_not_ask": Remedy(
        "",
        "Turn injection on and create the pod again ([Injection](injection.md)); or set "
        "`resources.limits` of a container to `longhorn.io/scheduler-extender: 1`, and "
        "`schedulerName` to the second scheduler's if there is one.",
        "No container asks for the resource `longhorn.io/scheduler-extender`, so "
        "kube-scheduler does not ask about this pod. Injection does not change pods that "
        "exist.",
    ),
    "opted_out": Remedy(
        "",
        "Take the label away and create the pod again, or set the resource yourself.",
        "The label `longhorn-scheduler-extender/injection: disabled` keeps injection from the pod.",
    ),
    "of_daemon_set": Remedy(
        "",
        "Nothing, if each node has its own volume.",
        "A DaemonSet has chosen the pod's node, and injection leaves it out.",
    ),
    "other_scheduler": Remedy(
        "",
        "Configure that scheduler (`scheduler-config`), or leave `schedulerName` out.",
        "`schedulerName` names a scheduler that is not known to ask the extender.",
    ),
    "nobody_leads": Remedy(
        "no instance of the extender leads",
        "Ask `doctor`, which says why, and by which command it is changed; `EXTENDER_NAMESPACE` "
        "says where the extender is, if not in `longhorn-scheduler`.",
        "kube-scheduler gets no answer about the pod, and its event ends in `connection refused`. "
        "What would fit is judged all the same.",
    ),
    "scheduler_absent": Remedy(
        "the pod's scheduler does not run",
        "Install it, or see why its pods are not ready (`doctor`); if it is gone for good, delete "
        "the pod, and its controller makes one for the cluster's scheduler.",
        "`schedulerName` names the second scheduler, and it is not there: nobody looks at the pod, "
        "so that it has no event at all.",
    ),
    "capacity_tracking": Remedy(
        "",
        "Turn the setting off: the extender looks at each disk itself. Or give the class "
        "`storageCapacityMode: zone`.",
        "With Longhorn's setting `csi-storage-capacity-tracking` kube-scheduler leaves out "
        "nodes whose best disk is smaller than a new volume, by figures up to a minute old.",
    ),
    "capacity_forced": Remedy(
        "",
        "Upgrade Longhorn to v1.11.2 or newer, where this is off. Until then set "
        "`spec.storageCapacity: false` in CSIDriver `driver.longhorn.io` with `kubectl edit`, or "
        "give the class `volumeBindingMode: Immediate`.",
        "From v1.10.0 to v1.11.1 Longhorn's CSIDriver always has `storageCapacity: true`, and no "
        "setting: kube-scheduler leaves out nodes whose best disk is smaller than a new volume.",
    ),
    "claim_of_another": Remedy(
        "a claim of an ephemeral volume is another's",
        "Delete that claim if nothing needs it, or give the pod or its volume another name.",
        "An ephemeral volume uses the claim `POD-VOLUME`, which must have been made for this pod.",
    ),
    "node_name": Remedy(
        "a claim gets no volume, as kube-scheduler did not choose the node",
        "Create the pod again without `nodeName`: with `nodeSelector` or node affinity.",
        "With `volumeBindingMode: WaitForFirstConsumer` it is kube-scheduler that writes the node "
        "into the claim, and with `nodeName` it never sees the pod.",
    ),
    "scheduling_gates": Remedy(
        "the pod has schedulingGates",
        "Nothing: whoever set a gate takes it away. If nobody does, remove it with `kubectl edit`.",
        "kube-scheduler does not look at the pod before each gate is gone; `kubectl get` says "
        "`SchedulingGated`.",
    ),
    "immediate_binding": Remedy(
        "",
        "Use a StorageClass with `volumeBindingMode: WaitForFirstConsumer`; if the claim stays "
        "unbound, see its events: `kubectl describe pvc`.",
        "With `volumeBindingMode: Immediate` kube-scheduler refuses the pod until the volume "
        "exists, and the volume is made without regard to the pod.",
    ),
    "nothing_local": Remedy(
        "",
        "Nothing. To have data beside the pod, use `dataLocality: best-effort`.",
        "No volume of the pod must have a replica on its node. Only whether Longhorn could "
        "start them was looked at.",
    ),
    "never_local": Remedy(
        "",
        "Nothing: `dataLocality` makes no difference for them.",
        "Shared (ReadWriteMany) and erasure-coded volumes are never local. Only whether "
        "Longhorn could start them was looked at.",
    ),
    "no_longhorn_volume": Remedy(
        "",
        "If it should be one: see the claim's StorageClass or PersistentVolume.",
        "No claim of the pod leads to a Longhorn volume: every node is accepted.",
    ),
    "pod_rules_unjudged": Remedy(
        "",
        "If no node is left: read the texts in the pod's event `FailedScheduling`.",
        "Affinity to other pods and topology spread are kube-scheduler's, and not judged here.",
    ),
    "nodes_unknown": Remedy(
        "",
        "Add the output of `kubectl get nodes -o yaml` to the files, or run this with the right "
        "to list nodes.",
        "The Kubernetes Nodes are not known, so taints, nodeSelector and node affinity are "
        "not judged, and cordons as Longhorn knows them.",
    ),
    "open_holds_unknown": Remedy(
        "",
        "Nothing; if the pod stays Pending, ask again in some seconds.",
        "What the leader holds for these pods, for some seconds, is in its memory alone. It "
        "may reject a node that is accepted here.",
    ),
    "strict_local_placed": Remedy(
        "",
        "Make the pod fit there, or restore the volume on another node.",
        "The volume has its replica: its pod can run on that node alone.",
    ),
    "replicas_need_nodes": Remedy(
        "",
        "Add a node with room, set `numberOfReplicas` to what the cluster can hold, or set "
        "`replica-soft-anti-affinity` to `true`.",
        "`replica-soft-anti-affinity` is `false`, and fewer nodes with room than replicas. "
        "The volume stays degraded.",
    ),
    "replicas_need_zones": Remedy(
        "",
        "Add a node in another zone, set `numberOfReplicas` to what the cluster can hold, or set "
        "`replica-zone-soft-anti-affinity` to `true`.",
        "`replica-zone-soft-anti-affinity` is `false`, and fewer zones with room than "
        "replicas. The volume stays degraded.",
    ),
    "replicas_need_room": Remedy(
        "",
        "Add a disk, free one, or ask for less.",
        "Some replicas find no room. Unless nodes are rejected for it, the volume starts, and"
        " stays degraded.",
    ),
    "replicas_need_usable_disks": Remedy(
        "",
        "Do for one of the nodes or disks what `filter` says of it.",
        "No disk takes new replicas now.",
    ),
    "replicas_need_disks": Remedy(
        "",
        "Tag disks and nodes, or change the selectors.",
        "No disk of the right type has the tags that replicas of a volume need.",
    ),
}
"""What stands outside the disks, and what becomes of the whole volume."""

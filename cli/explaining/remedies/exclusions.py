"""What to do about a node that kube-scheduler or a plan leaves out."""

from collections.abc import Mapping

from cli.explaining.remedies.remedy import Remedy

EXCLUSIONS: Mapping[str, Remedy] = {
    "node_cordoned": Remedy("cordoned", "`kubectl uncordon` the node, if its maintenance is over."),
    "node_tainted": Remedy("tainted", "Take the taint away, or give the pod a toleration."),
    "node_selector": Remedy(
        "without the labels of nodeSelector", "Label the node, or change `nodeSelector`."
    ),
    "node_affinity": Remedy(
        "outside the node affinity", "Label the node, or change the pod's `affinity`."
    ),
    "volume_node_affinity": Remedy(
        "outside the node affinity of a volume",
        "Make the pod fit on one of these nodes, or give a new node their labels. If they are gone "
        "for ever, restore the volume from a backup, with a new claim.",
    ),
    "allowed_topologies": Remedy(
        "outside the topologies of a StorageClass",
        "Label the node, make the pod fit on one of these nodes, or use a StorageClass with other "
        "`allowedTopologies`.",
    ),
}
"""Why kube-scheduler does not send a node to the extender."""

PREDICATES: Mapping[str, Remedy] = {
    "port_taken": Remedy("with a port that is taken", "Free the port, or leave `hostPort` out."),
    "insufficient_resources": Remedy(
        "with too little CPU, memory or other resources",
        "Add nodes, or ask for less in the pod's `resources.requests`.",
    ),
    "too_many_pods": Remedy(
        "with as many pods as they take", "Add nodes, or raise `maxPods` of the kubelet."
    ),
    "disk_conflict": Remedy(
        "with a pod that mounts the same disk", "Let both only read it (GCE), or use a claim."
    ),
    "node_name": Remedy(
        "other than the one that the pod names", "Leave `nodeName` out, or change it."
    ),
    "claim_in_use": Remedy(
        "rejected, since another pod has a claim",
        "Wait until the other pod is gone, or use another claim or access mode.",
    ),
    "claim_selected_node": Remedy(
        "other than the one that was chosen for a claim",
        "Make the pod fit there, or create the claim anew.",
    ),
    "pod_affinity": Remedy(
        "far from the pods that the pod must be near",
        "Place these pods first, or change the pod's `affinity`.",
    ),
    "pod_anti_affinity": Remedy(
        "with pods that the pod must not be near",
        "Add nodes or zones, or change the pod's `affinity`.",
    ),
    "others_anti_affinity": Remedy(
        "with pods that must not be near the pod",
        "Add nodes or zones, or change the `affinity` of these pods.",
    ),
    "topology_spread": Remedy(
        "where the pod's topology spread allows no more",
        "Make room in the domains with fewer pods, or change `maxSkew` or `whenUnsatisfiable`.",
    ),
    "topology_label": Remedy(
        "without a label that the pod spreads over",
        "Label the node, or change the pod's `topologySpreadConstraints`.",
    ),
    "service_affinity": Remedy(
        "apart from the pods of the service",
        "Make room near them, or change the policy's `serviceAffinity`.",
    ),
    "labels_presence": Remedy(
        "by their labels", "Label the node, or change the policy's `labelsPresence`."
    ),
}
"""Why a plan leaves a node out, beside all of those."""

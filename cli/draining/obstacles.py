"""What may be in the way of a drain: each with its name, what it means and what to do."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Code(StrEnum):
    """What is in the way, in the order in which it is to be remedied.

    kubectl refuses to begin; then pods stay, so that their volumes stay attached; then Longhorn
    asks about volumes that are attached, and only after that about replicas.
    """

    NODE_NOT_READY = "node_not_ready"
    POD_WITHOUT_CONTROLLER = "pod_without_controller"
    POD_WITH_LOCAL_DATA = "pod_with_local_data"
    MANAGER_WITH_LOCAL_DATA = "manager_with_local_data"
    SEVERAL_BUDGETS = "several_budgets"
    BUDGET = "budget"
    MANAGER_NOT_RUNNING = "manager_not_running"
    MANAGER_OF_UNKNOWN_TYPE = "manager_of_unknown_type"
    ATTACHED_BY_HAND = "attached_by_hand"
    ATTACHED_BY_LONGHORN = "attached_by_longhorn"
    ATTACHED_FOR_STAYING_POD = "attached_for_staying_pod"
    ORPHANED_ENGINE = "orphaned_engine"
    NO_POLICY = "no_policy"
    REPLICA_TO_MOVE = "replica_to_move"
    PEER_UNCLEAR = "peer_unclear"
    FAILED_REPLICA = "failed_replica"
    LAST_REPLICA = "last_replica"
    LAST_REPLICA_TO_MOVE = "last_replica_to_move"
    STRICT_LOCAL_REPLICA = "strict_local_replica"


class Remedy(msgspec.Struct, frozen=True):
    """What people are told of a code."""

    meaning: str
    action: str


REMEDIES: Mapping[Code, Remedy] = {
    Code.NODE_NOT_READY: Remedy(
        "The kubelet of the node does not answer. Pods that are evicted never end there.",
        "Bring the node back. If it is gone for good, delete its Node object; there is nothing "
        "to drain.",
    ),
    Code.POD_WITHOUT_CONTROLLER: Remedy(
        "A pod that nobody makes again. `kubectl drain` refuses to begin.",
        "Delete the pod yourself if it may go, or drain with `--force`, which deletes it.",
    ),
    Code.POD_WITH_LOCAL_DATA: Remedy(
        "A pod with an emptyDir, which is lost with it. `kubectl drain` refuses to begin.",
        "If the data may be lost, drain with `--delete-emptydir-data`.",
    ),
    Code.MANAGER_WITH_LOCAL_DATA: Remedy(
        "An instance manager of data engine v2: its pod has an emptyDir for huge pages. `kubectl "
        "drain` refuses to begin.",
        "Drain with `--delete-emptydir-data`: the emptyDir of an instance manager holds no data "
        "of volumes.",
    ),
    Code.SEVERAL_BUDGETS: Remedy(
        "A pod that several PodDisruptionBudgets select. Kubernetes evicts no such pod.",
        "Change the selectors of the budgets so that one of them selects the pod.",
    ),
    Code.BUDGET: Remedy(
        "The PodDisruptionBudget of the pod allows no disruption now.",
        "Wait until more of its pods are ready, or add one. If there is to be one only, it has to "
        "be stopped by hand.",
    ),
    Code.MANAGER_NOT_RUNNING: Remedy(
        "An instance manager that does not run. Longhorn leaves its PodDisruptionBudget alone "
        "then, and its pod is not ready.",
        "See why its pod is not ready (`kubectl describe pod`); once it runs, Longhorn decides "
        "again.",
    ),
    Code.MANAGER_OF_UNKNOWN_TYPE: Remedy(
        "An instance manager of a type that Longhorn does not know.",
        "Correct `spec.type` of the InstanceManager: it is `aio` since Longhorn v1.5.",
    ),
    Code.ATTACHED_BY_HAND: Remedy(
        "A volume that was attached to the node in Longhorn's UI or by its API.",
        "Detach it in the UI, or set `detach-manually-attached-volumes-when-cordoned` to `true`.",
    ),
    Code.ATTACHED_BY_LONGHORN: Remedy(
        "A volume that a controller of Longhorn has attached to the node to work on it: for a "
        "backup, a snapshot, an expansion, a rebuild.",
        "Wait until the work is done; Longhorn detaches the volume then. A volume for disaster "
        "recovery stays attached for as long as it is one: activate it, or delete it.",
    ),
    Code.ATTACHED_FOR_STAYING_POD: Remedy(
        "A volume of a pod that a drain leaves on the node: one of a DaemonSet, or a static one.",
        "Stop the pod yourself, for example by a label that the DaemonSet's node selector asks "
        "for.",
    ),
    Code.ORPHANED_ENGINE: Remedy(
        "An engine without a Volume.",
        "Delete the orphan: Longhorn's UI lists it below Settings, Orphaned Data "
        "(`orphans.longhorn.io`).",
    ),
    Code.NO_POLICY: Remedy(
        "The setting `node-drain-policy` is missing or empty. Longhorn lets nothing go then.",
        "Set `node-drain-policy`; Longhorn's default is `block-if-contains-last-replica`.",
    ),
    Code.REPLICA_TO_MOVE: Remedy(
        "The policy `block-for-eviction` keeps the node until no replica is left on it.",
        "Cordon the node (`kubectl cordon`): Longhorn moves its replicas then. If one stays, no "
        "other disk has room for it.",
    ),
    Code.PEER_UNCLEAR: Remedy(
        "Longhorn cannot find out whether another replica of the volume is protected. An error "
        "lets nothing go.",
        "Delete replicas on nodes that are gone for good, in the UI or by `kubectl delete "
        "replicas.longhorn.io`; else bring the node or its instance manager back.",
    ),
    Code.FAILED_REPLICA: Remedy(
        "A failed replica on the node, of a volume without a protected healthy one on another "
        "node. Longhorn asks for one all the same.",
        "Mend the volume first. If it has a healthy replica elsewhere, the text says why that one "
        "does not count.",
    ),
    Code.LAST_REPLICA: Remedy(
        "A replica of a volume without a protected healthy one on another node.",
        "Have a healthy replica on another node that is not cordoned: raise the Volume's "
        "`numberOfReplicas`, and wait until it is rebuilt. If the volume may be away for a while, "
        "choose another `node-drain-policy`.",
    ),
    Code.LAST_REPLICA_TO_MOVE: Remedy(
        "The same, where the policy `block-for-eviction-if-contains-last-replica` has Longhorn "
        "move it.",
        "Cordon the node (`kubectl cordon`): Longhorn moves the replica then. If it stays, no "
        "other disk has room for it.",
    ),
    Code.STRICT_LOCAL_REPLICA: Remedy(
        "The replica of a strict-local volume. Longhorn places it on the volume's own node only, "
        "so no eviction moves it, and the volume never has another one.",
        "If the node comes back, set `node-drain-policy` to `allow-if-replica-is-stopped` for the "
        "drain, and stop the pod. Otherwise set the Volume's `dataLocality` to `best-effort`, so "
        "that its replica can be moved; its PersistentVolume stays limited to the node, and must "
        "be made anew.",
    ),
}
"""What to do about each."""


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in the way."""

    code: Code
    object: str
    """Kind and name."""
    text: str
    """Why it is in the way, said of the object."""
    logged: str = ""
    """What Longhorn's manager logs of it, where it does."""


class Hint(StrEnum):
    """What does not keep a node from being drained, and should be known before."""

    VOLUME_AWAY = "volume_away"
    SHARDS_NOT_WHOLE = "shards_not_whole"
    SHARDS_LOST = "shards_lost"
    ONE_BY_ONE = "one_by_one"
    DETACHING = "detaching"


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """Such a thing."""

    code: Hint
    object: str
    text: str

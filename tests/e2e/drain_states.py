"""Random states of a cluster whose first node is to be drained, as objects of the API server.

Some are fine and some have one or several of the troubles that may be in the way of a drain.
"""

from collections.abc import Sequence
from random import Random

import msgspec

from tests.actors import api as kinds
from tests.actors.api import Kind, Object
from tests.actors.longhorn import MANAGER_IMAGE, NAMESPACE, setting
from tests.actors.longhorn.guards import budget_of, labels_of
from tests.e2e.kubernetes import kubernetes_node
from tests.e2e.workloads import NAMESPACE as WORKLOADS

NODE = "node-1"
"""The one in question."""
NODES = (NODE, "node-2", "node-3", "node-4")
POLICIES = {
    "block-if-contains-last-replica": 40,
    "block-for-eviction-if-contains-last-replica": 15,
    "allow-if-replica-is-stopped": 20,
    "block-for-eviction": 5,
    "always-allow": 10,
    "no-such-policy": 5,
    "": 5,
}
"""Each with how often it comes."""
_THEN = "2026-10-01T08:00:00Z"
OWNER = "operator"
"""A ConfigMap that controls pods: nobody makes them again."""
POOL = "pool"


class DrainState(msgspec.Struct, kw_only=True):
    """What there is before the drain, in the order in which it is created."""

    objects: list[tuple[Object, Kind]]
    pods: list[Object]
    """With the kind of their owner and its name where a uid is to be."""
    flags: list[str]
    """Of the drain."""
    troubles: list[str]
    """What was made to be in the way, or might be; for people."""


def random_state(random: Random) -> DrainState:
    """Make up a state."""
    return _Maker(random).make()


def state_by_hand() -> DrainState:
    """Make a state in which one volume is attached by hand, and nothing else is in the way."""
    name = "by-hand"
    metadata = {"name": name, "namespace": NAMESPACE}
    manager = {
        "metadata": {"name": "instance-manager-v1", "namespace": NAMESPACE},
        "spec": {"nodeID": NODE, "dataEngine": "v1", "image": MANAGER_IMAGE, "type": "aio"},
        "status": {"currentState": "running", "instanceEngines": {f"{name}-e-0": {}}},
    }
    pod = _pod("instance-manager-v1", NODE, owner=_OWNED_BY_MANAGER, namespace=NAMESPACE)
    pod["metadata"]["labels"] = labels_of(manager)
    used = {"namespace": WORKLOADS, "pvcName": name, "lastPVCRefAt": ""}
    ticket = {"id": "it", "type": "longhorn-api", "nodeID": NODE}
    attachment = {"volume": name, "attachmentTickets": {"it": ticket}}
    objects = [
        (setting("node-drain-policy", "always-allow"), kinds.SETTINGS),
        (kubernetes_node(NODE), kinds.KUBERNETES_NODES),
        ({"metadata": metadata, "status": {"kubernetesStatus": used}}, kinds.VOLUMES),
        ({"metadata": metadata, "spec": attachment}, kinds.LONGHORN_ATTACHMENTS),
        (manager, kinds.INSTANCE_MANAGERS),
    ]
    return DrainState(objects=objects, pods=[pod], flags=[], troubles=[])


_OWNED_BY_MANAGER = (kinds.INSTANCE_MANAGERS, "instance-manager-v1")


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._state = DrainState(objects=[], pods=[], flags=[], troubles=[])
        self._managers: dict[str, Object] = {}
        self._policy = random.choices([*POLICIES], [*POLICIES.values()])[0]

    def make(self) -> DrainState:
        self._add_settings()
        self._add_nodes()
        for node in NODES:
            self._add_manager(node)
        for number in range(self._random.randint(2, 5)):
            self._add_volume(f"vol-{number}")
        self._add_second_engine()
        self._add_pods()
        for manager in self._managers.values():
            self._add(manager, kinds.INSTANCE_MANAGERS)
        return self._state

    def _add(self, obj: Object, kind: Kind) -> None:
        self._state.objects.append((obj, kind))

    def _happens(self, percent: int, what: str = "") -> bool:
        happens = self._random.randrange(100) < percent
        if happens and what:
            self._state.troubles.append(what)
        return happens

    def _add_settings(self) -> None:
        self._state.troubles.append(self._policy or "no policy")
        is_on = {True: "true", False: "false"}
        autoscaler = is_on[self._happens(25, "autoscaler")]
        for name, value in {
            "node-drain-policy": self._policy,
            "kubernetes-cluster-autoscaler-enabled": autoscaler,
            "detach-manually-attached-volumes-when-cordoned": is_on[
                self._happens(50, "detached by a cordon")
            ],
            "default-instance-manager-image": MANAGER_IMAGE,
        }.items():
            self._add(setting(name, value), kinds.SETTINGS)

    def _add_nodes(self) -> None:
        for name in NODES:
            node = kubernetes_node(name)
            node["metadata"]["labels"][POOL] = name
            if self._happens({NODE: 30, "node-2": 25}.get(name, 0), f"{name} is cordoned"):
                node["spec"] = {"unschedulable": True}
            self._add(node, kinds.KUBERNETES_NODES)

    def _add_manager(self, node: str, engine: str = "v1") -> None:
        state = "running"
        if node != NODE and self._happens(12, f"no manager on {node}"):
            state = self._random.choice(["error", "starting", "unknown"])
        stays = node == NODE and engine == "v1" and self._happens(4, "an unready manager")
        name = f"instance-manager-{engine}-{node}"
        manager: Object = {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"nodeID": node, "dataEngine": engine, "image": MANAGER_IMAGE, "type": "aio"},
            "status": {"currentState": "starting" if stays else state, "instanceEngines": {}},
        }
        self._managers[name] = manager
        if stays:
            self._add(budget_of(manager), kinds.BUDGETS)
        if state == "running":
            pod = _pod(name, node, owner=(kinds.INSTANCE_MANAGERS, name), namespace=NAMESPACE)
            pod["metadata"]["labels"] = labels_of(manager)
            pod["ready"] = not stays
            if engine == "v2":
                pod["spec"]["volumes"] = [{"name": "hugepage", "emptyDir": {}}]
            self._state.pods.append(pod)

    def _add_volume(self, name: str) -> None:
        nodes = self._random.sample(NODES, self._random.choice([2, 2, 3]))
        if self._happens(5, f"{name} has one replica"):
            nodes = [NODE]
        is_attached = self._happens(65)
        for number, node in enumerate(nodes):
            self._add_replica(name, f"{name}-r-{number}", node, is_attached=is_attached)
        used = {"namespace": WORKLOADS, "pvcName": f"claim-{name}", "lastPVCRefAt": ""}
        volume = {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"numberOfReplicas": len(nodes), "accessMode": "rwo"},
            "status": {"kubernetesStatus": used},
        }
        self._add(volume, kinds.VOLUMES)
        tickets: Object = {}
        if is_attached:
            at = self._random.choice([NODE, NODE, *NODES])
            tickets = {"it": {"id": "it", "type": self._attach(name, at), "nodeID": at}}
            engines = self._managers[f"instance-manager-v1-{at}"]["status"]["instanceEngines"]
            engines[f"{name}-e-0"] = {"spec": {"name": f"{name}-e-0"}}
        attachment = {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"volume": name, "attachmentTickets": tickets},
        }
        self._add(attachment, kinds.LONGHORN_ATTACHMENTS)

    def _attach(self, volume: str, node: str) -> str:
        """Say who has a volume attached; make the pod if it is one."""
        if self._happens(7, f"{volume} by hand on {node}"):
            return "longhorn-api"
        if self._happens(4, f"{volume} for a backup on {node}"):
            return "backup-controller"
        if self._happens(4, f"{volume} for a DaemonSet on {node}"):
            self._add(_daemon_set(f"daemon-{volume}", node, f"claim-{volume}"), kinds.DAEMON_SETS)
        else:
            self._state.pods.append(_pod(f"pod-{volume}", node, claim=f"claim-{volume}"))
        return "csi-attacher"

    def _add_replica(self, volume: str, name: str, node: str, *, is_attached: bool) -> None:
        times = _THEN, ""
        if self._happens(6, f"{name} on {node} has failed"):
            times = _THEN, _THEN
        elif self._happens(6, f"{name} on {node} was never used"):
            times = "", ""
        gone = node != NODE and self._happens(2, f"the node of {name} is gone")
        at = "node-gone" if gone else node
        state = "running" if is_attached else "stopped"
        manager = "" if self._happens(15) else f"instance-manager-v1-{node}"
        replica = {
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"longhornnode": at}},
            "spec": {
                "volumeName": volume,
                "nodeID": at,
                "dataEngine": "v1",
                "healthyAt": times[0],
                "failedAt": times[1],
                "desireState": state,
            },
            "status": {"currentState": state, "instanceManagerName": manager},
        }
        self._add(replica, kinds.REPLICAS)

    def _add_second_engine(self) -> None:
        """Have data engine v2 on the node, or an engine without a Volume."""
        if self._happens(20, "data engine v2"):
            self._add_manager(NODE, "v2")
        if self._happens(4, "an orphan"):
            manager = self._managers[f"instance-manager-v1-{NODE}"]
            manager["status"]["instanceEngines"]["gone-e-0"] = {"spec": {"name": "gone-e-0"}}

    def _add_pods(self) -> None:
        """Add workloads of the node, with budgets, and Longhorn's own csi-attacher."""
        for flag, percent in (("--delete-emptydir-data", 70), ("--force", 30)):
            if self._happens(percent):
                self._state.flags.append(flag)
        if self._happens(15, "an emptyDir"):
            pod = _pod("scratch", NODE)
            pod["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
            self._state.pods.append(pod)
        if self._happens(10, "a bare pod"):
            self._state.pods.append(_pod("bare", NODE, owner=None))
        least = 3 if self._happens(8, "a budget") else 1
        self._add_guarded("web", [NODE, *self._random.sample(NODES[1:], 2)], least, WORKLOADS)
        alone = self._happens(5, "the last csi-attacher")
        self._add_guarded("csi-attacher", [NODE] if alone else NODES, 1, NAMESPACE)

    def _add_guarded(self, name: str, nodes: Sequence[str], least: int, namespace: str) -> None:
        labels = {"app": name}
        for number, node in enumerate(nodes):
            pod = _pod(f"{name}-{number}", node, namespace=namespace)
            pod["metadata"]["labels"] = labels
            self._state.pods.append(pod)
        budget = {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"minAvailable": least, "selector": {"matchLabels": labels}},
        }
        self._add(budget, kinds.BUDGETS)


def _pod(
    name: str,
    node: str,
    *,
    claim: str = "",
    owner: tuple[Kind, str] | None = (kinds.CONFIG_MAPS, OWNER),
    namespace: str = WORKLOADS,
) -> Object:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "app", "image": "none"}],
            "volumes": volumes,
        },
        "owner": owner,
        "ready": True,
    }


def _daemon_set(name: str, node: str, claim: str) -> Object:
    labels = {"app": name}
    spec = {**_pod("", node, claim=claim)["spec"], "nodeSelector": {POOL: node}}
    del spec["nodeName"]
    return {
        "metadata": {"name": name, "namespace": WORKLOADS},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }

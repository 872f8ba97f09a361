"""What the objects of the cluster say of pods and their volumes, as last heard of."""

import time
from collections import Counter

from tests.actors.api import Key, Object
from tests.actors.claims import claims_of, longhorn_volumes_of
from tests.actors.longhorn import NAMESPACE, nodes_with_replicas, overcommitted
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.granted import unsettled
from tests.e2e.outcome import volumes_without_room
from tests.e2e.workloads import NAMESPACE as WORKLOADS


class Seen:
    """Reads the caches of the played Longhorn, which follow everything that matters here.

    Attributes:
        bound_at: When each pod was seen with a node, by uid, in seconds since the epoch.
        ran_at: When each was seen running.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.bound_at: dict[str, float] = {}
        self.ran_at: dict[str, float] = {}
        self._cluster = cluster
        cluster.pods.handlers.append(self._saw_pod)

    def is_every_node_schedulable(self) -> bool:
        """Whether Longhorn would put replicas on every node, as its nodes say."""
        return all(
            each["status"] == "True"
            for node in self._cluster.nodes.objects.values()
            for each in node["status"]["conditions"]
            if each["type"] == "Schedulable"
        )

    def is_every_disk_empty(self) -> bool:
        """Whether Longhorn's nodes list no replica any more."""
        return not any(
            disk.get("scheduledReplica")
            for node in self._cluster.nodes.objects.values()
            for disk in (node["status"].get("diskStatus") or {}).values()
        )

    def pods(self) -> list[Object]:
        """Return the pods of workloads, by name."""
        found = [
            pod
            for key, pod in self._cluster.pods.objects.items()
            if key.namespace == WORKLOADS and not pod["metadata"].get("deletionTimestamp")
        ]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def any_pods(self) -> bool:
        """Whether there are pods of workloads, be it that they are ending."""
        return any(key.namespace == WORKLOADS for key in self._cluster.pods.objects)

    def pod(self, name: str) -> Object | None:
        return self._cluster.pods.get(name, WORKLOADS)

    def node_of(self) -> dict[str, str]:
        """Return the node of each pod by its name."""
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in self.pods()}

    def without_room(self, *, local_only: bool = False) -> int:
        """Count volumes that do not fit where their pods are; all of them, or those that Longhorn
        is to keep there."""
        return sum(self.without_room_by_node(local_only=local_only).values())

    def without_room_by_node(self, *, local_only: bool = False) -> dict[str, int]:
        """Count them for each node that has some."""
        nodes = self._cluster.nodes.objects.values()
        replicas = self._cluster.replicas.objects.values()
        settings = self._cluster.setting_values()
        counts = {
            node: volumes_without_room(nodes, replicas, {node: volumes}, settings)
            for node, volumes in self._wanted(local_only=local_only).items()
        }
        return {node: count for node, count in counts.items() if count}

    def elsewhere(self) -> int:
        """Count volumes with no replica where their pods are."""
        nodes = nodes_with_replicas(self._cluster.replicas.objects.values())
        return sum(
            node not in nodes.get(volume, ())
            for node, volumes in self._wanted().items()
            for volume in volumes
        )

    def replicas_on(self, node: str) -> list[str]:
        """Name the replicas that are on a node."""
        return [
            key.name
            for key, replica in self._cluster.replicas.objects.items()
            if replica["spec"].get("nodeID") == node
        ]

    def replica_nodes(self) -> dict[str, set[str]]:
        """Return where the replicas of a StatefulSet's volumes are, by the pod of each."""
        nodes = nodes_with_replicas(self._cluster.replicas.objects.values())
        return {
            key.name.removeprefix("data-0-"): set(nodes.get(claim["spec"]["volumeName"], ()))
            for key, claim in self._cluster.claims.objects.items()
        }

    def is_running(self, name: str) -> bool:
        """Whether a pod runs: then its volumes are attached."""
        found = self.pod(name)
        return found is not None and found["status"].get("phase") == "Running"

    def is_refused(self, name: str, why: str = "") -> bool:
        """Whether kube-scheduler has tried a pod and found no node for it; it says *why*."""
        found = self.pod(name)
        conditions = (found["status"].get("conditions") if found else None) or ()
        return any(
            (each["type"], each["status"]) == ("PodScheduled", "False")
            and why in each.get("message", "")
            for each in conditions
        )

    def volume_of(self, claim: str) -> str:
        """Return the name of a claim's volume."""
        found = self._cluster.claims.get(claim, WORKLOADS)
        return str(found["spec"].get("volumeName", "")) if found else ""

    def replica_counts(self) -> dict[str, tuple[int, int]]:
        """Return of each volume how many replicas have a disk, and how many are wanted."""
        placed = Counter(
            replica["spec"]["volumeName"]
            for replica in self._cluster.replicas.objects.values()
            if replica["spec"].get("diskID")
        )
        return {
            key.name: (placed[key.name], volume["spec"]["numberOfReplicas"])
            for key, volume in self._cluster.volumes.objects.items()
        }

    def overcommitted_disks(self) -> list[str]:
        """Describe the disks with more on them than Longhorn's own limit."""
        found = overcommitted(
            self._cluster.nodes.objects.values(),
            self._cluster.replicas.objects.values(),
            self._cluster.setting_values(),
        )
        return [str(each) for each in found]

    def overcommitted_nodes(self) -> set[str]:
        """Name the nodes with a disk that has more on it than Longhorn's own limit."""
        found = overcommitted(
            self._cluster.nodes.objects.values(),
            self._cluster.replicas.objects.values(),
            self._cluster.setting_values(),
        )
        return {each.node for each in found}

    def attaching(self) -> list[str]:
        """Name the volumes that are to be attached, or are."""
        volumes = self._cluster.volumes.objects
        return [key.name for key, volume in volumes.items() if volume["spec"].get("nodeID")]

    def unplaced_replicas(self) -> list[Key]:
        """Name the replicas without a disk."""
        replicas = self._cluster.replicas.objects
        return [key for key, each in replicas.items() if not each["spec"].get("diskID")]

    def excess_bytes(self) -> int:
        """Return how far disks are beyond Longhorn's own limit, all of them together."""
        found = overcommitted(
            self._cluster.nodes.objects.values(),
            self._cluster.replicas.objects.values(),
            self._cluster.setting_values(),
        )
        return sum(each.excess_bytes for each in found)

    def is_beside(self, pod: str, claim: str) -> bool:
        """Whether the volume of a claim has a replica on the node of a pod."""
        nodes = nodes_with_replicas(self._cluster.replicas.objects.values())
        return self.node_of().get(pod, "") in nodes.get(self.volume_of(claim), ())

    def unsettled(self) -> list[str]:
        """Name the volumes of bound pods that Longhorn has neither placed nor given up on.

        Where DiskSchedules grant room, also what is placed and has no room yet.
        """
        schedules = self._cluster.disk_schedules
        waiting = []
        if schedules is not None:
            replicas = self._cluster.replicas.objects.values()
            waiting = unsettled(replicas, schedules.objects.values())
        for pod in self.pods():
            if not pod["spec"].get("nodeName"):
                continue
            volumes = longhorn_volumes_of(
                pod, self._cluster.claims, self._cluster.persistent_volumes
            )
            if len(volumes) < len(claims_of(pod)):
                waiting.append(f"{pod['metadata']['name']}: claims")
            for name in volumes:
                if not self._is_volume_settled(name, pod["spec"]["nodeName"]):
                    waiting.append(f"{pod['metadata']['name']}: {name}")
        return waiting

    def volumes_left(self) -> list[Key]:
        """Name what is left of claims and volumes."""
        cluster = self._cluster
        informers = (
            cluster.claims,
            cluster.persistent_volumes,
            cluster.volumes,
            cluster.replicas,
        )
        return [key for informer in informers for key in informer.objects]

    def _saw_pod(self, _old: Object | None, new: Object | None) -> None:
        if new is not None and new["spec"].get("nodeName"):
            self.bound_at.setdefault(new["metadata"]["uid"], time.time())
        if new is not None and new["status"].get("phase") == "Running":
            self.ran_at.setdefault(new["metadata"]["uid"], time.time())

    def _wanted(self, *, local_only: bool = False) -> dict[str, dict[str, int]]:
        """Return the bytes of each volume that bound pods want on their node, by node."""
        wanted: dict[str, dict[str, int]] = {}
        for pod in self.pods():
            if node := pod["spec"].get("nodeName"):
                for name in longhorn_volumes_of(
                    pod, self._cluster.claims, self._cluster.persistent_volumes
                ):
                    volume = self._cluster.volumes.get(name, NAMESPACE)
                    if local_only and volume and volume["spec"]["dataLocality"] == "disabled":
                        continue
                    size = int(volume["spec"]["size"]) if volume else 0
                    wanted.setdefault(node, {})[name] = size
        return wanted

    def _is_volume_settled(self, name: str, node: str) -> bool:
        volume = self._cluster.volumes.get(name, NAMESPACE)
        if volume is None:
            return False
        replicas = [
            replica
            for replica in self._cluster.replicas.objects.values()
            if replica["spec"]["volumeName"] == name
        ]
        conditions = (volume.get("status") or {}).get("conditions") or ()
        if any(each["type"] == "Scheduled" and each["status"] == "False" for each in conditions):
            return True
        placed = [each["spec"]["nodeID"] for each in replicas if each["spec"].get("nodeID")]
        spec = volume["spec"]
        is_whole = len(placed) == len(replicas) == spec["numberOfReplicas"]
        return is_whole and (node in placed or spec["dataLocality"] == "disabled")

"""Who changes the cluster: kube-scheduler, the provisioner and Longhorn are played here.

Each writes what its program would write, as far as the service's answers depend on it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from app.kube.longhorn.resources import LONGHORN_RESOURCES, NODES, REPLICAS, VOLUMES
from app.kube.pods import WOKEN_AT
from app.kube.resource import Resource
from app.kube.resources import CLAIMS, CLUSTER_RESOURCES, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES
from app.quantity import parse_bytes
from cli.documents import load_documents
from cli.kube.resources import KUBERNETES_NODES
from examples.demo.api_server import ApiServer
from tests.fakes import Object

_BY_KIND = {
    (each.group, each.kind): each
    for each in (*CLUSTER_RESOURCES, *LONGHORN_RESOURCES, PODS, KUBERNETES_NODES)
}
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def load(folder: Path) -> list[Object]:
    """Return all objects of an example that the service reads, and its pods.

    Raises:
        InputError: A file cannot be read.
    """
    files = sorted(folder.glob("*.yaml"))
    documents = (document for file in files for _, document in load_documents(file))
    return [each for each in documents if isinstance(each, dict) and _resource(each) is not None]


def another(objects: Iterable[Object], name: str, like: str) -> list[Object]:
    """Return the objects that have *like* in their names again, with *name* in its place."""
    found = []
    for each in objects:
        if like in each["metadata"]["name"]:
            copy: Object = json.loads(json.dumps(each).replace(like, name))
            found.append(copy)
    return found


class Cluster:
    """The cluster that is played.

    Args:
        api: Where it is kept.
    """

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._there: dict[tuple[Resource, str], None] = {}
        """Kinds and names of all objects that were put here and are still there."""

    def replace(self, objects: Sequence[Object]) -> None:
        """Put *objects* in place of all that is there."""
        for there in [*self._there]:
            self._delete(*there)
        for each in objects:
            self._put(each)

    def pod(self, name: str) -> Object:
        """Return a pod of the default namespace."""
        return self._get(PODS, name)

    def choose(self, pod: str, node: str) -> None:
        """Play kube-scheduler: write the node onto the pod's unbound claims, or bind the pod."""
        unbound = [claim for claim in self._claims(pod) if "volumeName" not in claim["spec"]]
        for claim in unbound:
            claim["metadata"].setdefault("annotations", {})[_SELECTED_NODE] = node
            self._put(claim)
        if not unbound:
            self._bind(pod, node)

    def provision(self, pod: str) -> None:
        """Play the provisioner: make volumes for the claims, and let kube-scheduler bind the pod.

        The node is the one on the claims.
        """
        claims = self._claims(pod)
        for claim in claims:
            name = f"pvc-{claim['metadata']['uid']}"
            storage_class = self._get(STORAGE_CLASSES, claim["spec"]["storageClassName"])
            self._put(_volume(name, claim, storage_class["parameters"]))
            self._put(_persistent_volume(name, claim))
            claim["spec"]["volumeName"] = name
            self._put(claim)
        self._bind(pod, claims[0]["metadata"]["annotations"][_SELECTED_NODE])

    def place(self, pod: str) -> None:
        """Play Longhorn: place a replica of each volume on the disk with the most room."""
        name = self.pod(pod)["spec"]["nodeName"]
        for claim in self._claims(pod):
            volume = self._get(VOLUMES, claim["spec"]["volumeName"])
            size_bytes = int(volume["spec"]["size"])
            node = self._get(NODES, name)
            disk = max(node["status"]["diskStatus"].values(), key=_room_bytes)
            replica = _replica(volume, name, disk)
            disk["storageScheduled"] += size_bytes
            disk["scheduledReplica"][replica["metadata"]["name"]] = size_bytes
            self._put(replica)
            self._put(node)

    def delete(self, pod: str) -> None:
        """Play a user who deletes a pod and its claims, and Longhorn, which deletes the volumes."""
        for claim in self._claims(pod):
            volume = claim["spec"]["volumeName"]
            replica = self._get(REPLICAS, _replica_name(volume))
            node = self._get(NODES, replica["spec"]["nodeID"])
            for disk in node["status"]["diskStatus"].values():
                size_bytes = disk["scheduledReplica"].pop(_replica_name(volume), 0)
                disk["storageScheduled"] -= size_bytes
            self._delete(CLAIMS, claim["metadata"]["name"])
            self._delete(PERSISTENT_VOLUMES, volume)
            self._delete(VOLUMES, volume)
            self._delete(REPLICAS, _replica_name(volume))
            self._put(node)
        self._delete(PODS, pod)

    def woken_at(self, pod: str) -> str:
        """Return when the service has woken a pod last, empty if never."""
        return str(self.pod(pod)["metadata"].get("annotations", {}).get(WOKEN_AT, ""))

    def is_known(self, state: Object) -> bool:
        """Whether the service that shows *state* has heard of all that changed."""
        return all(
            int(state["kinds"][each.name]["version"] or 0) >= self._api.version(each)
            for each in (*CLUSTER_RESOURCES, *LONGHORN_RESOURCES)
        )

    def _claims(self, pod: str) -> list[Object]:
        volumes = self.pod(pod)["spec"]["volumes"]
        return [self._get(CLAIMS, each["persistentVolumeClaim"]["claimName"]) for each in volumes]

    def _bind(self, pod: str, node: str) -> None:
        bound = self.pod(pod)
        bound["spec"]["nodeName"] = node
        self._put(bound)

    def _get(self, resource: Resource, name: str) -> Object:
        found = self._api.get(resource, name)
        assert found is not None, f"there is no {resource.kind} {name}"
        return found

    def _put(self, obj: Object) -> None:
        resource = _resource(obj)
        assert resource is not None
        self._api.put(obj)
        self._there.setdefault((resource, obj["metadata"]["name"]))

    def _delete(self, resource: Resource, name: str) -> None:
        self._api.delete(resource, name)
        del self._there[resource, name]


def _resource(obj: Object) -> Resource | None:
    """Return the kind of an object, None if the service does not read it."""
    return _BY_KIND.get((obj["apiVersion"].rpartition("/")[0], obj["kind"]))


def _room_bytes(disk: Object) -> int:
    return int(disk["storageMaximum"]) - int(disk["storageScheduled"])


def _volume(name: str, claim: Object, parameters: Mapping[str, str]) -> Object:
    return {
        "apiVersion": VOLUMES.api_version,
        "kind": VOLUMES.kind,
        "metadata": {"name": name, "namespace": "longhorn-system"},
        "spec": {
            "size": str(parse_bytes(claim["spec"]["resources"]["requests"]["storage"])),
            "numberOfReplicas": int(parameters["numberOfReplicas"]),
            "dataLocality": parameters["dataLocality"],
            "dataEngine": parameters["dataEngine"],
            "accessMode": "rwo",
        },
        "status": {"state": "detached"},
    }


def _persistent_volume(name: str, claim: Object) -> Object:
    return {
        "apiVersion": PERSISTENT_VOLUMES.api_version,
        "kind": PERSISTENT_VOLUMES.kind,
        "metadata": {"name": name},
        "spec": {
            "claimRef": {"namespace": "default", "name": claim["metadata"]["name"]},
            "csi": {"driver": "driver.longhorn.io", "volumeHandle": name},
        },
    }


def _replica_name(volume: str) -> str:
    return f"{volume}-r"


def _replica(volume: Object, node: str, disk: Object) -> Object:
    name = volume["metadata"]["name"]
    return {
        "apiVersion": REPLICAS.api_version,
        "kind": REPLICAS.kind,
        "metadata": {"name": _replica_name(name), "namespace": "longhorn-system"},
        "spec": {
            "volumeName": name,
            "volumeSize": volume["spec"]["size"],
            "nodeID": node,
            "diskID": disk["diskUUID"],
            "active": True,
            "desireState": "running",
            "healthyAt": "2026-10-12T07:00:10Z",
        },
        "status": {"currentState": "running", "started": True},
    }

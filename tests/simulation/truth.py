"""The objects of the API server as they are at this moment, whatever anybody has heard of them."""

from collections.abc import Iterable, Mapping

from app.quantity import parse_bytes
from longhorn import volume_size_bytes
from tests.actors.api import Object
from tests.actors.claims import claims_of
from tests.actors.longhorn import NAMESPACE
from tests.actors.longhorn.records import BEST_EFFORT, STRICT_LOCAL
from tests.fakes import Change, FakeApiServer, Resource
from tests.simulation.room import Want

CLAIMS, PODS, HOSTS = "persistentvolumeclaims", "pods", "nodes"
VOLUMES, REPLICAS = "volumes.longhorn.io", "replicas.longhorn.io"
LONGHORN_NODES, SETTINGS = "nodes.longhorn.io", "settings.longhorn.io"
WORKLOADS = "default"


class Truth:
    """Follows the API server change by change."""

    def __init__(self, server: FakeApiServer) -> None:
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        server.observers.append(self._take)

    def all(self, resource: str) -> list[Object]:
        """Return the objects of a kind, by namespace and name."""
        return [obj for _, obj in sorted(self._objects.get(resource, {}).items(), key=_key)]

    def get(self, resource: str, name: str, namespace: str = "") -> Object | None:
        return self._objects.get(resource, {}).get((namespace, name))

    def pods(self) -> list[Object]:
        """Return the pods of workloads."""
        return [pod for pod in self.all(PODS) if pod["metadata"]["namespace"] == WORKLOADS]

    def pod(self, uid: str) -> Object | None:
        return next((pod for pod in self.pods() if pod["metadata"]["uid"] == uid), None)

    def claims(self, pod: Object) -> list[Object]:
        """Return the claims of a pod that are there."""
        found = [self.get(CLAIMS, name, WORKLOADS) for name in claims_of(pod)]
        return [claim for claim in found if claim is not None]

    def want(self, claim: Object) -> Want | None:
        """Say what a claim needs on the node of its pod; None if nothing."""
        parameters = self._parameters(claim)
        if parameters.get("dataLocality") not in (BEST_EFFORT, STRICT_LOCAL):
            return None
        size = parse_bytes(claim["spec"]["resources"]["requests"]["storage"])
        tags = tuple(tag for tag in parameters.get("diskSelector", "").split(",") if tag)
        name = f"pvc-{claim['metadata']['uid']}"
        return Want(volume=name, size_bytes=volume_size_bytes(size), tags=tags)

    def wants(self, pod: Object) -> list[Want]:
        """Say what a pod needs on its node."""
        found = [self.want(claim) for claim in self.claims(pod)]
        return [want for want in found if want is not None]

    def is_strict(self, claim: Object) -> bool:
        return self._parameters(claim).get("dataLocality") == STRICT_LOCAL

    def placed(self) -> list[Object]:
        """Return the replicas that have a disk."""
        return [each for each in self.all(REPLICAS) if each["spec"].get("diskID")]

    def placed_of(self, volumes: Iterable[str]) -> list[Object]:
        wanted = set(volumes)
        return [each for each in self.placed() if each["spec"]["volumeName"] in wanted]

    def longhorn_node(self, name: str) -> Object | None:
        return self.get(LONGHORN_NODES, name, NAMESPACE)

    def settings(self) -> Mapping[str, str]:
        return {each["metadata"]["name"]: each["value"] for each in self.all(SETTINGS)}

    def _parameters(self, claim: Object) -> Mapping[str, str]:
        storage_class = self.get(
            "storageclasses.storage.k8s.io", claim["spec"].get("storageClassName", "")
        )
        parameters: Mapping[str, str] = (storage_class or {}).get("parameters") or {}
        return parameters

    def _take(self, resource: Resource, change: Change) -> None:
        metadata = change.last["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        objects = self._objects.setdefault(resource.key, {})
        if change.new is None:
            objects.pop(key, None)
        else:
            objects[key] = change.new


def _key(item: tuple[tuple[str, str], Object]) -> tuple[str, str]:
    return item[0]

"""The objects of the API server as they are at this moment, whatever anybody has heard of them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import structs

import longhorn
from app.quantity import parse_bytes
from tests.actors.api import Object
from tests.actors.claims import claims_of
from tests.actors.longhorn import NAMESPACE
from tests.actors.longhorn.accounts import disks, limit_bytes
from tests.actors.longhorn.creation import volume_object
from tests.actors.longhorn.records import T, recorded
from tests.actors.longhorn.settings import known
from tests.fakes import Change, FakeApiServer, Resource
from tests.simulation.grants import is_granted, turned_away
from tests.simulation.room import Want
from tests.simulation.together import Known

CLAIMS, PODS, HOSTS = "persistentvolumeclaims", "pods", "nodes"
VOLUMES, REPLICAS = "volumes.longhorn.io", "replicas.longhorn.io"
LONGHORN_NODES, SETTINGS = "nodes.longhorn.io", "settings.longhorn.io"
SCHEDULES = "diskschedules.longhorn.io"
WORKLOADS = "default"


class Replicas(NamedTuple):
    """Those that have a disk, by what the DiskSchedules of these say."""

    placed: list[Object]
    granted: list[Object]
    turned_away: set[str]


class Truth:
    """Follows the API server change by change.

    Attributes:
        version: Counts the changes.
    """

    def __init__(self, server: FakeApiServer) -> None:
        self.version = 0
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self._records: dict[tuple[type, str], tuple[Object, object]] = {}
        self._sorted_at, self._sorted = 0, Replicas([], [], set())
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

    def volume(self, claim: Object) -> longhorn.Volume:
        """Return the volume of a claim, or the one that would be created for it."""
        name = volume_of(claim)
        found = self.get(VOLUMES, name, NAMESPACE)
        if found is None:
            size = parse_bytes(claim["spec"]["resources"]["requests"]["storage"])
            storage_class = self.get(
                "storageclasses.storage.k8s.io", claim["spec"]["storageClassName"]
            )
            assert storage_class is not None
            parameters = storage_class["parameters"]
            found = volume_object(
                name, size, parameters, self.settings(), namespace=NAMESPACE, owner=""
            )
            return recorded(found, longhorn.Volume)
        return self._recorded(found, longhorn.Volume)

    def volumes(self, pod: Object) -> list[longhorn.Volume]:
        """Return the volumes of a pod."""
        return [self.volume(claim) for claim in self.claims(pod)]

    def wants(self, pod: Object) -> list[Want]:
        """Say what a pod needs on its node."""
        return [want_of(each) for each in self.volumes(pod) if each.needs_local_replica]

    def placed(self) -> list[Object]:
        """Return the replicas that have a disk which did not turn them away."""
        return self._replicas().placed

    def granted(self) -> list[Object]:
        """Return the replicas that have a disk for good."""
        return self._replicas().granted

    def placed_of(self, volumes: Iterable[str], *, for_good: bool = False) -> list[Object]:
        """Return the placed replicas of volumes; *for_good* leaves out who may be refused yet."""
        wanted = set(volumes)
        replicas = self.granted() if for_good else self.placed()
        return [each for each in replicas if each["spec"]["volumeName"] in wanted]

    def schedules(self) -> Mapping[str, Object]:
        """Return the DiskSchedules by the UUIDs of their disks."""
        return {each["metadata"]["name"]: each for each in self.all(SCHEDULES)}

    def longhorn_node(self, name: str) -> Object | None:
        return self.get(LONGHORN_NODES, name, NAMESPACE)

    def limit_bytes(self, node: str, disk: str) -> int:
        """Return the most that may be scheduled on a disk."""
        found = self.longhorn_node(node)
        assert found is not None
        [limit] = (
            limit_bytes(spec, status, self.settings())
            for name, spec, status in disks(found)
            if name == disk
        )
        return limit

    def settings(self) -> Mapping[str, str]:
        return {each["metadata"]["name"]: each["value"] for each in self.all(SETTINGS)}

    def known_settings(self) -> longhorn.Settings:
        return known(self.settings())

    def known(self) -> Known:
        """Return all that there is of Longhorn."""
        away = self._replicas().turned_away
        replicas: dict[str, list[longhorn.Replica]] = {}
        for each in self.all(REPLICAS):
            record = self._recorded(each, longhorn.Replica)
            if record.name in away:
                record = structs.replace(record, node=None, disk=None)
            replicas.setdefault(record.volume, []).append(record)
        return Known(
            nodes=[self._recorded(each, longhorn.Node) for each in self.all(LONGHORN_NODES)],
            volumes={
                each["metadata"]["name"]: self._recorded(each, longhorn.Volume)
                for each in self.all(VOLUMES)
            },
            replicas=replicas,
        )

    def _replicas(self) -> Replicas:
        """Sort the replicas by how far they have come, once for as long as nothing changes."""
        if self._sorted_at != self.version:
            self._sorted_at, self._sorted = self.version, self._sort()
        return self._sorted

    def _sort(self) -> Replicas:
        schedules = self.schedules()
        limits = {
            disk: self.limit_bytes(each["spec"]["nodeID"], each["spec"]["name"])
            for disk, each in schedules.items()
        }
        on_disks = [each for each in self.all(REPLICAS) if each["spec"].get("diskID")]
        away = turned_away(on_disks, schedules, limits)
        return Replicas(
            placed=[each for each in on_disks if each["metadata"]["name"] not in away],
            granted=[each for each in on_disks if is_granted(each, schedules)],
            turned_away=away,
        )

    def _recorded(self, obj: Object, type_: type[T]) -> T:
        """Read an object, once for as long as it stays the same."""
        key = (type_, obj["metadata"]["name"])
        read, record = self._records.get(key, (None, None))
        if read is not obj:
            record = recorded(obj, type_)
            self._records[key] = (obj, record)
        assert isinstance(record, type_)
        return record

    def _take(self, resource: Resource, change: Change) -> None:
        self.version += 1
        metadata = change.last["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        objects = self._objects.setdefault(resource.key, {})
        if change.new is None:
            objects.pop(key, None)
        else:
            objects[key] = change.new


def volume_of(claim: Object) -> str:
    """Name the volume of a claim."""
    return f"pvc-{claim['metadata']['uid']}"


def want_of(volume: longhorn.Volume) -> Want:
    """Say what a volume needs on the node of its pod."""
    return Want(volume=volume.name, size_bytes=volume.size_bytes, tags=volume.disk_selector)


def _key(item: tuple[tuple[str, str], Object]) -> tuple[str, str]:
    return item[0]

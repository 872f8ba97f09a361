"""The objects of the API server as they are at this moment, whatever anybody has heard of them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple

from msgspec import structs

import longhorn
from app.quantity import parse_bytes
from tests.actors.api import Object
from tests.actors.claims import claims_of
from tests.actors.longhorn import NAMESPACE
from tests.actors.longhorn.accounts import disks, limit_bytes
from tests.actors.longhorn.clones import data_source
from tests.actors.longhorn.creation import volume_object
from tests.actors.longhorn.records import T, recorded
from tests.actors.longhorn.settings import known
from tests.fakes import Change, FakeApiServer, Resource
from tests.simulation.grants import is_granted, turned_away
from tests.simulation.once import Once, R
from tests.simulation.room import Want
from tests.simulation.together import Known, spaces_of

CLAIMS, PODS, HOSTS = "persistentvolumeclaims", "pods", "nodes"
PERSISTENT_VOLUMES = "persistentvolumes"
VOLUMES, REPLICAS = "volumes.longhorn.io", "replicas.longhorn.io"
LONGHORN_NODES, SETTINGS = "nodes.longhorn.io", "settings.longhorn.io"
SCHEDULES = "diskschedules.longhorn.io"
INSTANCE_MANAGERS, ENGINE_IMAGES = "instancemanagers.longhorn.io", "engineimages.longhorn.io"
CSI_NODES = "csinodes.storage.k8s.io"
OF_LONGHORN = (LONGHORN_NODES, VOLUMES, REPLICAS, SETTINGS, SCHEDULES)
WORKLOADS = "default"


class OnDisks:
    """Replicas that have a disk.

    Attributes:
        all: By name.
        of: By volume.
        on: The volumes that have one on a node, by node.
    """

    def __init__(self, replicas: list[Object]) -> None:
        self.all = replicas
        self.of: defaultdict[str, list[Object]] = defaultdict(list)
        self.on: defaultdict[str, set[str]] = defaultdict(set)
        for each in replicas:
            self.of[each["spec"]["volumeName"]].append(each)
            self.on[each["spec"]["nodeID"]].add(each["spec"]["volumeName"])


class Replicas(NamedTuple):
    """Those that have a disk, by what the DiskSchedules of these say."""

    placed: OnDisks
    granted: OnDisks
    turned_away: set[str]


class Truth:
    """Follows the API server change by change.

    Attributes:
        known: Returns all that there is of Longhorn.
        spaces: Returns what each disk has left beside all replicas that are placed on it.
    """

    def __init__(self, server: FakeApiServer) -> None:
        self._changes: Counter[str] = Counter()
        self._objects: defaultdict[str, dict[tuple[str, str], Object]] = defaultdict(dict)
        self._records: dict[tuple[type, str], tuple[Object, object]] = {}
        self._lists: dict[str, Once[list[Object]]] = {}
        self._replicas = self.once(self._sort)
        self.known = self.once(self._know)
        self.spaces = self.once(lambda: spaces_of(self.known(), self.known_settings()))
        server.observers.append(self._take)

    def all(self, resource: str) -> list[Object]:
        """Return the objects of a kind, by namespace and name."""
        if resource not in self._lists:
            self._lists[resource] = Once(
                lambda: [each for _, each in sorted(self._objects[resource].items(), key=_key)],
                self._changes,
                resource,
            )
        return self._lists[resource]()

    def once(self, make: Callable[[], R], *kinds: str) -> Once[R]:
        """Return what makes something of Longhorn's objects and those of other *kinds*."""
        return Once(make, self._changes, *OF_LONGHORN, *kinds)

    def get(self, resource: str, name: str, namespace: str = "") -> Object | None:
        return self._objects[resource].get((namespace, name))

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
            parameters = storage_class["parameters"] | self._source(claim)
            found = volume_object(
                name, size, parameters, self.settings(), namespace=NAMESPACE, owner=""
            )
            return recorded(found, longhorn.Volume)
        return self._recorded(found, longhorn.Volume)

    def _source(self, claim: Object) -> Mapping[str, str]:
        """Return what a new volume is a copy of, as a parameter: a claim that is bound."""
        of = claim["spec"].get("dataSource")
        source = self.get(CLAIMS, of["name"], WORKLOADS) if of else None
        return {"dataSource": data_source(volume_of(source))} if source else {}

    def volumes(self, pod: Object) -> list[longhorn.Volume]:
        """Return the volumes of a pod."""
        return [self.volume(claim) for claim in self.claims(pod)]

    def wants(self, pod: Object) -> list[Want]:
        """Say what a pod needs on its node."""
        return [self.want_of(each) for each in self.volumes(pod) if each.needs_local_replica]

    def want_of(self, volume: longhorn.Volume) -> Want:
        """Say what a volume needs on the node of its pod."""
        found = self.known().replicas
        replicas = (*found.get(volume.name, ()), *found.get(volume.linked_to or "", ()))
        places = longhorn.need_of(volume, None, replicas).places
        return Want(
            volume=volume.name,
            size_bytes=volume.size_bytes,
            tags=volume.disk_selector,
            disk_type=volume.disk_type,
            places=None if places is None else frozenset(disk for _, disk in places),
        )

    def placed(self) -> list[Object]:
        """Return the replicas that have a disk which did not turn them away."""
        return self._replicas().placed.all

    def granted(self) -> list[Object]:
        """Return the replicas that have a disk for good."""
        return self._replicas().granted.all

    def placed_of(self, volumes: Iterable[str], *, for_good: bool = False) -> list[Object]:
        """Return the placed replicas of volumes; *for_good* leaves out who may be refused yet."""
        found = self._on_disks(for_good=for_good).of
        return [each for name in sorted({*volumes}) for each in found[name]]

    def volumes_on(self, node: str, *, for_good: bool = False) -> Set[str]:
        """Name the volumes with a placed replica on a node; *for_good* as in `placed_of`."""
        return self._on_disks(for_good=for_good).on[node]

    def is_attaching(self, volume: str) -> bool:
        """Say whether a volume is to be attached somewhere."""
        found = self.get(VOLUMES, volume, NAMESPACE)
        return found is not None and bool(found["spec"]["nodeID"])

    def uses_v2(self, node: str) -> bool:
        """Say whether replicas or engines of data engine v2 are on a node, or are to be."""
        of_v2 = {
            each["metadata"]["name"]: {each["spec"]["nodeID"], each["status"]["currentNodeID"]}
            for each in self.all(VOLUMES)
            if each["spec"]["dataEngine"] == "v2"
        }
        return any(node in nodes for nodes in of_v2.values()) or any(
            each["spec"]["nodeID"] == node and each["spec"]["volumeName"] in of_v2
            for each in self.all(REPLICAS)
        )

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

    def _know(self) -> Known:
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

    def _on_disks(self, *, for_good: bool) -> OnDisks:
        return self._replicas().granted if for_good else self._replicas().placed

    def _sort(self) -> Replicas:
        """Sort the replicas by how far they have come."""
        schedules = self.schedules()
        limits = {
            disk: self.limit_bytes(each["spec"]["nodeID"], each["spec"]["name"])
            for disk, each in schedules.items()
        }
        on_disks = [each for each in self.all(REPLICAS) if each["spec"].get("diskID")]
        away = turned_away(on_disks, schedules, limits)
        return Replicas(
            placed=OnDisks([each for each in on_disks if each["metadata"]["name"] not in away]),
            granted=OnDisks([each for each in on_disks if is_granted(each, schedules)]),
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
        self._changes[resource.key] += 1
        metadata = change.last["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        objects = self._objects[resource.key]
        if change.new is None:
            objects.pop(key, None)
        else:
            objects[key] = change.new


def volume_of(claim: Object) -> str:
    """Name the volume of a claim."""
    return f"pvc-{claim['metadata']['uid']}"


def _key(item: tuple[tuple[str, str], Object]) -> tuple[str, str]:
    return item[0]

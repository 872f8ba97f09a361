"""The cluster of a seed at an API server in memory, and a way to its objects."""

from random import Random

from tests.comparing.objects import NAMESPACE, Object, other
from tests.comparing.plan import draw_plan, first_objects
from tests.fakes import DISK_SCHEDULES as SERVED
from tests.fakes import FakeApiServer

PODS, CLAIMS, CLASSES = "pods", "persistentvolumeclaims", "storageclasses.storage.k8s.io"
NODES, VOLUMES, REPLICAS = (f"{plural}.longhorn.io" for plural in ("nodes", "volumes", "replicas"))
DISK_SCHEDULES = SERVED.key
_OF_THE_CLUSTER = (CLASSES, "persistentvolumes")


class World:
    """All objects there are.

    Attributes:
        plan: What there was at first.
        server: Where they are.
        accepted: By pod, the nodes that it got with the last answer.
        asked: By pod, what was sent of it before.
        is_served: Whether there are DiskSchedules.
    """

    def __init__(self, seed: int) -> None:
        self.plan = draw_plan(Random(f"plan {seed}"))
        self.accepted: dict[str, list[str]] = {}
        self.asked: dict[str, Object] = {}
        self.is_served = False
        self._seed = seed
        self._writes = 0
        self._chance = Random()
        self.server = FakeApiServer(self._chance)
        for each in first_objects(self.plan):
            self.put(each)

    def put(self, obj: Object) -> Object:
        """Write an object; its uid does not depend on what the service has asked the server."""
        self._writes += 1
        self._chance.seed(f"{self._seed} {self._writes}")
        return self.server.put(obj)

    def change(self, obj: Object, **parts: Object) -> Object:
        """Write some fields of some parts of an object."""
        merged = {part: {**(obj.get(part) or {}), **fields} for part, fields in parts.items()}
        return self.put({**obj, **merged})

    def get(self, resource: str, name: str) -> Object | None:
        """Return an object, None if there is none of this name."""
        return self.server.get(resource, name, _namespace(resource))

    def all(self, resource: str) -> list[Object]:
        """Return all objects of a kind that events are about."""
        return self.server.list(resource, _namespace(resource))

    def one(self, resource: str, random: Random) -> Object | None:
        """Choose one of them, None if there is none."""
        found = self.all(resource)
        return random.choice(found) if found else None

    def drop(self, resource: str, name: str) -> None:
        """Delete an object if it is there."""
        if self.get(resource, name) is not None:
            self.server.delete(resource, name, _namespace(resource))

    def serve_schedules(self, is_served: bool) -> None:  # noqa: FBT001 (what is to be)
        """Begin or cease to serve DiskSchedules; the service notices within half a minute."""
        if self.is_served and not is_served:
            self.server.remove_resource(SERVED.group, SERVED.plural)
            self.server.compact()
        elif is_served and not self.is_served:
            self.server.add_resource(SERVED)
        self.is_served = is_served

    def pod(self, name: str) -> Object:
        """Return a pod; it and its claims are made if they are not there."""
        for claim in self.plan.pods[name]:
            if self.get(CLAIMS, claim) is None:
                self.put(self._new_claim(claim))
        return self.get(PODS, name) or self.put(self.new_pod(name))

    def new_pod(self, name: str) -> Object:
        """Build a pod that nobody has looked at."""
        volumes = [
            {"name": claim, "persistentVolumeClaim": {"claimName": claim}}
            for claim in self.plan.pods[name]
        ]
        return other("Pod", name, spec={"volumes": volumes}, status={"phase": "Pending"})

    def claims_of(self, pod: Object) -> list[Object]:
        """Return the claims of a pod that exist."""
        names = self.plan.pods[name_of(pod)]
        return [claim for name in names if (claim := self.get(CLAIMS, name)) is not None]

    def replicas_of(self, volume: str) -> list[Object]:
        """Return the replicas of a volume."""
        return [each for each in self.all(REPLICAS) if each["spec"]["volumeName"] == volume]

    def remove_claim(self, name: str) -> None:
        """Delete a claim and all that was made for it."""
        claim = self.get(CLAIMS, name)
        if claim is not None:
            made = f"pvc-{claim['metadata']['uid']}"
            self.drop(CLAIMS, name)
            self.drop("persistentvolumes", made)
            self.drop(VOLUMES, made)
            for each in self.replicas_of(made):
                self.drop(REPLICAS, name_of(each))

    def _new_claim(self, name: str) -> Object:
        wanted = self.plan.claims[name]
        spec = {
            "storageClassName": wanted.storage_class,
            "accessModes": [wanted.access],
            "resources": {"requests": {"storage": str(wanted.size_bytes)}},
        }
        return other("PersistentVolumeClaim", name, spec=spec)


def name_of(obj: Object) -> str:
    """Return the name of an object."""
    return str(obj["metadata"]["name"])


def _namespace(resource: str) -> str:
    if resource.endswith(".longhorn.io"):
        return NAMESPACE
    return "" if resource in _OF_THE_CLUSTER else "default"

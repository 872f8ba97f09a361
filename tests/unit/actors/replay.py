"""What was done to the cluster of a trace, done to the played Longhorn once more.

The same nodes come, volumes are created, pods are bound and deleted, nodes are cordoned, each at
the time of the trace; what Longhorn makes of it is left to the play.
"""

import asyncio
import re
from collections.abc import Sequence

import msgspec

from tests.actors import api as kinds
from tests.actors.longhorn import Delays, setting
from tests.fakes import Change, Resource
from tests.traces import Event, Note, Object
from tests.unit.actors.world import World, running

DELAYS = Delays(attach=(0.1, 0.5), detach=(0.1, 0.5), rebuild=(0.1, 0.5))
"""As where the traces were recorded: engines run, stop and fill replicas within half a second."""

GIB = 2**30
_KINDS = {
    "nodes.longhorn.io": "Node",
    "volumes.longhorn.io": "Volume",
    "replicas.longhorn.io": "Replica",
}


class Scenario(msgspec.Struct, frozen=True):
    """A trace up to the end of its last pods, which is the beginning of its clean-up."""

    events: tuple[Event | Note, ...]
    seconds: float
    """When the first of the pods that do not come back is deleted."""

    def of_longhorn(self) -> list[Event]:
        """Return what Longhorn did, in the order of the writes."""
        seen = [
            each for each in self.events if isinstance(each, Event) and each.kind in _KINDS.values()
        ]
        return sorted(seen, key=version)


def version(event: Event) -> int:
    """Number a write; the watches of several kinds are not in step."""
    return int(event.object["metadata"]["resourceVersion"])


def scenario(trace: Sequence[Event | Note]) -> Scenario:
    """Cut off the clean-up of a trace."""
    leaves: dict[str, float] = {}
    for each in trace:
        if isinstance(each, Event) and each.kind == "Pod":
            if each.event == "ADDED":
                leaves.pop(each.name, None)
            elif each.event == "DELETED" or each.object["metadata"].get("deletionTimestamp"):
                leaves.setdefault(each.name, each.at)
    seconds = min(leaves.values())
    return Scenario(tuple(each for each in trace if each.at < seconds), seconds)


async def play(name: str, scenario: Scenario, *, seed: int = 0) -> list[Event]:
    """Play a scenario on virtual time; return what Longhorn did."""
    world = World(seed, delays=DELAYS)
    world.server.delete("storageclasses.storage.k8s.io", "local")  # no CSIStorageCapacity: quicker
    for changed in _settings(name):
        world.put(kinds.SETTINGS, changed)
    seen: list[Event] = []
    loop = asyncio.get_running_loop()
    began = loop.time()

    def record(resource: Resource, change: Change) -> None:
        if kind := _KINDS.get(resource.key):
            event = "ADDED" if change.old is None else "MODIFIED" if change.new else "DELETED"
            seen.append(Event(loop.time() - began, kind, event, change.last))

    world.server.observers.append(record)
    hands = _Hands(world)
    async with running(world), asyncio.TaskGroup() as tasks:
        for each in scenario.events:
            await asyncio.sleep(max(0.0, each.at - loop.time() + began))
            hands.do(each, tasks)
        await asyncio.sleep(scenario.seconds - loop.time() + began)
    return seen


def _settings(name: str) -> list[Object]:
    """Return the settings that are not as by default; the traces tell them by their names only."""
    found = []
    if name.endswith("-hard"):
        found.append(setting("replica-zone-soft-anti-affinity", "false"))
    if name.endswith("-whole"):
        found.append(setting("allow-volume-creation-with-degraded-availability", "false"))
    return found


class _Hands:
    """Does what users, kube-scheduler and the provisioner did."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._volumes: dict[str, str] = {}
        self._bound: set[str] = set()

    def do(self, each: Event | Note, tasks: asyncio.TaskGroup) -> None:
        if isinstance(each, Note):
            for node in re.findall(r"cordon (\S+),", each.text):
                self._world.cordon(node)
            return
        match each.kind, each.event:
            case "Node", "ADDED":
                self._add_node(each.object)
            case "PersistentVolumeClaim", "ADDED":
                self._volumes[each.name] = f"pvc-{each.object['metadata']['uid']}"
            case "Volume", "ADDED":
                tasks.create_task(self._create(each.object))
            case "Pod", "DELETED":
                if each.name in self._bound:
                    self._bound.discard(each.name)
                    self._world.end_pod(each.name)
            case "Pod", _:
                self._bind(each.object)

    def _add_node(self, node: Object) -> None:
        name = node["metadata"]["name"]
        metadata = {"name": name, "namespace": node["metadata"]["namespace"]}
        self._world.put(kinds.KUBERNETES_NODES, {"metadata": {"name": name}, "spec": {}})
        self._world.put(kinds.LONGHORN_NODES, {**node, "metadata": metadata})

    async def _create(self, volume: Object) -> None:
        spec = volume["spec"]
        await self._world.provision(
            volume["metadata"]["name"],
            gib=int(spec["size"]) // GIB,
            numberOfReplicas=str(spec["numberOfReplicas"]),
            dataLocality=spec["dataLocality"],
        )

    def _bind(self, pod: Object) -> None:
        name, spec = pod["metadata"]["name"], pod["spec"]
        if spec.get("nodeName") and name not in self._bound:
            self._bound.add(name)
            claims = [
                each["persistentVolumeClaim"]["claimName"] for each in spec.get("volumes") or ()
            ]
            self._world.run_pod(name, spec["nodeName"], *(self._volumes[each] for each in claims))

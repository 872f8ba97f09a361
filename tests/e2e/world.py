"""A whole cluster for one test: the control plane's programs, our service, and the played parts."""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Key, Kind, Object, key_of
from tests.actors.kubelet import Kubelets, claim_names, longhorn_volumes
from tests.actors.longhorn import (
    Delays,
    Longhorn,
    csi_driver,
    longhorn_node,
    nodes_with_replicas,
    overcommitted,
    setting,
    storage_class,
)
from tests.actors.provisioner import Provisioner
from tests.e2e.calls import Call
from tests.e2e.control_plane import MANIFESTS, NAMESPACE, SCHEDULER, ControlPlane
from tests.e2e.extender import PROBE, Extender
from tests.e2e.outcome import Outcome, placement, volumes_without_room
from tests.e2e.relay import Relay
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, STORAGE_CLASS
from tests.e2e.workloads import NAMESPACE as WORKLOADS

BIND_SECONDS = 60.0
SETTLE_SECONDS = 60.0
WIPE_SECONDS = 60.0
LONGHORN_KINDS = (kinds.VOLUMES, kinds.REPLICAS)
DELAYS = Delays(
    rebuild=(0.5, 2.0),
    detach_wish=(0.1, 0.3),
    detach=(0.1, 0.5),
    replica_cleanup=(0.1, 0.5),
    delete_poll=0.2,
)
"""As in a cluster that is well, but sooner where nobody is waiting for a decision."""

Disks = Mapping[str, int]
"""Gibibytes of each disk by its name."""


class World:
    """One control plane, its scheduler, some replicas of the service, and a Longhorn.

    Attributes:
        api: Requests as an administrator.
        longhorn: The played Longhorn.
        extender: Our service, as kube-scheduler reaches it.
        relay: The service's way to the API server.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        *,
        replicas: int = 3,
        stale: bool = True,
        seed: int = 0,
        **scheduler: Any,
    ) -> None:
        """Nothing runs yet.

        Args:
            control_plane: Running, without nodes.
            folder: For the logs of what is started here.
            replicas: How many of our service.
            stale: Whether Longhorn places from what it last saw of nodes, as it does.
            seed: Of chance in the played parts.
            scheduler: What differs from the shipped configuration: `nodeCacheCapable`, `ignorable`
                and `httpTimeout` of the extender, `percentageOfNodesToScore`.
        """
        self.control_plane = control_plane
        self.settings: dict[str, str] = {}
        self._folder = folder
        self._replicas = replicas
        self._stale = stale
        self._random = Random(seed)
        self._scheduler = scheduler
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(await self.control_plane.client())
            self.api = Api(client)
            await self._start_actors(stack)
            stack.push_async_callback(self.wipe)
            for obj, kind in ((csi_driver(), kinds.CSI_DRIVERS), (_class(), kinds.STORAGE_CLASSES)):
                await self.api.ensure(obj, kind)
            self.relay = await stack.enter_async_context(Relay(self.control_plane.ports.api_server))
            server = f"https://127.0.0.1:{self.relay.port}"
            self.extender = Extender(self.control_plane, self.api, self._folder, server=server)
            stack.push_async_callback(self.extender.stop)
            await self.extender.start(self._replicas)
            await self.start_scheduler()
            stack.push_async_callback(self.control_plane.stop_scheduler)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def start_scheduler(self, **changes: Any) -> None:
        """Start kube-scheduler with the shipped configuration, as changed by this world."""
        config = scheduler_configuration(
            "kubeadm", self.control_plane.kubeconfig(SCHEDULER), self.extender.url
        )
        for name, value in {**self._scheduler, **changes}.items():
            target = config if name in config else config["extenders"][0]
            target[name] = value
        await self.control_plane.start_scheduler(config)

    async def add_nodes(self, *disks: Disks) -> None:
        """Add nodes, node-1 and so on, with the disks given, and wait until they count."""
        for number, sizes in enumerate(disks, start=1):
            await self.add_node(f"node-{number}", sizes)
        await until(self._is_capacity_known, within=SETTLE_SECONDS, what="CSIStorageCapacity")

    async def add_node(self, name: str, disks: Disks) -> None:
        """Add one node: kubelet and Longhorn."""
        sizes = {disk: gib * GIB for disk, gib in disks.items()}
        await self.api.ensure(longhorn_node(name, sizes), kinds.LONGHORN_NODES)
        await self.api.ensure(_kubernetes_node(name), kinds.KUBERNETES_NODES)
        key = Key("", name)
        await self.api.patch(kinds.KUBERNETES_NODES, key, {"status": _NODE_STATUS}, "status")

    async def set_longhorn(self, name: str, value: str) -> None:
        """Change a setting of Longhorn."""
        obj = setting(name, value)
        await self.api.ensure(obj, kinds.SETTINGS)
        await self.api.patch(kinds.SETTINGS, Key(NAMESPACE, name), {"value": value})
        self.settings[name] = value

    async def schedule(self, *objects: tuple[Object, Kind], pods: int) -> "Scheduling":
        """Create objects that make *pods* pods, and return what watches them."""
        scheduling = Scheduling(self, pods, time.time(), await self._attempts())
        for obj, kind in objects:
            await self.api.create(obj, kind)
        return scheduling

    async def cordon(self, node: str, *, on: bool = True) -> None:
        changes = {"spec": {"unschedulable": on or None}}
        await self.api.patch(kinds.KUBERNETES_NODES, Key("", node), changes)

    async def drain(self, node: str) -> None:
        """Cordon a node and evict its pods, as `kubectl drain` does."""
        await self.cordon(node)
        for pod in [each for each in self.pods() if each["spec"].get("nodeName") == node]:
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": pod["metadata"]["name"], "namespace": WORKLOADS},
            }
            await self.api.create_in(kinds.PODS, key_of(pod), "eviction", eviction)

    def is_every_node_schedulable(self) -> bool:
        """Whether Longhorn would put replicas on every node, as its nodes say."""
        return all(
            each["status"] == "True"
            for node in self._nodes.objects.values()
            for each in node["status"]["conditions"]
            if each["type"] == "Schedulable"
        )

    def pods(self) -> list[Object]:
        """Return the pods of workloads, by name."""
        found = [
            pod
            for key, pod in self._pods.objects.items()
            if key.namespace == WORKLOADS and not pod["metadata"].get("deletionTimestamp")
        ]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def pod(self, name: str) -> Object | None:
        return self._pods.get(name, WORKLOADS)

    def node_of(self) -> dict[str, str]:
        """Return the node of each pod by its name."""
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in self.pods()}

    def calls_for(self, pod: str) -> list[Call]:
        """Return the calls of /filter for a pod."""
        return [call for call in self.extender.calls() if call.pod == f"{WORKLOADS}/{pod}"]

    async def delete_workloads(self, *, keep_claims: bool = False) -> None:
        """Delete StatefulSets and pods, and claims unless told otherwise, and wait until gone."""
        await self.api.delete(kinds.STATEFUL_SETS, Key(WORKLOADS, ""))
        await until(self._no_stateful_sets, within=WIPE_SECONDS, what="StatefulSets")
        await self.api.delete(kinds.PODS, Key(WORKLOADS, ""), at_once=True)
        await until(lambda: not self._in_default(self._pods), within=WIPE_SECONDS, what="pods")
        if not keep_claims:
            await self.api.delete(kinds.CLAIMS, Key(WORKLOADS, ""))
            await until(
                lambda: not self._volumes_left(), within=WIPE_SECONDS, what=self._volumes_left
            )

    async def wipe(self) -> None:
        """Leave nothing of workloads, nodes and settings."""
        await self.delete_workloads()
        for kind in (kinds.LONGHORN_NODES, kinds.SETTINGS):
            await self.api.delete(kind, Key(NAMESPACE, ""))
        await self.api.delete(kinds.KUBERNETES_NODES, Key("", ""))
        self.settings.clear()

    async def settle(self) -> None:
        """Wait until Longhorn has placed all volumes of bound pods, or found no place for them."""
        await until(self._is_settled, within=SETTLE_SECONDS, what=self._unsettled)

    def without_room(self) -> int:
        """Count volumes that do not fit where their pods are."""
        return volumes_without_room(
            self._nodes.objects.values(),
            self._longhorn_replicas.objects.values(),
            self._wanted(),
            self.settings,
        )

    def elsewhere(self) -> int:
        """Count volumes with no replica where their pods are."""
        nodes = nodes_with_replicas(self._longhorn_replicas.objects.values())
        return sum(
            node not in nodes.get(volume, ())
            for node, volumes in self._wanted().items()
            for volume in volumes
        )

    def replicas_on(self, node: str) -> list[str]:
        """Name the replicas that are on a node."""
        return [
            key.name
            for key, replica in self._longhorn_replicas.objects.items()
            if replica["spec"].get("nodeID") == node
        ]

    def replica_nodes(self) -> dict[str, set[str]]:
        """Return where the replicas of a StatefulSet's volumes are, by the pod of each."""
        nodes = nodes_with_replicas(self._longhorn_replicas.objects.values())
        return {
            key.name.removeprefix("data-0-"): set(nodes.get(claim["spec"]["volumeName"], ()))
            for key, claim in self._claims.objects.items()
        }

    def overcommitted_disks(self) -> list[str]:
        """Describe the disks with more on them than Longhorn's own limit."""
        found = overcommitted(
            self._nodes.objects.values(),
            self._longhorn_replicas.objects.values(),
            self.settings,
        )
        return [str(each) for each in found]

    async def attempts(self) -> float:
        """Return how many scheduling attempts there were since kube-scheduler started."""
        return await self._attempts()

    async def _start_actors(self, stack: contextlib.AsyncExitStack) -> None:
        self.longhorn = Longhorn(
            self.api,
            random=self._random,
            wall_clock=lambda: datetime.now(UTC),
            delays=DELAYS,
            stale=self._stale,
        )
        cluster = self.longhorn.cluster
        self._pods: Informer = cluster.pods
        self._claims: Informer = cluster.claims
        self._persistent_volumes: Informer = cluster.persistent_volumes
        self._volumes: Informer = cluster.volumes
        self._longhorn_replicas: Informer = cluster.replicas
        self._nodes: Informer = cluster.nodes
        kubelets = Kubelets(
            self.api,
            pods=self._pods,
            claims=self._claims,
            persistent_volumes=self._persistent_volumes,
            volumes=self._volumes,
            end_seconds=0.5,
        )
        provisioner = Provisioner(
            self.api,
            self.longhorn,
            claims=self._claims,
            persistent_volumes=self._persistent_volumes,
            storage_classes=cluster.storage_classes,
        )
        tasks = [asyncio.create_task(each.run()) for each in (self.longhorn, kubelets, provisioner)]
        stack.push_async_callback(_end, tasks)
        for informer in cluster.informers:
            await informer.synced.wait()

    async def _attempts(self) -> float:
        families = text_string_to_metric_families(await self.control_plane.scheduler_metrics())
        return sum(
            sample.value
            for family in families
            if family.name == "scheduler_schedule_attempts"
            for sample in family.samples
            if sample.name == "scheduler_schedule_attempts_total"
        )

    def _wanted(self) -> dict[str, dict[str, int]]:
        """Return the bytes of each volume that bound pods want on their node, by node."""
        wanted: dict[str, dict[str, int]] = {}
        for pod in self.pods():
            if node := pod["spec"].get("nodeName"):
                for name in longhorn_volumes(pod, self._claims, self._persistent_volumes):
                    volume = self._volumes.get(name, NAMESPACE)
                    size = int(volume["spec"]["size"]) if volume else 0
                    wanted.setdefault(node, {})[name] = size
        return wanted

    def _is_settled(self) -> bool:
        return not self._unsettled()

    def _unsettled(self) -> list[str]:
        """Name the volumes of bound pods that Longhorn has neither placed nor given up on."""
        waiting = []
        for pod in self.pods():
            if not pod["spec"].get("nodeName"):
                continue
            volumes = longhorn_volumes(pod, self._claims, self._persistent_volumes)
            if len(volumes) < len(claim_names(pod)):
                waiting.append(f"{pod['metadata']['name']}: claims")
            for name in volumes:
                if not self._is_volume_settled(name, pod["spec"]["nodeName"]):
                    waiting.append(f"{pod['metadata']['name']}: {name}")
        return waiting

    def _is_volume_settled(self, name: str, node: str) -> bool:
        volume = self._volumes.get(name, NAMESPACE)
        if volume is None:
            return False
        replicas = [
            replica
            for replica in self._longhorn_replicas.objects.values()
            if replica["spec"]["volumeName"] == name
        ]
        conditions = (volume.get("status") or {}).get("conditions") or ()
        if any(each["type"] == "Scheduled" and each["status"] == "False" for each in conditions):
            return True
        placed = [each for each in replicas if each["spec"].get("nodeID")]
        return len(placed) == len(replicas) == 1 and placed[0]["spec"]["nodeID"] == node

    async def _is_capacity_known(self) -> bool:
        found = await self.api.list(kinds.CSI_STORAGE_CAPACITIES, NAMESPACE)
        return len(found) == len(self._nodes.objects)

    async def _no_stateful_sets(self) -> bool:
        return not await self.api.list(kinds.STATEFUL_SETS, WORKLOADS)

    def _volumes_left(self) -> list[Key]:
        informers = (self._claims, self._persistent_volumes, self._volumes, self._longhorn_replicas)
        return [key for informer in informers for key in informer.objects]

    def _in_default(self, informer: Informer) -> list[Key]:
        return [key for key in informer.objects if key.namespace == WORKLOADS]


class Scheduling:
    """Pods on their way to nodes."""

    def __init__(self, world: World, pods: int, began: float, attempts: float) -> None:
        self.began = began
        self._world = world
        self._pods = pods
        self._attempts = attempts

    def bound(self) -> int:
        return sum(bool(node) for node in self._world.node_of().values())

    async def all_bound(self, *, within: float = BIND_SECONDS) -> float:
        """Wait until all pods have nodes; return the seconds since they were wished for."""
        await until(lambda: self.bound() == self._pods, within=within, what=self._state)
        return time.time() - self.began

    async def outcome(self, *, within: float = BIND_SECONDS) -> Outcome:
        """Wait until all pods have nodes and Longhorn has come to rest; say what came of it."""
        bound_seconds = await self.all_bound(within=within)
        await self._world.settle()
        calls = [call for call in self._world.extender.calls(since=self.began) if call.pod != PROBE]
        return Outcome(
            placement=placement(self._world.pods()),
            pending=self._pods - self.bound(),
            bound_seconds=bound_seconds,
            attempts=int(await self._world.attempts() - self._attempts),
            filter_calls=len(calls),
            longest_filter_seconds=max((call.seconds for call in calls), default=0.0),
            without_room=self._world.without_room(),
            elsewhere=self._world.elsewhere(),
            overcommitted_disks=len(self._world.overcommitted_disks()),
        )

    def _state(self) -> str:
        return "; ".join(
            f"{pod['metadata']['name']}: {pod['spec'].get('nodeName') or pod['status']}"
            for pod in self._world.pods()
        )


def scheduler_configuration(name: str, kubeconfig: Path, extender_url: str) -> Object:
    """Read a shipped configuration of kube-scheduler, with paths and addresses of this machine.

    Its own election is off: the tests that restart it would wait for the old lease to run out.
    """
    config: Object = yaml.safe_load((MANIFESTS / "scheduler" / f"{name}.yaml").read_text())
    config["clientConnection"] = {"kubeconfig": str(kubeconfig)}
    config["leaderElection"] = {"leaderElect": False}
    config["extenders"][0]["urlPrefix"] = extender_url
    return config


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """End the played parts; one that failed by itself fails the test."""
    failed = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in failed:
        task.result()


def _class() -> Object:
    return storage_class(STORAGE_CLASS)


def _kubernetes_node(name: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"metadata": {"name": name, "labels": labels}}


_NODE_STATUS = {
    "capacity": {"cpu": "64", "memory": "256Gi", "pods": "250"},
    "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "250"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
}
